"""The law of the container: with the same released values, neighbouring files give the same bytes.

Two files differ in one person. The engine is made to draw the same outputs for both, whatever the
inputs, so that every byte that still differs says something that α does not cover.
"""

import hashlib
import json
import shutil
from fractions import Fraction

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramble
from tests.attacks import seams

LABELS = ["f", "m", "a label that is much longer than the others, with a comma", 'quo"ted', None]
SEX = pramble.randomized_response(LABELS, 1.0)
CODE = pramble.randomized_response([0, 1, 2, None], 1.0)
PLAN = {"sex": SEX, "code": CODE}
CELLS = [(sex, code) for sex in LABELS for code in (0, 1, 2, None)]
TEXTS = [label or "missing" for label in LABELS]
PLANS = [
    PLAN,
    {("sex", "code"): pramble.randomized_response(CELLS, 1.0)},
    pramble.Plan(
        branches=[
            pramble.Branch(Fraction(1, 2), {"sex": pramble.randomized_response(TEXTS, 1.0)}),
            pramble.Branch(Fraction(1, 2), {"code": pramble.randomized_response(4, 1.0)}),
        ]
    ),
]
"""Columns, a block of both, and one branch for each; in the last a missing value has a label."""

FORMATS = ["parquet", "csv", "tsv", "arrow"]
BLOCK = 11
"""Rows of a block, so that small files have several."""


@pytest.fixture(autouse=True, scope="module")
def same_outputs():
    with seams.same_outputs(BLOCK):
        yield


@st.composite
def neighbours(draw):
    """Two lists of people that differ in one of them: first, last, at a block's end, anywhere."""
    person = st.tuples(st.sampled_from(LABELS), st.sampled_from([0, 1, 2, None]), st.integers(0, 9))
    rows = draw(st.lists(person, min_size=2, max_size=4 * BLOCK))
    places = st.one_of(
        st.sampled_from([0, -1, BLOCK - 1, BLOCK, 2 * BLOCK - 1]), st.integers(0, 4 * BLOCK)
    )
    place = draw(places) % len(rows)
    sex, code, _ = draw(person)
    changed = (sex, code, rows[place][2])
    return rows, [*rows[:place], changed, *rows[place + 1 :]]


def table_of(rows, *, coded):
    sex, code, age = zip(*rows, strict=True)
    text = pa.array(sex, pa.string())
    return pa.table(
        {
            "sex": text.dictionary_encode() if coded else text,
            "code": pa.array(code, pa.int64()),
            "age": pa.array(age, pa.int64()),
            "town": pa.array([f"town {year % 3}" for year in age]).dictionary_encode(),
        }
    )


def parquet(table, path):
    pq.write_table(table, path.with_suffix(".parquet"), row_group_size=5)
    return path.with_suffix(".parquet")


def csv(table, path):
    pl.from_arrow(table).write_csv(path.with_suffix(".csv"), quote_style="non_numeric")
    return path.with_suffix(".csv")


def arrow(table, path):
    pa.feather.write_feather(table, path.with_suffix(".arrow"), chunksize=6)
    return path.with_suffix(".arrow")


def excel(table, path):
    table.to_pandas().to_excel(path.with_suffix(".xlsx"), index=False)
    return path.with_suffix(".xlsx")


FILES = {"parquet": parquet, "csv": csv, "arrow": arrow}
DOORS = {
    **FILES,
    "excel": excel,
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table, _: table,
    "reader": lambda table, _: table.to_reader(7),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
}


COPIES = ["csv", "stata", "spss", "excel"]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_written(pair, folder, *, source, target, coded, plan):
    """The digests of what ``perturb_file`` writes for both."""
    if plan is PLANS[2]:
        pair = [[(s or "missing", 3 if c is None else c, a) for s, c, a in rows] for rows in pair]
    found = []
    for name, people in zip("ab", pair, strict=True):
        path = FILES[source](table_of(people, coded=coded), folder / name)
        out = folder / f"{name}-out.{target}"
        pramble.perturb_file(path, out, plan, key=bytes(32), reading={"quoted_missing": False})
        found.append(digest(out))
    return found


