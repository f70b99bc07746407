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


def words(figure):
    return " ".join(
        text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))
    )


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


def test_shapes_across_the_date_line_are_drawn_side_by_side():
    def box(x):
        return [[[x, 0], [x + 5, 0], [x + 5, 5], [x, 5], [x, 0]]]

    document = {"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"NAME": name},
         "geometry": {"type": "MultiPolygon", "coordinates": polygons}}
        for name, polygons in [("split", [box(175), box(-180)]), ("east", [box(-175)])]
    ]}  # fmt: skip
    figure = Areas.from_geojson(document).plot([1.0, 2.0])
    (values,) = drawn(figure, "values")
    ends = [path.get_extents().intervalx.tolist() for path in values.get_paths()]
    assert ends == [[175, 185], [185, 190]]
    assert figure.axes[0].get_xlim() == pytest.approx((175, 190), abs=1)


def test_the_counties_of_new_york_have_their_names(shared_data):
    areas = Areas.from_points(shared_data("geo/ny_counties_centroids.csv"), label="name")
    assert len(areas.plot().axes[0].texts) > 45


# Estimates


@pytest.fixture(scope="module")
def estimate():
    mechanism = pramble.randomized_response(LABELS, 3.0)
    law = np.array(list(SHARES.values())) @ mechanism.matrix
    counts = np.random.default_rng(1).multinomial(2000, law)
    return pramble.estimate(counts, mechanism, counts=True)


def test_estimates_and_half_widths_beside_the_truth(estimate):
    figure = ISLAND.plot_estimate(estimate, truth=SHARES)
    before, after, widths = drawn(figure, "values")
    assert before.get_array().tolist() == list(SHARES.values())
    assert after.get_array().tolist() == estimate.values.tolist()
    assert np.allclose(widths.get_array(), (estimate.upper - estimate.lower) / 2)
    assert before.get_clim() == after.get_clim()
    assert widths.get_clim()[0] == 0
    titles = [axes.get_title("left") for axes in figure.axes if axes.get_title("left")]
    assert titles == ["Before", "Estimate", "Uncertainty"]


def test_the_scale_of_shares_begins_at_zero_lest_noise_look_large():
    mechanism = pramble.randomized_response(LABELS, 8.0)
    even = pramble.estimate(np.arange(10_000, 10_028), mechanism, counts=True)
    values, _ = drawn(ISLAND.plot_estimate(even), "values")
    assert values.get_clim() == (0.0, even.values.max())


def test_areas_of_which_little_is_known_are_striped_and_counted(estimate):
    figure = ISLAND.plot_estimate(estimate)
    noise = (estimate.upper - estimate.lower) / 2 >= estimate.values
    (striped,) = drawn(figure, "striped")
    assert 0 < noise.sum() < 28
    assert len(striped.get_paths()) == noise.sum()
    assert f"In {noise.sum()} of 28 areas (striped) half of the 95 % interval" in words(figure)
    assert len(drawn(figure, "values")) == 2


def test_estimates_of_some_areas_leave_the_others_hatched(estimate):
    some = pramble.randomized_response(["Quillby", None, "Oxholt"], 2.0)
    figure = ISLAND.plot_estimate(pramble.estimate([50, 20, 30], some, counts=True))
    values, _ = drawn(figure, "values")
    answer = pramble.estimate([50, 20, 30], some, counts=True).values
    assert values.get_array().tolist() == answer[[0, 2]].tolist()
    assert [len(c.get_paths()) for c in drawn(figure, "no value")] == [26, 26]


def test_estimates_of_two_columns_are_refused():
    plan = {name: pramble.randomized_response(["a", "b"], 2.0) for name in ("one", "two")}
    people = {"one": ["a", "b"] * 50, "two": ["a", "a", "b", "b"] * 25}
    table = pramble.estimate(people, plan, by=["one", "two"])
    with pytest.raises(InvalidInput, match="one column of areas; these are of 'one', 'two'"):
        ISLAND.plot_estimate(table)


def test_maps_become_pictures(estimate):
    assert is_drawn(ISLAND.plot_estimate(estimate, truth=SHARES))
