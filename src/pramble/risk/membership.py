"""The grade of membership model: a Bayesian mixed-membership model, sampled by Gibbs steps."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from pramble.errors import InvalidInput, NotConverged
from pramble.risk.models import (
    CellMeans,
    Codes,
    FittedModel,
    Intervals,
    JointKey,
    Operators,
    Sample,
)
from pramble.values import Floats, frozen

# Columns up to which the probabilities of cells are exact: 3^8 steps for a cell and profile.
MOST_EXACT = 8
# Memberships that are drawn to estimate the probabilities of cells of more columns: to some 6 %,
# and τ1 and τ2 to some 0.1 %, draw by draw.
MEMBERSHIPS = 2000
# Metropolis steps on logarithms in a sweep, and their sizes in turn: small ones are accepted where
# a parameter is well known, large ones leave regions where it is not.
MOVES, STEPS = 12, (0.1, 0.3, 1.0, 3.0)
# Factors that are multiplied at once: 8 MB of floats.
PIECE = 2**20


@frozen(eq=False)
class MixtureMeans(CellMeans):
    r"""Cell probabilities :math:`\sum_m w_m \prod_j T_{j, x_j, m}`, times the sample size n.

    - ``n``: Records of the sample.
    - ``tables``: The probability of each level of each key, in each component; 0 beyond the
      key's levels.
    - ``weights``: Weights of the components.
    """

    n: int
    tables: Floats
    weights: Floats

    def means(self, cells: Codes) -> Floats:
        return self.n * cell_probabilities(cells, self.tables, self.weights)

    def released_means(self, cells: Codes, operators: Operators) -> Floats:
        tables = self.tables.copy()
        for axis, operator in operators.items():
            size = operator.shape[0]
            tables[axis, :size] = operator.apply(tables[axis, :size].T).T
        return MixtureMeans(self.n, tables, self.weights).means(cells)

    def over(self, keys: Sequence[JointKey]) -> "MixtureMeans":
        tables = np.zeros((len(keys), max(key.count for key in keys), len(self.weights)))
        for place, key in enumerate(keys):
            table = np.ones((1, len(self.weights)))
            for axis, size in zip(key.axes, key.sizes, strict=True):
                table = (table[:, None] * self.tables[axis, :size]).reshape(-1, len(self.weights))
            tables[place, : key.count] = key.sums(table)
        return MixtureMeans(self.n, tables, self.weights)


def cell_probabilities(cells: Codes, tables: Floats, weights: Floats) -> Floats:
    out = np.empty(len(cells))
    step = max(1, PIECE // len(weights))
    for start in range(0, len(cells), step):
        piece = cells[start : start + step]
        product = tables[0][piece[:, 0]]
        for axis in range(1, len(tables)):
            product *= tables[axis][piece[:, axis]]
        out[start : start + step] = product @ weights
    return out


class MembershipChain:
    """The state of one chain: profiles z, α0 ξ of memberships, pseudo-counts of levels."""

    def __init__(
        self,
        model: "Membership",
        codes: Codes,
        shape: tuple[int, ...],
        rng: np.random.Generator,
    ) -> None:
        self.model, self.rng = model, rng
        self.codes = np.ascontiguousarray(codes[rng.permutation(len(codes))])
        self.sizes = np.array(shape)
        self.z = np.full(codes.shape, -1, dtype=np.int16)
        self.alpha = np.full(model.profiles, 1 / model.profiles)
        self.priors = np.ones(len(shape))
        self.used = (np.arange(max(shape)) < self.sizes[:, None])[:, :, None]
        self.uses = np.zeros((len(shape), max(shape), model.profiles))
        self.levels = self._draw_levels()

    def sweep(self) -> None:
        """Redraw profiles, level probabilities, and the distributions of both, in turn."""
        from pramble.risk.kernels import move_alpha, reassign, regroup

        tally = (
            self.uses,
            self.priors,
            1 / ((self.priors * self.sizes)[:, None] + self.uses.sum(axis=1)),
        )
        spread = np.zeros((len(self.alpha), self.codes.shape[1] + 1))
        regroup(self.codes, self.z, self.alpha, self.rng.random(self.codes.shape), tally)
        reassign(self.codes, self.z, self.alpha, self.rng.random(self.codes.shape), tally, spread)
        self.levels = self._draw_levels()
        steps = np.resize(STEPS, (MOVES, 1)) * self.rng.standard_normal((MOVES, len(self.alpha)))
        move_alpha(self.alpha, spread, steps, np.log1p(-self.rng.random(steps.shape)))
        self._move_priors()

    def probabilities(self, cells: Codes) -> Floats:
        from pramble.risk.kernels import exact_probabilities

        if cells.shape[1] > MOST_EXACT:
            return cell_probabilities(cells, *self.components(MEMBERSHIPS))
        out = np.zeros(len(cells))
        exact_probabilities(cells, self.alpha, self.levels, out)
        return out

    def components(self, count: int) -> tuple[Floats, Floats]:
        """Return level tables and weights of a mixture: so many memberships, drawn."""
        gammas = self.rng.standard_gamma(np.broadcast_to(self.alpha, (count, len(self.alpha))))
        gammas += 1e-300  # all of a row may underflow, and 0/0 is no share
        memberships = gammas / gammas.sum(axis=1, keepdims=True)
        return self.levels @ memberships.T, np.full(count, 1 / count)

    def _draw_levels(self) -> Floats:
        parameters = self.priors[:, None, None] + self.uses
        gammas = np.where(self.used, np.maximum(self.rng.standard_gamma(parameters), 1e-300), 0.0)
        return np.asarray(gammas / gammas.sum(axis=1, keepdims=True), dtype=np.float64)

    def _move_priors(self) -> None:
        """Take a Metropolis step on the logarithms of the pseudo-counts, levels integrated out."""
        steps = self.rng.choice(STEPS) * self.rng.standard_normal(len(self.priors))
        moved = self.priors * np.exp(steps)
        change = self._log_density(moved) - self._log_density(self.priors) + steps
        taken = np.log1p(-self.rng.random(len(moved))) < change
        self.priors = np.where(taken, moved, self.priors)

    def _log_density(self, priors: Floats) -> Floats:
        from scipy.special import gammaln

        wide, total = priors[:, None, None], (priors * self.sizes)[:, None]
        levels = (gammaln(wide + self.uses) - gammaln(wide)).sum(axis=(1, 2))
        sums = (gammaln(total) - gammaln(total + self.uses.sum(axis=1))).sum(axis=1)
        return np.asarray(levels + sums - priors, dtype=np.float64)


@frozen(eq=False)
class Chains:
    """How the chains of a sampled model mixed, and the intervals they give.

    - ``intervals``: Central 95 % credible intervals of the population's own τ1 and τ2.
    - ``r_hat``: The larger rank-normalised split R-hat of τ1 and τ2; near 1 when the chains
      agree.
    - ``effective_size``: The smaller effective number of draws.
    - ``draws``: τ1 and τ2, draw by draw.
    - ``sweeps``: Sweeps of each chain, without those thrown away first.
    - ``r_hat_at_most``, ``effective_at_least``: What was asked for.
    """

    intervals: Intervals
    r_hat: float
    effective_size: float
    draws: Floats
    sweeps: int
    r_hat_at_most: float
    effective_at_least: float

    @property
    def converged(self) -> bool:
        mixed = self.r_hat <= self.r_hat_at_most
        return mixed and self.effective_size >= self.effective_at_least

    @property
    def verdict(self) -> str:
        found = (
            f"R-hat {self.r_hat:.3f} and {self.effective_size:.0f} effective draws after "
            f"{self.sweeps:,} sweeps of each chain"
        )
        if self.converged:
            return f"{found}: the chains agree"
        return (
            f"{found}: NOT converged (at most {self.r_hat_at_most:g} and at least "
            f"{self.effective_at_least:g} were asked for); do not rely on the intervals, allow "
            "more rounds or updates"
        )


def rank_r_hat(chains: Floats) -> float:
    r"""Return the rank-normalised split R-hat of (chains, draws): Vehtari and others (2021).

    .. math:: \hat R = \sqrt{\frac{(l-1)/l\; W + B/l}{W}}

    with W the mean variance within half-chains of length l and B/l the variance of their means, of
    the normal scores of the draws, or of how far out they are, whichever is larger: the second
    finds chains that differ in scale.

    >>> rng = np.random.default_rng(1)
    >>> rank_r_hat(rng.normal(size=(4, 1000))) < 1.02
    True
    >>> wide = rng.normal(size=(2, 500)) * np.array([[1.0], [5.0]])
    >>> rank_r_hat(wide) > 1.1, rank_r_hat(np.array([[0.0, 1.0] * 20, [5.0, 6.0] * 20])) > 1.5
    (True, True)
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    found = [1.0]
    for values in (chains, np.abs(chains - np.median(chains))):
        ranks = rankdata(values).reshape(values.shape)
        halves = split_chains(ndtri((ranks - 0.375) / (values.size + 0.25)))  # Blom's scores
        within, between = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1).var(ddof=1)
        if between > 0:
            length = halves.shape[1]
            ratio = between / within if within > 0 else math.inf
            found.append(math.sqrt((length - 1) / length + ratio))
    return max(found)


