"""Releases under a central promise: what it rests on, and sentences where it cannot be kept."""

import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import COLUMNS, central, crowd, in_ledger, plan_that_keeps, rewrite

import pramble
from pramble.errors import InvalidData, InvalidPlan, PrivacyError

pytestmark = pytest.mark.usefixtures("designed_once")


@pytest.fixture
def book(tmp_path):
    return tmp_path / "ledger.sqlite"


def refused(tmp_path, book, people, *, error=PrivacyError, **options):
    """The sentence of a release that must be refused, with nothing written and nothing spent."""
    with pytest.raises(error) as caught:
        central(people, tmp_path / "out", ledger=book, pages=True, **options)
    assert not list(tmp_path.glob("*out*"))
    assert in_ledger(book) == []
    return str(caught.value)


def with_column(people, name, values):
    return people.append_column(name, pa.array(values))


@pytest.fixture(scope="module")
def people():
    return crowd(400)


def test_an_untouched_column_ends_a_central_promise_and_is_named(tmp_path, book, people):
    told = refused(tmp_path, book, with_column(people, "town", ["x", "y"] * 200))
    assert "'town'" in told
    assert "--drop" in told
    assert "'sex'" not in told


def test_an_allowed_column_is_still_untouched(tmp_path, book, people):
    """What ``allow`` says of links does not make a column a randomised one."""
    given = with_column(people, "town", ["x", "y"] * 200)
    assert "'town'" in refused(tmp_path, book, given, allow=["town"])


def test_an_identifier_must_go_and_may(tmp_path, book, people):
    given = with_column(people, "id", list(range(400)))
    assert "'id'" in refused(tmp_path, book, given)
    assert "'id'" in refused(tmp_path, book, given, person="id")
    made = central(given, tmp_path / "kept", person="id", drop=["id"])
    assert "id" not in pq.read_schema(made.folder / "randomised.parquet").names
    assert "id" not in {column["name"] for column in made.manifest["columns"]}
    assert made.manifest["promise"]["unit"]["columns"] == ["id"]


def test_a_survey_weight_is_refused_as_it_is_and_goes_in_bands(tmp_path, book, people):
    weights = np.random.default_rng(3).lognormal(0, 1, 400)
    given = with_column(people, "weight", weights)
    assert "A survey weight is stated with weights" in refused(tmp_path, book, given)
    raw = {**COLUMNS, "weight": {}}
    told = refused(tmp_path, book, given, columns=raw, error=InvalidData)
    assert "'weight'" in told
    assert "bands" in told
    banded = {**COLUMNS, "weight": {"bands": [0, 1, 2, 1000]}}
    made = pramble.open_release(central(given, tmp_path / "banded", columns=banded).folder)
    assert made.central.epsilon <= 1
    assert len(made.plan.column_labels()["weight"].labels.values) == 4


def test_a_local_release_states_a_central_promise_only_where_it_holds(tmp_path, people):
    def promise(name, **options):
        given = {"central": None, "alpha": 1.0, "prior": "uniform", "shuffle": True, **options}
        return central(options.pop("source", people), tmp_path / name, **given)

    shuffled = promise("shuffled")
    assert shuffled.central.epsilon < Fraction(1, 2)
    assert pramble.open_release(shuffled.folder).central == shuffled.central
    assert promise("in order", shuffle=False, delta=None).central is None
    assert promise("untouched", columns={"sex": COLUMNS["sex"]}).central is None
    dropped = promise("dropped", columns={"sex": COLUMNS["sex"]}, drop=["ill", "age"])
    assert dropped.central is not None
    for name in ("in order", "untouched"):
        text = (tmp_path / name / "manifest.json").read_text()
        assert '"central"' not in text
        assert "random order" not in text


def test_the_order_of_the_file_cannot_be_kept(people, tmp_path, book):
    told = refused(tmp_path, book, people, shuffle=False, error=InvalidPlan)
    assert "random order" in told


def test_missing_values_need_a_label_and_are_released_as_such(tmp_path, book, people):
    sex = [None if i % 7 == 0 else value for i, value in enumerate(people["sex"].to_pylist())]
    given = people.set_column(0, "sex", pa.array(sex))
    assert "58 empty cells" in refused(tmp_path, book, given, error=InvalidData)
    for name, missing, shown in (("a", "none", "none"), ("b", True, None)):
        columns = {**COLUMNS, "sex": {"categories": ["f", "m"], "missing": missing}}
        made = pramble.open_release(central(given, tmp_path / name, columns=columns).folder)
        found = pramble.estimate(made.data, made.plan, by=["sex"])
        assert set(found.cells["sex"]) == {"f", "m", shown}
        assert made.data.num_rows == 400


