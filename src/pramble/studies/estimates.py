"""Figures 1 to 4: estimates of p from repeated releases, by three designs of equal privacy."""

import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pramble.engine.perturb import perturb
from pramble.estimation.estimate import estimate
from pramble.estimation.result import Estimate
from pramble.information.fisher import estimation_variance
from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import keep_probabilities
from pramble.paper import (
    ALPHAS,
    REPETITIONS,
    SAMPLE_SIZE,
    SCENARIOS,
    printed_counts,
    priors,
)
from pramble.solvers.design import design
from pramble.studies.family import best_placement
from pramble.studies.study import Spread, Table, headings, in_turn
from pramble.values import Floats, value

TITLES = {
    "printed": "the paper’s printed vertex",
    "family": "best in the paper’s family",
    "estimation": "general design for estimation",
    "free": "the same, released into other labels",
}
"""The designs that are compared: square matrices, and last one with as many outputs as pay."""
MOST_FREE = 12
"""Above this many categories the last design has thousands of outputs and is left out."""


@dataclass(frozen=True)
class Config:
    """The paper's size: 100 samples of 10,000 people for each scenario and privacy."""

    scenarios: tuple[str, ...] = SCENARIOS
    alphas: tuple[float, ...] = ALPHAS
    sample_size: int = SAMPLE_SIZE
    repetitions: int = REPETITIONS
    tolerance: float = 1e-4


@value
class Cell:
    """One panel: the estimates (repetitions × categories) under one design."""

    scenario: str
    alpha: float
    design: str
    estimates: Floats
    rmse: float
    expected: float
    coverage: float
    """The share of all intervals, at the 95 % level, that hold the truth."""
    information: float


@value
class Estimates:
    """All panels, the priors, and the sample size."""

    cells: tuple[Cell, ...]
    priors: Mapping[str, Floats]
    sample_size: int
    drawn: ClassVar = {kind: TITLES[kind] for kind in ("printed", "family", "estimation")}

    def number(self, scenario: str) -> int:
        """Return the number of a scenario's figure in the paper."""
        return SCENARIOS.index(scenario) + 1

    def cell(self, scenario: str, alpha: float, *, design: str) -> Cell:
        """Return one panel."""
        wanted = (scenario, alpha, design)
        return next(c for c in self.cells if (c.scenario, c.alpha, c.design) == wanted)


Case = tuple[str, float, str, Config, np.random.Generator]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Estimates:
    """Release and estimate again and again, the same people and bits for every design."""
    places = [(name, alpha) for name in config.scenarios for alpha in config.alphas]
    cases = [
        (name, alpha, kind, config, deepcopy(own))
        for (name, alpha), own in zip(places, rng.spawn(len(places)), strict=True)
        for kind in designs_for(name)
    ]
    return Estimates(
        cells=tuple(each(panel, cases)),
        priors={name: priors()[name] for name in config.scenarios},
        sample_size=config.sample_size,
    )


def designs_for(name: str) -> list[str]:
    """Return the kinds of design that are compared in a scenario."""
    small = len(priors()[name]) <= MOST_FREE
    return [kind for kind in TITLES if kind != "free" or small]


def panel(case: Case) -> Cell:
    """Draw samples, randomise them, and estimate p from each release."""
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
    """Return the mechanism of one kind of design for a scenario."""
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
    """Draw n people, randomise them, and return the maximum likelihood estimate of p."""
    people = rng.choice(len(prior), size=n, p=prior)
    released = perturb(people, mechanism, key=rng.bytes(32), column="people", threads=1)
    values, numbers = np.unique(released, return_counts=True)
    counted = dict(zip(values.tolist(), numbers.tolist(), strict=True))
    counts = [counted.get(label, 0) for label in mechanism.outputs]
    return estimate(counts, mechanism, counts=True)


def tables(data: Estimates) -> tuple[Table, ...]:
    """Show the root mean squared error of every panel, beside what the theory expects."""
    return tuple(error_table(data, name) for name in data.priors)


def error_table(data: Estimates, name: str) -> Table:
    """Show the errors of one scenario, one row for each panel."""
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
