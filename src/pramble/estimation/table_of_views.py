r"""Tables from views: all that several unlinked files of the same records tell, made consistent.

Every record is in every view, so the *sampling* error is one and the same in all of them; only what
randomisation adds is independent. A view v that shows some columns of a table T gives an unbiased
estimate :math:`\hat p_v` of their margin, with covariance :math:`R_v` by randomisation alone
(:mod:`pramble.estimation.moments`). Each component s of the table
(:mod:`pramble.information.components`) is the average over the views that show all of s,

.. math:: \hat p = \sum_{s \subseteq T} \sum_{v \supseteq s} \lambda_{vs}\, P_s \hat p_v ,
    \qquad \lambda_{vs} \propto 1/\operatorname{tr}(P_s R_v P_s), \quad
    \sum_v \lambda_{vs} = 1 .

A component has the same views and the same weights in whichever table it is, so that all tables
agree about every margin that they share. With :math:`L_v = \sum_s \lambda_{vs} P_s` and the share f
of the sampling variance that counts,

.. math:: \operatorname{Cov}(\hat p) = \sum_v L_v R_v L_v^\top
    + f\,(\operatorname{diag} p - p p^\top)/n ,

and an interval tests a candidate with the variance that one record of each true cell adds, summed
over the views. ``method="mle"`` gives the nearest table without negative cells
(:mod:`pramble.estimation.fit.inside`), in which impossible cells are zero.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations

import numpy as np

from pramble.estimation.answers import batches
from pramble.estimation.fit.inside import MOST_WEIGHED, TOLD, nearest_inside
from pramble.estimation.layout import Layout
from pramble.estimation.moments import inner_point
from pramble.estimation.queries import query_intervals
from pramble.estimation.result import Settings
from pramble.estimation.view_table import ViewTable
from pramble.estimation.weighing import Weighing
from pramble.information.components import components
from pramble.information.simplex import nearest_on_simplex
from pramble.values import Floats, value

SMALLEST = 1e-300


@value(eq=False)
class TableOfViews:
    """What all views together tell of a table.

    Attributes
    ----------
    layout : Layout
    shape : tuple of int
        How many categories the columns have.
    tables : tuple of ViewTable
    n : float
        Number of records, the same in every view.
    backend : str
        The frame library to answer in.
    """

    layout: Layout
    shape: tuple[int, ...]
    tables: tuple[ViewTable, ...]
    n: float
    backend: str

    @cached_property
    def shares(self) -> tuple[dict[tuple[int, ...], float], ...]:
        """For each view the λ of the components that it tells."""
        answer: list[dict[tuple[int, ...], float]] = [{} for _ in self.tables]
        for size in range(len(self.shape) + 1):
            for s in combinations(range(len(self.shape)), size):
                telling = [v for v, table in enumerate(self.tables) if set(s) <= set(table.axes)]
                weights = np.ones(len(telling))
                if s and len(telling) > 1:
                    traces = [self.tables[v].component_trace(s) for v in telling]
                    weights = 1 / np.maximum(traces, SMALLEST)
                for v, weight in zip(telling, weights / weights.sum(), strict=True):
                    answer[v][s] = float(weight)
        return tuple(answer)

    @cached_property
    def unbiased(self) -> Floats:
        """The unbiased table, flat."""
        answer = np.zeros(self.shape)
        for table, shares in zip(self.tables, self.shares, strict=True):
            margin = self.among_all(table.margin[None], table)
            beside = answer.size / table.margin.size
            for s, part in components(margin).items():
                if s in shares:
                    answer = answer + shares[s] * part[0] / beside
        return np.asarray(answer.reshape(-1))

    @cached_property
    def possible(self) -> Floats:
        """1 for cells that every view knows as possible, 0 for the others; flat."""
        answer = np.ones((1, *self.shape))
        for table in self.tables:
            answer = answer * self.among_all(table.possible[None], table)
        return np.asarray(answer.reshape(-1))

    def among_all(self, told: Floats, table: ViewTable) -> Floats:
        """Return (Q, …) arrays of a view's cells with axes of size 1 for all other columns."""
        sizes = [size if axis in table.axes else 1 for axis, size in enumerate(self.shape)]
        return told.reshape(-1, *sizes)

    def weighings(self, w: Floats) -> Iterator[tuple[ViewTable, Weighing]]:
        """Yield what each view adds to queries (Q, K)."""
        parts = components(w.reshape(-1, *self.shape))
        for table, shares in zip(self.tables, self.shares, strict=True):
            sizes = [size if axis in table.axes else 1 for axis, size in enumerate(self.shape)]
            own = np.zeros((len(w), *sizes))
            for s, share in shares.items():
                own += share * parts[s]
            yield table, table.weighing(own)

    def covariance_of(self, w: Floats, p: Floats, *, sampling: float) -> Floats:
        """Return the covariance of the answers to queries (Q, K), at the table p."""
        randomised = sum(table.covariance(own) for table, own in self.weighings(w))
        answers = w @ p
        return np.asarray(
            randomised + sampling * ((w * p) @ w.T - np.outer(answers, answers)) / self.n
        )

    def errors(self, w: Floats, p: Floats, *, settings: Settings) -> tuple[Floats, Floats, Floats]:
        """Return standard errors and both ends of the intervals of queries (Q, K), at p."""
        sampling = settings.sampling_share(self.n)
        variances = sampling * (w**2 @ p - (w @ p) ** 2) / self.n
        spread = np.zeros((len(w), *self.shape))
        for table, own in self.weighings(w):
            variances += table.variances(own)
            spread += self.among_all(table.spread(own), table)
        lower, upper = query_intervals(
            w,
            spread.reshape(w.shape),
            centre=w @ self.unbiased,
            true=inner_point(p, n=self.n),
            scale=1 / self.n,
            settings=settings,
            sampling=sampling,
        )
        return np.sqrt(np.maximum(variances, 0.0)), lower, upper

    def errors_of_cells(self, weights: Floats, p: Floats, *, settings: Settings) -> list[Floats]:
        """Return what :meth:`errors` does for single cells with some weights."""
        width = max(*(table.outputs for table in self.tables), len(p))
        found = []
        for some in batches(len(p), width):
            w = np.zeros((some.stop - some.start, len(p)))
            w[np.arange(len(w)), np.arange(some.start, some.stop)] = weights[some]
            found.append(self.errors(w, p, settings=settings))
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def inside(self) -> Floats:
        r"""Return the nearest table without negative cells, and with nothing in impossible ones.

        These are known to be empty, so first :math:`p \leftarrow p - V_{\cdot I} V_{II}^+ p_I`.
        """
        p, kept = self.unbiased, self.possible > 0
        answer = np.zeros(len(p))
        if len(p) > MOST_WEIGHED or (kept.all() and (p >= 0).all()):
            answer[kept] = nearest_on_simplex(p[kept], total=1.0)
            return answer
        V = self.covariance_of(np.eye(len(p)), p, sampling=1.0)
        empty = ~kept & (np.diag(V) > TOLD * np.diag(V).max())
        if empty.any():
            gain = V[:, empty] @ np.linalg.pinv(V[np.ix_(empty, empty)], rcond=TOLD, hermitian=True)
            p, V = p - gain @ p[empty], V - gain @ V[empty]
        answer[kept] = nearest_inside(p[kept], V[np.ix_(kept, kept)])
        return answer


