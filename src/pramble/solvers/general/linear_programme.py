"""A linear programme on HiGHS, with columns added one batch at a time."""

from typing import Any

import numpy as np

from pramble.errors import NotConverged
from pramble.solvers.budget import OPERATIONS, SearchBudget
from pramble.values import Floats, Integers

TOLERANCE = 1e-10
MOST_PIVOTS = 2.0**31 - 1

# Operations of a step of the simplex method: in all, for each entry of the matrix, by the rows.
PIVOT, PER_ENTRY, PER_ROW = 2e4, 0.5, 4.0


class LinearProgramme:
    r"""Maximise :math:`\sum_j \theta_j \mu_j` s.t. :math:`\sum_j \theta_j s_j = b`, θ ≥ 0.

    Columns may be added at any time, and gains replaced; every solve starts from the last basis.
    With ``left`` the rows are inequalities, :math:`l \le \sum_j \theta_j s_j \le b`.
    """

    def __init__(self, right: Floats, left: Floats | None = None) -> None:
        import highspy

        self.rows = len(right)
        self.columns = self.entries = 0
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
        none = np.zeros(0, dtype=np.int32)
        self._ok(
            self._highs.addRows(
                self.rows, right if left is None else left, right, 0, none, none, np.zeros(0)
            ),
            "adding rows",
        )

    def add(self, columns: Floats, gains: Floats) -> None:
        if not len(columns):
            return
        where = np.nonzero(columns)
        starts = np.searchsorted(where[0], np.arange(len(columns)))
        self.add_sparse(starts, where[1], columns[where], gains=gains)

    def add_sparse(
        self, starts: Integers, rows: Integers, values: Floats, *, gains: Floats
    ) -> None:
        """Add columns by their entries; column j has those from ``starts[j]`` to the next start."""
        count = len(starts)
        self._ok(
            self._highs.addCols(
                count,
                np.ascontiguousarray(gains),
                np.zeros(count),
                np.full(count, np.inf),
                len(values),
                starts.astype(np.int32),
                rows.astype(np.int32),
                values,
            ),
            "adding columns",
        )
        self.columns += count
        self.entries += len(values)

    def replace_gains(self, gains: Floats) -> None:
        """Give the first columns other objective coefficients."""
        first = np.arange(len(gains), dtype=np.int32)
        self._ok(
            self._highs.changeColsCost(len(gains), first, np.ascontiguousarray(gains)),
            "changing gains",
        )

    def solve(self, budget: SearchBudget) -> tuple[Floats, Floats] | None:
        """Return the optimal θ and the duals λ of the equations; None when the budget was over."""
        # HiGHS sometimes gets lost from a warm basis at tolerances as small as these; it then
        # starts afresh.
        import highspy

        each = PIVOT + PER_ENTRY * self.entries + PER_ROW * self.rows**1.5
        for _ in range(2):
            if budget.is_over():
                return None
            most = min(max(budget.left() * OPERATIONS / each, 1.0), MOST_PIVOTS)
            until = self._highs.getRunTime() + budget.seconds_left()
            self._ok(self._highs.setOptionValue("simplex_iteration_limit", int(most)), "limiting")
            self._ok(self._highs.setOptionValue("time_limit", until), "limiting")
            self._highs.run()
            budget.spend(each * self._highs.getInfo().simplex_iteration_count)
            status = self._highs.getModelStatus()
            if status in {
                highspy.HighsModelStatus.kTimeLimit,
                highspy.HighsModelStatus.kIterationLimit,
            }:
                return None
            if status == highspy.HighsModelStatus.kOptimal:
                break
            self._ok(self._highs.clearSolver(), "starting afresh")
        else:
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
