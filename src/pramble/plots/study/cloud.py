"""Repeated estimates as a cloud, with their mean and the truth."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pramble.plots.style import BLACK, BLUE, VERMILION, YELLOW
from pramble.values import Floats


def draw_cloud(
    axes: Axes, estimates: Floats, truth: Floats, *, first: int, diamond: float, **dots: Any
) -> None:
    """Draw estimates (repetitions × categories) by category, the first of them at ``first``.

    The points of a large cloud may become an image: ``rasterized=True``.
    """
    repetitions, S = estimates.shape
    places = np.arange(first, first + S)
    jitter = np.linspace(-0.25, 0.25, repetitions)[:, None]
    cloud = (places + jitter).ravel(), estimates.ravel()
    axes.plot(*cloud, ".", color=BLUE, markeredgewidth=0, label="one release", **dots)
    axes.plot(places, estimates.mean(axis=0), "-", color=VERMILION, linewidth=1.2, label="mean")
    axes.plot(
        places,
        truth,
        "D",
        color=YELLOW,
        markeredgecolor=BLACK,
        markeredgewidth=0.6,
        markersize=diamond,
        label="truth",
    )
    axes.grid(visible=False, axis="x")
