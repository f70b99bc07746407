"""Copies of a release whose randomised values are drawn anew, for any software."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from pramble.data.reading import Reading
from pramble.errors import PrambleWarning
from pramble.estimation.draws.imputation import imputation
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.values import Watcher


def impute(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    *,
    copies: int = 20,
    seed: int | None = None,
    using: Sequence[str] | str | None = None,
    tables: int | str | Sequence[Any] | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> list[Any]:
    r"""Draw what the original records may have been, several times: multiple imputations.

    Each copy has its own law p, drawn from the posterior of all laws given the release. From it
    the original x of a record that shows z, with untouched values w, is drawn with

    .. math:: P(x \mid z, w) \propto p(w, x) \prod_B M_B[x_B, z_B]

    over the blocks B of the record's branch. Do with each copy whatever you would do with the
    original file, and put the answers together with :func:`pramble.combine`. Its intervals
    know of the randomisation, since the copies differ by as much as the release leaves open.

    It uses the release alone: the copies reveal nothing beyond it and cost no privacy.

    Parameters
    ----------
    data, plan
        As in :func:`pramble.estimate`: released records with the plan that they were randomised
        with, any branches and blocks; or an opened release alone.
    copies : int
        How many copies; 20 are enough for most purposes.
    seed : int, optional
        The same seed draws the same copies, and with more copies the same first ones; without
        one they differ from call to call.
    using : str or sequence of str, optional
        The untouched columns that originals are drawn given. **All that you will relate to a
        randomised column must be among them**, or the relation is attenuated. By default all
        columns of numbers and all with at most 50 categories; others are left out with a warning.
        Columns of more than ten numbers enter through eight classes.
    tables : int, "all", or list of tuples of columns, optional
        What the law may hold: all tables of so many columns (2: all pairs, so no interactions of
        three columns), or these, or the one of "all" columns. By default all columns together
        where they have few cells and the release tells them well, else pairs. Those that the plan
        cannot give are left out with a warning.
    reading : Reading or mapping, optional
        How to read a file.
    progress : callable, optional
        Is given a `pramble.Progress` now and then.

    Returns
    -------
    list of frames
        In the library of the data (pyarrow for files and mappings), the rows in their order.
        Randomised columns hold categories of the plan, and no blanks; all others are as they were.

    Notes
    -----
    The law is log-linear in its tables, given the untouched columns, with a flat prior. Law and
    originals are drawn in turn (:mod:`pramble.estimation.draws.chain`), from a start of its own for
    each copy.

    Examples
    --------
    >>> import pramble
    >>> frame = {"sex": ["f", "m"] * 100, "town": ["x"] * 60 + ["y"] * 140}
    >>> plan = {"sex": pramble.randomized_response(["f", "m"], 2.0)}
    >>> filled = pramble.impute(frame, plan, copies=5, seed=1)
    >>> len(filled), filled[0].column_names, filled[0]["town"].to_pylist() == frame["town"]
    (5, ['sex', 'town'], True)
    >>> shares = [one["sex"].to_pylist().count("f") / 200 for one in filled]
    >>> c = pramble.combine(shares, [p * (1 - p) / 200 for p in shares])
    >>> c.estimate.round(3), c.standard_errors.round(3)
    (array([0.5]), array([0.046]))
    """
    made = imputation(
        data,
        plan,
        copies=copies,
        seed=seed,
        using=using,
        tables=tables,
        reading=reading,
        progress=progress,
    )
    for note in made.notes:
        warnings.warn(note, PrambleWarning, stacklevel=2)
    return list(made.frames)
