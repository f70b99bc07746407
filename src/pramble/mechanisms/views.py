r"""Views: several files of the same records, each a few columns in a random order of its own.

Every record is in every view, randomised by that view's plan with bits of its own. Nobody can tell
which rows of two views are one record's, so each view hides its records in a crowd, and what the
views promise composes.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidPlan
from pramble.mechanisms.column_labels import ColumnLabels, merged
from pramble.mechanisms.json_form import parsed
from pramble.mechanisms.plan import (
    Block,
    Plan,
    as_list,
    as_plan,
    branches_in,
    refuse_fields,
    refuse_large_blocks,
)
from pramble.shown import Display, Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "pramble/views/1"
UNSAFE = re.compile(r"[^\w.-]+")
SAFE = re.compile(r"[^\W_][\w.-]{0,59}")
LONGEST = 60
MOST_VIEWS = 1000


class Views(Display, Mapping[str, Plan]):
    r"""Several files of the same records, each under a plan of its own, unlinked.

    Parameters
    ----------
    plans : sequence of plans, or mapping from name to plan
        What is done to a record in each view. Without names, a view is called after its columns.

    Attributes
    ----------
    columns : tuple of str
        Every column that some view shows, in order.

    Notes
    -----
    As a mapping it goes from the name of a view, under which its file lies, to its plan. A column
    has the same categories in every view.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> views = pramble.Views([{"smokes": m}, {"drinks": m, "sleeps": m}])
    >>> list(views), views.columns
    (['smokes', 'drinks-sleeps'], ('smokes', 'drinks', 'sleeps'))
    >>> round(pramble.certify(views).alpha, 9)
    3.0
    """

    __slots__ = ("plans",)
    plans: Mapping[str, Plan]

    def __init__(self, plans: Mapping[str, Any] | Sequence[Any]) -> None:
        if isinstance(plans, Mapping):
            made = {checked_name(name): as_plan(plan) for name, plan in plans.items()}
        else:
            made = named([as_plan(plan) for plan in plans])
        if not 1 <= len(made) <= MOST_VIEWS or len({name.casefold() for name in made}) < len(made):
            raise InvalidPlan(
                f"Views are between one and {MOST_VIEWS} plans of different names, whatever their "
                f"capitals; found {len(made)}."
            )
        object.__setattr__(self, "plans", made)
        for name, plan in made.items():
            if not plan.columns:
                raise InvalidPlan(f"The view {name!r} must show one column or more.")
        self.column_labels()

    def __setattr__(self, name: str, to: object) -> None:
        raise AttributeError(f"Views are immutable; {name} cannot be set.")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Views, dict(self.plans)), ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that some view shows, in order."""
        return tuple(dict.fromkeys(name for plan in self.plans.values() for name in plan.columns))

    def column_labels(self) -> dict[str, ColumnLabels]:
        """Return the labels of each column over all views; refuse categories that differ."""
        found: dict[str, ColumnLabels] = {}
        for plan in self.plans.values():
            for name, own in plan.column_labels().items():
                found[name] = merged(name, found[name], own) if name in found else own
        return found

    def showing(self, columns: Sequence[str]) -> dict[str, Plan]:
        """Return the views that show one of some columns or more."""
        wanted = set(columns)
        return {name: plan for name, plan in self.plans.items() if wanted & set(plan.columns)}

    def __getitem__(self, name: str) -> Plan:
        return self.plans[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def __eq__(self, other: object) -> bool:
        return self.plans == other.plans if isinstance(other, Views) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.columns)

    def shown(self) -> Grid:
        """Return a line for each view."""
        from pramble.mechanisms.show import views_shown

        return views_shown(self)

    def shares_and_blocks(self) -> list[tuple[float, list[Block]]]:
        """Return the share of records that each view shows as they are, and its columns."""
        found = []
        for plan in self.plans.values():
            blocks = plan.branches[0].blocks
            stays = [float(mechanism.operator.stay().mean()) for mechanism in blocks.values()]
            found.append((math.prod(stays), list(blocks)))
        return found

    def plot(self) -> "Figure":
        """Return a figure of the views: which columns each one shows, how many records true."""
        from pramble.plots.plan import views_figure

        return views_figure(self.columns, self.shares_and_blocks())

    def to_json(self) -> dict[str, Any]:
        """Return a plain, schema-versioned document."""
        return {
            "schema": SCHEMA,
            "views": [{"name": name, "plan": plan.to_json()} for name, plan in self.plans.items()],
        }

    @staticmethod
    def from_json(document: Mapping[str, Any] | str) -> "Views":
        """Return the views that :meth:`to_json` wrote; refuse anything it does not know.

        Examples
        --------
        >>> import pramble
        >>> views = pramble.Views([{"sex": pramble.randomized_response(["f", "m"], 1.0)}])
        >>> pramble.Views.from_json(views.to_json()) == views
        True
        """
        document = parsed(document, InvalidPlan)
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise InvalidPlan(f"Views are a JSON object of schema {SCHEMA!r}.")
        refuse_fields(document, {"schema", "views"}, "An object of views")
        parts = as_list(document["views"], "Views")
        if len(parts) > MOST_VIEWS:
            raise InvalidPlan(f"Views are at most {MOST_VIEWS}; found {len(parts)}.")
        for part in parts:
            refuse_fields(part, {"name", "plan"}, "A view")
        refuse_large_blocks([branch for part in parts for branch in branches_in(part["plan"])])
        found: dict[str, Plan] = {}
        for part in parts:
            name = checked_name(part["name"])
            if name in found:
                raise InvalidPlan(f"Views have different names; {name!r} stands twice.")
            found[name] = Plan.from_json(part["plan"])
        return Views(found)


def named(plans: Sequence[Plan]) -> dict[str, Plan]:
    """Return plans under the names of their columns, made fit for files and different.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> list(named([pramble.Plan({"a/b": m, "C": m}), pramble.Plan({"a": m, "b": m, "c": m})]))
    ['a_b-C', 'a-b-c']
    """
    found: dict[str, Plan] = {}
    for plan in plans:
        joined = UNSAFE.sub("_", "-".join(plan.columns)).strip("_.-")[:LONGEST] or "view"
        taken = {name.casefold() for name in found}
        names = (joined if i == 1 else f"{joined[: LONGEST - 5]}-{i}" for i in count(1))
        found[next(name for name in names if name.casefold() not in taken)] = plan
    return found


def checked_name(name: Any) -> str:
    """Return the name of a view; refuse one that is no plain name of a file."""
    if not isinstance(name, str) or not SAFE.fullmatch(name):
        raise InvalidPlan(
            "A view's name has letters, digits, dots, dashes and underscores, at most 60, and "
            f"begins with a letter or digit; found {name!r:.80}."
        )
    return name