def test_every_record_is_in_the_file(tmp_path, people, given_plan):
    """A promise so wide that nearly nothing changes: the file is the source in another order."""
    given_plan(plan_that_keeps(9.0))
    made = pramble.open_release(central(people, tmp_path / "out", central=40.0).folder)
    there = Counter(map(str, made.data.to_pylist()))
    here = Counter(map(str, people.select(made.data.column_names).to_pylist()))
    assert (there - here).total() <= 8
    assert made.data.to_pylist() != people.to_pylist()


def test_rows_of_a_person_are_counted_once_as_a_group(tmp_path, book, people):
    """The manifest, the ledger and a proof from scratch agree on people of three rows."""
    made = central(people, tmp_path / "out", rows_per_person=3, ledger=book, people="x")
    stated = made.manifest["promise"]
    assert stated["central"]["spent"]["rows_per_person"] == 3
    assert stated["spent"]["rows_per_person"] == 3
    assert "in at most 3 rows" in stated["relation"]
    assert "all 3 rows of a person" in stated["central"]["sentence"]
    assert made.central == pramble.open_release(made.folder).central
    (entry,) = in_ledger(book)
    assert (entry["epsilon"], entry["delta"]) == (made.central.shown, 1e-5)
    assert entry["alpha"] == made.alpha
    again, alone = (
        pramble.central_guarantee(made.plan, rows=400, delta=1e-5, rows_per_person=k).epsilon
        for k in (3, 1)
    )
    assert again <= made.central.epsilon * Fraction(1 + 1e-9)
    assert again > 2 * alone


def test_people_told_by_a_column_are_a_group_too(tmp_path, people):
    given = with_column(people, "who", [i // 2 for i in range(400)])
    made = central(given, tmp_path / "out", person="who", drop=["who"])
    assert made.central.rows == 2
    one = central(people, tmp_path / "one")
    assert pramble.certify(made.plan).alpha < pramble.certify(one.plan).alpha


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_tiny_files_keep_the_promise(tmp_path, rows):
    pair = {name: COLUMNS[name] for name in ("sex", "ill")}
    made = central(crowd(rows).select(list(pair)), tmp_path / "out", columns=pair)
    opened = pramble.open_release(made.folder)
    assert opened.central.epsilon <= 1
    # with so few rows a crowd hides hardly anybody, and one row has none: the plan itself must
    assert pramble.certify(opened.plan).alpha < (1.0001 if rows == 1 else 1.2)


def test_an_empty_file_is_refused(tmp_path, book):
    assert "no rows" in refused(tmp_path, book, crowd(5).slice(5), error=InvalidData)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1000.0])
def test_extreme_promises_are_kept(tmp_path, people, epsilon):
    made = central(people, tmp_path / "out", central=epsilon, columns={"sex": COLUMNS["sex"]},
                   drop=["ill", "age"])  # fmt: skip
    assert pramble.open_release(made.folder).central.epsilon <= Fraction(epsilon)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 1.0}, "central promise and alpha"),
        ({"delta": 0.5}, r"delta must be a number in \(0, 0.01\)"),
        ({"delta": 0}, "delta must be"),
        ({"central": -1.0}, "central must be a positive number"),
        ({"central": float("nan")}, "central must be a positive number"),
        ({"views": False}, "views"),
        ({"prior": "confidential"}, "needs no prior"),
        ({"design": "paper", "tables": None}, "central goes with"),
        ({"family": "general"}, "goes with design"),
    ],
)
def test_contradictions_are_told(tmp_path, book, people, options, words):
    assert re.search(words, refused(tmp_path, book, people, error=InvalidPlan, **options))


def test_whole_records_stay_in_one_file(tmp_path, people):
    made = central(people, tmp_path / "out", whole=True)
    opened = pramble.open_release(made.folder)
    assert opened.data.num_rows == people.num_rows
    assert all(not column.null_count for column in opened.data.columns)


