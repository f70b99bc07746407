"""Design problems of every kind: what is found is never worse, and what is proven never less.

The golden holds value and bound of each. A later solver may do better in either, not worse; the
certificate is decided in integers each time.
"""

import json
import math

import numpy as np
import pytest
from tests.contract.golden import GOLDEN

import pramble

NEAR = 1e-9
"""Sums in another order differ by less."""

SKEWED = [0.4, 0.3, 0.15, 0.1, 0.05]
RARE = [0.6, 0.3, 0.09, 0.01]
EVEN = [1 / 6] * 6
ZERO = [0.5, 0.3, 0.2, 0.0]
TEN = (np.arange(1, 11) / 55).tolist()
TWENTY = (np.arange(1, 21) / 210).tolist()
STEPS = np.abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(float)
COSTS = np.array([[0.0, 1, 4], [2, 0, 1], [5, 3, 0]])
SUMS = [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]
GENERAL = {"family": "general"}
ESTIMATION = {"objective": "estimation"}
LOSS = {**GENERAL, "objective": "loss"}
PATH = {**GENERAL, "distance": "path"}

COLUMNS = {
    "uniform": (SKEWED, 1.0, {}),
    "uniform, large alpha": (SKEWED, 4.0, {}),
    "uniform, small alpha": (SKEWED, 0.01, {}),
    "uniform, two categories": ([0.7, 0.3], 1.0, {}),
    "uniform, three categories": ([0.5, 0.3, 0.2], 2.0, {}),
    "uniform, a prior with zeros": (ZERO, 1.0, {}),
    "uniform, twenty": (TWENTY, 1.0, {}),
    "uniform, fifty": (np.arange(1, 51) / 1275, 2.0, {}),
    "uniform, keep at least": (SKEWED, 0.5, {"keep_at_least": 0.2}),
    "uniform, symmetric": (SKEWED, 1.0, {"symmetric": True}),
    "uniform, invariant": (RARE, 1.0, {"invariant": True}),
    "uniform, estimation": (SKEWED, 1.0, ESTIMATION),
    "uniform, queries": (SKEWED, 1.0, {**ESTIMATION, "workload": SUMS}),
    "general": (SKEWED, 1.0, GENERAL),
    "general, large alpha": (SKEWED, 5.0, GENERAL),
    "general, small alpha": (SKEWED, 1e-4, GENERAL),
    "general, even": (EVEN, 1.0, GENERAL),
    "general, a prior with zeros": (ZERO, 1.0, GENERAL),
    "general, ten": (TEN, 1.5, GENERAL),
    "general, twenty": (TWENTY, 1.0, GENERAL),
    "general, forty": (np.arange(1, 41) / 820, 2.0, {**GENERAL, "tolerance": 1e-3}),
    "general, huge alpha": (SKEWED, 30.0, GENERAL),
    "general, free outputs": (SKEWED, 1.0, {**GENERAL, "outputs": "free"}),
    "general, three outputs": (SKEWED, 1.0, {**GENERAL, "outputs": 3}),
    "general, invariant": (RARE, 1.0, {**GENERAL, "invariant": True}),
    "general, invariant, five": (SKEWED, 2.0, {**GENERAL, "invariant": True}),
    "variance": (SKEWED, 1.0, {**GENERAL, **ESTIMATION}),
    "variance, even": (EVEN, 1.0, {**GENERAL, **ESTIMATION}),
    "variance, small alpha": (RARE, 0.05, {**GENERAL, **ESTIMATION}),
    "variance, seven": ([1 / 7] * 7, 1.0, {**GENERAL, **ESTIMATION}),
    "variance, free outputs": (SKEWED, 1.0, {**GENERAL, **ESTIMATION, "outputs": "free"}),
    "variance, eight outputs": (SKEWED, 1.0, {**GENERAL, **ESTIMATION, "outputs": 8}),
    "variance, queries": (SKEWED, 1.0, {**GENERAL, **ESTIMATION, "workload": SUMS}),
    "variance, queries in four outputs": (
        SKEWED, 1.0, {**GENERAL, **ESTIMATION, "workload": SUMS, "outputs": 4}
    ),
    "variance, invariant": (RARE, 1.0, {**GENERAL, **ESTIMATION, "invariant": True}),
    "loss": (SKEWED, 1.0, {**LOSS, "loss": "path"}),
    "loss, of a matrix": ([0.5, 0.3, 0.2], 1.0, {**LOSS, "loss": COSTS}),
    "loss, squared": (SKEWED, 2.0, {**LOSS, "loss": STEPS**2}),
    "loss, twenty": (TWENTY, 1.0, {**LOSS, "loss": "path"}),
    "loss, a prior with zeros": (ZERO, 1.0, {**LOSS, "loss": "path"}),
    "distance": (SKEWED, 1.0, PATH),
    "distance, of a matrix": ([0.5, 0.3, 0.2], 1.0, {**GENERAL, "distance": STEPS[:3, :3] * 2}),
    "distance, variance": (RARE, 1.0, {**PATH, **ESTIMATION}),
    "distance, variance, free outputs": (RARE, 1.0, {**PATH, **ESTIMATION, "outputs": "free"}),
    "distance, ten": (TEN, 0.5, PATH),
}  # fmt: skip
"""Prior, alpha and keywords of designs of one column."""

