"""Names of variables that Stata and SPSS both take, from the names of columns alone."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import count

LONGEST = 32
RESERVED = {
    "all", "and", "b", "by", "byte", "coef", "cons", "double", "eq", "float", "ge", "gt", "if",
    "in", "int", "le", "long", "lt", "n", "ne", "not", "or", "pi", "pred", "rc", "skip", "strl",
    "to", "using", "with",
}  # fmt: skip
"""Words of either language that are no names, whatever their capitals."""


def variable_names(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for each column: letters, digits and underscores, 32 at most, all different.

    >>> list(variable_names(["Größe (cm)", "grosse_cm", "2nd", "if", "sex"]).values())
    ['Groe_cm', 'grosse_cm', 'v2nd', 'v_if', 'sex']
    >>> list(variable_names(["a b", "A_b", "a-b"]).values())
    ['a_b', 'A_b_2', 'a_b_3']
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        name = plain_name(column)
        tries = (name if i == 1 else f"{name[: LONGEST - 6]}_{i}" for i in count(1))
        found[column] = next(one for one in tries if one.casefold() not in taken)
        taken.add(found[column].casefold())
    return found


def plain_name(column: str) -> str:
    """Return a text as a name, without accents and signs."""
    letters = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
    if name.casefold() in RESERVED or re.fullmatch(r"str\d+", name, re.IGNORECASE):
        name = f"v_{name}"
    return (name if name[:1].isalpha() else f"v{name}")[:LONGEST].rstrip("_")
