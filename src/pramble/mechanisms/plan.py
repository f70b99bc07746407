r"""The plan: what is done to a record.

A public coin picks branch b with probability :math:`w_b`; in it, disjoint blocks of columns are
each randomised by a mechanism on their cells, and every other column that some branch randomises is
left blank. The branch is drawn without a look at the record, so it tells nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from pramble.errors import InvalidMechanism, InvalidPlan
from pramble.mechanisms import arcs, general, uniform  # noqa: F401 (documents name every kind)
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.channel import Channel
from pramble.mechanisms.column_labels import Coding, ColumnLabels, labels_by_column
from pramble.mechanisms.json_form import list_in, parsed, rational, refuse_fields, refuse_large
from pramble.mechanisms.table_plan import TablePlan
from pramble.shown import Display, Grid, shortened
from pramble.values import frozen
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Branch", "Mechanism", "Plan"]  # a mechanism from here can be read whatever its kind

SCHEMA = "pramble/plan/1"

T = TypeVar("T")

# The columns that a mechanism randomises together; one column mostly.
Block = tuple[str, ...]


@frozen
class Branch:
    """One way in which a record may be treated.

    Attributes
    ----------
    share : Fraction
        The probability of the branch, exactly.
    blocks : mapping from columns to Mechanism
        Disjoint tuples of columns, each with its mechanism. The labels of a mechanism for several
        columns are tuples.

    Examples
    --------
    >>> import pramble
    >>> from fractions import Fraction
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> halves = [pramble.Branch(Fraction(1, 2), {name: m}) for name in ("smokes", "drinks")]
    >>> plan = pramble.Plan(branches=halves)
    >>> plan.columns, round(pramble.certify(plan).alpha, 9)
    (('smokes', 'drinks'), 1.0)
    """

    share: Fraction
    blocks: Mapping[Block, Mechanism] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidPlan(f"The share of a branch lies in (0, 1]; found {self.share}.")
        blocks = {as_block(key): checked_block(key, own) for key, own in self.blocks.items()}
        times = Counter(name for block in blocks for name in block)
        twice = next((name for name in times if times[name] > 1), None)
        if twice is not None:
            raise InvalidPlan(f"A branch must randomise a column once; {twice!r} is in two blocks.")
        object.__setattr__(self, "blocks", blocks)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it randomises, in order."""
        return tuple(name for block in self.blocks for name in block)


