"""Every form data comes in: one key, one release, in the caller's own type."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pramble
from pramble.errors import InvalidData, InvalidInput, InvalidPlan

KEY = bytes(range(32))
TEXT = pramble.randomized_response(["a", "b", "c"], 1.0)
WHOLE = pramble.randomized_response([10, 20, 30], 1.0)
TRUTH = np.random.default_rng(3).integers(0, 3, 500)
WORDS = [TEXT.categories[code] for code in TRUTH]
NUMBERS = [WHOLE.categories[code] for code in TRUTH]
RELEASED_WORDS = pramble.perturb(WORDS, TEXT, key=KEY, column="x")
RELEASED_NUMBERS = pramble.perturb(NUMBERS, WHOLE, key=KEY, column="x")


def as_list(data):
    return data.to_pylist() if hasattr(data, "to_pylist") else list(data)


def dtype_of(data):
    return getattr(data, "dtype", None) or getattr(data, "type", None) or type(data)


def text_forms():
    yield "list", WORDS
    yield "tuple", tuple(WORDS)
    yield "numpy text", np.array(WORDS)
    yield "numpy object", np.array(WORDS, dtype=object)
    yield "numpy variable text", np.array(WORDS, dtype=np.dtypes.StringDType())
    for dtype in ("str", "object", "string", "category", "string[python]"):
        yield f"pandas {dtype}", pd.Series(WORDS, dtype=dtype, index=range(7, 507), name="x")
    declared = pd.CategoricalDtype(["c", "a", "b"], ordered=True)
    yield "pandas ordered", pd.Series(WORDS, dtype=declared)
    yield "pandas arrow", pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string()))
    for dtype in (
        pl.String,
        pl.Categorical,
        pl.Enum(["c", "b", "a"]),
        pl.Enum(["a", "b", "c", "d"]),
    ):
        yield f"polars {dtype}", pl.Series("x", WORDS, dtype=dtype)
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield f"arrow {kind}", pa.array(WORDS, kind)
    yield "arrow dictionary", pa.array(WORDS).dictionary_encode()
    yield "arrow chunks", pa.chunked_array([WORDS[:100], [], WORDS[100:]])
    yield (
        "arrow dictionary chunks",
        pa.chunked_array(
            [pa.array(WORDS[:99]).dictionary_encode(), pa.array(WORDS[99:]).dictionary_encode()]
        ),
    )
    yield "arrow slice", pa.array(["z", *WORDS, "z"]).slice(1, 500)
    yield "arrow dictionary slice", pa.array(["a", *WORDS]).dictionary_encode().slice(1)


def number_forms():
    yield "list", NUMBERS
    for dtype in ("u1", "i1", "u2", "i4", "i8", "u8", "f8", "O"):
        yield f"numpy {dtype}", np.array(NUMBERS, dtype=dtype)
    yield "numpy strided", np.repeat(np.array(NUMBERS), 2)[::2]
    yield "numpy big-endian", np.array(NUMBERS, dtype=">i4")
    for dtype in ("int16", "Int64", "float64", "category", "object", "UInt8"):
        yield f"pandas {dtype}", pd.Series(NUMBERS, dtype=dtype)
    for dtype in (pl.Int8, pl.UInt64, pl.Float64):
        yield f"polars {dtype}", pl.Series(NUMBERS, dtype=dtype)
    for kind in (pa.int8(), pa.uint64(), pa.float32()):
        yield f"arrow {kind}", pa.array(NUMBERS, kind)
    yield "arrow dictionary", pa.array(NUMBERS).dictionary_encode()


@pytest.mark.parametrize(("data"), [pytest.param(d, id=name) for name, d in text_forms()])
def test_text_in_every_form_is_released_alike_and_in_kind(data):
    out = pramble.perturb(data, TEXT, key=KEY, column="x")
    assert type(out) is type(data)
    assert as_list(out) == RELEASED_WORDS
    assert dtype_of(out) == dtype_of(data)
    assert as_list(data) == WORDS


@pytest.mark.parametrize(("data"), [pytest.param(d, id=name) for name, d in number_forms()])
def test_numbers_in_every_form_are_released_alike_and_in_kind(data):
    out = pramble.perturb(data, WHOLE, key=KEY, column="x")
    assert type(out) is type(data)
    assert as_list(out) == RELEASED_NUMBERS
    assert dtype_of(out) == dtype_of(data)


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8"])
def test_codes_are_their_own_categories(dtype):
    m = pramble.randomized_response(3, 1.0)
    out = pramble.perturb(TRUTH.astype(dtype), m, key=KEY, column="x")
    assert out.dtype == dtype
    assert out.tolist() == pramble.perturb(TRUTH.tolist(), m, key=KEY, column="x")


def test_booleans_and_nulls_can_be_categories():
    m = pramble.randomized_response([True, False, None], 1.0)
    values = [m.categories[code] for code in TRUTH]
    expected = pramble.perturb(values, m, key=KEY, column="x")
    assert {type(value) for value in expected} == {bool, type(None)}
    forms = [
        pd.Series(values, dtype="boolean"),
        pd.Series(values, dtype="object"),
        pd.Series(values, dtype="category"),
        pl.Series(values),
        pa.array(values),
        pa.array(values).dictionary_encode(),
        np.array(values, dtype=object),
    ]
    for data in forms:
        out = pramble.perturb(data, m, key=KEY, column="x")
        assert dtype_of(out) == dtype_of(data)
        plain = [
            None if value is None or value is pd.NA or value != value else value
            for value in as_list(out)
        ]
        assert plain == expected
    assert pramble.perturb(np.array([True, False]), m, key=KEY, column="x").dtype == object
    only = pramble.randomized_response([False, True], 1.0)
    assert pramble.perturb(np.array([True, False]), only, key=KEY, column="x").dtype == bool


def test_missing_numbers_of_pandas_are_nulls():
    m = pramble.randomized_response([1, 2, None], 1.0)
    values = [1.0, np.nan, 2.0] * 40
    out = pramble.perturb(pd.Series(values), m, key=KEY, column="x")
    assert out.dtype == np.float64
    plain = [None if value != value else int(value) for value in out]
    assert plain == pramble.perturb([1, None, 2] * 40, m, key=KEY, column="x")


def test_labels_of_mixed_types_are_told_apart():
    m = pramble.randomized_response([1, "1", True, None], 20.0)
    values = ["1", True, 1, None, 1.0, np.int8(1), float("nan"), np.str_("1")]
    out = pramble.perturb(values, m, key=KEY, column="x")
    assert [(type(v), v) for v in out] == [
        (str, "1"), (bool, True), (int, 1), (type(None), None),
        (int, 1), (int, 1), (type(None), None), (str, "1"),
    ]  # fmt: skip
    assert pramble.perturb(pd.Series(values, dtype=object), m, key=KEY, column="x").tolist() == out


def test_a_categorical_gets_the_declared_categories_in_their_order():
    data = pd.Series(["c", "a", "c"], dtype="category")
    out = pramble.perturb(data, TEXT, key=KEY, column="x")
    assert out.cat.categories.tolist() == ["a", "b", "c"]
    assert not out.cat.ordered
    arrow = pramble.perturb(pa.array(["c", "a"]).dictionary_encode(), TEXT, key=KEY, column="x")
    assert arrow.dictionary.to_pylist() == ["a", "b", "c"]
    enum = pramble.perturb(
        pl.Series(["c", "a"], dtype=pl.Enum(["c", "a"])), TEXT, key=KEY, column="x"
    )
    assert enum.dtype == pl.Enum(["a", "b", "c"])
    polars = pramble.perturb(
        pl.Series(["c", "a"] * 50, dtype=pl.Categorical), TEXT, key=KEY, column="x"
    )
    assert polars.dtype == pl.Categorical


def test_outputs_of_another_type_change_the_dtype_and_nothing_else():
    m = pramble.Mechanism.from_matrix(np.eye(3), categories=["a", "b", "c"], outputs=[7, 8, 9])
    expected = [m.outputs[code] for code in TRUTH]
    for data in (
        np.array(WORDS),
        pd.Series(WORDS),
        pl.Series(WORDS),
        pa.array(WORDS),
        WORDS,
        pa.array(WORDS).dictionary_encode(),
        pd.Series(WORDS, dtype="category"),
    ):
        out = pramble.perturb(data, m, key=KEY, column="x")
        assert type(out) is type(data) or isinstance(out, pa.Array)
        assert as_list(out) == expected
    back = pramble.Mechanism.from_matrix(
        np.eye(3), categories=[7, 8, 9], outputs=["a", "bbbb", "c"]
    )
    words = [back.outputs[code] for code in TRUTH]
    for data in (np.array(expected), pd.Series(expected), pl.Series(expected), pa.array(expected)):
        assert as_list(pramble.perturb(data, back, key=KEY, column="x")) == words


def test_wider_text_is_not_cut():
    m = pramble.Mechanism.from_matrix([[0, 1], [1, 0]], categories=["no", "perhaps"])
    assert pramble.perturb(np.array(["no", "no"]), m).tolist() == ["perhaps", "perhaps"]


@pytest.mark.parametrize("data", [[], np.array([], dtype="i4"), pd.Series([], dtype="category"),
                                  pl.Series([], dtype=pl.String), pa.array([], pa.string()),
                                  pa.chunked_array([], pa.string())])  # fmt: skip
def test_nothing_in_nothing_out(data):
    out = pramble.perturb(data, TEXT)
    assert type(out) is type(data)
    assert len(out) == 0


FRAME = pd.DataFrame(
    {"word": WORDS, "number": NUMBERS, "kept": np.arange(500.0), "other": WORDS},
    index=pd.Index(range(1000, 1500), name="person"),
)
PLAN = {"word": TEXT, "number": WHOLE}


def test_frames_of_every_library_are_released_alike():
    expected = pramble.perturb(FRAME, PLAN, key=KEY)
    assert expected.index.equals(FRAME.index)
    assert list(expected.columns) == list(FRAME.columns)
    assert expected.dtypes.equals(FRAME.dtypes)
    assert expected[["kept", "other"]].equals(FRAME[["kept", "other"]])
    assert not expected["word"].equals(FRAME["word"])
    bare = expected.reset_index(drop=True)
    polars = pl.from_pandas(FRAME)
    assert pramble.perturb(polars, PLAN, key=KEY).to_pandas().equals(bare)
    lazy = pramble.perturb(polars.lazy(), PLAN, key=KEY)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(pramble.perturb(polars, PLAN, key=KEY))
    table = pa.Table.from_pandas(FRAME)
    assert pramble.perturb(table, PLAN, key=KEY).to_pandas().equals(expected)
    assert pramble.perturb(table, PLAN, key=KEY).schema.equals(table.schema, check_metadata=True)
    reader = pramble.perturb(table.to_reader(max_chunksize=77), PLAN, key=KEY)
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().to_pandas().equals(expected)
    batch = table.to_batches()[0]
    drawn = pramble.perturb(batch, PLAN, key=KEY)
    assert isinstance(drawn, pa.RecordBatch)
    assert drawn.to_pandas().equals(expected)
    assert pramble.perturb(batch.slice(0, 0), PLAN).num_rows == 0


def test_a_column_of_a_frame_is_the_column_by_its_name():
    alone = pramble.perturb(FRAME, {"word": TEXT}, key=KEY)["word"].tolist()
    assert pramble.perturb(WORDS, TEXT, key=KEY, column="word") == alone
    assert pramble.perturb(WORDS, TEXT, key=KEY, column="x") != alone
    assert pramble.perturb(FRAME, PLAN, key=KEY)["word"].tolist() != alone, "another plan"


def test_a_key_needs_the_name_of_a_column():
    with pytest.raises(InvalidInput, match="name it with column="):
        pramble.perturb(WORDS, TEXT, key=KEY)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_column_names_may_be_any_text(make):
    plan = dict.fromkeys(("self", "", "row number", "exprs"), TEXT)
    frame = make(dict.fromkeys(plan, WORDS))
    out = pramble.perturb(frame, plan, key=KEY)
    for name in plan:
        alone = as_list(pramble.perturb(frame, {name: TEXT}, key=KEY)[name])
        assert not name or alone == pramble.perturb(WORDS, TEXT, key=KEY, column=name)
        assert as_list(out[name]) != alone
        assert as_list(frame[name]) == WORDS


def test_parts_make_the_whole():
    whole = pramble.perturb(FRAME, PLAN, key=KEY)
    parts = [
        pramble.perturb(FRAME[start : start + 123], PLAN, key=KEY, first_row=start)
        for start in range(0, 500, 123)
    ]
    assert pd.concat(parts).equals(whole)


@pytest.mark.parametrize("form", ["pandas", "polars", "lazy", "arrow", "reader"])
def test_a_column_may_number_the_rows(form):
    whole = pramble.perturb(FRAME, PLAN, key=KEY)
    numbered = FRAME.assign(n=np.arange(500)).sample(frac=1, random_state=1)
    forms = {
        "pandas": lambda f: f,
        "polars": pl.from_pandas,
        "lazy": lambda f: pl.from_pandas(f).lazy(),
        "arrow": pa.Table.from_pandas,
        "reader": lambda f: pa.Table.from_pandas(f).to_reader(50),
    }
    out = pramble.perturb(forms[form](numbered), PLAN, key=KEY, row_number="n")
    out = out.collect() if form == "lazy" else out.read_all() if form == "reader" else out
    out = out if form == "pandas" else out.to_pandas()
    assert out.sort_values("n")["word"].tolist() == whole["word"].tolist()


def test_threads_change_nothing():
    truth = np.random.default_rng(0).integers(0, 10, 1_200_001).astype(np.uint8)
    m = pramble.randomized_response(10, 1.0)
    one = pramble.perturb(truth, m, key=KEY, column="x", threads=1)
    for threads in (2, 3, 7):
        assert np.array_equal(pramble.perturb(truth, m, key=KEY, column="x", threads=threads), one)
    for start in range(0, len(truth), 333_333):
        part = slice(start, start + 333_333)
        assert np.array_equal(
            pramble.perturb(truth[part], m, key=KEY, column="x", first_row=start), one[part]
        )


def test_a_lazy_frame_is_one_release_however_often_it_is_collected():
    frame = pl.DataFrame({"word": WORDS * 400, "i": np.arange(200_000)})
    lazy = pramble.perturb(frame.lazy(), {"word": TEXT})
    first = lazy.collect()
    assert lazy.collect().equals(first)
    assert lazy.collect(engine="streaming").equals(first)
    assert lazy.filter(pl.col("i") % 7 == 3).collect().equals(first.filter(pl.col("i") % 7 == 3))
    assert lazy.tail(11).collect().equals(first.tail(11))
    assert lazy.select("word").collect().equals(first.select("word"))
    assert not pramble.perturb(frame.lazy(), {"word": TEXT}).collect().equals(first)
    third = pl.when(pl.col("i") == 3).then(pl.lit("z")).otherwise("word")
    bad = pramble.perturb(frame.with_columns(word=third).lazy(), {"word": TEXT})
    with pytest.raises(InvalidData, match="row 3"):
        bad.collect()


def test_without_a_key_every_release_differs():
    assert pramble.perturb(WORDS, TEXT) != pramble.perturb(WORDS, TEXT)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a", "z", "b", "y"], r"2 rows do not \(row 1, row 3\)"),
        (["a", None], r"1 row does not \(row 1: null\).*Declare None"),
        (["z"] * 9, r"9 rows do not \(row 0, .*, …\)"),
        ([1, 2], r"row 0"),
        ([True], r"row 0"),
        (["a", 1], r"row 1"),
        ([["a"]], r"row 0"),
        (np.array(["a", "z"]), r"row 1"),
        (np.array([1.5]), r"row 0"),
        (np.array(["2020-01-01"], dtype="M8[D]"), r"must hold text, integers or booleans"),
        (np.array([b"a"]), r"must hold text, integers or booleans"),
        (np.array([["a"]]), r"2 dimensions"),
        (pd.Series(["a", None]), r"row 1: null"),
        (pd.Series(["a", "z"], dtype="category"), r"row 1"),
        (pl.Series(["a", None, "z"]), r"2 rows do not \(row 1: null, row 2\)"),
        (pa.array(["a", None, "z"]).dictionary_encode(), r"row 1: null, row 2"),
        (pa.array([1.0]), r"row 0"),
        ("abc", r"cannot be applied to a str"),
        ({"a": 1}, r"cannot be applied to a dict"),
        (iter("abc"), r"cannot be applied to a"),
    ],
)
def test_what_was_not_declared_is_named(data, message):
    with pytest.raises(InvalidData, match=message):
        pramble.perturb(data, TEXT, key=KEY, column="x")


def test_declared_values_that_do_not_occur_and_dictionary_entries_not_used_are_fine():
    data = pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(["a", "unused", "b"]))
    assert len(pramble.perturb(data, TEXT)) == 2


@pytest.mark.parametrize("values", [[0, 3], [-1], [2**63], [300]])
def test_codes_out_of_range_are_named(values):
    with pytest.raises(InvalidData, match=f"row {len(values) - 1}"):
        pramble.perturb(np.array(values), pramble.randomized_response(3, 1.0))


def test_integers_far_apart_are_found():
    m = pramble.randomized_response([-(2**62), 0, 2**60, 5], 20.0)
    values = [2**60, 5, -(2**62), 0]
    assert pramble.perturb(np.array(values), m).tolist() == values
    assert pramble.perturb(np.array([5, 0], dtype=np.int8), m).tolist() == [5, 0]
    with pytest.raises(InvalidData, match="row 0"):
        pramble.perturb(np.array([6]), m)


@pytest.mark.parametrize("numbers", [[7, 7, 7], [3, 1, 3], [0, 1, 1]])
def test_rows_of_one_number_would_share_their_bits_and_are_refused(numbers):
    table = pa.table({"household": numbers, "x": ["a", "b", "a"]})
    plan = {"x": pramble.randomized_response(["a", "b"], 1.0)}
    words = r"'household' must number every row once; a number stands"
    for frame in (table, table.to_pandas(), pl.from_arrow(table)):
        with pytest.raises(InvalidData, match=words):
            pramble.perturb(frame, plan, row_number="household")
    reader = pramble.perturb(table.to_reader(), plan, row_number="household")
    with pytest.raises(InvalidData, match=words):
        reader.read_all()
    kept = pramble.perturb(
        table.slice(1, 2).set_column(0, "household", [[9, 2]]), plan, row_number="household"
    )
    assert kept.num_rows == 2


@pytest.mark.parametrize(
    ("plan", "options", "error", "message"),
    [
        ({"nowhere": TEXT}, {}, InvalidPlan, "'nowhere' is missing"),
        ({"word": "rr"}, {}, InvalidPlan, "'word' has a str"),
        ({1: TEXT}, {}, InvalidPlan, "named by text"),
        ([TEXT], {}, InvalidPlan, "found a list"),
        (PLAN, {"row_number": "no"}, InvalidPlan, "'no' is missing"),
        (PLAN, {"row_number": "number"}, InvalidPlan, "cannot be randomised"),
        (PLAN, {"row_number": "other"}, InvalidData, "must hold an integer"),
        (PLAN, {"first_row": -1}, InvalidInput, "first_row"),
        (PLAN, {"threads": 0}, InvalidInput, "threads"),
        (PLAN, {"key": b"short"}, InvalidInput, "32 secret bytes"),
        (TEXT, {"row_number": "n"}, InvalidInput, "single column"),
        (TEXT, {}, InvalidData, "cannot be applied to a DataFrame"),
    ],
)
def test_plans_that_do_not_fit_are_refused(plan, options, error, message):
    with pytest.raises(error, match=message):
        pramble.perturb(FRAME, plan, **options)


def test_a_name_that_stands_twice_is_refused():
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["word", "word"])
    with pytest.raises(pramble.PrambleError):
        pramble.perturb(table, {"word": TEXT})
    with pytest.raises(InvalidPlan, match="stands more than once"):
        pramble.perturb(table.to_reader(), {"word": TEXT})


def test_the_first_small_release_loads_no_compiler():
    import subprocess
    import sys

    code = (
        "import sys, pramble; m = pramble.randomized_response(['a', 'b'], 1.0)\n"
        "pramble.perturb(['a'] * 1000, m); print('numba' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
