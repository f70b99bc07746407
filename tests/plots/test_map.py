"""Maps: what is drawn has the numbers, the places and the words that it should."""

import io

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import pramble
from pramble import Areas, InvalidData, InvalidInput

ISLAND = pramble.datasets.synthetic_island()
SHARES = pramble.datasets.synthetic_island_shares()
LABELS = ISLAND.labels.as_tuple()


def drawn(figure, label):
    """The collections of a figure with some name, panel by panel."""
    return [c for axes in figure.axes for c in axes.collections if c.get_label() == label]


def is_drawn(figure):
    """Whether a figure becomes a picture."""
    stream = io.BytesIO()
    figure.savefig(stream)
    return stream.getvalue()[:4] == b"\x89PNG"


# Values


def test_a_map_has_the_values_in_the_order_of_its_areas():
    (values,) = drawn(ISLAND.plot(SHARES, label="people"), "values")
    assert values.get_array().tolist() == list(SHARES.values())
    assert len(values.get_paths()) == 28
    corner = values.get_paths()[5].vertices
    assert np.array_equal(np.sort(corner, axis=0), np.sort(ISLAND.shapes[5][0][0], axis=0))


def test_the_scale_says_what_it_means_and_begins_at_zero():
    figure = ISLAND.plot(SHARES, label="people of each area")
    scale = figure.axes[-1]
    assert scale.get_xlabel() == "people of each area"
    (values,) = drawn(figure, "values")
    assert values.get_clim() == (0.0, max(SHARES.values()))


def test_a_scale_far_from_zero_or_of_one_value():
    (values,) = drawn(ISLAND.plot(np.linspace(90, 100, 28)), "values")
    assert values.get_clim() == (90, 100)
    for same, ends in ((3.0, (0.0, 4.5)), (0.0, (0.0, 1.0)), (-2.0, (-3.0, 0.0))):
        (one,) = drawn(ISLAND.plot(np.full(28, same)), "values")
        assert one.get_clim() == ends


def test_areas_without_a_value_are_hatched():
    figure = ISLAND.plot({"Quillby": 1.0, "Oxholt": None})
    (without,) = drawn(figure, "no value")
    assert without.get_hatch()
    assert len(without.get_paths()) == 27
    nothing = ISLAND.plot(np.full(28, np.nan))
    assert drawn(nothing, "values") == []
    assert is_drawn(nothing)


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match="28 areas"):
        ISLAND.plot([1.0, 2.0])
    with pytest.raises(InvalidData, match="did you mean 'Quillby'"):
        ISLAND.plot({"Quilby": 1.0})
    with pytest.raises(InvalidInput, match="numbers"):
        ISLAND.plot({"Quillby": "many"})
    with pytest.raises(InvalidInput, match="from_points"):
        Areas.from_neighbours([("a", "b")]).plot()


def test_names_are_written_once_and_do_not_overlap():
    figure = ISLAND.plot()
    texts = figure.axes[0].texts
    assert len(texts) >= 26
    assert len({text.get_text() for text in texts}) == len(texts)
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_long_names_are_cut_where_they_differ():
    long = "The United Municipalities of {} Long-Name-on-the-Water"
    names = [long.format("Upper"), "Mitte", long.format("Lower")]
    areas = Areas.from_points(dict(zip(names, [(8, 50), (9, 50.3), (10, 50)], strict=True)))
    assert {t.get_text() for t in areas.plot().axes[0].texts} == {"…Upper…", "Mitte", "…Lower…"}


def test_areas_without_shapes_are_dots_with_lines():
    areas = Areas.from_points({1: (0, 0), 2: (1, 0), 3: (0, 1)}).with_neighbours([(1, 2), (3, 2)])
    figure = areas.plot([5, 7, np.nan])
    (values,) = drawn(figure, "values")
    assert values.get_offsets().tolist() == [[0, 0], [1, 0]]
    assert values.get_array().tolist() == [5, 7]
    (without,) = drawn(figure, "no value")
    assert without.get_offsets().tolist() == [[0, 1]]
    lines = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
    assert [line.tolist() for line in lines[0].get_segments()] == [
        [[0, 0], [1, 0]],
        [[1, 0], [0, 1]],
    ]


@pytest.mark.parametrize("turned", [1, -1])
def test_holes_stay_open_whichever_way_rings_turn(turned):
    outline = np.array([[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]], dtype=float)
    hole = np.array([[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]], dtype=float)
    areas = Areas(pramble.datasets.synthetic_island().of(["Oxholt"]).labels,
                  shapes=(((outline[::turned], hole),),))  # fmt: skip
    ((path,),) = (c.get_paths() for c in drawn(areas.plot([1.0]), "values"))
    shoelace = sum(
        (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2 for x, y in (p.T for p in path.to_polygons())
    )
    assert shoelace == 12


def test_one_area_and_equal_points_are_drawn():
    for places in ({"a": (0, 0)}, {"a": (5, 5), "b": (5, 5)}):
        assert is_drawn(Areas.from_points(places).plot(np.ones(len(places))))


def test_the_counties_of_new_york_have_their_names(shared_data):
    areas = Areas.from_points(shared_data("geo/ny_counties_centroids.csv"), label="name")
    assert len(areas.plot().axes[0].texts) > 45
