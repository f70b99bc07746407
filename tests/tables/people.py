"""Rows that every engine of the tests holds, and the design that measures them."""

import numpy as np
import pyarrow as pa

import pramble

KEY = bytes(range(32))
ODD = 'town "x"; é'
"""A name that every query must quote."""

LABELS = {
    "sex": ["f", "m"],
    "age": list(range(7)),
    ODD: ["north", "south", "", "o'er"],
    "ill": [False, True],
    "job": [3, -1, 9, None],
}


def rows(n, seed=5):
    """Some rows of all labels; the column of each row's person comes last."""
    rng = np.random.default_rng(seed)

    def drawn(name):
        labels = LABELS[name]
        return [labels[i] for i in rng.integers(0, len(labels), n).tolist()]

    return {name: drawn(name) for name in LABELS} | {"id": rng.integers(0, n // 2 + 1, n).tolist()}


def design(rows_per_person=1, tables=2):
    return pramble.design_tables(LABELS, 1.0, 1e-6, tables=tables, rows_per_person=rows_per_person)


def people_table():
    """The rows as an Arrow table."""
    schema = pa.schema(
        [
            ("sex", pa.string()),
            ("age", pa.int64()),
            (ODD, pa.string()),
            ("ill", pa.bool_()),
            ("job", pa.int64()),
            ("id", pa.int64()),
        ]
    )
    return pa.table(rows(3000), schema)


def assert_same(one, other):
    assert one.total == other.total
    assert one.plan.to_json() == other.plan.to_json()
    assert one.to_table().equals(other.to_table())
