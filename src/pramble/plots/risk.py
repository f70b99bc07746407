"""Disclosure risk as a figure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.plots.style import BLUE, VERMILION, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


def class_sizes_figure(sizes: Any) -> Figure:
    """Return how many records share their keys with how many; those alone stand out."""
    sizes = np.asarray(sizes)
    ends = [*pairwise(EDGES), (EDGES[-1], np.inf)]
    records = [int(sizes[(sizes >= low) & (sizes < high)].sum()) for low, high in ends]
    names = ["alone"]
    names += [
        f"{low}" if high == low + 1 else f"{low} to {high - 1:.0f}" for low, high in ends[1:-1]
    ]
    names.append(f"{EDGES[-1]:,} or more")
    with house_style():
        figure = new_figure(height=3.2)
        axes = figure.add_subplot()
        bars = axes.bar(range(len(names)), records, color=[VERMILION, *[BLUE] * (len(names) - 1)])
        axes.bar_label(bars, [f"{count:,}" for count in records], fontsize=8)
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes.set_xlabel("records with the same keys")
        axes.set_ylabel("records")
        axes.grid(visible=False, axis="x")
    return figure
