"""The grade of membership model: a Bayesian mixed-membership model, sampled by Gibbs steps."""

from typing import ClassVar

import numpy as np

from pramble.errors import InvalidInput
from pramble.risk.models.base import FittedModel, RiskModel, Sample
from pramble.risk.models.membership_chain import Chain
from pramble.risk.models.membership_rounds import LEAST_DRAWS, Walker, run_rounds
from pramble.risk.models.mixture import MixtureMeans
from pramble.values import value


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
