r"""The plan: what is done to a record.

A public coin picks branch b with probability :math:`w_b`; in it, disjoint blocks of columns are
each randomised by a mechanism on their cells, and every other column that some branch randomises is
left blank. The branch is drawn without a look at the record, so it tells nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidMechanism, InvalidPlan
from pramble.mechanisms import arcs, general, uniform  # noqa: F401 (documents name every kind)
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.column_labels import ColumnLabels, labels_by_column
from pramble.mechanisms.json_form import parsed, rational, refuse_large
from pramble.mechanisms.product import Product
from pramble.mechanisms.table_plan import TablePlan
from pramble.shown import Display, Grid
from pramble.values import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "pramble/plan/1"

Block = tuple[str, ...]
"""The columns that a mechanism randomises together; one column mostly."""


@value
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
        blocks = {as_block(key): checked(mechanism, key) for key, mechanism in self.blocks.items()}
        times = Counter(name for block in blocks for name in block)
        twice = next((name for name in times if times[name] > 1), None)
        if twice is not None:
            raise InvalidPlan(f"A branch must randomise a column once; {twice!r} is in two blocks.")
        for block, mechanism in blocks.items():
            check_cells(block, mechanism)
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

    __slots__ = ("branches",)
    branches: tuple[Branch, ...]

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
        if len(made) > 1:
            self.column_labels()

    def __setattr__(self, name: str, to: object) -> None:
        raise AttributeError(f"A plan is immutable; {name} cannot be set.")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Plan, branches=self.branches), ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that some branch randomises, in order."""
        return tuple(dict.fromkeys(name for branch in self.branches for name in branch.columns))

    def column_labels(self) -> dict[str, ColumnLabels]:
        """Return the labels of each column over all blocks and branches that hold it."""
        return labels_by_column([branch.blocks for branch in self.branches])

    @property
    def is_simple(self) -> bool:
        """Whether it is one branch of single columns."""
        return len(self.branches) == 1 and all(len(block) == 1 for block in self.branches[0].blocks)

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
        from pramble.mechanisms.show import plan_shown

        return plan_shown(self)

    def shares_and_blocks(self) -> list[tuple[float, list[Block]]]:
        """Return the share of records, and the blocks of columns, of each branch."""
        return [(float(branch.share), list(branch.blocks)) for branch in self.branches]

    def plot(self) -> "Figure":
        """Return a figure of the branches: which columns each one shows, of how many records."""
        from pramble.plots.mechanisms import branches_figure

        return branches_figure(self.columns, self.shares_and_blocks())

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
        document = parsed(document, InvalidPlan)
        branches = branches_in(document)
        refuse_large_blocks(branches)
        return Plan(branches=[branch_from(branch) for branch in branches])


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


def as_block(key: Any) -> Block:
    """Return the columns of a block from one name or several."""
    names = (key,) if isinstance(key, str) else key
    if not isinstance(names, tuple) or not names or not all(isinstance(n, str) for n in names):
        raise InvalidPlan(f"Columns of a plan are named by text; found {key!r}.")
    if len(set(names)) != len(names):
        raise InvalidPlan(f"The columns of a block must differ; found {key!r}.")
    return names


def checked(mechanism: Any, key: Any) -> Mechanism:
    """Return a mechanism; refuse anything else."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidPlan(
            f"A plan maps columns to mechanisms; {key!r} has a {type(mechanism).__name__}."
        )
    return mechanism


def check_cells(block: Block, mechanism: Mechanism) -> None:
    """Refuse a mechanism for several columns whose labels are no tuples of so many."""
    if len(block) == 1:
        return
    if isinstance(mechanism, Product) and len(mechanism.factors) == len(block):
        return  # its labels are such tuples, and need not be listed
    for labels in (mechanism.labels, mechanism.output_labels):
        for label in labels.values:
            if not isinstance(label, tuple) or len(label) != len(block):
                raise InvalidPlan(
                    f"A mechanism for the columns {', '.join(block)} has tuples of {len(block)} "
                    f"labels as categories and outputs; found {label!r}."
                )


def branches_in(document: Any) -> list[Any]:
    """Return the branches of a plan in JSON, which has the fields that it must have."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise InvalidPlan(f"A plan is a JSON object of schema {SCHEMA!r}.")
    refuse_fields(document, {"schema", "branches"}, "A plan")
    return as_list(document["branches"], "The branches of a plan")


def refuse_large_blocks(branches: Sequence[Any]) -> None:
    """Refuse branches in JSON whose mechanisms would be too large together."""
    parts = [part for branch in branches for part in blocks_in(branch)]
    try:
        refuse_large(part["mechanism"] for part in parts)
    except InvalidMechanism as error:
        raise InvalidPlan(str(error)) from None


def blocks_in(branch: Any) -> list[Any]:
    """Return the blocks of a branch in JSON, which has the fields that it must have."""
    refuse_fields(branch, {"share", "blocks"}, "A branch")
    blocks = as_list(branch["blocks"], "The blocks of a branch")
    for part in blocks:
        refuse_fields(part, {"columns", "mechanism"}, "A block")
    return blocks


def branch_from(document: Any) -> Branch:
    """Return a branch from its JSON form."""
    if not isinstance(document["share"], str):
        raise InvalidPlan('The share of a branch is an exact fraction in text, such as "1/3".')
    share = rational(document["share"], InvalidPlan)
    blocks: dict[Block, Mechanism] = {}
    for part in document["blocks"]:
        block = as_block(tuple(as_list(part["columns"], "The columns of a block")))
        if block in blocks:
            raise InvalidPlan(f"A branch must randomise a column once; {block!r} stands twice.")
        try:
            blocks[block] = Mechanism.from_body_of_kind(part["mechanism"])
        except InvalidMechanism as error:
            raise InvalidPlan(f"The mechanism of {', '.join(block)}: {error}") from None
    return Branch(share, blocks)


def as_list(found: Any, what: str) -> list[Any]:
    """Return a list; refuse anything else."""
    if not isinstance(found, list):
        raise InvalidPlan(f"{what} are a list; found a {type(found).__name__}.")
    return found


def refuse_fields(document: Any, known: set[str], what: str) -> None:
    """Refuse an object with other fields than these."""
    if not isinstance(document, Mapping) or set(document) != known:
        found = sorted(map(str, document)) if isinstance(document, Mapping) else type(document)
        raise InvalidPlan(f"{what} has the fields {sorted(known)}; found {found}.")
