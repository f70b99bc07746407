"""The data file of a release, in one piece or several."""

from pramble.errors import InvalidPlan
from pramble.limits import MOST_PIECES
from pramble.values import value
from pramble.words import several

STEM = "data"
"""The name of the data file without its ending, and of the folder of its pieces."""


@value
class DataFile:
    """The data file of a release.

    Attributes
    ----------
    ending : str
        The ending of the file, or of its pieces.
    rows : int
        How many rows it has.
    rows_per_file : int or None
        How many rows each piece has; None for a single file.
    """

    ending: str
    rows: int
    rows_per_file: int | None = None

    def __post_init__(self) -> None:
        if self.rows_per_file is not None and self.rows > MOST_PIECES * self.rows_per_file:
            raise InvalidPlan(
                f"{several(self.rows, 'row')} in files of {self.rows_per_file:,} are more than "
                f"{MOST_PIECES:,} files; state a larger rows_per_file."
            )

    @property
    def name(self) -> str:
        """Name in the release folder: of the file, or of the folder of its pieces."""
        return STEM if self.rows_per_file else f"{STEM}{self.ending}"

    @property
    def files(self) -> list[str]:
        """The path of the file, or of each of its pieces.

        >>> DataFile(".csv", 150_000, rows_per_file=131_072).files
        ['data/part-00000.csv', 'data/part-00001.csv']
        """
        if self.rows_per_file is None:
            return [self.name]
        pieces = max(-(-self.rows // self.rows_per_file), 1)
        return [piece_file(number, self.ending) for number in range(pieces)]


def piece_file(number: int, ending: str) -> str:
    """Return the path of a piece in the release folder: names sort as the pieces follow."""
    return f"{STEM}/part-{number:05d}{ending}"
