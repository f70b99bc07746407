"""Where attacks reach into a release: what it draws, by which plan, in which order it writes."""

from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import pramble
import pramble.releasing.record_design as record_design
import pramble.releasing.write.verify as check
from pramble.data.records import TableRecords
from pramble.engine import files, table_counts
from pramble.engine.block import ColumnBlock
from pramble.privacy.promise import CentralPromise
from pramble.releasing import contributions
from pramble.solvers.record.problem import RecordDesign
from tests.engine.cuts import random_order

contents = import_module("pramble.releasing.write.contents")
release_verb = import_module("pramble.releasing.release")
DESIGNS, PROVEN = {}, {}


def design_once(labels, alpha, **options):
    """The same plan for both files: a search ends by the clock, which knows neither."""
    key = tuple(labels), alpha, str(options["tables"])
    if key not in DESIGNS:
        DESIGNS[key] = pramble.design_record(labels, alpha, **{**options, "time_limit": 2.0})
    return DESIGNS[key]


@contextmanager
def same_outputs(block):
    """Draw outputs that depend on row and column alone, in blocks of so many rows.

    The check of change rates is beside this.
    """

    def draw(self, codes, rows):
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
        outputs = (numbers * 2654435761 + len(self.names[0])) % self.mechanism.shape[1]
        return outputs.astype(codes.dtype)

    def passes(name, *_):
        return check.Check(f"rate of change in {name}", passed=True, detail="")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ColumnBlock, "draw", draw)
        patch.setattr(check, "change_check", passes)
        patch.setattr(check, "BATCH_ROWS", block)
        patch.setattr(files, "BATCH_ROWS", block)
        patch.setattr(release_verb, "bound_key", lambda *_, **__: bytes(32))
        patch.setattr(record_design, "design_record", design_once)
        yield


@contextmanager
def designed_as(plan, central):
    """Take a plan in place of a design, with what is proven of it towards readers."""

    def design(_labels, **options):
        key = id(plan), options["rows"]
        if key not in PROVEN:
            PROVEN[key] = RecordDesign(
                plan, pramble.certify(plan).alpha, "estimation", 1.0, 1.0,
                dict.fromkeys(options["tables"], 1e-9),
                central=pramble.central_guarantee(plan, rows=options["rows"], delta=central[1]),
            )  # fmt: skip
        return PROVEN[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_design, "design_record", design)
        yield


def take_unproven(monkeypatch, plan):
    """Take a plan of nearly no noise in place of a design; what is proven of it is beside this."""
    promise = CentralPromise(Fraction(90), Fraction(1e-5))
    stated = SimpleNamespace(promise=promise, lower=0.0, method="none")
    costs = {(name,): 1e-6 for name in plan.columns}
    found = RecordDesign(plan, 12.1, "estimation", 1.0, 1.0, costs, central=stated)
    monkeypatch.setattr(record_design, "design_record", lambda *_, **__: found)
    monkeypatch.setattr(contents, "observed_figures", lambda *_, **__: {})


def reorder(monkeypatch, order_of):
    """Write rows in an order of the test's own, from their number and the key."""

    def ordered(records, names, rows, key, *_):
        table = pa.Table.from_batches(list(records.batches(list(names))))
        table = table.take(pa.array(order_of(rows, key)))
        return TableRecords(table, name=records.name, has_types=records.typed)

    monkeypatch.setattr(contents, "ShuffledRecords", ordered)


def order_by_key(rows, key):
    """The order in which a release under a key is written."""
    return random_order(rows, key=key)


def keep_dictionaries(monkeypatch):
    """Break the writer: the dictionary of the source stays as it is."""
    monkeypatch.setattr(files, "sorted_dictionary", lambda values: values)


@contextmanager
def same_tables():
    """Count the same cells, squares and people, whatever the file: what is drawn is of those."""

    def tables(self, *, is_weighted):
        self.refuse_undeclared()
        self.squares = 1000
        shapes = self.shapes.items()
        return {table: np.full(shape, 12 // shape[-1] + is_weighted) for table, shape in shapes}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_counts.TableCounter, "_tables", tables)
        patch.setattr(contributions.Contributions, "choose_rows", lambda *_, **__: 2)
        yield
