"""A plan for records turned into sentences, rows and charts."""

import math
from collections.abc import Sequence
from typing import Any

from pramble.mechanisms.views import Views
from pramble.plots.images import to_svg
from pramble.plots.plan import pairs_chart
from pramble.plots.release import frequency_chart
from pramble.report import numbers
from pramble.report.record import RecordOutcome, TableOutcome
from pramble.words import several

MOST_LISTED, NOTICED = 60, 5e-4
BRANCHES_CAPTION = (
    "Every row is a branch: its share of the records, and the columns that it shows. Joined "
    "squares are randomised together."
)
PLAN_PICTURE = "Which columns each part of the plan shows, and a share of the records"
VIEWS_CAPTION = (
    "Every row is a view: how many of its records are shown as they are, and its columns. Joined "
    "squares are randomised together."
)


def record_view(record: RecordOutcome) -> dict[str, Any]:
    """Return everything that the template shows of a plan for records."""
    return {
        "alpha": numbers.alpha_text(record.alpha),
        "alpha_prior": numbers.alpha_text(record.alpha_prior) if record.alpha_prior else "—",
        "ratio": numbers.ratio_text(record.alpha),
        "prior": record.prior_detail,
        "certificate": f"Certificate, decided in integers: {record.certificate}.",
        "sentences": plan_sentences(record),
        "plan_chart": to_svg(record.plan.plot(), name="plan", description=PLAN_PICTURE),
        "plan_caption": VIEWS_CAPTION if record.views else BRANCHES_CAPTION,
        "pairs_chart": pairs_chart(record.tables),
        "tables": [table_row(table) for table in worst_first(record.tables)[:MOST_LISTED]],
        "more": max(len(record.tables) - MOST_LISTED, 0),
        "columns": [
            {"name": column.name, "size": len(column.categories), "chart": frequency_chart(column)}
            for column in record.columns
        ],
        "loss": None if record.loss is None else loss_sentence(record.loss),
    }


def loss_sentence(loss: float) -> str:
    """Say what it cost that the plan was designed for noisy frequencies."""
    known = "The plan was designed for noisy frequencies."
    if loss < NOTICED:
        return f"{known} No plan for the file's own was found that costs less."
    return f"{known} One for the file's own would cost {numbers.percent(loss)} less."


def worst_first(tables: Sequence[TableOutcome]) -> list[TableOutcome]:
    """Return tables, those with the widest intervals for their cells first."""
    return sorted(tables, key=lambda table: -table.half_width / table.typical)


def plan_sentences(record: RecordOutcome) -> list[str]:
    """Say what is done to a record."""
    if isinstance(record.plan, Views):
        return [
            (
                f"The release has {several(record.views, 'view')}: files of a few columns each, in "
                "which every record stands in some row. Each view has a random order of its own, "
                "so that nobody can tell which rows of two views are one person's."
            ),
            (
                "In a view the columns of a record are kept together, or else replaced by others "
                "drawn evenly from all that are possible. Every table is estimated from all views "
                "that bear on it."
            ),
        ]
    branches = record.plan.branches
    if len(branches) == 1:
        joint = [" with ".join(block) for block in branches[0].blocks if len(block) > 1]
        how = f"randomised together: {'; '.join(joint)}" if joint else "each is randomised alone"
        return [f"Every record keeps all its columns; {how}."]
    return [
        (
            f"Each record shows the columns of one of {len(branches)} branches, drawn at random "
            "without a look at it; columns within a branch that are joined in the picture are "
            "randomised together by one matrix. The other columns of the record are blank."
        ),
        "Every table that analysts want is estimated from all records that bear on it.",
    ]


def table_row(table: TableOutcome) -> dict[str, Any]:
    """Return one line of the list of tables."""
    return {
        "name": " × ".join(table.columns),
        "cells": numbers.count(table.cells),
        "typical": f"{100 * table.typical:.2g} %",
        "error": "cannot be told"
        if math.isinf(table.cost)
        else f"± {numbers.points(table.half_width)} points",
        "group": "—" if math.isinf(table.cost) else numbers.count(table.smallest_group),
        "bad": table.useless,
    }


def verdict(tables: Sequence[TableOutcome]) -> tuple[str, str]:
    """Return the error of the typical wanted table, and what it is good for."""
    middle = sorted(tables, key=lambda table: table.half_width)[len(tables) // 2]
    if math.isinf(middle.cost):
        return "none", "of the typical wanted table can be told"
    return (
        f"± {numbers.points(middle.half_width)} points",
        (
            f"95 % interval of a cell of a typical wanted table ({' × '.join(middle.columns)}, "
            f"{middle.cells} cells)"
        ),
    )
