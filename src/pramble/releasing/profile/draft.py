"""A first plan for a file: which columns it randomises, and the commented TOML to edit."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

from pramble.data.bands import band_labels
from pramble.data.labels import WHOLE
from pramble.data.reading import Reading
from pramble.errors import InvalidInput
from pramble.information.fisher import HALF_WIDTH
from pramble.releasing.profile.columns import Look
from pramble.releasing.profile.vocabulary import KEYS, key_of
from pramble.releasing.spec.document import toml_table, toml_value
from pramble.releasing.spec.spec import OUTPUTS
from pramble.words import several

MOST_CHOSEN = 8
"""More columns than these leave little but noise at the α of one release."""

LEAST_KEYS = 3
"""Columns known by their names from which on no others are taken to fill up."""

MOST_CATEGORIES = 40
"""Categories above which a column is left for the curator to merge."""


def size_of(look: Look) -> int:
    """Return how many categories are proposed for a column."""
    return len(look.bands.edges) if look.bands is not None else len(look.labels)


def chosen_columns(looks: Sequence[Look]) -> tuple[str, ...]:
    """Return the columns to randomise, in the order of the file.

    All that can be, if they are few; else those whose names an intruder's knowledge goes by (sex,
    age, region, …: one of each first), and without enough of them the first categorical ones.
    """
    fit = [look for look in looks if look.is_fit and size_of(look) <= MOST_CATEGORIES]
    if len(fit) <= MOST_CHOSEN:
        return tuple(look.name for look in fit)
    kinds = list(KEYS)
    seen: dict[str, int] = {}
    ranked = []
    for place, look in enumerate(fit):
        key = key_of(look.name)
        if key is not None:
            seen[key] = seen.get(key, 0) + 1
            ranked.append((seen[key], kinds.index(key), place, look.name))
    known = [name for *_, name in sorted(ranked)]
    if len(known) < LEAST_KEYS:
        others = [look.name for look in fit if look.labels and look.name not in known]
        known += others[: MOST_CHOSEN - len(known)]
    best = set(known[:MOST_CHOSEN])
    return tuple(look.name for look in fit if look.name in best)


def checked_choice(looks: Sequence[Look], wanted: Collection[str]) -> tuple[str, ...]:
    """Return the columns that the curator named; refuse those for which nothing can be proposed."""
    unfit = [
        f"Column {look.name!r} cannot be randomised as it is ({look.kind}: {look.reason}). Recode "
        "it in the file first, or leave it out of --columns."
        for look in looks
        if look.name in wanted and not look.can_be_randomised
    ]
    if unfit:
        raise InvalidInput("\n".join(unfit))
    return tuple(look.name for look in looks if look.name in wanted)


def noisy_pairs(looks: Sequence[Look], *, alpha: float, rows: int) -> tuple[int, int]:
    r"""Return how many tables of two columns would be noise, roughly, and how many there are.

    Each of :math:`t` tables is told by :math:`n/t` records. A cell of m evenly filled ones has
    then the variance of randomised response, or that of the best known scheme for many cells,
    :math:`4 e^\alpha t / ((e^\alpha - 1)^2 n)`, whichever is less; the table is noise if the 95 %
    interval is wider than :math:`1/m`. The release itself computes what its plan will do.

    >>> looks = [Look(name, "categorical", "", tuple(range(3))) for name in "abc"]
    >>> noisy_pairs(looks, alpha=2.0, rows=1000), noisy_pairs(looks, alpha=2.0, rows=100_000)
    ((3, 3), (0, 3))
    """
    sizes = [size_of(look) + bool(look.empty or look.marks) for look in looks]
    cells = [one * other for one, other in combinations(sizes, 2)]
    grows = math.exp(min(alpha, 50.0))
    noisy = 0
    for m in cells:
        lie = 1 / (grows + m - 1)
        response = (1 - 1 / m) / m / (lie * (grows - 1)) ** 2
        subset = 4 * grows / (grows - 1) ** 2
        error = math.sqrt(min(response, subset) * len(cells) / max(rows, 1))
        noisy += 2 * HALF_WIDTH * error > 1 / m
    return noisy, len(cells)


MISSING = ("missing", "(missing)", "no answer", "empty cell")
MOST_COMMENTED = 12
MOST_MEANINGS = 12
MOST_GAPS = 3
BARE = re.compile(r"[A-Za-z0-9_-]+")
OF_TEXT = ("separator", "quote", "encoding", "decimal", "missing", "quoted_missing", "trim")


def draft_plan(
    looks: Sequence[Look],
    *,
    accepted: Collection[str],
    columns: Collection[str] | None = None,
    alpha: float = 2.0,
    central: float | None = None,
    reading: Reading | None = None,
    rows: int | None = None,
    follows: Mapping[str, str] | None = None,
    tells: Mapping[str, str] | None = None,
) -> str:
    """Write a commented plan.

    ``columns`` are randomised (`pramble.releasing.profile.draft` proposes them) and all others
    dropped. With ``central`` the promise is towards readers alone. Categories and bands that come
    from the values of the file stand in the plan for the columns in ``accepted``. The others get a
    placeholder, and the plan is refused until the curator has declared them. ``reading`` is how the
    file was read, to be read the same way again; by the number of ``rows`` tables of one column are
    wanted where most pairs would be noise; ``follows`` and ``tells`` are what
    `pramble.releasing.profile.survey` found.
    """
    picked = set(chosen_columns(looks) if columns is None else columns)
    chosen = [look for look in looks if look.name in picked]
    others = [look for look in looks if look.name not in picked]
    spare = [look for look in others if look.is_fit]
    lines = [
        "# A plan for `pramble release FILE --plan THIS --out FOLDER`; --dry-run says beforehand",
        "# what the release will be worth. Read it, edit it.",
        "",
        *promise_lines(alpha, central),
        '# The tables that readers will want: of 1, 2 or 3 columns, "all", or a list such as',
        '# [["sex", "age"], ["region"]]. Fewer tables, or fewer columns, come out more precise.',
        *(["tables = 2"] if central else table_lines(chosen, alpha=alpha, rows=rows)),
        *([] if central else LOCAL_LINES),
        *drop_lines(others, tells or {}),
        *file_lines(reading),
    ]
    for one in chosen:
        lines += ["", *column_lines(one, accepted=one.name in accepted)]
        if other := (follows or {}).get(one.name):
            note = f"of {other!r} and this column one follows from the other, and may be left out"
            lines.append(f"# {toml_comment(note)}")
    if not chosen:
        lines += ["", "# No column was found to randomise: add tables [columns.NAME]."]
    lines += spare_lines([look for look in spare if look.name in accepted], of=len(spare))
    lines += risk_lines(chosen)
    return "\n".join(lines) + "\n"


LOCAL_LINES = (
    "# false: each record shows the columns that are best for the tables and leaves the others",
    "# blank; true: every record keeps all its columns.",
    "whole = false",
    '# Where probabilities come from: "private" (a noisy histogram that spends prior_share of',
    '# alpha), "uniform", or "public" with prior_file = … (a CSV of category,count or a file).',
    'prior = "private"',
    "prior_share = 0.02",
    f"# {', '.join(toml_value(name) for name in OUTPUTS)}",
    'output = "parquet"',
    "# Release the rows in a random order: in a sorted file a row's place tells its values.",
    "shuffle = true",
)


def promise_lines(alpha: float, central: float | None) -> list[str]:
    """Write what is promised, to whom, and what else could be."""
    if central is None:
        return [
            "# The promise to each record, over all randomised columns (often called ε): it holds",
            "# against everybody, also whoever handles the file before it is released. If it is",
            "# enough to protect against readers of the release: central = 1.0 and delta = 1e-6.",
            "# `pramble try FILE --plan THIS` compares both for this file.",
            f"alpha = {toml_value(float(alpha))}",
        ]
    return [
        "# The promise to each person against everybody who reads the release: protected tables,",
        "# with exact noise, and complete records drawn from them. It rests on trust in whoever",
        "# handles the file; a promise against them too is alpha = 2.0 in place of these two.",
        "# `pramble try FILE --plan THIS` compares both for this file.",
        f"central = {toml_value(float(central))}",
        "delta = 1e-6",
    ]


def table_lines(chosen: Sequence[Look], *, alpha: float, rows: int | None) -> list[str]:
    """Write which tables are wanted: of two columns, unless most of those would be noise."""
    noisy, pairs = (0, 0) if rows is None else noisy_pairs(chosen, alpha=alpha, rows=rows)
    if 2 * noisy <= pairs:
        return ["tables = 2"]
    return [
        f"# Here of single columns: by a rough guess {noisy} of the {pairs} tables of two columns",
        f"# would be noise with {several(rows or 0, 'row')} at this alpha; --dry-run tells it.",
        "tables = 1",
    ]


def drop_lines(others: Sequence[Look], tells: Mapping[str, str]) -> list[str]:
    """Write the columns that are left out, each with the reason."""
    listed = [
        f"  {toml_value(one.name)},  # {toml_comment(reason_dropped(one, tells.get(one.name)))}"
        for one in others
    ]
    note = [
        "# To randomise one that is marked “not chosen”, take it off and give it a table",
        "# [columns.NAME], or name all that you want in `pramble init FILE --columns NAME,NAME`.",
    ]
    return [
        "",
        "# Left out of the release. A column that you take off this list without giving it a table",
        "# [columns.NAME] is published as it is, without any protection.",
        *(note if any(one.is_fit for one in others) else ()),
        *(["drop = [", *listed, "]"] if others else ["drop = []"]),
    ]


def reason_dropped(one: Look, told: str | None) -> str:
    """Say what a dropped column is and why it is left out."""
    chosen = ", not chosen" if one.is_fit else ""
    many = one.is_fit and size_of(one) > MOST_CATEGORIES
    merge = "; too many to randomise, merge them into fewer" if many else ""
    as_it_is = "" if told is None else f"; as it is, it tells {told!r}"
    return f"{one.kind}{chosen}: {one.reason}{merge}{as_it_is}"


def toml_comment(line: str) -> str:
    """Return a line without what would end a comment."""
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def file_lines(reading: Reading | None) -> list[str]:
    """Write how a file was read, so that nothing is found out anew."""
    if reading is None:
        return []
    names = OF_TEXT if reading.separator is not None else ()
    said = {name: getattr(reading, name) for name in ("format", *names, "sheet")}
    table = {name: setting for name, setting in said.items() if setting is not None}
    if not table:
        return []
    return [
        "",
        "# How the file is read, as it was found out or said.",
        "[file]",
        *toml_table(table),
    ]


def missing_label(one: Look) -> str | int:
    """Return a label for empty cells that no value has."""
    if one.labels and all(type(label) is int for label in one.labels):
        return next(code for code in (-1, -9, -99, -999, -9999) if code not in one.labels)
    return next(word for word in MISSING if word not in one.labels)


def heading(one: Look) -> str:
    """Return the line that begins a column's table, with what is proposed for it."""
    name = one.name if BARE.fullmatch(one.name) else toml_value(one.name)
    values = several(len(one.labels), "value")
    said = f"{values} declared in the file" if one.declared else f"{values} seen{gaps(one.labels)}"
    if one.bands is not None:
        said = f"{one.reason}, in round bands"
    return f"[columns.{name}]  # {toml_comment(said)}"


