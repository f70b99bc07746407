"""Any plan, however odd, gives a sound release or clear words, and never half a release."""

import copy
import tomllib

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.releasing.conftest import SCHEMA, as_toml

from pramble import open_release, release
from pramble.errors import PrambleError

BASE = {
    "alpha": 2.0,
    "columns": {
        "sex": {"categories": ["f", "m"]},
        "code": {"categories": [1, 2, 3], "missing": 9},
        "word": {"categories": ["a", "b", "c", "d"]},
    },
}
ALPHAS = [1e-6, 0.1, 3, 40.0, 0, -1, "3", True, [1], float("inf")]
CHANGES = {
    ("alpha",): ALPHAS,
    ("design",): ["columns", "paper", "records", "tables", 3],
    ("prior",): ["uniform", "public", "confidential", "private", "x", 1],
    ("family",): ["response", "uniform", "any"],
    ("drop",): [["other"], ["sex"], ["no"], "other"],
    ("copies",): [["csv"], ["xls"], "csv"],
    ("risk",): [{"keys": ["sex", "other"], "population_size": 5000}, {}],
    ("columns", "sex"): [{}, {"categories": "seen"}, {"categories": ["m"]}, 1],
    ("columns", "sex", "categories"): [["m", "f", "x"], ["m", "x"], [1, 2], [], ["m", "m"], "seen"],
    ("columns", "sex", "alpha"): ALPHAS,
    ("columns", "code", "missing"): [True, 1, "x", False],
    ("columns", "code", "categories"): [[3, 2, 1, 0], ["1", "2"], [True, False]],
    ("columns", "word", "prior"): ["uniform", [0.25] * 4, [1.0, 0.0, 0.0, 0.0], [0.5, 0.5]],
    ("columns", "word", "invariant"): [True],
    ("columns", "other"): [{"categories": "seen"}],
    ("columns", "number"): [{"categories": "seen"}],
    ("columns", "nothing"): [{"categories": ["a", "b"]}],
    ("shuffle",): [True, "yes"],
    ("nonsense",): [1],
}
changes = st.sampled_from(sorted(CHANGES)).flatmap(
    lambda path: st.sampled_from(CHANGES[path]).map(lambda value: (path, value))
)


def changed(steps):
    plan = copy.deepcopy(BASE)
    for path, value in steps:
        place = plan
        for key in path[:-1]:
            if not isinstance(place.get(key), dict):
                place[key] = {}
            place = place[key]
        place[path[-1]] = value
    return plan


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "people.parquet"
    n = 240
    table = pa.table(
        {
            "sex": ["f", "m"] * (n // 2),
            "code": [1, 2, 3, None] * (n // 4),
            "word": (["a", "b", "c", "d", "a", "a"] * n)[:n],
            "other": ["x", "y", "z"] * (n // 3),
            "number": [i / 7 for i in range(n)],
        }
    )
    pq.write_table(table, path)
    return path


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(changes, min_size=1, max_size=4, unique_by=lambda change: change[0]))
def test_any_plan_gives_a_release_or_clear_words(source, tmp_path_factory, steps):
    plan = changed(steps)
    folder = tmp_path_factory.mktemp("out")
    (folder / "plan.toml").write_text("".join(f"{k} = {as_toml(v)}\n" for k, v in plan.items()))
    assert tomllib.loads((folder / "plan.toml").read_text()) == plan
    try:
        r = release(source, folder / "out", plan=folder / "plan.toml", ledger=False)
    except PrambleError as error:
        words = str(error)
    else:
        opened = open_release(folder / "out")
        assert opened.data.num_rows == 240
        assert opened.alpha <= r.outcome.limit.shown
        jsonschema.validate(opened.manifest, SCHEMA)
        return
    assert words
    assert "Traceback" not in words
    assert [path.name for path in folder.iterdir()] == ["plan.toml"]
