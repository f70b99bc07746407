"""The paper's problem: the most informative matrix with uniform off-diagonal rows."""

from pramble.information.bound import information_bound
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design

KEYWORDS = frozenset({"invariant", "keep_at_least", "symmetric"})


def solve(problem: Problem) -> Design:
    """Return randomised response, until the search stands behind it."""
    mechanism = randomized_response(problem.labels.values, problem.alpha)
    return Design(
        mechanism=mechanism,
        prior=problem.prior,
        alpha=problem.alpha,
        family=problem.family,
        objective=problem.objective,
        value=mutual_information(problem.prior, mechanism),
        bound=min(information_bound(problem.alpha), entropy(problem.prior)),
    )
