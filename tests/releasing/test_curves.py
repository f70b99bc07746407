"""An optimal split optimises what is released, not a bound that the designs do not attain."""

import numpy as np
import pytest

import pramble
from pramble.releasing.column_design import WIDE, design_columns, interpolated
from pramble.releasing.scan import Counted
from pramble.releasing.spec.document import spec_from

PRIORS = {"a": [0.94, 0.02, 0.02, 0.02], "b": [0.5, 0.3, 0.2], "c": [0.8, 0.1, 0.1]}


def designs_of(priors, *, split, **more):
    columns = {
        name: {
            "categories": [f"v{k}" for k in range(len(p))],
            "family": "general",
            "prior": "public",
            "prior_probabilities": p,
            **({"objective": "estimation"} if more.get("split_objective") == "estimation" else {}),
        }
        for name, p in priors.items()
    }
    spec = spec_from({"alpha": 3.0, "split": split, "columns": columns, **more})
    counted = [
        Counted(one, tuple(columns[one.name]["categories"]), (1,) * len(priors[one.name]))
        for one in spec.columns
    ]
    return design_columns(spec, counted)[0]


def summed_shares(designs):
    return sum(
        pramble.mutual_information(d.prior.probabilities, d.mechanism)
        / pramble.entropy(d.prior.probabilities)
        for d in designs
    )


def test_dominated_columns_do_not_get_what_they_cannot_use():
    # The universal bound gives half of α to column a, which can do nothing with it: 0.352.
    found = designs_of(PRIORS, split="optimal")
    assert summed_shares(found) > 0.545
    assert {d.column.name: round(d.alpha, 2) for d in found} == {"a": 0.25, "b": 2.5, "c": 0.25}
    assert sum(d.alpha for d in found) <= 3


def test_an_optimal_split_of_variances_is_no_worse_than_an_equal_one():
    priors = {"a": [0.5, 0.5], "b": [0.1, 0.2, 0.3, 0.4]}
    optimal, equal = (
        sum(d.variance for d in designs_of(priors, split=split, split_objective="estimation"))
        for split in ("optimal", "equal")
    )
    assert optimal < 0.9 * equal


def test_a_column_too_wide_for_designs_says_so():
    size = WIDE + 1
    wide, narrow = designs_of({"w": [1 / size] * size, "n": [0.5, 0.3, 0.2]}, split="optimal")
    assert any("universal bound" in note for note in wide.notes)
    assert not any("part of α" in note for note in narrow.notes)


def test_curves_are_monotone_between_their_points():
    curve = interpolated(np.array([0.5, 1.0, 2.0, 4.0]), [-0.01, -0.04, -0.039, -0.3])
    values = [curve.loss(alpha) for alpha in np.geomspace(0.5, 4, 50)]
    assert np.all(np.diff(values) <= 1e-15)
    assert curve.loss(4.0) == pytest.approx(-0.3)
    assert interpolated(np.array([1.0, 2.0, 4.0]), [np.inf, 9.0, 3.0]).loss(1.5) == np.inf
