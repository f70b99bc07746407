r"""Family uniform, objective estimation: randomised response, with the bound of all matrices.

Unequal keep probabilities only lose here as far as is known: lowering one of them moves its row
towards the flat one, and the variance grows with the inverse square of the distance. This is not
proven, so the bound is that of all matrices, which holds for uniform rows too.
"""

from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.column_generation import Watch
from pramble.solvers.general.estimation import finished, relaxation
from pramble.solvers.general.estimation_bounds import spread_bound
from pramble.solvers.general.information import LARGEST_ALPHA
from pramble.solvers.problem import Problem
from pramble.solvers.result import Design

KEYWORDS = {"workload"}


def solve(problem: Problem) -> Design:
    """Return randomised response and how far the best of all matrices may be below it."""
    response = randomized_response(problem.labels.values, problem.alpha)
    return finished(problem, [response], bound=least_variance(problem), stopped="search")


def least_variance(problem: Problem) -> float:
    """Return a proven lower bound on the variance under any matrix."""
    if problem.alpha > LARGEST_ALPHA:
        return 0.0
    watch = Watch(problem.tolerance, problem.time_limit, problem.progress)
    relaxed = relaxation(problem, watch)
    if relaxed is None:
        return spread_bound(problem.prior, problem.alpha, problem.workload)
    return relaxed.bound
