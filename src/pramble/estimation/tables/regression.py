r"""Regressions from protected tables: the cells of one measured table as signed weights.

The score of the original records is a sum over the cells of the table of all columns of the model,
:math:`\sum_x N_x\,\psi(x; \theta)`, and the unbiased counts stand in for N: the root estimates what
the file itself would have given. With J the information and C the covariance of the cells, errors
are those of :math:`J^{-1} \Psi C \Psi^\top J^{-1}`.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pramble.errors import NotShown
from pramble.estimation.follow.result import Settings
from pramble.estimation.inverse.moments import covariance_of
from pramble.estimation.inverse.signed import Function, Moments
from pramble.estimation.regression.design_matrix import Rows
from pramble.estimation.regression.material import Asked, Material, rows_of_cells
from pramble.estimation.tables.answers import TableAnswers
from pramble.estimation.tables.cells import notes_of, table_answers
from pramble.estimation.tables.nearest import nearest_cells
from pramble.mechanisms.measured import Measured
from pramble.values import Floats, value


@value(eq=False)
class TableSource:
    """The signed weights of a measured table (:mod:`pramble.estimation.inverse.signed`)."""

    measured: Measured
    answers: TableAnswers

    @property
    def n(self) -> float:
        return self.answers.n

    @property
    def counts(self) -> Floats:
        """The weight of the one group."""
        return np.array([self.n])

    def chunks(self, width: int) -> Iterator[slice]:
        del width
        yield slice(0, 1)

    def weights(self, some: slice) -> Floats:
        del some
        return self.n * self.answers.unbiased[None, :]

    def moments(self, function: Function, width: int) -> Moments:
        del width
        w = np.ascontiguousarray(function(slice(0, 1))[0].T)
        both, alone = (covariance_of(replace(self.answers, sampling=f), w) for f in (1.0, 0.0))
        return Moments(self.n**2 * both, self.n**2 * alone)

    def inside(self) -> Floats | None:
        return self.n * nearest_cells(self.measured, self.answers.layout.by)[None, :]


def material_of_tables(measured: Measured, asked: Asked, settings: Settings) -> Material:
    try:
        answers = table_answers(measured, asked.columns, settings)
    except NotShown as error:
        raise NotShown(f"A regression takes a measured table of all its columns. {error}") from None
    layout = answers.layout
    return Material(
        TableSource(measured, answers),
        Rows(1, {}, {}),
        rows_of_cells(layout.cells, layout.categories, layout.size),
        np.ones(1, np.int64),
        tuple(notes_of(measured, settings)),
        "pyarrow",
    )
