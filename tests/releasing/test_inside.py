"""What only the parts of a release show: faults put in on purpose, what they draw, and sums."""

import copy
import json
import pickle
import re
import tomllib
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import islice
from types import SimpleNamespace

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tests.releasing import test_candidates as candidates
from tests.releasing import test_distances as distances
from tests.releasing import test_keys as keys
from tests.releasing import test_people as several_rows
from tests.releasing import test_pieces as pieces
from tests.releasing import test_records as records
from tests.releasing import test_table_releases as tables
from tests.releasing.conftest import (
    COLUMNS,
    LEAST_ROWS,
    PLAN,
    SCHEMA,
    central,
    crowd,
    in_ledger,
    plan_that_keeps,
    release_by,
    sha256,
)

import pramble
import pramble.releasing.folder.layout as layout
import pramble.releasing.priors as laplace
import pramble.releasing.record_design as record_design
import pramble.releasing.try_release as trials
import pramble.releasing.write.contents as writing_tables
import pramble.releasing.write.data as writing
import pramble.releasing.write.verify as checking
from pramble import release
from pramble.data.formats import arrow
from pramble.data.open import open_records
from pramble.data.vocabulary import key_variable
from pramble.engine.files import Canonical
from pramble.engine.record import BoundPlan
from pramble.errors import InvalidInput, InvalidPlan, PrivacyError
from pramble.releasing.folder.reading import mistakes_in
from pramble.releasing.linkage import Neighbours
from pramble.releasing.profile.survey import survey_file
from pramble.releasing.spec.document import COLUMN, RISK, spec_from, spec_to_toml
from pramble.releasing.spec.document import PLAN as PLAN_SETTINGS
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.write.data import bound_key, write_piece
from pramble.releasing.write.scripts import r_text, script_texts

release_verb = import_module("pramble.releasing.release")
KEY = bytes(range(32))
ages, files = distances.ages, keys.files
source, honest = pieces.source, pieces.honest


