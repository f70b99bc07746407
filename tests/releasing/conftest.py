"""People for releases: a small file with a bit of everything, and a ledger of its own."""

import hashlib
import json
import re
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.releasing.seams import designed_once, given_plan, release_by  # noqa: F401
from typer.testing import CliRunner

import pramble
from pramble import datasets
from pramble.cli.app import app

SCHEMA = json.loads((files("pramble") / "resources" / "manifest.schema.json").read_text())
LEAST_ROWS = 131_072
"""The fewest rows of a piece of a released file."""

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


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def rewrite(folder, change):
    """Change the manifest of a release."""
    path = folder / "manifest.json"
    before = path.read_text(encoding="utf-8")
    document = json.loads(before)
    change(document)
    assert document != json.loads(before)
    path.write_text(json.dumps(document), encoding="utf-8")


def in_ledger(path):
    """What a ledger lists, release by release; nothing where none was made."""
    if not Path(path).exists():
        return []
    answer = CliRunner().invoke(app, ["ledger", "--ledger", str(path), "--json"])
    assert answer.exception is None, repr(answer.exception)
    return json.loads(answer.stdout)


def as_toml(value):
    """A value as a person might have written it in a plan, tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def drafted(source, folder, *options):
    """The plan that ``pramble init`` writes for a file or a table, as text; all is accepted."""
    if not isinstance(source, Path):
        path = folder / f"drafted-{len(list(folder.iterdir()))}.parquet"
        pq.write_table(source if isinstance(source, pa.Table) else pa.table(source), path)
        source = path
    out = source.with_name(source.name + ".toml")
    out.unlink(missing_ok=True)
    words = ["init", str(source), "--out", str(out), *options]
    words += [] if "--decline-seen" in options else ["--accept-seen"]
    answer = CliRunner().invoke(app, words)
    assert answer.exception is None, repr(answer.exception)
    return out.read_text(encoding="utf-8")


def reasons_of(source, folder):
    """Why a drafted plan drops columns, by their names."""
    return dict(re.findall(r'^  "(\w+)",  # (.*)$', drafted(source, folder), re.MULTILINE))


def tried(plan, source=None, **given):
    """A release that is not written."""
    source = {"x": ["a", "b"] * 5000} if source is None else source
    return pramble.release(source, "out", plan=plan, dry_run=True, ledger=False, **given)
