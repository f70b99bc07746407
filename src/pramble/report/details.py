"""What was released, in detail: columns and their matrices, plans, protected tables, risk."""

import math
import re
from collections.abc import Sequence
from typing import Any

from pramble import numbers
from pramble.information.accuracy import TableOutcome
from pramble.outcome import (
    ColumnOutcome,
    FrequencyOutcome,
    PairOutcome,
    ProtectedOutcome,
    RecordOutcome,
    RiskOutcome,
)
from pramble.plots.estimates import frequency_figure, frequency_note
from pramble.plots.images import to_svg
from pramble.plots.mechanisms import (
    MATRIX_CAPTION,
    MOST_DRAWN,
    PLAN_CAPTION,
    PLAN_PICTURE,
    matrix_figure,
)

NOTICED = 5e-4
"""Loss from noise below which a reader would see 0.0 %."""


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


def choice_sentence(outcome: ProtectedOutcome) -> str:
    """Say how tables were chosen, or will be."""
    price = "The choice is made by noisy scores, and the guarantee includes it."
    if outcome.chosen:
        listed = ", ".join(outcome.chosen)
        return (
            f"{len(outcome.chosen):,} of the tables were chosen from the file, because pairs of "
            f"columns do not imply them: {listed}. {price}"
        )
    if outcome.fit is None:
        return f"Tables of three columns that the pairs do not imply are chosen and added. {price}"
    return f"No table of three columns was worth its noise in addition to the pairs. {price}"


def protected_sentences(outcome: ProtectedOutcome) -> list[str]:
    """Say what was measured, and how precisely."""
    several = "table" if outcome.tables == 1 else "tables"
    found = [
        (
            f"{outcome.tables:,} {several} of counts were measured once, with normal noise of "
            f"± {numbers.rounded(outcome.noise)} people a cell (root mean square). Every table "
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
            f"At most {outcome.rows_per_person} rows of one person were counted, chosen at random."
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
        "loss": None if record.loss is None else loss_sentence(record.loss),
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


def loss_sentence(loss: float) -> str:
    """Say what it cost that the plan was designed for noisy frequencies."""
    known = "The plan was fitted to frequencies with noise, so that it tells nothing by itself."
    if loss < NOTICED:
        return f"{known} The file's own frequencies would have made it no better."
    less = numbers.percent(loss)
    return f"{known} With the file's own, tables would have {less} less variance."


def plan_sentences(record: RecordOutcome) -> list[str]:
    """Say what is done to a record."""
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
