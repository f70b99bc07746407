"""Scripts beside the data that estimate tables from it, written from the plan alone.

Labels may hold anything, so all but plain characters are escaped in R code.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import combinations, groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from pramble.data.arrays import text_of_label
from pramble.data.labels import Labels, label_keys
from pramble.estimation.records.channel_tables import answerable
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.channel import BranchView
from pramble.mechanisms.measured import own_names
from pramble.mechanisms.plan import Block, Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.mechanisms.uniform import UniformRows
from pramble.releasing.folder.layout import SCRIPTS, STEM, stated_file
from pramble.releasing.prepare import Prepared

PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - set('"\\')
WIDTH = 96

# Entries of a matrix, and what they take to write, up to which it stands in a script.
MOST_ENTRIES, MOST_CHARACTERS = 1_000_000, 1_000_000

# Cells of a block up to which a script in R holds them.
MOST_CELLS_HELD = 200_000


def r_text(text: str) -> str:
    r"""Return a text as R code: plain ASCII in quotes, everything else by its number.

    A backslash and a quote can end a text or begin an escape; neither stands in what is returned
    but in an escape of exactly one character, so no text can end itself.

    >>> print(r_text('say "é"\n'))
    "say \U{22}\U{e9}\U{22}\U{a}"
    """
    return '"' + "".join(c if c in PLAIN else f"\\U{{{ord(c):x}}}" for c in text) + '"'


def r_vector(parts: Iterable[str]) -> str:
    """Return parts of code as a vector, on lines of bounded width."""
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) > WIDTH:
            lines.append(line.rstrip())
            line = ""
        line += f"{part}, "
    return "c(" + "\n    ".join([*lines, line]).removesuffix(", ") + ")"


def r_list(parts: Iterable[str], *, indent: int = 2) -> str:
    inside = f",\n{' ' * indent}".join(parts)
    return f"list(\n{' ' * indent}{inside})"


class Unwritable(Exception):
    """A plan that a script in R cannot hold; says why."""


def plan_code(plan: Plan) -> dict[str, str]:
    views = plan.channel().views
    if len({frozenset(view.columns) for view in views}) < len(views):
        raise Unwritable("two branches of the plan show the same columns")
    columns = plan.column_labels()
    before = {name: own.labels for name, own in columns.items()}
    after = {name: own.outputs for name, own in columns.items()}
    codes = [
        {
            name: {key: place for place, key in enumerate(label_keys(own.values), 1)}
            for name, own in side.items()
        }
        for side in (before, after)
    ]
    written: dict[str, int] = {}
    places: dict[int, int] = {}
    for mechanism in (one for view in views for one in view.mechanisms):
        if id(mechanism) not in places:
            code = mechanism_code(mechanism)
            places[id(mechanism)] = written.setdefault(code, len(written) + 1)
    return {
        "categories": labels_code(before),
        "released": "categories" if after == before else labels_code(after),
        "mechanisms": r_list(written),
        "branches": r_list((branch_code(one, codes, places) for one in views), indent=4),
    }


def labels_code(labels: Mapping[str, Labels]) -> str:
    parts = []
    for name, own in labels.items():
        # As a text file has them, with ends of lines as R reads them.
        texts = [re.sub("\r\n?", "\n", text_of_label(label) or "") for label in own.values]
        if len(set(texts)) < len(texts) or any("\x00" in text for text in texts):
            raise Unwritable(f"column {name!a} has labels that look alike as text")
        parts.append(r_vector(map(r_text, texts)))
    return f"setNames({r_list(parts)},\n  {r_vector(map(r_text, labels))})"


def mechanism_code(mechanism: Mechanism) -> str:
    """Return a mechanism: two numbers for each row, or its matrix; NULL where it is too large."""
    whole = "2^53"
    if isinstance(mechanism, UniformRows):
        off, d = mechanism.off.tolist(), (mechanism.keep - mechanism.off).tolist()
        return f"list(off = {r_numbers(off)} / {whole},\n    d = {r_numbers(d)} / {whole})"
    cells, outputs = mechanism.shape
    if cells * outputs > MOST_ENTRIES:
        return "NULL"
    weights = r_numbers(mechanism.weights.reshape(-1).tolist())
    if len(weights) > MOST_CHARACTERS:
        return "NULL"
    return f"matrix({weights}, {cells}, {outputs}, byrow = TRUE) / {whole}"


def r_numbers(given: Iterable[int]) -> str:
    """Return whole numbers as a vector, by runs of the same where that is shorter.

    >>> r_numbers([7, 7, 7]), r_numbers([1, 2, 2, 2, 2]), r_numbers([1, 2])
    ('rep(7, 3)', 'rep(c(1, 2), c(1, 4))', 'c(1, 2)')
    """
    listed = list(given)
    runs = [(one, len(list(same))) for one, same in groupby(listed)]
    if 2 * len(runs) >= len(listed):
        return r_vector(map(str, listed))
    if len(runs) == 1:
        return f"rep({listed[0]}, {len(listed)})"
    values, times = (r_vector(map(str, side)) for side in zip(*runs, strict=True))
    return f"rep({values}, {times})"


def branch_code(
    view: BranchView, codes: Sequence[Mapping[str, Mapping[Any, int]]], places: Mapping[int, int]
) -> str:
    before, after = codes
    blocks = []
    for one in view.seen:
        cells = cells_code(one.columns, one.mechanism.labels, before, side="categories")
        outputs = cells_code(one.columns, one.mechanism.output_labels, after, side="released")
        blocks.append(
            f"list(columns = {r_vector(map(r_text, one.columns))}, "
            f"mechanism = {places[id(one.mechanism)]},\n"
            f"        cells = {cells},\n"
            f"        outputs = {outputs})"
        )
    return f"list(share = {view.share}, blocks = {r_list(blocks, indent=6)})"


def cells_code(
    block: Block, labels: Labels, known: Mapping[str, Mapping[Any, int]], *, side: str
) -> str:
    """Return the code of each column of a block in its cells, as a matrix with named columns."""
    names = r_vector(map(r_text, block))
    if len(labels) > MOST_CELLS_HELD:
        raise Unwritable(f"a block has {len(labels):,} cells")
    parts = list(zip(*labels.values, strict=True)) if len(block) > 1 else [labels.values]
    codes = np.array([
        [known[name][key] for key in label_keys(own)]
        for name, own in zip(block, parts, strict=True)
    ])  # fmt: skip
    sizes = [len(known[name]) for name in block]
    if len(labels) == math.prod(sizes) and np.array_equal(
        codes - 1, np.unravel_index(np.arange(len(labels)), sizes)
    ):
        return f"grid({names}, {side})"
    columns = ", ".join(r_numbers(own) for own in codes.tolist())
    return f"`colnames<-`(cbind({columns}), {names})"


# Pairs of columns that are looked at for a table to show first.
MOST_TRIED = 5

R_REFUSAL = """\
# Tables of this release are estimated by analysis.py: a script in R cannot hold its plan.
stop("This plan cannot be held in a script in R: ", {reason}, ". Take analysis.py.")
"""


def first_tables(plan: Plan) -> list[list[str]]:
    """Return the tables to show first: the first column, and the first two that are told together.

    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> first_tables(pramble.Plan({"a": m, "b": m, "c": m}))
    [['a'], ['a', 'b']]
    """
    found = []
    for size in (1, 2):
        tried = islice(combinations(plan.columns, size), MOST_TRIED)
        found += list(islice((list(table) for table in tried if answerable(plan, table)), 1))
    return found


def filled_template(template: str, **words: str) -> str:
    text = (files("pramble") / "resources" / template).read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda mark: words[mark[1]], text)


def r_vectors(tables: Iterable[Iterable[str]]) -> str:
    return f"list({', '.join(r_vector(map(r_text, table)) for table in tables)})"


def script_texts(plan: Plan, names: Sequence[str], *, rows: int) -> dict[str, str]:
    """Return the text of each script by its name; names and labels stand in it as escaped texts.

    ``names`` are those of all columns of the data file, in order.
    """
    shown = first_tables(plan)
    lines = "\n".join(f"    [{', '.join(map(ascii, table))}]," for table in shown)
    try:
        in_r = filled_template(
            "records.R.txt",
            shown=r_vectors(shown),
            rows=str(rows),
            file=r_text(STEM),
            columns=r_vector(map(r_text, names)),
            **plan_code(plan),
        )
    except Unwritable as error:
        in_r = R_REFUSAL.format(reason=r_text(str(error)))
    return dict(zip(SCRIPTS, (in_r, filled_template("records.py.txt", tables=lines)), strict=True))


def write_scripts(prepared: Prepared, folder: Path) -> list[dict[str, Any]]:
    plan = prepared.design.plan
    if isinstance(plan, TablePlan):
        shown = [list(table) for table in dict.fromkeys((plan.tables[0][:1], plan.tables[0]))]
        own = own_names(plan)
        names = r_vector(map(r_text, own))
        in_r = filled_template("tables.R.txt", first=r_vectors(shown), names=names)
        in_python = filled_template("tables.py.txt", first=ascii(shown), names=ascii(tuple(own)))
        texts = dict(zip(SCRIPTS, (in_r, in_python), strict=True))
    else:
        texts = script_texts(prepared.plan, prepared.names, rows=prepared.rows)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [stated_file(folder, name) for name in texts]
