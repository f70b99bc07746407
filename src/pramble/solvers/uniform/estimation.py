r"""Family uniform, objective estimation: randomised response, with the bound of all matrices.

Unequal keep probabilities only lose here as far as is known: lowering one of them moves its row
towards the flat one, and the variance grows with the inverse square of the distance. This is not
proven, so the bound is that of all matrices, which holds for uniform rows too.
"""

from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.estimation import choose, relaxation
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design

KEYWORDS = {"workload"}


def solve(problem: Problem) -> Design:
    """Return randomised response and how far the best of all matrices may be below it."""
    response = randomized_response(problem.labels.values, problem.alpha)
    within = problem.alpha <= LARGEST_ALPHA
    bound = relaxation(problem, problem.budget())[1] if within else 0.0
    return choose(problem, [response], bound=bound, stopped="search")
