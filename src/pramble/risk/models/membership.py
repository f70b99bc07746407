"""The grade of membership model: a Bayesian mixed-membership model, sampled by Gibbs steps."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from pramble.errors import InvalidInput, NotConverged
from pramble.risk.models.base import (
    CellMeans,
    Codes,
    FittedModel,
    Margin,
    Operators,
    RiskModel,
    Sample,
    Together,
)
from pramble.risk.models.diagnostics import Chains, chains_of
from pramble.risk.models.loglinear import single_axes
from pramble.risk.models.membership_chain import Chain
from pramble.values import Clock, Floats, value


@value(eq=False)
class MixtureMeans(CellMeans):
    r"""Cell probabilities :math:`\sum_m w_m \prod_j T_{j, x_j, m}`, times the sample size n.

    Attributes
    ----------
    n : int
        Records of the sample.
    tables : (d, L, m) array
        The probability of each level of each key, in each component; 0 beyond the key's levels.
    weights : (m,) array
        Weights of the components; structural zeros make them sum to more than 1.
    """

    n: int
    tables: Floats
    weights: Floats

    @property
    def margins(self) -> tuple[Margin, ...]:
        """Every key by itself."""
        return single_axes(len(self.tables))

    def means(self, cells: Codes) -> Floats:
        """Return the fitted mean of each cell."""
        return self.n * cell_probabilities(cells, self.tables, self.weights)

    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        """Return the mean released count of each cell: each component's tables move."""
        tables = self.tables.copy()
        for axis, operator in operators.items():
            size = operator.shape[0]
            tables[axis, :size] = operator.apply(tables[axis, :size].T).T
        return MixtureMeans(self.n, tables, self.weights).means(cells)

    def over(self, keys: Sequence[Together]) -> "MixtureMeans":
        """Return the means over some keys alone: products of their tables."""
        tables = np.zeros((len(keys), max(key.count for key in keys), len(self.weights)))
        for place, key in enumerate(keys):
            table = np.ones((1, len(self.weights)))
            for axis, size in zip(key.axes, key.sizes, strict=True):
                table = (table[:, None] * self.tables[axis, :size]).reshape(-1, len(self.weights))
            tables[place, : key.count] = key.sums(table)
        return MixtureMeans(self.n, tables, self.weights)


def cell_probabilities(cells: Codes, tables: Floats, weights: Floats) -> Floats:
    """Return the probability of each cell under a mixture of products."""
    from pramble.risk.models.kernels import mixture_probabilities

    out = np.empty(len(cells))
    codes = np.array(cells, dtype=np.int32)
    mixture_probabilities(codes, np.ascontiguousarray(tables), weights, out)
    return out


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


@value
class Membership(RiskModel):
    r"""The grade of membership model of Manrique-Vallier and Reiter (2012), and how to sample it.

    Every record i has memberships :math:`g_i \sim \mathrm{Dir}(\alpha_0\xi)` in K profiles, and

    .. math:: P(x_{ij} = l \mid g_i) = \sum_k g_{ik}\,\lambda_{jkl}, \qquad
        \lambda_{jk} \sim \mathrm{Dir}(\eta_j), \quad \xi \sim \mathrm{Dir}(1), \quad
        \alpha_0, \eta_j \sim \mathrm{Gamma}(1, 1).

    Manrique-Vallier and Reiter fix :math:`\eta_j = 1`, which gives every profile every level; where
    profiles are sharp, that understates the risk.

    Memberships and λ are integrated out; profiles of each value, of all values of a record that
    share one, then :math:`\alpha_0\xi` and :math:`\eta_j` are drawn in turn. The cell probability
    of a sample unique is p (averaged over memberships, exactly for up to eight keys), and the N − n
    people outside the sample fall into its cell independently:
    :math:`r_1 = (1-p)^{N-n}`, :math:`r_2 = \{1-(1-p)^{N-n+1}\}/\{(N-n+1)p\}`.

    Chains run in rounds until τ1 and τ2 have a rank-normalised split R-hat of at most ``r_hat`` and
    at least ``effective_size`` effective draws, over all but the first third of the rounds; or
    until rounds or time are used up: then ``chains.converged`` is false and the reason says so.

    Parameters
    ----------
    profiles : int
        K.
    chains, burn_in, draws, thin : int
        Chains; sweeps thrown away first; draws of each chain in a round; sweeps between them.
    memberships : int
        Membership vectors of each draw that is kept for the risk after randomisation.
    r_hat, effective_size : float
        What chains must reach.
    rounds : int
        Rounds at most.
    time_limit : float
        Seconds at most; ten draws of each chain are made at any rate.

    Examples
    --------
    >>> import pramble
    >>> pramble.Membership(profiles=3, chains=2).burn_in
    500
    """

    profiles: int = 20
    chains: int = 4
    burn_in: int = 500
    draws: int = 150
    thin: int = 20
    memberships: int = 1000
    r_hat: float = 1.03
    effective_size: float = 200.0
    rounds: int = 100
    time_limit: float = 300.0
    name: ClassVar[str] = "membership"
    summary: ClassVar[str] = "the Bayesian grade of membership model, sampled by several chains"

    def __post_init__(self) -> None:
        for name, least in (
            ("profiles", 2), ("chains", 1), ("burn_in", 1), ("draws", LEAST_DRAWS), ("thin", 1),
            ("memberships", 10), ("r_hat", 1), ("effective_size", 1), ("rounds", 1),
            ("time_limit", 0),
        ):  # fmt: skip
            if not getattr(self, name) >= least:
                found = getattr(self, name)
                raise InvalidInput(f"{name} must be at least {least}; found {found}.")

    def fit(self, sample: Sample) -> FittedModel:
        """Run the chains: the risks of the sample uniques, and a mixture for what comes later."""
        table = sample.table
        classes = np.arange(len(table.counts)).repeat(table.counts)
        cell_of = classes if table.cell_of is None else table.cell_of
        codes = np.ascontiguousarray(table.cells[cell_of].astype(np.int32))
        generators = (sample.rng or np.random.default_rng()).spawn(self.chains)
        walkers = [
            Walker(Chain(self, codes, table.shape, sample.rules, rng), sample) for rng in generators
        ]
        chains, used = run_rounds(self, walkers, clock=sample.clock)
        kept = [state for walk in used for state in walk.kept]
        return FittedModel(
            MixtureMeans(
                table.n,
                np.concatenate([tables for tables, _ in kept], axis=2),
                np.concatenate([weights for _, weights in kept]) / len(kept),
            ),
            f"as asked, with {self.profiles} profiles; {chains.verdict}",
            chains,
            tuple(
                np.sum([walk.risks for walk in used], axis=0)
                / sum(len(walk.expected) for walk in used)
            ),
        )
