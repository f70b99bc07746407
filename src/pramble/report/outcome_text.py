"""What there is to say of a release, in sentences and tables: for terminals, the app and pages."""

from collections.abc import Iterator, Sequence
from typing import Any

from pramble import numbers
from pramble.estimation.functionals.result import Estimate
from pramble.information.accuracy import TableOutcome, Verdict, verdict_of, worst_first
from pramble.outcome import ProtectedOutcome, RecordOutcome, ReleaseOutcome
from pramble.privacy.promise import CentralPromise
from pramble.shown import Grid, shortened

# Tables whose precision is listed; the least precise say what a release cannot do.
MOST_TABLES = 20
# Chosen tables that are named in a sentence.
MOST_NAMED = 6


def release_text(outcome: ReleaseOutcome, *, hint: str = "") -> Iterator[str | Grid]:
    """Yield who is protected, what is done to the file, how precise tables will be, and risk."""
    yield outcome.unit.sentence()
    if outcome.protected is not None:
        yield from protected_sentences(outcome.protected)
    elif outcome.record is not None:
        yield from plan_sentences(outcome.record)
        yield f"Prior: {outcome.record.prior_detail}"
    else:
        yield column_grid(outcome)
    if outcome.tables:
        yield precision_grid(outcome.tables, hint=hint)
        yield from verdict_sentences(verdict_of(outcome.tables))
    if risk := outcome.risk:
        before, after = numbers.expected(risk.tau2_before), numbers.expected(risk.tau2_after)
        yield (
            f"Risk ({risk.model}, {risk.sample_uniques:,} sample uniques): expected right matches "
            f"{before} before, {after} after."
        )


def verdict_sentences(verdict: Verdict) -> list[str]:
    """Say what the tables are good for, and what they are not."""
    return [verdict.good or "Nothing useful is left.", *filter(None, [verdict.bad])]


def column_grid(outcome: ReleaseOutcome) -> Grid:
    rows = [
        [
            c.name, c.prior_source, f"{c.alpha:.4g}", numbers.percent(c.change_expected),
            numbers.share_text(c.retained), numbers.share_text(c.share),
        ]
        for c in outcome.columns
    ]  # fmt: skip
    head = ("column", "prior", "α", "changed", "information kept", "of the most possible")
    return Grid("", head, rows, left=2)


def precision_grid(tables: Sequence[TableOutcome], *, hint: str = "") -> Grid:
    """Return how precise tables will be, the worst first; those that are noise are called so."""
    is_noisy = any(one.noise == one.noise for one in tables)
    rows = [
        [
            row["name"],
            *([f"± {numbers.few_digits(one.noise)}"] if is_noisy else []),
            row["error"], row["typical"], row["cells"], "noise" if row["bad"] else row["group"],
        ]
        for one, row in ((one, table_row(one)) for one in worst_first(tables))
    ]  # fmt: skip
    noise = ["noise, people a cell"] if is_noisy else []
    head = ["table", *noise, "95 % interval", "typical cell", "cells", "smallest group"]
    title = "Expected precision of tables, least precise first"
    return Grid(title, head, shortened(rows, MOST_TABLES, hint=hint))


def table_row(table: TableOutcome) -> dict[str, Any]:
    estimable = table.text != "cannot be told"
    return {
        "name": table.name,
        "cells": numbers.count(table.cells),
        "typical": f"{100 * table.typical:.2g} %",
        "error": table.text,
        "group": numbers.rounded(table.smallest_group) if estimable else "—",
        "bad": table.useless,
    }


def headline_figures(outcome: ReleaseOutcome, verdict: Verdict | None) -> list[tuple[str, str]]:
    """Return the figures that head a release, each with what it is."""
    promise, about = outcome.guarantee, f"α: the promise to each {outcome.unit.noun}"
    if isinstance(promise, CentralPromise):
        about = f"ε against readers, at δ = {numbers.tiny(promise.shown_delta)}"
    shown = [(numbers.alpha_text(promise.shown), about)]
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
    return shown


def names_in_words(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]


def _closely(gap: float) -> str:
    """Say how nearly that is proven, where it matters.

    >>> _closely(1e-9), _closely(0.0077)
    ('', ' by more than 0.8 %')
    """
    return "" if gap < 1e-4 else f" by more than {100 * gap:.1g} %"


def choice_sentence(outcome: ProtectedOutcome) -> str:
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
    if outcome.fit is not None:
        found.append(
            "The complete records were drawn from these tables alone. Their tables are "
            f"± {numbers.rounded(outcome.fit)} people a cell from the protected ones on average."
        )
    return found


def plan_sentences(record: RecordOutcome) -> list[str]:
    if not record.plan.is_split:
        joint = [" with ".join(block) for block, _ in record.plan.mechanisms() if len(block) > 1]
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
