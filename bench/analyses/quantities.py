"""Everything that is estimated: each function takes a file and its plan and gives an `Answer`.

The truth is the answer of the same function from the whole population, with nothing randomised.
"""

from dataclasses import dataclass

import numpy as np

import pramble


@dataclass(frozen=True)
class Answer:
    """Names, estimates and the ends of 95 % intervals."""

    names: tuple
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def answer(e):
    """Return the cells of an estimate."""
    names = tuple(" ".join(map(str, cell)) for cell in zip(*e.cells.values(), strict=True))
    return Answer(names, e.values, e.lower, e.upper)


def coefficients(r):
    """Return the coefficients of a regression."""
    return Answer(r.names, r.coefficients, r.lower, r.upper)


def joined(*answers):
    """Return several answers as one."""
    names = tuple(name for one in answers for name in one.names)
    assert len(set(names)) == len(names), "every cell must have a name of its own"
    parts = ((one.values, one.lower, one.upper) for one in answers)
    return Answer(names, *(np.concatenate(own) for own in zip(*parts, strict=True)))


def table(frame, plan, *by, **options):
    return pramble.estimate(frame, plan, by=list(by), **options)


def one_way(frame, plan):
    return joined(*(answer(table(frame, plan, name)) for name in ("SEX", "MARST", "EDUC")))


def two_way(frame, plan):
    pairs = (("SEX", "MARST"), ("MARST", "EDUC"), ("WORKS", "EDUC"))
    return joined(*(answer(table(frame, plan, *pair)) for pair in pairs))


def conditional(frame, plan):
    """Shares of a randomised column, and of an untouched one, within randomised groups."""
    return joined(
        answer(table(frame, plan, "EDUC", given="SEX")),
        answer(table(frame, plan, "WORKS", given="MARST")),
    )


def differences(frame, plan, kind="difference"):
    """Women beside men, and the divorced beside the married."""
    schooling = table(frame, plan, "EDUC", given="SEX")
    work = table(frame, plan, "WORKS", given="MARST")
    return joined(
        answer(schooling.contrast("SEX", "Female", "Male", kind=kind)),
        answer(work.contrast("MARST", "Divorced", "Married", kind=kind)),
    )


def ratios(frame, plan):
    return differences(frame, plan, kind="ratio")


ONCE_MARRIED = dict.fromkeys(("Divorced", "Separated", "Widowed"), "Once married")
SCORES = {"1 school": 9, "2 grade 12": 12, "3 some college": 14, "4 degree": 17}


def collapsed(frame, plan):
    return answer(table(frame, plan, "MARST", "EDUC").collapse("MARST", ONCE_MARRIED))


def mean_score(frame, plan):
    return answer(table(frame, plan, "MARST", "EDUC").mean("EDUC", SCORES))


def cumulative(frame, plan):
    """Shares up to each level but the last, which is one by definition."""
    every = answer(table(frame, plan, "SEX", "EDUC").cumulative("EDUC"))
    keep = [i for i, name in enumerate(every.names) if not name.endswith("4 degree")]
    names = tuple(every.names[i] for i in keep)
    return Answer(names, every.values[keep], every.lower[keep], every.upper[keep])


def quantiles(frame, plan):
    """Quartiles of schooling by marital status; a level is known by its first digit."""
    found = table(frame, plan, "MARST", "EDUC").quantiles("EDUC", [0.25, 0.5, 0.75])
    rows = found.to_dict("list")
    names = tuple(f"{m} {s}" for m, s in zip(rows["MARST"], rows["share"], strict=True))
    ends = (rows["quantile"], rows["lower"], rows["upper"])
    return Answer(names, *(np.array([int(str(label)[0]) for label in own]) for own in ends))


def means(frame, plan):
    """Mean income by marital status, which is randomised, and work, which is not; by schooling."""
    return joined(
        answer(table(frame, plan, "WORKS", "MARST", mean="INCOME")),
        answer(table(frame, plan, "EDUC", mean="INCOME")),
    )


def totals(frame, plan):
    """Totals of income for each person of the file, so that files of any size have one truth."""
    e = answer(table(frame, plan, "MARST", total="INCOME"))
    return Answer(e.names, e.values / len(frame), e.lower / len(frame), e.upper / len(frame))


def degrees(frame, plan):
    """The odds of a degree, women's over men's, and its logarithm."""
    cells = table(frame, plan, "SEX", "EDUC")
    women = np.array([sex == "Female" for sex in cells.cells["SEX"]])
    degree = np.array([level == "4 degree" for level in cells.cells["EDUC"]])

    def odds(p, who):
        return p[who & degree].sum() / p[who & ~degree].sum()

    def both(p):
        ratio = odds(p, women) / odds(p, ~women)
        return [ratio, np.log(ratio)]

    return answer(cells.function(both, names=["odds ratio", "log odds ratio"]))


def regression(formula, family):
    """Return the function that fits a regression."""

    def fitted(frame, plan):
        return coefficients(pramble.estimate_regression(frame, plan, formula, family=family))

    return fitted


LOGISTIC = "WORKS ~ SEX + MARST + YEARS"


COPIES = 5


def imputed(frame, plan):
    """Coefficients of the logistic regression by statsmodels, fitted to each of five copies."""
    if not plan:
        return coefficients(pramble.estimate_regression(frame, {}, LOGISTIC))
    import statsmodels.formula.api as smf

    copies = pramble.impute(frame, plan, copies=COPIES, seed=1, using=["WORKS", "YEARS"])
    fits = [smf.logit(LOGISTIC, copy).fit(disp=0) for copy in copies]
    c = pramble.combine([f.params for f in fits], [f.cov_params() for f in fits])
    plain = {"[T.": "[", "Intercept": "intercept"}
    names = list(fits[0].params.index)
    for theirs, ours in plain.items():
        names = [name.replace(theirs, ours) for name in names]
    return Answer(tuple(names), c.estimate, c.lower, c.upper)


QUANTITIES = {
    "one-way cells": one_way,
    "two-way cells": two_way,
    "shares given a group": conditional,
    "differences of groups": differences,
    "ratios of groups": ratios,
    "merged labels": collapsed,
    "mean scores": mean_score,
    "shares up to a level": cumulative,
    "quartiles": quantiles,
    "means by group": means,
    "totals by group": totals,
    "odds ratio": degrees,
    "linear": regression("INCOME ~ SEX + EDUC + YEARS", "linear"),
    "logistic": regression(LOGISTIC, "logistic"),
    "multinomial": regression("MARST ~ SEX + YEARS", "multinomial"),
    "ordinal": regression("EDUC ~ SEX + YEARS", "ordinal"),
    "Poisson": regression("VISITS ~ SEX + MARST + YEARS", "poisson"),
    "imputations": imputed,
}
