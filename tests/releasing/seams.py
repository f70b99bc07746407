"""Releases by a plan that a test brings, in place of a search: the one seam of these tests."""

from functools import partial

import pytest

import pramble
import pramble.releasing.record_design as record_design
from pramble.solvers.record.problem import RecordDesign


@pytest.fixture
def designed_once(monkeypatch):
    """Design plans under a central promise once each: they depend on no record."""
    monkeypatch.setattr(record_design, "design_record", remembered)


DESIGNS = {}


def remembered(labels, **options):
    options["effort"] = 0.5
    if options["prior"] or options["possible"].tables:
        return pramble.design_record(labels, **options)
    key = repr(
        (labels, sorted((name, repr(v)) for name, v in options.items() if name != "possible"))
    )
    if key not in DESIGNS:
        DESIGNS[key] = pramble.design_record(labels, **options)
    return DESIGNS[key]


@pytest.fixture
def given_plan(monkeypatch):
    """Take a plan as it is in place of a design, with what is proven of them."""

    def take(plan, cost=1.0):
        monkeypatch.setattr(record_design, "design_record", partial(as_designed, plan, cost))

    return take


def as_designed(plan, cost, _labels, **options):
    terms = {name: options[name] for name in ("rows", "rows_per_person")}
    proven = pramble.central_guarantee(plan, delta=options["central"][1], **terms)
    assert proven.epsilon <= options["central"][0]
    costs = dict.fromkeys(options["tables"], cost)
    alpha = pramble.certify(plan).alpha
    return RecordDesign(plan, alpha, "estimation", 1.0, 1.0, costs, central=proven)


def as_designed_locally(plan, _labels, alpha, **options):
    costs = dict.fromkeys(options["tables"], 1.0)
    return RecordDesign(plan, alpha, "estimation", 1.0, 1.0, costs)


def release_by(plan, source, target, **settings):
    """Release with a plan as it is; promises are as large as they need to be."""
    labels = {name: list(own.labels.values) for name, own in plan.column_labels().items()}
    columns = {name: {"categories": own} for name, own in labels.items()}
    promise = {} if "central" in settings else {"alpha": 40.0}
    options = {"columns": columns, "prior": "uniform", "ledger": False, "pages": False, **promise}
    with pytest.MonkeyPatch.context() as patch:
        of_plan = partial(as_designed_locally, plan) if promise else partial(as_designed, plan, 1.0)
        patch.setattr(record_design, "design_record", of_plan)
        patch.setattr(
            record_design, "plan_costs", lambda *_, tables, **__: dict.fromkeys(tables, 1.0)
        )
        return pramble.release(source, target, **{**options, **settings})
