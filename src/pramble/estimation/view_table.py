"""What one view tells of a table, as answers to queries of its margin."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.labels import Labels, label_keys
from pramble.data.reading import Reading
from pramble.estimation.answers import batches
from pramble.estimation.fit.fit import inverse_moments
from pramble.estimation.moments import SecondMoments, inner_point
from pramble.estimation.parts import subsets
from pramble.estimation.records import answerable
from pramble.estimation.stacked import StackedOperator
from pramble.estimation.tabulate import tabulate
from pramble.estimation.tabulated import Tabulated
from pramble.estimation.weighing import Weighing
from pramble.information.components import components
from pramble.mechanisms.operators.axes import along_axes, category_shape
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.separate import separate_blocks
from pramble.values import Floats, Integers, value

MOST_OUTPUTS = 200_000
"""Released cells up to which a block is taken whole."""


@value(eq=False)
class ViewTable:
    r"""The margin that one view tells of a table.

    Attributes
    ----------
    axes : tuple of int
        The places in the table of the columns that are told.
    shape : tuple of int
        How many categories they have.
    order : (K,) array
        The cells that were tabulated, sorted by the told columns; with columns beside them each
        told cell has several.
    moments : SecondMoments
        Of the unbiased estimate, by randomisation alone.
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    order: Integers
    moments: SecondMoments

    @property
    def outputs(self) -> int:
        """Number of released cells."""
        return int(self.moments.law.size)

    def in_order(self, cells: Floats) -> Floats:
        """Return (Q, K) cells as (Q, told cells, cells beside)."""
        return cells[:, self.order].reshape(len(cells), int(np.prod(self.shape)), -1)

    @cached_property
    def margin(self) -> Floats:
        """The unbiased estimate of the told cells."""
        whole = self.in_order(self.moments.p.reshape(1, -1)).sum(axis=-1)
        return np.asarray(whole.reshape(self.shape))

    @cached_property
    def possible(self) -> Floats:
        """1 for told cells that are possible, 0 for the others."""
        axis = self.moments.axes[0]
        whole = np.ones((1, len(self.order)))
        if isinstance(axis, StackedOperator):
            whole[0, axis.inverse.aspects[0].onto < 0] = 0.0
        return np.asarray(self.in_order(whole).max(axis=-1).reshape(self.shape))

    def weighing(self, w: Floats) -> Weighing:
        """Return queries of the told cells (Q, …) as weights of true and of released cells."""
        moments, flat = self.moments, w.reshape(len(w), -1)
        lifted = np.empty((len(w), len(self.order)))
        lifted[:, self.order] = np.repeat(flat, len(self.order) // flat.shape[1], axis=1)
        cells = lifted.reshape(len(w), 1, *category_shape(moments.axes))
        u = along_axes([inverse.adjoint for inverse in moments.inverses], cells)
        return Weighing(moments.axes, lifted, u.reshape(len(w), -1))

    def variances(self, weighing: Weighing) -> Floats:
        """Return the variances of answers by randomisation."""
        return self.products(weighing, weighing)

    def covariance(self, weighing: Weighing) -> Floats:
        """Return the covariance of answers by randomisation."""
        moments = self.moments
        return weighing.covariance(
            moments.squared_weights.ravel(),
            moments.true_squared_weights.ravel(),
            values=np.zeros(len(weighing.w)),
            sampling=0.0,
        )

    def products(self, weighing: Weighing, other: Weighing) -> Floats:
        """Return the covariance of each answer with another, by randomisation."""
        moments = self.moments
        return weighing.products(
            other, moments.squared_weights.ravel(), moments.true_squared_weights.ravel()
        )

    def spread(self, weighing: Weighing) -> Floats:
        """Return by told cells how randomisation makes one record's part of an answer vary."""
        law = inner_point(self.moments.p, n=1 / float(self.moments.squared_weights.sum()))
        beside = self.in_order(law.reshape(1, -1))
        whole = (self.in_order(weighing.spread()) * beside).sum(axis=-1) / beside.sum(axis=-1)
        return np.asarray(whole.reshape(-1, *self.shape))

    def component_trace(self, s: Sequence[int]) -> float:
        """Return the summed variance of the component of some told columns, by randomisation."""
        own = [self.axes.index(axis) for axis in s]
        sizes = [self.shape[place] for place in own]
        shape = [size if place in own else 1 for place, size in enumerate(self.shape)]
        contrasts = components(np.eye(int(np.prod(sizes))).reshape(-1, *sizes))
        rows = contrasts[tuple(range(len(s)))].reshape(-1, *shape)
        total = 0.0
        for some in batches(len(rows), self.outputs):
            w = np.broadcast_to(rows[some], (len(rows[some]), *self.shape))
            total += float(self.variances(self.weighing(w)).sum())
        return total


def told_columns(plan: Plan, by: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a table that a view tells together: all it has, or else fewer."""
    shared = [name for name in by if name in plan.columns]
    return next((some for some in subsets(shared) if answerable(plan, some)), ())


def whole_columns(plan: Plan, told: Sequence[str]) -> list[str]:
    """Return the columns to tabulate for some: with them all of a block that is not square.

    A square matrix has one inverse, so that a margin is estimated alike whatever stands beside it.
    Of the many of another, the same is taken for every table if it is that of the whole block.
    """
    plan, answer = separate_blocks(plan), list(told)
    if len(plan.branches) > 1:
        return answer
    outputs = 1
    for block, mechanism in plan.branches[0].blocks.items():
        if not set(block) & set(told):
            continue
        outputs *= mechanism.shape[1]
        if mechanism.shape[0] != mechanism.shape[1]:
            answer += [name for name in block if name not in told]
    return answer if outputs <= MOST_OUTPUTS and answerable(plan, answer) else list(told)


def view_table(
    data: Any,
    plan: Plan,
    *,
    by: Sequence[str],
    told: Sequence[str],
    categories: Mapping[str, Labels],
    reading: Reading | Mapping[str, Any] | None,
) -> tuple[ViewTable, Tabulated]:
    """Return what a view tells of a table, and what was counted."""
    columns = whole_columns(plan, told)
    tabulated = tabulate(data, plan, by=columns, reading=reading)
    codes = [codes_among(categories.get(name), tabulated, name) for name in columns]
    moments = inverse_moments(tabulated.axes, tabulated.counts, sampling=0.0)
    table = ViewTable(
        tuple(list(by).index(name) for name in told),
        tuple(len(categories[name]) for name in told),
        np.lexsort(codes[::-1]),
        moments,
    )
    return table, tabulated


def codes_among(labels: Labels | None, tabulated: Tabulated, name: str) -> Integers:
    """Return the code, among some labels or its own, of a column in each tabulated cell."""
    if labels is None:
        return tabulated.layout.cells[name]
    place = {key: code for code, key in enumerate(label_keys(labels.values))}
    own = label_keys(tabulated.layout.categories[name])
    return np.array([place[key] for key in own])[tabulated.layout.cells[name]]
