"""The two pages of a release: a `ReleaseOutcome` turned into sentences, rows and charts."""

import math
from typing import Any

from pramble.plots.pages import page_environment
from pramble.plots.release import budget_chart, frequency_chart, matrix_chart
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.report import numbers
from pramble.report.outcome import ColumnOutcome, ReleaseOutcome, RiskOutcome
from pramble.report.record_view import record_view, verdict
from pramble.words import several

SUMMARY = "summary.html"
CERTAIN = 0.99


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
    return {
        "title": f"Release of {numbers.count(outcome.rows)} records"
        + (" (dry run)" if outcome.dry_run else ""),
        "lead": lead(outcome),
        "outcome": {**vars(outcome), "raw": raw},
        "cards": cards(outcome),
        "plain_words": plain_words(outcome),
        "budget_chart": budget_chart(outcome) if outcome.columns else None,
        "record": outcome.record and record_view(outcome.record),
        "columns": [column_view(column, outcome.rows) for column in outcome.columns],
        "unit": outcome.guarantee.unit,
        "several": outcome.guarantee.rows if outcome.guarantee.rows > 1 else None,
        "alpha_total": numbers.alpha_text(outcome.alpha),
        "ratio_total": numbers.ratio_text(outcome.alpha),
        "alpha_limit": None
        if isinstance(outcome.limit, CentralPrivacy)
        else numbers.alpha_text(outcome.limit.shown),
        "central": outcome.central and central_view(outcome),
        "ledger_total": outcome.ledger_total and numbers.alpha_text(outcome.ledger_total.shown),
        "risk": outcome.risk and risk_view(outcome.risk),
        "rows": numbers.count(outcome.rows),
        "use": use(raw=raw),
        "example_by": ", ".join(f'"{name}"' for name in example_of(outcome)),
    }


def central_view(outcome: ReleaseOutcome) -> dict[str, Any]:
    """Return the promise towards readers of the release."""
    central, limit = outcome.central, outcome.limit
    assert central is not None, "asked for where there is one"
    order = "each view in an order of its own" if in_views(outcome) else "rows in random order"
    return {
        "epsilon": numbers.alpha_text(central.shown),
        "delta": numbers.tiny(central.shown_delta),
        "lower": numbers.alpha_text(outcome.lower or 0.0),
        "limit": f"ε = {limit.shown:.6g}" if isinstance(limit, CentralPrivacy) else None,
        "rests": f"every released column randomised, {order}, {numbers.count(outcome.rows)} rows "
        "as a crowd; releases of the same people add up",
        "weak": "; here it says next to nothing" if outcome.guarantee.belief() > CERTAIN else "",
    }


def in_views(outcome: ReleaseOutcome) -> bool:
    """Whether the release has several files of the same records."""
    return outcome.record is not None and outcome.record.views > 0


def example_of(outcome: ReleaseOutcome) -> tuple[str, ...]:
    """Return the columns of a table that an analyst may ask for."""
    if outcome.record is not None and outcome.record.tables:
        return outcome.record.tables[0].columns
    return outcome.names[:1]


def use(*, raw: bool) -> str:
    """Say what goes to an analyst."""
    page = "summary.html" if raw else "this page"
    kept = " This page stays with the curator: it lies outside the folder." if raw else ""
    return (
        f"The released file, its manifest and {page} belong together. An analyst needs only the "
        f"folder: the manifest holds every matrix.{kept}"
    )


def lead(outcome: ReleaseOutcome) -> str:
    """Say in one line where the data came from and went."""
    source = f"from {outcome.source} " if outcome.source else ""
    took = f", in {outcome.seconds:.1f} s" if outcome.seconds else ""
    return f"Data {source}in {outcome.data_file} ({numbers.size(outcome.data_bytes)}{took})."


def cards(outcome: ReleaseOutcome) -> list[dict[str, str]]:
    """Return the figures at the top."""
    shares = [column.share for column in outcome.columns if not hides_prior(column)]
    central = outcome.central
    shown = [
        (numbers.alpha_text(outcome.alpha), f"α spent on each {outcome.guarantee.unit}"),
    ]
    if central is not None:
        towards = (
            f"central ε at δ = {numbers.tiny(central.shown_delta)}, towards readers of the release"
        )
        shown = [
            (numbers.alpha_text(central.shown), towards),
            (numbers.alpha_text(outcome.alpha), "α before shuffling, value by value"),
        ]
    shown += [
        (numbers.count(len(outcome.names)), "columns randomised"),
        (numbers.count(len(outcome.untouched)), "columns released as they are"),
    ]
    if shares:
        share = numbers.percent(sum(shares) / len(shares), 0)
        shown.append((share, "of the information that α allows, on average"))
    if outcome.record is not None and outcome.record.tables:
        shown.append(verdict(outcome.record.tables))
    if outcome.risk:
        before, after = outcome.risk.tau2_before, outcome.risk.tau2_after
        shown.append((numbers.few_digits(before), "expected correct matches before"))
        shown.append((numbers.few_digits(after), "expected correct matches after"))
    return [{"value": value, "label": label} for value, label in shown]


