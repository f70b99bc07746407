"""The two pages of a release: a `ReleaseOutcome` turned into sentences, rows and charts."""

import re
from collections.abc import Sequence
from typing import Any

from pramble import numbers
from pramble.information.accuracy import TableOutcome, verdict_of, worst_first
from pramble.outcome import (
    ColumnOutcome,
    FrequencyOutcome,
    ProtectedOutcome,
    RecordOutcome,
    ReleaseOutcome,
)
from pramble.plots.estimates import budget_figure, frequency_figure, frequency_note
from pramble.plots.images import page_environment, to_svg
from pramble.plots.mechanisms import (
    MATRIX_CAPTION,
    MOST_DRAWN,
    PLAN_CAPTION,
    PLAN_PICTURE,
    error_figure,
    matrix_figure,
)
from pramble.privacy.promise import CentralPromise
from pramble.report.outcome_text import (
    headline_figures,
    names_in_words,
    plan_sentences,
    protected_sentences,
    table_row,
)

SUMMARY = "summary.html"

# Tables that are listed, and columns from which on pairs of them are drawn as a square.
MOST_LISTED, FEWEST_DRAWN = 60, 5
CERTAIN = 0.99


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
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    return {
        "title": f"Release of {numbers.count(outcome.rows)} records"
        + (" (dry run)" if outcome.dry_run else ""),
        "size": numbers.size(outcome.data_bytes),
        "outcome": {**vars(outcome), "raw": raw},
        "cards": headline_figures(outcome, verdict),
        "verdict": verdict,
        "names": names_in_words(list(outcome.names)),
        "is_one_column": len(outcome.names) < 2,
        "promise": outcome.spent.sentence(),
        "tables": [table_row(table) for table in worst_first(outcome.tables)[:MOST_LISTED]],
        "more_tables": max(len(outcome.tables) - MOST_LISTED, 0),
        "pairs_chart": _error_picture(outcome.tables),
        "budget_chart": _budget_picture(outcome.columns),
        "record": outcome.record and record_view(outcome.record),
        "protected": outcome.protected and protected_view(outcome.protected),
        "columns": [column_view(column) for column in outcome.columns],
        "unit": outcome.spent.unit,
        "several": outcome.spent.rows if outcome.spent.rows > 1 else None,
        "alpha_total": numbers.alpha_text(outcome.alpha),
        "ratio_total": numbers.ratio_text(outcome.alpha),
        "alpha_limit": None
        if isinstance(outcome.limit, CentralPromise)
        else numbers.alpha_text(outcome.limit.shown),
        "central": outcome.central and central_view(outcome),
        "ledger_total": None
        if outcome.ledger_total is None or outcome.ledger_total.is_unbounded
        else numbers.alpha_text(outcome.ledger_total.shown),
        "risk": outcome.risk,
        "count": numbers.count,
        "expected": numbers.expected,
        "rows": numbers.count(outcome.rows),
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


def example_of(outcome: ReleaseOutcome) -> tuple[str, ...]:
    wanted = [table.columns for table in outcome.tables if table.wanted]
    return wanted[0] if wanted else outcome.names[:1]


def central_view(outcome: ReleaseOutcome) -> dict[str, Any]:
    central, limit = outcome.central, outcome.limit
    assert central is not None, "asked for where there is one"
    return {
        "epsilon": numbers.alpha_text(central.shown),
        "delta": numbers.tiny(central.shown_delta),
        "lower": numbers.alpha_text(outcome.lower or 0.0),
        "limit": f"ε = {limit.shown:.6g}" if isinstance(limit, CentralPromise) else None,
        "sentence": central.sentence(),
        "weak": "; here it says next to nothing" if outcome.spent.belief() > CERTAIN else "",
    }


def column_view(column: ColumnOutcome) -> dict[str, Any]:
    same_labels = column.mechanism.outputs == column.mechanism.categories
    return {
        "name": column.name,
        "size": len(column.categories),
        "alpha": numbers.alpha_text(column.alpha),
        "alpha_prior": numbers.alpha_text(column.alpha_prior) if column.alpha_prior else "—",
        "ratio": numbers.ratio_text(column.alpha),
        "prior": column.prior_detail or column.prior_source,
        "sentence": _column_sentence(column),
        "certificate": f"Certificate, decided in integers: {column.certificate}.",
        "matrix_chart": _matrix_picture(column),
        "matrix_caption": _matrix_caption(column),
        "frequency_chart": _frequency_picture(column, column.after if same_labels else None),
        "frequency_caption": _frequency_caption(column),
    }


def _matrix_picture(column: ColumnOutcome) -> str | None:
    if max(column.mechanism.shape) > MOST_DRAWN:
        return None
    words = f"Probability of each released value given each true one: {column.name}"
    figure = matrix_figure(column.mechanism)
    return to_svg(figure, name=f"matrix-{_identifier(column.name)}", description=words)


def _frequency_picture(
    column: ColumnOutcome | FrequencyOutcome, released: Sequence[int] | None = None
) -> str | None:
    """Draw frequencies: in the file (if raw figures may be shown), released, and estimated."""
    if column.estimate is None or column.lower is None or column.upper is None:
        return None
    figure = frequency_figure(
        column.categories,
        column.estimate,
        (column.lower, column.upper),
        before=column.before,
        released=released,
    )
    words = f"Frequencies of {column.name}: released, and estimated with intervals"
    return to_svg(figure, name=f"frequencies-{_identifier(column.name)}", description=words)


def _identifier(name: str) -> str:
    """Return a column's name as an identifier for SVG, unlike that of any other column."""
    return re.sub(r"[^a-zA-Z0-9]", "-", name) + f"-{sum(map(ord, name))}"


def _frequency_views(columns: Sequence[FrequencyOutcome]) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "chart": _frequency_picture(column),
            "cut": frequency_note(len(column.categories)),
        }
        for column in columns
    ]


