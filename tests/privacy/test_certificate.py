"""The certificate, in and out of the ordinary."""

import math

import pytest

import pramble


def test_satisfies_is_exact_at_the_boundary():
    m = pramble.keep_probabilities([0.75, 0.75])
    certificate = pramble.certify(m)
    assert (certificate.numerator, certificate.denominator) == (3 * 2**51, 2**51)
    assert certificate.alpha == pytest.approx(math.log(3))
    assert certificate.satisfies(certificate.alpha)
    assert not certificate.satisfies(math.nextafter(certificate.alpha, 0))


def test_composition_adds_up():
    m = pramble.randomized_response(4, 0.3)
    one = pramble.certify(m)
    ten = pramble.certify({f"c{i}": m for i in range(10)})
    assert ten.numerator == one.numerator**10
    assert ten.alpha == pytest.approx(10 * one.alpha, rel=1e-15)
    assert ten.satisfies(3.0)


def test_composition_of_different_columns_is_the_sum():
    parts = [pramble.randomized_response(s, a) for s, a in [(2, 0.1), (5, 1.0), (9, 2.5)]]
    whole = pramble.certify(dict(zip("abc", parts, strict=True)))
    assert whole.alpha == pytest.approx(3.6, rel=1e-12)
    assert whole.satisfies(3.6 + 1e-12)


def test_infinite_in_one_column_is_infinite_in_all():
    from numpy import eye

    plan = {"a": pramble.randomized_response(2, 1.0), "b": pramble.Mechanism.from_matrix(eye(2))}
    assert pramble.certify(plan).alpha == math.inf
    assert "no finite α" in str(pramble.certify(plan))


def test_odd_levels():
    certificate = pramble.certify(pramble.randomized_response(3, 1.0))
    assert certificate.satisfies(math.inf)
    assert not certificate.satisfies(-1.0)
    assert not certificate.satisfies(0.0)
    with pytest.raises(pramble.InvalidInput, match="NaN"):
        assert certificate.satisfies(math.nan)
    with pytest.raises(pramble.InvalidInput, match="found int"):
        pramble.certify(3)


def test_printing_names_the_witness():
    m = pramble.keep_probabilities([0.9, 0.9, 0.5], categories=["x", "y", "z"])
    text = str(pramble.certify(m))
    assert text.startswith("α = 2.89")
    assert "'x'" in text
