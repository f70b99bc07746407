"""A plan for records turned into sentences, rows and charts."""

from typing import Any

from pramble.plots.images import to_svg
from pramble.plots.release import cut_text, frequency_chart
from pramble.report import numbers
from pramble.report.record import PairOutcome, RecordOutcome

NOTICED = 5e-4
PLAN_CAPTION = (
    "Every row is a branch: its share of the records, and the columns that it shows. Joined "
    "squares are randomised together."
)
PLAN_PICTURE = "Which columns each part of the plan shows, and a share of the records"


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
        "columns": [
            {
                "name": column.name,
                "chart": frequency_chart(column),
                "cut": cut_text(len(column.categories)),
            }
            for column in record.columns
        ],
        "pairs": [pair_view(pair) for pair in record.pairs],
        "loss": None if record.loss is None else loss_sentence(record.loss),
    }


def pair_view(pair: PairOutcome) -> dict[str, Any]:
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
