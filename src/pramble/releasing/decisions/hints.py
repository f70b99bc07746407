"""Hints at what may have been meant."""

from collections.abc import Sequence
from difflib import get_close_matches


def nearest(name: str, options: Sequence[str]) -> str:
    """Return a hint at the nearest option, or nothing."""
    close = get_close_matches(name, options, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
