"""Areas: how they are read and matched, and how far apart they are."""

import json
import pickle
from collections import deque
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble import Areas, InvalidData, InvalidInput

EARTH_RADIUS = 6371.0088


def square(x, y, side=1.0):
    return [[x, y], [x + side, y], [x + side, y + side], [x, y + side], [x, y]]


def feature(name, *polygons, kind="MultiPolygon", **more):
    coordinates = list(polygons) if kind == "MultiPolygon" else polygons[0]
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "properties": {"NAME": name}, "geometry": geometry, **more}


def collection(*features):
    return {"type": "FeatureCollection", "features": list(features)}


# a b   with a touching c at a corner only, and a hole in b that d fills.
# d c
FOUR = collection(
    feature("a", [square(0, 1)]),
    feature("b", [square(1, 1), square(1.25, 1.25, 0.5)[::-1]]),
    feature("c", [square(1, 0)], kind="Polygon"),
    feature("d", [square(1.25, 1.25, 0.5)]),
    feature("a", [square(-3, 1, 0.5)]),
)


@pytest.fixture
def written(tmp_path):
    def write(text, name="areas.geojson"):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return path

    return write


# Distances


def test_known_distances():
    towns = {"London": (-0.1278, 51.5074), "Paris": (2.3522, 48.8566), "there": (2.3522, 48.8566)}
    d = Areas.from_points({**towns, "far": (179.8722, -51.5074)}).kilometres()
    assert d[0, 1] == pytest.approx(344, abs=1)
    assert d[1, 2] == 0
    assert d[0, 3] == pytest.approx(np.pi * EARTH_RADIUS, abs=0.001)


def test_a_degree_of_latitude_and_the_date_line():
    d = Areas.from_points({1: (0, 0), 2: (0, 1), 3: (-180, 1), 4: (180, 1)}).kilometres()
    assert d[0, 1] == pytest.approx(np.pi * EARTH_RADIUS / 180, rel=1e-14)
    assert d[2, 3] == pytest.approx(0, abs=1e-9)


points = st.tuples(st.floats(-180, 180), st.floats(-90, 90))


@given(st.lists(points, min_size=2, max_size=8))
def test_kilometres_are_a_metric(places):
    d = Areas.from_points(dict(enumerate(places))).kilometres()
    assert np.array_equal(d, d.T)
    assert not d.diagonal().any()
    assert np.isfinite(d).all()
    assert (d <= np.pi * EARTH_RADIUS * (1 + 1e-12)).all()
    assert (d[:, :, None] <= d[:, None, :] + d.T[None, :, :] + 1e-3).all()
    assert not d.flags.writeable


def breadth_first(size, pairs, start):
    steps, waiting = {start: 0}, deque([start])
    while waiting:
        here = waiting.popleft()
        for one, other in [*pairs, *(pair[::-1] for pair in pairs)]:
            if one == here and other not in steps:
                steps[other] = steps[here] + 1
                waiting.append(other)
    return [steps.get(i, -1) for i in range(size)]


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(
    st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20)
)))  # fmt: skip
def test_hops_are_those_of_a_search(drawn):
    size, pairs = drawn
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    areas = Areas(tuple(range(size)), neighbours=tuple(pairs))
    expected = np.array([breadth_first(size, pairs, start) for start in range(size)])
    if (expected < 0).any():
        with pytest.raises(InvalidData, match=r"parts, with 0, .*with_neighbours\(\[\(0, "):
            areas.hops()
    else:
        assert np.array_equal(areas.hops(), expected)
        assert areas.hops().dtype == np.int64


def test_a_ferry_joins_parts():
    areas = Areas.from_neighbours([("Kings", "Queens"), ("Richmond", "Jersey")])
    with pytest.raises(InvalidData, match="2 parts, with 'Kings', 'Richmond'"):
        areas.hops()
    joined = areas.with_neighbours([("Kings", "Richmond")])
    assert joined.hops()[joined.labels.values.index("Jersey")].tolist() == [2, 3, 1, 0]


def test_what_distances_need_is_said():
    with pytest.raises(InvalidInput, match="from_points"):
        Areas.from_neighbours([("a", "b")]).kilometres()
    with pytest.raises(InvalidInput, match="with_neighbours"):
        Areas.from_points({"a": (0, 0)}).hops()
    many = Areas(range(8000), np.zeros((8000, 2)))
    with pytest.raises(InvalidInput, match="8,000 areas"):
        many.kilometres()


