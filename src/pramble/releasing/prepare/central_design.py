"""The plan of a release with a central promise: they need no prior."""

from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.distributions import as_law
from pramble.information.structural_zeros import as_possible
from pramble.privacy.guarantee import RecordPrivacy
from pramble.releasing.decisions.decisions import Decisions
from pramble.releasing.prepare import record_design
from pramble.releasing.prepare.count import Counts
from pramble.releasing.prepare.record_design import (
    RecordDesigned,
    labels_of,
    rules_of,
    tables_at_hand,
)
from pramble.releasing.prepare.record_prior import EVEN, public_tables
from pramble.solvers.record.design_record import design_record


def design_for_readers(
    decisions: Decisions, found: Counts, *, seconds: float | None = None
) -> tuple[RecordDesigned, RecordPrivacy]:
    """Return the plan that keeps the central promise, and what it spends locally.

    The design does not depend on the law of the records, so that nothing of the file is used; a
    public prior serves to say what tables will cost.
    """
    labels = labels_of(found.columns)
    tables, large = tables_at_hand(decisions, labels)
    try:
        possible = as_possible(rules_of(decisions), labels)
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    prior = EVEN
    if decisions.columns[0].prior == "public":
        prior = public_tables(decisions.columns, labels, tables, possible=possible)
    elif decisions.columns[0].prior == "confidential":
        raise InvalidPlan("A central plan needs no prior; take the confidential one away.")

    sizes = {name: len(own) for name, own in labels.items()}
    try:
        best = design_record(
            labels,
            central=(decisions.limit.shown, decisions.delta),
            rows=max(found.rows, 1),
            rows_per_person=found.rows_per_person,
            prior=dict(prior.tables) or None,
            possible=possible,
            tables=tables,
            objective=decisions.objective,
            whole=True,
            time_limit=record_design.SECONDS if seconds is None else seconds,
        )
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    record = RecordDesigned(
        found.columns, best, prior, as_law(dict(prior.tables) or None, sizes), dict(best.costs), {},
        tuple(large),
    )  # fmt: skip
    return record, best.certificate.guarantee.of_rows(found.rows_per_person)
