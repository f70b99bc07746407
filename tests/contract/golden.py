"""What pramble gave when the goldens were written, compared figure by figure."""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "contract"
RELATIVE, ABSOLUTE = 1e-10, 1e-12
"""Sums in another order differ by less; another method of solution does not."""

BY_PYARROW = "bytes by pyarrow "
"""Bytes of files are compared where the same version wrote them."""


def plain(value):
    """A value as JSON has it: keys are texts, numbers have 12 digits, the rest is as it is."""
    if isinstance(value, Mapping):
        return {key_text(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.12g}") if math.isfinite(value) else str(float(value))
    return value if value is None or isinstance(value, str) else str(value)


def key_text(key):
    return " x ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def difference(golden, found, place="result"):
    """The first field in which two plain values differ, in words; None where they agree."""
    if isinstance(golden, dict) and isinstance(found, dict):
        for key in sorted({*golden, *found}):
            if key.startswith(BY_PYARROW) and not (key in golden and key in found):
                continue
            if key not in golden:
                return f"{place}.{key} is not in the golden; found {found[key]!r}"
            if key not in found:
                return f"{place}.{key} is missing; the golden has {golden[key]!r}"
            if said := difference(golden[key], found[key], f"{place}.{key}"):
                return said
        return None
    if isinstance(golden, list) and isinstance(found, list):
        for i, (one, other) in enumerate(zip(golden, found, strict=False)):
            if said := difference(one, other, f"{place}[{i}]"):
                return said
        if len(golden) != len(found):
            return f"{place} has {len(found)} parts; the golden has {len(golden)}"
        return None
    if is_number(golden) and is_number(found):
        near = math.isclose(golden, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    else:
        near = type(golden) is type(found) and golden == found
    return None if near else f"{place} is {found!r}; the golden has {golden!r}"


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare(name, found, *, write):
    """Compare with the golden of a name, or write it."""
    path = GOLDEN / f"{name.replace(', ', '-').replace(' ', '-')}.json"
    found = json.loads(json.dumps(plain(found)))
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    assert path.exists(), f"there is no golden {path.name}; --write-goldens writes it"
    said = difference(json.loads(path.read_text(encoding="utf-8")), found)
    assert said is None, f"{name}: {said}"


def of_values(table):
    """Rows, columns and the SHA-256 of the values of a frame, whatever frame it is."""
    table = pa.table(table)
    values = json.dumps([[name, table[name].to_pylist()] for name in table.column_names])
    digest = hashlib.sha256(values.encode()).hexdigest()
    return {"rows": table.num_rows, "columns": table.column_names, "values": digest}


def of_file(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def of_cells(table, columns):
    """How many rows of a frame lie in each cell of some columns."""
    rows = pa.table(table).select(columns).to_pylist()
    cells = [key_text(tuple(row.values())) for row in rows]
    return {cell: cells.count(cell) for cell in sorted(set(cells))}


def of_estimate(estimate):
    return pa.table(estimate.table).to_pydict()


def of_regression(fit):
    return {
        "names": fit.names,
        "coefficients": fit.coefficients,
        "standard_errors": fit.standard_errors,
    }


def of_assessment(assessment):
    records = {name: np.asarray(assessment.records[name]) for name in ("r1", "r2", "class_size")}
    return {
        "tau1": assessment.tau1,
        "tau2": assessment.tau2,
        "sample_uniques": assessment.sample_uniques,
        **{f"sum of {name}": own.sum() for name, own in records.items()},
        **{f"first of {name}": own[:5] for name, own in records.items()},
    }


def of_certificate(certificate):
    return {"alpha": certificate.alpha, "witness": certificate.witness}


def of_central(guarantee):
    return {"epsilon": guarantee.epsilon, "lower": guarantee.lower}


def of_plan(plan):
    """Branches, blocks, and figures of every matrix that do not depend on its last bits."""
    return [
        {
            "share": float(branch.share),
            "blocks": {
                columns: {
                    "categories": mechanism.categories,
                    "outputs": len(mechanism.outputs),
                    "diagonal": np.diagonal(mechanism.matrix),
                    "squares": (mechanism.matrix**2).sum(axis=1),
                    "columns": mechanism.matrix.sum(axis=0),
                }
                for columns, mechanism in branch.blocks.items()
            },
        }
        for branch in plan.branches
    ]
