"""A first plan for a file: the commented TOML for the curator to edit."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pramble.data.reading import Reading
from pramble.errors import InvalidInput
from pramble.releasing.decisions.decisions import OUTPUTS
from pramble.releasing.decisions.looks import Look
from pramble.releasing.decisions.toml import toml_table, toml_value
from pramble.solvers.record.design_record import design_record

MOST_COLUMNS, MOST_BRANCHES, SECONDS = 20, 6, 3.0
MISSING = ("missing", "(missing)", "no answer", "empty cell")


def draft_decisions(
    looks: Sequence[Look],
    *,
    accepted: Collection[str],
    alpha: float = 2.0,
    reading: Reading | None = None,
    propose: bool = False,
) -> str:
    """Write a commented plan.

    The values seen in the file stand as categories of the columns in ``accepted``. The others get
    a placeholder, and the plan is refused until the curator has declared them. ``reading`` is how
    the file was read, to be read the same way again; ``propose`` adds which columns would be
    randomised together, by a search that ends by the clock.
    """
    suited = [look for look in looks if look.kind == "categorical"]
    others = [look for look in looks if look.kind != "categorical"]
    lines = [
        "# A plan for `pramble release FILE --plan THIS --out FOLDER`. Read it, edit it.",
        "",
        "# Privacy in total for each record, over all randomised columns (often called ε).",
        f"alpha = {toml_value(float(alpha))}",
        '# The tables that readers will want: of 1, 2 or 3 columns, "all", or a list such as',
        '# [["sex", "age"], ["region"]]. Fewer tables, or fewer columns, come out more precise.',
        "tables = 2",
        "# Each record shows some of its columns and leaves the others blank, as is best for the",
        "# tables; true keeps all columns of every record.",
        "whole = false",
        '# The matrices of the paper, a column at a time: design = "paper" in place of these two.',
        *(
            blocks_proposed({o.name: o.labels for o in suited if o.name in accepted}, alpha)
            if propose
            else ()
        ),
        '# Where probabilities come from: "private" (a noisy histogram that spends prior_share of',
        '# alpha), "uniform", or "public" with prior_file = … (a CSV of category,count or a file).',
        'prior = "private"',
        "prior_share = 0.02",
        f"# {', '.join(toml_value(name) for name in OUTPUTS)}",
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
    lines += file_lines(reading)
    for one in suited:
        lines += column_lines(one, accepted=one.name in accepted)
    lines += [
        "",
        "# Records that cannot occur, from public knowledge alone; never counted on this file:",
        "# [[possible]]",
        '# if = { AGE = ["0-14"] }',
        '# then = { MARST = ["never married"] }',
        '# repair = { MARST = "never married" }',
        "",
        "# Risk of re-identification before and after; keys are what an intruder may know:",
        "# [risk]",
        f"# keys = {toml_value([one.name for one in suited[:4]])}",
        "# population_size = 1000000",
        '# model = "two-way"',
    ]
    return "\n".join(lines) + "\n"


def blocks_proposed(labels: Mapping[str, Sequence[Any]], alpha: float) -> list[str]:
    """Say which columns would be randomised together for all pairs of columns, at an even prior.

    Nothing of the file is looked at but the categories that were accepted.
    """
    if not 2 <= len(labels) <= MOST_COLUMNS:
        return []
    try:
        best = design_record(labels, alpha, time_limit=SECONDS)
    except InvalidInput:
        return []
    branches = sorted(best.one_file.branches, key=lambda branch: -branch.share)
    shown = [
        f"#   {float(branch.share):.1%} of the records show "
        + "; ".join(" with ".join(block) for block in branch.blocks)
        for branch in branches[:MOST_BRANCHES]
    ]
    more = len(branches) - len(shown)
    return [
        "# With these categories, records that are all alike likely, and all pairs wanted:",
        *(toml_comment(line) for line in shown),
        *([f"#   … and {more} more ways"] if more else []),
        "# A release designs this anew, for its own prior.",
    ]


def toml_comment(line: str) -> str:
    """Return a line without what would end a comment."""
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def file_lines(reading: Reading | None) -> list[str]:
    """Write how a text file was read, so that nothing is found out anew."""
    if reading is None or reading.separator is None:
        return []
    names = ("separator", "quote", "encoding", "decimal", "missing", "quoted_missing", "trim")
    return [
        "",
        "# How the file is read, as it was found out.",
        "[file]",
        *toml_table({name: getattr(reading, name) for name in names}),
    ]


def missing_label(one: Look) -> str | int | bool:
    """Return a label for empty cells that no value has; true where labels are no texts."""
    if not all(isinstance(label, str) for label in one.labels):
        return True
    return next(word for word in MISSING if word not in one.labels)


def column_lines(one: Look, *, accepted: bool) -> list[str]:
    """Write the table of one categorical column."""
    lines = ["", f"[columns.{toml_value(one.name)}]  # {one.reason} seen"]
    if accepted:
        lines.append(f"categories = {toml_value(one.labels)}")
    else:
        lines.append("categories = []  # declare every possible value, in order")
    if one.empty:
        lines += [
            f"# {one.empty} cells are empty: this label makes them a category of their own",
            f"missing = {toml_value(missing_label(one))}",
        ]
    return lines
