"""Which promises are tried, what is known of them, and what stands in the way of a release."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramble.app import release as ready
from pramble.app import trials as curve
from pramble.app.forms import setting_value, state
from pramble.app.release import set_in
from pramble.app.tasks import survey, try_promise
from pramble.app.wizard import SourceFile, Wizard
from pramble.errors import InvalidInput
from pramble.releasing.spec.document import PLAN, spec_from, toml_value


@pytest.fixture
def desk(tmp_path):
    """A desk with a file: two declared columns, and one that is dropped."""
    path = tmp_path / "people.parquet"

    def declared(labels, every):
        codes = pa.array([row // every % 2 for row in range(1000)], pa.int8())
        return pa.DictionaryArray.from_arrays(codes, pa.array(labels), ordered=True)

    table = {
        "sex": declared(["f", "m"], 1),
        "old": declared(["no", "yes"], 2),
        "id": [f"p{i}" for i in range(1000)],
    }
    pq.write_table(pa.table(table), path)
    found = Wizard()
    found.source = SourceFile(path, path.name)
    found.take_survey(survey(path, {}))
    yield found
    found.close()


def test_the_present_promise_is_tried_first_then_the_nearest(desk):
    desk.promise_to("local", 3.0)
    assert curve.waiting(desk)[:4] == [3.0, 4.0, 2.0, 5.0]
    desk.promise_to("local", 2.5)
    assert curve.waiting(desk)[0] == 2.5
    assert len(curve.waiting(desk)) == len(curve.NOTCHES["local"]) + 1


def test_figures_are_of_the_plan_they_were_found_for(desk):
    desk.promise_to("local", 1.0)
    curve.store(desk, curve.trial_key(desk, 1.0), "figures")
    assert curve.known(desk) == {1.0: "figures"}
    assert 1.0 not in curve.waiting(desk)
    set_in(desk, "copies", ["csv"])  # which no figure depends on
    assert curve.known(desk) == {1.0: "figures"}
    desk.promise_to("local", 1.0, "columns")
    assert curve.known(desk) == {}
    desk.promise_to("central", 1.0)
    assert curve.known(desk) == {}
    desk.promise_to("local", 1.0)
    desk.act("old", "drop")
    assert curve.known(desk) == {}


def test_delta_belongs_to_central_figures_alone_and_is_remembered(desk):
    desk.promise_to("local", 1.0)
    desk.delta = 1e-8
    curve.store(desk, curve.trial_key(desk, 1.0), "local")
    desk.promise_to("central", 1.0)
    assert desk.document["delta"] == 1e-8
    curve.store(desk, curve.trial_key(desk, 1.0), "central")
    desk.delta = 1e-5
    desk.promise_to("central", 1.0)
    assert curve.known(desk) == {}
    desk.promise_to("local", 1.0)
    assert curve.known(desk) == {1.0: "local"}


def test_a_plan_has_what_its_promise_takes_and_nothing_is_lost_on_the_way(desk):
    risk = {"keys": ["sex"], "population_size": 10_000}
    said = desk.document | {"whole": True, "rows_per_file": 131072, "risk": risk}
    desk.document = dict(said)
    desk.promise_to("central", 0.5)
    tables = spec_from(desk.plan)
    assert (tables.design, tables.central, tables.delta) == ("tables", 0.5, desk.delta)
    assert desk.designs == ("tables", "records")
    state(desk.document, PLAN["shuffle"], False)  # ticked off for a local promise
    desk.promise_to("central", 0.7, "records")
    assert spec_from(desk.plan).is_shuffled
    assert desk.plan["design"] == "records"
    assert desk.plan["whole"]
    desk.document["shuffle"] = said["shuffle"]
    desk.promise_to("local", said["alpha"])
    assert desk.document == said


def test_each_design_of_a_central_promise_is_tried_where_it_is_chosen(desk):
    found = []
    for design in ("tables", "records"):
        desk.promise_to("central", 1.0, design)
        given = desk.ground, desk.source.path, desk.plan
        found.append(try_promise(*given, "central", 1.0, 1e-6).candidate)
    assert [(one.design, one.kind) for one in found] == [
        ("tables", "central"), ("records", "central"),
    ]  # fmt: skip
    assert all(table.noise > 0 for table in found[0].tables)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tables", "sex + old\nold", [["sex", "old"], ["old"]]),
        ("tables", "all", "all"),
        ("possible", '{ never = { sex = "f" } }', [{"never": {"sex": "f"}}]),
        ("rows_per_person", "many", "many"),
        ("rows_per_person", "1,000", 1000),
        ("people", " staff of 2024 ", "staff of 2024"),
        ("people", "", None),
        ("copies", [], None),
        ("shuffle", False, None),
        ("shuffle", True, True),
    ],
)  # fmt: skip
def test_what_is_written_into_a_control_is_read_as_a_plan_has_it(name, text, said):
    assert setting_value(PLAN[name], text) == said


def test_a_setting_is_shown_as_it_is_written():
    from pramble.app.forms import setting_text

    rule = {"if": {"old": ["no"]}, "then": {"sex": ["f"]}}
    for name, own in [("tables", [["sex", "old"], ["old"]]), ("possible", [rule]), ("tables", 2)]:
        assert setting_value(PLAN[name], setting_text(PLAN[name], own)) == own
    assert toml_value(rule) in setting_text(PLAN["possible"], [rule, rule])


def test_a_distance_goes_with_a_local_promise_and_the_refusal_says_so(desk):
    desk.columns["sex"]["distance"] = "path"
    assert "distance" in curve.central_refused(desk)
    assert "alpha" in curve.central_refused(desk)


def test_a_trial_gives_figures_and_a_picture_and_counts_once(desk):
    given = desk.ground, desk.source.path, desk.document
    one = try_promise(*given, "local", 1.0, 1e-6)
    two = try_promise(*given, "local", 4.0, 1e-6)
    assert one.candidate.half_width > two.candidate.half_width
    assert one.candidate.belief < two.candidate.belief
    assert one.picture.startswith("<svg")
    assert one.candidate.plan is None


@pytest.mark.parametrize("text", ["-1", "0", "many", "", "inf", "nan"])
def test_a_promise_is_a_positive_number(text):
    with pytest.raises(InvalidInput):
        curve.promise_in("local", text)


def test_a_central_promise_is_refused_in_words_where_a_column_is_kept(desk):
    assert curve.central_refused(desk) == ""
    desk.act("id", "keep")
    assert "'id'" in curve.central_refused(desk)


def test_what_stands_in_the_way_of_a_release(desk):
    assert ready.obstacles(Wizard()) == [("No file is open.", "open")]
    assert ready.obstacles(desk) == []
    desk.document["alfa"] = 1
    assert "alpha" in ready.obstacles(desk)[0][0]
    del desk.document["alfa"]
    for name in ("sex", "old"):
        desk.act(name, "drop")
    assert ready.obstacles(desk)[0][1] == "columns"


def test_the_target_is_proposed_and_one_that_exists_is_refused(desk, tmp_path):
    assert ready.target_of(desk) == tmp_path / "people-release"
    (tmp_path / "people-release").mkdir()
    assert ready.target_of(desk) == tmp_path / "people-release-2"
    ready.refuse_target(desk)
    for wrong in ("people-release", "people.parquet", "people.parquet/inside"):
        desk.target = str(tmp_path / wrong)
        with pytest.raises(InvalidInput):
            ready.refuse_target(desk)


def test_the_settings_of_a_release_go_into_the_plan(desk):
    before = ready.released_state(desk)
    for about, given in [
        ("copies", ["excel"]), ("shuffle", False),
        ("people", " staff "),
    ]:  # fmt: skip
        set_in(desk, about, given)
    desk.has_ledger = False
    assert ready.released_state(desk) != before
    text = desk.toml()
    for line in ('copies = ["excel"]', 'people = "staff"'):
        assert line in text
    assert "shuffle" not in text
    desk.target = "/some where/out"
    assert ready.command(desk).endswith("--out '/some where/out' --no-ledger")