class Plan(Display, Mapping[Any, Mechanism]):
    r"""What is done to a record: branches with shares, each a set of blocks with a mechanism.

    A plan of one branch is made from a mapping; a plain mapping is taken wherever a Plan is.

    Parameters
    ----------
    blocks : mapping, optional
        From a column, or a tuple of columns, to its mechanism: a plan of one branch.
    branches : sequence of Branch, optional
        Several branches, whose shares sum to one.

    Attributes
    ----------
    branches : tuple of Branch
    columns : tuple of str
        Every column that some branch randomises, in order.

    Notes
    -----
    As a mapping it goes from column (a tuple for several) to mechanism, for blocks whose mechanism
    is the same in every branch that has them.

    A column has the same categories in every branch, in any order. One that some branch leaves
    blank has neither None nor an empty text among its labels, which nobody could tell from a blank.

    Examples
    --------
    >>> import pramble
    >>> plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
    >>> plan.columns, plan.branches[0].share, pramble.certify(plan).satisfies(1.0)
    (('sex',), Fraction(1, 1), True)
    """

    __slots__ = ("_known", "branches")
    branches: tuple[Branch, ...]
    _known: dict[Any, Any]

    def __init__(
        self, blocks: Mapping[Any, Mechanism] | None = None, *, branches: Sequence[Branch] = ()
    ) -> None:
        if (blocks is None) == (not branches):
            raise InvalidPlan("A plan is made from one mapping, or from branches.")
        made = tuple(branches) or (Branch(Fraction(1), dict(blocks or {})),)
        total = sum((branch.share for branch in made), Fraction(0))
        if total != 1:
            raise InvalidPlan(f"The shares of the branches must sum to 1; they sum to {total}.")
        object.__setattr__(self, "branches", made)
        object.__setattr__(self, "_known", {})
        # Branches must agree about the labels of a column, which is found out here.
        if len(made) > 1:
            self.column_labels()

    def __setattr__(self, name: str, to: object) -> None:
        raise AttributeError(f"A plan is immutable; {name} cannot be set.")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Plan, branches=self.branches), ()

    def once(self, key: Any, made: Callable[[], T]) -> T:
        """Return what follows from the plan, which never changes, made when first asked for."""
        if key not in self._known:
            self._known[key] = made()
        found: T = self._known[key]
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that some branch randomises, in order."""
        names = (name for branch in self.branches for name in branch.columns)
        return self.once("columns", lambda: tuple(dict.fromkeys(names)))

    def column_labels(self) -> Mapping[str, ColumnLabels]:
        """Return the labels of each column over all blocks and branches that hold it."""
        return self.once(
            "labels",
            lambda: MappingProxyType(labels_by_column([branch.blocks for branch in self.branches])),
        )

    def channel(self, columns: Sequence[str] | None = None) -> Channel:
        """Return what some columns of a record look like in the release; all, unless named.

        Columns that the plan does not randomise are left out of it. It is made once.

        Examples
        --------
        >>> import pramble
        >>> m = pramble.randomized_response([("f", 0), ("f", 1), ("m", 0)], 1.0)
        >>> channel = pramble.Plan({("sex", "age"): m}).channel(["age"])
        >>> (view,) = channel.views
        >>> view.seen[0].columns, view.seen[0].asked, channel.shape
        (('sex', 'age'), ('age',), (2,))
        """
        wanted = self.columns if columns is None else columns
        asked = tuple(name for name in dict.fromkeys(wanted) if name in self.column_labels())
        return self.once(
            ("channel", asked),
            lambda: Channel(
                self.branches, asked, self.once("coding", lambda: Coding(self.column_labels()))
            ),
        )

    @property
    def is_split(self) -> bool:
        """Whether records show different columns, by chance: there are several branches."""
        return len(self.branches) > 1

    @property
    def is_simple(self) -> bool:
        """Whether it is one branch of single columns."""
        return not self.is_split and all(len(block) == 1 for block in self.branches[0].blocks)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The probability of each branch, exactly."""
        return tuple(branch.share for branch in self.branches)

    def only_mechanism(self) -> Mechanism | None:
        """Return the mechanism of a plan of one block in one branch; None of any other plan."""
        found = list(self.branches[0].blocks.values())
        return found[0] if len(found) == 1 and not self.is_split else None

    def mechanisms(self) -> tuple[tuple[Block, Mechanism], ...]:
        """Return every block with its mechanism, branch after branch, each once."""
        found = {
            (block, id(mechanism)): (block, mechanism)
            for branch in self.branches
            for block, mechanism in branch.blocks.items()
        }
        return tuple(found.values())

    def single_columns(self, *, what: str) -> dict[str, Mechanism]:
        """Return the mechanism of each column of a simple plan; refuse any other for ``what``."""
        if not self.is_simple:
            raise InvalidPlan(
                f"{what} takes a plan of one branch with single columns; this one has "
                f"{len(self.branches)} branches, or blocks of several columns."
            )
        return {block[0]: mechanism for block, mechanism in self.branches[0].blocks.items()}

    def __getitem__(self, key: Any) -> Mechanism:
        found = [b.blocks[as_block(key)] for b in self.branches if as_block(key) in b.blocks]
        if not found:
            raise KeyError(key)
        if any(other != found[0] for other in found[1:]):
            raise InvalidPlan(f"{key!r} has several mechanisms; look at the plan's branches.")
        return found[0]

    def __iter__(self) -> Iterator[Any]:
        blocks = dict.fromkeys(block for branch in self.branches for block in branch.blocks)
        return (block[0] if len(block) == 1 else block for block in blocks)

    def __len__(self) -> int:
        return len({block for branch in self.branches for block in branch.blocks})

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Plan):
            return self.branches == other.branches
        return dict(self.items()) == other if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.columns)

    def shown(self) -> Grid:
        """Return a line for each block of columns."""
        rows = [
            [f"{float(branch.share):.3g}", " + ".join(block), f"{own.shape[0]:,}", own.alpha_text]
            for branch in sorted(self.branches, key=lambda branch: -branch.share)
            for block, own in branch.blocks.items()
        ]
        title = f"Plan for {several(len(self.columns), 'column')}"
        if not self.is_split:
            return Grid(title, ["columns", "cells", "α"], shortened([row[1:] for row in rows]))
        title += f": a record takes one of {several(len(self.branches), 'branch')}, by chance"
        return Grid(title, ["share", "columns", "cells", "α"], shortened(rows), left=2)

    def plot(self) -> "Figure":
        """Return a figure of the branches: which columns each one shows, of how many records."""
        from pramble.plots.mechanisms import branches_figure

        parts = [(float(branch.share), list(branch.blocks)) for branch in self.branches]
        return branches_figure(self.columns, parts)

    def to_json(self) -> dict[str, Any]:
        """Return a plain, schema-versioned document of integers, labels and exact shares."""
        return {
            "schema": SCHEMA,
            "branches": [
                {
                    "share": str(branch.share),
                    "blocks": [
                        {"columns": list(block), "mechanism": mechanism.body()}
                        for block, mechanism in branch.blocks.items()
                    ],
                }
                for branch in self.branches
            ],
        }

    @staticmethod
    def from_json(document: Mapping[str, Any] | str) -> "Plan":
        """Return the plan that :meth:`to_json` wrote; refuse anything it does not know.

        Examples
        --------
        >>> import pramble
        >>> plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
        >>> pramble.Plan.from_json(plan.to_json()) == plan
        True
        """
        found = branches_in(parsed(document, InvalidPlan))
        return Plan(branches=[Branch(share, blocks) for share, blocks in found])


