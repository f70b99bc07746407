"""The curator's report of a release: its outcome turned into sentences, rows and charts."""

import re

from pramble import numbers
from pramble.information.accuracy import verdict_of, worst_first
from pramble.outcome import (
    ColumnOutcome,
    FrequencyOutcome,
    ReleaseOutcome,
)
from pramble.plots.estimates import frequency_figure, frequency_note
from pramble.plots.images import page_environment, to_svg
from pramble.plots.mechanisms import (
    MATRIX_CAPTION,
    MOST_DRAWN,
    PLAN_CAPTION,
    PLAN_PICTURE,
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

# Tables that are listed.
MOST_LISTED = 60
CERTAIN = 0.99


def report_page(outcome: ReleaseOutcome) -> str:
    """Return the curator's page, which shows raw figures."""
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    limit, total, record = outcome.limit, outcome.ledger_total, outcome.record
    is_central = isinstance(limit, CentralPromise)
    wanted = [table.columns for table in outcome.tables if table.wanted]
    sentences: list[str] = []
    if outcome.protected is not None:
        sentences = protected_sentences(outcome.protected)
    elif record is not None:
        sentences = plan_sentences(record)
    template = page_environment("pramble.report").get_template("release.html")
    return template.render(
        {
            "outcome": outcome,
            "numbers": numbers,
            "title": f"Release of {numbers.count(outcome.rows)} records"
            + (" (dry run)" if outcome.dry_run else ""),
            "cards": headline_figures(outcome, verdict),
            "verdict": verdict,
            "names": names_in_words(list(outcome.names)),
            "sentences": sentences,
            "tables": [table_row(table) for table in worst_first(outcome.tables)[:MOST_LISTED]],
            "more_tables": max(len(outcome.tables) - MOST_LISTED, 0),
            "alpha_limit": None if is_central else limit,
            "central_limit": limit if is_central else None,
            "says_little": outcome.spent.belief() > CERTAIN,
            "ledger_total": None if total is None or total.is_unbounded else total,
            "example_by": ", ".join(f'"{name}"' for name in (wanted or [outcome.names[:1]])[0]),
            "plan_chart": record
            and to_svg(record.plan.plot(), name="plan", description=PLAN_PICTURE),
            "plan_caption": PLAN_CAPTION,
            # What the page asks for each column.
            "column_sentence": column_sentence,
            "matrix_chart": matrix_chart,
            "matrix_caption": matrix_caption,
            "frequency_chart": frequency_chart,
            "frequency_note": frequency_note,
        }
    )


def matrix_chart(column: ColumnOutcome) -> str | None:
    if max(column.mechanism.shape) > MOST_DRAWN:
        return None
    words = f"Probability of each released value given each true one: {column.name}"
    figure = matrix_figure(column.mechanism)
    return to_svg(figure, name=f"matrix-{identifier_of(column.name)}", description=words)


def frequency_chart(column: ColumnOutcome | FrequencyOutcome) -> str | None:
    """Draw frequencies: in the file, released, and estimated."""
    if column.estimate is None or column.lower is None or column.upper is None:
        return None
    released = None
    # Other labels than those of the file cannot be drawn next to it.
    if isinstance(column, ColumnOutcome) and column.mechanism.outputs == column.categories:
        released = column.after
    figure = frequency_figure(
        column.categories,
        column.estimate,
        (column.lower, column.upper),
        before=column.before,
        released=released,
    )
    words = f"Frequencies of {column.name}: released, and estimated with intervals"
    return to_svg(figure, name=f"frequencies-{identifier_of(column.name)}", description=words)


def identifier_of(name: str) -> str:
    """Return a column's name as an identifier for SVG, unlike that of any other column."""
    return re.sub(r"[^a-zA-Z0-9]", "-", name) + f"-{sum(map(ord, name))}"


def matrix_caption(column: ColumnOutcome) -> str:
    if max(column.mechanism.shape) > MOST_DRAWN:
        size = " × ".join(f"{side:,}" for side in column.mechanism.shape)
        return (
            f"The matrix has {size} entries, too many to draw (more than {MOST_DRAWN} a side); "
            "manifest.json holds all of them."
        )
    return MATRIX_CAPTION


def column_sentence(column: ColumnOutcome) -> str:
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
