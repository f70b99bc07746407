"""The people that the benchmark draws files from, and four plans for them at one alpha."""

from itertools import product

import numpy as np

import pramble
from pramble.datasets import synthetic_new_york

ALPHA = 4.0
"""Of the whole record, the same for every plan."""

SCHOOLING = {
    "Grade 12": "2 grade 12",
    "1 year of college": "3 some college",
    "2 years of college": "3 some college",
    "4 years of college": "4 degree",
    "5+ years of college": "4 degree",
}
"""EDUC in four levels, in order; whoever has less is "1 school"."""

YEARS = {"18-24": 21, "25-35": 30, "36-50": 43, "51-70": 60, ">70": 78}
RANDOMISED = ("SEX", "MARST", "EDUC")


def population(size=953_076):
    """Return the adults among so many people of the built-in New York, as a frame.

    SEX, MARST and EDUC (four levels) will be randomised. Untouched are YEARS (the middle of the
    band of ages), WORKS (0 or 1), and two numbers that are made here from the others and chance:
    INCOME, which is skewed, and VISITS, a count.
    """
    import pandas as pd

    raw = synthetic_new_york(size).to_pandas().astype(str)
    raw = raw[raw.AGE.isin(YEARS)].reset_index(drop=True)
    rng = np.random.default_rng(7)
    level = raw.EDUC.map(SCHOOLING).fillna("1 school")
    years = raw.AGE.map(YEARS).astype(int)
    male, married = (raw.SEX == "Male").to_numpy(), (raw.MARST == "Married").to_numpy()
    step = level.str[0].astype(int).to_numpy()
    income = rng.gamma(2.0, 8 * np.exp(0.25 * step + 0.2 * male + 0.15 * married))
    visits = rng.poisson(np.exp(-0.3 + 0.015 * years - 0.2 * male + 0.2 * married))
    return pd.DataFrame(
        {
            "SEX": raw.SEX,
            "MARST": raw.MARST,
            "EDUC": level,
            "YEARS": years,
            "WORKS": (raw.EMPSTAT == "Employed").astype(int),
            "INCOME": income.round(),
            "VISITS": visits,
        }
    )


def shares(frame, names):
    """Return the labels of some columns in order, and the shares of their cells."""
    labels = {name: sorted(frame[name].unique()) for name in names}
    counts = frame.groupby(list(names)).size()
    cells = list(product(*labels.values())) if len(names) > 1 else labels[names[0]]
    shape = tuple(len(own) for own in labels.values())
    return labels, counts.reindex(cells, fill_value=0).to_numpy().reshape(shape) / len(frame)


def plans(frame, alpha=ALPHA):
    """Return the four kinds of plan: all keep one promise, alpha for the whole record."""
    labels, law = shares(frame, RANDOMISED)
    part = alpha / len(RANDOMISED)
    best = {}
    for name in RANDOMISED:
        own, prior = shares(frame, [name])
        best[name] = pramble.design(
            prior, part, categories=own[name], family="general", objective="estimation"
        ).mechanism
    whole = pramble.randomized_response(list(product(*labels.values())), alpha)
    return {
        "columns": pramble.Plan(
            {name: pramble.randomized_response(labels[name], part) for name in RANDOMISED}
        ),
        "best matrices": pramble.Plan(best),
        "joint block": pramble.Plan({RANDOMISED: whole}),
        "branches": pramble.design_record(labels, alpha, prior=law, tables=2).plan,
    }