# GeoJSON


def test_shapes_neighbours_and_centroids(written):
    areas = Areas.from_geojson(written(FOUR))
    assert areas.labels.as_tuple() == ("a", "b", "c", "d")
    assert areas.neighbours == ((0, 1), (1, 2), (1, 3))
    assert [len(shape) for shape in areas.shapes] == [2, 1, 1, 1]
    assert [len(polygon) for polygon in areas.shapes[1]] == [2]
    assert areas.points.round(12).tolist() == [[0.5, 1.5], [1.5, 1.5], [1.5, 0.5], [1.5, 1.5]]
    assert not areas.points.flags.writeable
    assert not areas.shapes[0][0][0].flags.writeable


def point_of(*rings):
    return Areas(("a",), shapes=((rings,),)).points[0].tolist()


def test_a_hole_moves_the_centroid():
    outline, hole = square(0, 0, 4), square(0, 0, 2)
    for turned in (hole, hole[::-1]):
        assert point_of(outline, turned) == pytest.approx([28 / 12, 28 / 12])


def test_centroids_far_from_zero_keep_their_digits():
    small = square(179.5, 89.0, 1e-7)
    assert point_of(small) == pytest.approx([179.5 + 5e-8, 89.0 + 5e-8], abs=1e-12)


def test_rounding_decides_what_is_one_point():
    off = collection(feature("a", [square(0, 0)]), feature("b", [square(1.00001, 0)]))
    assert Areas.from_geojson(off).neighbours == ()
    near = collection(feature("a", [square(0, 0)]), feature("b", [square(1.0000001, 0)]))
    assert Areas.from_geojson(near).neighbours == ((0, 1),)


corners = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=6)


@given(st.lists(st.lists(corners, min_size=1, max_size=2), min_size=2, max_size=4))
def test_neighbours_are_those_with_an_edge_in_common(drawn):
    rings = [[[*ring, ring[0]] for ring in shape] for shape in drawn]
    edges = [
        {frozenset(edge) for ring in shape for edge in pairwise(ring) if edge[0] != edge[1]}
        for shape in rings
    ]
    expected = [(i, j) for j in range(len(edges)) for i in range(j) if edges[i] & edges[j]]
    document = collection(*(feature(i, *([r] for r in shape)) for i, shape in enumerate(rings)))
    assert list(Areas.from_geojson(document).neighbours) == sorted(expected)


def test_an_edge_of_three_areas_makes_three_pairs():
    document = collection(*(feature(name, [square(0, 0)]) for name in "abc"))
    assert Areas.from_geojson(document).neighbours == ((0, 1), (0, 2), (1, 2))


def test_the_label_may_be_an_id_and_codes_stay_text():
    document = collection(
        feature("x", [square(0, 0)], id="01"), feature("y", [square(1, 0)], id="1")
    )
    assert Areas.from_geojson(document, label="id").labels.as_tuple() == ("01", "1")
    numbers = collection(feature(1, [square(0, 0)]), feature(2.0, [square(1, 0)]))
    assert Areas.from_geojson(numbers).labels.as_tuple() == (1, 2)


def test_tuples_of_other_libraries_are_lists():
    ring = tuple(tuple(map(np.float64, point)) for point in square(0, 0))
    geometry = {"type": "Polygon", "coordinates": (ring,)}
    document = {"type": "FeatureCollection", "features": (changed(geometry=geometry)["features"])}
    assert Areas.from_geojson(document).shapes[0][0][0].tolist() == square(0, 0)


def test_heights_are_left_out_and_rings_closed():
    ring = [[*point, 7.0] for point in square(0, 0)[:-1]]
    areas = Areas.from_geojson(collection(feature("a", [ring])))
    assert areas.shapes[0][0][0].tolist() == square(0, 0)


