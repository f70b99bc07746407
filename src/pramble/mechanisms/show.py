"""Mechanisms and plans in words: for a terminal and for a notebook."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pramble.shown import Facts, Grid, number, shortened
from pramble.words import several

if TYPE_CHECKING:
    from pramble.mechanisms.base import Mechanism
    from pramble.mechanisms.plan import Plan

# Categories and outputs up to which a matrix is written down.
MOST_SHOWN = 10
LABELS_SHOWN = 3


def mechanism_shown(mechanism: Mechanism) -> Grid | Facts:
    S, T = mechanism.shape
    outputs = "" if S == T else f", {several(T, 'output')}"
    title = f"Mechanism: {S:,} categories{outputs}, α = {alpha_of(mechanism)}"
    if max(S, T) <= MOST_SHOWN:
        head = ["true \\ released", *map(str, mechanism.outputs)]
        rows = [
            [str(label), *(number(share, 4) for share in row)]
            for label, row in zip(mechanism.categories, mechanism.matrix, strict=True)
        ]
        return Grid(title, head, rows)
    labels = ", ".join(map(repr, mechanism.labels.values[:LABELS_SHOWN]))
    kept = mechanism.operator.stay()
    return Facts(
        title,
        [
            ("categories", f"{labels}, …" if S > LABELS_SHOWN else labels),
            ("kept unchanged", f"{number(kept.min(), 4)} to {number(kept.max(), 4)} by category"),
        ],
    )


def plan_shown(plan: Plan) -> Grid:
    rows = [
        [
            f"{float(branch.share):.3g}",
            " + ".join(block),
            f"{mechanism.shape[0]:,}",
            alpha_of(mechanism),
        ]
        for branch in sorted(plan.branches, key=lambda branch: -branch.share)
        for block, mechanism in branch.blocks.items()
    ]
    title = f"Plan for {several(len(plan.columns), 'column')}"
    branches = len(plan.branches)
    if branches == 1:
        return Grid(title, ["columns", "cells", "α"], shortened([row[1:] for row in rows]))
    title += f": a record takes one of {several(branches, 'branch')}, by chance"
    return Grid(title, ["share", "columns", "cells", "α"], shortened(rows), left=2)


def alpha_of(mechanism: Mechanism) -> str:
    ratio = mechanism.largest_ratio()
    if not ratio.denominator:
        return "∞"
    return number(math.log(ratio.numerator / ratio.denominator), 6)
