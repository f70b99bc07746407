"""Figures 1 to 4: estimates of p from repeated releases, by three designs of equal privacy."""

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pramble.engine.perturb import perturb
from pramble.estimation.estimate import estimate
from pramble.estimation.functionals.result import Estimate
from pramble.information.fisher import estimation_variance
from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import keep_probabilities
from pramble.plots.images import Picture
from pramble.plots.style import BLACK, BLUE, VERMILION, WIDTH, YELLOW, house_style, new_figure
from pramble.solvers.design import design
from pramble.values import Floats, frozen
from pramble_study.axes import shared_legend
from pramble_study.family import best_placement
from pramble_study.paper import ALPHAS, REPETITIONS, SAMPLE_SIZE, SCENARIOS, printed_counts, priors
from pramble_study.study import Spread, Table, headings, in_turn

# The designs that are compared: square matrices, and last one with as many outputs as pay.
TITLES = {
    "printed": "the paper’s printed vertex",
    "family": "best in the paper’s family",
    "estimation": "general design for estimation",
    "free": "the same, released into other labels",
}
DRAWN = ("printed", "family", "estimation")
# Above this many categories the last design has thousands of outputs and is left out.
MOST_FREE = 12


@dataclass(frozen=True)
class Config:
    scenarios: tuple[str, ...] = SCENARIOS
    alphas: tuple[float, ...] = ALPHAS
    sample_size: int = SAMPLE_SIZE
    repetitions: int = REPETITIONS
    tolerance: float = 1e-4


@frozen
class Cell:
    scenario: str
    alpha: float
    design: str
    estimates: Floats
    rmse: float
    expected: float
    # The share of all intervals, at the 95 % level, that hold the truth.
    coverage: float
    information: float


@frozen
class Estimates:
    cells: tuple[Cell, ...]
    priors: Mapping[str, Floats]
    sample_size: int

    def number(self, scenario: str) -> int:
        return SCENARIOS.index(scenario) + 1

    def cell(self, scenario: str, alpha: float, *, design: str) -> Cell:
        wanted = (scenario, alpha, design)
        return next(c for c in self.cells if (c.scenario, c.alpha, c.design) == wanted)


Case = tuple[str, float, str, Config, np.random.Generator]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Estimates:
    places = [(name, alpha) for name in config.scenarios for alpha in config.alphas]
    cases = [
        (name, alpha, kind, config, deepcopy(own))
        for (name, alpha), own in zip(places, rng.spawn(len(places)), strict=True)
        for kind in TITLES
        if kind != "free" or len(priors()[name]) <= MOST_FREE
    ]
    return Estimates(
        cells=tuple(each(panel, cases)),
        priors={name: priors()[name] for name in config.scenarios},
        sample_size=config.sample_size,
    )


def panel(case: Case) -> Cell:
    name, alpha, kind, config, rng = case
    prior = priors()[name]
    mechanism = mechanism_for(name, alpha, kind=kind, tolerance=config.tolerance)
    releases = [
        estimate_once(prior, mechanism, n=config.sample_size, rng=rng)
        for _ in range(config.repetitions)
    ]
    estimates = np.array([release.probabilities for release in releases])
    covered = [(one.lower <= prior) & (prior <= one.upper) for one in releases]
    return Cell(
        scenario=name,
        alpha=alpha,
        design=kind,
        estimates=estimates,
        rmse=float(np.sqrt(((estimates - prior) ** 2).mean())),
        expected=standard_error(prior, mechanism, n=config.sample_size),
        coverage=float(np.mean(covered)),
        information=mutual_information(prior, mechanism),
    )


def standard_error(prior: Floats, mechanism: Mechanism, *, n: int, fixed: bool = False) -> float:
    r"""Return the asymptotic standard error of a share, in root mean square over categories.

    That is for people drawn anew. For ``fixed`` people only Z is random, and the part that sampling
    them would add, :math:`p_k(1-p_k)/n` a category, is taken off.
    """
    sampling = float((prior * (1 - prior)).sum()) if fixed else 0.0
    return math.sqrt(max(estimation_variance(prior, mechanism) - sampling, 0.0) / n / len(prior))


