"""Scripts beside the data that estimate tables from it, written from the plan alone.

Labels may hold anything, so all but plain characters are escaped in R code.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import combinations, groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from pramble.data.arrays import text_of
from pramble.data.bands import Points
from pramble.data.labels import Label, Labels, label_keys
from pramble.estimation.inverse.branches import answerable
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.measured_table import own_names
from pramble.mechanisms.plan import Block, Branch, Plan
from pramble.mechanisms.separate import separate_blocks
from pramble.mechanisms.table_plan import TablePlan
from pramble.mechanisms.uniform import UniformRows
from pramble.releasing.folder.layout import SCRIPTS, STEM, file_sha256
from pramble.releasing.prepare import Prepared

PLAIN = frozenset(map(chr, range(0x20, 0x7F))) - set('"\\')
WIDTH = 96
MOST_ENTRIES, MOST_CHARACTERS = 1_000_000, 1_000_000
"""Entries of a matrix, and what they take to write, up to which it stands in a script."""

MOST_CELLS_HELD = 200_000
"""Cells of a block up to which a script in R holds them."""


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
    """Return parts of code as a list, a line each."""
    inside = f",\n{' ' * indent}".join(parts)
    return f"list(\n{' ' * indent}{inside})"


def shown_text(label: Label) -> str:
    """Return the text of a label as a text file has it, with ends of lines as R reads them."""
    return (text_of(label) or "").replace("\r\n", "\n").replace("\r", "\n")


class Unwritable(Exception):
    """A plan that a script in R cannot hold; says why."""


def plan_code(plan: Plan, names: Sequence[str], *, rows: int, points: Mapping[str, Points]) -> str:
    """Return the plan of a release, and the columns of its data file, as R code."""
    plan = separate_blocks(plan)
    refuse_same_columns(plan)
    columns = plan.column_labels()
    before = {name: own.labels for name, own in columns.items()}
    after = {name: own.outputs for name, own in columns.items()}
    written: dict[str, int] = {}
    places: dict[int, int] = {}
    for mechanism in (m for branch in plan.branches for m in branch.blocks.values()):
        if id(mechanism) not in places:
            code = mechanism_code(mechanism)
            places[id(mechanism)] = written.setdefault(code, len(written) + 1)
    lines = [
        f"rows <- {rows}",
        "",
        "# What each randomised column may be, and what it may be released as, in order.",
        f"categories <- {labels_code(before)}",
        f"released <- {'categories' if after == before else labels_code(after)}",
        "",
        "# Columns whose bands are written as numbers: where each band begins.",
        f"numbers <- {points_code(points)}",
        "",
        "# A mechanism is a matrix: a row for each true value, a column for each released one.",
        "# With `off` and `d` it is off[x] everywhere in row x, and d[x] more on the diagonal.",
        f"mechanisms <- {r_list(written)}",
        "",
        "# The data. A record goes through one branch, drawn with the branch's share; there each",
        "# block of columns is randomised by its mechanism, and other columns are left blank.",
        f"records <- {records_code(plan, names, before=before, after=after, places=places)}",
    ]
    return "\n".join(lines)


def points_code(points: Mapping[str, Points]) -> str:
    """Return the bands of columns that are written as numbers, as a named list."""
    if not points:
        return "list()"
    parts = [
        f"list(labels = {r_vector(map(r_text, one.labels))},\n"
        f"    edges = {r_vector(repr(float(edge)) for edge in one.edges[:-1])})"
        for one in points.values()
    ]
    return f"setNames({r_list(parts)},\n  {r_vector(map(r_text, points))})"


def refuse_same_columns(plan: Plan) -> None:
    """Refuse branches that nobody can tell apart."""
    if len({frozenset(branch.columns) for branch in plan.branches}) < len(plan.branches):
        raise Unwritable("two branches of the plan show the same columns")


def labels_code(labels: Mapping[str, Labels]) -> str:
    """Return the labels of columns as a named list of texts."""
    parts = []
    for name, own in labels.items():
        texts = [shown_text(label) for label in own.values]
        if len(set(texts)) < len(texts) or any("\x00" in text for text in texts):
            raise Unwritable(f"column {name!a} has labels that look alike as text")
        parts.append(r_vector(map(r_text, texts)))
    return f"setNames({r_list(parts)},\n  {r_vector(map(r_text, labels))})"


def mechanism_code(mechanism: Mechanism) -> str:
    """Return a mechanism: two numbers for each row, or its matrix; NULL where it is too large."""
    whole = f"2^{mechanism.bits}"
    if isinstance(mechanism, UniformRows):
        off, d = mechanism.off.tolist(), (mechanism.keep - mechanism.off).tolist()
        return f"list(off = {numbers(off)} / {whole},\n    d = {numbers(d)} / {whole})"
    cells, outputs = mechanism.shape
    if cells * outputs > MOST_ENTRIES:
        return "NULL"
    weights = numbers(mechanism.weights.reshape(-1).tolist())
    if len(weights) > MOST_CHARACTERS:
        return "NULL"
    return f"matrix({weights}, {cells}, {outputs}, byrow = TRUE) / {whole}"


def numbers(given: Iterable[int]) -> str:
    """Return whole numbers as a vector, by runs of the same where that is shorter.

    >>> numbers([7, 7, 7]), numbers([1, 2, 2, 2, 2]), numbers([1, 2])
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


