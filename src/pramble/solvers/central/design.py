"""The best plan, or the best views, for a central promise."""

from dataclasses import replace

from pramble.errors import InvalidInput
from pramble.privacy.certificate import certify
from pramble.solvers.central.costs import sampling_alone, views_costs
from pramble.solvers.central.one_file import best_file, responses
from pramble.solvers.central.promise import Promise
from pramble.solvers.central.views import best_views
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.watch import Watch

NEARLY = 1.02
"""One file is taken in place of views if its tables cost no more than so many times theirs."""


def central_design(
    problem: RecordProblem, promise: Promise, watch: Watch, *, views: bool | None
) -> RecordDesign:
    """Return one shuffled file, or views, with what is proven of them; None takes the better."""
    if views is None:
        found = better_design(problem, promise, watch)
    elif views:
        found = view_design(problem, promise, watch)
    else:
        found = best_file(problem, promise, watch)
    return replace(found, central=promise.guarantee(found.plan))


def better_design(problem: RecordProblem, promise: Promise, watch: Watch) -> RecordDesign:
    """Return views, or one file where that costs hardly more: it keeps records together."""
    if problem.objective != "estimation" or len(problem.columns) == 1:
        return best_file(problem, promise, watch)
    several = view_design(problem, promise, watch)
    one = next(responses(problem, promise), several)
    return one if one.value <= NEARLY * several.value else several


def view_design(problem: RecordProblem, promise: Promise, watch: Watch) -> RecordDesign:
    """Return the best views for the wanted tables."""
    if problem.objective != "estimation" or problem.given:
        raise InvalidInput('Views are for tables: objective="estimation", without given=.')
    made = best_views(problem, promise, watch)
    costs = views_costs(made, problem)
    return RecordDesign(
        made,
        certify(made).alpha,
        problem.objective,
        value=sum(costs.values()),
        bound=sampling_alone(problem),
        costs=costs,
    )
