"""What follows from a table: conditional shares, merged categories, scores, smooth functions.

Sums of cells and ratios of such sums have intervals of their own
(:mod:`pramble.estimation.follow.ratios`). Smooth functions have the error of their linearisation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pramble.data.labels import label_key
from pramble.errors import InvalidInput
from pramble.estimation.follow.ratios import Ratios
from pramble.estimation.inverse.moments import Answers, Known, Scaled
from pramble.estimation.tables.answers import CountedByTotal
from pramble.values import Floats, Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from pramble.estimation.follow.result import Estimate


E = TypeVar("E", bound="Estimate")
Cells = Mapping[str, Sequence[Any]]
STEP = 1e-5
"""How far a cell is moved to find how a function changes, as a share of its standard error."""


def conditional(e: E, given: Sequence[str]) -> E:
    """Return the shares of every cell among all with the same labels of some columns."""
    answers = answers_of(e)
    group, _ = groups(e.cells, given)
    same = indicator(group)
    ratios = Ratios(answers, identity(len(group)), (same.T @ same).tocsr())
    return told(e, ratios, e.cells, quantity="share", given=tuple(given))


def collapsed(e: E, column: str, classes: Mapping[Any, Any]) -> E:
    """Return the table with labels of a column merged; those that are not named stay."""
    refuse_given(e, column)
    own = column_of(e, column)
    names = {label_key(label): new for label, new in classes.items()}
    unknown = names.keys() - {label_key(label) for label in own}
    if unknown:
        label = next(label for label in classes if label_key(label) in unknown)
        raise InvalidInput(f"{label!r} is no label of {column!r}.")
    fresh = {
        **e.cells,
        column: [names.get(label_key(label), label) for label in own],
    }
    place, cells = groups(fresh, list(fresh))
    return told(e, ratios_of(e).of(indicator(place)), cells, quantity=e.quantity)


def mean_scores(e: E, column: str, scores: Mapping[Any, float] | None) -> E:
    """Return the mean score of a column within every combination of the others."""
    refuse_given(e, column)
    value_of = scores_of(e, column, scores)
    place, cells = groups(e.cells, [name for name in e.cells if name != column])
    whole = indicator(place)
    weights = np.array([value_of[label_key(label)] for label in e.cells[column]])
    mix = whole.copy()
    mix.data = weights[mix.indices]
    return told(e, ratios_of(e).of(mix, whole), cells or {column: ["all"]}, quantity="mean")


def cumulative(e: E, column: str) -> E:
    """Return the share of labels up to each one, within every combination of the other columns."""
    refuse_given(e, column)
    others = [name for name in e.cells if name != column]
    place, _ = groups(e.cells, others)
    codes = codes_of(e, column)
    whole = indicator(place)
    same = (whole.T @ whole).tocoo()
    below = codes[same.col] <= codes[same.row]
    mix = matrix(same.row[below], same.col[below], shape=(len(codes), len(codes)))
    ratios = ratios_of(e).of(mix, same.tocsr())
    return told(e, ratios, e.cells, quantity="share up to", given=others)


def quantiles(e: "Estimate", column: str, shares: Sequence[float]) -> dict[str, list[Any]]:
    """Return the label that each share of a column reaches, with an interval, as columns.

    The curves are put in increasing order first (:mod:`pramble.estimation.follow.numbers`).
    """
    shares = checked_shares(shares)
    up_to = cumulative(e, column)
    others = [name for name in e.cells if name != column]
    place, cells = groups(e.cells, others)
    codes, order = codes_of(e, column), labels_of(e, column)
    answer: dict[str, list[Any]] = {
        name: [] for name in (*others, "share", "quantile", "lower", "upper")
    }
    for group in range(int(place.max()) + 1):
        own = np.flatnonzero(place == group)
        own = own[np.argsort(codes[own])]
        for share in shares:
            for name in others:
                answer[name].append(cells[name][group])
            answer["share"].append(share)
            ends = {"quantile": up_to.values, "lower": up_to.upper, "upper": up_to.lower}
            for name, curve in ends.items():
                reached = np.flatnonzero(np.sort(curve[own])[:-1] >= share)
                last = own[reached[0]] if reached.size else own[-1]
                answer[name].append(order[codes[last]])
    return answer


def checked_shares(shares: Sequence[float]) -> Sequence[float]:
    """Return the shares of quantiles; refuse what is not between 0 and 1."""
    for share in shares:
        if not 0 < share < 1:
            raise InvalidInput(f"Quantiles are shares between 0 and 1; found {share!r}.")
    return shares


def counts(e: E, total: float | None) -> E:
    """Return how many records each cell has: its share of all, or of a known total."""
    if e.quantity != "probability":
        raise InvalidInput(f"Shares of all records can be counted; these are of {e.quantity}.")
    whole = float(e.n if total is None else total)
    if not 0 < whole < np.inf:
        raise InvalidInput(f"total must be a positive number; found {total!r}.")
    if total is None and getattr(parts_of(e), "total_variance", False):
        return counts_by_noisy_total(e)
    return replace(
        e,
        probabilities=whole * e.probabilities,
        standard_errors=whole * e.standard_errors,
        lower=whole * e.lower,
        upper=whole * e.upper,
        covariance_parts=Scaled(e.covariance_parts, whole),
        quantity="count",
    )


def parts_of(e: "Estimate") -> Any:
    """Return what is known of the table behind an estimate, directly or as ratios of its sums."""
    parts = e.covariance_parts
    return parts.answers if isinstance(parts, Ratios) else parts


def counts_by_noisy_total(e: E) -> E:
    """Return counts whose errors know that the number of records is noisy too.

    What that adds to a variance is added to the square of both arms of its interval.
    """
    from scipy.special import ndtri

    answers, ratios, n = parts_of(e), ratios_of(e), float(e.n)
    even = np.asarray(ratios.top @ answers.even)
    counted = CountedByTotal(e.covariance_parts, n, answers.total_variance, e.values, even)
    added = ndtri((1 + e.level) / 2) ** 2 * counted.added
    middle = n * inner_values(e)
    down, up = (
        np.sqrt(np.maximum((n * end - middle) ** 2 + added, 0.0)) for end in (e.lower, e.upper)
    )
    return replace(
        e,
        probabilities=n * e.values,
        standard_errors=np.sqrt(np.maximum((n * e.standard_errors) ** 2 + counted.added, 0.0)),
        lower=np.maximum(middle - down, 0.0),
        upper=middle + up,
        covariance_parts=counted,
        quantity="count",
    )


def inner_values(e: "Estimate") -> Floats:
    """Return the estimates, each inside its interval."""
    return np.asarray(np.clip(np.nan_to_num(e.values, nan=0.5), e.lower, e.upper))


def smooth(e: E, function: Callable[[Floats], Any], names: Sequence[str] | None) -> E:
    """Return a smooth function of the estimates with the errors of its linearisation."""
    from scipy.special import ndtri

    values = np.atleast_1d(np.asarray(function(e.values.copy()), dtype=np.float64))
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InvalidInput("The function must give one finite number, or a vector of them.")
    labels = [f"value {i}" for i in range(len(values))] if names is None else list(names)
    if len(labels) != len(values):
        raise InvalidInput(f"{len(values)} values need as many names; found {len(labels)}.")
    steps = STEP * np.maximum(e.standard_errors, 1e-9)
    gradient = np.empty((len(values), len(e.values)))
    for i, step in enumerate(steps):
        ends = []
        for sign in (1, -1):
            moved = e.values.copy()
            moved[i] += sign * step
            ends.append(np.atleast_1d(np.asarray(function(moved), dtype=np.float64)))
        gradient[:, i] = (ends[0] - ends[1]) / (2 * step)
    covariance = moved_covariance(gradient, e.covariance)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    reach = ndtri((1 + e.level) / 2) * errors
    return replace(
        e,
        cells={"function": labels},
        probabilities=values,
        standard_errors=errors,
        lower=values - reach,
        upper=values + reach,
        covariance_parts=Known(covariance),
        quantity="value",
        notes=(),
    )


def moved_covariance(gradient: Floats, covariance: Floats) -> Floats:
    """Return the covariance of a linearised function; not a number where it takes an unknown."""
    known = np.isfinite(np.diag(covariance))
    own = gradient[:, known]
    answer = own @ covariance[np.ix_(known, known)] @ own.T
    lost = (gradient[:, ~known] != 0).any(axis=1)
    answer[lost] = np.nan
    answer[:, lost] = np.nan
    return np.asarray(answer)


def told(
    e: E, ratios: Ratios, cells: Cells, *, quantity: str, given: Iterable[str] | None = None
) -> E:
    """Return ratios as an estimate, with a note on those of which nothing is known."""
    lower, upper = ratios.intervals(level=e.level)
    unknown = int((upper - lower >= ratios.ranges).sum())
    note = (
        f"Nothing is known of {unknown} of {len(lower)}: randomised counts cannot tell the size of "
        "their group from zero, or leave the whole range."
    )
    return replace(
        e,
        cells=cells,
        probabilities=ratios.values,
        standard_errors=ratios.standard_errors,
        lower=lower,
        upper=upper,
        covariance_parts=ratios,
        quantity=quantity,
        given=e.given if given is None else tuple(given),
        notes=(note,) if unknown else (),
    )


def ratios_of(e: "Estimate") -> Ratios:
    """Return an estimate as ratios; a table of shares is one to all cells."""
    if isinstance(e.covariance_parts, Ratios):
        return e.covariance_parts
    answers = answers_of(e)
    many = len(e.values)
    return Ratios(answers, identity(many), indicator(np.zeros(many, dtype=np.int64))[[0] * many])


def answers_of(e: "Estimate") -> Answers:
    """Return the table behind an estimate; refuse one that is not of cells."""
    if not hasattr(e.covariance_parts, "products"):
        raise InvalidInput(
            f"This takes a table of shares, as estimate(data, plan, by=[…]) gives; found one of "
            f"{e.quantity}."
        )
    answers: Answers = e.covariance_parts
    return answers


def groups(cells: Cells, names: Sequence[str]) -> tuple[Integers, dict[str, list[Any]]]:
    """Return which combination of labels of some columns each cell has, and the combinations."""
    columns = [cells[name] for name in names]
    many = len(next(iter(cells.values())))
    seen: dict[Any, int] = {}
    place, first = np.zeros(many, dtype=np.int64), []
    for i, combination in enumerate(zip(*columns, strict=True) if columns else [()] * many):
        key = tuple(map(label_key, combination))
        if key not in seen:
            seen[key] = len(seen)
            first.append(i)
        place[i] = seen[key]
    return place, {name: [cells[name][i] for i in first] for name in names}


def column_of(e: "Estimate", column: str) -> Sequence[Any]:
    """Return the labels of a column of the table, cell by cell."""
    if column not in e.cells:
        raise InvalidInput(
            f"{column!r} is no column of this table: {', '.join(map(repr, e.cells))}."
        )
    return e.cells[column]


def refuse_given(e: "Estimate", column: str) -> None:
    """Refuse to sum over a column that shares are conditional on."""
    column_of(e, column)
    if column in e.given:
        raise InvalidInput(
            f"These are shares given {column!r}; shares of different groups do not add up. Take "
            f"the table without given={column!r} first."
        )


def labels_of(e: "Estimate", column: str) -> Sequence[Any]:
    answers = ratios_of(e).answers
    return answers.layout.order_of(column)


def codes_of(e: "Estimate", column: str) -> Integers:
    """Return the place of each cell's label in the order of a column."""
    place = {label_key(label): i for i, label in enumerate(labels_of(e, column))}
    keys = [label_key(label) for label in e.cells[column]]
    if any(key not in place for key in keys):
        raise InvalidInput(
            f"The labels of {column!r} were merged and have no order; take this of the whole table."
        )
    return np.array([place[key] for key in keys], dtype=np.int64)


def scores_of(e: "Estimate", column: str, scores: Mapping[Any, float] | None) -> dict[Any, float]:
    """Return the score of every label; numbers are scores of their own."""
    found = {}
    given = None if scores is None else {label_key(k): float(v) for k, v in scores.items()}
    for label in dict.fromkeys(column_of(e, column)):
        key = label_key(label)
        if given is not None and key in given:
            found[key] = given[key]
        elif given is None and isinstance(label, int | float) and not isinstance(label, bool):
            found[key] = float(label)
        else:
            raise InvalidInput(f"scores= must give every label of {column!r} a number: {label!r}.")
    return found


def identity(size: int) -> "csr_array":
    """Return the sparse identity."""
    return matrix(np.arange(size), np.arange(size), shape=(size, size))


def indicator(place: Integers) -> "csr_array":
    """Return the (groups, cells) matrix that sums the cells of each group."""
    return matrix(place, np.arange(len(place)), shape=(int(place.max()) + 1, len(place)))


def matrix(rows: Integers, columns: Integers, *, shape: tuple[int, int]) -> "csr_array":
    """Return the sparse matrix with ones at some places."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
