"""Promises side by side, and options beside a plan."""

import json
import tomllib
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.releasing.conftest import tried
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidInput, InvalidPlan, PrivacyError

COLUMNS = {name: {"categories": list("abc")} for name in ("x", "y", "z")}
PLAN = {
    "alpha": 2.0,
    "columns": COLUMNS,
    "drop": ["id"],
    "tables": [["x", "y"], ["y", "z"], ["x"]],
    "possible": [{"never": {"x": ["a"], "z": ["b"]}}, {"never": {"x": ["b"], "y": ["b"]}}],
    "prior": "uniform",
}


def people(rows=2000):
    rng = np.random.default_rng(3)
    own = {name: np.array(list("abc"))[rng.integers(0, 3, rows)] for name in COLUMNS}
    own["z"][(own["x"] == "a") & (own["z"] == "b")] = "c"
    own["y"][(own["x"] == "b") & (own["y"] == "b")] = "c"
    return pa.table({**own, "id": list(range(rows))})


def settled(**given):
    """The plan of a release with options beside it."""
    return tomllib.loads(tried(PLAN, people(), **given).outcome.plan)


def test_options_take_the_place_of_what_a_plan_says():
    found = settled(alpha=3.0, tables=1)
    assert (found["alpha"], found["tables"], found["drop"]) == (3.0, 1, ["id"])
    central = settled(central=1.0)
    assert "alpha" not in central
    assert central["central"] == 1.0
    assert settled(design="paper")["design"] == "columns"


SUBSETS = [own for size in (1, 2, 3) for own in combinations(sorted(COLUMNS), size)]


@pytest.mark.parametrize("chosen", SUBSETS, ids="".join)
def test_a_column_left_out_is_dropped_and_never_released_as_it_is(chosen):
    r = tried(PLAN, people(), columns=list(chosen))
    found = tomllib.loads(r.outcome.plan)
    assert set(found["columns"]) == set(chosen)
    assert set(found["drop"]) == {"id", *COLUMNS} - set(chosen)
    assert [column["name"] for column in r.manifest["columns"]] == list(chosen)
    assert found["tables"] == 1 or all(set(table) <= set(chosen) for table in found["tables"])


def test_a_release_from_a_plan_with_changes(tmp_path):
    r = pramble.release(
        people(), tmp_path / "out", plan=PLAN, columns=["x", "y"], alpha=1.0, ledger=False
    )
    assert r.alpha == 1.0
    assert r.data.column_names == ["x", "y"]
    with pytest.raises(InvalidPlan, match="has no column 'w'"):
        pramble.release(people(), tmp_path / "two", plan=PLAN, columns=["w"], ledger=False)


def test_promises_are_compared_by_the_one_yardstick(tmp_path):
    found = pramble.try_release(people(), plan=PLAN, alphas=[1.0, 4.0], centrals=[1.0])
    assert [one.name for one in found] == ["α = 1", "α = 4", "ε = 1"]
    weak, strong, readers = found
    assert weak.half_width > strong.half_width > 0
    assert weak.belief == pytest.approx(np.e / (1 + np.e))
    assert readers.belief <= weak.belief
    assert readers.half_width < weak.half_width
    assert weak.wanted == 3
    released = pramble.release(
        people(), tmp_path / "out", plan=PLAN, alpha=4.0, ledger=False, dry_run=True
    )
    widths = sorted(table.half_width for table in released.outcome.tables if table.wanted)
    assert strong.half_width == pytest.approx(widths[1], rel=0.05)
    assert list(tmp_path.iterdir()) == []
    assert "half sure becomes" in repr(found)
    assert found.plot().axes[0].get_yscale() == "log"


def test_central_promises_need_every_column_randomised():
    plan = {**PLAN, "drop": []}
    found = pramble.try_release(people(), plan=plan, alphas=[1.0])
    assert [one.kind for one in found] == ["local"]
    assert any("were not tried" in note for note in found.notes)
    with pytest.raises(PrivacyError, match="every column is protected"):
        pramble.try_release(people(), plan=plan, alphas=[1.0], centrals=[1.0])
    with pytest.raises(InvalidInput, match="needs a plan"):
        pramble.try_release(people())


def test_the_command_prints_json_and_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(people(), "people.parquet")
    words = "try people.parquet --columns x,y --drop z,id --alpha 1,4 --central none --json"
    answer = CliRunner().invoke(app, [*words.split(), "--plot", "x.svg"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)["candidates"]
    assert [one["promise"] for one in found] == [1.0, 4.0]
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    wrong = CliRunner().invoke(app, ["try", "people.parquet", "--columns", "x", "--alpha", "much"])
    assert isinstance(wrong.exception, InvalidInput)


def test_a_plan_with_central_settings_is_tried_under_local_promises_too():
    plan = {"central": 1.0, "delta": 1e-5, "columns": COLUMNS, "drop": ["id"]}
    found = pramble.try_release(people(), plan=plan, alphas=[2.0], centrals=[1.0])
    assert [one.kind for one in found] == ["local", "central"]


def test_both_central_designs_are_tried():
    found = pramble.try_release(people(), plan=PLAN, alphas=[1.0], centrals=[1.0])
    local, tables = found
    records = pramble.try_release(people(), plan=PLAN, alphas=[], centrals=[1.0], design="records")
    assert [one.design for one in (local, tables, *records)] == ["records", "tables", "records"]
    assert {one.noise for one in local.tables} != {one.noise for one in tables.tables}


@pytest.mark.parametrize(
    "drafted",
    [
        {"shuffle": True},
        {"whole": True},
        {"rows_per_file": 131072},
        {"prior": "private"},
    ],
)
def test_what_was_drafted_for_records_does_not_stand_in_the_way_of_tables(drafted):
    plan = {**PLAN, **drafted}
    (found,) = pramble.try_release(people(), plan=plan, alphas=[], centrals=[1.0])
    assert found.design == "tables"
    settings = {key: own for key, own in PLAN.items() if key not in drafted}
    (found,) = pramble.try_release(people(), plan=settings, alphas=[], centrals=[1.0], **drafted)
    assert found.design == "tables"


def test_a_plan_of_tables_is_tried_under_local_promises():
    plan = {"central": 1.0, "design": "tables", "objective": "largest", "columns": COLUMNS,
            "drop": ["id"], "prior": "uniform"}  # fmt: skip
    local, tables = pramble.try_release(people(), plan=plan, alphas=[2.0], centrals=[1.0])
    assert (local.design, tables.design) == ("records", "tables")


def test_what_tables_cannot_have_leaves_the_local_promises():
    columns = {**COLUMNS, "x": {**COLUMNS["x"], "distance": "path"}}
    plan = {"alpha": 2.0, "columns": columns, "drop": ["id"], "prior": "uniform"}
    found = pramble.try_release(people(), plan=plan, alphas=[2.0])
    assert [one.kind for one in found] == ["local"]
    assert any("distance" in note for note in found.notes)
    with pytest.raises(InvalidPlan, match="distance"):
        pramble.try_release(people(), plan=plan, alphas=[2.0], centrals=[1.0])
