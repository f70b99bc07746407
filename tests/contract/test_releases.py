"""Every kind of release, of a frame and of a file with recodings: the same today as tomorrow.

The goldens hold the released values, the bytes of the files, the manifest without its prose, the
plan, and what verbs say of the release. The random bits of a release follow from its key, plan and
settings together; some figures are therefore of records that are randomised with the key alone,
which a change of settings, or of the last bit of a matrix, leaves as they are.
"""

import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.contract.golden import (
    BY_PYARROW,
    of_cells,
    of_central,
    of_certificate,
    of_estimate,
    of_file,
    of_plan,
    of_regression,
    of_values,
)
from tests.contract.people import KEY, LABELS, UNTIDY, people, untidy_people

import pramble


def labelled(*names, **settings):
    return {name: {"categories": LABELS[name], **settings} for name in names}


def years(**settings):
    return {"YEARS": {"bands": [0, 20, 40, 60, 80], **settings}}


MINORS = {
    "if": {"GROWN": "minor"},
    "then": {"VETSTAT": "Not applicable"},
    "repair": {"VETSTAT": "Not applicable"},
}
LOCAL = {"alpha": 2.0, "prior": "uniform"}
PAPER = {**LOCAL, "design": "paper"}
CENTRAL = {"central": 1.0, "delta": 1e-6}
KINDS = {
    "joint": {"columns": labelled("SEX", "MARST", "GROWN"), **LOCAL},
    "whole": {"columns": labelled("SEX", "MARST"), "whole": True, **LOCAL},
    "paper": {"columns": labelled("SEX", "MARST"), **PAPER},
    "invariant": {"columns": labelled("SEX", "MARST", invariant=True), **PAPER},
    "distance": {"columns": years(distance="path"), **PAPER},
    "zeros": {"columns": labelled("GROWN", "VETSTAT"), "possible": [MINORS], **LOCAL},
    "several rows": {
        "columns": labelled("SEX", "MARST"),
        "person": "WHO",
        "rows_per_person": 3,
        "alpha": 6.0,
        "prior": "uniform",
    },
    "tables": {"columns": labelled("SEX", "MARST", "GROWN"), **CENTRAL},
    "tables of people": {
        "columns": labelled("SEX", "MARST"),
        "person": "WHO",
        "rows_per_person": 2,
        "drop": ["WHO"],
        **CENTRAL,
    },
    "shuffled": {
        "columns": labelled("SEX", "MARST"),
        "design": "records",
        "prior": "uniform",
        **CENTRAL,
    },
    "untouched": {"columns": labelled("SEX", "MARST"), "copies": ["csv"], **LOCAL},
    "weights": {"columns": labelled("SEX", "MARST"), "whole": True, **LOCAL},
}
"""The settings of each kind of release."""

BESIDE = {
    "several rows": ["WHO"],
    "tables of people": ["WHO"],
    "untouched": ["ILL", "YEARS"],
    "weights": ["ILL", "WEIGHT"],
}
"""The columns of the file that are not randomised."""

RANDOMISED_AS_THEY_ARE = ("joint", "whole", "paper", "invariant", "untouched", "weights")
"""Kinds whose frame already has the labels of the plan."""

AS_PARQUET = ("whole", "invariant", "zeros", "tables of people", "untouched")
"""Kinds whose file is Parquet."""

PROSE = {"sentence", "sentences", "detail", "assumes", "notes", "relation"}
VOLATILE = {"created", "software", "sha256", "bytes", "plan", "scripts"}
"""Fields of a manifest that change by themselves, or are looked at elsewhere."""


def file_of(kind, table, folder):
    """A file of a table: CSV, and Parquet for some kinds."""
    if kind in AS_PARQUET:
        pq.write_table(table, folder / "people.parquet")
        return folder / "people.parquet"
    pl.from_arrow(table).write_csv(folder / "people.csv")
    return folder / "people.csv"


