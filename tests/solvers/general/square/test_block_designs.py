"""Symmetric block designs: balanced, and found where they are known."""

import numpy as np
import pytest

from pramble.solvers.general.sets import block_designs


@pytest.mark.parametrize("size", range(5, 66))
def test_block_designs_are_balanced(size):
    for blocks in block_designs(size):
        shared = blocks.astype(int) @ blocks.T
        assert len(set(np.diagonal(shared))) == 1
        assert len(set(shared[~np.eye(size, dtype=bool)])) == 1


def test_the_known_sizes_have_block_designs():
    known = {7, 11, 13, 15, 16, 19, 21, 23, 31, 35, 37, 40, 43, 47, 57, 59, 63, 64, 67, 71, 73}
    assert {size for size in range(5, 74) if block_designs(size)} == known
