r"""The central promise that a design must keep.

Randomised response on all cells of a record, by its share of false records.

With probability :math:`\gamma` a record is replaced by one of the S possible cells drawn evenly, so
that :math:`e^\alpha = 1 + S(1-\gamma)/\gamma`. Its blanket is as even as can be, and that is what
makes a crowd: about :math:`\gamma n/S \approx 2/\mu^2` false records in every cell hide the true
ones, whatever n and S. The error that it adds to a table is that of

.. math:: c = \frac{1}{(1-\gamma)^2} - 1

records in n, summed over the cells, whatever the table and whatever the law; in Gaussian terms it
spends :math:`\mu^2 = 2(1-\gamma)^2 S/(\gamma n) = 2S/(n\,(1 + c - \sqrt{1+c}))`.
"""

import math
from collections.abc import Callable
from typing import Any

from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.privacy.central import (
    CentralGuarantee,
    central_guarantee,
    checked_delta,
    checked_epsilon,
    positive_count,
    proven_epsilon,
)
from pramble.solvers.record.problem import RecordProblem
from pramble.values import value

CLOSE, TRIES = 2e-3, 40


@value
class Promise:
    r"""Central (ε, δ) of a file of so many rows in random order."""

    epsilon: float
    delta: float
    rows: int
    rows_per_person: int = 1

    @property
    def terms(self) -> dict[str, Any]:
        names = ("rows", "delta", "rows_per_person")
        return {"additional": 0.0, **{name: getattr(self, name) for name in names}}

    def proven(self, plan: Any) -> float:
        return proven_epsilon(plan, **self.terms)

    def guarantee(self, plan: Any) -> CentralGuarantee:
        """Return what is proven of a plan, beside an attack; refuse too little."""
        found: CentralGuarantee = central_guarantee(plan, **self.terms)
        if found.epsilon > self.epsilon:
            raise PrivacyError(
                f"The plan has ε = {found.epsilon:.6g}, above the {self.epsilon:.6g} it must keep."
            )
        return found


def as_promise(central: Any, rows: Any, *, rows_per_person: int = 1) -> Promise:
    """Return the promise from (ε, δ) and the number of rows.

    >>> as_promise((1, 1e-6), 1000)
    Promise(epsilon=1.0, delta=1e-06, rows=1000, rows_per_person=1)
    """
    try:
        epsilon, delta = central
    except (TypeError, ValueError):
        raise InvalidInput(f"central is a pair (epsilon, delta); found {central!r}.") from None
    if rows is None:
        raise InvalidInput("A central promise needs rows=, the number of rows in the file.")
    if not float(epsilon) > 0 or not 0 < float(delta) < 1:
        raise InvalidInput(
            f"central is (epsilon, delta) with epsilon > 0 and 0 < delta < 1; found {central!r}."
        )
    return Promise(
        checked_epsilon(epsilon),
        checked_delta(delta),
        positive_count(rows, "rows"),
        positive_count(rows_per_person, "rows_per_person"),
    )


def largest_scale(
    proven: Callable[[float], float], limit: float, *, start: float, high: float
) -> float:
    """Return nearly the largest scale up to ``high`` whose proven ε is within a limit.

    The ε grows with the scale, nearly as a power of it: each step goes where that law puts the
    limit. What is returned was itself proven; zero if no scale was.

    >>> 3.98 < largest_scale(lambda scale: scale**0.5, 2.0, start=1.0, high=100.0) <= 4
    True
    >>> largest_scale(lambda scale: 0.0, 1e-9, start=1e-6, high=8.0)
    8.0
    """
    good, bad, scale = (0.0, 0.0), (math.inf, math.inf), min(start, high)
    for tried in range(TRIES):
        found = proven(scale)
        if found <= limit:
            good = max(good, (scale, found))
            if scale >= high or found >= limit * (1 - CLOSE):
                break
        else:
            bad = min(bad, (scale, found))
        scale = min(next_scale(good, bad, limit * (1 - CLOSE / 2), halve=tried % 4 == 3), high)
        if bad[0] < good[0] * (1 + CLOSE) or scale < start * 1e-12:
            break
    return good[0]


def next_scale(
    good: tuple[float, float], bad: tuple[float, float], aim: float, *, halve: bool
) -> float:
    """Return the scale to try after these pairs of scale and ε: where a power law meets the aim.

    The power is 1/2 until both sides are known; the middle is tried where the law does not help.

    >>> round(next_scale((1.0, 1.0), (9.0, 3.0), 2.0, halve=False), 9)
    4.0
    """
    if not good[0] or bad[0] == math.inf:
        scale, found = good if good[0] else bad
        step = aim / found if found else math.inf
        return scale * min(max(step, 0.1), 10.0) ** 2
    middle = math.sqrt(good[0] * bad[0])
    if halve or not good[1] or bad[1] == math.inf:
        return middle
    far = math.log(bad[0] / good[0])
    near = far * math.log(aim / good[1]) / math.log(bad[1] / good[1])
    return good[0] * math.exp(near) if 0 < near < far else middle


LEAST_FALSE, MOST_FALSE = 1e-15, 1 - 1e-9


def false_share(noise: float) -> float:
    """Return γ from the noise c.

    >>> round(false_share(3.0), 9)
    0.5
    """
    return min(max(-math.expm1(-0.5 * math.log1p(noise)), LEAST_FALSE), MOST_FALSE)


def response_plan(problem: RecordProblem, *, noise: float) -> Plan:
    """Return randomised response on the possible cells of a record, with about this noise.

    >>> from pramble.solvers.record.problem import as_problem
    >>> plan = response_plan(as_problem({"a": 2, "b": 3}), noise=3.0)
    >>> round(float(plan["a", "b"].matrix[0, 1]), 6) == round(0.5 / 6, 6)
    True
    """
    labels, false = problem.block(problem.columns).labels, false_share(noise)
    alpha = math.log1p(len(labels.values) * (1 - false) / false)
    return Plan({problem.columns: randomized_response(labels.values, alpha)})


def largest_response(problem: RecordProblem, promise: Promise) -> Plan | None:
    """Return the randomised response on all cells that keeps most records and the promise."""

    def plan_at(scale: float) -> Plan:
        return response_plan(problem, noise=1 / scale)

    scale = largest_scale(
        lambda scale: promise.proven(plan_at(scale)), promise.epsilon, start=1.0, high=1e9
    )
    return plan_at(scale) if scale else None
