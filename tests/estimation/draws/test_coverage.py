"""Intervals from copies cover what they promise, for shares and for coefficients."""

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm

import pramble

EFFECTS = np.array([-0.5, 0.8, 0.5, -0.4])


def draw(n, seed):
    """An answer that hangs on a column of three categories, one of them rare, and a numeric one."""
    rng = np.random.default_rng(seed)
    age, town = rng.normal(size=n), rng.integers(0, 2, n)
    job = (rng.random(n) > 0.55 - 0.1 * town).astype(int)
    job[rng.random(n) < 0.06] = 2
    odds = np.exp(design(job, town, age) @ EFFECTS)
    return {"job": job, "ill": (rng.random(n) < odds / (1 + odds)) * 1, "town": town, "age": age}


def design(job, town, age):
    return np.column_stack([np.ones(len(job)), job == 1, town, age]).astype(float)


def measures(frame):
    """Estimates and variances of three shares and all coefficients, as any file would give them."""
    job, ill, town, age = (np.asarray(frame[name]) for name in ("job", "ill", "town", "age"))
    shares = np.array([(job == 0).mean(), (job == 2).mean(), ((job == 1) & (ill == 1)).mean()])
    fit = sm.Logit(ill, design(job, town, age)).fit(disp=0)
    return (
        np.concatenate([shares, fit.params]),
        np.concatenate([shares * (1 - shares) / len(job), np.diag(fit.cov_params())]),
    )


def truth():
    return np.concatenate([measures(draw(1_000_000, 0))[0][:3], EFFECTS])


def covered(releases, *, n, alpha, copies, first=1):
    """Whether intervals cover, errors, and half widths, for each release and measure."""
    plan = {name: pramble.randomized_response(S, alpha) for name, S in (("job", 3), ("ill", 2))}
    right, answers = truth(), []
    for number in range(first, first + releases):
        key = number.to_bytes(32, "big")
        out = pramble.perturb(pa.table(draw(n, number)), plan, key=key)
        frames = pramble.impute(out, plan, copies=copies, seed=number)
        c = pramble.combine(*zip(*map(measures, frames), strict=True))
        inside = (c.lower <= right) & (right <= c.upper)
        answers.append((inside, c.estimate - right, c.upper - c.estimate))
    return (np.array(each) for each in zip(*answers, strict=True))


def test_intervals_cover_and_are_no_wider_than_they_must_be():
    """16 releases with 7 measures each: 93 to 97 % of intervals would be 104 to 109 of 112."""
    inside, errors, half = covered(16, n=1200, alpha=2.5, copies=6)
    assert 100 <= inside.sum() <= 112
    ratio = np.median(half, axis=0) / np.sqrt((errors**2).mean(axis=0))
    assert 1.6 < ratio.mean() < 3.0
    assert (np.abs(errors.mean(axis=0)) < 1.2 * errors.std(axis=0)).all()


@pytest.mark.slow
def test_coverage_over_many_releases():
    """Of each measure over 300 releases: 95 % give or take 1.3 points, and a bias that is small."""
    inside, errors, _ = covered(300, n=2000, alpha=2.0, copies=10, first=1000)
    share = inside.mean(axis=0)
    assert (share > 0.91).all()
    assert 0.93 < share.mean() < 0.975
    assert (np.abs(errors.mean(axis=0)) < 0.35 * errors.std(axis=0)).all()
