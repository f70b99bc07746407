"""What a design tells apart: its rank, and the categories that it releases alike."""

import numpy as np

from pramble.data.labels import Labels
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats, Integers

RELATIVE = 1e-13
SHOWN = 6


def rank_of(mechanism: Mechanism) -> int:
    r"""Return the rank.

    For uniform rows, :math:`M = \operatorname{diag}(d) + o\,1^\top`: rows with :math:`d_x = 0` are
    alike and count once; if there is none, the rank is S unless :math:`1 + \sum_x o_x/d_x = 0`. For
    other matrices it is one more than the rank of the differences to the first row, which are exact
    in floats, so that rows that differ little (small α) still count.
    """
    S = mechanism.shape[0]
    if isinstance(mechanism, UniformRows):
        gaps = (mechanism.keep - mechanism.off).astype(np.float64)
        alike = int((gaps == 0).sum())
        if alike:
            return S - alike + 1
        terms = mechanism.off / gaps
        return S - int(abs(1 + terms.sum()) <= 1e-12 * (1 + np.abs(terms).sum()))
    if isinstance(mechanism, Arcs):
        values = np.abs(np.fft.fft(mechanism.pattern))
        distinct = len(np.unique(mechanism.positions))
        return min(int((values > values.max() * 1e-12).sum()), distinct)
    matrix = mechanism.matrix[:, mechanism.matrix.any(axis=0)]
    return 1 + significant(np.linalg.svd(matrix[1:] - matrix[0], compute_uv=False), S)


def significant(values: Floats, size: int) -> int:
    """Return how many singular values are not rounding."""
    return int((values > values.max(initial=0.0) * RELATIVE * size).sum())


def released_alike(mechanism: Mechanism) -> list[Integers]:
    """Return the groups of two or more categories with the same row."""
    if isinstance(mechanism, UniformRows):
        alike = np.flatnonzero(mechanism.keep == mechanism.off)
        return [alike] if len(alike) > 1 else []
    if isinstance(mechanism, Arcs):
        found = np.unique(mechanism.positions, return_inverse=True)[1]
    else:
        found = np.unique(mechanism.weights, axis=0, return_inverse=True)[1]
    found = found.ravel()
    order = np.argsort(found, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(found[order])) + 1)
    return sorted((one for one in groups if len(one) > 1), key=lambda one: int(one[0]))


def alike_text(groups: list[Integers], labels: Labels) -> str:
    """Return which categories are released alike, a few of each group."""
    if not groups:
        return "no two categories are released alike"
    named = [
        ", ".join(repr(labels.values[x]) for x in group[:SHOWN].tolist())
        + (", …" if len(group) > SHOWN else "")
        for group in groups[:SHOWN]
    ]
    more = f" and {len(groups) - SHOWN} more groups" if len(groups) > SHOWN else ""
    return f"released alike: {'; '.join(named)}{more}"
