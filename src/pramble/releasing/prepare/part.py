"""The files of a release: one, or a view each, and each in one piece or several."""

from collections.abc import Sequence

from pramble.errors import InvalidPlan
from pramble.limits import MOST_PIECES
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.views import Views
from pramble.values import value
from pramble.words import several

VIEWS = "views"
"""The folder of views in a release."""


@value
class Part:
    """One data file: its name in the folder, what is done to its records, and its columns.

    Attributes
    ----------
    stem : str
        Path in the release folder, without the ending.
    ending : str
        The ending of the file, or of its pieces.
    plan : Plan
    names : tuple of str
        Every column, in order.
    view : str
        The name of the view; empty for the only file.
    rows_per_file : int or None
        How many rows each piece has; None for a single file.
    """

    stem: str
    ending: str
    plan: Plan
    names: tuple[str, ...]
    view: str = ""
    rows_per_file: int | None = None

    @property
    def file(self) -> str:
        """Path in the release folder: of the file, or of the folder of its pieces."""
        return self.stem if self.rows_per_file else f"{self.stem}{self.ending}"

    def files(self, rows: int) -> list[str]:
        """Return the path of the file, or of each of the pieces that so many rows take.

        >>> import pramble
        >>> m = pramble.randomized_response(["no", "yes"], 1.0)
        >>> Part("data", ".csv", pramble.Plan({"a": m}), ("a",), rows_per_file=131072).files(150000)
        ['data/part-00000.csv', 'data/part-00001.csv']
        """
        if self.rows_per_file is None:
            return [self.file]
        pieces = max(-(-rows // self.rows_per_file), 1)
        return [piece_file(self.stem, number, self.ending) for number in range(pieces)]


def piece_file(stem: str, number: int, ending: str) -> str:
    """Return the path of a piece in the release folder: names sort as the pieces follow."""
    return f"{stem}/part-{number:05d}{ending}"


def parts_of(
    plan: Plan | Views,
    names: Sequence[str],
    *,
    data_file: str,
    rows: int = 0,
    rows_per_file: int | None = None,
) -> tuple[Part, ...]:
    """Return the files of a release with these columns.

    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> views = pramble.Views([{"b": m, "a": m}, {"c": m}])
    >>> [(part.file, part.names) for part in parts_of(views, "abc", data_file="data.csv")]
    [('views/b-a.csv', ('a', 'b')), ('views/c.csv', ('c',))]
    """
    if rows_per_file is not None and rows > MOST_PIECES * rows_per_file:
        raise InvalidPlan(
            f"{several(rows, 'row')} in files of {rows_per_file:,} are more than {MOST_PIECES:,} "
            "files; state a larger rows_per_file."
        )
    ending = data_file.removeprefix("data")
    if isinstance(plan, Plan):
        return (Part("data", ending, plan, tuple(names), rows_per_file=rows_per_file),)
    return tuple(
        Part(
            f"{VIEWS}/{view}",
            ending,
            own,
            tuple(name for name in names if name in own.columns),
            view,
            rows_per_file,
        )
        for view, own in plan.items()
    )