def folders_written(pair, folder, *, source, shuffle, coded, pages=False, design="paper"):
    """Every file of both releases, the time in the manifest aside."""
    together = design == "records"
    columns = {
        "sex": {"categories": [*LABELS[:-1]], "missing": "missing" if together else True},
        "code": {"categories": [0, 1, 2], "missing": 3 if together else True},
    }
    found = []
    for name, people in zip("ab", pair, strict=True):
        r = pramble.release(
            DOORS[source](table_of(people, coded=coded), folder / name),
            folder / f"{name}-out",
            columns=columns,
            alpha=2.0,
            prior="uniform",
            copies=COPIES,
            shuffle=shuffle,
            allow=["age", "town"],
            reading={"quoted_missing": False},
            ledger=False,
            pages=pages,
            design=design,
        )
        files = {path.name: digest(path) for path in r.folder.iterdir()}
        manifest = json.loads((r.folder / "manifest.json").read_text())
        page = r.folder / "summary.html"
        files["summary.html"] = page.read_text().replace(manifest["created"], "") if pages else ""
        found.append({**files, "manifest.json": {**manifest, "created": None}})
    return found


MISSING = {"sex": {"categories": LABELS[:-1], "missing": "missing"},
           "code": {"categories": [0, 1, 2], "missing": 3}}  # fmt: skip
PAIR = pramble.randomized_response([(sex, code) for sex in TEXTS for code in range(4)], 2.0)
CENTRAL = pramble.Plan({("sex", "code"): PAIR})


def central_folders(pair, folder, *, source, coded, pages=False):
    """Every file of both releases under a central promise, by path; the time aside."""
    found = []
    with seams.designed_as(CENTRAL, (9.0, 1e-6)):
        for name, people in zip("ab", pair, strict=True):
            r = pramble.release(
                DOORS[source](table_of(people, coded=coded), folder / name),
                folder / f"{name}-out",
                columns=MISSING,
                central=9.0,
                design="records",
                delta=1e-6,
                drop=["age", "town"],
                copies=COPIES,
                reading={"quoted_missing": False},
                ledger=False,
                pages=pages,
            )
            text = (r.folder / "manifest.json").read_text()
            created = json.loads(text)["created"]
            found.append({
                path.relative_to(r.folder).as_posix(): path.read_bytes().replace(
                    created.encode(), b""
                )
                for path in r.folder.rglob("*")
                if path.is_file()
            })  # fmt: skip
    return found


def promising(count):
    """The law for ``release`` under a central promise, over so many pairs."""

    @settings(max_examples=count)
    @given(
        pair=neighbours(),
        source=st.sampled_from(list(DOORS)),
        coded=st.booleans(),
    )
    def law(tmp_path_factory, pair, source, coded):
        folder = tmp_path_factory.mktemp("neighbours")
        one, other = central_folders(pair, folder, source=source, coded=coded)
        shutil.rmtree(folder)
        own = {"randomised.parquet", "synthetic.parquet", "analysis.R", "analysis.py"}
        own |= {"codebook.xml"}
        assert set(one) > own
        assert len(one) == len({*own, "manifest.json"}) + len(COPIES)
        assert one == other

    return law


def perturbing(count):
    """The law for ``perturb_file``, over so many pairs."""

    @settings(max_examples=count)
    @given(
        pair=neighbours(),
        source=st.sampled_from(list(FILES)),
        coded=st.booleans(),
        plan=st.sampled_from(PLANS),
        target=st.sampled_from(FORMATS),
    )
    def law(tmp_path_factory, pair, source, coded, plan, target):
        folder = tmp_path_factory.mktemp("neighbours")
        one, other = files_written(
            pair, folder, source=source, target=target, coded=coded, plan=plan
        )
        shutil.rmtree(folder)
        assert one == other

    return law


