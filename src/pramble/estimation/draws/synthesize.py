"""Complete records whose tables fit a release."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pramble.data.reading import Reading
from pramble.errors import PrambleWarning
from pramble.estimation.draws.synthesis import synthesis
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.values import Watcher


def synthesize(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    *,
    rows: int | None = None,
    seed: int | None = None,
    tables: int | Sequence[Any] = 2,
    columns: Sequence[str] | None = None,
    method: Literal["auto", "cells", "records"] = "auto",
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> Any:
    r"""Draw complete records whose tables fit a release.

    The law of the records is the one of largest entropy whose tables are those that the release
    tells, as nearly as it tells them:

    .. math:: \min_p \sum_k p_k \log p_k + \sum_{T, c \in T} \frac{(m_c(p) - t_c)^2}{2 s_c},

    with :math:`m_c(p)` the share of cell c of table T, :math:`t_c` what is estimated for it, and
    slack :math:`s_c` in proportion to its variance, none for tables that are known exactly. What a
    table says beyond its columns alone is first shrunk by how much of it is noise
    (:mod:`pramble.estimation.draws.tables`), so that a table of noise goes to independence.

    It uses the release alone: synthetic records reveal nothing beyond it and are as private as it
    is. They are no better either: intervals come from `pramble.estimate`, not from counting them.

    Parameters
    ----------
    data, plan
        As in :func:`pramble.estimate`: released records with the plan that they were randomised
        with, any branches and blocks; or an opened release alone.
    rows : int, optional
        How many records to draw; as many as the release has, unless given.
    seed : int, optional
        The same seed draws the same records; without one they differ from call to call.
    tables : int or list of tuples of columns
        What is fitted: all tables of so many columns (2: all pairs), or these, and all smaller ones
        within. Those that the plan cannot give are left out with a warning. Single columns always
        fit.
    columns : sequence of str, optional
        The columns of the records. By default those of the plan and every untouched one with at
        most 200 values; others are left out with a warning. Untouched columns are columns like any
        other, whose tables are known exactly.
    method : {"auto", "cells", "records"}
        How the records are drawn. From an array of the law over all cells ("cells", up to
        20 million of them), with every cell's expected number rounded down or up, so that tables
        are nearer than independent draws would make them. Or ("records") along a tree of pairs,
        and then changed one by one until all tables fit (:mod:`pramble.estimation.draws.walk`).
    reading : Reading or mapping, optional
        How to read a file.
    progress : callable, optional
        Is given a `pramble.Progress` now and then.

    Returns
    -------
    frame
        In the library of the data; pyarrow otherwise. No value is blank because a record's branch
        left it out.

    Examples
    --------
    >>> import pramble
    >>> frame = {"sex": ["f", "m"] * 100, "town": ["x"] * 60 + ["y"] * 140}
    >>> plan = {"sex": pramble.randomized_response(["f", "m"], 2.0)}
    >>> s = pramble.synthesize(frame, plan, rows=1000, seed=1)
    >>> s.num_rows, s.column_names, s["town"].to_pylist().count("x")
    (1000, ['sex', 'town'], 300)
    """
    made = synthesis(
        data,
        plan,
        rows=rows,
        seed=seed,
        tables=tables,
        columns=columns,
        method=method,
        reading=reading,
        progress=progress,
    )
    for note in made.notes:
        warnings.warn(note, PrambleWarning, stacklevel=2)
    return made.frame