def plain_words(outcome: ReleaseOutcome) -> list[str]:
    """Say what was done in sentences without symbols where they can be avoided."""
    names = joined(list(outcome.names))
    columns = "these columns" if len(outcome.names) > 1 else names
    blank = outcome.record is not None and outcome.record.branches > 1
    if outcome.central is not None:
        return [*shuffled_words(outcome, names), *lost_words(outcome)]
    sentences = [
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
    ]
    return [*sentences, *lost_words(outcome)]


def shuffled_words(outcome: ReleaseOutcome, names: str) -> list[str]:
    """Say what was done to a file that is shuffled, and both promises."""
    assert outcome.central is not None, "asked for where there is one"
    how = (
        f"It was done {several(outcome.record.views, 'time')}, for a few columns each, and each "
        "file has its own order."
        if outcome.record is not None and outcome.record.views
        else "Then the rows were put into a random order."
    )
    return [
        (
            f"In {names}, every person's values were kept or replaced at random, with known "
            f"probabilities. {how} Nothing else is released."
        ),
        outcome.central.sentence(),
        (
            f"Towards whoever handled the file before its rows were shuffled: "
            f"{outcome.guarantee.sentence()}"
        ),
    ]


def lost_words(outcome: ReleaseOutcome) -> list[str]:
    """Say which columns cannot be estimated."""
    lost = [c.name for c in outcome.columns if math.isinf(c.estimation_variance)]
    if not lost:
        return []
    return [
        (
            f"The matrix of {joined(lost)} merges categories: their frequencies cannot all be "
            "estimated from the release."
        )
    ]


def column_view(column: ColumnOutcome, rows: int) -> dict[str, Any]:
    """Return one column's rows, sentences and charts."""
    return {
        "name": column.name,
        "size": len(column.categories),
        "alpha": numbers.alpha_text(column.alpha),
        "alpha_prior": numbers.alpha_text(column.alpha_prior) if column.alpha_prior else "—",
        "ratio": numbers.ratio_text(column.alpha),
        "prior": column.prior_detail or column.prior_source,
        "sentence": column_sentence(column),
        "certificate": f"Certificate, decided in integers: {column.certificate}.",
        "matrix_chart": matrix_chart(column),
        "matrix_caption": "Each row is a true value: the probabilities of what is released for it.",
        "frequency_chart": frequency_chart(column),
        "frequency_caption": frequency_caption(column),
        "rivals": [] if hides_prior(column) else rival_rows(column, rows),
    }


def hides_prior(column: ColumnOutcome) -> bool:
    """Whether figures at the prior must stay out: it is confidential and this copy has none."""
    return column.prior_source == "confidential" and not column.prior


def column_sentence(column: ColumnOutcome) -> str:
    """Say how the matrix was chosen and what it does."""
    aim = {
        "information": "the most information at this α",
        "estimation": "the smallest error of estimated frequencies at this α",
    }.get(column.objective, column.objective)
    family = {"uniform": "of the uniform-row kind", "general": "of any kind"}.get(
        column.family, column.family
    )
    text = f"The matrix {family} with {aim}."
    if hides_prior(column):
        return text
    observed = ""
    if column.change_observed is not None:
        observed = f" (counted: {numbers.percent(column.change_observed)})"
    return (
        f"{text} It changes {numbers.percent(column.change_expected)} of the values{observed}"
        f" and keeps {column.information:.4f} of at most "
        f"{column.information_bound:.4f} nats ({numbers.percent(column.share)})."
    )


def frequency_caption(column: ColumnOutcome) -> str:
    """Explain the marks of the frequency chart."""
    before = "Grey bars: the confidential file. " if column.before is not None else ""
    return (
        f"{before}Diamonds: the release counted at face value, which is biased. Blue: what "
        "pramble.estimate recovers from the release alone, with 95 % intervals."
    )


def rival_rows(column: ColumnOutcome, rows: int) -> list[dict[str, Any]]:
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
            "share": numbers.percent(information / column.information_bound, 0)
            + ("" if alpha <= column.alpha * (1 + 1e-9) else ", unprotected"),
            "width": round(min(100.0, 100 * information / column.information_bound), 1),
            "error": standard_error(variance, rows, len(column.categories)),
        }
        for name, alpha, change, information, variance in entries
    ]


def standard_error(variance: float, rows: int, size: int) -> str:
    """Return the root mean squared standard error per category, in percentage points."""
    if math.isinf(variance) or not rows:
        return "not identifiable" if rows else "—"
    return f"± {100 * math.sqrt(variance / (rows * size)):.2g}"


def risk_view(risk: RiskOutcome) -> dict[str, Any]:
    """Return the risk table."""
    rows = [
        ("τ1: sample uniques that are population uniques", risk.tau1_before, risk.tau1_after),
        ("τ2: expected correct matches of sample uniques", risk.tau2_before, risk.tau2_after),
    ]
    return {
        "sentence": f"{numbers.count(risk.sample_uniques)} records are alone in their combination "
        f"of {len(risk.keys)} key variables.",
        "rows": [
            {
                "name": name,
                "before": numbers.few_digits(before),
                "after": numbers.few_digits(after),
                "share": numbers.percent(after / before if before else 0.0),
                "width": round(min(100.0, 100 * after / before if before else 0.0), 1),
            }
            for name, before, after in rows
        ],
        "keys": joined(list(risk.keys)),
        "model": risk.model,
        "population": numbers.count(risk.population_size),
    }


def joined(names: list[str]) -> str:
    """Return names as a list in prose."""
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]
