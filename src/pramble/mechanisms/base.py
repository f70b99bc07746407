"""What every mechanism is: a row-stochastic matrix with exact dyadic entries."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramble.data.labels import Label, Labels
from pramble.errors import InvalidMechanism
from pramble.mechanisms.json_form import SCHEMA, build, parsed, refuse_large
from pramble.mechanisms.operators.base import MechanismOperator
from pramble.mechanisms.ratios import Ratio, largest_ratio
from pramble.shown import Display, Facts, Grid, number
from pramble.values import read_only
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The digits of a float: weights over 2^53 are exactly the floats of the matrix.
BITS = 53
TOTAL = 2**BITS

# Categories and outputs up to which a matrix is written down whole; labels named of larger ones.
MOST_SHOWN, LABELS_SHOWN = 10, 3

# Every kind of mechanism by its name in JSON: a subclass joins by its definition.
KINDS: dict[str, Any] = {}


class Mechanism(Display, ABC):
    r"""A row-stochastic matrix: the law of the released value for each true value.

    .. math:: M_{xz} = P(Z = z \mid X = x) = w_{xz} / 2^{53}, \qquad \sum_z w_{xz} = 2^{53},

    with integer weights :math:`w`. The float64 matrix is therefore exactly the law that is sampled.
    Mechanisms are immutable, compare by value, hash, and pickle to a validated value. Make one with
    :func:`~pramble.randomized_response`, :func:`~pramble.keep_probabilities`, :meth:`from_matrix`
    or :func:`~pramble.design`.

    Attributes
    ----------
    categories, outputs : tuple
        Labels of the rows and of the columns, in order.
    weights : (S, T) array of int64
        The integer weights, read-only. Structured kinds build them only when asked.
    matrix : (S, T) array of float64
        Exactly ``weights / 2**53``, read-only.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.Mechanism.from_matrix([[0.75, 0.25], [0.25, 0.75]], categories=["no", "yes"])
    >>> m.categories
    ('no', 'yes')
    >>> m.weights.sum(axis=1) == 2**53
    array([ True,  True])
    """

    kind: ClassVar[str]

    def __init_subclass__(cls, *, kind: str) -> None:
        """Make a kind of mechanism known by its name in JSON."""
        cls.kind = kind
        KINDS[kind] = cls

    if TYPE_CHECKING:

        @property
        def labels(self) -> Labels:
            """Labels of the rows."""

        @property
        def output_labels(self) -> Labels:
            """Labels of the columns."""

        @property
        def weights(self) -> NDArray[Any]:
            """The (S, T) integer weights; every row sums to ``2**53``."""

    @staticmethod
    def from_matrix(
        M: ArrayLike,
        categories: int | Iterable[Label] | None = None,
        outputs: int | Iterable[Label] | None = None,
        *,
        alpha: float | None = None,
        distance: Any = None,
    ) -> "Mechanism":
        r"""Round a float matrix to exact weights, never to the less private side.

        Let :math:`A` be the matrix with every row divided by its sum, and :math:`\rho` a ratio of
        two entries of one column of :math:`A` that is the largest up to float error, so
        :math:`\log\rho` is at most the smallest α of :math:`A`; with ``alpha`` given,
        :math:`\rho` is a rational below :math:`e^\alpha`. Rows of

        .. math:: (1-\delta) A + \delta\, 1 r^\top, \qquad r = \tfrac1S A^\top 1,

        are scaled to :math:`2^{53}` and rounded by largest remainders, each entry to a neighbouring
        integer. Of :math:`\delta = 0, 2^{-52}, 2^{-51}, …, 1` the smallest is taken for which
        (by bisection) every ratio of two weights in one column is at most :math:`\rho`,
        **compared in integers**.

        *Proof.* The returned weights passed that comparison, so they are at least as private as
        :math:`\rho` says. The search ends, for at :math:`\delta = 1` all rows are equal and every
        ratio is 1. It ends early: an entry moves by less than one unit, so
        :math:`\delta \ge (\rho+1)/(2^{53} (\rho-1) \min_z r_z)` suffices. ∎

        Columns of zeros stay zero, and so does every zero entry when :math:`\rho` is infinite.

        Parameters
        ----------
        M : (S, T) array_like
            Probabilities; every row sums to 1 within 1e-9.
        categories, outputs : int or iterable of labels, optional
            Labels of rows and columns; 0, 1, 2, … unless given. A square matrix releases its own
            categories.
        alpha : float, optional
            Round so that the result satisfies this α, and refuse a matrix that is far from it.
        distance : "path", (S, S) array_like or Distance, optional
            Take α per unit of this distance between categories: an entry is then at most
            :math:`e^{\alpha d}` times that of a category at distance d. Mixing rows with their mean
            brings ratios nearer to one, so the same rounding serves.

        Returns
        -------
        Mechanism

        Examples
        --------
        >>> import pramble
        >>> m = pramble.Mechanism.from_matrix([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
        >>> m.shape, m.outputs
        ((2, 3), (0, 1, 2))
        >>> pramble.Mechanism.from_matrix([[0.5, 0.6], [0.5, 0.5]])
        Traceback (most recent call last):
        ...
        pramble.errors.InvalidMechanism: Every row must sum to 1 within 1e-09; row 0 sums to 1.1.
        ...
        """
        made: Mechanism = KINDS["general"].rounded(
            M, categories, outputs, alpha=alpha, distance=distance
        )
        return made

    @staticmethod
    def from_json(document: Mapping[str, Any] | str) -> "Mechanism":
        """Return the mechanism that :meth:`to_json` wrote, bit for bit.

        Examples
        --------
        >>> import pramble
        >>> m = pramble.randomized_response(["a", "b"], 1.0)
        >>> pramble.Mechanism.from_json(m.to_json()) == m
        True
        """
        document = parsed(document, InvalidMechanism)
        if not isinstance(document, Mapping):
            raise InvalidMechanism(
                f"A mechanism is a JSON object; found {type(document).__name__}."
            )
        schema = document.get("schema")
        if schema != SCHEMA:
            raise InvalidMechanism(
                f"The schema of a mechanism must be {SCHEMA!r}; found {short(schema)}."
            )
        body = {key: value for key, value in document.items() if key != "schema"}
        refuse_large([body])
        return Mechanism.from_body_of_kind(body)

    @staticmethod
    def from_body_of_kind(body: Any) -> "Mechanism":
        """Return the mechanism of a document without its schema tag."""
        made: Mechanism = build(body, KINDS)
        return made

    def to_json(self) -> dict[str, Any]:
        """Return a plain, schema-versioned document of integers and labels.

        Examples
        --------
        >>> import pramble
        >>> pramble.randomized_response(2, 1.0).to_json()["kind"]
        'uniform'
        """
        return {"schema": SCHEMA, **self.body()}

    def body(self) -> dict[str, Any]:
        """Return the document without its schema tag, as it stands within others."""
        return {"kind": self.kind, **self.to_body()}

    @cached_property
    def categories(self) -> tuple[Label, ...]:
        """Labels of the rows, in order."""
        return self.labels.as_tuple()

    @cached_property
    def outputs(self) -> tuple[Label, ...]:
        """Labels of the columns, in order."""
        return self.output_labels.as_tuple()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of categories and of outputs."""
        return len(self.labels), len(self.output_labels)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The (S, T) float64 matrix, exactly ``weights / 2**53``."""
        return read_only(np.asarray(self.weights / TOTAL, dtype=np.float64))

    @cached_property
    def operator(self) -> MechanismOperator:
        """The mechanism as a linear map, with the fastest algebra for its kind."""
        from pramble.mechanisms.operators.dense import DenseOperator

        return DenseOperator(self)

    @abstractmethod
    def to_body(self) -> dict[str, Any]:
        """Return the fields of the JSON form."""

    def largest_ratio(self) -> Ratio:
        """Return the largest ratio of two weights of one column, and where it stands."""
        return largest_ratio(self.weights)

    @abstractmethod
    def row(self, x: int) -> NDArray[Any]:
        """Return the weights of one row."""

    def same_weights(self, other: "Mechanism") -> bool:
        """Whether both matrices have the same integer weights."""
        return bool(np.array_equal(self.weights, other.weights))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanism):
            return NotImplemented
        return (
            self.labels == other.labels
            and self.output_labels == other.output_labels
            and self.same_weights(other)
        )

    def __hash__(self) -> int:
        # Enough to tell mechanisms apart; to hash all weights would build them.
        first_row = tuple(self.row(0)[:8].tolist())
        return hash((self.labels, self.output_labels, first_row))

    def shown(self) -> Grid | Facts:
        """Return the matrix, or what there is to say of a large one."""
        S, T = self.shape
        outputs = "" if S == T else f", {several(T, 'output')}"
        title = f"Mechanism: {S:,} categories{outputs}, α = {self.alpha_text}"
        if max(S, T) <= MOST_SHOWN:
            head = ["true \\ released", *map(str, self.outputs)]
            rows = [
                [str(label), *(number(share, 4) for share in row)]
                for label, row in zip(self.categories, self.matrix, strict=True)
            ]
            return Grid(title, head, rows)
        labels = ", ".join(map(repr, self.labels.values[:LABELS_SHOWN]))
        own = self.operator.stay()
        facts = [
            ("categories", f"{labels}, …"),
            ("kept unchanged", f"{number(own.min(), 4)} to {number(own.max(), 4)} by category"),
        ]
        return Facts(title, facts)

    @property
    def alpha_text(self) -> str:
        """Its α; ∞ where a value rules a category out."""
        ratio = self.largest_ratio()
        alpha = math.log(ratio.numerator / ratio.denominator) if ratio.denominator else math.inf
        return number(alpha, 6)

    def plot(self) -> "Figure":
        """Return a figure of the matrix: a row for each true value."""
        from pramble.plots.mechanisms import matrix_figure

        return matrix_figure(self)
