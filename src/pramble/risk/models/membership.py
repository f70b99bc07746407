"""The grade of membership model: a Bayesian mixed-membership model, sampled by Gibbs steps."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, NamedTuple

import numpy as np

from pramble.errors import InvalidInput, NotConverged
from pramble.risk.models.base import Codes, FittedModel, RiskModel, Sample
from pramble.risk.models.convergence import chains_of
from pramble.risk.models.mixture import MixtureMeans, cell_probabilities
from pramble.risk.models.structural_zeros import Forbidden
from pramble.values import Floats, value

MOVES = 3
LARGEST_BATCH = 50_000
KEPT = 5
"""Draws of each chain that are kept whole, for the risk after randomisation."""


@value
class Membership(RiskModel):
    r"""The grade of membership model of Manrique-Vallier and Reiter (2012), and how to sample it.

    Every record i has memberships :math:`g_i \sim \mathrm{Dir}(\alpha_0\xi)` in K profiles, and

    .. math:: P(x_{ij} = l \mid g_i) = \sum_k g_{ik}\,\lambda_{jkl}, \qquad
        \lambda_{jk} \sim \mathrm{Dir}(1), \quad \xi \sim \mathrm{Dir}(1), \quad
        \alpha_0 \sim \mathrm{Gamma}(1, 1).

    Memberships are integrated out; profiles of each value, then λ, then :math:`\alpha_0\xi` are
    drawn in turn. The cell probability of a sample unique, p, is averaged over
    memberships drawn from the model, and the N − n people outside the sample fall into its cell
    independently:
    :math:`r_1 = (1-p)^{N-n}`, :math:`r_2 = \{1-(1-p)^{N-n+1}\}/\{(N-n+1)p\}`.

    Parameters
    ----------
    profiles : int
        K.
    chains, burn_in, draws, thin : int
        Chains; sweeps thrown away; draws kept of each chain; sweeps between them.
    memberships : int
        Membership vectors drawn to average a cell probability.

    Examples
    --------
    >>> import pramble
    >>> pramble.Membership(profiles=3, chains=2).burn_in
    500
    """

    profiles: int = 20
    chains: int = 4
    burn_in: int = 500
    draws: int = 200
    thin: int = 5
    memberships: int = 1000
    name: ClassVar[str] = "membership"
    summary: ClassVar[str] = "the Bayesian grade of membership model, sampled by several chains"

    def __post_init__(self) -> None:
        for name, least in (
            ("profiles", 2), ("chains", 1), ("burn_in", 1), ("draws", 10), ("thin", 1),
            ("memberships", 10),
        ):  # fmt: skip
            if getattr(self, name) < least:
                found = getattr(self, name)
                raise InvalidInput(f"{name} must be at least {least}; found {found}.")

    def fit(self, sample: Sample) -> FittedModel:
        """Run the chains: the risks of the sample uniques, and a mixture for what comes later."""
        table = sample.table
        uniques = np.ascontiguousarray(table.cells[table.counts == 1].astype(np.int32))
        codes = np.ascontiguousarray(table.cells[table.cell_of].astype(np.int32))
        rest = round(sample.population_size) - table.n
        generators = (sample.rng or np.random.default_rng()).spawn(self.chains)
        done = [0] * self.chains
        total = self.chains * (self.burn_in + self.draws * self.thin)

        def run(number: int) -> Draws:
            def tick() -> None:
                done[number] += 1
                sample.clock.tell("sampling", sum(done) / total)

            chain = Chain(self, codes, table.shape, sample.rules, generators[number])
            return draw_chain(chain, uniques, rest=rest, tick=tick)

        with ThreadPoolExecutor(min(self.chains, os.cpu_count() or 1)) as pool:
            results = list(pool.map(run, range(self.chains)))
        kept = [part for result in results for part in result.kept]
        chains = chains_of(
            np.stack([result.expected for result in results]),
            np.stack([result.predicted for result in results]),
        )
        return FittedModel(
            MixtureMeans(
                table.n,
                np.concatenate([tables for tables, _ in kept], axis=2),
                np.concatenate([weights for _, weights in kept]) / len(kept),
            ),
            f"as asked, with {self.profiles} profiles; {chains.verdict}",
            chains,
            tuple(np.mean([result.risks for result in results], axis=0)),
        )


class Chain:
    """The state of one chain: profiles z, the law of memberships, level probabilities."""

    def __init__(
        self,
        model: Membership,
        codes: Codes,
        shape: tuple[int, ...],
        rules: Sequence[Forbidden],
        rng: np.random.Generator,
    ) -> None:
        self.model, self.codes, self.rules, self.rng = model, codes, rules, rng
        K, self.possible = model.profiles, 1.0
        self.masks = np.ones((len(rules), len(shape), max(shape)), dtype=bool)
        for number, rule in enumerate(rules):
            for axis, mask in rule.masks.items():
                self.masks[number, axis, : len(mask)] = mask
        self.z = rng.integers(0, K, codes.shape).astype(np.int16)
        self.alpha = np.full(K, 1 / K)
        used = np.arange(max(shape)) < np.array(shape)[:, None]
        self.levels = self._dirichlet(np.where(used[:, :, None], 1.0, 0.0) * np.ones(K))

    def sweep(self) -> None:
        """Redraw profiles, level probabilities and the membership law, in turn."""
        from pramble.risk.models.membership_kernels import move_alpha, reassign

        columns = self.codes.shape[1]
        uses = np.zeros(self.levels.shape)
        spread = np.zeros((len(self.alpha), columns + 1))
        uniforms = self.rng.random(self.codes.shape)
        reassign(self.codes, self.z, self.alpha, self.levels, uniforms, uses, spread)
        if self.rules:
            self._augment(uses, spread)
        self.levels = self._dirichlet(uses + (self.levels > 0))
        steps = 0.2 * self.rng.standard_normal((MOVES, len(self.alpha)))
        move_alpha(self.alpha, spread, steps, np.log1p(-self.rng.random(steps.shape)))

    def components(self) -> tuple[Floats, Floats]:
        """Return level tables and weights of a mixture: memberships drawn from their law."""
        count = self.model.memberships
        gammas = self.rng.standard_gamma(np.broadcast_to(self.alpha, (count, len(self.alpha))))
        gammas += 1e-300
        memberships = gammas / gammas.sum(axis=1, keepdims=True)
        return self.levels @ memberships.T, np.full(count, 1 / (count * self.possible))

    def _dirichlet(self, parameters: Floats) -> Floats:
        gammas = self.rng.standard_gamma(parameters)
        gammas = np.where(parameters > 0, np.maximum(gammas, 1e-300), 0.0)
        return np.asarray(gammas / gammas.sum(axis=1, keepdims=True), dtype=np.float64)

    def _augment(self, uses: Floats, spread: Floats) -> None:
        """Add records in impossible cells, as many as fall there before n fall elsewhere."""
        from pramble.risk.models.membership_kernels import add_barred, simulate

        n, columns = self.codes.shape
        missing, drawn = n, 0
        while missing:
            batch = min(max(int(1.1 * missing / self.possible) + 16, 64), LARGEST_BATCH)
            codes, z = np.zeros((batch, columns), np.int32), np.zeros((batch, columns), np.int16)
            simulate(self.alpha, self.levels, self.rng.random((batch, 2 * columns)), codes, z)
            passed, possible = add_barred(codes, z, self.masks, missing, uses, spread)
            missing -= possible
            drawn += passed
        self.possible = n / drawn


class Draws(NamedTuple):
    """What a chain gave: mean r1 and r2 of the sample uniques, τ draw by draw, and some states."""

    risks: Floats
    expected: Floats
    predicted: Floats
    kept: list[tuple[Floats, Floats]]


def draw_chain(chain: Chain, uniques: Codes, *, rest: int, tick: Callable[[], None]) -> Draws:
    """Run a chain; ``rest`` people are outside the sample."""
    model = chain.model
    for _ in range(model.burn_in):
        chain.sweep()
        tick()
    risks = np.zeros((2, len(uniques)))
    expected, predicted = np.zeros((model.draws, 2)), np.zeros((model.draws, 2))
    kept = []
    for draw in range(model.draws):
        for _ in range(model.thin):
            chain.sweep()
            tick()
        tables, weights = chain.components()
        p = cell_probabilities(uniques, tables, weights)
        if not np.isfinite(p).all():
            raise NotConverged(
                f"The membership sampler must keep finite probabilities; draw {draw} has others. "
                "Use fewer profiles, or merge rare levels."
            )
        found = binomial_risks(p, rest)
        population = 1 + chain.rng.binomial(rest, np.minimum(p, 1.0))
        risks += found
        expected[draw] = found.sum(axis=1)
        predicted[draw] = (population == 1).sum(), (1 / population).sum()
        if (draw + 1) % max(model.draws // KEPT, 1) == 0:
            kept.append((tables, weights))
    return Draws(risks / model.draws, expected, predicted, kept)


def binomial_risks(p: Floats, rest: int) -> Floats:
    """Return P(F = 1) and E(1/F) for F − 1 binomial with ``rest`` trials."""
    log_miss = np.log1p(-np.minimum(p, 1 - 1e-16))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = -np.expm1((rest + 1) * log_miss) / ((rest + 1) * p)
    return np.stack([np.exp(rest * log_miss), np.where(p > 0, mean, 1.0)])