def test_named_tables_do_not_leave_a_column_out(tmp_path, people):
    """A column of no wanted table is still randomised."""
    made = central(people, tmp_path / "out", tables=[("sex", "ill")])
    opened = pramble.open_release(made.folder)
    assert set(opened.plan.columns) == {"sex", "ill", "age"}
    assert made.outcome.untouched == ()
    assert all(column["randomised"] for column in opened.manifest["columns"])


def test_seen_categories_are_an_assumption_that_is_stated(tmp_path, people):
    made = central(people, tmp_path / "out", columns=["sex", "ill", "age"])
    assumed = " ".join(made.manifest["promise"]["central"]["assumes"])
    assert "The categories of age, ill, sex were read off the file" in assumed
    assert "This is taken as known." in assumed


def test_what_cannot_occur_is_not_released(tmp_path, people):
    """Structural zeros: no cell is shown that the rules exclude, and repairs come first."""
    rules = [{"never": {"age": "0", "ill": "yes"}, "repair": {"ill": "no"}}]
    made = central(people, tmp_path / "out", possible=rules, tables=2)
    data = pramble.open_release(made.folder).data
    cells = set(zip(data["age"].to_pylist(), data["ill"].to_pylist(), strict=True))
    assert ("0", "yes") not in cells
    assert len(cells) == 5
    unrepaired = [{"never": {"age": "0", "ill": "yes"}}]
    with pytest.raises(InvalidData, match="Rule 1"):
        central(people, tmp_path / "other", possible=unrepaired)
    assert not (tmp_path / "other").exists()


def test_a_plan_that_follows_from_a_private_prior_states_no_central_promise(tmp_path):
    """What is proven of one fixed plan is not proven of a plan that noise has chosen."""
    people = crowd(20_000).select(["age"])
    made = central(people, tmp_path / "out", columns={"age": COLUMNS["age"]}, central=None,
                   alpha=4.0, shuffle=True, prior="private", design="paper",
                   tables=None)  # fmt: skip
    (part,) = made.manifest["design"]["parts"]
    prior = Fraction(part["prior"]["alpha_exact"])
    assert prior == 4 * Fraction(0.02)
    assert made.central is None
    assert made.alpha == pytest.approx(4.0)
    assert any('prior = "uniform"' in warning for warning in made.outcome.warnings)
    assert pramble.open_release(made.folder).central is None
    even = central(people, tmp_path / "even", columns={"age": COLUMNS["age"]}, central=None,
                   alpha=4.0, shuffle=True, prior="uniform", design="paper",
                   tables=None)  # fmt: skip
    assert even.central.epsilon < 1
    assert not any("No central promise" in warning for warning in even.outcome.warnings)
    claimed = even.manifest["promise"]["central"]
    rewrite(made.folder, lambda d: d["promise"].update(central=claimed))
    with pytest.raises(InvalidData, match="private prior"):
        pramble.open_release(made.folder)


def test_a_private_prior_is_not_bought_where_none_is_needed(tmp_path, people):
    made = central(people, tmp_path / "out", prior="private")
    assert made.manifest["design"]["prior"]["source"] == "uniform"
    assert made.manifest["design"]["prior"]["alpha"] == 0


def test_the_most_information_under_a_central_promise(tmp_path, people):
    made = pramble.open_release(central(people, tmp_path / "out", objective="information").folder)
    assert made.manifest["design"]["objective"] == "information"
    assert made.central.epsilon <= 1


def test_a_csv_gives_the_same_promise_as_a_frame(tmp_path, people):
    pacsv.write_csv(people, tmp_path / "people.csv")
    one = central(tmp_path / "people.csv", tmp_path / "one")
    two = central(people, tmp_path / "two")
    assert one.central == two.central
    assert one.plan == two.plan
    first, second = pramble.open_release(one.folder).data, pramble.open_release(two.folder).data
    assert first.schema == second.schema


def test_earlier_releases_are_told_as_readers_count_them(tmp_path, book, people, given_plan):
    given_plan(plan_that_keeps(1.0))
    common = {"central": 3.0, "ledger": book, "people": "x"}
    one = central(people, tmp_path / "one", **common)
    two = central(people, tmp_path / "two", **common)
    (told,) = (warning for warning in two.outcome.warnings if "earlier releases" in warning)
    before, after = one.central, one.central + two.central
    assert f"have spent {before.number} against readers (α = 2)" in told
    assert f"with this one it is {after.number} (α = 4)." in told
