r"""What follows from a table: shares within groups, means of scores, quantiles, counts.

A ratio :math:`r = t\cdot p / b\cdot p`, as the share of the employed among women, or the mean score
of a group, has the linearised error

.. math:: g = (t - \hat r\, b)/(b \cdot \hat p), \qquad \operatorname{Var}(\hat r) = g^\top V g .

Its interval (Fieller 1954) holds every :math:`\mu` for which :math:`t\cdot\tilde p - \mu\,b \cdot
\tilde p` is not too far from zero. With :math:`y = t\cdot\tilde p / b\cdot\tilde p` that is a test
of the mean :math:`\mu` at the variance

.. math:: \frac{R(t - \mu b,\, t - \mu b) + f\, s_b\,(E_\mu[x^2] - \mu^2)}{(b\cdot\tilde p)^2},

in which sampling counts as it does under a distribution with that very mean; near the ends of the
range it becomes one-sided (:mod:`pramble.estimation.records.intervals`). Where the whole itself
cannot be told from zero, nothing is known of the ratio, and its interval is the whole range.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import tidy_frame
from pramble.data.labels import label_key
from pramble.errors import InvalidInput
from pramble.estimation.records.intervals import (
    candidate_moment,
    inner_point,
    normal_quantile,
    unified_interval,
)
from pramble.estimation.records.moments import Answers, CountedByTotal, batches, covariance_of
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from pramble.estimation.functionals.result import Estimate
    from pramble.estimation.records.tabulate import Layout

    Cells = Mapping[str, Sequence[Any]]

# Spreads that are no larger are not divided by.
SMALLEST = 1e-300

# The quantiles that are given unless others are asked for.
QUARTERS = (0.25, 0.5, 0.75)


@frozen(eq=False)
class Ratios:
    """Ratios of sums of the cells of a table."""

    answers: Answers
    # (Q, K): weights of the cells. Where the bottom weighs nothing the top does not either
    top: csr_array
    bottom: csr_array

    @property
    def layout(self) -> Layout:
        layout: Layout = self.answers.layout
        return layout

    def of(self, mix: csr_array, whole: csr_array | None = None) -> Ratios:
        """Return ratios of sums: of the tops, to the bottoms or to sums of the tops.

        Without ``whole`` all ratios that are summed must have the same bottom.
        """
        if whole is not None:
            return Ratios(self.answers, mix @ self.top, whole @ self.top)
        first = mix.indices[mix.indptr[:-1]]
        return Ratios(self.answers, mix @ self.top, self.bottom[first])

    @cached_property
    def values(self) -> Floats:
        """The ratios of the fitted cells; not a number where the whole is empty."""
        top, bottom = self.top @ self.answers.p, self.bottom @ self.answers.p
        empty = np.full(self.top.shape[0], np.nan)
        return np.asarray(np.divide(top, bottom, out=empty, where=bottom > 0))

    def batches(self) -> Iterable[slice]:
        return batches(self.top.shape[0], max(self.answers.width, int(self.top.shape[1])))

    @cached_property
    def ranges(self) -> Floats:
        pairs = ((self.top[some].toarray(), self.bottom[some].toarray()) for some in self.batches())
        wide = np.concatenate([range_of_ratios(*pair)[1] for pair in pairs])
        return np.where(wide > 0, wide, np.inf)

    def gradient(self, some: Any = slice(None)) -> Floats:
        """Return the derivatives g of some ratios in the cells; zeros where nothing is known."""
        bottom = self.bottom[some].toarray()
        whole = bottom @ self.answers.p
        known = whole > 0
        scale = np.where(known, whole, 1.0)[:, None]
        values = np.where(known, self.values[some], 0.0)[:, None]
        parts = self.top[some].toarray() - values * bottom
        return np.asarray(np.where(known[:, None], parts / scale, 0.0))

    def covariance(self) -> Floats:
        found = covariance_of(self.answers, self.gradient())
        unknown = np.isnan(self.values)
        found[unknown] = np.nan
        found[:, unknown] = np.nan
        return found

    @cached_property
    def standard_errors(self) -> Floats:
        """The linearised standard errors; infinite where nothing is known."""
        found = np.empty(self.top.shape[0])
        for some in self.batches():
            g = self.gradient(some)
            sampled = self.answers.sampling * (g**2 @ self.answers.squares)
            found[some] = self.answers.products(g, g) + sampled
        return np.where(np.isnan(self.values), np.inf, np.sqrt(np.maximum(found, 0.0)))

    def intervals(self, *, level: float) -> tuple[Floats, Floats]:
        found = [self.some_intervals(some, level=level) for some in self.batches()]
        lower, upper = (np.concatenate(ends) for ends in zip(*found, strict=True))
        return lower, upper

    def known(self, bottom: Floats, *, level: float) -> NDArray[np.bool_]:
        answers = self.answers
        D, s = bottom @ answers.unbiased, bottom @ answers.squares
        size = s - 2 * D * s + D**2 * answers.squares.sum()
        spread = np.maximum(answers.products(bottom, bottom) + answers.sampling * size, 0.0)
        return np.asarray((D > 0) & (normal_quantile(level) ** 2 * spread < D**2))

    def some_intervals(self, some: slice, *, level: float) -> tuple[Floats, Floats]:
        answers, top, bottom = self.answers, self.top[some].toarray(), self.bottom[some].toarray()
        low, width = range_of_ratios(top, bottom)
        top = (top - low[:, None] * bottom) / np.where(width > 0, width, 1.0)[:, None]
        known, s = self.known(bottom, level=level), bottom @ answers.squares
        tt, tb, bb = (
            answers.products(*pair) for pair in ((top, top), (top, bottom), (bottom, bottom))
        )
        whole = np.where(known, bottom @ answers.unbiased, 1.0)
        inside = bottom > 0
        share = np.where(inside, top / np.where(inside, bottom, 1.0), 0.0)
        distribution = inside * inner_point(answers.p, n=1 / float(answers.squares.sum()))
        moment = candidate_moment(share, distribution, share**2)
        if getattr(answers, "ratios", None) is not None:  # squares that are not those of shares
            at = np.clip(top @ answers.p / np.maximum(bottom @ answers.p, SMALLEST), 0.0, 1.0)
            exact = (top - at[:, None] * bottom) ** 2 @ answers.squares
            even = moment(at) - at**2
            s = np.divide(exact, even, out=s.copy(), where=(even > SMALLEST) & (exact > 0))

        def variance(mu: Floats) -> Floats:
            sampled = answers.sampling * s * np.maximum(moment(mu) - mu**2, 0.0)
            return np.asarray((tt - 2 * mu * tb + mu**2 * bb + sampled) / whole**2)

        y = np.where(known, top @ answers.unbiased / whole, 0.5)
        lower, upper = unified_interval(y, variance, level=level)
        lower, upper = np.where(known, lower, 0.0), np.where(known, upper, 1.0)
        return low + width * lower, low + width * upper


def range_of_ratios(top: Floats, bottom: Floats) -> tuple[Floats, Floats]:
    inside = bottom > 0
    score = top / np.where(inside, bottom, 1.0)
    low = np.where(inside, score, np.inf).min(axis=1)
    return low, np.where(inside, score, -np.inf).max(axis=1) - low


def conditional(e: Estimate, given: Sequence[str]) -> Estimate:
    group, _ = combinations_of(e.cells, given)
    same = indicator(group)
    ratios = Ratios(answers_of(e), indicator(np.arange(len(group))), (same.T @ same).tocsr())
    return of_ratios(e, ratios, e.cells, quantity="share", given=tuple(given))


def collapse(e: Estimate, column: str, classes: Mapping[Any, Any]) -> Estimate:
    """Return the table with labels of a column merged: ``{"married": "ever", …}``.

    Labels that are not named stay as they are.
    """
    refuse_conditional(e, column)
    refuse_unknown(e, column, classes)
    names = {label_key(label): new for label, new in classes.items()}
    fresh = {**e.cells, column: [names.get(label_key(x), x) for x in e.cells[column]]}
    place, cells = combinations_of(fresh, list(fresh))
    return of_ratios(e, ratios_of(e).of(indicator(place)), cells, quantity=e.quantity)


def mean(e: Estimate, column: str, scores: Mapping[Any, float] | None = None) -> Estimate:
    """Return the mean score of a column within each combination of the others.

    ``scores`` gives each label a number; labels that are numbers need none.
    """
    refuse_conditional(e, column)
    given = None if scores is None else {label_key(k): float(v) for k, v in scores.items()}
    value_of = {}
    for label in dict.fromkeys(e.cells[column]):
        key = label_key(label)
        if given is not None and key in given:
            value_of[key] = given[key]
        elif given is None and isinstance(label, int | float) and not isinstance(label, bool):
            value_of[key] = float(label)
        else:
            raise InvalidInput(f"scores= must give every label of {column!r} a number: {label!r}.")
    place, cells = combinations_of(e.cells, [name for name in e.cells if name != column])
    whole = indicator(place)
    weights = np.array([value_of[label_key(label)] for label in e.cells[column]])
    mix = whole.copy()
    mix.data = weights[mix.indices]
    ratios = ratios_of(e).of(mix, whole)
    return of_ratios(e, ratios, cells or {column: ["all"]}, quantity="mean")


def cumulative(e: Estimate, column: str) -> Estimate:
    """Return the share of labels up to each one, within each combination of the other columns."""
    refuse_conditional(e, column)
    others = [name for name in e.cells if name != column]
    codes, whole = ordered_codes(e, column), indicator(combinations_of(e.cells, others)[0])
    same = (whole.T @ whole).tocoo()
    below = codes[same.col] <= codes[same.row]
    mix = matrix(same.row[below], same.col[below], shape=(len(codes), len(codes)))
    ratios = ratios_of(e).of(mix, same.tocsr())
    return of_ratios(e, ratios, e.cells, quantity="share up to", given=others)


def quantiles(e: Estimate, column: str, shares: Sequence[float] = QUARTERS) -> Any:
    """Return, as a frame, which label of an ordered column each share reaches.

    The interval holds the labels at which the interval of the share up to them has the share
    (Woodruff 1952), within each combination of the other columns. The curves are put in increasing
    order first (:mod:`pramble.estimation.functionals.numbers`).
    """
    shares = checked_shares(shares)
    up_to = cumulative(e, column)
    others = [name for name in e.cells if name != column]
    place, cells = combinations_of(e.cells, others)
    codes, order = ordered_codes(e, column), ordered_labels(e, column)
    ends = {"quantile": up_to.values, "lower": up_to.upper, "upper": up_to.lower}
    answer: dict[str, list[Any]] = {name: [] for name in (*others, "share", *ends)}
    for group in range(int(place.max()) + 1):
        own = np.flatnonzero(place == group)
        own = own[np.argsort(codes[own])]
        for share in shares:
            for name in others:
                answer[name].append(cells[name][group])
            answer["share"].append(share)
            for name, curve in ends.items():
                reached = np.flatnonzero(np.sort(curve[own])[:-1] >= share)
                last = own[reached[0]] if reached.size else own[-1]
                answer[name].append(order[codes[last]])
    return tidy_frame(answer, backend=e.backend)


def checked_shares(shares: Sequence[float]) -> Sequence[float]:
    wrong = [share for share in shares if not 0 < share < 1]
    if wrong:
        raise InvalidInput(f"Quantiles are shares between 0 and 1; found {wrong[0]!r}.")
    return shares


def counts(e: Estimate, total: float | None = None) -> Estimate:
    """Return numbers of records instead of shares: these times ``n``, or a known ``total``.

    Of weighted tables they are sums of weights. A total, such as the size of a population, is taken
    as exact.
    """
    if e.quantity != "share" or e.given:
        found = "shares within groups" if e.given else e.quantity
        raise InvalidInput(f"Shares of all records can be counted; found {found}.")
    ratios = ratios_of(e)
    answers: Any = ratios.answers
    unit = float(getattr(answers, "unit", 1.0))
    own = unit * answers.n if hasattr(answers, "unit") else e.n
    whole = float(own if total is None else total)
    if not 0 < whole < np.inf:
        raise InvalidInput(f"total must be a positive number; found {total!r}.")
    noise = 0.0 if total is not None else unit**2 * getattr(answers, "total_variance", 0.0)
    even = ratios.top @ answers.even if noise else np.zeros(len(e.values))
    counted = CountedByTotal(e.covariance_parts, whole, noise, e.values, np.asarray(even))
    # what the noise of the total adds to a variance is added to the squares of both arms
    added = normal_quantile(e.level) ** 2 * counted.added
    middle = whole * inner_values(e)
    down, up = (
        np.sqrt(np.maximum((whole * end - middle) ** 2 + added, 0.0)) for end in (e.lower, e.upper)
    )
    errors = np.sqrt(np.maximum((whole * e.standard_errors) ** 2 + counted.added, 0.0))
    ends = np.maximum(middle - down, 0.0), middle + up
    return derived(e, whole * e.values, errors, ends, counted, quantity="count", notes=e.notes)


def derived(
    e: Estimate,
    values: Floats,
    errors: Floats,
    ends: tuple[Floats, Floats],
    parts: Any,
    **rest: Any,
) -> Estimate:
    """Return what follows from an estimate: ``rest`` are fields that differ from its own."""
    own: dict[str, Any] = {"probabilities": values, "standard_errors": errors, "notes": ()}
    own |= {"lower": ends[0], "upper": ends[1], "covariance_parts": parts}
    return replace(e, **{**own, **rest})


def inner_values(e: Estimate) -> Floats:
    return np.asarray(np.clip(np.nan_to_num(e.values, nan=0.5), e.lower, e.upper))


def of_ratios(
    e: Estimate, ratios: Ratios, cells: Cells, *, quantity: str, given: Iterable[str] | None = None
) -> Estimate:
    lower, upper = ratios.intervals(level=e.level)
    unknown = int((upper - lower >= ratios.ranges).sum())
    note = (
        f"Nothing is known of {unknown} of {len(lower)}: randomised counts cannot tell the size of "
        "their group from zero, or leave the whole range."
    )
    return derived(
        e,
        *(ratios.values, ratios.standard_errors, (lower, upper), ratios),
        cells=cells,
        quantity=quantity,
        given=e.given if given is None else tuple(given),
        notes=(note,) if unknown else (),
    )


def ratios_of(e: Estimate) -> Ratios:
    """Return an estimate as ratios; a table of shares is one to all cells."""
    if isinstance(e.covariance_parts, Ratios):
        return e.covariance_parts
    each = np.arange(len(e.values))
    everything = indicator(np.zeros_like(each))[np.zeros_like(each)]
    return Ratios(answers_of(e), indicator(each), everything)


def answers_of(e: Estimate) -> Answers:
    """Return the table behind an estimate; refuse one that is not of cells."""
    if not hasattr(e.covariance_parts, "products"):
        raise InvalidInput(
            f"This takes a table of shares, as estimate(data, plan, by=[…]) gives; found one of "
            f"{e.quantity}."
        )
    answers: Answers = e.covariance_parts
    return answers


def combinations_of(cells: Cells, names: Sequence[str]) -> tuple[Integers, dict[str, list[Any]]]:
    """Return which combination of labels of some columns each cell has, and the combinations."""
    many = len(next(iter(cells.values())))
    columns = [cells[name] for name in names]
    seen: dict[Any, int] = {}
    place, first = np.zeros(many, dtype=np.int64), []
    for i, combination in enumerate(zip(*columns, strict=True) if columns else [()] * many):
        key = tuple(map(label_key, combination))
        if key not in seen:
            seen[key] = len(seen)
            first.append(i)
        place[i] = seen[key]
    return place, {name: [cells[name][i] for i in first] for name in names}


def cell_labels(e: Estimate, column: str) -> Sequence[Any]:
    if column not in e.cells:
        raise InvalidInput(
            f"{column!r} is no column of this table: {', '.join(map(repr, e.cells))}."
        )
    return e.cells[column]


def refuse_conditional(e: Estimate, column: str) -> None:
    cell_labels(e, column)
    if column in e.given:
        raise InvalidInput(
            f"These are shares given {column!r}; shares of different groups do not add up. Take "
            f"the table without given={column!r} first."
        )


def refuse_unknown(e: Estimate, column: str, labels: Iterable[Any]) -> None:
    own = {label_key(label) for label in cell_labels(e, column)}
    for label in labels:
        if label_key(label) not in own:
            raise InvalidInput(f"{label!r} is no label of {column!r}.")


def ordered_labels(e: Estimate, column: str, *, beside: Sequence[Any] = ()) -> Sequence[Any]:
    """Return the labels of a column in order; refuse merged ones, unless they are ``beside``."""
    order = ratios_of(e).layout.order_of(column)
    if not set(map(label_key, cell_labels(e, column))) <= set(map(label_key, (*order, *beside))):
        raise InvalidInput(
            f"The labels of {column!r} were merged and have no order; take this of the whole table."
        )
    return order


def ordered_codes(e: Estimate, column: str) -> Integers:
    place = {label_key(label): i for i, label in enumerate(ordered_labels(e, column))}
    return np.array([place[label_key(label)] for label in e.cells[column]], dtype=np.int64)


def indicator(place: Integers) -> csr_array:
    return matrix(place, np.arange(len(place)), shape=(int(place.max()) + 1, len(place)))


def matrix(rows: Integers, columns: Integers, *, shape: tuple[int, int]) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
