"""Kairouz, Oh and Viswanath's setting: how near simple mechanisms come to the optimum."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.design import design
from pramble.studies.study import Column, Spread, Table, in_turn
from pramble.values import Floats, value

RIVALS = ("randomised response", "binary mechanism", "the paper’s family")


@dataclass(frozen=True)
class Config:
    """Six categories, a hundred priors uniform on the simplex, α from 0.1 to 10."""

    size: int = 6
    priors: int = 100
    alphas: tuple[float, ...] = tuple(np.geomspace(0.1, 10, 25).round(4).tolist())


@value
class Ratios:
    """Information relative to the optimum: (rivals, α, priors)."""

    alphas: Floats
    ratios: Floats
    largest_gap: float
    rivals: ClassVar = RIVALS
    """The widest proven gap of an optimum that was divided by."""

    def worst(self, rival: str) -> tuple[float, float]:
        """Return the smallest mean ratio of a rival, and the α where it occurs."""
        means = self.ratios[RIVALS.index(rival)].mean(axis=1)
        return float(means.min()), float(self.alphas[means.argmin()])


def run(config: Config, rng: np.random.Generator, each: Spread = in_turn) -> Ratios:
    """Compare the rivals with the optimum for every prior and privacy."""
    priors = rng.dirichlet(np.ones(config.size), size=config.priors)
    answers = each(compare, [(prior, config.alphas) for prior in priors])
    table = np.array(answers)
    return Ratios(
        alphas=np.array(config.alphas),
        ratios=np.moveaxis(table[:, :, :3], 0, 2).swapaxes(0, 1).copy(),
        largest_gap=float(table[:, :, 3].max()),
    )


def compare(case: tuple[Floats, tuple[float, ...]]) -> Floats:
    """Return for one prior, at each α, the three ratios and the gap of the optimum."""
    prior, alphas = case
    rows = []
    for alpha in alphas:
        optimum = design(prior, alpha, family="general", outputs="free")
        rivals = (
            mutual_information(prior, randomized_response(len(prior), alpha)),
            mutual_information(prior, binary(prior, alpha)),
            design(prior, alpha).value,
        )
        rows.append([*(value / optimum.value for value in rivals), optimum.gap])
    return np.array(rows)


def binary(prior: Floats, alpha: float) -> Mechanism:
    """Return the binary mechanism: tell, by randomised response, on which side of a split x lies.

    The split is the one whose sides are nearest to even, which carries most information.
    """
    splits = np.array(list(product((0, 1), repeat=len(prior) - 1)))
    sides = np.column_stack([np.zeros(len(splits), dtype=np.int64), splits])
    chosen = sides[np.abs(sides @ prior - 0.5).argmin()]
    two = randomized_response(2, alpha).matrix
    return Mechanism.from_matrix(two[chosen], outputs=2, alpha=alpha)


def tables(data: Ratios) -> tuple[Table, ...]:
    """Show the mean and the smallest ratio of every rival."""
    rows = []
    for position, alpha in enumerate(data.alphas):
        at = data.ratios[:, position]
        pairs = [value for rival in at for value in (float(rival.mean()), float(rival.min()))]
        rows.append((float(alpha), *pairs))
    return (
        Table(
            "ratios",
            f"Information relative to the optimum over {data.ratios.shape[2]} priors on 6 values.",
            (
                Column("α", "g"),
                *(
                    Column(f"{rival}, {what}", ".4f")
                    for rival in RIVALS
                    for what in ("mean", "least")
                ),
            ),
            tuple(rows),
            shown=False,
        ),
    )