def test_a_design_that_does_not_exist_is_refused_by_column(people_file, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise InvalidInput("no solver for it.")

    monkeypatch.setattr("pramble.releasing.column_design.design", refuse)
    with pytest.raises(InvalidPlan, match="Column 'AGE' has no such design: no solver for it"):
        release(people_file, tmp_path / "out", columns=["AGE"], alpha=2.0, design="paper")


def test_an_engine_that_changes_nothing_is_caught(people_file, tmp_path, monkeypatch):
    monkeypatch.setattr("pramble.engine.block.ColumnBlock.draw", lambda self, codes, rows: codes)
    with pytest.raises(PrivacyError, match=r"rate of change in SEX.*Nothing was released"):
        release(people_file, tmp_path / "out", plan=PLAN)
    assert not list(tmp_path.glob("*out*"))
    assert in_ledger(tmp_path / "xdg/pramble/ledger.sqlite") == []


@pytest.mark.parametrize("rows", [50, 400, 6000])
def test_no_sound_release_fails_the_check_of_its_rate_of_change(rows):
    """The bounds hold against the exact binomial law, and refuse a file that did not change."""
    mechanism = pramble.randomized_response(["a", "b"], 0.5)
    q = float(mechanism.matrix[0, 1])

    def drawn(changed):
        draws = checking.BlockDraws("x", mechanism)
        draws.add(np.zeros(rows, dtype=np.int64), (np.arange(rows) < changed).astype(np.int64))
        return [draws]

    passed = [checking.change_check("x", drawn(changed)).passed for changed in range(rows + 1)]
    law = binom(rows, q)
    refused = [k for k in range(rows + 1) if not passed[k]]
    assert sum(law.pmf(k) for k in refused) < 2.0**-128
    assert passed[0] == (rows < 6000)


def spoil_what_is_written(monkeypatch, spoil):
    """Let the file that is written differ from the batches that were made."""
    real = writing.writing

    @contextmanager
    def spoiled(*args, **options):
        with real(*args, **options) as writer:
            yield SimpleNamespace(write=lambda batch: writer.write(spoil(batch)))

    monkeypatch.setattr(writing, "writing", spoiled)


def test_a_file_whose_other_columns_differ_is_caught(people_file, tmp_path, monkeypatch):
    spoil_what_is_written(
        monkeypatch, lambda b: b.set_column(3, "income", pa.array(np.zeros(b.num_rows)))
    )
    with pytest.raises(PrivacyError, match="They differ: income"):
        release(people_file, tmp_path / "out", plan=PLAN)
    assert not list(tmp_path.glob("*out*"))


def test_a_file_whose_released_values_differ_is_caught(people_file, tmp_path, monkeypatch):
    def swapped(batch):
        values = batch["SEX"].to_pylist()
        values[0], other = "Male" if values[0] == "Female" else "Female", values[0]
        assert values[0] != other
        return batch.set_column(0, "SEX", pa.array(values))

    spoil_what_is_written(monkeypatch, swapped)
    with pytest.raises(PrivacyError, match="They differ: SEX"):
        release(people_file, tmp_path / "out", plan=PLAN)


def test_lost_rows_are_caught(people_file, tmp_path, monkeypatch):
    spoil_what_is_written(monkeypatch, lambda batch: batch.slice(1))
    with pytest.raises(PrivacyError, match="row count"):
        release(people_file, tmp_path / "out", plan=PLAN)


def test_row_groups_do_not_show_how_the_source_was_cut(people, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "GROUP_ROWS", 2500)
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(people.slice(0, 1700), folder / "a.parquet")
    pq.write_table(people.slice(1700), folder / "b.parquet")
    release(folder, tmp_path / "out", plan=PLAN)
    about = pq.read_metadata(tmp_path / "out" / "randomised.parquet")
    sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    assert sizes == [2500, 2500, 1000]


def test_large_files_are_compared_block_by_block(people_file, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "BATCH_ROWS", 700)
    monkeypatch.setattr("pramble.engine.files.BATCH_ROWS", 700)
    r = release(people_file, tmp_path / "out", plan=PLAN)
    assert all(check.passed for check in r.outcome.checks)
    assert len(r.outcome.checks) == 5
    assert pramble.open_release(r.folder).data.num_rows == 6000


def test_private_tables_spend_what_they_say_and_not_more(people_file, tmp_path, monkeypatch):
    """m tables at ε/m each, with noise of rate ε/(2m)."""
    rates = []
    true = laplace.discrete_laplace
    monkeypatch.setattr(
        laplace, "discrete_laplace", lambda rate, *rest: rates.append(rate) or true(rate, *rest)
    )
    r = release(
        people_file,
        tmp_path / "out",
        columns=records.COLUMNS,
        alpha=4.0,
        drop=["name"],
    )
    epsilon = Fraction(r.manifest["design"]["prior"]["alpha_exact"])
    spent_on = r.manifest["design"]["prior"]["tables"]
    assert len(spent_on) == 3
    assert set(rates) == {epsilon / 3 / 2}
    assert len(rates) == sum(len(table["probabilities"]) for table in spent_on)


def test_an_engine_that_keeps_all_records_is_caught(people_file, tmp_path, monkeypatch):
    def keep(self, codes, rows):
        return np.minimum(codes, self.mechanism.shape[1] - 1)

    monkeypatch.setattr("pramble.engine.block.ColumnBlock.draw", keep)
    with pytest.raises(PrivacyError, match=r"rate of change over all blocks.*Nothing was"):
        release(people_file, tmp_path / "out", columns=records.COLUMNS, alpha=1.0)
    assert not (tmp_path / "out").exists()


def test_a_coin_that_prefers_a_branch_is_caught(people_file, tmp_path, monkeypatch):
    def first_only(self, rows):
        none = np.arange(0)
        return [np.arange(len(rows)), *(none for _ in self.plan.branches[1:])]

    monkeypatch.setattr(BoundPlan, "branch_positions", first_only)
    with pytest.raises(PrivacyError, match=r"records of each branch"):
        release(people_file, tmp_path / "out", columns=records.COLUMNS, alpha=1.0)


def test_a_private_prior_of_a_person_has_the_noise_of_all_rows(tmp_path, monkeypatch):
    """The histogram's noise has rate ε/(2k), for one person moves 2k counts."""
    rates = []
    true = laplace.discrete_laplace
    monkeypatch.setattr(
        laplace, "discrete_laplace", lambda rate, *rest: rates.append(rate) or true(rate, *rest)
    )
    r = several_rows.released(several_rows.visits(), tmp_path / "out", alpha=4.0, person="pid")
    spent = 4 * sum(Fraction(c["prior"]["alpha_exact"]) for c in r.manifest["design"]["parts"])
    assert set(rates) == {spent / (2 * 4)}
    assert len(rates) == len(several_rows.AGES)  # sex needs no prior


def test_a_promise_that_no_plan_keeps_is_refused(tmp_path, monkeypatch):
    """A design that comes back with more than was asked for never reaches the disk."""

    def generous(labels, **options):
        return pramble.design_record(labels, **{**options, "central": (2.0, 1e-5)})

    monkeypatch.setattr(record_design, "design_record", generous)
    ledger = tmp_path / "ledger.sqlite"
    with pytest.raises(PrivacyError, match="above the limit"):
        central(crowd(400), tmp_path / "out", ledger=ledger)
    assert not list(tmp_path.glob("*out*"))
    assert in_ledger(ledger) == []


def test_a_key_is_bound_to_records_plan_and_order():
    spec = spec_from({"central": 3.0, "delta": 1e-5, "design": "records", "columns": COLUMNS})
    plan, (first, *rest) = plan_that_keeps(2.0), spec.columns
    blocks = list(plan.items())

    def key_of(key=KEY, digest="d", plan=plan, spec=spec):
        return bound_key(key, digest, plan=plan, spec=spec)

    found = [
        key_of(),
        key_of(key=bytes(32)),
        key_of(digest="e"),
        key_of(plan=plan_that_keeps(2.0000001)),
        key_of(plan=pramble.Plan(dict(blocks[::-1]))),
        key_of(plan=pramble.Plan(dict(blocks[:1]))),
        key_of(spec=replace(spec, central=None, alpha=3.0)),  # its rows keep their order
        key_of(spec=replace(spec, columns=(replace(first, missing="f"), *rest))),
        key_of(spec=replace(spec, columns=(replace(first, missing=True), *rest))),
    ]
    assert len(set(found)) == len(found)
    assert key_of() == found[0]


def test_equal_bits_would_be_seen(files, monkeypatch):
    """Power: a key that is bound to nothing makes two plans agree in nearly every row."""
    monkeypatch.setattr(release_verb, "bound_key", lambda *_, **__: bytes(32))
    assert keys.agreement(files(), files(plan_that_keeps(2.0001))) > 20


@pytest.mark.parametrize("wanted", [2, "auto"])
@pytest.mark.parametrize("several", [1, 2])
def test_nothing_but_the_tables_decides_what_is_published(tmp_path, monkeypatch, wanted, several):
    """Two files that are forced to the same protected tables give the same bytes."""
    design = pramble.design_tables(
        tables.COLUMNS, 1.0, 1e-6, tables=wanted, rows_per_person=several
    )
    fixed = pramble.measure(tables.people(seed=9), design, key=KEY)
    monkeypatch.setattr(writing_tables, "measure_records", lambda *_, **__: fixed)
    one, more = tables.people(), {}
    two = pa.Table.from_pylist([*one.slice(1).to_pylist(), {**one.to_pylist()[0], "SEX": "m"}])
    turned = two.take(np.random.default_rng(2).permutation(5_000))
    if several > 1:  # another person may then have fewer rows
        one = one.append_column("who", pa.array(np.arange(5_000) // several))
        turned = one.slice(1)
        more = {"person": "who", "rows_per_person": several, "drop": ["who"]}
    for people, name in ((one, "one"), (turned, "two")):
        tables.released(people, tmp_path / name, pages=True, key=None, tables=wanted, **more)
    held = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert held == sorted(path.name for path in (tmp_path / "two").iterdir())
    for name in held:
        texts = [(tmp_path / f / name).read_bytes() for f in ("one", "two")]
        if name in ("manifest.json", "summary.html"):
            created = [json.loads((tmp_path / f / "manifest.json").read_text())["created"]
                       for f in ("one", "two")]  # fmt: skip
            texts = [t.replace(c.encode(), b"") for t, c in zip(texts, created, strict=True)]
        assert texts[0] == texts[1], name


def test_a_piece_is_the_same_wherever_it_is_written(source, honest, tmp_path):
    """From a pickled recipe and its own rows alone, by any number of threads."""
    records = open_records(source)
    job = bound(source, tmp_path)
    batches = list(islice(job.source(records), 1, 2))
    for threads in (1, 3):
        record = BoundPlan(pieces.PLAN, job.record.key, threads=threads)
        sent = pickle.loads(pickle.dumps(Canonical(records.schema, record, names=job.names)))
        path = tmp_path / f"{threads}.parquet"
        tally, links = write_piece(
            sent, batches, path, first_row=LEAST_ROWS, watched=["town", "income"]
        )
        assert sha256(path) == honest.manifest["data"]["pieces"][1]["sha256"]
        assert tally.rows == links.rows == LEAST_ROWS
        assert pickle.loads(pickle.dumps(tally)).digests == tally.digests
        assert not tally.last


def bound(source, tmp_path):
    """What randomises in a release of the source with the key."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            writing,
            "write_piece",
            lambda work, *given, **named: seen.append(work) or write_piece(work, *given, **named),
        )
        pieces.released(source, tmp_path / "again")
    return seen[0]


def test_too_many_pieces_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "MOST_PIECES", 1)
    plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
    people = {"sex": ["f", "m"] * LEAST_ROWS}
    with pytest.raises(InvalidPlan, match="state a larger rows_per_file"):
        release_by(plan, people, tmp_path / "out", rows_per_file=LEAST_ROWS)


def test_a_file_is_counted_once_for_all_promises_of_a_kind(monkeypatch):
    scans = []
    scan_for = trials.scan_for
    monkeypatch.setattr(trials, "scan_for", lambda *a, **k: scans.append(1) or scan_for(*a, **k))
    found = pramble.try_release(
        candidates.people(), plan=candidates.PLAN, alphas=[1.0, 2.0, 4.0], centrals=[]
    )
    assert len(scans) == 1
    assert found.found[0].half_width > found.found[2].half_width
    assert [len(one.tables) for one in found] == [5, 5, 5]


MANIFEST = {
    "schema": "pramble/release/8",
    "software": {"name": "pramble", "version": "1"},
    "created": "2026-01-01",
    "rows": 3,
    "data": {"file": "randomised.parquet", "format": "parquet", "bytes": 9, "sha256": "0" * 64},
    "codebook": {"file": "codebook.xml", "bytes": 9, "sha256": "0" * 64},
    "promise": {
        "spent": {"notion": "record", "alpha": 1.0, "alpha_exact": "1"},
        "limit": {"notion": "record", "alpha": 1.0, "alpha_exact": "1"},
        "unit": {"of": "row", "rows": 1, "columns": [], "stated": False},
        "relation": "replace one record",
        "sentence": "x",
        "conditional_on_prior": False,
        "counted": False,
    },
    "plan": {"schema": "pramble/plan/1", "branches": [{}]},
    "design": {
        "kind": "columns",
        "parts": [
            {
                "column": "b",
                "alpha": 0.5,
                "prior": {"source": "uniform", "alpha": 0, "alpha_exact": "1/2", "detail": ""},
            },
        ],
    },
    "columns": [
        {"name": "a", "randomised": False},
        {"name": "b", "randomised": True, "categories_from": "declared"},
    ],
    "notes": ["x"],
}
values = st.sampled_from([None, True, -1, 3, 0.5, "x", "1/2", "csv", [], [0.5], {}, {"name": "x"}])


def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else items:
        yield from paths(part, (*path, key))


@given(st.sampled_from(list(paths(MANIFEST))[1:]), values, st.booleans())
def test_our_checker_agrees_with_jsonschema(path, value, remove):
    document = copy.deepcopy(MANIFEST)
    *parents, last = path
    place = document
    for key in parents:
        place = place[key]
    if remove:
        del place[last]
    else:
        place[last] = value
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert (not list(mistakes_in(document, SCHEMA))) == validator.is_valid(document)


def test_the_sample_manifest_is_valid_and_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(MANIFEST, SCHEMA)


def test_the_variance_bounds_that_of_random_orders():
    rng = np.random.default_rng(9)
    values = np.repeat([0, 1, 2], [60, 30, 10])
    alarms = 0
    for _ in range(300):
        found = Neighbours()
        found.add(rng.permutation(values))
        alarms += found.follow_values([60, 30, 10])
    assert alarms == 0


def test_empty_cells_are_values_and_a_constant_column_tells_nothing():
    found = Neighbours()
    found.add(np.array([0, 0, 1, 0]))
    assert (found.pairs, found.equal) == (3, 1)
    assert not Neighbours(pairs=99, equal=99).follow_values([100, 0])


@given(st.text())
def test_a_text_in_r_code_holds_plain_characters_and_whole_escapes_alone(text):
    code = r_text(text)
    assert re.fullmatch(r'"(?:[ !#-\[\]-~]|\\U\{[0-9a-f]+\})*"', code)
    back = re.sub(r"\\U\{([0-9a-f]+)\}", lambda m: chr(int(m.group(1), 16)), code[1:-1])
    assert back == text


def test_labels_that_look_alike_as_text_leave_r_out():
    plan = pramble.Plan({"a": pramble.randomized_response(["1", 1], 3.0)})
    script = script_texts(plan, plan.columns, rows=10)["analysis.R"]
    assert script.count("stop(") == 1
    assert "look alike as text" in script


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["seen", "uniform", "public", "optimal", "general", "csv", "sex"])
)
odd_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
setting_names = st.sampled_from([*PLAN_SETTINGS, *COLUMN, *RISK, "columns", "risk"]) | st.text(
    max_size=5
)
odd_tables = st.dictionaries(setting_names, odd_values, max_size=4)
documents = st.fixed_dictionaries(
    {},
    optional={
        "alpha": st.sampled_from([1, 0.5]) | odd_values,
        "columns": st.dictionaries(
            st.sampled_from(["sex", "age"]), odd_tables | st.just({"categories": ["m", "f"]})
        )
        | odd_values,
        "risk": odd_tables | odd_values,
        "drop": st.lists(st.sampled_from(["sex", "name"])) | odd_values,
    },
)


@settings(max_examples=200)
@given(documents, odd_tables)
def test_any_settings_give_a_plan_or_clear_words(document, more):
    try:
        plan = spec_from({**more, **document})
    except InvalidPlan as error:
        words = str(error)
    else:
        assert isinstance(plan, ReleaseSpec)
        assert plan.limit.alpha > 0
        assert spec_from(tomllib.loads(spec_to_toml(plan))) == plan
        return
    assert words
    assert all(line.endswith(".") for line in words.split("\n"))


@pytest.mark.parametrize(
    ("names", "key"),
    [
        ("sex gender Geschlecht sexe sexo sesso geslacht", "sex"),
        ("AGE Alter âge edad età leeftijd idade", "age"),
        ("region Bundesland département provincia regione provincie distrito", "region"),
        ("education EDUC Bildung niveau_etudes estudios istruzione opleiding", "education"),
        ("marital MARST Familienstand etat_civil estado_civil stato_civile", "marital"),
        ("occupation Beruf profession ocupación professione beroep profissão", "occupation"),
        ("nationality Nationalität nationalité nacionalidad cittadinanza race", "origin"),
        ("hhsize children Haushalt ménage hogar famiglia huishouden", "household"),
        ("tenure OWNERSHP logement Wohnung vivienda alloggio woning", "tenure"),
    ],
)
def test_key_variables_are_known_in_several_languages(names, key):
    assert {name: key_variable(name) for name in names.split()} == dict.fromkeys(names.split(), key)


def test_a_long_file_tells_how_far_it_is(tmp_path):
    (tmp_path / "long.csv").write_text("sex,age\n" + "f,10\nm,20\n" * 700_000)
    told = []
    survey_file(tmp_path / "long.csv", progress=told.append)
    shares = [one.share for one in told]
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert told[-1].rows == 1_400_000
