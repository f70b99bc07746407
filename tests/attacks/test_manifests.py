"""Manifests and plans from strangers: few bytes cost little, and any damage is told in words."""

import copy
import hashlib
import json
import math
import re
import time
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pramble
from pramble.errors import InvalidData, PrambleError
from pramble.limits import MOST_DOCUMENT_BYTES, MOST_LABELS

pytestmark = pytest.mark.xdist_group("damaged manifests")  # one worker makes what all need

BIG = {"range": 100_000_000}
SHORT = {"kind": "uniform", "categories": {"range": MOST_LABELS}, "off": 1}
COMPACT = {
    "a range": {"kind": "uniform", "categories": BIG, "off": 1},
    "a range of outputs": {
        "kind": "general",
        "categories": ["a", "b"],
        "outputs": BIG,
        "weights": [[1], [1]],
    },
    "arcs": {
        "kind": "arcs",
        "categories": BIG,
        "outputs": BIG,
        "positions": [0],
        "slots": [0],
        "width": 1,
        "low": 1,
    },
}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forged")
    path = folder / "people.parquet"
    pq.write_table(pa.table({"sex": ["f", "m"] * 50, "code": [0, 1, 2, 3] * 25}), path)
    columns = {"sex": {"categories": ["f", "m"]}, "code": {"categories": [0, 1, 2, 3]}}
    r = pramble.release(
        path,
        folder / "out",
        plan={"alpha": 1.0, "design": "paper", "columns": columns},
        ledger=False,
        pages=False,
    )
    return r.folder, json.loads((r.folder / "manifest.json").read_text())


def forge(released, change):
    folder, document = released
    document = copy.deepcopy(document)
    change(document)
    (folder / "manifest.json").write_text(json.dumps(document))
    return folder


def blocks(document):
    return document["plan"]["branches"][0]["blocks"]


@pytest.mark.parametrize("mechanism", COMPACT.values(), ids=COMPACT)
def test_few_bytes_never_take_much_memory(released, mechanism):
    folder = forge(released, lambda d: blocks(d)[0].update(mechanism=mechanism))
    tracemalloc.start()
    started = time.process_time()
    with pytest.raises(InvalidData, match="may have"):
        pramble.open_release(folder)
    taken, peak = time.process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 2
    assert peak < 60e6


def test_many_blocks_together_are_limited():
    block = {"mechanism": SHORT}
    many = [{"columns": [f"c{i}"], **block} for i in range(1000)]
    plan = {"schema": "pramble/plan/1", "branches": [{"share": "1", "blocks": many}]}
    with pytest.raises(pramble.InvalidPlan, match="together"):
        pramble.Plan.from_json(plan)


def test_a_million_categories_are_read():
    m = pramble.randomized_response(10**6, 14.0)
    assert pramble.Mechanism.from_json(json.dumps(m.to_json())) == m


@pytest.mark.parametrize("share", ["1e999999999", "1/0", "-1", "0x1", " 1", "١", "1" * 5000, ""])
def test_shares_are_plain_fractions(share):
    body = pramble.randomized_response(2, 1.0).body()
    block = {"columns": ["a"], "mechanism": body}
    branch = {"share": share, "blocks": [block]}
    with pytest.raises(pramble.InvalidPlan):
        pramble.Plan.from_json({"schema": "pramble/plan/1", "branches": [branch]})


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["promise"]["limit"].update(alpha=1e300, alpha_exact=str(10**300)),
        lambda d: d["promise"]["limit"].update(alpha=0.5, alpha_exact="1/2"),
        lambda d: d["promise"]["limit"].update(alpha_exact="1" + "0" * 400),
        lambda d: d["promise"]["spent"].update(alpha=1e300, alpha_exact=str(10**300)),
        lambda d: d["promise"].update(conditional_on_prior=True),
        lambda d: d["design"]["parts"][0].update(alpha=10**400),
        lambda d: d["design"]["parts"][0].update(alpha=1e300),
        lambda d: d["design"]["parts"][1]["prior"].update(alpha=0),
        lambda d: d["design"]["parts"][1]["prior"].update(source="public"),
        lambda d: d["design"]["parts"][0]["prior"].update(probabilities=[1.0]),
        lambda d: d["design"]["parts"][0]["prior"].update(probabilities=[1e308, 1e308]),
        lambda d: d["data"].update(bytes=7),
        lambda d: d["data"].update(format="csv"),
        lambda d: d["data"].update(file="randomised.xlsx"),
        lambda d: d["data"].update(file="folder/randomised.parquet"),
        lambda d: d["data"].update(file="randomised.parquet\n"),
        lambda d: d.update(rows=10**4000),
        lambda d: blocks(d)[0].update(columns=["sex", "code"]),
        lambda d: blocks(d)[0].update(columns=["\ud800"]),
    ],
)
def test_what_contradicts_itself_is_refused(released, change):
    folder = forge(released, change)
    with pytest.raises(InvalidData):
        pramble.open_release(folder)