def changed(**more):
    return collection({**feature("a", [square(0, 0)]), **more})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "'areas.geojson' as JSON"),
        ("", "'areas.geojson' as JSON"),
        ("[]", "found type None"),
        ('{"type": "FeatureCollection"}', "must be a GeoJSON FeatureCollection"),
        (collection(), "at least one feature"),
        ({"type": "Topology", "objects": {}}, "convert TopoJSON"),
        (collection(7), "feature 1 of 'areas.geojson' is none"),
        (changed(properties={"NAM": "a"}), r"no 'NAME' \(did you mean 'NAM'\?\), but NAM"),
        (changed(properties=None), "but none"),
        (changed(properties={"NAME": None}), "feature 1 .* is None"),
        (changed(properties={"NAME": ""}), "text or an integer"),
        (changed(properties={"NAME": True}), "is True"),
        (changed(properties={"NAME": 1.5}), "is 1.5"),
        (changed(geometry=None), r"feature 1 of 'areas.geojson' \('a'\) is None"),
        (changed(geometry={"type": "Point", "coordinates": [0, 0]}), "from_points"),
        (changed(geometry={"type": "Polygon"}), "an outline|coordinates"),
        (changed(geometry={"type": "Polygon", "coordinates": []}), "outline"),
        (changed(geometry={"type": "Polygon", "coordinates": [[0, 0]]}), "list of"),
        (changed(geometry={"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}), "three points"),
        (collection(feature("a", [square(400, 0)])), "Subtract 360|metres"),
        (collection(feature("a", [square(5e5, 4e6)])), "metres of a projected map"),
        (collection(feature("a", [square(200, 0)])), "±180 .* holds 200. Subtract 360"),
        (collection(feature("a", [square(50, 95)])), "swapped"),
        (json.dumps(changed()).replace("1.0", "NaN"), "NaN is no number"),
        (json.dumps(collection(feature("a", [square(1e200, 0)]))), "holds 1e"),
        (json.dumps(changed()).replace("1.0", "1" * 400), "list of"),
        (json.dumps(changed()).replace("1.0", "1e999"), "holds inf"),
        (json.dumps(changed()).replace("1.0", '"1"'), "list of"),
    ],
)
def test_what_is_wrong_with_a_map_is_said(written, document, words):
    with pytest.raises(InvalidData, match=words) as caught:
        Areas.from_geojson(written(document))
    assert "\n" not in str(caught.value)


def test_files_that_are_absent_or_too_large_or_no_text(written, tmp_path, monkeypatch):
    with pytest.raises(InvalidData, match="no file"):
        Areas.from_geojson(tmp_path / "none.geojson")
    with pytest.raises(InvalidData, match="must be a file"):
        Areas.from_geojson(tmp_path)
    (tmp_path / "latin").write_bytes(b'{"type": "\xe9"}')
    with pytest.raises(InvalidData, match="UTF-8"):
        Areas.from_geojson(tmp_path / "latin")
    monkeypatch.setattr("pramble.mechanisms.json_form.MOST_DOCUMENT_BYTES", 10)
    with pytest.raises(InvalidData, match="bytes"):
        Areas.from_geojson(written(FOUR))
    monkeypatch.setattr("pramble.geography.reading.MOST_DOCUMENT_BYTES", 10)
    table = written("id,lon,lat\na,1,2\n", "areas.csv")
    for read in (Areas.from_points, Areas.from_neighbours):
        with pytest.raises(InvalidData, match="has 17 bytes"):
            read(table)


values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=3) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "NAME", "geometry", "coordinates", "properties"]), inner
        )
    ),
    max_leaves=12,
)
paths = st.sampled_from([
    (), ("features",), ("features", 0), ("features", 1, "properties"),
    ("features", 1, "properties", "NAME"), ("features", 1, "geometry"),
    ("features", 0, "geometry", "type"), ("features", 1, "geometry", "coordinates"),
    ("features", 1, "geometry", "coordinates", 0), ("features", 1, "geometry", "coordinates", 0, 0),
    ("features", 1, "geometry", "coordinates", 0, 0, 1),
    ("features", 1, "geometry", "coordinates", 0, 0, 1, 0),
])  # fmt: skip


@given(paths, values)
def test_no_map_breaks_the_reader(path, new):
    document = json.loads(json.dumps(FOUR))
    if path:
        inner = document
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = new
    else:
        document = new
    if not isinstance(document, dict):
        return
    with suppress(InvalidInput):
        areas = Areas.from_geojson(document)
        assert len(areas) == len(areas.shapes) == len(areas.points)
        assert np.isfinite(areas.points).all()


# Tables


def test_points_and_neighbours_from_files(written):
    places = written("code,Name,LON,Lat\n01,A,1.5,50\n02,B,2,51\n", "points.csv")
    areas = Areas.from_points(places).with_neighbours(written("x,y,km\n01,02,3\n", "pairs.csv"))
    assert areas.labels.as_tuple() == ("01", "02")
    assert areas.points.tolist() == [[1.5, 50], [2, 51]]
    assert areas.neighbours == ((0, 1),)
    assert Areas.from_points(places, label="Name").labels.as_tuple() == ("A", "B")


