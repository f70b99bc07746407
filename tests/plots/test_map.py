"""Maps: what is drawn has the numbers, the places and the words that it should."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm

import pramble
from pramble import Areas, InvalidData, InvalidInput
from pramble.plots.images import to_png, to_svg
from pramble.plots.map import map_layout, path_of
from pramble.plots.mechanisms import shorten

ISLAND = pramble.datasets.synthetic_island()
SHARES = pramble.datasets.synthetic_island_shares()
LABELS = ISLAND.labels.as_tuple()


def drawn(figure, label):
    """The collections of a figure with some name, panel by panel."""
    return [c for axes in figure.axes for c in axes.collections if c.get_label() == label]


def near(areas, kilometres):
    weights = np.exp(-areas.kilometres() / kilometres)
    matrix = weights / weights.sum(axis=1, keepdims=True)
    return pramble.Mechanism.from_matrix(matrix, categories=areas.labels.as_tuple())


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
    assert to_png(nothing)[:4] == b"\x89PNG"


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match="28 areas"):
        ISLAND.plot([1.0, 2.0])
    with pytest.raises(InvalidData, match="did you mean 'Quillby'"):
        ISLAND.plot({"Quilby": 1.0})
    with pytest.raises(InvalidInput, match="numbers"):
        ISLAND.plot({"Quillby": "many"})
    with pytest.raises(InvalidInput, match="with_points"):
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
    assert shorten(names, most=18) == ["…Upper…", "Mitte", "…Lower…"]
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
    path = path_of([[outline[::turned], hole]])
    shoelace = sum(
        (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2 for x, y in (p.T for p in path.to_polygons())
    )
    assert shoelace == 12


def test_one_area_and_equal_points_are_drawn():
    for places in ({"a": (0, 0)}, {"a": (5, 5), "b": (5, 5)}):
        assert to_png(Areas.from_points(places).plot(np.ones(len(places))))[:4] == b"\x89PNG"


# Frames


def test_what_lies_far_away_gets_frames_of_its_own():
    rows = {(i, j): (10.0 + i, 50.0 + j) for i in range(4) for j in range(4)}
    places = {f"{i}{j}": point for (i, j), point in rows.items()}
    near_by = Areas.from_points(places)
    assert len(map_layout(near_by).frames) == 1
    far = Areas.from_points({**places, "east": (150, -30), "x": (170, 60), "y": (171, 60)})
    assert [len(members) for members in map_layout(far).frames] == [16, 1, 2]
    figure = far.plot(np.arange(19.0))
    arrays = [c.get_array().tolist() for c in drawn(figure, "values")]
    assert arrays == [list(range(16)), [16], [17, 18]]
    assert [axes.get_title(loc="center") for axes in figure.axes[1:3]] == ["east", "x +1"]


def test_a_country_of_scattered_islands_stays_in_one_frame():
    scattered = {i: (20.0 * i, (-1) ** i * 10.0 * i / 4) for i in range(8)}
    assert len(map_layout(Areas.from_points(scattered)).frames) == 1


def test_two_parts_of_equal_size_stay_in_one_frame():
    places = {(x, i): (x + i % 3, 50 + i // 3) for x in (0, 60) for i in range(9)}
    areas = Areas.from_points({str(name): point for name, point in places.items()})
    assert len(map_layout(areas).frames) == 1


def test_what_lies_within_the_main_part_is_not_moved_out_of_it():
    around = [(i, 0) for i in range(20)] + [(20, i) for i in range(20)]
    around += [(20 - i, 20) for i in range(20)] + [(0, 20 - i) for i in range(20)]
    areas = Areas.from_points(dict(enumerate([*around, (10, 10)])))
    assert len(map_layout(areas).frames) == 1


def test_shapes_across_the_date_line_are_drawn_side_by_side():
    def box(x):
        return [[[x, 0], [x + 5, 0], [x + 5, 5], [x, 5], [x, 0]]]

    document = {"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"NAME": name},
         "geometry": {"type": "MultiPolygon", "coordinates": polygons}}
        for name, polygons in [("split", [box(175), box(-180)]), ("east", [box(-175)])]
    ]}  # fmt: skip
    layout = map_layout(Areas.from_geojson(document))
    assert layout.boxes.tolist() == [[175, 0, 185, 5], [185, 0, 190, 5]]
    west, _, east, _ = layout.box(layout.frames[0])
    assert (west, east) == pytest.approx((175, 190), abs=1)


def test_the_states_do_not_squeeze_the_mainland(shared_data):
    areas = Areas.from_points(shared_data("geo/us_states_centroids.csv"), label="name")
    layout = map_layout(areas)
    main = {areas.labels.values[i] for i in layout.frames[0]}
    assert len(main) == 49
    assert {"Maine", "Hawaii", "Alaska"} & main == {"Maine"}
    west, _, east, _ = layout.box(layout.frames[0])
    assert east - west < 62
    figure = areas.plot(np.arange(56.0))
    assert sum(len(c.get_array()) for c in drawn(figure, "values")) == 56


def test_the_counties_of_new_york_are_in_one_frame(shared_data):
    areas = Areas.from_points(shared_data("geo/ny_counties_centroids.csv"), label="name")
    assert len(map_layout(areas).frames) == 1
    assert len(areas.plot().axes[0].texts) > 45


# Moves


def test_moves_are_the_row_of_the_mechanism():
    mechanism = near(ISLAND, 30.0)
    place = LABELS.index("Oxholt")
    figure = ISLAND.plot_moves(mechanism, "Oxholt")
    (values,) = drawn(figure, "values")
    assert values.get_array().tolist() == np.delete(mechanism.matrix[place], place).tolist()
    assert isinstance(values.norm, LogNorm)
    (own,) = drawn(figure, "outlined")
    assert len(own.get_paths()) == 1
    stays = mechanism.matrix[place, place]
    assert f"Oxholt stays with probability {100 * stays:.3g} %" in figure.axes[0].get_title("left")
    assert "log scale" in words(figure)


def test_moves_in_another_order_and_over_some_areas():
    some = ISLAND.of(["Sarn Isle", "Oxholt", "Quillby"])
    mechanism = near(some, 60.0)
    figure = ISLAND.plot_moves(mechanism, "Oxholt")
    (values,) = drawn(figure, "values")
    assert values.get_array().tolist() == [mechanism.matrix[1, 2], mechanism.matrix[1, 0]]
    (without,) = drawn(figure, "no value")
    assert len(without.get_paths()) == 25


def test_equal_moves_are_on_a_linear_scale_and_not_at_its_end():
    mechanism = pramble.randomized_response(LABELS, 3.0)
    figure = ISLAND.plot_moves(mechanism, "Quillby")
    (values,) = drawn(figure, "values")
    assert set(values.get_array()) == {mechanism.matrix[0, 1]}
    low, high = values.get_clim()
    assert low == 0
    assert high > mechanism.matrix[0, 1]
    assert "log" not in words(figure)


def test_moves_that_never_happen_are_white():
    matrix = np.array([[0.5, 0.4, 0.01, 0.09], [0.5, 0.4, 0.1, 0], [0.1, 0, 0.9, 0], [0.25] * 4])
    names = list("abcd")
    areas = Areas.from_points({name: (i, 0) for i, name in enumerate(names)})
    mechanism = pramble.Mechanism.from_matrix(matrix, categories=names)
    (zero,) = drawn(areas.plot_moves(mechanism, "a"), "values")
    assert zero.get_array().tolist() == mechanism.matrix[0, 1:].tolist()
    linear = areas.plot_moves(mechanism, "b")
    (values,) = drawn(linear, "values")
    assert values.get_array().tolist() == mechanism.matrix[1, [0, 2, 3]].tolist()
    alone = pramble.Mechanism.from_matrix(np.eye(4), categories=names)
    assert "stays with probability 100 %" in words(areas.plot_moves(alone, "c"))


def test_zeros_on_a_log_scale_have_no_colour():
    areas = Areas.from_points({name: (i, 0) for i, name in enumerate("abcd")})
    mechanism = pramble.Mechanism.from_matrix([[0.5, 0.49, 0.01, 0.0]] * 4, categories=list("abcd"))
    figure = areas.plot_moves(mechanism, "a")
    (values,), (zero,) = drawn(figure, "values"), drawn(figure, "zero")
    assert len(values.get_array()) == 2
    assert zero.get_offsets().tolist() == [[3, 0]]


def test_a_missing_value_is_told_in_words():
    mechanism = pramble.randomized_response(["Oxholt", "Quillby", None], 1.0)
    figure = ISLAND.plot_moves(mechanism, "Oxholt")
    assert f"goes missing with {100 * mechanism.matrix[0, 2]:.3g} %" in words(figure)


def test_moves_of_other_areas_are_refused():
    mechanism = pramble.randomized_response(["Oxholt", "Quillby"], 1.0)
    with pytest.raises(InvalidInput, match="'Farcombe' is none"):
        ISLAND.plot_moves(mechanism, "Farcombe")
    with pytest.raises(InvalidData, match="no 'Nowhere'"):
        ISLAND.plot_moves(mechanism, "Nowhere")
    with pytest.raises(InvalidData, match="no 'f', 'm'"):
        ISLAND.plot_moves(pramble.randomized_response(["f", "m"], 1.0), "Oxholt")
    numbered = ISLAND.renamed({label: i for i, label in enumerate(LABELS)})
    with pytest.raises(InvalidData, match=r"areas.renamed\(str\)"):
        numbered.plot_moves(pramble.randomized_response(["1", "2"], 1.0), "1")


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


def test_maps_become_pictures_of_every_kind(estimate):
    figure = ISLAND.plot_estimate(estimate, truth=SHARES)
    assert to_svg(figure, name="map", description="A map").startswith("<svg")
    assert to_svg(figure, name="map", description="A map") == to_svg(
        figure, name="map", description="A map"
    )
