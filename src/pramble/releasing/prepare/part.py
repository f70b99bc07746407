"""The files of a release: one, or a view each."""

from collections.abc import Sequence

from pramble.mechanisms.plan import Plan
from pramble.mechanisms.views import Views
from pramble.values import value

VIEWS = "views"
"""The folder of views in a release."""


@value
class Part:
    """One data file: its name in the folder, what is done to its records, and its columns.

    Attributes
    ----------
    file : str
        Path in the release folder.
    plan : Plan
    names : tuple of str
        Every column, in order.
    view : str
        The name of the view; empty for the only file.
    """

    file: str
    plan: Plan
    names: tuple[str, ...]
    view: str = ""


def parts_of(plan: Plan | Views, names: Sequence[str], *, data_file: str) -> tuple[Part, ...]:
    """Return the files of a release with these columns.

    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> views = pramble.Views([{"b": m, "a": m}, {"c": m}])
    >>> [(part.file, part.names) for part in parts_of(views, "abc", data_file="data.csv")]
    [('views/b-a.csv', ('a', 'b')), ('views/c.csv', ('c',))]
    """
    if isinstance(plan, Plan):
        return (Part(data_file, plan, tuple(names)),)
    ending = data_file.removeprefix("data")
    return tuple(
        Part(
            f"{VIEWS}/{view}{ending}",
            own,
            tuple(name for name in names if name in own.columns),
            view,
        )
        for view, own in plan.items()
    )
