"""Figures are the same bytes every time, keep their text as text, and stand beside each other."""

import re
import xml.etree.ElementTree as ET

import pytest

from pramble.plots.images import to_png, to_svg
from pramble.plots.style import BLUE, GREEN, SERIES, VERMILION, house_style, new_figure


def drawn():
    with house_style():
        figure = new_figure(4, 3)
        axes = figure.subplots()
        axes.plot([0, 1, 2], [1, 3, 2], "o-", color=BLUE, label="kept − α")
        axes.set_xlim(0, 1.5)
        axes.legend()
        return figure


def test_the_same_figure_gives_the_same_bytes():
    assert to_svg(drawn(), name="a", description="x") == to_svg(drawn(), name="a", description="x")
    assert to_png(drawn()) == to_png(drawn())


def test_svg_is_well_formed_and_keeps_text_as_text():
    svg = to_svg(drawn(), name="a", description='lines & "points"')
    root = ET.fromstring(svg)
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "kept − α" in texts
    assert root.get("aria-label") == 'lines & "points"'
    assert "metadata" not in svg


def test_ids_of_two_figures_do_not_collide_and_references_resolve():
    first = to_svg(drawn(), name="a", description="x")
    second = to_svg(drawn(), name="b", description="x")
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, second)]
    assert not ids[0] & ids[1]
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', first))
    assert used
    assert {a or b for a, b in used} <= ids[0]


def test_the_users_own_settings_do_not_leak_in():
    import matplotlib as mpl

    plain = to_svg(drawn(), name="a", description="x")
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": False}):
        assert to_svg(drawn(), name="a", description="x") == plain


def lightness(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2


@pytest.mark.parametrize("field", ["marker", "line"])
def test_series_differ_without_colour(field):
    assert len({getattr(series, field) for series in SERIES}) == len(SERIES)


def test_the_first_three_colours_are_dark_enough_on_white():
    for colour in (BLUE, VERMILION, GREEN):
        assert (1.05) / (lightness(colour) + 0.05) > 3.0
