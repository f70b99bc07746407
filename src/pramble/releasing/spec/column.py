"""What a curator states of one column: its settings, each with its meaning and designs."""

from collections.abc import Mapping, Sequence
from typing import Any

from pramble.data.labels import label_key
from pramble.data.recode import as_recodings, categories_after
from pramble.releasing.priors import SOURCES
from pramble.releasing.spec import settings as read
from pramble.releasing.spec.settings import COLUMNS, RANDOMISED, setting
from pramble.solvers.problem import ObjectiveName
from pramble.values import frozen

OBJECTIVES = ("information", "estimation")


@frozen
class ColumnSpec:
    """How one column is recoded and protected."""

    name: str
    categories: Any = setting(
        None,
        read.labels,
        "Every possible label, in order, as you declare it; ``{ seen = [...] }`` if read off the "
        'file, ``{ standard = [...] }`` if known without it. ``"seen"`` takes what occurs in the '
        "file; the release then reveals which values do. Not needed next to ``bands``.",
        example='["f", "m"]',
    )
    missing: Any = setting(
        None,
        read.missing_code,
        "The label that empty cells are released under, or ``true`` for a category of their own "
        "that stays empty. Without it a file with empty cells is refused.",
        example='"unknown"',
    )
    trim: bool = setting(
        False,  # noqa: FBT003
        read.flag,
        "Recoding: whether spaces around a string are removed.",
        example="true",
    )
    missing_values: tuple[Any, ...] = setting(
        (), read.values, "Recoding: values that mean a missing one.", example="[999, -9]"
    )
    low: float | None = setting(
        None, read.any_number, "Recoding: smaller numbers become this one.", example="0"
    )
    high: float | None = setting(
        None, read.any_number, "Recoding: larger numbers become this one.", example="95"
    )
    bands: Any = setting(
        None,
        read.bands,
        "Recoding: bands of numbers or dates, which are then the categories. Increasing edges; or "
        "a table with ``from``, ``to`` and ``step``; for dates with ``by``, ``from`` and ``to``.",
        example="[0, 16, 25, 65]",
    )
    merge: Mapping[str, Any] = setting(
        dict,
        read.merge_lists,
        "Recoding: new labels, each with the old ones that it stands for.",
        example='{ other = ["widowed", "divorced"] }',
    )
    alpha: float | None = setting(
        None,
        read.alpha,
        "α of this column alone, where the plan states no total.",
        example="1.0",
        designs=(COLUMNS,),
    )
    family: str = setting(
        "uniform",
        read.OneOf(("uniform", "general", "response")),
        '``"uniform"`` is the matrix of the source paper (keep a value, or move it to any other '
        'with equal probability); ``"general"`` any square matrix; ``"response"`` randomised '
        "response, which needs no prior.",
        example='"general"',
        designs=(COLUMNS,),
        in_plan=True,
    )
    objective: ObjectiveName = setting(
        "information",
        read.OneOf(OBJECTIVES),
        "What the matrix is best for.",
        example='"estimation"',
        designs=(COLUMNS,),
        in_plan=True,
    )
    invariant: bool = setting(
        False,  # noqa: FBT003
        read.flag,
        "Whether released shares are right at face value.",
        example="true",
        designs=(COLUMNS,),
        in_plan=True,
    )
    distance: Any = setting(
        None,
        read.distance,
        'How far apart categories are: ``"path"`` for ordered ones, or a table with a file of '
        "``neighbours`` or of ``points``, or ``groups``. Those farthest apart are protected by the "
        "column's α, and nearer ones better, in proportion.",
        example='"path"',
        designs=RANDOMISED,
    )
    prior: Any = setting(
        "private",
        read.PriorReader(SOURCES),
        "Where the probabilities come from that a design of randomised records needs; tables need "
        'none. ``"private"`` counts a noisy histogram, whose cost is part of α; ``"uniform"`` and '
        '``"public"`` (with ``prior_file``, or in a column a list of probabilities in its place) '
        'cost nothing; ``"confidential"`` reveals the frequencies of the file and must be allowed '
        "by an option.",
        example='"uniform"',
        in_plan=True,
    )
    prior_file: str | None = setting(
        None,
        read.string,
        'With ``prior = "public"``: a file of ``category,count`` or ``column,category,count``, or '
        "one with columns of the same names.",
        example='"census.csv"',
        designs=RANDOMISED,
        in_plan=True,
    )

    def stated(self, name: str) -> Any:
        """Return a setting without where it came from."""
        return read.source_and_value(name, getattr(self, name))[1]

    @property
    def seen(self) -> frozenset[str]:
        """The settings that were read off the file."""
        return read.seen_settings(vars(self)) | ({"categories"} if self.declared is None else set())

    @property
    def source(self) -> str:
        """Where its categories came from: seen, if any part of them was; else declared, if any."""
        stated = {name: getattr(self, name) for name in read.SOURCED}
        sources = {
            read.source_and_value(*one)[0] for one in stated.items() if one[1] or one[1] == 0
        }
        sources |= {read.SEEN} if self.seen else set()
        return next(one for one in (read.SEEN, read.DECLARED, read.STANDARD) if one in sources)

    @property
    def recode(self) -> dict[str, Any]:
        steps = {
            "trim": self.trim, "missing": self.missing_values, "low": self.low, "high": self.high,
            "bands": self.stated("bands"), "merge": self.stated("merge"),
        }  # fmt: skip
        return {
            name: own
            for name, own in steps.items()
            if own is not None and own is not False and own not in ((), {})
        }

    @property
    def prior_source(self) -> str:
        """Where its prior comes from; probabilities that are stated are public."""
        return "public" if isinstance(self.prior, tuple) else self.prior

    @property
    def declared(self) -> tuple[Any, ...] | None:
        """The declared categories: stated, or those of its bands; None takes the values seen."""
        stated: tuple[Any, ...] | None = self.stated("categories")
        return stated if stated is not None else categories_after(as_recodings(self.recode))

    @property
    def null_label(self) -> Any:
        """The label that empty cells become; None where they stay empty, or are refused."""
        missing = self.stated("missing")
        return None if missing is True else missing

    def labels(self, seen: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Return every category, the one of empty cells included."""
        declared = self.declared
        labels = tuple(seen) if declared is None else declared
        if self.missing is None:
            return labels
        known = {label_key(label) for label in labels}
        return labels if label_key(self.null_label) in known else (*labels, self.null_label)

    def needs_prior(self, size: int) -> bool:
        """Whether the design depends on the prior.

        With two categories randomised response is best for every prior and either objective, since
        the only α-extreme columns are (1, a) and (a, 1), and rows that sum to one use both alike.
        """
        return self.invariant or (self.family != "response" and size > 2)
