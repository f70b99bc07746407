"""The details of a release: its columns with their matrices, and the risk that is left."""

import math
from typing import Any

from pramble.plots.matrix import MOST_DRAWN
from pramble.plots.release import cut_text, frequency_chart, matrix_chart
from pramble.report import numbers
from pramble.report.outcome import ColumnOutcome, RiskOutcome
from pramble.report.tables import TableOutcome


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
        "matrix_caption": matrix_caption(column),
        "frequency_chart": frequency_chart(column),
        "frequency_caption": frequency_caption(column),
        "rivals": [] if hides_prior(column) else rival_rows(column, rows),
    }


def matrix_caption(column: ColumnOutcome) -> str:
    """Explain the picture of a matrix, or say why there is none."""
    if max(column.mechanism.shape) > MOST_DRAWN:
        size = " × ".join(f"{side:,}" for side in column.mechanism.shape)
        return (
            f"The matrix has {size} entries, too many to draw (more than {MOST_DRAWN} a side); "
            "manifest.json holds all of them."
        )
    return "Each row is a true value: the probabilities of what is released for it."


def hides_prior(column: ColumnOutcome) -> bool:
    """Whether figures at the prior must stay out: it is confidential and this copy has none."""
    return column.prior_source == "confidential" and not column.prior


def column_sentence(column: ColumnOutcome) -> str:
    """Say how the matrix was chosen and what it does."""
    aim = {
        "information": "the most information at this α",
        "estimation": "the smallest error of estimated frequencies at this α",
        "loss": "the least expected loss at this α",
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
        f"{text} It changes {numbers.percent(column.change_expected)} of the values{observed}. "
        f"What is released keeps {numbers.share_text(column.kept)} of the information in a value "
        f"(its entropy, {column.entropy:.3g} nats), and {numbers.share_text(column.share)} of the "
        f"most that is proven possible for these categories at this α."
    )


def frequency_caption(column: ColumnOutcome) -> str:
    """Explain the marks of the frequency chart."""
    before = "Grey bars: the confidential file. " if column.before is not None else ""
    cut = cut_text(len(column.categories))
    return (
        f"{before}Diamonds: the release counted at face value, which is biased. Blue: what "
        f"pramble.estimate recovers from the release alone, with 95 % intervals. {cut}"
    ).rstrip()


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
            "share": numbers.share_text(information / column.entropy if column.entropy else 0.0)
            + ("" if alpha <= column.alpha * (1 + 1e-9) else ", unprotected"),
            "error": standard_error(variance, rows, len(column.categories)),
        }
        for name, alpha, change, information, variance in entries
    ]


def standard_error(variance: float, rows: int, size: int) -> str:
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