def releasing(count):
    """The law for ``release``, over so many pairs."""

    @settings(max_examples=count)
    @given(
        pair=neighbours(),
        source=st.sampled_from(list(DOORS)),
        shuffle=st.booleans(),
        coded=st.booleans(),
        design=st.sampled_from(["records", "paper"]),
    )
    def law(tmp_path_factory, pair, source, shuffle, coded, design):
        folder = tmp_path_factory.mktemp("neighbours")
        one, other = folders_written(
            pair,
            folder,
            source=source,
            shuffle=shuffle,
            coded=coded,
            design=design,
        )
        shutil.rmtree(folder)
        assert one == other

    return law


FEW, MANY = 10, 2000


def test_perturb_file_writes_the_same_bytes(tmp_path_factory):
    perturbing(len(FORMATS) * FEW)(tmp_path_factory)


def test_release_writes_the_same_folder(tmp_path_factory):
    releasing(FEW)(tmp_path_factory)


def test_central_releases_are_the_same_folder(tmp_path_factory):
    promising(FEW)(tmp_path_factory)


def test_the_page_of_a_central_release_is_the_same(tmp_path):
    rows = [("f", 1, 2), ("m", None, 4)] * 20
    pair = rows, [*rows[:-1], (LABELS[2], 0, 4)]
    one, other = central_folders(pair, tmp_path, source="pyarrow", coded=True, pages=True)
    assert one["summary.html"]
    assert one == other


def test_what_is_stored_says_nothing_of_the_source(tmp_path):
    """Keys, comments and indices in the metadata of a source stay there."""
    people = pl.from_arrow(table_of([("f", 1, 2), ("m", None, 4)] * 20, coded=False)).to_pandas()
    people.index = [f"secret {i}" for i in range(len(people))]
    table = pa.Table.from_pandas(people).drop_columns(["__index_level_0__"])
    table = table.replace_schema_metadata({**table.schema.metadata, b"secret": b"secret"})
    pq.write_table(table, tmp_path / "people.parquet")
    with seams.designed_as(CENTRAL, (9.0, 1e-6)):
        made = pramble.release(
            tmp_path / "people.parquet", tmp_path / "out", columns=MISSING, central=9.0,
            design="records", delta=1e-6, drop=["age", "town"], ledger=False,
        )  # fmt: skip
    for path in made.folder.rglob("*"):
        assert path.is_dir() or b"secret" not in path.read_bytes()
    for name, words in (("randomised", b"do not count"), ("synthetic", b"open and count")):
        found = pq.ParquetFile(made.folder / f"{name}.parquet")
        assert words in found.metadata.metadata[b"pramble"]
        assert set(found.metadata.metadata) == {b"ARROW:schema", b"pramble"}
        assert [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)] == [40]


@pytest.mark.slow
@pytest.mark.parametrize("law", [perturbing, releasing, promising])
def test_many_pairs_of_neighbours(tmp_path_factory, law):
    law(len(FORMATS) * MANY)(tmp_path_factory)


@pytest.mark.parametrize("design", ["records", "paper"])
def test_the_page_of_a_release_is_the_same(tmp_path, design):
    rows = [("f", 1, 2), ("m", None, 4)] * 9
    pair = rows, [*rows[:-1], (LABELS[2], 0, 4)]
    one, other = folders_written(
        pair, tmp_path, source="pyarrow", shuffle=True, coded=True, pages=True,
        design=design,
    )  # fmt: skip
    assert one["summary.html"]
    assert one == other


def test_the_law_would_catch_a_dictionary_of_the_source(tmp_path, monkeypatch):
    """A writer that keeps the source's dictionary breaks the law."""
    seams.keep_dictionaries(monkeypatch)
    found = []
    for name, order in (("a", [0, 1, 2]), ("b", [2, 1, 0])):
        towns = pa.DictionaryArray.from_arrays(
            pa.array([order.index(i) for i in (0, 1, 2)] * 5), [f"town {i}" for i in order]
        )
        table = pa.table({"code": pa.array([0, 1, 2] * 5), "town": towns})
        path, out = tmp_path / f"{name}.arrow", tmp_path / f"{name}.parquet"
        pa.feather.write_feather(table, path)
        pramble.perturb_file(path, out, {"code": CODE}, key=bytes(32))
        found.append(digest(out))
    assert found[0] != found[1]
