"""What is always reported beside the objective: rank, condition number, estimation variance."""

import math
from typing import Any

import numpy as np

from pramble.information.fisher import estimation_variance
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.problem import Problem
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
    rank, condition = spectrum(mechanism)
    return {
        "rank": rank,
        "condition_number": condition,
        "estimation_variance": estimation_variance(prior, mechanism),
        "outputs_used": outputs_used(mechanism),
    }


def spectrum(mechanism: Mechanism) -> tuple[int, float]:
    """Return the rank and the ratio of the extreme singular values; infinite below full rank."""
    if isinstance(mechanism, Arcs) and mechanism.shape[0] == mechanism.shape[1]:
        values = np.abs(np.fft.fft(mechanism.pattern))
        distinct = len(np.unique(mechanism.positions))
        rank = min(int((values > values.max() * 1e-12).sum()), distinct)
        full = rank == mechanism.shape[0]
        return rank, float(values.max() / values.min()) if full else math.inf
    matrix = mechanism.matrix[:, mechanism.matrix.any(axis=0)]
    values = np.linalg.svd(matrix, compute_uv=False)
    rank = int((values > values[0] * 1e-13 * max(matrix.shape)).sum())
    full = rank == mechanism.shape[0]
    return rank, float(values[0] / values[-1]) if full else math.inf


def outputs_used(mechanism: Mechanism) -> int:
    """Return how many outputs are possible at all."""
    if isinstance(mechanism, Arcs):
        return mechanism.shape[1]
    return int(mechanism.weights.any(axis=0).sum())


ADVICE = (
    'Ask for objective="estimation", or give up a share of the information with '
    "information_at_least."
)


def warnings(prior: Floats, alpha: float, found: dict[str, Any]) -> tuple[str, ...]:
    """Return sentences about identifiability."""
    size, rank, variance = len(prior), found["rank"], found["estimation_variance"]
    if math.isinf(variance):
        problem = f"p is not identifiable from this release: the matrix has rank {rank} of {size}."
        return (f"{problem} {ADVICE}",)
    plain = estimation_variance(prior, randomized_response(size, alpha))
    if variance > MUCH_WORSE * plain:
        times = f"{variance / plain:.2g} times that of randomised response"
        return (f"p is barely identifiable from this release: its variance is {times}. {ADVICE}",)
    return ()
