"""Tables that are chosen from the file: the promise of every choice, and what is chosen."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tables.exact import without_noise
from tests.tables.people import assert_same
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidInput, InvalidPlan

KEY = bytes(range(32))
SIZES = {"a": 2, "b": 2, "c": 2, "d": 3}
PARITY = ("a", "b", "c")


def rows(n=6_000, *, parity, seed=1):
    """Independent columns; with parity c follows from a and b together, and from neither alone."""
    rng = np.random.default_rng(seed)
    found = {name: rng.integers(0, size, n) for name, size in SIZES.items()}
    if parity:
        found["c"] = (found["a"] + found["b"]) % 2
    return {name: own.tolist() for name, own in found.items()}


def design(sizes=SIZES, epsilon=1.0, **more):
    return pramble.design_tables(sizes, epsilon, 1e-6, tables="auto", **more)


def test_a_strong_triple_is_chosen_and_its_records_follow():
    measured = pramble.measure(rows(parity=True), design(), key=KEY)
    assert PARITY in measured.plan.chosen
    records = pramble.synthesize(measured, seed=1).to_pydict()
    wrong = sum((a + b + c) % 2 for a, b, c in zip(*(records[x] for x in PARITY), strict=True))
    assert wrong < 0.05 * 6_000
    pairs = pramble.measure(rows(parity=True), pramble.design_tables(SIZES, 1.0, 1e-6), key=KEY)
    assert pramble.estimate(pairs, by=list(PARITY)).is_modelled
    found = pramble.estimate(measured, by=list(PARITY))
    assert not found.is_modelled
    assert found.table.num_rows == 8


def test_what_pairs_imply_is_hardly_ever_chosen():
    file, keys = rows(parity=False), np.random.default_rng(2)
    found = [pramble.measure(file, design(), key=keys.bytes(32)).plan for _ in range(20)]
    assert sum(len(plan.chosen) for plan in found) <= 5
    noisy = pramble.measure(rows(40, parity=True), design(epsilon=0.1), key=KEY)
    assert noisy.plan.chosen == ()


def test_published_parts_have_the_precision_that_is_stated():
    sizes = {name: SIZES[name] for name in ("a", "b", "d")}
    plan, file = design(sizes, rows_per_person=2).plan, rows(300, parity=False)
    exact = pramble.measure(file, without_noise(pairs_of(plan)), key=KEY)
    keys, parts = np.random.default_rng(3), [("a",), ("a", "d")]
    found = {part: [] for part in [(), *parts]}
    for _ in range(120):
        measured = pramble.measure(file, plan, key=keys.bytes(32))
        found[()].append((measured.total - 300) * measured.plan.precision[()] ** 0.5)
        for part in parts:
            noise = measured.effects[part] - exact.effects[part]
            degrees = np.prod([1 - 1 / SIZES[name] for name in part])
            scale = (measured.plan.precision[part] / degrees) ** 0.5
            found[part].append(noise.ravel()[0] * scale)
    for own in found.values():
        assert abs(np.mean(own)) < 4 / np.sqrt(120)
        assert abs(np.var(own) - 1) < 4 * np.sqrt(2 / 120)


def pairs_of(plan):
    """A plan of the same pairs without a choice."""
    return pramble.design_tables(dict(plan.labels), 1.0, 1e-6, tables=2).plan


def test_the_same_file_design_and_key_give_the_same_bytes_on_every_engine():
    import polars as pl

    file, plan = rows(parity=True), design()
    one = pramble.measure(file, plan, key=KEY)
    assert_same(one, pramble.measure(pl.LazyFrame(file), plan, key=KEY))
    assert_same(one, pramble.measure(pa.table(file), plan.plan, key=KEY))
    again = type(plan.plan).from_json(json.dumps(plan.plan.to_json()))
    assert_same(one, pramble.measure(file, again, key=KEY))
    # the plan that came of it states the choice, so that it measures the same again
    assert_same(one, pramble.measure(file, one.plan, key=KEY))
    assert_same(one, pramble.Measured.from_table(one.to_table(), one.plan, one.total))


def test_a_plan_that_spends_more_than_it_states_is_refused():
    plan = pramble.measure(rows(parity=True), design(), key=KEY).plan
    document = plan.to_json()
    assert document["schema"] == "pramble/tables/2"
    for field, factor in (("score_precision", 2), ("mu_squared", 0.99)):
        choice = {**document["choice"], field: document["choice"][field] * factor}
        with pytest.raises(InvalidPlan, match="spend more"):
            pramble.certify(type(plan).from_json({**document, "choice": choice}))
    loud = [{**own, "value": own["value"] * 3} for own in document["choice"]["first"]]
    spoiled = {**document, "choice": {**document["choice"], "first": loud}}
    with pytest.raises(InvalidPlan):
        pramble.measure(rows(parity=True), type(plan).from_json(spoiled), key=KEY)
    few = {**document, "choice": {**document["choice"], "candidates": [["a", "b", "d"]]}}
    with pytest.raises(InvalidPlan, match="chosen from the candidates"):
        type(plan).from_json(few)


def test_what_does_not_go_with_a_choice_is_refused():
    with pytest.raises(InvalidInput, match="importance"):
        design(importance={("a", "b"): 2.0})
    with pytest.raises(InvalidInput, match="objective"):
        design(objective="largest")
    with pytest.raises(InvalidInput, match="protected tables alone"):
        pramble.design_record({"a": 2, "b": 2, "c": 2}, 1.0, tables="auto")
    # of two columns there is nothing to choose
    assert design({"a": 2, "b": 3}).plan.choice is None


def test_a_comparison_of_promises_takes_it_for_protected_tables():
    people = {name: own[:400] for name, own in rows(parity=True).items() if name != "d"}
    local, central = pramble.try_release(
        people, columns=["a", "b", "c"], alphas=[1.0], centrals=[1.0], tables="auto",
        prior="uniform",
    )  # fmt: skip
    assert (local.design, central.design) == ("records", "tables")
    assert central.plan.choice is not None


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    found = tmp_path_factory.mktemp("auto")
    labels = {name: [f"{name}{i}" for i in range(size)] for name, size in SIZES.items()}
    coded = rows(parity=True)
    people = pa.table({n: [labels[n][i] for i in own] for n, own in coded.items()})
    pq.write_table(people, found / "people.parquet")
    columns = {name: {"categories": own} for name, own in labels.items()}
    pramble.release(
        found / "people.parquet", found / "out", columns=columns, central=1.0, delta=1e-6,
        tables="auto", ledger=False, key=KEY,
    )  # fmt: skip
    return found


def test_a_release_states_the_choice_and_what_came_of_it(place):
    release = pramble.open_release(place / "out")
    assert PARITY in release.plan.chosen
    assert pramble.certify(release).epsilon <= 1
    assert release.guarantee.epsilon <= 1
    assert pramble.estimate(release, by=list(PARITY)).table.num_rows == 8
    assert pramble.synthesize(release, rows=100, seed=1).num_rows == 100
    assert any("noisy scores" in own for own in release.manifest["promise"]["assumes"])
    assert "a × b × c" in (place / "out" / "summary.html").read_text(encoding="utf-8")


def test_the_command_line_takes_it(place):
    def answered(*words):
        answer = CliRunner().invoke(app, [*map(str, words), "--json"])
        assert answer.exit_code == 0, answer.output
        return json.loads(answer.stdout)

    folder = place / "again"
    answered(
        "release", place / "people.parquet", "--out", folder, "--columns", "a,b,c,d",
        "--central", "1", "--tables", "auto", "--no-ledger",
    )  # fmt: skip
    assert PARITY in pramble.open_release(folder).plan.chosen
    assert answered("certify", folder)["central"]["epsilon"] <= 1
    answered(
        "design", "--columns", "a=2,b=2,c=3", "--central", "1,1e-6", "--tables", "auto",
        "--out", place / "plan.json",
    )  # fmt: skip
    assert json.loads((place / "plan.json").read_text())["choice"]["candidates"] == [list(PARITY)]