def as_plan(given: Any) -> Plan:
    """Return a plan from one, or from a mapping from columns to mechanisms.

    A column whose mechanism is None is untouched, and left out.
    """
    if isinstance(given, Plan):
        return given
    if isinstance(given, TablePlan):
        raise InvalidPlan(
            "This plan is of protected tables, which are measured (pramble.measure): it changes no "
            "record. For plans of randomised records see design_record."
        )
    if not isinstance(given, Mapping):
        raise InvalidPlan(
            "A plan maps columns, or tuples of columns, to mechanisms; "
            f"found a {type(given).__name__}."
        )
    return Plan({key: mechanism for key, mechanism in given.items() if mechanism is not None})


def checked_block(key: Any, mechanism: Any) -> Mechanism:
    """Return the mechanism of a block; refuse one whose labels are not tuples of its columns'."""
    block = as_block(key)
    if not isinstance(mechanism, Mechanism):
        raise InvalidPlan(
            f"A plan maps columns to mechanisms; {key!r} has a {type(mechanism).__name__}."
        )
    if len(block) > 1:
        for label in (*mechanism.labels.values, *mechanism.output_labels.values):
            if not isinstance(label, tuple) or len(label) != len(block):
                raise InvalidPlan(
                    f"A mechanism for the columns {', '.join(block)} has tuples of {len(block)} "
                    f"labels as categories and outputs; found {label!r}."
                )
    return mechanism


def branches_in(document: Any) -> list[tuple[Fraction, dict[tuple[str, ...], Mechanism]]]:
    """Return the share of each branch of a document, and its blocks with their mechanisms."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InvalidPlan(f"A plan is a JSON object of schema {SCHEMA!r}.")
    refuse_fields(document, {"schema", "branches"}, "A plan")
    branches = list_in(document["branches"], "The branches of a plan")
    for branch in branches:
        refuse_fields(branch, {"share", "blocks"}, "A branch")
        for part in list_in(branch["blocks"], "The blocks of a branch"):
            refuse_fields(part, {"columns", "mechanism"}, "A block")
    try:
        refuse_large(part["mechanism"] for branch in branches for part in branch["blocks"])
    except InvalidMechanism as error:
        raise InvalidPlan(str(error)) from None
    found = []
    for branch in branches:
        if not isinstance(branch["share"], str):
            raise InvalidPlan('The share of a branch is an exact fraction in text, such as "1/3".')
        share = rational(branch["share"], InvalidPlan)
        found.append((share, mechanisms_in(branch["blocks"])))
    return found


def as_block(key: Any) -> tuple[str, ...]:
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, tuple) or not names or not all(isinstance(n, str) for n in names):
        raise InvalidPlan(f"Columns of a plan are named by text; found {key!r}.")
    if len(set(names)) != len(names):
        raise InvalidPlan(f"The columns of a block must differ; found {key!r}.")
    return names


def mechanisms_in(blocks: list[Any]) -> dict[tuple[str, ...], Mechanism]:
    found: dict[tuple[str, ...], Mechanism] = {}
    for part in blocks:
        block = as_block(tuple(list_in(part["columns"], "The columns of a block")))
        if block in found:
            raise InvalidPlan(f"A branch must randomise a column once; {block!r} stands twice.")
        try:
            found[block] = Mechanism.from_body_of_kind(part["mechanism"])
        except InvalidMechanism as error:
            raise InvalidPlan(f"The mechanism of {', '.join(block)}: {error}") from None
    return found
