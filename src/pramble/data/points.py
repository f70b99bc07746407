"""Numbers in place of bands: the middle of each, or a point drawn evenly within it."""

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramble.data.recode import Bands
from pramble.errors import InvalidInput
from pramble.values import Floats, value

KINDS = ("midpoint", "point")


@value
class Points:
    """How a column of bands is written as numbers, which tell its bands and no more.

    Whole edges give whole numbers: the middle of 0 to below 15 is 7, and a point in it is one of 0
    to 14. Else the middle is halfway, and a point lies anywhere within.

    Attributes
    ----------
    kind : {"midpoint", "point"}
    labels : tuple of str
        The bands, in order.
    edges : tuple of float
        Where each begins, and where the last ends.

    Examples
    --------
    >>> ages = Points("midpoint", ("0-14", "15-64", "65+"), (0, 15, 65, 100))
    >>> ages.middles.tolist()
    [7, 40, 82]
    """

    kind: str
    labels: tuple[str, ...]
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "edges", tuple(self.edges))
        if self.kind not in KINDS:
            raise InvalidInput(f"Bands are written as {' or '.join(KINDS)}; found {self.kind!r}.")
        if len(self.edges) != len(self.labels) + 1 or self.edges[-1] <= self.edges[-2]:
            raise InvalidInput(
                f"{len(self.labels)} bands have so many beginnings and an end after them; found "
                f"{len(self.edges)} numbers."
            )

    @property
    def whole(self) -> bool:
        """Whether every edge is a whole number."""
        return all(float(edge).is_integer() for edge in self.edges)

    @property
    def arrow_type(self) -> Any:
        """The type of the numbers."""
        return pa.int64() if self.whole else pa.float64()

    @property
    def bands(self) -> Bands:
        """The way back: the band of each number."""
        return Bands(self.edges[:-1], self.labels)

    @cached_property
    def _ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        ends = np.array(self.edges, dtype=np.int64 if self.whole else np.float64)
        return ends[:-1], ends[1:]

    @property
    def middles(self) -> NDArray[Any]:
        """The middle of each band."""
        low, high = self._ends
        return np.asarray((low + high) // 2 if self.whole else low + (high - low) / 2)

    def numbers(self, place: NDArray[np.integer[Any]], share: Floats | None) -> Any:
        """Return the number of each band, as Arrow; −1 is no band and gives null.

        ``share``, from 0 to below 1, says how far into its band a point lies.
        """
        low, high = self._ends
        if share is None:
            found = self.middles[place]
        elif self.whole:
            found = low[place] + np.floor(share * (high - low)[place]).astype(np.int64)
        else:
            found = low[place] + share * (high - low)[place]
        if share is not None:
            last = high - 1 if self.whole else np.nextafter(high, low)
            found = np.minimum(found, last[place])
        return pa.array(found, self.arrow_type, mask=place < 0)
