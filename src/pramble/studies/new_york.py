"""Beyond the paper: the best matrices for all ten New York variables, from their margins."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pramble.paper import new_york_2000_margins
from pramble.solvers.design import design
from pramble.solvers.problem import FamilyName, ObjectiveName
from pramble.studies.estimates import standard_error
from pramble.studies.study import Column, Spread, Table, headings, in_turn
from pramble.values import Floats, value

DESIGNS: dict[str, tuple[FamilyName, ObjectiveName]] = {
    "family": ("uniform", "information"),
    "information": ("general", "information"),
    "estimation": ("general", "estimation"),
}
"""Family and objective of each design."""

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
"""The variables of the paper in words."""


@dataclass(frozen=True)
class Config:
    """Which variables at which privacy, and how tight the proofs are."""

    variables: tuple[str, ...] = tuple(new_york_2000_margins())
    alphas: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    tolerance: float = 1e-5


@value
class Best:
    """One design for one variable: its matrix, its information, and the error it leaves."""

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


@value
class NewYork:
    """Every design, and the margins they were made for."""

    designs: tuple[Best, ...]
    margins: Mapping[str, dict[str, int]]
    words: ClassVar = WORDS

    def best(self, variable: str, alpha: float, *, design: str) -> Best:
        wanted = (variable, alpha, design)
        return next(d for d in self.designs if (d.variable, d.alpha, d.design) == wanted)

    def rows(self) -> Iterator[tuple[tuple[str, int, float], list[Best]]]:
        """Yield each variable in words, its size and an α, with its designs."""
        for variable, margin in self.margins.items():
            for alpha in self.alphas:
                found = [self.best(variable, alpha, design=kind) for kind in DESIGNS]
                yield (WORDS[variable], len(margin), alpha), found

    @property
    def alphas(self) -> list[float]:
        """The privacy parameters, in order."""
        return list(dict.fromkeys(d.alpha for d in self.designs))


Case = tuple[str, float, str, Config]


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> NewYork:  # noqa: ARG001 (every study has one form)
    """Design for every variable, privacy and purpose."""
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
    """Design one matrix and measure it."""
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
    """Show information kept and standard errors per variable; matrices go to files only."""
    return (
        information_table(data),
        error_table(data),
        *(matrix_table(best, data.margins[best.variable]) for best in data.designs),
    )


def information_table(data: NewYork) -> Table:
    """Show the share of the possible information that each design keeps."""
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
    """Show the standard error of a share under each design."""
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
    """Return one matrix as a table of its entries, for a file."""
    labels = list(margin)
    outputs = labels if len(labels) == best.matrix.shape[1] else range(best.matrix.shape[1])
    return Table(
        f"matrices/{best.variable}-alpha-{best.alpha:g}-{best.design}",
        "",
        (Column("true value", text=True), *(Column(str(label)) for label in outputs)),
        tuple((label, *row.tolist()) for label, row in zip(labels, best.matrix, strict=True)),
        shown=False,
    )
