r"""Parameters on one scale: coordinates in which the linear predictor has the mean square one.

With the Gram matrix A of the design, every cell counted alike, :math:`\theta = T\varphi` with
:math:`T^\top A T = I`. Steps, errors and what is lost then do not depend on the units of columns,
nor on how nearly a column is made of others.
"""

import numpy as np

from pramble.values import Floats, value

FLAT = 1e-14


@value(eq=False)
class Basis:
    """The T above, and the root mean square of each parameter's column."""

    T: Floats
    size: Floats

    def of(self, information: Floats) -> tuple[Floats, Floats]:
        """Return what is known along directions (as rows of φ), in increasing order."""
        own = self.T.T @ information @ self.T
        values, vectors = np.linalg.eigh((own + own.T) / 2)
        return values, vectors

    def directions(self, vectors: Floats) -> Floats:
        """Return directions of φ as those of θ."""
        return np.asarray(self.T @ vectors)

    def loads(self, vectors: Floats) -> Floats:
        """Return how much each parameter moves along directions of φ, the most as one."""
        moves = np.abs(self.T @ vectors) * self.size[:, None]
        return np.asarray(moves / np.maximum(moves.max(axis=0), 1e-300))

    def dual(self, vectors: Floats) -> Floats:
        r"""Return the D with :math:`D^\top\theta = V^\top\varphi` for directions V of φ."""
        return np.asarray(np.linalg.solve(self.T.T, vectors))

    def inverse(self, information: Floats) -> Floats:
        """Return the inverse of an information; what is hardly positive counts as hardly."""
        values, vectors = self.of(information)
        floor = np.maximum(values, FLAT * max(values[-1], 1e-300))
        moves = self.T @ vectors
        return np.asarray((moves / floor) @ moves.T)


def basis_of(gram: Floats) -> Basis:
    """Return the basis that makes a Gram matrix the identity."""
    size = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    roots = np.sqrt(np.maximum(values, FLAT * values[-1]))
    return Basis((vectors / roots) / size[:, None], size)
