"""The best plan, or the best views, for a central promise."""

from dataclasses import replace

from pramble.errors import InvalidInput
from pramble.privacy.certificate import certify
from pramble.solvers.central.costs import sampling_alone, views_costs
from pramble.solvers.central.one_file import best_file
from pramble.solvers.central.promise import Promise
from pramble.solvers.central.views import best_views
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.result import RecordDesign
from pramble.solvers.watch import Watch


def central_design(
    problem: RecordProblem, promise: Promise, watch: Watch, *, views: bool
) -> RecordDesign:
    """Return one shuffled file, or views, with what is proven of them."""
    found = view_design(problem, promise, watch) if views else best_file(problem, promise, watch)
    return replace(found, central=promise.guarantee(found.plan))


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