@value(eq=False)
class AnswersOfViews:
    """What a table from views answers (:mod:`pramble.estimation.answers`).

    Attributes
    ----------
    combined : TableOfViews
    weights : (K,) array
        1 for cells that are possible, 0 for the others.
    p : (K,) array
        The fitted cells.
    sampling : float
        The share of the sampling variance that counts.
    """

    combined: TableOfViews
    weights: Floats
    p: Floats
    sampling: float

    @property
    def layout(self) -> Layout:
        """The columns of the table and its cells."""
        return self.combined.layout

    @property
    def unbiased(self) -> Floats:
        """The unbiased cells."""
        return self.combined.unbiased * self.weights

    @property
    def squares(self) -> Floats:
        """The squared weights of the records over the cells."""
        return np.maximum(self.p, 0.0) / self.combined.n

    @property
    def width(self) -> int:
        """The largest number of cells, true or released."""
        return max(*(table.outputs for table in self.combined.tables), len(self.p))

    def randomised(self, w: Floats) -> Floats:
        """Return the covariance of answers by randomisation."""
        return self.combined.covariance_of(w * self.weights, self.p, sampling=0.0)

    def products(self, w: Floats, other: Floats) -> Floats:
        """Return the covariance of each answer with another, by randomisation."""
        both = (self.combined.weighings(one * self.weights) for one in (w, other))
        parts = zip(*both, strict=True)
        return np.asarray(sum(table.products(own, two) for (table, own), (_, two) in parts))

    def covariance(self) -> Floats:
        """Return the (K, K) covariance of the cells."""
        return self.combined.covariance_of(np.diag(self.weights), self.p, sampling=self.sampling)
