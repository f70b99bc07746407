"""The law of what is released, from data in to data out, and the power to see a wrong one."""

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.engine.audits import alpha_seen, chi_square_p, table_of

import pramble
from pramble.data.labels import as_labels
from pramble.engine import block as block_module
from pramble.engine import keystream, sampling
from pramble.engine.sampling import AliasSampler
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.general import General

KEY = bytes(range(7, 39))
PLAUSIBLE = 1e-6
IMPOSSIBLE = 1e-12


def random_matrix(S, T, seed):
    return np.random.default_rng(seed).dirichlet(np.full(T, 2.0), size=S)


MECHANISMS = {
    "randomised response": pramble.randomized_response(10, 1.0),
    "keep probabilities": pramble.keep_probabilities([0.9, 0.2, 0.5, 0.05]),
    "uniform rows, no table": pramble.randomized_response(400, 4.0),
    "arcs": Arcs(
        as_labels(40), as_labels(60), np.arange(40) * 3 % 60, np.arange(60) * 7 % 60, 13, 2**46 + 5
    ),
    "general": pramble.Mechanism.from_matrix(random_matrix(10, 10, 1)),
    "wide": pramble.Mechanism.from_matrix(random_matrix(4, 300, 2)),
    "tall": pramble.Mechanism.from_matrix(random_matrix(7, 3, 3)),
}


def codes_in(mechanism, n, seed=0):
    return np.random.default_rng(seed).integers(0, mechanism.shape[0], n)


def drawn_codes(mechanism, truth, column="x", **options):
    """Codes in, through the public verb on labels held as Arrow or Python values, codes out."""
    if isinstance(mechanism.categories[0], tuple):
        order = {label: code for code, label in enumerate(mechanism.outputs)}
        values = [mechanism.categories[code] for code in truth.tolist()]
        drawn = pramble.perturb(values, mechanism, column=column, **options)
        return np.array([order[z] for z in drawn])
    labels = pa.array(mechanism.categories)
    drawn = pramble.perturb(labels.take(pa.array(truth)), mechanism, column=column, **options)
    return drawn.to_numpy().astype(np.int64)


def sample_size(mechanism):
    return 200_000 if isinstance(mechanism.categories[0], tuple) else 4_000_000


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_released_table_has_the_stated_law(name):
    m = MECHANISMS[name]
    truth = codes_in(m, sample_size(m))
    drawn = drawn_codes(m, truth, key=KEY)
    p = chi_square_p(table_of(truth, drawn, shape=m.shape), m.weights)
    assert PLAUSIBLE < p < 1 - PLAUSIBLE


def mistaken(mechanism, x, z, *, share):
    """The same weights but for one, which is off by a share that another column gives back."""
    weights = np.array(mechanism.weights)
    step = int(weights[x, z] * share)
    weights[x, z] += step
    weights[x, (z + 1) % weights.shape[1]] -= step
    return General(mechanism.labels, mechanism.output_labels, weights)


@pytest.mark.parametrize("share", [0.02, -0.02])
@pytest.mark.parametrize("name", ["randomised response", "general"])
def test_two_per_cent_in_one_weight_is_rejected(name, share):
    m = MECHANISMS[name]
    x, z = 3, int(np.argmax(np.where(np.arange(10) == 3, 0, m.weights[3])))
    truth = codes_in(m, 30_000_000).astype(np.uint8)
    counts = table_of(truth, pramble.perturb(truth, m, key=KEY, column="x"), shape=m.shape)
    assert PLAUSIBLE < chi_square_p(counts, m.weights) < 1 - PLAUSIBLE
    assert chi_square_p(counts, mistaken(m, x, z, share=share).weights) < PLAUSIBLE


def alpha_audited(mechanism, *, n, key):
    """The Clopper–Pearson bound at the certificate's own witness, from labels in to labels out."""
    x, other, z = pramble.certify(mechanism).witness
    hits = [
        sum(one == z for one in pramble.perturb([true] * n, mechanism, key=key, column=name))
        for true, name in ((x, "first"), (other, "second"))
    ]
    return alpha_seen(hits[0], n, other_hits=hits[1], other_trials=n)


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_audit_sees_more_than_the_certificate(name):
    m = MECHANISMS[name]
    alpha = pramble.certify(m).alpha
    seen = alpha_audited(m, n=60_000, key=KEY)
    assert seen <= alpha


