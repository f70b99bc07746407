"""A linear programme on HiGHS, with columns added one batch at a time."""

from typing import Any

import numpy as np

from pramble.errors import NotConverged
from pramble.values import Floats

TOLERANCE = 1e-10


class LinearProgramme:
    r"""Maximise :math:`\sum_j \theta_j \mu_j` s.t. :math:`\sum_j \theta_j s_j = b`, θ ≥ 0.

    Columns may be added at any time; every solve starts from the last basis.
    """

    def __init__(self, right: Floats) -> None:
        import highspy

        self.rows = len(right)
        self.columns = 0
        self._highs = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "presolve": "off",
            "solver": "simplex",
            "simplex_strategy": 4,
            "threads": 1,
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        }.items():
            self._ok(self._highs.setOptionValue(option, value), f"setting {option}")
        self._ok(self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize), "setting the sense")
        for value in right.tolist():
            self._ok(self._highs.addRow(value, value, 0, [], []), "adding a row")

    def add(self, columns: Floats, gains: Floats) -> None:
        """Add columns, the rows of ``columns``, with their objective coefficients."""
        count = len(columns)
        if not count:
            return
        where = np.nonzero(columns)
        starts = np.searchsorted(where[0], np.arange(count)).astype(np.int32)
        self._ok(
            self._highs.addCols(
                count,
                np.ascontiguousarray(gains),
                np.zeros(count),
                np.full(count, np.inf),
                len(where[0]),
                starts,
                where[1].astype(np.int32),
                columns[where],
            ),
            "adding columns",
        )
        self.columns += count

    def solve(self) -> tuple[Floats, Floats]:
        """Return the optimal θ and the duals λ of the equations."""
        import highspy

        self._ok(self._highs.run(), "solving")
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise NotConverged(
                "The linear programme of the columns must have an optimum; HiGHS ended with "
                f"{self._highs.modelStatusToString(status)}."
            )
        solution = self._highs.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)

    def _ok(self, status: Any, doing: str) -> None:
        import highspy

        if status == highspy.HighsStatus.kError:
            raise NotConverged(f"HiGHS refused while {doing}.")