def effective_size(chains: Floats) -> float:
    """Return the effective number of draws, by Geyer's initial positive sequence.

    >>> draws = np.random.default_rng(1).normal(size=(4, 500))
    >>> round(effective_size(draws), -2)
    2000.0
    """
    halves = split_chains(chains)
    count, length = halves.shape
    within = float(halves.var(axis=1, ddof=1).mean())
    total = within * (length - 1) / length + float(halves.mean(axis=1).var(ddof=1))
    if total == 0:
        return float(count * length)
    centred = halves - halves.mean(axis=1, keepdims=True)
    covariance = np.array(
        [(centred[:, : length - lag] * centred[:, lag:]).sum() for lag in range(length)]
    ) / (count * length)
    correlation = 1 - (within - covariance * length / (length - 1)) / total
    correlation[0] = 1.0
    pairs = correlation[: length // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    decreasing = np.minimum.accumulate(pairs[: negative[0]] if negative.size else pairs)
    time = max(2 * float(decreasing.sum()) - 1, 1 / np.log10(count * length))
    return float(count * length / time)


def split_chains(chains: Floats) -> Floats:
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


LEAST_DRAWS = 10
# Draws of each chain and round that are kept whole, for the risk after randomisation.
DRAWS_RETAINED = 5


class Round(NamedTuple):
    """A round of a chain: summed r1 and r2 of the sample uniques, τ by draw, and some states."""

    risks: Floats
    expected: Floats
    predicted: Floats
    states: list[tuple[Floats, Floats]]


def run_rounds(
    model: "Membership", sampled: list[MembershipChain], sample: Sample
) -> tuple[Chains, list[Round]]:
    """Run the chains side by side until they agree; return how they mixed, and what counts.

    The first third of the rounds does not count. Work is counted in sweeps and never in seconds, so
    the same input ends at the same draw on every machine.
    """
    table = sample.table
    rest = round(sample.population_size) - table.n
    uniques = np.ascontiguousarray(table.cells[table.counts == 1].astype(np.int32))
    burn_in, draws = schedule(model, sampled[0].codes.size, uniques)
    sweeps, done = burn_in + sum(draws) * model.thin, count(1)

    def sweep(chain: MembershipChain, times: int) -> None:
        for _ in range(times):
            chain.sweep()
            if chain is sampled[0]:  # one chain tells how far all have come
                sample.reporter.report("sampling", next(done) / sweeps)

    def walk(chain: MembershipChain, number: int) -> Round:
        risks, states = np.zeros((2, len(uniques))), []
        expected, predicted = np.zeros((number, 2)), np.zeros((number, 2))
        for made in range(number):
            sweep(chain, model.thin)
            p = chain.probabilities(uniques)
            if not np.isfinite(p).all():
                raise NotConverged(
                    "The membership sampler must keep finite probabilities; a draw has others. Use "
                    "fewer profiles, or merge rare levels."
                )
            found = binomial_risks(p, rest)
            population = 1 + chain.rng.binomial(rest, np.minimum(p, 1.0))
            predicted[made] = (population == 1).sum(), (1 / population).sum()
            risks += found
            expected[made] = found.sum(axis=1)
            if made % max(number // DRAWS_RETAINED, 1) == 0:
                states.append(chain.components(model.memberships))
        return Round(risks, expected, predicted, states)

    rounds = list[list[Round]]()
    with ThreadPoolExecutor(min(len(sampled), os.cpu_count() or 1)) as pool:
        list(pool.map(partial(sweep, times=burn_in), sampled))
        for place, number in enumerate(draws, 1):
            rounds.append(list(pool.map(partial(walk, number=number), sampled)))
            counted = rounds[len(rounds) // 3 :]
            chains = chains_of_rounds(model, counted, sweeps=sum(draws[:place]) * model.thin)
            if chains.converged:
                break
            for old in rounds[-2] if len(rounds) > 1 else ():
                old.states.clear()
    return chains, [own for walks in counted for own in walks]


def schedule(model: "Membership", values: int, uniques: Codes) -> tuple[int, list[int]]:
    """Return the sweeps that are thrown away, and the draws of each round.

    As asked for, unless that is more than the updates that a chain may make: then half of them may
    be thrown away, and there are as many draws as the others allow, ten at least.
    """
    # Work is how many profiles are weighed; that of a cell's probability was measured against it.
    profiles, (cells, columns) = model.profiles, uniques.shape
    sweep = float(values * profiles)
    exact = columns <= MOST_EXACT
    cell = profiles * 3**columns / 4 if exact else MEMBERSHIPS * columns / 5
    draw = model.thin * sweep + cells * cell
    burn_in = min(model.burn_in, max(int(model.updates / 2 / sweep), 1))
    left = max(int((model.updates - burn_in * sweep) / draw), LEAST_DRAWS)
    full, rest = divmod(min(left, model.rounds * model.draws), model.draws)
    return burn_in, [model.draws] * full + ([rest] if rest >= LEAST_DRAWS or not full else [])


def chains_of_rounds(model: "Membership", rounds: list[list[Round]], *, sweeps: int) -> Chains:
    """Return how the chains mixed over some rounds.

    The intervals are those of the τ of populations drawn; the traces are τ given the parameters.
    """
    by_chain = list(zip(*rounds, strict=True))
    expected, predicted = (
        np.stack([np.concatenate([getattr(walk, side) for walk in walks]) for walks in by_chain])
        for side in ("expected", "predicted")
    )
    low, high = np.quantile(predicted, [0.025, 0.975], axis=(0, 1)).tolist()
    traces = [expected[:, :, measure] for measure in (0, 1)]
    return Chains(
        Intervals((low[0], high[0]), (low[1], high[1])),
        max(map(rank_r_hat, traces)),
        min(map(effective_size, traces)),
        expected,
        sweeps,
        model.r_hat,
        model.effective_size,
    )


def binomial_risks(p: Floats, rest: int) -> Floats:
    """Return P(F = 1) and E(1/F) for F − 1 binomial with ``rest`` trials."""
    log_miss = np.log1p(-np.minimum(p, 1 - 1e-16))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = -np.expm1((rest + 1) * log_miss) / ((rest + 1) * p)
    return np.stack([np.exp(rest * log_miss), np.where(p > 0, mean, 1.0)])


@frozen
class Membership:
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
    until rounds or updates are used up: then ``chains.converged`` is false and the reason says so.
    The same file, settings and generator give the same result.

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
    updates : float
        Updates of the profile of a value, times profiles, that each chain makes at most, burn-in
        included; ten draws are made at any rate. The default takes some five minutes on two cores.

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
    updates: float = 3e10

    def __post_init__(self) -> None:
        for name, least in (
            ("profiles", 2), ("chains", 1), ("burn_in", 1), ("draws", LEAST_DRAWS), ("thin", 1),
            ("memberships", 10), ("r_hat", 1), ("effective_size", 1), ("rounds", 1),
            ("updates", 1),
        ):  # fmt: skip
            found = getattr(self, name)
            if not found >= least:
                raise InvalidInput(f"{name} must be at least {least}; found {found}.")

    def fit(self, sample: Sample) -> FittedModel:
        """Run the chains: the risks of the sample uniques, and a mixture for what comes later."""
        if sample.rules:
            raise InvalidInput(
                "The membership model spreads people over every cell; with impossible= use "
                'model="two-way" or "independence".'
            )
        table = sample.table
        classes = np.arange(len(table.counts)).repeat(table.counts)
        cell_of = classes if table.cell_of is None else table.cell_of
        codes = np.ascontiguousarray(table.cells[cell_of].astype(np.int32))
        generators = (sample.rng or np.random.default_rng()).spawn(self.chains)
        sampled = [MembershipChain(self, codes, table.shape, rng) for rng in generators]
        chains, used = run_rounds(self, sampled, sample)
        states = [state for walk in used for state in walk.states]
        return FittedModel(
            MixtureMeans(
                table.n,
                np.concatenate([tables for tables, _ in states], axis=2),
                np.concatenate([weights for _, weights in states]) / len(states),
            ),
            f"as asked, with {self.profiles} profiles; {chains.verdict}",
            chains,
            tuple(
                np.sum([walk.risks for walk in used], axis=0)
                / sum(len(walk.expected) for walk in used)
            ),
        )