@pytest.mark.parametrize("name", ["randomised response", "keep probabilities", "tall"])
def test_the_audit_sees_nearly_all_of_it(name):
    m = MECHANISMS[name]
    assert alpha_audited(m, n=300_000, key=KEY) > 0.85 * pramble.certify(m).alpha


def test_the_audit_catches_a_mechanism_that_promises_too_much():
    promised = pramble.randomized_response(["a", "b"], 0.5)
    sampled = pramble.randomized_response(["a", "b"], 0.7)
    assert alpha_audited(sampled, n=200_000, key=KEY) > pramble.certify(promised).alpha


def pair_table(first, second, S):
    return table_of(first, second, shape=(S, S))


def independence_p(counts):
    """The p-value of independence of the two sides of a table."""
    total = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    from scipy import stats

    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, (counts.shape[0] - 1) * (counts.shape[1] - 1)))


def flat_release(n=1_000_000, S=8):
    m = pramble.randomized_response(S, 1e-3)
    frame = pa.table({"a": pa.array(np.zeros(n, np.uint8)), "b": pa.array(np.zeros(n, np.uint8))})
    out = pramble.perturb(frame, {"a": m, "b": m}, key=KEY)
    return out["a"].to_numpy(), out["b"].to_numpy()


def test_columns_and_neighbouring_rows_are_independent():
    a, b = flat_release()
    assert independence_p(pair_table(a, b, 8)) > PLAUSIBLE
    for lag in (1, 2, 3, 4, 8):
        assert independence_p(pair_table(a[:-lag], a[lag:], 8)) > PLAUSIBLE


def test_bits_shared_by_columns_are_caught(monkeypatch):
    honest = keystream.derived_key
    monkeypatch.setattr(keystream, "derived_key", lambda key, purpose, *_: honest(key, purpose))
    a, b = flat_release()
    assert independence_p(pair_table(a, b, 8)) < IMPOSSIBLE


def test_bits_shared_by_rows_are_caught(monkeypatch):
    honest = keystream.KeyStream.words
    monkeypatch.setattr(
        keystream.KeyStream, "words", lambda self, rows: np.repeat(honest(self, rows)[::2], 2)
    )
    a, _ = flat_release()
    assert independence_p(pair_table(a[:-1], a[1:], 8)) < IMPOSSIBLE


def broken_release(monkeypatch, damage):
    """A release by the public verb with a damaged sampler behind it."""
    m = MECHANISMS["general"]
    damaged = damage(sampling.sampler(m))
    monkeypatch.setattr(block_module, "sampler", lambda _, slim: damaged)
    truth = codes_in(m, 2_000_000)
    return chi_square_p(table_of(truth, drawn_codes(m, truth, key=KEY), shape=m.shape), m.weights)


def swap_rows(drawer):
    table = drawer.table.reshape(10, -1)[[1, 0, *range(2, 10)]]
    return AliasSampler(table.ravel(), drawer.low, drawer.index_bits, drawer.width)


def one_row_for_all(drawer):
    table = np.tile(drawer.table.reshape(10, -1)[0], 10)
    return AliasSampler(table, drawer.low, drawer.index_bits, drawer.width)


def coarse(drawer):
    """Thresholds cut to eight bits, as a careless 8-bit kernel would have them."""
    cut = (drawer.table >> np.uint64(56)) << np.uint64(56)
    table = cut | (drawer.table & np.uint64(0xFFFFFFFF))
    return AliasSampler(table, drawer.low, drawer.index_bits, drawer.width)


@pytest.mark.parametrize("damage", [swap_rows, one_row_for_all, coarse])
def test_a_damaged_kernel_is_caught_from_outside(monkeypatch, damage):
    assert broken_release(monkeypatch, lambda drawer: drawer) > PLAUSIBLE
    assert broken_release(monkeypatch, damage) < IMPOSSIBLE


def test_the_bound_is_a_bound():
    """Clopper–Pearson at 1 − 1e-9 stays below the true log ratio, and comes near it."""
    rng = np.random.default_rng(5)
    seen = [
        alpha_seen(
            rng.binomial(10_000, 0.4),
            10_000,
            other_hits=rng.binomial(10_000, 0.1),
            other_trials=10_000,
        )
        for _ in range(200)
    ]
    assert max(seen) < math.log(4)
    assert min(seen) > math.log(4) - 0.5
