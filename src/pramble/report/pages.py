"""The two pages of a release: a `ReleaseOutcome` turned into sentences, rows and charts."""

import math
import re
from collections.abc import Sequence
from typing import Any

from pramble import numbers
from pramble.information.accuracy import TableOutcome, Verdict, verdict_of, worst_first
from pramble.outcome import (
    ColumnOutcome,
    FrequencyOutcome,
    PairOutcome,
    ProtectedOutcome,
    RecordOutcome,
    ReleaseOutcome,
    RiskOutcome,
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
from pramble.privacy.guarantee import CentralPrivacy

SUMMARY = "summary.html"
MOST_LISTED, FEWEST_DRAWN = 60, 5
"""Tables that are listed, and columns from which on pairs of them are drawn as a square."""
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
    """Return everything the template needs."""
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    return {
        "title": f"Release of {numbers.count(outcome.rows)} records"
        + (" (dry run)" if outcome.dry_run else ""),
        "lead": lead(outcome),
        "outcome": {**vars(outcome), "raw": raw},
        "cards": headline_figures(outcome, verdict),
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
    estimable = table.text != "cannot be told"
    return {
        "name": table.name,
        "cells": numbers.count(table.cells),
        "typical": f"{100 * table.typical:.2g} %",
        "error": table.text,
        "group": numbers.rounded(table.smallest_group) if estimable else "—",
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


def headline_figures(outcome: ReleaseOutcome, verdict: Verdict | None) -> list[dict[str, str]]:
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


def central_view(outcome: ReleaseOutcome) -> dict[str, Any]:
    """Return the promise towards readers of the release."""
    central, limit = outcome.central, outcome.limit
    assert central is not None, "asked for where there is one"
    return {
        "epsilon": numbers.alpha_text(central.shown),
        "delta": numbers.tiny(central.shown_delta),
        "lower": numbers.alpha_text(outcome.lower or 0.0),
        "limit": f"ε = {limit.shown:.6g}" if isinstance(limit, CentralPrivacy) else None,
        "rests": rests_on(outcome),
        "weak": "; here it says next to nothing" if outcome.guarantee.belief() > CERTAIN else "",
    }


def rests_on(outcome: ReleaseOutcome) -> str:
    """Say what a central promise rests on."""
    if outcome.protected is not None:
        return (
            "trust in whoever handles the file, and noise that was drawn once and stays secret; "
            "releases of the same people add up"
        )
    return (
        "every released column randomised, rows in random order, "
        f"{numbers.count(outcome.rows)} rows as a crowd; releases of the same people add up"
    )


def promises_of(outcome: ReleaseOutcome) -> list[dict[str, Any]]:
    """Return every promise of a release: against whom, how much, and what it rests on."""
    found = []
    if outcome.central is not None:
        central = central_view(outcome)
        found.append({
            "who": "whoever reads the release, and knows everybody else in the file",
            "what": f"ε = {central['epsilon']}, δ = {central['delta']}",
            "rests": central["rests"],
        })  # fmt: skip
    if outcome.protected is None:
        found.append({
            "who": "whoever handles the file before its rows are shuffled",
            "what": f"α = {numbers.alpha_text(outcome.alpha)}",
            "rests": "nothing: it holds value by value"
            + (central["weak"] if outcome.central is not None else ""),
        })  # fmt: skip
    return found


def plain_words(outcome: ReleaseOutcome) -> list[str]:
    """Say what was done in sentences without symbols where they can be avoided."""
    names = names_in_words(list(outcome.names))
    if outcome.protected is not None and outcome.central is not None:
        return [
            (
                f"The people in the file were counted by {names}, in tables of a few columns each. "
                "Random noise was added to every count, and nothing else of the file is released. "
                "The complete records were made from the noisy counts alone: none of them is a "
                "person."
            ),
            outcome.central.sentence(),
        ]
    columns = "these columns" if len(outcome.names) > 1 else names
    blank = outcome.record is not None and outcome.record.branches > 1
    if outcome.central is not None:
        return shuffled_words(outcome, names)
    return [
        (
            f"In {names}, every person's values were replaced at random: "
            + ("blank, " if blank else "")
            + "kept with a known probability, else changed."
        ),
        outcome.guarantee.sentence(),
        (
            f"Whatever a person's true values in {columns} are, what is released of the "
            f"{outcome.guarantee.unit} is at most {numbers.ratio_text(outcome.alpha)} times "
            "likelier under them than under any other values."
        ),
        *(() if outcome.record is None else outcome.record.by_distance),
    ]


def shuffled_words(outcome: ReleaseOutcome, names: str) -> list[str]:
    """Say what was done to a file that is shuffled, and both promises."""
    assert outcome.central is not None, "asked for where there is one"
    return [
        (
            f"In {names}, every person's values were kept or replaced at random, with known "
            "probabilities. Then the rows were put into a random order. Nothing else is released."
        ),
        outcome.central.sentence(),
        (
            f"Towards whoever handled the file before its rows were shuffled: "
            f"{outcome.guarantee.sentence()}"
        ),
    ]


def names_in_words(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]


def column_view(column: ColumnOutcome, rows: int) -> dict[str, Any]:
    """Return one column's rows, sentences and charts."""
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
        "rivals": [] if _hides_prior(column) else _rival_rows(column, rows),
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
    """Explain the picture of a matrix, or say why there is none."""
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
        "loss": "released values as near to the true ones as this α allows",
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
        f"What is released keeps {numbers.share_text(column.kept)} of the information in a value "
        f"(its entropy, {column.entropy:.3g} nats), and {numbers.share_text(column.share)} of the "
        f"most that is proven possible for these categories at this α."
    )


def _frequency_caption(column: ColumnOutcome) -> str:
    before = "Grey bars: the confidential file. " if column.before is not None else ""
    cut = frequency_note(len(column.categories))
    return (
        f"{before}Diamonds: the release counted at face value, which is biased. Blue: what "
        f"pramble.estimate recovers from the release alone, with 95 % intervals. {cut}"
    ).rstrip()


def _rival_rows(column: ColumnOutcome, rows: int) -> list[dict[str, Any]]:
    """Return the design and its rivals, the design first."""
    entries = [
        (
            "this design",
            column.certificate.alpha,
            column.change_expected,
            column.information,
            column.estimation_variance,
        ),
        *((r.name, r.alpha, r.change, r.information, r.estimation_variance) for r in column.rivals),
    ]
    return [
        {
            "name": name,
            "alpha": numbers.alpha_text(alpha),
            "change": numbers.percent(change),
            "information": f"{information:.4f}",
            "share": numbers.share_text(information / column.entropy if column.entropy else 0.0)
            + ("" if alpha <= column.alpha * (1 + 1e-9) else ", unprotected"),
            "error": _standard_error(variance, rows, len(column.categories)),
        }
        for name, alpha, change, information, variance in entries
    ]


def _standard_error(variance: float, rows: int, size: int) -> str:
    """Return half of the 95 % interval of a typical category, in percentage points."""
    if math.isinf(variance) or not rows:
        return "cannot be told" if rows else "—"
    return TableOutcome((), size, variance, rows).text


def risk_view(risk: RiskOutcome) -> dict[str, Any]:
    """Return the risk of the file, before and after."""
    after = risk.classes_after or (None, None)
    counted = [
        ("records alone in their combination of keys", risk.sample_uniques, risk.uniques_after),
        *(
            (f"records in combinations of fewer than {k}", own, later)
            for k, own, later in zip((3, 5), risk.classes or (), after, strict=False)
        ),
    ]
    models = [
        ("right matches expected among them (τ2)", risk.tau2_before, risk.tau2_after),
        ("of them alone in the population too (τ1)", risk.tau1_before, risk.tau1_after),
    ]
    sums = [
        ("sum of individual risks, by weights", risk.individual),
        ("sum of the risks of households", risk.household),
    ]
    return {
        "sentence": f"Of {len(risk.keys)} keys that an intruder may know of everybody. Before: he "
        "looks them up in the file as it is. After: in the release, whose records are randomised, "
        "with the matrices at hand; that a released record is alone says nothing of the true one.",
        "rows": [
            {
                "name": name,
                "before": numbers.count(before),
                "after": "—" if later is None else f"{numbers.count(later)}, at face value",
            }
            for name, before, later in counted
        ]
        + [
            {"name": name, "before": numbers.expected(before), "after": numbers.expected(later)}
            for name, before, later in models
        ]
        + [
            {"name": name, "before": numbers.expected(before), "after": "—"}
            for name, before in sums
            if before is not None
        ],
        "names": ", ".join(risk.keys),
        "model": risk.model,
        "population": numbers.count(risk.population_size),
    }


def protected_view(outcome: ProtectedOutcome) -> dict[str, Any]:
    """Return everything that the template shows of protected tables."""
    return {
        "sentences": protected_sentences(outcome),
        "worst": ", ".join(outcome.worst),
        "columns": _frequency_views(outcome.columns),
        "pairs": [],
    }


def _closely(gap: float) -> str:
    """Say how nearly that is proven, where it matters.

    >>> _closely(1e-9), _closely(0.0077)
    ('', ' by more than 0.8 %')
    """
    return "" if gap < 1e-4 else f" by more than {100 * gap:.1g} %"


MOST_NAMED = 6
"""Chosen tables that are named in a sentence."""


def choice_sentence(outcome: ProtectedOutcome) -> str:
    """Say how tables were chosen, or will be."""
    price = "The choice is made by noisy scores, and the guarantee includes it."
    if outcome.chosen:
        listed = ", ".join(outcome.chosen[:MOST_NAMED])
        if len(outcome.chosen) > MOST_NAMED:
            listed += f" and {len(outcome.chosen) - MOST_NAMED} more, which the manifest lists"
        return (
            f"{len(outcome.chosen):,} of the tables were chosen from the file, because pairs of "
            f"columns do not imply them: {listed}. {price}"
        )
    if outcome.fit is None:
        return (
            "Tables of three columns that the pairs do not imply would be chosen and added. "
            f"{price}"
        )
    return f"No table of three columns was worth its noise in addition to the pairs. {price}"


def protected_sentences(outcome: ProtectedOutcome) -> list[str]:
    """Say what was measured, or will be, and how precisely."""
    several = "table" if outcome.tables == 1 else "tables"
    measured = "would be" if outcome.fit is None else "were"
    found = [
        (
            f"{outcome.tables:,} {several} of counts {measured} measured once, with normal noise "
            f"of ± {numbers.rounded(outcome.noise)} people a cell (root mean square). Every table "
            "within them comes with them, and all agree with each other."
        ),
        (
            "The noise is divided over the effects of columns and their interactions so that the "
            "tables have the least: no linear mechanism with normal noise has less variance at "
            f"this promise{_closely(outcome.gap)}."
        ),
    ]
    if outcome.chosen is not None:
        found.append(choice_sentence(outcome))
    if outcome.rows_per_person > 1:
        found.append(
            f"At most {outcome.rows_per_person} rows of one person {measured} counted, chosen at "
            "random."
        )
    if outcome.fit is not None:
        found.append(
            "The complete records were drawn from these tables alone. Their tables are "
            f"± {numbers.rounded(outcome.fit)} people a cell from the protected ones on average."
        )
    return found


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
        "plan_caption": PLAN_CAPTION,
        "columns": _frequency_views(record.columns),
        "pairs": [_pair_view(pair) for pair in record.pairs],
    }


def _pair_view(pair: PairOutcome) -> dict[str, Any]:
    """Return the lines of a table before and after, in numbers of records."""
    figures = zip(pair.cells, pair.before, pair.estimate, pair.lower, pair.upper, strict=True)
    return {
        "name": " × ".join(pair.columns),
        "columns": pair.columns,
        "held": f"{pair.held} of {len(pair.cells)} intervals hold what is in the file.",
        "rows": [
            {
                "labels": [str(label) for label in cell],
                "before": numbers.count(before),
                **{
                    name: numbers.count(pair.rows * share)
                    for name, share in (("estimate", mid), ("lower", low), ("upper", high))
                },
            }
            for cell, before, mid, low, high in figures
        ],
    }


def plan_sentences(record: RecordOutcome) -> list[str]:
    """Say what is done to a record."""
    if not record.plan.is_split:
        blocks = [block for block, _ in record.plan.mechanisms()]
        joint = [" with ".join(block) for block in blocks if len(block) > 1]
        how = f"randomised together: {'; '.join(joint)}" if joint else "each is randomised alone"
        return [f"Every record keeps all its columns; {how}."]
    return [
        (
            f"Each record shows the columns of one of {record.branches} branches, drawn at random "
            "without a look at it; columns within a branch that are joined in the picture are "
            "randomised together by one matrix. The other columns of the record are blank."
        ),
        "Every table that analysts want is estimated from all records that bear on it.",
    ]
