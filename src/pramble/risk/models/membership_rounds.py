"""Chains of the membership model, run in rounds until what they report is settled."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pramble.errors import NotConverged
from pramble.risk.models.base import Sample
from pramble.risk.models.convergence import Chains, chains_of
from pramble.risk.models.membership_chain import Chain
from pramble.values import Clock, Floats

if TYPE_CHECKING:
    from pramble.risk.models.membership import Membership

LEAST_DRAWS = 10
SHORT = 1e-3
KEPT = 5
"""Draws of each chain and round that are kept whole, for the risk after randomisation."""


class Walk(NamedTuple):
    """A round of a chain: summed r1 and r2 of the sample uniques, τ by draw, and some states."""

    risks: Floats
    expected: Floats
    predicted: Floats
    kept: list[tuple[Floats, Floats]]


class Walker:
    """A chain with the sample uniques whose risk it tells."""

    def __init__(self, chain: Chain, sample: Sample) -> None:
        table = sample.table
        self.chain, self.sweeps, self.tell = chain, 0, silent
        self.rest = round(sample.population_size) - table.n
        self.uniques = np.ascontiguousarray(table.cells[table.counts == 1].astype(np.int32))

    def warm_up(self, *, model: "Membership", until: float) -> None:
        """Throw sweeps away."""
        for _ in range(model.burn_in):
            self.chain.sweep()
            self.tell()
            if time.monotonic() > until:
                return

    def walk(self, *, model: "Membership", until: float, least: int) -> Walk:
        """Make the draws of a round; once time is up, no more than the least."""
        risks, kept = np.zeros((2, len(self.uniques))), []
        expected, predicted = np.zeros((model.draws, 2)), np.zeros((model.draws, 2))
        made = 0
        while made < model.draws and (made < least or time.monotonic() <= until):
            for _ in range(model.thin):
                self.chain.sweep()
                self.tell()
            found, predicted[made] = self.look()
            risks += found
            expected[made] = found.sum(axis=1)
            if made % max(model.draws // KEPT, 1) == 0:
                kept.append(self.chain.components())
            made += 1
        self.sweeps += made * model.thin
        return Walk(risks, expected[:made], predicted[:made], kept)

    def look(self) -> tuple[Floats, tuple[float, float]]:
        """Return r1 and r2 of the sample uniques, and the τ1 and τ2 of a population drawn."""
        p = self.chain.probabilities(self.uniques)
        if not np.isfinite(p).all():
            raise NotConverged(
                "The membership sampler must keep finite probabilities; a draw has others. Use "
                "fewer profiles, or merge rare levels."
            )
        population = 1 + self.chain.rng.binomial(self.rest, np.minimum(p, 1.0))
        tau = float((population == 1).sum()), float((1 / population).sum())
        return binomial_risks(p, self.rest), tau


def silent() -> None:
    """Tell nobody: one chain tells how far all have come."""


def run_rounds(
    model: "Membership", walkers: list[Walker], *, clock: Clock
) -> tuple[Chains, list[Walk]]:
    """Run the chains side by side until they are settled; return how they mixed, and what counts.

    The first third of the rounds does not count.
    """
    start = time.monotonic()
    end, rounds = start + model.time_limit, list[list[Walk]]()
    with ThreadPoolExecutor(min(len(walkers), os.cpu_count() or 1)) as pool:
        walkers[0].tell = lambda: clock.tell(
            "sampling", (time.monotonic() - start) / max(model.time_limit, SHORT)
        )
        list(pool.map(partial(Walker.warm_up, model=model, until=(start + end) / 2), walkers))
        while True:
            least = 0 if rounds else LEAST_DRAWS
            walk = partial(Walker.walk, model=model, until=end, least=least)
            rounds.append(list(pool.map(walk, walkers)))
            chains = settled(model, rounds[len(rounds) // 3 :], sweeps=walkers[0].sweeps)
            clock.tell(
                "sampling",
                (time.monotonic() - start) / max(model.time_limit, SHORT),
                r_hat=chains.r_hat,
                effective_size=chains.effective_size,
            )
            if chains.converged or len(rounds) == model.rounds or time.monotonic() > end:
                return chains, [walk for walks in rounds[len(rounds) // 3 :] for walk in walks]
            for old in rounds[-2] if len(rounds) > 1 else ():
                old.kept.clear()


def settled(model: "Membership", rounds: list[list[Walk]], *, sweeps: int) -> Chains:
    """Return how the chains mixed over some rounds."""
    by_chain = list(zip(*rounds, strict=True))
    return chains_of(
        joined([[walk.expected for walk in walks] for walks in by_chain]),
        joined([[walk.predicted for walk in walks] for walks in by_chain]),
        sweeps=sweeps,
        r_hat_at_most=model.r_hat,
        effective_at_least=model.effective_size,
    )


def joined(parts: list[list[Floats]]) -> Floats:
    """Return the draws of each chain end to end, cut to the shortest chain."""
    whole = [np.concatenate(chain) for chain in parts]
    length = min(map(len, whole))
    return np.stack([draws[:length] for draws in whole])


def binomial_risks(p: Floats, rest: int) -> Floats:
    """Return P(F = 1) and E(1/F) for F − 1 binomial with ``rest`` trials."""
    log_miss = np.log1p(-np.minimum(p, 1 - 1e-16))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = -np.expm1((rest + 1) * log_miss) / ((rest + 1) * p)
    return np.stack([np.exp(rest * log_miss), np.where(p > 0, mean, 1.0)])
