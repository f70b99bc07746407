"""Words for every area: with numbers, hints at words that were meant, texts that steer nothing."""

import math
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# Control characters but the line feed, marks of direction, halves of surrogate pairs, and what is
# no character in XML either.
STEERING = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""Return a text in which nothing steers a terminal.

    >>> print(visible("\x1b[31mred\u202e"))
    \x1b[31mred\u202e
    """
    return STEERING.sub(lambda found: ascii(found.group())[1:-1], text)


def several(number: int, what: str) -> str:
    """Return how many there are of something.

    >>> several(1, "file"), several(12_000, "row"), several(2, "branch")
    ('1 file', '12,000 rows', '2 branches')
    """
    ending = "es" if what.endswith("ch") else "s"
    return f"{number:,} {what}" + ("" if number == 1 else ending)


def hint_at(name: str, options: Sequence[str]) -> str:
    """Return a hint at the option that may have been meant, or nothing.

    >>> hint_at("regoin", ["sex", "region"]), hint_at("SEX", ["sex", "region"]), hint_at("x", ["y"])
    (" (did you mean 'region'?)", " (did you mean 'sex'?)", '')
    """
    close = get_close_matches(name, options, n=1)
    close += [one for one in options if one.strip().casefold() == name.strip().casefold()]
    return f" (did you mean {close[0]!r}?)" if close else ""


def visible_names(names: Iterable[str]) -> str:
    """Return names of columns in a list, in quotes where one could not be seen.

    >>> visible_names(["sex", " Région ", ""])
    "sex, ' Région ', ''"
    """
    return ", ".join(name if name and name == name.strip() else repr(name) for name in names)


def time_left(seconds: float) -> str:
    """Return a time as people say it.

    >>> time_left(7.2), time_left(95), time_left(7300), time_left(float("inf"))
    ('8 s left', '2 min left', '2.0 h left', '')
    """
    if seconds == float("inf"):
        return ""
    if seconds < 90:
        return f"{math.ceil(seconds)} s left"
    return (
        f"{math.ceil(seconds / 60)} min left" if seconds < 5400 else f"{seconds / 3600:.1f} h left"
    )


def names_in(text: str) -> list[str]:
    """Split a list of names at its commas.

    >>> names_in("age, sex,")
    ['age', 'sex']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def first_names(names: Sequence[str], most: int = 8) -> str:
    """Return some names, and how many more there are.

    >>> first_names(["a", " b"]), first_names(list("abcd"), 3)
    ("a, ' b'", 'a, b, c and 1 more')
    """
    more = len(names) - most
    return visible_names(names[:most]) + (f" and {more:,} more" if more > 0 else "")