def gaps(labels: Sequence[Any]) -> str:
    """Say which whole numbers between those seen were not, if they are few.

    >>> gaps([1, 2, 4]), gaps([1, 2, 3]), gaps(["a", "b"])
    (', 3 not: add it if it can occur', '', '')
    """
    if not labels or not all(WHOLE.fullmatch(str(label)) for label in labels):
        return ""
    seen = {int(label) for label in labels}
    if max(seen) - min(seen) > len(seen) + MOST_GAPS:
        return ""
    absent = sorted(set(range(min(seen), max(seen))) - seen)
    listed = ", ".join(map(str, absent))
    it = "it if it" if len(absent) == 1 else "those that"
    return f", {listed} not: add {it} can occur" if 0 < len(absent) <= MOST_GAPS else ""


def column_lines(one: Look, *, accepted: bool) -> list[str]:
    """Write the table of one column."""
    lines = [heading(one)]
    settled, has_empty = accepted or one.is_public, bool(one.empty or one.marks)
    if one.bands is not None:
        lines += band_lines(one, settled=settled)
    elif settled and has_empty and all(isinstance(label, bool) for label in one.labels):
        lines.append('categories = ["no", "yes"]')
        lines.append(f"merge = {toml_value({'no': [False], 'yes': [True]})}")
    elif settled:
        if one.meanings and len(one.meanings) <= MOST_MEANINGS:
            lines.append(f"# {toml_comment('; '.join(one.meanings))}")
        lines.append(f"categories = {toml_value(one.labels)}")
    else:
        lines.append("categories = []  # declare every possible value, in order")
    if one.trim:
        lines.append("trim = true  # blanks around values are taken off")
    if one.marks:
        lines.append(f"missing_values = {toml_value(one.marks)}  # these mean an empty cell")
    if has_empty:
        cells = f"{several(one.empty, 'cell')} {'is' if one.empty == 1 else 'are'} empty"
        said = cells if one.empty else "of empty cells"
        lines.append(f"missing = {toml_value(missing_label(one))}  # their label: {said}")
    return lines