def test_texts_of_a_file_are_integers_where_all_are(written):
    pairs = written("a,b\n2,1\n1,3\n", "pairs.csv")
    areas = Areas.from_neighbours(pairs)
    assert areas.labels.as_tuple() == (2, 1, 3)
    assert areas.neighbours == ((0, 1), (1, 2))
    texts = Areas.from_points({"1": (0, 0), "2": (1, 0), "3": (2, 0)}).with_neighbours(pairs)
    assert texts.neighbours == ((0, 1), (0, 2))


def test_separators_decimal_marks_and_named_columns(written):
    path = written("ost;nord;ort\n8,5;50,25;Köln\n9,5;50,5;Bonn\n", "orte.csv")
    areas = Areas.from_points(path, label="ort", longitude="ost", latitude="nord")
    assert areas.labels.as_tuple() == ("Köln", "Bonn")
    assert areas.points.tolist() == [[8.5, 50.25], [9.5, 50.5]]
    pairs = written("n,x,y\n1,a,b\n", "pairs.csv")
    assert Areas.from_neighbours(pairs, columns=("x", "y")).labels.as_tuple() == ("a", "b")


def test_frames_are_tables_too():
    frame = pd.DataFrame({"id": [7, 8], "lng": [1.0, 2.0], "lat": [0.0, 0.0]})
    assert Areas.from_points(frame).labels.as_tuple() == (7, 8)
    assert Areas.from_neighbours(pd.DataFrame({"a": [7], "b": [8]})).neighbours == ((0, 1),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ("id,lon,lat\n", "at least one row"),
        ("id,x,y\na,1,2\n", "longitude.*its columns are id, x, y. Say which"),
        ("id,lon,longitude,lat\na,1,1,2\n", "one column of longitudes"),
        ("lon,lat\n1,2\n", "column of labels"),
        ("id,lon,lat\na,1,2\na,3,4\n", "'a' stands in rows 1 and 2"),
        ("id,lon,lat\na,1,2\n,3,4\n", "row 2 holds nothing"),
        ("id,lon,lat\na,1,2\nb,,4\n", "row 2 of areas.csv holds no number"),
        ("id,lon,lat\na,1,2\nb,east,4\n", "row 2 of areas.csv holds no number"),
        ("id,lon,lat\na,1,2\nb,nan,4\n", "row 2 of areas.csv holds no number"),
        ("id,lon,lat\na,1,2\nb,4,91\n", "row 2 of areas.csv holds 91. Are"),
        ("id,lon,lat\na,181,2\n", "Subtract 360"),
    ],
)
def test_what_is_wrong_with_points_is_said(written, text, words):
    with pytest.raises(InvalidInput, match=words):
        Areas.from_points(written(text, "areas.csv"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "at least one pair"),
        ([("a", "b"), ("b", "b")], "pair 2 has 'b' twice"),
        ([("a", "b", "c")], "position 0"),
        (["ab"], "position 0"),
        ([("a", 1.5)], "label"),
        ({"one": ["a"]}, "two columns"),
        ({"one": ["a"], "other": [None]}, "row 1 holds nothing"),
        ({"one": ["a"], "other": [1.5]}, "row 1 holds a float"),
    ],
)
def test_what_is_wrong_with_neighbours_is_said(data, words):
    with pytest.raises(InvalidInput, match=words):
        Areas.from_neighbours(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({None: (0, 0)}, "is missing"),
        ({True: (0, 0)}, "a bool"),
        ({}, "one at least"),
        ({"a": 3}, "longitude, latitude"),
        ({"a": (1, 2, 3)}, "longitude, latitude"),
        ({"a": "12"}, "longitude, latitude"),
        ({"a": (None, 1)}, "'a' holds no number"),
        ({"a": (True, 1)}, "'a' holds no number"),
        ({"a": (1, [2])}, "'a' holds no number"),
        (pd.DataFrame({"id": ["a", "a"], "lon": [1, 2], "lat": [3, 4]}), "in rows 1 and 2"),
        (pd.DataFrame({"id": ["a"], "lon": [True], "lat": [3]}), "row 1 of .* holds no number"),
    ],
)
def test_what_is_wrong_with_a_mapping_or_frame_is_said(data, words):
    with pytest.raises(InvalidData, match=words):
        Areas.from_points(data)


# Matching


