"""The membership model: its answers on populations with known truth, and what it says of itself."""

import numpy as np
import pytest

import pramble
from pramble import InvalidInput, Membership

SHORT = Membership(profiles=3, chains=2, burn_in=150, draws=60, thin=2, memberships=400, rounds=1)


def mixed_population(rng, n):
    """Two profiles with full membership in one of them: a latent class model."""
    laws = [rng.dirichlet(np.full(size, 0.5), 2) for size in (6, 8, 5, 7)]
    member = rng.random(n) < 0.4
    return [
        np.where(member, rng.choice(len(p[0]), n, p=p[0]), rng.choice(len(p[1]), n, p=p[1]))
        for p in laws
    ]


def sample_with_truth(rng):
    columns = mixed_population(rng, 8000)
    cells = np.ravel_multi_index(columns, (6, 8, 5, 7))
    F = np.bincount(cells, minlength=1680)
    chosen = rng.random(8000) < 0.1
    f = np.bincount(cells[chosen], minlength=1680)
    sample = dict(zip("abcd", (column[chosen] for column in columns), strict=True))
    return sample, (F[f == 1] == 1).sum(), (1 / F[f == 1]).sum()


def test_intervals_hold_the_truth_of_populations_that_follow_the_model():
    held, misled = 0, 0
    for seed in range(8):
        sample, truth1, truth2 = sample_with_truth(np.random.default_rng(100 + seed))
        right, wrong = (
            pramble.assess(
                sample, list("abcd"), population_size=N, model=SHORT, rng=np.random.default_rng(N)
            ).chains
            for N in (8000, 14_000)
        )
        held += right.intervals.tau1[0] <= truth1 <= right.intervals.tau1[1]
        held += right.intervals.tau2[0] <= truth2 <= right.intervals.tau2[1]
        misled += not wrong.intervals.tau2[0] <= truth2 <= wrong.intervals.tau2[1]
    assert held >= 13
    assert misled >= 6


def sharp_population(rng, n, *, profiles=4, shape=(6, 8, 5, 7)):
    """Everyone belongs to one profile, and each profile has few of the levels."""
    member = rng.choice(profiles, n, p=rng.dirichlet(np.full(profiles, 2.0)))
    laws = [rng.dirichlet(np.full(size, 0.1), profiles).cumsum(axis=1) for size in shape]
    return [(law[member] > rng.random(n)[:, None]).argmax(axis=1) for law in laws]


def test_sharp_profiles_are_neither_smoothed_away_nor_stuck():
    """A flat law of levels says 0.66 of the truth here, and its chains have R-hat up to 1.4."""
    model = Membership(profiles=8, chains=2, burn_in=300, thin=3, r_hat=1.05, effective_size=100)
    shape, truths, estimates, held = (6, 8, 5, 7), 0.0, 0.0, 0
    for seed in range(4):
        rng = np.random.default_rng(1000 + seed)
        columns = sharp_population(rng, 8000)
        cells = np.ravel_multi_index(columns, shape)
        chosen = rng.random(8000) < 0.1
        F, f = (np.bincount(some, minlength=1680) for some in (cells, cells[chosen]))
        sample = dict(zip("abcd", (column[chosen] for column in columns), strict=True))
        a = pramble.assess(
            sample, list("abcd"), population_size=8000, model=model, rng=np.random.default_rng(seed)
        )
        truth = (1 / F[f == 1]).sum()
        assert a.chains.converged
        truths, estimates = truths + truth, estimates + a.tau2
        held += a.intervals.tau2[0] <= truth <= a.intervals.tau2[1]
    assert estimates == pytest.approx(truths, rel=0.15)
    assert held >= 3


def test_chains_that_do_not_agree_say_so():
    sample, _, _ = sample_with_truth(np.random.default_rng(4))
    hasty = Membership(profiles=3, chains=2, burn_in=1, draws=10, thin=1, rounds=2)
    a = pramble.assess(
        sample, list("abcd"), population_size=8000, model=hasty, rng=np.random.default_rng(1)
    )
    assert not a.chains.converged
    assert a.chains.sweeps == 20
    assert f"{a.chains.effective_size:.0f} effective draws after 20 sweeps" in a.reason
    assert "NOT converged (at most 1.03 and at least 200 were asked for)" in a.reason
    assert a.summary()["converged"] is False
    assert a.summary()["tau2_interval"] == list(a.intervals.tau2)


def test_chains_end_after_as_many_updates_as_are_allowed():
    sample, _, _ = sample_with_truth(np.random.default_rng(4))
    values = 4 * len(sample["a"])
    model = Membership(profiles=2, chains=2, burn_in=50, draws=15, thin=4, updates=400 * values)
    a = pramble.assess(
        sample, list("abcd"), population_size=8000, model=model, rng=np.random.default_rng(1)
    )
    assert 100 <= a.chains.sweeps <= 150
    assert a.chains.sweeps % 4 == 0


def test_what_a_sampled_assessment_holds():
    sample, _, _ = sample_with_truth(np.random.default_rng(4))
    heard = []
    a = pramble.assess(
        sample, list("abcd"), population_size=8000, model=SHORT, rng=np.random.default_rng(5),
        progress=lambda one: heard.append(one.share),
    )  # fmt: skip
    assert a.chains.r_hat < 1.2
    assert a.chains.effective_size > 10
    assert a.chains.draws.shape == (2, 60, 2)
    assert a.tau2 == pytest.approx(a.chains.draws[:, :, 1].mean())
    assert "R-hat" in a.reason
    assert max(heard) == 1.0
    left = a.after({"a": pramble.randomized_response(a.table.levels[0], 1.0)})
    assert 0 < left.tau2 < a.tau2
    identity = a.after({})
    alone = a.table.counts[a.table.cell_of] == 1
    assert identity.records["r2"][alone].sum() == pytest.approx(a.tau2, rel=0.1)


def test_the_population_size_is_used_as_given():
    rng = np.random.default_rng(6)
    sample = dict(zip("abcd", mixed_population(rng, 400), strict=True))
    taus = [
        pramble.assess(
            sample, list("abcd"), population_size=N, model=SHORT, rng=np.random.default_rng(7)
        ).tau2
        for N in (400, 800, 4000, 400_000)
    ]
    uniques = pramble.assess(sample, list("abcd"), model="none").sample_uniques
    assert taus[0] == pytest.approx(uniques)
    assert taus == sorted(taus, reverse=True)
    assert taus[3] < taus[2] / 20


def test_draws_depend_only_on_the_generator():
    rng = np.random.default_rng(10)
    sample = dict(zip("abcd", mixed_population(rng, 150), strict=True))
    quick = Membership(profiles=2, chains=2, burn_in=5, draws=10, thin=1, memberships=20, rounds=1)
    one, two, three = (
        pramble.assess(
            sample, list("abcd"), population_size=999, model=quick, rng=np.random.default_rng(seed)
        ).tau2
        for seed in (1, 1, 2)
    )
    assert one == two
    assert one != three


def test_settings_out_of_range_are_refused():
    with pytest.raises(InvalidInput, match="profiles must be at least 2; found 1"):
        Membership(profiles=1)