def records_code(
    plan: Plan,
    names: Sequence[str],
    *,
    before: Mapping[str, Labels],
    after: Mapping[str, Labels],
    places: Mapping[int, int],
) -> str:
    """Return the data file and the branches of its plan."""
    codes = [
        {name: place_of(own.values) for name, own in before.items()},
        {name: place_of(own.values) for name, own in after.items()},
    ]
    branches = [branch_code(branch, codes, places) for branch in plan.branches]
    return (
        f"list(file = {r_text(STEM)}, columns = {r_vector(map(r_text, names))},\n"
        f"   branches = {r_list(branches, indent=4)})"
    )


def place_of(labels: Sequence[Label]) -> dict[Any, int]:
    """Return the place of each label, from 1."""
    return {key: place for place, key in enumerate(label_keys(labels), 1)}


def branch_code(
    branch: Branch, codes: Sequence[Mapping[str, Mapping[Any, int]]], places: Mapping[int, int]
) -> str:
    """Return a branch: its share and its blocks."""
    before, after = codes
    blocks = [
        f"list(columns = {r_vector(map(r_text, block))}, mechanism = {places[id(m)]},\n"
        f"        cells = {cells_code(block, m.labels, before, side='categories')},\n"
        f"        outputs = {cells_code(block, m.output_labels, after, side='released')})"
        for block, m in branch.blocks.items()
    ]
    return f"list(share = {branch.share}, blocks = {r_list(blocks, indent=6)})"


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
    columns = ", ".join(numbers(own) for own in codes.tolist())
    return f"`colnames<-`(cbind({columns}), {names})"


MOST_TRIED = 5
"""Pairs of columns that are looked at for a table to show first."""

PYTHON = '''\
"""What this release says of the original records: tables with 95 % intervals.

Run it with Python where pramble is installed. To change it, copy it first: the manifest states its
SHA-256, and `pramble.open_release(..., verify=KEY)` refuses a folder whose scripts were changed.
"""

from pathlib import Path

import pramble

# Opening checks the folder: hashes, the plan, what was spent, and every released value.
release = pramble.open_release(Path(__file__).resolve().parent)
print(release)

# Shares among the original records, by maximum likelihood; method="inverse" is unbiased.
TABLES = [
{tables}
]
for columns in TABLES:
    print()
    print(pramble.estimate(release, by=columns))
'''

R_HEAD = """\
# What this release says of the original records: tables with standard errors, in base R.
#
#   Rscript analysis.R                       the tables of `shown_first`
#   Rscript analysis.R COLUMN [COLUMN ...]   the table of these randomised columns
#
# The columns were randomised by the plan below, which is public; nothing here is confidential.
# Shares of the original records are estimated without bias by the inverse of the plan, from all
# branches that tell something of the table, weighed by how much they tell; and fitted by maximum
# likelihood, or minimum chi-square where the likelihood has too many cells. Standard errors count
# sampling and randomisation. Text files are read by base R, Parquet through the package arrow.

shown_first <- {shown}

# Codes of all combinations of the labels of some columns, those of the last running fastest.
grid <- function(names, labels = categories) {{
  codes <- as.matrix(rev(expand.grid(rev(lapply(labels[names], seq_along)))))
  dimnames(codes) <- list(NULL, names)
  codes
}}

# ---- The plan ------------------------------------------------------------------------------------

"""

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
    pairs = islice(combinations(plan.columns, 2), MOST_TRIED)
    singles = ((name,) for name in plan.columns[:MOST_TRIED])
    found = []
    for tables in (singles, pairs):
        told = (list(table) for table in tables if answerable(plan, table))
        found += list(islice(told, 1))
    return found


def script_texts(
    plan: Plan,
    names: Sequence[str],
    *,
    rows: int,
    points: Mapping[str, Points] | None = None,
) -> dict[str, str]:
    """Return the text of each script by its name; names and labels stand in it as escaped texts.

    ``names`` are those of all columns of the data file, in order.
    """
    shown = first_tables(plan)
    lines = "\n".join(f"    [{', '.join(map(ascii, table))}]," for table in shown)
    body = (files("pramble") / "resources" / "analysis.R").read_text(encoding="utf-8")
    try:
        tables = ", ".join(r_vector(map(r_text, table)) for table in shown)
        head = R_HEAD.format(shown=f"list({tables})")
        in_r = f"{head}{plan_code(plan, names, rows=rows, points=points or {})}\n\n{body}"
    except Unwritable as error:
        in_r = R_REFUSAL.format(reason=r_text(str(error)))
    return dict(zip(SCRIPTS, (in_r, PYTHON.format(tables=lines)), strict=True))


def table_scripts(plan: TablePlan) -> dict[str, str]:
    """Return the scripts that rebuild protected tables: a page each, in R and in Python."""
    tables = [list(plan.tables[0][:1]), list(plan.tables[0])]
    shown = [table for i, table in enumerate(tables) if table not in tables[:i]]
    in_r = f"list({', '.join(r_vector(map(r_text, table)) for table in shown)})"
    in_python = ascii(shown)
    own = own_names(plan)
    told = {
        "tables.R.txt": {"first": in_r, "names": r_vector(map(r_text, own))},
        "tables.py.txt": {"first": in_python, "names": ascii(tuple(own))},
    }
    folder = files("pramble") / "resources"
    return {
        name: (folder / source).read_text(encoding="utf-8").format(**words)
        for name, (source, words) in zip(SCRIPTS, told.items(), strict=True)
    }


def write_scripts(job: Prepared, folder: Path) -> list[dict[str, Any]]:
    """Write the scripts, and return what the manifest says of each."""
    if job.protected is not None:
        texts = table_scripts(job.protected.plan)
    else:
        texts = script_texts(job.plan, job.names, rows=job.rows, points=job.points)
    found = []
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, encoding="utf-8", newline="\n")
        found.append({"file": name, "bytes": path.stat().st_size, "sha256": file_sha256(path)})
    return found