def test_only_some_areas_in_another_order():
    areas = Areas.from_geojson(FOUR)
    some = areas.of(["d", "b", "a"])
    assert some.labels.as_tuple() == ("d", "b", "a")
    assert some.neighbours == ((0, 1), (1, 2))
    assert np.array_equal(some.points, areas.points[[3, 1, 0]])
    assert some.shapes[2][0][0].tolist() == areas.shapes[0][0][0].tolist()
    d = areas.kilometres()
    assert np.array_equal(some.kilometres(), d[np.ix_([3, 1, 0], [3, 1, 0])])


def test_areas_match_the_categories_of_a_mechanism():
    mechanism = pramble.randomized_response(["c", "a"], 1.0)
    assert Areas.from_geojson(FOUR).of(mechanism.categories).labels == mechanism.labels


@pytest.mark.parametrize(
    ("labels", "wanted", "words"),
    [
        (["Kings", "Queens"], ["Kinngs"], r"no 'Kinngs' \(did you mean 'Kings'\?\)"),
        (["Kings", "Queens"], ["x", "y"], "no 'x', 'y'"),
        (["01", "02"], [1], "text matches text alone; there is no 1"),
        ([1, 2], [True], "no True"),
    ],
)
def test_labels_that_do_not_match_are_named(labels, wanted, words):
    areas = Areas.from_points(dict.fromkeys(labels, (0, 0)))
    with pytest.raises(InvalidData, match=words):
        areas.of(wanted)


def test_neighbours_must_be_of_the_areas():
    areas = Areas.from_points({"a": (0, 0), "b": (1, 1)})
    with pytest.raises(InvalidData, match="no 'c'"):
        areas.with_neighbours([("a", "c")])
    both = areas.with_neighbours([("b", "a")])
    assert both.points.tolist() == [[0, 0], [1, 1]]
    assert both.neighbours == ((0, 1),)


@pytest.mark.parametrize(
    "fields",
    [
        {"points": np.zeros((2, 3))},
        {"points": np.zeros((3, 2))},
        {"shapes": ()},
        {"neighbours": ((0, 0),)},
        {"neighbours": ((0, 5),)},
    ],
)
def test_a_value_that_does_not_hold_together_is_refused(fields):
    with pytest.raises(InvalidInput):
        Areas(("a", "b"), **fields)


# The value


def test_it_shows_itself_and_pickles():
    areas = Areas.from_geojson(FOUR)
    assert repr(areas).splitlines() == [
        "4 areas",
        "  labels      'a', 'b', 'c', 'd'",
        "  neighbours  3 pairs",
        "  shapes      5 polygons",
    ]
    again = pickle.loads(pickle.dumps(areas))
    assert repr(again) == repr(areas)
    assert not again.shapes[0][0][0].flags.writeable


# The island


def signed_area(ring):
    x, y = ring.T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)


def test_the_areas_of_the_island_share_its_people():
    island = pramble.datasets.synthetic_island()
    assert len(island) == 28
    assert len(island.neighbours) == 61
    assert island.hops().max() == 6
    counties, city = island.shapes[:26], island.shapes[26]
    sizes = [sum(map(signed_area, rings)) for (rings,) in counties]
    ((outline,),) = city
    assert min(sizes) == pytest.approx(max(sizes) - signed_area(outline))
    shares = pramble.datasets.synthetic_island_shares()
    assert tuple(shares) == island.labels.as_tuple()
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) > 0


# Real maps


def test_counties_of_new_york(shared_data):
    areas = Areas.from_points(shared_data("geo/ny_counties_centroids.csv"), label="fips")
    areas = areas.with_neighbours(shared_data("geo/ny_counties_adjacency_census.csv"))
    assert len(areas) == 62
    assert len(areas.neighbours) == 147
    steps, far = areas.hops(), areas.kilometres()
    kings, suffolk, albany = areas.places([36047, 36103, 36001])
    assert steps[kings, suffolk] == 3
    assert far[kings, albany] == pytest.approx(217, abs=5)
    assert far[kings, suffolk] < far[kings, albany]


def test_states_have_codes_of_text_and_islands_apart(shared_data):
    areas = Areas.from_points(shared_data("geo/us_states_centroids.csv"))
    areas = areas.with_neighbours(shared_data("geo/us_states_adjacency.csv"))
    assert len(areas) == 56
    assert "01" in areas.labels.as_tuple()
    with pytest.raises(InvalidData, match="8 parts"):
        areas.hops()
    states = Areas.from_neighbours(shared_data("geo/us_states_adjacency.csv"))
    assert states.hops().max() == 11