THREE = {"sex": 2, "ill": 2, "age": 3}
TABLE = np.arange(1, 7).reshape(2, 3) / 21
POSSIBLE = np.array([[True, True, True], [True, True, False]])
RECORDS = {
    "record": (THREE, {"alpha": 1.0}),
    "record, one table": (THREE, {"alpha": 1.0, "tables": [("sex", "age")]}),
    "record, whole": (THREE, {"alpha": 2.0, "whole": True}),
    "record, a prior": ({"sex": 2, "age": 3}, {"alpha": 1.0, "prior": TABLE}),
    "record, structural zeros": ({"sex": 2, "age": 3}, {"alpha": 1.0, "possible": POSSIBLE}),
    "record, information": (
        {"sex": 2, "age": 3}, {"alpha": 1.0, "prior": TABLE, "objective": "information"}
    ),
    "record, distance": ({"sex": 2, "age": 3}, {"alpha": 1.0, "distance": {"age": "path"}}),
    "record, central": (THREE, {"central": (1.0, 1e-6), "rows": 100_000}),
}  # fmt: skip
"""Columns and keywords of designs of records."""

SEVERAL = {"sex": 2, "marst": 5, "educ": 4}
TABLES = {
    "tables": (SEVERAL, {}),
    "tables, one column each": (SEVERAL, {"tables": 1}),
    "tables, three rows a person": (SEVERAL, {"rows_per_person": 3}),
    "tables, importance": (SEVERAL, {"importance": {("sex", "marst"): 5.0}}),
    "tables, relative": (SEVERAL, {"objective": "relative"}),
    "tables, largest": (SEVERAL, {"objective": "largest"}),
}
"""Columns and keywords of designs of protected tables, with epsilon 1 and delta 1e-6."""

SMALLER_IS_BETTER = ("estimation", "loss", "variance", "relative", "largest")


def figures(d, objective):
    """Value and bound of a design, and which way is better."""
    outputs = d.mechanism.shape[1] if hasattr(d, "mechanism") else None
    return {
        "value": d.value,
        "bound": d.bound,
        "outputs": outputs,
        "smaller is better": objective in SMALLER_IS_BETTER,
    }


def compare(name, found, request):
    """Hold value and bound against the golden, or write them."""
    path = GOLDEN / "designs.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if request.config.getoption("--write-goldens"):
        known[name] = found
        path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    golden = known[name]
    sign = -1 if golden["smaller is better"] else 1
    room = NEAR * max(abs(golden["value"]), 1e-12)
    assert sign * found["value"] >= sign * golden["value"] - room
    assert sign * found["bound"] <= sign * golden["bound"] + room
    assert sign * (found["bound"] - found["value"]) >= -room
    assert found["outputs"] == golden["outputs"]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column(name, request):
    prior, alpha, settings = COLUMNS[name]
    d = pramble.design(prior, alpha, **settings)
    assert d.alpha == alpha
    distance = settings.get("distance")
    certificate = pramble.certify(d.mechanism, distance=distance)
    assert certificate.satisfies(alpha)
    assert d.certificate.satisfies(alpha)
    if "keep_at_least" in settings:
        assert d.keep.min() >= settings["keep_at_least"]
    if settings.get("invariant"):
        assert np.abs(np.array(prior) @ d.mechanism.matrix - prior).max() < 1e-9
    compare(name, figures(d, d.objective), request)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record(name, request):
    columns, settings = RECORDS[name]
    d = pramble.design_record(columns, **settings)
    if "central" in settings:
        guarantee = pramble.central_guarantee(d.plan, rows=settings["rows"], delta=1e-6)
        assert guarantee.epsilon <= settings["central"][0]
    else:
        assert d.certificate.satisfies(settings["alpha"])
    if d.objective == "estimation":
        assert math.isclose(sum(d.costs.values()), d.value)
    compare(name, figures(d, d.objective), request)


@pytest.mark.parametrize("name", TABLES)
def test_tables(name, request):
    columns, settings = TABLES[name]
    d = pramble.design_tables(columns, 1.0, 1e-6, **settings)
    assert d.guarantee.epsilon <= 1.0
    assert d.guarantee.delta <= 1e-6
    compare(name, figures(d, settings.get("objective", "variance")), request)
