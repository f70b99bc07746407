"""How an intruder reads outputs: whatever they are called and however many there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble

seeds = st.integers(0, 10**6)


def split(M, rng, *, parts=4):
    """Every output released under one of several names, at random: nothing is hidden by it."""
    shares = rng.dirichlet(np.ones(parts), M.shape[1])
    return pramble.Mechanism.from_matrix((M[:, :, None] * shares).reshape(len(M), -1))


def assessed(rng, *, sizes=(3, 8), n=60, population=300, **keywords):
    data = {key: rng.integers(0, size, n) for key, size in zip("ab", sizes, strict=True)}
    data["b"][: sizes[1]] = np.arange(sizes[1])
    return pramble.assess(
        data, ["a", "b"], population_size=population, model="independence", **keywords
    )


def test_sixty_values_under_four_names_each_are_as_open_as_before():
    rng = np.random.default_rng(1)
    people = {
        "age": rng.choice(["young", "middle", "old"], 500, p=[0.5, 0.3, 0.2]),
        "region": rng.choice(60, 500, p=np.arange(60, 0, -1) / 1830),
    }
    a = pramble.assess(people, ["age", "region"], population_size=1500)
    opened = pramble.Mechanism.from_matrix(
        np.kron(np.eye(60), np.full((1, 4), 0.25)), outputs=[f"name {i}" for i in range(240)]
    )
    left = a.after({"region": opened})
    assert left.tau1 == pytest.approx(a.tau1, rel=1e-9)
    assert left.tau2 == pytest.approx(a.tau2, rel=1e-9)
    np.testing.assert_allclose(left.records["posterior"], 1.0)


@given(seeds, st.floats(0.5, 5.0))
def test_more_names_never_lower_the_risk(seed, alpha):
    rng = np.random.default_rng(seed)
    a = assessed(rng)
    kept = pramble.randomized_response(8, alpha).matrix
    general = 0.5 * np.eye(8) + 0.5 * rng.dirichlet(np.ones(8), 8)
    for M in (kept, general, rng.dirichlet(np.ones(5), 8)):
        plain = a.after({"b": pramble.Mechanism.from_matrix(M)})
        more = a.after({"b": split(M, rng)})
        assert more.tau2 >= plain.tau2 * (1 - 1e-9)
        if more.reading == "likelihood" and plain.reading == "labels":
            np.testing.assert_allclose(more.records["r2"], plain.records["r2"], rtol=1e-9)


@given(seeds)
def test_the_order_and_the_names_of_outputs_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    a = assessed(rng)
    M = rng.dirichlet(np.full(int(rng.integers(2, 15)), 0.5), 8)
    order = rng.permutation(M.shape[1])
    plain = a.after({"b": pramble.Mechanism.from_matrix(M)})
    names = [f"x{i}" for i in range(M.shape[1])]
    other = a.after({"b": pramble.Mechanism.from_matrix(M[:, order], outputs=names)})
    assert other.reading == plain.reading
    assert other.tau1 == pytest.approx(plain.tau1, rel=1e-9, abs=1e-300)
    assert other.tau2 == pytest.approx(plain.tau2, rel=1e-9, abs=1e-300)
    np.testing.assert_allclose(other.records["r2"], plain.records["r2"], rtol=1e-9)


@given(seeds, st.floats(0.1, 4.0))
def test_labels_that_are_kept_are_read(seed, alpha):
    """Any matrix whose columns are largest on their own label, and all uniform rows."""
    rng = np.random.default_rng(seed)
    a = assessed(rng)
    M = 0.5 * np.eye(8) + 0.5 * rng.dirichlet(np.ones(8), 8)
    left = a.after({"b": pramble.Mechanism.from_matrix(M)})
    assert left.reading == "labels"
    p = a.table.array(axes=[1]) / a.table.n
    expected = p * np.diagonal(M) / (p @ M)
    np.testing.assert_allclose(
        left.records["posterior"], expected[a.table.cells[a.table.cell_of][:, 1]], rtol=1e-9
    )
    uniform = pramble.randomized_response(8, alpha)
    again = a.after({"b": pramble.Mechanism.from_matrix(uniform.matrix)})
    assert a.after({"b": uniform}).reading == again.reading == "labels"
    assert a.after({"b": uniform}).tau2 == pytest.approx(again.tau2, rel=1e-9)


def attack(a, M, F, *, weigh, rounds, rng):
    """Randomise key b, read it, link what is alone on its reading; the mean yield and its error."""
    rows = a.table.cells[a.table.cell_of]
    shares = np.bincount(rows[:, 1], minlength=len(M)) / len(rows)
    read = weigh(shares[:, None], M).argmax(axis=0)
    cumulated = M.cumsum(axis=1)
    yields = []
    for _ in range(rounds):
        z = (rng.random(len(rows))[:, None] > cumulated[rows[:, 1]]).sum(axis=1)
        cell = rows[:, 0] * len(M) + read[np.minimum(z, M.shape[1] - 1)]
        alone = np.bincount(cell, minlength=3 * len(M))[cell] == 1
        right = alone & (cell == rows[:, 0] * len(M) + rows[:, 1])
        yields.append((1 / F[cell[right]]).sum())
    return np.mean(yields), np.std(yields) / np.sqrt(rounds)


def posterior(shares, M):
    return shares * M


def likelihood(shares, M):
    return np.where(M.max(axis=0) * (1 - 1e-12) <= M, 1 + shares, shares * 0)


DESIGNS = {
    "free": pramble.design(
        np.arange(8, 0, -1) / 36, alpha=3.0, family="general", outputs="free"
    ).mechanism.matrix,
    "wide": np.random.default_rng(3).dirichlet(np.full(20, 0.1), 8),
    "split": split(pramble.randomized_response(8, 3.0).matrix, np.random.default_rng(4)).matrix,
    "merged": np.repeat(np.random.default_rng(5).dirichlet(np.full(4, 0.3), 4), 2, axis=0),
}


@pytest.mark.parametrize("M", DESIGNS.values(), ids=DESIGNS)
def test_the_risk_left_is_the_yield_of_the_best_reading(M):
    """A census, so that the population is known: F = f, and 1/F is what a link is worth."""
    rng = np.random.default_rng(6)
    a = assessed(rng, population=60)
    F = np.zeros(24)
    np.add.at(F, a.table.cells[:, 0] * 8 + a.table.cells[:, 1], a.table.counts)
    plan = {"b": pramble.Mechanism.from_matrix(M)}
    left = a.after(plan)
    for weigh in (posterior, likelihood):
        found, error = attack(a, M, F, weigh=weigh, rounds=2000, rng=rng)
        assert found < left.tau2 + 4.5 * error
        if weigh.__name__ == left.reading:
            assert found == pytest.approx(left.tau2, abs=4.5 * error + 1e-9)


def test_readings_are_named():
    rng = np.random.default_rng(7)
    a = assessed(rng)
    wide = pramble.Mechanism.from_matrix(rng.dirichlet(np.full(20, 0.1), 8))
    kept = pramble.randomized_response(3, 1.0)
    several = ("posterior", "likelihood", "one-to-one")
    assert a.after({"a": kept, "b": wide}).reading in several
    assert a.after({"a": kept}).reading == a.after({}).reading == "labels"


def test_rows_that_rather_leave_are_read_from_where_they_go():
    """Keep below off: a permuted reading serves an intruder better, with any number of values."""
    people = {"a": [0, 1, 2, 3] * 10}
    a = pramble.assess(people, ["a"], population_size=200, model="independence")
    left = a.after({"a": pramble.keep_probabilities([0.1] * 4)})
    assert left.reading != "labels"
    np.testing.assert_allclose(left.records["posterior"], 0.3)
    assert a.after({"a": pramble.keep_probabilities([0.3] * 4)}).reading == "labels"
