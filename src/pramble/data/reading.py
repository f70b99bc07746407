"""How data is to be read: everything that can be found out, and can be said instead."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from pramble.data.recode import Recoding, as_recodings
from pramble.errors import InvalidInput
from pramble.values import value
from pramble.words import names_in


@value
class Reading:
    """How to read a file; whatever is None is found out from the file itself.

    Attributes
    ----------
    format : str, optional
        The format, such as "csv"; by default the file's ending tells it.
    separator, quote, encoding, decimal : str, optional
        Of a text file. Found out: "," ";" tab or "|"; double or single quotes; UTF-8, UTF-16 by its
        mark, else Windows-1252; "." or ",".
    missing : sequence of str, optional
        Texts that mean a missing value. An empty cell always does. Found out: markers such as NA
        that stand in a column of numbers, where they can mean nothing else.
    quoted_missing : bool, optional
        Whether they mean so in quotes too. Found out: where the file quotes every text.
    trim : bool, optional
        Whether blanks around a value are taken off. Found out: where blanks follow separators.
    sheet : str or int, optional
        Of an Excel file; the first by default.
    recode : mapping from column to recodings
        Steps applied to a column before anything else sees it: see `pramble.data.recode`.

    Examples
    --------
    >>> import pramble
    >>> pramble.Reading(separator=";", missing=["NA", "-9"]).missing
    ('NA', '-9')
    """

    format: str | None = None
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] | None = None
    quoted_missing: bool | None = None
    trim: bool | None = None
    sheet: str | int | None = None
    recode: Mapping[str, tuple[Recoding, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("separator", "quote", "decimal"):
            check_mark(name, getattr(self, name))
        if self.separator is not None and self.separator == self.quote:
            raise InvalidInput(f"separator and quote must differ; both are {self.quote!r}.")
        if self.decimal not in (None, ".", ","):
            raise InvalidInput(f'decimal must be "." or ","; found {self.decimal!r}.')
        if self.encoding is not None:
            try:
                b" ".decode(self.encoding, errors="ignore")
            except (LookupError, TypeError):
                raise InvalidInput(
                    f"encoding must be one such as 'utf-8'; found {self.encoding!r}."
                ) from None
        for name in ("quoted_missing", "trim"):
            if getattr(self, name) not in (None, True, False):
                raise InvalidInput(f"{name} must be true or false; found {getattr(self, name)!r}.")
        missing: Any = self.missing
        if missing is not None:
            if isinstance(missing, str) or not isinstance(missing, Iterable):
                raise InvalidInput(f"missing must be a list of texts; found {missing!r}.")
            object.__setattr__(self, "missing", tuple(map(str, missing)))
        if not isinstance(self.recode, Mapping):
            raise InvalidInput("recode must map columns to recodings.")
        recode = {name: as_recodings(steps) for name, steps in self.recode.items()}
        object.__setattr__(self, "recode", recode)


def check_mark(name: str, mark: Any) -> None:
    """Refuse what is not one character that can mark something in a text file."""
    if mark is None:
        return
    if not isinstance(mark, str) or len(mark) != 1:
        raise InvalidInput(f"{name} must be one character; found {mark!r}.")
    if not mark.isascii() or mark in "\r\n\0":
        raise InvalidInput(f"{name} must be an ASCII character and no line break; found {mark!r}.")


def as_reading(given: Reading | Mapping[str, Any] | None) -> Reading:
    """Return a `Reading` from one, from a mapping with its fields, or from nothing."""
    if given is None:
        return Reading()
    if isinstance(given, Reading):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(f"reading must be a Reading or a mapping; found {type(given).__name__}.")
    known = Reading.__dataclass_fields__
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidInput(f"reading has no {unknown[0]!r}; it has {', '.join(known)}.")
    return Reading(**given)


def reading_of(
    separator: str | None,
    encoding: str | None,
    decimal: str | None,
    missing: str | None,
    sheet: str | None,
) -> Reading:
    """Return how to read a file, as far as it was said.

    >>> reading_of("tab", None, None, "NA,-9", None).missing
    ('NA', '-9')
    """
    mark = "\t" if separator in ("tab", "\\t") else separator
    texts = None if missing is None else tuple(names_in(missing))
    return Reading(separator=mark, encoding=encoding, decimal=decimal, missing=texts, sheet=sheet)
