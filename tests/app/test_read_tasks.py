"""What step 5 does in the background: one check of a folder, and counts as they are released."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import pramble
from pramble.app import read_tasks as read
from pramble.app.read_tasks import TableQuestion, ask_table, look_into, opened_release
from pramble.app.read_truth import compare_with
from pramble.errors import InvalidData, InvalidInput

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


def counted(place):
    lines = (place / "people.csv").read_text().splitlines()[1:]
    cells = [line.split(",") for line in lines]
    return Counter((int(age) // 30, smokes or "not said", town) for age, smokes, town in cells)


def compared(place, *names, **more):
    question = TableQuestion(tuple(names), more.pop("given", ()), more.pop("unit", "counts"))
    return compare_with(str(place / "out"), question, place / "people.csv", **more)


def test_the_confidential_file_is_counted_as_the_plan_recodes_it(place):
    answer = compared(place, "age", "smokes", "town", plan=PLAN)
    truth = counted(place)
    bands = list(dict.fromkeys(row[0] for row in answer.rows))
    assert len(bands) == 4  # the last, from 90, is empty
    found = {(bands.index(row[0]), row[1], row[2]): int(row[3].replace(",", ""))
             for row in answer.rows}  # fmt: skip
    assert found == {cell: truth[cell] for cell in found}
    assert sum(found.values()) == 3000


def test_shares_within_groups_are_those_of_the_group(place):
    answer = compared(place, "smokes", given=("town",), unit="shares", plan=PLAN)
    truth = counted(place)
    for town, smokes, share, *_ in answer.rows:
        group = sum(count for cell, count in truth.items() if cell[2] == town)
        own = sum(count for cell, count in truth.items() if cell[1:] == (smokes, town))
        assert share == f"{own / group:.2%}"


def test_the_share_of_intervals_that_hold_the_truth_is_that_of_the_rows(place):
    answer = compared(place, "age", "smokes", plan=PLAN)
    estimate = pramble.estimate(
        pramble.open_release(place / "out"), by=["age", "smokes"], covers="randomisation"
    )
    assert [row[3] for row in answer.rows] == [f"{3000 * p:,.0f}" for p in estimate.values]
    assert [row[4] for row in answer.rows] == [f"{3000 * p:,.0f}" for p in estimate.lower]
    held = sum(row[-1] == "yes" for row in answer.rows)
    assert answer.below.startswith(f"{held} of {len(answer.rows)} intervals hold")
    for row in answer.rows:
        truth, low, high = (float(row[i].replace(",", "")) for i in (2, 4, 5))
        assert row[-1] == ("yes" if low - 0.5 <= truth <= high + 0.5 else "no")


def test_without_the_plan_what_does_not_fit_is_refused_by_name(place):
    with pytest.raises(InvalidData, match=r"Column 'age' must hold declared categories only"):
        compared(place, "age")
    with pytest.raises(InvalidData, match="smokes"):
        compared(place, "smokes")
    assert len(compared(place, "town").rows) == 2


def test_a_file_without_the_column_is_refused(place, tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidData, match="town"):
        compare_with(str(place / "out"), TableQuestion(("town",)), tmp_path / "other.csv")


def test_a_folder_is_checked_once_until_its_manifest_changes(place, monkeypatch):
    opened = []
    monkeypatch.setattr(
        pramble, "open_release",
        lambda path, verb=pramble.open_release: opened.append(path) or verb(path),
    )  # fmt: skip
    folder = str(place / "out")
    facts = look_into(folder)
    assert facts.columns == ("age", "smokes", "town")
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