def _matrix_caption(column: ColumnOutcome) -> str:
    if max(column.mechanism.shape) > MOST_DRAWN:
        size = " × ".join(f"{side:,}" for side in column.mechanism.shape)
        return (
            f"The matrix has {size} entries, too many to draw (more than {MOST_DRAWN} a side); "
            "manifest.json holds all of them."
        )
    return MATRIX_CAPTION


def _hides_prior(column: ColumnOutcome) -> bool:
    """Whether figures at the prior must stay out: it is confidential and this copy has none."""
    return column.prior_source == "confidential" and not column.prior


def _column_sentence(column: ColumnOutcome) -> str:
    aim = {
        "information": "the most information at this α",
        "estimation": "the smallest error of estimated frequencies at this α",
    }.get(column.objective, column.objective)
    family = {"uniform": "of the uniform-row kind", "general": "of any kind"}.get(
        column.family, column.family
    )
    text = f"The matrix {family} with {aim}."
    if column.by_distance:
        text += f" {column.by_distance}"
    if _hides_prior(column):
        return text
    observed = ""
    if column.change_observed is not None:
        observed = f" (counted: {numbers.percent(column.change_observed)})"
    return (
        f"{text} It changes {numbers.percent(column.change_expected)} of the values{observed}. "
        f"What is released keeps {numbers.share_text(column.retained)} of the information in a "
        f"value (its entropy, {column.entropy:.3g} nats), and "
        f"{numbers.share_text(column.share)} of the most that is proven possible for these "
        "categories at this α."
    )


def _frequency_caption(column: ColumnOutcome) -> str:
    before = "Grey bars: the confidential file. " if column.before is not None else ""
    cut = frequency_note(len(column.categories))
    return (
        f"{before}Diamonds: the release counted at face value, which is biased. Blue: what "
        f"pramble.estimate recovers from the release alone, with 95 % intervals. {cut}"
    ).rstrip()


def protected_view(outcome: ProtectedOutcome) -> dict[str, Any]:
    return {
        "sentences": protected_sentences(outcome),
        "worst": ", ".join(outcome.worst),
        "columns": _frequency_views(outcome.columns),
    }


def record_view(record: RecordOutcome) -> dict[str, Any]:
    return {
        "alpha": numbers.alpha_text(record.alpha),
        "alpha_prior": numbers.alpha_text(record.alpha_prior) if record.alpha_prior else "—",
        "ratio": numbers.ratio_text(record.alpha),
        "prior": record.prior_detail,
        "certificate": f"Certificate, decided in integers: {record.certificate}.",
        "sentences": plan_sentences(record),
        "blank": record.plan.is_split,
        "by_distance": record.by_distance,
        "plan_chart": to_svg(record.plan.plot(), name="plan", description=PLAN_PICTURE),
        "plan_caption": PLAN_CAPTION,
        "columns": _frequency_views(record.columns),
    }
