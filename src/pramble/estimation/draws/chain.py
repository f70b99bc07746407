r"""Originals and their law drawn in turn: data augmentation (Tanner and Wong, 1987).

Given the law, the original of a record that shows z has :math:`P(x \mid z, w) \propto p(w, x)
\prod_B M_B[x_B, z_B]`. Given all originals, the law is drawn from its posterior
(:mod:`pramble.estimation.draws.terms`). The two steps in turn have the joint posterior of
both as their stationary law.
"""

from collections.abc import Sequence

import numpy as np

from pramble.estimation.draws.released import Released
from pramble.estimation.draws.terms import Term
from pramble.estimation.draws.units import Units
from pramble.values import Floats, Integers

WARM = 10
"""Passes over several units, from one cell for all records, before a law is first drawn anew."""

UNSEEN = 1e-12
"""The chance that stands for none where several units must find a way to what is possible."""


class Chain:
    """A law and the originals of all records, which are by pattern."""

    def __init__(
        self, release: Released, terms: Sequence[Term], units: Units, rng: np.random.Generator
    ) -> None:
        self.release, self.terms, self.units, self.rng = release, terms, units, rng
        self.groups = np.repeat(release.group_of, release.counts)
        self.touched = units.touched(release.factors)
        entries = release.factors.entries
        self.entries = np.maximum(entries, UNSEEN) if len(units) > 1 else entries

    def run(self, law: Floats, sweeps: int) -> Integers:
        """Return originals, as cells by pattern, after some sweeps from a law."""
        places = np.full(self.release.rows, int(np.argmax(law.sum(axis=0))), dtype=np.int64)
        for _ in range(WARM if len(self.units) > 1 else 0):
            self.draw(law, places)
        for _ in range(sweeps):
            self.draw(law, places)
            self.renew(law, places)
        self.draw(law, places)
        return places

    def draw(self, law: Floats, places: Integers) -> None:
        from pramble.estimation.draws.kernels import draw_originals

        own, factors, units = self.release, self.release.factors, self.units
        levels = self.rng.random((own.rows, len(units)))
        draw_originals(
            law, own.group_of, own.counts, self.entries, factors.starts, factors.sizes,
            factors.onto, factors.shown, factors.outputs, units.moves, units.ends,
            units.strides, units.widths, self.touched, levels, places,
        )  # fmt: skip

    def renew(self, law: Floats, places: Integers) -> None:
        """Draw the law given the originals, in place."""
        for term in self.terms:
            counts = term.counts(self.groups, places)
            term.scale(law, self.rng.standard_gamma(counts + term.prior))
