"""The two pages of a release: a `ReleaseOutcome` turned into sentences, rows and charts."""

from typing import Any

from pramble.plots.pages import page_environment
from pramble.plots.plan import pairs_chart
from pramble.plots.release import budget_chart
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.report import numbers
from pramble.report.details import column_view, risk_view
from pramble.report.outcome import ReleaseOutcome
from pramble.report.promise import central_view, plain_words, promises_of
from pramble.report.protected import protected_view
from pramble.report.record_view import record_view
from pramble.report.tables import TableOutcome, Verdict, verdict_of, worst_first

SUMMARY = "summary.html"
MOST_LISTED = 60


def report_page(outcome: ReleaseOutcome) -> str:
    """Return the curator's page, which shows raw figures."""
    return page(outcome, raw=True)


def summary_page(outcome: ReleaseOutcome) -> str:
    """Return the page that may be published, drawn from what holds no raw figure."""
    return page(outcome.without_raw(), raw=False)


def page(outcome: ReleaseOutcome, *, raw: bool) -> str:
    """Return a page of a release."""
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
        "pairs_chart": pairs_chart(outcome.tables),
        "budget_chart": budget_chart(outcome) if len(outcome.columns) > 1 else None,
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