def test_nan_is_no_json(released):
    folder = forge(released, lambda d: d["design"]["parts"][0].update(alpha=math.nan))
    with pytest.raises(InvalidData, match="NaN is no number"):
        pramble.open_release(folder)


def test_linked_files_are_refused(released, tmp_path):
    folder, document = released
    files = ("randomised.parquet", "synthetic.parquet")
    for name in (*files, "manifest.json"):
        linked = tmp_path / name.replace(".", "-")
        linked.mkdir()
        for file in files:
            (linked / file).write_bytes((folder / file).read_bytes())
        (linked / "manifest.json").write_text(json.dumps(document))
        pramble.open_release(linked)
        (linked / name).rename(tmp_path / name)
        (linked / name).symlink_to(tmp_path / name)
        with pytest.raises(InvalidData, match="symbolic link"):
            pramble.open_release(linked)


def test_a_long_manifest_is_not_read(released, tmp_path):
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(MOST_DOCUMENT_BYTES + 1)
    with pytest.raises(InvalidData, match="is not read"):
        pramble.open_release(tmp_path)


def test_raw_data_under_a_forged_manifest_holds_only_labels_of_its_plan(released, tmp_path):
    document = {key: own for key, own in released[1].items() if key != "synthetic"}
    raw = pa.table({"sex": ["f", "someone"] * 50, "code": [0, 1, 2, 3] * 25})
    pq.write_table(raw, tmp_path / "randomised.parquet")
    data = (tmp_path / "randomised.parquet").read_bytes()
    about = {**document["data"], "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (tmp_path / "manifest.json").write_text(json.dumps({**document, "data": about}))
    with pytest.raises(InvalidData, match="cannot release") as caught:
        pramble.open_release(tmp_path)
    assert "someone" not in str(caught.value)


ARCS = {
    "schema": "pramble/mechanism/1",
    "kind": "arcs",
    "categories": ["a", "b", "c", "d"],
    "outputs": [0, 1, 2, 3, 4],
    "positions": [0, 1, 2, 3],
    "slots": [4, 3, 2, 1, 0],
    "width": 2,
    "low": 1000,
}
DOCUMENTS = [
    ARCS,
    pramble.randomized_response(["f", "m", None], 1.0).to_json(),
    pramble.randomized_response(5, 1.0).to_json(),
    pramble.keep_probabilities([0.5, 0.6, 0.7]).to_json(),
    pramble.Mechanism.from_matrix([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]).to_json(),
]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, -1, 2**53, 2**63, -(2**63) - 1, 10**30, 10**400, 10**8]),
    st.floats(),
    st.sampled_from(["1e300", "1/3", "1/0", "1e99999999", "", "\x1b[31m", "uniform", "arcs", "a"]),
    st.text(max_size=5),
)
hostile = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["range", "kind", "factors", "x"]), inner, max_size=3),
    ),
    max_leaves=6,
)


def places(value, path=()):
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else items:
        yield from places(part, (*path, key))


