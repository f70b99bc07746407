"""Promises side by side as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pramble.plots.style import SERIES, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

WORDS = {"local": "α, to whoever handles the file", "central": "ε, to readers of the release"}


def candidates_figure(found: Sequence[Any]) -> Figure:
    """Return what readers get against what an intruder may become sure of."""
    with house_style():
        figure = new_figure(height=3.6)
        axes = figure.add_subplot()
        for style, (kind, words) in zip(SERIES, WORDS.items(), strict=False):
            own = [one for one in found if one.kind == kind]
            sure = [100 * one.belief for one in own]
            widths = [100 * one.half_width for one in own]
            if not own:
                continue
            axes.plot(
                sure, widths, style.marker, linestyle=style.line, color=style.colour, label=words
            )
            for one, x, y in zip(own, sure, widths, strict=True):
                axes.annotate(f"{one.promise:g}", (x, y), textcoords="offset points",
                              xytext=(5, 4), fontsize=8)  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlim(50, 101)
        axes.set_xlabel("an intruder who was half sure can be sure of, at most, %")
        axes.set_ylabel("± points of a typical cell")
        axes.legend(loc="upper right")
    return figure
