r"""Components of a table: its mean, the effects of columns, and their interactions.

An array over the cells of d columns is the sum of :math:`2^d` components, one for each set s of
columns,

.. math:: f = \sum_s P_s f, \qquad
    P_s = \bigotimes_{j \in s} (I - J_j/S_j) \otimes \bigotimes_{j \notin s} J_j/S_j ,

with J the matrix of ones: orthogonal to each other, and the component of s a function of the cells
of s alone. The component s of a table of probabilities follows from the margin of s, and is the
same for every table that holds s, up to the number of cells that it is spread over.
"""

from collections.abc import Sequence

from pramble.values import Floats


def contrasts(cells: Floats, *, axes: Sequence[int] | None = None) -> Floats:
    """Return an array less its mean along each of some axes, or of all: their joint component.

    >>> import numpy as np
    >>> contrasts(np.array([[0.5, 0.1], [0.2, 0.2]])).round(3).tolist()
    [[0.1, -0.1], [-0.1, 0.1]]
    """
    for axis in range(cells.ndim) if axes is None else axes:
        cells = cells - cells.mean(axis=axis, keepdims=True)
    return cells
