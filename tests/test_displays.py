"""Every result shows its numbers in a terminal and in a notebook, draws itself, becomes a frame."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import pramble
from pramble.data.frames import Tidy
from pramble.shown import MOST_ROWS, Display

pytestmark = pytest.mark.xdist_group("displays")  # one worker makes what all need

KEY = b"k" * 32
PEOPLE = {
    "sex": ["f", "m", "f", "f"] * 100,
    "work": ["<yes>", "no", "no", "<yes>", "<yes>"] * 80,
    "age": list(range(20, 60)) * 10,
}
PLAN = {
    "sex": pramble.randomized_response(["f", "m"], 2.0),
    "work": pramble.randomized_response(["<yes>", "no"], 2.0),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    released = pramble.perturb(PEOPLE, PLAN, key=KEY)
    table = pramble.estimate(released, PLAN, by=["sex", "work"])
    regression = pramble.estimate_regression(released, PLAN, "age ~ sex + work", family="linear")
    assessed = pramble.assess(PEOPLE, ["sex", "work", "age"], population_size=4000)
    record = pramble.design_record({"sex": 2, "work": 2}, 1.0, tables=2)
    folder = tmp_path_factory.mktemp("shown") / "out"
    return [
        pramble.design([0.5, 0.3, 0.2], 1.0),
        pramble.design([0.5, 0.3, 0.2], 1.0).mechanism,
        pramble.randomized_response(1000, 1.0),
        record,
        record.plan,
        pramble.design_record({"sex": 2, "work": 3, "age": 4}, 2.0, tables=2, time_limit=0.2).plan,
        pramble.datasets.synthetic_island(),
        pramble.Distance.path(4),
        table,
        table.loglinear(["sex", "work"]),
        table.distribution("work", edges=[0, 1, 2]),
        regression,
        pramble.independence_test(released, PLAN, columns=["sex", "work"]),
        pramble.combine([[1.0, 5.0], [1.2, 5.2], [1.1, 5.4]], [[0.04, 0.09]] * 3),
        assessed,
        assessed.after(PLAN),
        pramble.calibrate(
            PEOPLE,
            ["sex", "age"],
            population_size=4000,
            model="independence",
            column="sex",
            measure="worst",
            at_most=0.1,
        ),
        pramble.central_guarantee(PLAN, rows=10_000, delta=1e-6),
        pramble.design_tables({"<yes>": 2, "work": 3}, 1.0, 1e-6),
        pramble.design_tables({"sex": 2, "work": 3}, 1.0, 1e-6).guarantee,
        pramble.measure(PEOPLE, pramble.design_tables({"sex": ["f", "m"]}, 1.0, 1e-6, tables=1)),
        pramble.try_release(
            PEOPLE,
            columns=["sex", "work"],
            alphas=[1.0, 8.0],
            centrals=[],
            prior="uniform",
            drop=["age"],
        ),
        pramble.release(
            PEOPLE,
            folder,
            columns=["sex", "work"],
            alpha=2.0,
            prior="uniform",
            drop=["age"],
            ledger=folder.parent / "ledger.json",
            key=KEY,
        ),
        pramble.audit(folder, PEOPLE, key=KEY),
    ]


def named(results):
    return [(type(result).__name__, result) for result in results]


def test_they_show_numbers(results):
    for name, result in named(results):
        assert isinstance(result, Display), name
        text = repr(result)
        assert "object at" not in text, name
        assert len(text.splitlines()) >= 3, name
        assert any(character.isdigit() for character in text), name


def test_a_notebook_gets_the_same_with_labels_escaped(results):
    for name, result in named(results):
        page = result._repr_html_()
        assert page.startswith("<table><caption>"), name
        assert "<yes>" not in page, name


def test_they_become_frames(results):
    for name, result in named(results):
        if isinstance(result, Tidy):
            rows = len(next(iter(result.columns().values())))
            assert len(result.to_pandas()) == len(result.to_polars()) == rows, name
            assert result.to_arrow().column_names == list(result.columns()), name
            assert len(result.table) == rows, name


def test_they_draw_themselves(results):
    drawn = [(name, result) for name, result in named(results) if hasattr(result, "plot")]
    assert len({name for name, _ in drawn}) >= 12
    for name, result in drawn:
        if name != "UniformRows" or result.shape[0] < 40:
            assert isinstance(result.plot(), Figure), name


def test_a_matrix_too_large_to_draw_says_so():
    with pytest.raises(pramble.InvalidInput, match="1,000"):
        pramble.randomized_response(1000, 1.0).plot()


def test_every_public_result_is_among_them(results):
    """A class that a verb returns and that is not shown here would be a bare list of fields."""
    shown = {type(result).__name__ for result in results}
    public = {name: getattr(pramble, name) for name in pramble.__all__}
    classes = {name for name, what in public.items() if isinstance(what, type)}
    errors = {name for name in classes if issubclass(public[name], Exception)}
    settings = {
        "Branch",
        "Certificate",
        "Promise",
        "Mechanism",
        "Membership",
        "Progress",
        "Reading",
        "Survey",
    }
    assert classes - errors - settings <= shown


def test_long_tables_are_cut_and_say_so():
    counts = np.arange(1, 201)
    e = pramble.estimate(counts, pramble.randomized_response(200, 3.0), counts=True)
    assert f"… {200 - MOST_ROWS} more" in repr(e)
    assert e.to_arrow().num_rows == 200


def test_labels_of_strangers_neither_break_lines_nor_steer_a_terminal():
    labels = ["a\n\x1b[31mb", "\u202ec"]
    m = pramble.randomized_response(labels, 1.0)
    e = pramble.estimate([60, 40], m, counts=True)
    for shown in (m, e, pramble.design([0.6, 0.4], 1.0, categories=labels)):
        text = repr(shown)
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert len(repr(m).splitlines()) == 7