def band_lines(one: Look, *, settled: bool) -> list[str]:
    """Write the bands of a column of numbers."""
    assert one.bands is not None
    if not settled:
        return ["bands = []  # increasing edges, such as [0, 10, 20, 50]; the last band is open"]
    edges = one.bands.edges
    labels = band_labels(edges)
    shown = labels if len(labels) <= 3 else (labels[0], labels[1], "…", labels[-1])
    known = "the usual ones" if one.bands.public else "round numbers of the size of the file's"
    lines = [f"bands = {toml_value(edges)}  # {', '.join(shown)}: {known}"]
    if one.bands.low:
        lines.insert(1, f"low = {toml_value(edges[0])}  # smaller numbers count as this one")
    return lines


def spare_lines(spare: Sequence[Look], *, of: int) -> list[str]:
    """Write tables of columns that were not chosen, as comments, where they are few."""
    if not spare or of > MOST_COMMENTED:
        return []
    lines = [
        "",
        "# Not chosen; to randomise one, take it off the drop list and uncomment its table:",
    ]
    for one in spare:
        if size_of(one) <= MOST_CATEGORIES:
            lines += [f"# {line}" for line in column_lines(one, accepted=True)]
    return lines if len(lines) > 2 else []


def risk_lines(chosen: Sequence[Look]) -> list[str]:
    """Write the tables that the curator may want besides, as comments."""
    known = [one.name for one in chosen if key_of(one.name)] or [one.name for one in chosen]
    return [
        "",
        "# Records that cannot occur, from public knowledge alone; never counted on this file:",
        "# [[possible]]",
        '# if = { age = ["0-14"] }',
        '# then = { marital = ["never married"] }',
        '# repair = { marital = "never married" }',
        "",
        "# Risk of re-identification before and after; keys are what an intruder may know:",
        "# [risk]",
        f"# keys = {toml_comment(toml_value(known[:4]))}",
        "# population_size = 1000000",
        '# weights = "…"    # columns of sampling weights and of households, for risks that go',
        '# household = "…"  # by them',
        '# model = "two-way"',
    ]
