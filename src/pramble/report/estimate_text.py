"""An estimate as a table for people: shares in per cent, with intervals."""

from pramble import numbers
from pramble.estimation.functionals.result import Estimate
from pramble.shown import Grid, shortened

# Rows that a terminal or a page shows; files have all.
MOST_ROWS = 200


def estimate_grid(answer: Estimate, *, hint: str = "") -> Grid:
    """Return the first cells of an estimate; ``hint`` says where the others are."""
    is_share = answer.quantity == "share" or "query" in answer.cells

    def text(value: float) -> str:
        if is_share:
            return numbers.percent(value, 2)
        return numbers.count(value) if answer.quantity == "count" else f"{value:,.4g}"

    figures = zip(
        answer.values, answer.standard_errors, answer.lower, answer.upper, strict=True
    )  # fmt: skip
    rows = [
        [*("(missing)" if one is None else str(one) for one in cell), *map(text, own)]
        for cell, own in zip(zip(*answer.cells.values(), strict=True), figures, strict=True)
    ]
    return Grid(
        f"{'Modelled: ' * answer.is_modelled}{answer.n:,.0f} records, "
        f"{100 * answer.level:g} % intervals",
        [*answer.cells, answer.quantity, "± se", "from", "to"],
        shortened(rows, MOST_ROWS, hint=hint),
        left=len(answer.cells),
        below=f"Intervals cover {answer.covers_what}.",
    )
