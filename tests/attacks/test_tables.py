"""Protected tables of neighbouring files: nothing but the counts that get noise reaches a folder.

The counting is made to find the same cells in both files, so that every byte that still differs
comes from the file by another way.
"""

import json

import pyarrow as pa
import pytest

import pramble
from tests.attacks import seams

COLUMNS = {
    "sex": {"categories": ["f", "m", "x"], "missing": "none"},
    "ill": {"categories": ["no", "yes"]},
    "part": {"categories": ["a", "b", "c"]},
}
PEOPLE = [
    {
        "sex": "fm"[i % 2],
        "ill": "no",
        "part": "abc"[i % 3],
        "weighs": 1 + i % 7,
        "who": f"p{i // 2}",
    }
    for i in range(60)
]
ODD = {"sex": None, "ill": "yes", "part": "c", "weighs": 1e9, "who": "somebody else"}
WHO = {"person": "who"}
WEIGHTS = {"weights": "weighs", "largest_weight": 40}
KINDS = {
    "tables": {"person": False},
    "chosen tables": {"person": False, "tables": "auto"},
    "weights": {"person": False, **WEIGHTS},
    "weights and chosen tables": {"person": False, "tables": "auto", **WEIGHTS},
    "people": {**WHO, "rows_per_person": 2},
    "people whose rows are chosen": WHO,
    "weights of households": {**WHO, "person": {"household": "who"}, **WEIGHTS},
    "rules": {"person": False, "possible": [{"never": {"sex": "x", "part": "c"}}]},
}


def folder_of(people, out, settings):
    """Every file of a release by its name, the time aside."""
    drop = sorted({"who", "weighs"} - {settings.get("weights")})
    made = pramble.release(
        pa.Table.from_pylist(people), out, columns=COLUMNS, central=1.0, key=bytes(32),
        ledger=False, copies=["csv", "stata", "spss", "excel"], drop=drop, **settings,
    )  # fmt: skip
    created = json.loads((out / "manifest.json").read_text())["created"].encode()
    return {
        path.name: path.read_bytes().replace(created, b"").replace(created[:10], b"")
        for path in made.folder.iterdir()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_counts_reaches_the_folder(tmp_path, kind):
    settings = KINDS[kind]
    several = settings["person"] is not False
    changed = [*PEOPLE[:7], ODD, *PEOPLE[8:]] + [ODD] * several  # as many, where that is public
    with seams.same_tables():
        one = folder_of(PEOPLE, tmp_path / "one", settings)
        other = folder_of(changed, tmp_path / "other", settings)
    assert len(one) == 11
    assert [name for name in one if one[name] != other.get(name)] == []
    assert set(one) == set(other)
