"""The house style of every figure.

Colours are those of Okabe and Ito, which people with any common colour blindness tell apart. A
series is never told by colour alone: it has its own marker and line, and the colours differ in
lightness, so a grey print can be read. Text stays text, in plain Unicode: no TeX, whose glyphs a
browser without the font would misplace.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK = "#1a1a1a"
GREY = "#8a8a8a"
PALE = "#d9d9d9"
BLUE = "#0072B2"
GREEN = "#009E73"
YELLOW = "#E8C400"
ORANGE = "#E69F00"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"

# Width of a full figure, in inches.
WIDTH = 7.2


@dataclass(frozen=True)
class Series:
    colour: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]

    @property
    def look(self) -> dict[str, Any]:
        return {"color": self.colour, "marker": self.marker, "linestyle": self.line}


# The series of a plot, in order.
SERIES = (
    Series(BLUE, "o", "-"),
    Series(VERMILION, "s", "--"),
    Series(GREEN, "^", "-."),
    Series(ORANGE, "D", ":"),
    Series(PURPLE, "v", (0, (5, 1, 1, 1, 1, 1))),
    Series(BLACK, "x", (0, (1, 1))),
)

# What the house style sets over matplotlib's defaults.
RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.labelcolor": BLACK,
    "axes.edgecolor": BLACK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.unicode_minus": True,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "text.color": BLACK,
    "text.parse_math": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.color": BLACK,
    "ytick.color": BLACK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "path.simplify": False,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house style inside the ``with`` block, whatever the user's own settings."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def new_figure(width: float = WIDTH, height: float = 4.0) -> Figure:
    """Return an empty figure that no global state knows of, with constrained layout."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def without_frame(axes: Axes) -> None:
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
