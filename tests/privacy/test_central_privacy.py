"""The central promise as a guarantee: compared and added up exactly, read back, composed."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.errors import InvalidData, PrivacyError
from pramble.privacy.promise import CentralPromise, LocalPromise, composed, promise_from_json

fractions = st.fractions(0, 5, max_denominator=10**9)
chances = st.fractions(0, 1, max_denominator=10**12)
promises = st.builds(CentralPromise, fractions, chances, st.integers(1, 5))


@given(promises, promises)
def test_promises_add_up_and_compare_exactly(one, two):
    whole = one + two
    assert whole.epsilon == one.epsilon + two.epsilon
    assert whole.delta == min(one.delta + two.delta, 1)
    assert whole.allows(one)
    assert whole.allows(two)
    assert one.allows(two) == (two.epsilon <= one.epsilon and two.delta <= one.delta)


@given(promises)
def test_a_document_reads_back(one):
    assert promise_from_json(one.to_json()) == one
    assert one.shown >= one.epsilon
    assert one.shown_delta >= one.delta


def test_a_damaged_document_is_refused():
    document = CentralPromise(Fraction(1, 3), Fraction(1, 10**6)).to_json()
    for damaged in (
        {**document, "epsilon": 0.3},
        {**document, "delta_exact": "2"},
        {**document, "delta_exact": "x"},
        {**document, "more": 1},
        {**document, "rows_per_person": 0},
        {**document, "epsilon": -1.0, "epsilon_exact": "-1"},
    ):
        with pytest.raises(InvalidData):
            promise_from_json(damaged)


def test_promises_of_different_notions_do_neither():
    local, central = LocalPromise(Fraction(1)), CentralPromise(Fraction(1), Fraction(0))
    for one, two in ((local, central), (central, local)):
        with pytest.raises(PrivacyError, match="different notions"):
            one.allows(two)
        with pytest.raises(PrivacyError, match="different notions"):
            one + two
    assert CentralPromise.of_local(local) == central


def test_the_sentence_says_what_a_reader_can_be_sure_of():
    weak = CentralPromise(Fraction(8), Fraction(1, 10**6)).sentence()
    strong = CentralPromise(Fraction(1, 10), Fraction(1, 10**6)).sentence()
    assert "almost no protection" in weak
    assert "53 % sure" in strong
    assert "doubt stays" in strong
    assert "all 3 rows" in CentralPromise(Fraction(1), Fraction(0), 3).sentence()


def exact(parts, at):
    """δ of independent (ε, δ) pairs at their worst, from all outcomes."""
    found = 0.0
    for signs in product((-1, 1, None), repeat=len(parts)):
        chance, loss = 1.0, 0.0
        for sign, part in zip(signs, parts, strict=True):
            epsilon, delta = float(part.epsilon), float(part.delta)
            if sign is None:
                chance, loss = chance * delta, math.inf
            else:
                chance *= (1 - delta) / (1 + math.exp(-sign * epsilon))
                loss += sign * epsilon
        found += chance * max(-math.expm1(at - loss), 0.0)
    return found


@given(st.lists(st.builds(CentralPromise, st.fractions(Fraction(1, 20), 1, max_denominator=20),
                          st.fractions(0, Fraction(1, 1000), max_denominator=10**4)),
                min_size=2, max_size=6), st.floats(1e-4, 0.1))  # fmt: skip
def test_composition_is_never_below_the_truth(parts, extra):
    delta = float(sum(part.delta for part in parts)) * (1 + 1e-9) + extra
    epsilon = composed(parts, delta=delta)
    assert exact(parts, epsilon) <= delta * (1 + 1e-9)
    basic = float(sum(part.epsilon for part in parts))
    assert epsilon <= basic * (1 + 1e-12)


def test_composition_of_what_is_spent_without_delta():
    parts = [CentralPromise(Fraction(1, 10), Fraction(1, 10**6))] * 3
    assert math.isinf(composed(parts, delta=2e-6))
    assert composed(parts, delta=3.1e-6) <= 0.3 * (1 + 1e-12)
    assert composed([], delta=0.0) == 0
    assert composed([CentralPromise(Fraction(2), Fraction(0))], delta=0.0) == 2


def test_what_cannot_be_promised_is_refused():
    for epsilon, delta, rows in ((-1, 0, 1), (1, 2, 1), (1, -1, 1), (1, 0, 0)):
        with pytest.raises(PrivacyError):
            CentralPromise(Fraction(epsilon), Fraction(delta), rows)
