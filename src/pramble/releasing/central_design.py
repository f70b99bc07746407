"""The plan of a release with a central promise: they need no prior."""

import pramble.releasing.record_design as record_design
from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.distributions import as_distribution
from pramble.information.structural_zeros import as_possible
from pramble.privacy.guarantee import RecordPrivacy
from pramble.releasing.record_design import (
    RecordDesigned,
    labels_of,
    rules_of,
    tables_at_hand,
)
from pramble.releasing.record_priors import EVEN, public_tables
from pramble.releasing.scan import Counts
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.solvers.record.design_record import design_record


def design_for_readers(
    spec: ReleaseSpec, found: Counts, *, seconds: float | None = None
) -> tuple[RecordDesigned, RecordPrivacy]:
    """Return the plan that keeps the central promise, and what it spends locally.

    The design does not depend on the law of the records, so that nothing of the file is used; a
    public prior serves to say what tables will cost.
    """
    labels = labels_of(found.columns)
    tables, large = tables_at_hand(spec, labels)
    try:
        possible = as_possible(rules_of(spec), labels)
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    prior = EVEN
    if spec.columns[0].prior_source == "public":
        prior = public_tables(spec.columns, labels, tables, possible=possible)
    elif spec.columns[0].prior_source == "confidential":
        raise InvalidPlan("A central plan needs no prior; take the confidential one away.")

    sizes = {name: len(own) for name, own in labels.items()}
    try:
        best = design_record(
            labels,
            central=(spec.limit.shown, spec.delta),
            rows=max(found.rows, 1),
            rows_per_person=found.rows_per_person,
            prior=dict(prior.tables) or None,
            possible=possible,
            tables=tables,
            objective=spec.objective,
            whole=True,
            effort=record_design.SECONDS if seconds is None else seconds,
        )
    except InvalidInput as error:
        raise InvalidPlan(str(error)) from None
    record = RecordDesigned(
        found.columns, best, prior, as_distribution(dict(prior.tables) or None, sizes),
        dict(best.costs), {}, tuple(large),
    )  # fmt: skip
    return record, best.certificate.guarantee.of_rows(found.rows_per_person)
