"""Two-way tables of a real file, randomised at α = 4 a column, recovered at nominal coverage."""

from itertools import combinations

import numpy as np
import pyarrow.parquet as pq

import pramble

PLACES = {"ST", "PUMA", "PWGTP"}


def test_two_way_tables_of_the_census_file_are_covered(shared_data):
    table = pq.read_table(shared_data("acs2024_ten_ny.parquet"))
    names = [name for name in table.column_names if name not in PLACES]
    table = table.select(names)
    plan = {
        name: pramble.randomized_response(sorted(table[name].unique().to_pylist()), 4.0)
        for name in names
    }
    released = pramble.perturb(table, plan, key=bytes(range(32)))
    covered, lengths, naive = [], [], []
    for pair in combinations(names, 2):
        e = pramble.estimate(released, plan, by=pair, covers="randomisation")
        truth = pramble.estimate(table, {}, by=pair)
        share = dict(zip(zip(*truth.cells.values(), strict=True), truth.values, strict=True))
        cells = zip(*e.cells.values(), strict=True)
        p = np.array([share.get(cell, 0.0) for cell in cells])
        assert p.sum() == 1.0 or abs(p.sum() - 1) < 1e-9
        covered.append((e.lower <= p) & (p <= e.upper))
        lengths.append(e.upper - e.lower)
        raw = pramble.estimate(released, {}, by=pair, covers="both")
        seen = dict(zip(zip(*raw.cells.values(), strict=True), raw.values, strict=True))
        values = np.array([seen.get(c, 0.0) for c in zip(*e.cells.values(), strict=True)])
        naive.append(np.abs(values - p).max() / np.abs(e.values - p).max())
    hits = np.concatenate(covered)
    assert len(hits) > 900
    assert 0.93 < hits.mean() < 0.97
    assert np.concatenate(lengths).max() < 0.02
    assert np.mean(naive) > 5