def given(kind, source, folder):
    """The data of a kind and its settings: a frame, or a file with recodings."""
    settings = KINDS[kind]
    names = [*settings["columns"], *BESIDE.get(kind, [])]
    if source == "frame":
        return with_mistakes(kind, people()).select(names), settings
    columns = {name: {**own, **UNTIDY[name]} for name, own in settings["columns"].items()}
    table = with_mistakes(kind, untidy_people()).select(names)
    return file_of(kind, table, folder), {**settings, "columns": columns}


def with_mistakes(kind, table):
    """Some records that the rule says cannot occur, where there is a rule."""
    if kind != "zeros":
        return table
    labels = table["VETSTAT"].to_pylist()
    at = table.column_names.index("VETSTAT")
    return table.set_column(at, "VETSTAT", pa.array(["Veteran"] * 20 + labels[20:]))


def without(document, fields):
    """A document without some fields, wherever they are."""
    if isinstance(document, dict):
        return {name: without(own, fields) for name, own in document.items() if name not in fields}
    if isinstance(document, list):
        return [without(part, fields) for part in document]
    return document


def published(release):
    """What lies in the folder: the values, and the bytes where this pyarrow wrote the goldens."""
    held = {"data": release.data, "synthetic": release.synthetic}
    names = sorted(path.name for path in release.folder.iterdir() if path.stem != "analysis")
    files = [name for name in names if name.endswith((".parquet", ".csv"))]
    return {
        "names": names,
        "values": {name: of_values(own) for name, own in held.items() if own is not None},
        BY_PYARROW + pa.__version__: {name: of_file(release.folder / name) for name in files},
    }


def figures(data, plan, kind):
    """What the verbs say of randomised records, or of a release that holds protected tables."""
    columns = list(KINDS[kind]["columns"])[:2]
    asked = {"by": columns}
    if kind == "whole":
        asked = {"by": columns[1:], "given": columns[:1]}
    found = {
        "shares": of_estimate(pramble.estimate(data, plan, by=columns[:1])),
        "cells": of_estimate(pramble.estimate(data, plan, **asked)),
    }
    if kind in ("untouched", "weights"):
        weights = "WEIGHT" if kind == "weights" else None
        formula = "ILL ~ " + " + ".join(columns)
        fit = pramble.estimate_regression(data, plan, formula, family="logistic", weights=weights)
        found["regression"] = of_regression(fit)
        weighted = pramble.estimate(data, plan, by=columns, weights=weights)
        found["weighted"] = of_estimate(weighted)
    if kind in ("joint", "whole", "paper", "tables"):
        success = KINDS[kind]["columns"][columns[0]]["categories"][0]
        formula = f"{columns[0]} ~ {columns[1]}"
        fit = pramble.estimate_regression(data, plan, formula, success=success)
        found["regression"] = of_regression(fit)
        drawn = pramble.synthesize(data, plan, rows=500, seed=1)
        found["synthetic"] = {**of_values(drawn), "cells": of_cells(drawn, columns)}
    return found


@pytest.mark.parametrize("source", ["frame", "file"])
@pytest.mark.parametrize("kind", KINDS)
def test_releases(kind, source, tmp_path, golden):
    data, settings = given(kind, source, tmp_path)
    released = pramble.release(
        data, tmp_path / "out", key=KEY, ledger=False, pages=False, **settings
    )
    opened = pramble.open_release(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    found = {
        "manifest": without(manifest, {*PROSE, *VOLATILE}),
        "published": published(opened),
        "certificate": of_certificate(pramble.certify(opened))
        if opened.data is not None
        else {"epsilon": released.guarantee.epsilon, "delta": released.guarantee.delta},
        "figures": figures(opened, None, kind),
    }
    if source == "frame" and kind in RANDOMISED_AS_THEY_ARE:
        found["figures"] = figures(pramble.perturb(data, opened.plan, key=KEY), opened.plan, kind)
    if opened.data is not None:
        found["plan"] = of_plan(opened.plan)
        found["certificate of the plan"] = of_certificate(pramble.certify(opened.plan))
        central = pramble.central_guarantee(opened.plan, rows=3000, delta=1e-6)
        found["central"] = of_central(central)
    golden(f"releases/{kind}, {source}", found)
