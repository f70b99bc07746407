"""What is always reported beside the objective: rank, condition number, estimation variance."""

import math
from typing import Any

import numpy as np

from pramble.information.fisher import estimation_variance
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.problem import Problem
from pramble.solvers.ranks import rank_of
from pramble.solvers.result import Design
from pramble.values import Floats

MUCH_WORSE = 10.0


def answer(
    problem: Problem, mechanism: Mechanism, *, notes: tuple[str, ...] = (), **more: Any
) -> Design:
    """Return the design of a mechanism with its diagnostics; ``more`` goes to `Problem.answer`."""
    found = diagnose(problem.prior, mechanism)
    if problem.workload is None:
        notes += warnings(problem.prior, problem.alpha, found)
    elif found["rank"] < problem.size:
        lost = f"the matrix has rank {found['rank']} of {problem.size}"
        notes += (f"Only queries of the workload can be estimated from this release: {lost}.",)
    details = {**found, **more.pop("details", {})}
    return problem.answer(mechanism, notes=notes, details=details, **more)


def diagnose(prior: Floats, mechanism: Mechanism) -> dict[str, Any]:
    """Return rank, condition number and estimation variance of a mechanism."""
    rank = rank_of(mechanism)
    full = rank == mechanism.shape[0]
    return {
        "rank": rank,
        "condition_number": condition_number(mechanism) if full else math.inf,
        "estimation_variance": estimation_variance(prior, mechanism),
        "outputs_used": outputs_used(mechanism),
    }


def condition_number(mechanism: Mechanism) -> float:
    """Return the ratio of the extreme singular values."""
    if isinstance(mechanism, Arcs) and mechanism.shape[0] == mechanism.shape[1]:
        values = np.abs(np.fft.fft(mechanism.pattern))
        return float(values.max() / values.min())
    matrix = mechanism.matrix[:, mechanism.matrix.any(axis=0)]
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(values[0] / values[-1])


def outputs_used(mechanism: Mechanism) -> int:
    """Return how many outputs are possible at all."""
    if isinstance(mechanism, Arcs):
        return mechanism.shape[1]
    return int(mechanism.weights.any(axis=0).sum())


ADVICE = (
    'Ask for objective="estimation"; pramble.design can also give up a share of the information '
    "(information_at_least)."
)


def warnings(prior: Floats, alpha: float, found: dict[str, Any]) -> tuple[str, ...]:
    """Return a sentence when p is barely identifiable."""
    variance = found["estimation_variance"]
    plain = estimation_variance(prior, randomized_response(len(prior), alpha))
    if variance <= MUCH_WORSE * plain or found["rank"] < len(prior):
        return ()
    times = f"{variance / plain:.2g} times that of randomised response"
    return (f"p is barely identifiable from this release: its variance is {times}. {ADVICE}",)
