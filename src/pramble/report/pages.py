"""The two pages of a release: a `ReleaseOutcome` turned into sentences, rows and charts."""

from collections.abc import Sequence
from typing import Any

from pramble import numbers
from pramble.information.accuracy import TableOutcome, Verdict, verdict_of, worst_first
from pramble.outcome import ColumnOutcome, ReleaseOutcome
from pramble.plots.bars import budget_figure
from pramble.plots.images import to_svg
from pramble.plots.mechanisms import error_figure
from pramble.plots.pages import page_environment
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.report.details import column_view, protected_view, record_view, risk_view
from pramble.report.promise import central_view, plain_words, promises_of

SUMMARY = "summary.html"
MOST_LISTED, FEWEST_DRAWN = 60, 5
"""Tables that are listed, and columns from which on pairs of them are drawn as a square."""


def report_page(outcome: ReleaseOutcome) -> str:
    """Return the curator's page, which shows raw figures."""
    return page(outcome, raw=True)


def summary_page(outcome: ReleaseOutcome) -> str:
    """Return the page that may be published, drawn from what holds no raw figure."""
    return page(outcome.without_raw(), raw=False)


def page(outcome: ReleaseOutcome, *, raw: bool) -> str:
    template = page_environment("pramble.report").get_template("release.html")
    return template.render(release_view(outcome, raw=raw))


def release_view(outcome: ReleaseOutcome, *, raw: bool) -> dict[str, Any]:
    """Return everything the template needs."""
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    return {
        "title": f"Release of {numbers.count(outcome.rows)} records"
        + (" (dry run)" if outcome.dry_run else ""),
        "lead": lead(outcome),
        "outcome": {**vars(outcome), "raw": raw},
        "cards": cards(outcome, verdict),
        "verdict": verdict,
        "plain_words": plain_words(outcome),
        "tables": [table_row(table) for table in worst_first(outcome.tables)[:MOST_LISTED]],
        "more_tables": max(len(outcome.tables) - MOST_LISTED, 0),
        "pairs_chart": _error_picture(outcome.tables),
        "budget_chart": _budget_picture(outcome.columns),
        "record": outcome.record and record_view(outcome.record),
        "protected": outcome.protected and protected_view(outcome.protected),
        "columns": [column_view(column, outcome.rows) for column in outcome.columns],
        "unit": outcome.guarantee.unit,
        "several": outcome.guarantee.rows if outcome.guarantee.rows > 1 else None,
        "alpha_total": numbers.alpha_text(outcome.alpha),
        "ratio_total": numbers.ratio_text(outcome.alpha),
        "alpha_limit": None
        if isinstance(outcome.limit, CentralPrivacy)
        else numbers.alpha_text(outcome.limit.shown),
        "central": outcome.central and central_view(outcome),
        "promises": promises_of(outcome),
        "ledger_total": None
        if outcome.ledger_total is None or outcome.ledger_total.is_none
        else numbers.alpha_text(outcome.ledger_total.shown),
        "risk": outcome.risk and risk_view(outcome.risk),
        "rows": numbers.count(outcome.rows),
        "use": use(outcome, raw=raw),
        "example_by": ", ".join(f'"{name}"' for name in example_of(outcome)),
    }


def _error_picture(tables: Sequence[TableOutcome]) -> str | None:
    """Draw the errors of two-way tables, where there are columns enough for a square."""
    names = list(dict.fromkeys(name for table in tables for name in table.columns))
    errors: dict[tuple[str, ...], tuple[float, float]] = {
        table.columns: (table.half_width, table.typical)
        for table in tables
        if len(table.columns) == 2
    }
    if len(names) < FEWEST_DRAWN or not errors:
        return None
    words = "Half of the 95 % interval of a typical cell of every two-way table"
    return to_svg(error_figure(names, errors), name="pairs", description=words)


def _budget_picture(columns: Sequence[ColumnOutcome]) -> str | None:
    """Draw how α was divided, where there is more than one column to divide it over."""
    if len(columns) < 2:
        return None
    parts = zip(*((c.name, c.alpha, c.alpha_prior) for c in columns), strict=True)
    words = "α spent on each column and on its prior"
    return to_svg(budget_figure(*parts), name="budget", description=words)


def table_row(table: TableOutcome) -> dict[str, Any]:
    """Return one line of the list of tables."""
    told = table.text != "cannot be told"
    return {
        "name": table.name,
        "cells": numbers.count(table.cells),
        "typical": f"{100 * table.typical:.2g} %",
        "error": table.text,
        "group": numbers.rounded(table.smallest_group) if told else "—",
        "bad": table.useless,
    }


def example_of(outcome: ReleaseOutcome) -> tuple[str, ...]:
    """Return the columns of a table that an analyst may ask for."""
    wanted = [table.columns for table in outcome.tables if table.wanted]
    return wanted[0] if wanted else outcome.names[:1]


def use(outcome: ReleaseOutcome, *, raw: bool) -> str:
    """Say what goes to an analyst."""
    page = "summary.html" if raw else "this page"
    kept = " This page stays with the curator: it lies outside the folder." if raw else ""
    if outcome.protected is not None:
        return (
            "Open and count synthetic.parquet: its records are complete. Estimates and intervals "
            f"come from tables.parquet. The files, the manifest and {page} belong together.{kept}"
        )
    return (
        f"The released file, its manifest and {page} belong together. An analyst needs only the "
        f"folder: the manifest holds every matrix.{kept}"
    )


def lead(outcome: ReleaseOutcome) -> str:
    """Say in one line where the data came from and went."""
    source = f"from {outcome.source} " if outcome.source else ""
    took = f", in {outcome.seconds:.1f} s" if outcome.seconds else ""
    return f"Data {source}in {outcome.data_file} ({numbers.size(outcome.data_bytes)}{took})."


def cards(outcome: ReleaseOutcome, verdict: Verdict | None) -> list[dict[str, str]]:
    """Return the figures at the top: the promise, what readers get, and what is in the file."""
    central, unit = outcome.central, outcome.guarantee.unit
    shown = [(numbers.alpha_text(outcome.alpha), f"α: the promise to each {unit}")]
    if central is not None:
        delta = numbers.tiny(central.shown_delta)
        shown = [(numbers.alpha_text(central.shown), f"ε against readers, at δ = {delta}")]
        if outcome.protected is None:
            shown.append((numbers.alpha_text(outcome.alpha), f"α of each {unit} before shuffling"))
    if verdict is not None:
        shown.append((verdict.headline, verdict.about))
    if outcome.risk:
        before = numbers.expected(outcome.risk.tau2_before)
        after = numbers.expected(outcome.risk.tau2_after)
        shown.append((f"{before} → {after}", "right matches expected, before and after"))
    done = "randomised" if outcome.protected is None else "protected"
    shown.append((numbers.count(len(outcome.names)), f"columns {done}"))
    if outcome.untouched:
        shown.append((numbers.count(len(outcome.untouched)), "columns released as they are"))
    return [{"value": value, "label": label} for value, label in shown]
