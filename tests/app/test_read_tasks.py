"""What step 5 does in the background: one check of a folder, and questions that make sense."""

from pathlib import Path

import numpy as np
import pytest

import pramble
from pramble.app import read_tasks as read
from pramble.app.read_tasks import TableQuestion, ask_table, look_into, opened_release
from pramble.errors import InvalidInput

KEY = bytes(range(32))
PLAN = {
    "alpha": 4.0,
    "design": "paper",
    "columns": {
        "age": {"bands": [0, 30, 60, 90], "prior": "uniform"},
        "smokes": {"categories": ["no", "yes"], "missing": "not said", "prior": "uniform"},
    },
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A text file with numbers and empty cells, and a release of it by a plan that recodes both."""
    folder = tmp_path_factory.mktemp("recoded")
    rng = np.random.default_rng(5)
    ages, towns = rng.integers(0, 90, 3000), rng.integers(1, 3, 3000)
    smokes = np.array(["no", "yes", ""])[rng.choice(3, 3000, p=[0.6, 0.3, 0.1])]
    lines = [f"{a},{s},{t}" for a, s, t in zip(ages, smokes, towns, strict=True)]
    (folder / "people.csv").write_text("\n".join(["age,smokes,town", *lines]) + "\n")
    pramble.release(
        folder / "people.csv", folder / "out", plan=PLAN, key=KEY, ledger=False, pages=False
    )
    return folder


def test_a_folder_is_checked_once_until_its_manifest_changes(place, monkeypatch):
    opened = []
    monkeypatch.setattr(
        pramble, "open_release",
        lambda path, verb=pramble.open_release: opened.append(path) or verb(path),
    )  # fmt: skip
    folder = str(place / "out")
    facts = look_into(folder)
    assert facts.columns == {"age": "4", "smokes": "3", "town": "as it was"}
    for _ in range(3):
        ask_table(folder, TableQuestion(("smokes",)))
    assert opened == [Path(folder)]
    (place / "out" / "manifest.json").touch()
    opened_release(folder)
    assert len(opened) == 2
    assert len(read.OPENED) == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": ()}, "Choose a column"),
        ({"by": ("a", "b"), "given": ("a",)}, "'a' is chosen twice"),
        ({"by": ("a",), "given": ("b",), "unit": "counts"}, "shares alone"),
    ],
)
def test_questions_that_make_no_sense_are_refused(asked, said):
    with pytest.raises(InvalidInput, match=said):
        TableQuestion(**asked)