def mechanism_for(name: str, alpha: float, *, kind: str, tolerance: float) -> Mechanism:
    prior = priors()[name]
    if kind == "printed":
        q, _ = best_placement(prior, printed_counts(name, alpha), alpha=alpha)
        return keep_probabilities(q, alpha=alpha)
    if kind == "family":
        return design(prior, alpha).mechanism
    return design(
        prior,
        alpha,
        family="general",
        objective="estimation",
        outputs="free" if kind == "free" else "same",
        tolerance=tolerance,
    ).mechanism


def estimate_once(
    prior: Floats, mechanism: Mechanism, *, n: int, rng: np.random.Generator
) -> Estimate:
    people = rng.choice(len(prior), size=n, p=prior)
    released = perturb(people, mechanism, key=rng.bytes(32), column="people", threads=1)
    values, numbers = np.unique(released, return_counts=True)
    counted = dict(zip(values.tolist(), numbers.tolist(), strict=True))
    counts = [counted.get(label, 0) for label in mechanism.outputs]
    return estimate(counts, mechanism, counts=True)


def tables(data: Estimates) -> tuple[Table, ...]:
    return tuple(error_table(data, name) for name in data.priors)


def error_table(data: Estimates, name: str) -> Table:
    number = data.number(name)
    rows = tuple(
        (
            cell.alpha,
            TITLES[cell.design],
            cell.rmse,
            cell.expected,
            cell.rmse / data.cell(name, cell.alpha, design="estimation").rmse,
            cell.coverage,
            cell.information,
        )
        for cell in data.cells
        if cell.scenario == name
    )
    return Table(
        f"figure-{number}-errors",
        f"Scenario {name}: root mean squared error of p̂ per category over the repetitions; the "
        "asymptotic error, which knows no boundary; the error relative to the general design for "
        "estimation; how often 95 % intervals hold the truth; and information in nats.",
        headings(
            "α:g | design:text | RMSE:.4f | asymptotic:.4f | relative RMSE:.2f | "
            "coverage:.1% | information:.6f"
        ),
        rows,
    )


def pictures(data: Estimates) -> tuple[Picture, ...]:
    with house_style():
        return tuple(scenario_picture(data, name) for name in data.priors)


def scenario_picture(data: Estimates, name: str) -> Picture:
    number = data.number(name)
    repetitions = len(data.cells[0].estimates)
    return Picture(
        f"figure-{number}",
        f"Figure {number}, scenario {name}: {repetitions} releases of {data.sample_size:,} people "
        "each. Blue: the estimate of each probability from each release; red line: their mean; "
        "yellow: the truth. Rows: α; columns: three designs of the same privacy.",
        "Panels of estimated probabilities by category; the spread shrinks from left to right and "
        "from top to bottom.",
        draw(data, name),
    )


def draw(data: Estimates, name: str) -> Figure:
    alphas = list(dict.fromkeys(cell.alpha for cell in data.cells))
    figure = new_figure(WIDTH, 1.75 * len(alphas) + 0.7)
    grid = figure.subplots(len(alphas), len(DRAWN), sharex=True, sharey=True, squeeze=False)
    highest = max(float(c.estimates.max()) for c in data.cells if c.scenario == name)
    for row, alpha in zip(grid, alphas, strict=True):
        for axes, kind in zip(row, DRAWN, strict=True):
            draw_panel(axes, data.cell(name, alpha, design=kind), prior=data.priors[name])
        row[0].set_ylabel(f"α = {alpha:g}\nprobability")
    for axes, kind in zip(grid[0], DRAWN, strict=True):
        axes.set_title(TITLES[kind], loc="center", fontsize=8.5)
    for axes in grid[-1]:
        axes.set_xlabel("category")
    grid[0, 0].set_ylim(-0.02 * highest, 1.04 * highest)
    shared_legend(figure, grid[0, 0], markerscale=1.6)
    return figure


def draw_panel(axes: Axes, cell: Cell, *, prior: NDArray[np.float64]) -> None:
    S = cell.estimates.shape[1]
    diamond = 4.2 if S <= 12 else 2.8
    draw_cloud(
        axes,
        cell.estimates,
        prior,
        first=1,
        diamond=diamond,
        alpha=0.45,
        markersize=3,
        rasterized=True,
    )
    axes.text(
        0.98,
        0.95,
        f"RMSE {cell.rmse:.4f}",
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )
    axes.set_xticks(range(1, S + 1) if S <= 12 else [1, *range(5, S + 1, 5)])


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
