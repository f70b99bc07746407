r"""Randomised response on all cells of a record, by its share of false records.

With probability :math:`\gamma` a record is replaced by one of the S possible cells drawn evenly, so
that :math:`e^\alpha = 1 + S(1-\gamma)/\gamma`. Its blanket is as even as can be, and that is what
makes a crowd: about :math:`\gamma n/S \approx 2/\mu^2` false records in every cell hide the true
ones, whatever n and S. The error that it adds to a table is that of

.. math:: c = \frac{1}{(1-\gamma)^2} - 1

records in n, summed over the cells, whatever the table and whatever the law; in Gaussian terms it
spends :math:`\mu^2 = 2(1-\gamma)^2 S/(\gamma n) = 2S/(n\,(1 + c - \sqrt{1+c}))`.
"""

import math

from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.central.promise import Promise, largest_scale
from pramble.solvers.record.problem import RecordProblem

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