@st.composite
def mutations(draw, document):
    """Some places of a document removed, doubled, or given something else."""
    made = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(list(places(made)) or [("x",)]))
        place = made
        for key in parents:
            place = place[key]
        what = draw(st.sampled_from(["remove", "replace", "replace", "double", "add"]))
        if what == "remove" and (isinstance(place, list) or last in place):
            del place[last]
        elif what == "double" and isinstance(place, list):
            place.append(place[last])
        elif what == "add" and isinstance(place, dict):
            place[draw(st.sampled_from(["outputs", "off", "width", "extra"]))] = draw(hostile)
        else:
            place[last] = draw(hostile)
    return made


@settings(max_examples=600)
@given(st.sampled_from(DOCUMENTS).flatmap(mutations), st.booleans())
def test_any_damage_to_a_mechanism_is_told_in_words(document, as_text):
    try:
        text = json.dumps(document) if as_text else document
        m = pramble.Mechanism.from_json(text)
    except PrambleError as error:
        words = str(error)
    else:
        words = f"α = {pramble.certify(m).alpha}"
    assert 0 < len(words) < 2000


FAST = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=500, deadline=None, suppress_health_check=FAST)
@given(data=st.data())
def test_any_damage_to_a_manifest_is_told_in_words(released, data):
    folder, document = released
    changed = data.draw(mutations(document))
    (folder / "manifest.json").write_text(json.dumps(changed))
    try:
        words = repr(pramble.open_release(folder))
        assert re.search(r"rows +100\b", words)
    except PrambleError as error:
        words = str(error)
    assert 0 < len(words) < 2000


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    columns = {f"c{i}": {"categories": list(range(10))} for i in range(8)}
    people = {name: list(range(10)) * 20 for name in columns}
    r = pramble.release(
        people, tmp_path_factory.mktemp("tables") / "out", columns=columns, central=1.0,
        tables=1, person=False, ledger=False, pages=False,
        possible=[{"if": {"c0": 0}, "then": {"c1": 0}, "repair": {"c1": 0}}],
    )  # fmt: skip
    return r.folder, json.loads((r.folder / "manifest.json").read_text())


RULE = {
    "no label": {"never": {"c0": [[1]], "c1": 1}},
    "no column": {"never": {"c0": 1, "else": 1}},
    "more cells than memory": {"never": {f"c{i}": 1 for i in range(8)}},
    "no record left": {"never": {"c0": list(range(10)), "c1": list(range(10))}},
}


@pytest.mark.parametrize("rule", RULE)
def test_forged_rules_of_what_is_possible_are_refused(tables, rule):
    def change(document):
        document["synthetic"]["possible"] = [RULE[rule]]

    with pytest.raises(InvalidData, match="rules of what is possible"):
        pramble.open_release(forge(tables, change))


def test_categories_beyond_any_column_are_refused(tables, released):
    def of_tables(document):
        document["plan"]["columns"][0]["categories"][0] = 10**40

    def of_records(document):
        own = blocks(document)[0]
        own["mechanism"]["categories"] = [10**40, *own["mechanism"]["categories"][1:]]

    for made, change in ((tables, of_tables), (released, of_records)):
        with pytest.raises(InvalidData):
            pramble.open_release(forge(made, change))


def test_a_forged_objective_stops_no_dossier(tables, tmp_path):
    folder = forge(tables, lambda document: document["design"].pop("objective"))
    assert (pramble.dossier(folder, tmp_path / "dossier") / "sp800-226.md").exists()


def test_settings_of_huge_numbers_are_refused(tables):
    def change(document):
        document["settings"]["columns"]["c0"]["prior"] = [1e308] * 10

    with pytest.raises(InvalidData, match="number in"):
        pramble.open_release(forge(tables, change))


@pytest.mark.parametrize("path", ["/etc/passwd", "../secret.csv", "https://stranger.example/x.csv"])
def test_settings_lead_to_no_file_elsewhere(released, path):
    """An audit would open it."""

    def change(document):
        document["settings"]["columns"]["sex"] |= {"prior": "public", "prior_file": path}

    with pytest.raises(InvalidData, match="where a file lies"):
        pramble.open_release(forge(released, change))
