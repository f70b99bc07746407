"""Beyond the paper: the best matrices for all ten New York variables, from their margins."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pramble.datasets import new_york_2000_margins
from pramble.plots.images import Picture
from pramble.plots.style import SERIES, WIDTH, house_style, new_figure
from pramble.solvers.design import design
from pramble.solvers.problem import FamilyName, ObjectiveName
from pramble.values import Floats, frozen
from pramble_study.axes import in_percent, shared_legend
from pramble_study.estimates import standard_error
from pramble_study.study import Column, Spread, Table, headings, in_turn

# Family and objective of each design.
DESIGNS: dict[str, tuple[FamilyName, ObjectiveName]] = {
    "family": ("uniform", "information"),
    "information": ("general", "information"),
    "estimation": ("general", "estimation"),
}

# The variables of the paper in words.
WORDS = {
    "OWNERSHP": "ownership",
    "MORTGAGE": "mortgage",
    "AGE": "age",
    "SEX": "sex",
    "MARST": "marital status",
    "RACESING": "race",
    "EDUC": "education",
    "EMPSTAT": "employment",
    "DISABWRK": "work disability",
    "VETSTAT": "veteran status",
}


@dataclass(frozen=True)
class Config:
    variables: tuple[str, ...] = tuple(new_york_2000_margins())
    alphas: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    tolerance: float = 1e-5


@frozen
class Best:
    variable: str
    alpha: float
    design: str
    matrix: Floats
    information: float
    ceiling: float
    gap: float
    standard_error: float

    @property
    def share(self) -> float:
        """The information kept, as a share of what α and the entropy allow."""
        return min(self.information / self.ceiling, 1.0)


@frozen
class NewYork:
    designs: tuple[Best, ...]
    margins: Mapping[str, dict[str, int]]

    def best(self, variable: str, alpha: float, *, design: str) -> Best:
        wanted = (variable, alpha, design)
        return next(d for d in self.designs if (d.variable, d.alpha, d.design) == wanted)

    def rows(self) -> Iterator[tuple[tuple[str, int, float], list[Best]]]:
        for variable, margin in self.margins.items():
            for alpha in self.alphas:
                found = [self.best(variable, alpha, design=kind) for kind in DESIGNS]
                yield (WORDS[variable], len(margin), alpha), found

    @property
    def alphas(self) -> list[float]:
        return list(dict.fromkeys(d.alpha for d in self.designs))


Case = tuple[str, float, str, Config]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> NewYork:  # noqa: ARG001 (every study has one form)
    cases = [
        (variable, alpha, kind, config)
        for variable in config.variables
        for alpha in config.alphas
        for kind in DESIGNS
    ]
    margins = new_york_2000_margins()
    return NewYork(
        designs=tuple(each(best_for, cases)),
        margins={variable: margins[variable] for variable in config.variables},
    )


def best_for(case: Case) -> Best:
    variable, alpha, kind, config = case
    margin = new_york_2000_margins()[variable]
    counts = np.array(list(margin.values()), dtype=np.float64)
    prior = counts / counts.sum()
    family, objective = DESIGNS[kind]
    found = design(
        prior,
        alpha,
        family=family,
        objective=objective,
        categories=list(margin),
        tolerance=config.tolerance,
    )
    return Best(
        variable=variable,
        alpha=alpha,
        design=kind,
        matrix=found.mechanism.matrix,
        information=found.information,
        ceiling=found.ceiling,
        gap=found.gap,
        standard_error=standard_error(prior, found.mechanism, n=int(counts.sum())),
    )


def tables(data: NewYork) -> tuple[Table, ...]:
    return (
        information_table(data),
        error_table(data),
        *(matrix_table(best, data.margins[best.variable]) for best in data.designs),
    )


def information_table(data: NewYork) -> Table:
    rows = tuple(
        (*head, one[0].ceiling, one[1].information, *(best.share for best in one))
        for head, one in data.rows()
    )
    return Table(
        "new-york-information",
        "Ten New York variables: the most that α and the entropy allow (nats), the information of "
        "the best matrix, and what share of the most each design keeps.",
        headings(
            "variable:text | S | α:g | most possible:.6f | best matrix:.6f | "
            "paper’s family:.1% | best matrix:.1% | for estimation:.1%"
        ),
        rows,
    )


def error_table(data: NewYork) -> Table:
    rows = tuple(
        (*head, *errors, errors[0] / errors[2])
        for head, one in data.rows()
        for errors in [[best.standard_error for best in one]]
    )
    people = sum(next(iter(data.margins.values())).values())
    return Table(
        "new-york-errors",
        f"Standard error of an estimated share (root mean square over categories) from a release "
        f"of all {people:,} people. An error near 1 or above says that p cannot be estimated.",
        headings(
            "variable:text | S | α:g | paper’s family:.5f | best information:.5f | "
            "for estimation:.5f | family ÷ estimation:.2f"
        ),
        rows,
    )


def matrix_table(best: Best, margin: dict[str, int]) -> Table:
    labels = list(margin)
    outputs = labels if len(labels) == best.matrix.shape[1] else range(best.matrix.shape[1])
    return Table(
        f"matrices/{best.variable}-alpha-{best.alpha:g}-{best.design}",
        "",
        (Column("true value", text=True), *(Column(str(label)) for label in outputs)),
        tuple((label, *row.tolist()) for label, row in zip(labels, best.matrix, strict=True)),
        shown=False,
    )


LINES = (
    ("information", "best matrix", SERIES[2]),
    ("estimation", "for estimation", SERIES[3]),
    ("family", "best in the paper’s family", SERIES[0]),
)


def pictures(data: NewYork) -> tuple[Picture, ...]:
    middle = min(data.alphas, key=lambda alpha: abs(alpha - 1))
    with house_style():
        return (
            Picture(
                "new-york-shares",
                "Ten New York variables: information kept, as a share of the most that α and the "
                "entropy allow.",
                "Dot plots of ten variables at several α, three designs each.",
                draw_shares(data),
            ),
            Picture(
                "new-york-matrices",
                f"The matrices at α = {middle:g}; rows are true values, columns released ones, "
                "darker is likelier. Top: most information; bottom: designed for "
                "estimation. The first often all but merge values into groups.",
                "Twenty small heat maps of stochastic matrices.",
                draw_matrices(data, middle),
            ),
        )


def draw_shares(data: NewYork) -> Figure:
    names = list(data.margins)
    figure = new_figure(WIDTH, 0.34 * len(names) + 1.1)
    panels = np.ravel(figure.subplots(1, len(data.alphas), sharey=True, sharex=True, squeeze=False))
    for axes, alpha in zip(panels, data.alphas, strict=True):
        for offset, (field, label, series) in zip((-0.2, 0.0, 0.2), LINES, strict=True):
            shares = [data.best(name, alpha, design=field).share for name in names]
            axes.plot(
                shares,
                np.arange(len(names)) + offset,
                **(series.look | {"linestyle": "none"}),
                label=label,
                markersize=4.5,
            )
        axes.set_title(f"α = {alpha:g}", loc="center")
        axes.set_xlim(0, 1.06)
        in_percent(axes.xaxis)
        axes.set_xticks([0, 0.5, 1])
    panels[0].set_yticks(range(len(names)), [f"{WORDS[n]} ({len(data.margins[n])})" for n in names])
    panels[0].invert_yaxis()
    shared_legend(figure, panels[0])
    return figure


def draw_matrices(data: NewYork, alpha: float) -> Figure:
    names = list(data.margins)
    columns = min(5, len(names))
    bands = -(-len(names) // columns)
    figure = new_figure(WIDTH, 1.55 * 2 * bands + 0.6)
    grid = figure.subplots(2 * bands, columns, squeeze=False)
    image: Any = None
    for kind, first in (("information", 0), ("estimation", bands)):
        cells = grid[first : first + bands].ravel()
        for axes, name in zip(cells, names, strict=False):
            image = draw_matrix(axes, data.best(name, alpha, design=kind).matrix, name=WORDS[name])
        for axes in cells[len(names) :]:
            axes.set_visible(False)
        cells[0].set_ylabel(
            "information" if kind == "information" else "estimation", fontweight="bold"
        )
    figure.colorbar(image, ax=grid, shrink=0.4, aspect=30, pad=0.02, label="probability")
    return figure


def draw_matrix(axes: Axes, matrix: np.ndarray[Any, Any], *, name: str) -> Any:
    image = axes.imshow(
        matrix, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto"
    )
    axes.set_title(name, loc="center", fontsize=7.5)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(True)
    return image
