"""Scripts beside the data that estimate tables from it, written from the plan alone."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from pramble.data.points import Points
from pramble.estimation.records import answerable
from pramble.mechanisms.measured_table import own_names
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.folder.files import SCRIPTS, file_sha256
from pramble.releasing.prepare.prepare import Prepared
from pramble.releasing.write.r_code import Unwritable, plan_code, r_text, r_vector

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
