"""The people of the contract: a small file, and the same file before it was tidied."""

from functools import cache

import numpy as np
import pyarrow as pa

import pramble

ROWS = 3000
KEY = bytes(range(32))
SINGLE_AGAIN = ("Divorced", "Separated", "Widowed")
YEARS = {
    "<15": (0, 15),
    "15": (15, 16),
    "16": (16, 17),
    "17": (17, 18),
    "18-24": (18, 25),
    "25-35": (25, 36),
    "36-50": (36, 51),
    "51-70": (51, 71),
    ">70": (71, 91),
}
LABELS = {
    "SEX": ["Female", "Male"],
    "MARST": ["Married", "Never married", "Single again"],
    "GROWN": ["minor", "adult"],
    "VETSTAT": ["Not applicable", "Not a veteran", "Veteran"],
}


@cache
def people():
    """Four labelled columns, ages, an outcome, weights, and whose row it is (three rows each)."""
    drawn = pramble.datasets.synthetic_new_york(ROWS, seed=5)
    rng = np.random.default_rng(7)
    ages = drawn["AGE"].to_pylist()
    marst = drawn["MARST"].to_pylist()
    vetstat = drawn["VETSTAT"].to_pylist()
    grown = ["minor" if age in ("<15", "15", "16") else "adult" for age in ages]
    ill = rng.random(ROWS) < np.where(np.array(grown) == "adult", 0.4, 0.2)
    return pa.table(
        {
            "SEX": drawn["SEX"].to_pylist(),
            "MARST": ["Single again" if m in SINGLE_AGAIN else m for m in marst],
            "GROWN": grown,
            "VETSTAT": vetstat,
            "YEARS": [int(rng.integers(*YEARS[age])) for age in ages],
            "ILL": ill.astype(int),
            "WEIGHT": 1 + rng.integers(0, 9, ROWS) / 8,
            "WHO": np.arange(ROWS) // 3,
        }
    )


UNTIDY = {
    "SEX": {"trim": True, "merge": {"Female": ["F"], "Male": ["M"]}},
    "MARST": {"merge": {"Single again": list(SINGLE_AGAIN)}},
    "GROWN": {"merge": {"minor": ["child", "teenager"]}},
    "VETSTAT": {"missing": "Not applicable", "missing_values": ["n/a"]},
    "YEARS": {},
}
"""Recodings that bring the labels of the untidy file back."""


@cache
def untidy_people():
    """The same people as a file may have them: codes, spaces, finer labels, marks of nothing."""
    marst = pramble.datasets.synthetic_new_york(ROWS, seed=5)["MARST"].to_pylist()
    tidy = people()
    found = tidy.to_pydict()
    found["SEX"] = [f" {label[0]}" for label in found["SEX"]]
    found["MARST"] = marst
    children = ["child" if years < 12 else "teenager" for years in found["YEARS"]]
    found["GROWN"] = [
        own if grown == "minor" else grown
        for own, grown in zip(children, found["GROWN"], strict=True)
    ]
    found["VETSTAT"] = ["n/a" if label == "Not applicable" else label for label in found["VETSTAT"]]
    return pa.table(found)
