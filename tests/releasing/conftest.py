"""People for releases: a small file with a bit of everything, and a ledger of its own."""

from functools import partial
from importlib import import_module
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import pramble
import pramble.releasing.record_design as record_design
from pramble import datasets
from pramble.solvers.record.central import as_promise
from pramble.solvers.record.problem import RecordDesign

AGES = ["<15", "15", "16", "17", "18-24", "25-35", "36-50", "51-70", ">70"]
PLAN = {
    "alpha": 3.0,
    "design": "paper",
    "columns": {
        "SEX": {"categories": ["Male", "Female"]},
        "AGE": {"categories": AGES},
    },
    "drop": ["name"],
}


@pytest.fixture(scope="session")
def people():
    table = datasets.synthetic_new_york(6000, seed=11).select(["SEX", "AGE", "RACESING"])
    n = table.num_rows
    table = table.append_column("income", pa.array(np.random.default_rng(7).lognormal(10, 1, n)))
    return table.append_column("name", pa.array([f"person {i}" for i in range(n)]))


@pytest.fixture
def people_file(people, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people, path)
    return path


@pytest.fixture
def people_csv(people, tmp_path):
    path = tmp_path / "people.csv"
    plain = people.cast(pa.schema([(f.name, pa.string()) for f in people.schema]))
    pacsv.write_csv(plain, path)
    return path


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def designed_once(monkeypatch):
    """Design plans under a central promise once each: they depend on no record. No advice."""
    monkeypatch.setattr(record_design, "design_record", remembered)
    monkeypatch.setattr(import_module("pramble.releasing.release"), "advice", lambda *_: None)


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
    promise = as_promise(
        options["central"], options["rows"], rows_per_person=options["rows_per_person"]
    )
    costs = dict.fromkeys(options["tables"], cost)
    alpha, proven = pramble.certify(plan).alpha, promise.guarantee(plan)
    return RecordDesign(plan, alpha, "estimation", 1.0, 1.0, costs, central=proven)


def as_designed_locally(plan, _labels, alpha, **options):
    costs = dict.fromkeys(options["tables"], 1.0)
    return RecordDesign(plan, alpha, "estimation", 1.0, 1.0, costs)


def release_by(plan, source, target, **settings):
    """Release with a plan as it is; promises are as large as they need to be."""
    labels = {name: list(own.labels.values) for name, own in plan.column_labels().items()}
    columns = {name: {"categories": own} for name, own in labels.items()}
    verb = import_module("pramble.releasing.release")
    promise = {} if "central" in settings else {"alpha": 40.0}
    options = {"columns": columns, "prior": "uniform", "ledger": False, "pages": False, **promise}
    with pytest.MonkeyPatch.context() as patch:
        of_plan = partial(as_designed_locally, plan) if promise else partial(as_designed, plan, 1.0)
        patch.setattr(record_design, "design_record", of_plan)
        patch.setattr(
            record_design, "plan_costs", lambda *_, tables, **__: dict.fromkeys(tables, 1.0)
        )
        patch.setattr(verb, "advice", lambda *_: None)
        return pramble.release(source, target, **{**options, **settings})


def plan_that_keeps(alpha):
    """A pair of the crowd's columns and the third, each by randomised response with this α."""
    pairs = list(product(CATEGORIES["sex"], CATEGORIES["ill"]))
    return pramble.Plan({
        ("sex", "ill"): pramble.randomized_response(pairs, alpha),
        "age": pramble.randomized_response(CATEGORIES["age"], alpha),
    })  # fmt: skip


CATEGORIES = {"sex": ["f", "m"], "ill": ["no", "yes"], "age": ["0", "1", "2"]}
COLUMNS = {name: {"categories": labels} for name, labels in CATEGORIES.items()}


def crowd(rows, seed=1):
    """People with three columns that go together, as a table."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, rows)
    ill = rng.random(rows) < 0.1 + 0.3 * age
    return pa.table({
        "sex": rng.choice(CATEGORIES["sex"], rows),
        "ill": np.where(ill, "yes", "no"),
        "age": age.astype(str),
    })  # fmt: skip


def central(source, target, **options):
    """A release of shuffled records under a central promise."""
    settings = {"columns": COLUMNS, "central": 1.0, "delta": 1e-5, "tables": 1}
    settings |= {"design": "records", **options}
    settings = {name: value for name, value in settings.items() if value is not None}
    return pramble.release(source, target, **{"ledger": False, "pages": False, **settings})
