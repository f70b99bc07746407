r"""Where chains start: a law for each copy, spread as the release leaves it open.

The records are weighed at random, as in the Bayesian bootstrap (Rubin, 1981), and the law is fitted
to the unbiased tables of the weighed records. Chains forget where they started in about
:math:`n / n_\text{eff}` sweeps; what a release hardly tells they forget slowly, and it is there
that the start must already be spread as the posterior is.
"""

from collections.abc import Sequence

import numpy as np

from pramble.data.records import Records
from pramble.estimation.draws.released import Released
from pramble.estimation.draws.tables import cells_among
from pramble.estimation.draws.terms import Term
from pramble.estimation.fit.fit import fit_table
from pramble.estimation.tabulate import tabulate
from pramble.information.consistent import nearest_on_simplex
from pramble.mechanisms.plan import Plan
from pramble.values import Floats

SWEEPS = 12


def start_law(
    release: Released,
    terms: Sequence[Term],
    *,
    records: Records,
    plan: Plan,
    rng: np.random.Generator,
) -> Floats:
    """Return a law fitted to the tables of records that are weighed at random."""
    weights = rng.standard_exponential(release.rows)
    law = np.outer(
        np.bincount(release.group_of, release.counts),
        release.possible.mask(list(release.labels)).reshape(-1),
    ).astype(np.float64)
    targets = [
        (term, weighed(release, term, records=records, plan=plan, weights=weights))
        for term in terms
        if term.low.any()  # of groups alone all is known
    ]
    for _ in range(SWEEPS if len(targets) > 1 else 1):
        for term, wanted in targets:
            term.scale(law, wanted)
    return law


def weighed(
    release: Released, term: Term, *, records: Records, plan: Plan, weights: Floats
) -> Floats:
    """Return the expected records in the cells of a table, by weighed records, none quite zero."""
    tabulated = tabulate(records, plan, by=list(term.table), weights=weights)
    p, layout = fit_table(tabulated, method="inverse").p, tabulated.layout
    shares = np.zeros(term.size)
    if term.whole:
        own = {
            name: [layout.categories[name][c] for c in codes]
            for name, codes in layout.cells.items()
        }
        place = cells_among(own, tuple(release.labels), release.labels)
        shares.reshape(len(release.groups), -1)[:, place] = p.reshape(len(release.groups), -1)
    else:
        labels = {**release.given, **release.labels}
        shares[cells_among(layout.labels(), term.table, labels)] = layout.flatten(p)
    return np.asarray(release.rows * nearest_on_simplex(shares) + term.prior)
