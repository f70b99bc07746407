"""Whether a release is made, opens and is read does not depend on its noise, however large."""

import hashlib

import pytest

import pramble

PEOPLE = {
    "sex": ["f", "m", "m"],
    "ill": ["no", "no", "yes"],
    "part": ["a", "b", "a"],
    "id": ["1", "1", "2"],
    "weight": [0.0, 0.0, 1.0],
}
COLUMNS = {
    "sex": {"categories": ["f", "m"]},
    "ill": {"categories": ["no", "yes"]},
    "part": {"categories": ["a", "b", "c"]},
}
NONE_ILL = {"if": {"sex": "f"}, "then": {"ill": "no"}, "repair": {"ill": "no"}}


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({"drop": ["id", "weight"]}, [1, 6]),
        ({"drop": ["id", "weight"], "possible": [NONE_ILL]}, [1, 4]),
        ({"drop": ["id"], "weights": "weight", "largest_weight": 4000.0}, [0, 1]),
        ({"drop": ["id", "weight"], "tables": "auto"}, [0, 1]),
    ],
)
def test_a_release_of_three_people_opens_whatever_its_noise(tmp_path, settings, keys):
    """Totals below zero, and structural zeros where noise leaves nobody else."""
    for number in keys:
        key = hashlib.sha256(f"possible{number}".encode()).digest()
        pramble.release(
            PEOPLE, tmp_path / f"{number}", columns=COLUMNS, central=0.05, person="id",
            rows_per_person=3, key=key, ledger=False, copies=["csv"], **settings,
        )  # fmt: skip
        found = pramble.open_release(tmp_path / f"{number}")
        assert found.manifest["rows"] >= 0
        assert pramble.synthesize(found, rows=5, seed=1).num_rows == 5
        pramble.dossier(tmp_path / f"{number}", tmp_path / f"{number}-dossier")
