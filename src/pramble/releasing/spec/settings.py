"""What a setting is: one row of the table that everything about settings is made from.

A setting is a field of `ReleaseSpec`, `ColumnSpec`, `RiskSpec` or `FileSpec`, and is described
there alone: how its value is read, which designs have it, what it means. The reader and the writer
of plan files, the options of the command line, the controls of the app and the page of the
documentation are made from these rows.
"""

from collections.abc import Iterator
from dataclasses import MISSING, field, fields
from typing import Any

from pramble.releasing.spec.readers import Reader
from pramble.values import value

RECORDS, COLUMNS, TABLES = DESIGNS = ("records", "columns", "tables")
RANDOMISED = (RECORDS, COLUMNS)


@value
class Setting:
    """One setting of a plan.

    Attributes
    ----------
    name : str
    help : str
        One sentence or two that say what it means.
    example : str
        A value, as a plan file has it.
    read : callable
        Returns the checked value, or raises `Mistake`.
    default : object
    designs : tuple of str
        The designs in which it has a meaning; in any other it is refused.
    in_plan : bool
        Whether a setting of columns may be stated once for all of them, at the top of the plan.
    """

    name: str
    help: str
    example: str
    read: Reader
    default: Any = None
    designs: tuple[str, ...] = DESIGNS
    in_plan: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it takes, where it takes some words only."""
        return tuple(getattr(self.read, "words", ()))


def setting(
    default: Any,
    read: Reader,
    help: str,  # noqa: A002
    *,
    example: str,
    designs: tuple[str, ...] = DESIGNS,
    in_plan: bool = False,
) -> Any:
    """Return a field that is a setting."""
    row = {"read": read, "help": help, "example": example, "designs": designs, "in_plan": in_plan}
    if callable(default):
        return field(default_factory=default, metadata={"setting": row})
    return field(default=default, metadata={"setting": row})


def settings_of(kind: Any) -> Iterator[Setting]:
    """Yield the settings of a part of a plan, in order."""
    for part in fields(kind):
        if "setting" in part.metadata:
            default = None if part.default is MISSING else part.default
            yield Setting(name=part.name, default=default, **part.metadata["setting"])
