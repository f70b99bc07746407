"""Which promise: several of them side by side for one file, and nothing written."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramble.data.frames import Tidy
from pramble.data.reading import Reading
from pramble.errors import InvalidInput, PrambleError, PrivacyError
from pramble.releasing.decisions.decisions import Decisions
from pramble.releasing.trials import DELTA, Candidate, Trials
from pramble.report import numbers
from pramble.shown import Display, Grid
from pramble.values import Clock, Watcher, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHAS, CENTRALS = (0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 1.0, 2.0)
PEEK = (
    "A promise that is chosen by looking at the file says something of it that no promise covers: "
    "choose by what people are owed, or try on a public file that is like it."
)


@value(eq=False, repr=False)
class Candidates(Display, Tidy):
    """Promises side by side; :func:`try_release` returns them.

    Attributes
    ----------
    found : tuple of Candidate
    notes : tuple of str

    Examples
    --------
    >>> import pramble
    >>> people = {"sex": ["f", "m"] * 500}
    >>> found = pramble.try_release(people, columns="sex", alphas=[2.0], centrals=[])
    >>> found.to_arrow()["belief"].to_pylist()[0] <= 0.89
    True
    """

    found: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.found)

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        names = (
            "kind", "promise", "belief", "half_width", "noise", "wanted", "right_before",
            "right_after",
        )  # fmt: skip
        return {name: [getattr(one, name) for one in self.found] for name in names}

    def shown(self) -> Grid:
        """Return a line for each promise."""
        head = ["promise", "half sure becomes", "typical cell", "noise", "right matches"]
        rows = [
            [
                f"{one.name}{' (readers)' if one.kind == 'central' else ''}",
                f"{numbers.sure(one.belief)} at most",
                f"± {numbers.points(one.half_width)} points"
                if math.isfinite(one.half_width)
                else "cannot be told",
                f"{one.noise} of {one.wanted} tables",
                ""
                if math.isnan(one.right_after)
                else f"{numbers.expected(one.right_before)} → {numbers.expected(one.right_after)}",
            ]
            for one in self.found
        ]
        if all(math.isnan(one.right_after) for one in self.found):
            head, rows = head[:-1], [row[:-1] for row in rows]
        best = [one for one in self.found if not one.verdict.is_noise]
        below = "\n".join(f"{one.name}: {one.verdict.good}" for one in best)
        return Grid("Promises side by side; nothing was written", head, rows,
                    notes=self.notes, below=below)  # fmt: skip

    def plot(self) -> "Figure":
        """Return a figure: what readers get against what an intruder may learn."""
        from pramble.plots.candidates import candidates_figure

        return candidates_figure(self.found)


def try_release(
    source: Any,
    *,
    plan: str | Path | Decisions | Mapping[str, Any] | None = None,
    columns: Sequence[str] | str | None = None,
    alphas: Sequence[float] | None = None,
    centrals: Sequence[float] | None = None,
    delta: float = DELTA,
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
    **settings: Any,
) -> Candidates:
    """Compare promises for a file, as `pramble.release` would keep them; nothing is written.

    For each α (towards whoever handles the file or the release) and each central ε (towards those
    who only read it) a plan is designed, and valued by the one yardstick of every release: half of
    the 95 % interval of a typical cell.

    Parameters
    ----------
    source : path, frame, reader or mapping
        The confidential records.
    plan : str, Path, Decisions or mapping, optional
        A plan, whose promise is replaced by each candidate.
    columns : sequence of str
        The columns to randomise; with a plan, some of its columns.
    alphas, centrals : sequences of float, optional
        Candidates; by default 0.5, 1, 2, 4 and 8, and where every other column is dropped also the
        central 0.5, 1 and 2.
    delta : float
        δ of the central ones.
    reading, progress, **settings
        As of `pramble.release`.

    Returns
    -------
    Candidates

    Examples
    --------
    >>> import pramble
    >>> people = pramble.datasets.synthetic_new_york(2000).select(["SEX", "MARST"])
    >>> found = pramble.try_release(people, columns=["SEX", "MARST"], alphas=[1.0, 4.0],
    ...                             centrals=[], prior="uniform")
    >>> first, second = found
    >>> first.half_width > second.half_width, first.belief < second.belief
    (True, True)
    """
    clock = Clock(progress)
    if plan is None and columns is None:
        raise InvalidInput("A try needs a plan, or a list of columns.")
    asked = [("local", alpha) for alpha in (ALPHAS if alphas is None else alphas)]
    asked += [("central", one) for one in (CENTRALS if centrals is None else centrals)]
    trials = Trials(
        source, plan=plan, columns=columns, delta=delta, reading=reading, settings=settings
    )
    for kind, promise in asked:  # all are checked before the first is tried, which may take long
        trials.decisions(kind, promise)
    found, notes = [], [PEEK]
    for number, (kind, promise) in enumerate(asked):
        clock.tell(f"trying {'α' if kind == 'local' else 'ε'} = {promise:g}", number / len(asked))
        try:
            found.append(trials.candidate(kind, promise))
        except PrambleError as error:
            if centrals is not None or kind == "local" or not isinstance(error, PrivacyError):
                raise
            notes.append("Central promises were not tried: some columns are released as they are.")
            break
    clock.tell("done", 1.0)
    return Candidates(tuple(found), tuple(notes))
