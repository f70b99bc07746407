"""A first plan for a file: every column looked at, the commented TOML for the curator to edit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pramble.releasing.toml import toml_value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pramble.releasing.source import Source

MOST_LABELS = 200
MOST_INTEGERS = 60
LONG_TEXT = 40
IDENTIFIER = re.compile(
    r"(^|_)(id|uuid|guid|ssn|nin|name|surname|forename|email|e_mail|phone|tel|address|passport|"
    r"licen[cs]e|account|iban)(_|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Look:
    """What a column looks like.

    Attributes
    ----------
    name : str
    kind : str
        "categorical", "identifier", "free text", "numeric", "date", "constant" or "unsuited".
    reason : str
        Why, for the curator.
    labels : tuple
        The values that occur, sorted, of a categorical column.
    empty : int
        Number of empty cells.
    """

    name: str
    kind: str
    reason: str
    labels: tuple[Any, ...] = ()
    empty: int = 0


def look_at(source: Source) -> list[Look]:
    """Look at every column of a file, and say what it seems to be."""
    import pyarrow as pa

    def whole(name: str) -> Any:
        kind = source.schema().field(name).type
        return pa.chunked_array([batch.column(0) for batch in source.batches([name])], type=kind)

    return [look(name, whole(name), csv=source.format == "csv") for name in source.names]


def look(name: str, column: Any, *, csv: bool) -> Look:
    """Judge one column by its name, its type and its values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if csv:
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    rows, empty = len(column), column.null_count
    kind = column.type
    if pa.types.is_temporal(kind):
        return Look(name, "date", "dates are not randomised; group them into labels first")
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (text or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        is_number = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        return Look(name, "numeric" if is_number else "unsuited", f"its type is {kind}")
    found = column.drop_null().unique()
    distinct = len(found)
    if distinct < 2:
        return Look(name, "constant", "it has fewer than two values", empty=empty)
    if IDENTIFIER.search(name) and distinct > MOST_INTEGERS:
        return Look(name, "identifier", f"by its name, and {distinct} distinct values")
    if rows > 20 and distinct > 0.9 * (rows - empty):
        return Look(name, "identifier", f"{distinct} distinct values in {rows} rows")
    if not text and distinct > MOST_INTEGERS:
        return Look(name, "numeric", f"whole numbers with {distinct} distinct values")
    if text and pc.mean(pc.utf8_length(found)).as_py() > LONG_TEXT:
        return Look(name, "free text", "its values are long")
    if text and distinct > MOST_LABELS:
        numbers = csv and numeric_text(found)
        return Look(
            name, "numeric" if numbers else "free text", f"{distinct} distinct values", empty=empty
        )
    labels = tuple(sorted(found.to_pylist()))
    return Look(name, "categorical", f"{distinct} values", labels, empty)


def numeric_text(values: Any) -> bool:
    """Whether all texts are numbers."""
    import pyarrow as pa

    try:
        values.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def draft_plan(looks: Sequence[Look], *, accepted: Collection[str], alpha: float = 2.0) -> str:
    """Write a commented plan.

    Parameters
    ----------
    looks : sequence of Look
        What `look_at` found.
    accepted : collection of str
        Columns whose values seen in the file may stand as their categories. The others get a
        placeholder, and the plan is refused until the curator has declared them.
    alpha : float
        α in total.

    Returns
    -------
    str
        A TOML document.
    """
    suited = [look for look in looks if look.kind == "categorical"]
    others = [look for look in looks if look.kind != "categorical"]
    lines = [
        "# A plan for `pramble release FILE --plan THIS --out FOLDER`. Read it, edit it.",
        "",
        "# Privacy in total for each record, over all randomised columns (often called ε).",
        f"alpha = {toml_value(float(alpha))}",
        '# How it is divided: "equal", "weights" (weight = … in a column) or "optimal".',
        'split = "equal"',
        '# Where probabilities come from: "private" (a noisy histogram that spends prior_share of',
        '# alpha), "uniform", or "public" with prior_file = … (a CSV of category,count or a file).',
        'prior = "private"',
        "prior_share = 0.02",
        '# "parquet" or "csv"',
        'output = "parquet"',
        "# Release the rows in a random order: in a sorted file a row's place tells its values.",
        "shuffle = true",
        "",
        "# Left out of the release. These are not randomised; a column that you take off this list",
        "# is published as it is, without any protection.",
        "drop = [",
        *(f"  {toml_value(look.name)},  # {look.kind}: {look.reason}" for look in others),
        "]",
    ]
    for one in suited:
        lines += column_lines(one, accepted=one.name in accepted)
    lines += [
        "",
        "# Risk of re-identification before and after; keys are what an intruder may know:",
        "# [risk]",
        f"# keys = {toml_value([one.name for one in suited[:4]])}",
        "# population_size = 1000000",
        '# model = "two-way"',
    ]
    return "\n".join(lines) + "\n"


def column_lines(one: Look, *, accepted: bool) -> list[str]:
    """Write the table of one categorical column."""
    lines = ["", f"[columns.{toml_value(one.name)}]  # {one.reason} seen"]
    if accepted:
        lines.append(f"categories = {toml_value(one.labels)}")
    else:
        lines.append("categories = []  # declare every possible value, in order")
    if one.empty:
        lines += [
            f"# {one.empty} cells are empty: true makes them a category of their own",
            "missing = true",
        ]
    lines.append("# more: family, objective, invariant, estimable, weight, prior")
    return lines
