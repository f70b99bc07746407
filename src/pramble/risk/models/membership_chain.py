"""The state of a chain that samples the grade of membership model, and its sweeps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pramble.risk.models.base import Codes
from pramble.risk.models.structural_zeros import Forbidden
from pramble.values import Floats

if TYPE_CHECKING:
    from pramble.risk.models.membership import Membership

MOST_EXACT = 8
"""Columns up to which the probabilities of cells are exact."""
REPEATS = 8
"""Particles that begin in each profile, to estimate a cell's probability."""
MOVES = 12
STEPS = (0.1, 0.3, 1.0, 3.0)
"""Sizes of Metropolis steps on logarithms."""
LARGEST_BATCH = 50_000


class Chain:
    """The state of one chain: profiles z, the law of memberships, pseudo-counts of levels."""

    def __init__(
        self,
        model: "Membership",
        codes: Codes,
        shape: tuple[int, ...],
        rules: Sequence[Forbidden],
        rng: np.random.Generator,
    ) -> None:
        self.model, self.rules, self.rng = model, rules, rng
        self.codes = np.ascontiguousarray(codes[rng.permutation(len(codes))])
        self.sizes, self.possible = np.array(shape), 1.0
        self.masks = np.ones((len(rules), len(shape), max(shape)), dtype=bool)
        for number, rule in enumerate(rules):
            for axis, mask in rule.masks.items():
                self.masks[number, axis, : len(mask)] = mask
        self.z = np.full(codes.shape, -1, dtype=np.int16)
        self.alpha = np.full(model.profiles, 1 / model.profiles)
        self.priors = np.ones(len(shape))
        self.used = (np.arange(max(shape)) < self.sizes[:, None])[:, :, None]
        self.uses = np.zeros((len(shape), max(shape), model.profiles))
        self.barred = np.zeros(self.uses.shape)
        self.levels = self._draw_levels()

    def sweep(self) -> None:
        """Redraw profiles, level probabilities, and the laws of both, in turn."""
        from pramble.risk.models.kernels import move_alpha, reassign, regroup

        tally = self.uses, self.priors, 1 / (self._weight_of_levels() + self.uses.sum(axis=1))
        spread = np.zeros((len(self.alpha), self.codes.shape[1] + 1))
        regroup(self.codes, self.z, self.alpha, self.rng.random(self.codes.shape), tally)
        reassign(self.codes, self.z, self.alpha, self.rng.random(self.codes.shape), tally, spread)
        self.levels = self._draw_levels()
        if self.rules:
            self.uses -= self.barred
            self.barred[:] = 0.0
            self._augment(self.barred, spread)
            self.uses += self.barred
        steps = np.resize(STEPS, (MOVES, 1)) * self.rng.standard_normal((MOVES, len(self.alpha)))
        move_alpha(self.alpha, spread, steps, np.log1p(-self.rng.random(steps.shape)))
        self._move_priors()

    def probabilities(self, cells: Codes) -> Floats:
        """Return the probabilities of cells: exactly for few columns, else estimated."""
        from pramble.risk.models.kernels import cell_estimates, exact_probabilities

        out = np.zeros(len(cells))
        if cells.shape[1] <= MOST_EXACT:
            exact_probabilities(cells, self.alpha, self.levels, out)
        else:
            uniforms = self.rng.random((len(cells), REPEATS, len(self.alpha), cells.shape[1]))
            cell_estimates(cells, self.alpha, self.levels, uniforms, out)
        return out / self.possible

    def components(self) -> tuple[Floats, Floats]:
        """Return level tables and weights of a mixture: memberships drawn from their law."""
        count = self.model.memberships
        gammas = self.rng.standard_gamma(np.broadcast_to(self.alpha, (count, len(self.alpha))))
        gammas += 1e-300
        memberships = gammas / gammas.sum(axis=1, keepdims=True)
        return self.levels @ memberships.T, np.full(count, 1 / (count * self.possible))

    def _weight_of_levels(self) -> Floats:
        return np.asarray(self.priors * self.sizes)[:, None]

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

    def _augment(self, uses: Floats, spread: Floats) -> None:
        """Add records in impossible cells, as many as fall there before n fall elsewhere."""
        from pramble.risk.models.kernels import add_barred, simulate

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
