"""Estimates of areas on maps, beside how uncertain each is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.plots.map import Panel, limits_of, panels_figure
from pramble.plots.map_frames import layout_of
from pramble.plots.style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pramble.values import Floats

SHARES = ("probability", "share")


def estimate_maps(
    areas: Any, estimate: Any, values: Floats, half_widths: Floats, before: Floats | None
) -> Figure:
    """Return maps of what was before, of the estimates, and of half the width of intervals."""
    percent = estimate.quantity in SHARES
    known = np.isfinite(values) & np.isfinite(half_widths)
    noise = known & (half_widths >= np.abs(values))
    shown = [values] if before is None else [values, before]
    limits = limits_of(*shown, np.zeros(int(percent)))
    striped = tuple(np.flatnonzero(noise).tolist())
    level = f"{100 * estimate.level:g} %"
    panels = [
        Panel(values, estimate.quantity, "Estimate", limits, percent=percent, striped=striped),
        Panel(
            half_widths,
            f"half of its {level} interval",
            "Uncertainty",
            (0.0, limits_of(half_widths, np.zeros(1))[1]),
            colours="Oranges",
            percent=percent,
        ),
    ]
    if before is not None:
        panels.insert(0, Panel(before, estimate.quantity, "Before", limits, percent=percent))
    with house_style():
        return panels_figure(areas, layout_of(areas), panels, note=in_words(noise, known, level))


def in_words(noise: Any, known: Any, level: str) -> str:
    """Return in how many areas the interval is as wide as the estimate is large."""
    count, whole = int(noise.sum()), int(known.sum())
    stripes = " (striped)" if count else ""
    return (
        f"In {count} of {whole} areas{stripes} half of the {level} interval is as large as the "
        "estimate or larger."
    )
