"""Plans with blocks come back from JSON as they were."""

import json

import pytest

import pramble
from pramble.errors import PrambleError


def test_plans_of_blocks_come_back():
    d = pramble.design_record({"a": ["x", "y"], "b": [1, 2, 3]}, 1.0, tables=2, effort=2)
    assert any(len(block) == 2 for branch in d.plan.branches for block in branch.blocks)
    text = json.dumps(d.plan.to_json())
    assert pramble.Plan.from_json(text) == d.plan
    assert pramble.certify(pramble.Plan.from_json(text)).satisfies(1.0)


@pytest.mark.parametrize("label", ["[[1, 2], 3]", "[1]", "[]", "{}", "1.5"])
def test_labels_that_are_no_cells_are_refused(label):
    m = pramble.randomized_response([("x", 1), ("y", 2)], 1.0)
    text = json.dumps(pramble.Plan({("a", "b"): m}).to_json())
    forged = text.replace('["x", 1]', label)
    assert forged != text
    with pytest.raises(PrambleError):
        pramble.Plan.from_json(forged)
