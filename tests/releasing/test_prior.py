"""Priors: sources, what they cost, and refusals."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramble.errors import InvalidPrior, PrivacyError
from pramble.information.consistent import nearest_on_simplex
from pramble.releasing.priors import (
    Prior,
    RecordPrior,
    confidential_prior,
    private_prior,
    public_prior,
    uniform_prior,
)

counts = st.lists(st.integers(0, 10**6), min_size=2, max_size=12).filter(any)


@given(counts, st.floats(0.001, 2).map(Fraction))
def test_private_priors_are_positive_and_state_what_they_spent(found, epsilon):
    prior = private_prior(found, epsilon)
    assert prior.spent == epsilon
    assert prior.source == "private"
    assert min(prior.probabilities) > 0
    assert math.fsum(prior.probabilities) == pytest.approx(1, abs=1e-12)


def test_private_prior_is_near_the_truth_for_a_large_file_and_not_exact():
    found = [300_000, 500_000, 200_000]
    prior = private_prior(found, Fraction(2, 100))
    truth = np.array(found) / 1e6
    assert np.abs(np.array(prior.probabilities) - truth).max() < 0.005
    draws = {private_prior(found, Fraction(2, 100)).probabilities for _ in range(5)}
    assert len(draws) == 5


@given(st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=7), st.integers(0, 60))
def test_nearest_on_simplex_satisfy_the_optimality_conditions(values, total):
    v = np.array(values)
    x = nearest_on_simplex(v, total=float(total))
    assert x.min() >= 0
    assert x.sum() == pytest.approx(total, abs=1e-9)
    multiplier = x - v  # constant where x > 0, and nowhere smaller
    free = x > 1e-9
    if free.any():
        assert np.ptp(multiplier[free]) < 1e-9
        assert multiplier.min() >= multiplier[free].max() - 1e-9


def test_a_confidential_prior_needs_the_flag():
    with pytest.raises(PrivacyError, match="confidential_prior_allowed"):
        confidential_prior([1, 2], allowed=False)
    prior = confidential_prior([1, 2], allowed=True)
    assert prior.source == "confidential"
    assert prior.spent == 0


def test_only_private_priors_spend():
    with pytest.raises(PrivacyError):
        Prior((0.5, 0.5), "public", Fraction(1), "x")
    with pytest.raises(PrivacyError):
        Prior((0.5, 0.5), "private", Fraction(0), "x")
    assert uniform_prior(3).spent == 0


@pytest.mark.parametrize(
    "text",
    [
        "category,count\n0,10\n1,30\n",
        "column,category,count\nage,0,99\nsex,0,0.25\nsex,1,0.75\n",
        "name,sex\na,1\nb,1\nc,0\nd,1\n",
    ],
)
def test_public_priors_from_csv(tmp_path, text):
    path = tmp_path / "margins.csv"
    path.write_text(text)
    prior = public_prior(path, "sex", categories=[0, 1])
    assert prior.probabilities == pytest.approx((0.25, 0.75))
    assert prior.detail == "Frequencies of margins.csv, public."


def test_public_priors_from_parquet_with_an_absent_category(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"sex": pa.array(["m", "f", "f"]).dictionary_encode()}), path)
    prior = public_prior(path, "sex", categories=["m", "f", "x"])
    assert prior.probabilities == pytest.approx((1 / 3.5, 2 / 3.5, 0.5 / 3.5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("category,count\n7,1\n", "not declared categories"),
        ("category,count\n0,many\n", "must hold numbers"),
        ("category,count\n0,-1\n1,2\n", "non-negative"),
        ("a,b\n1,2\n", "must have a column 'sex'"),
        ("column,category,count\nage,0,1\n", "no margins of column 'sex'"),
        ("", "Cannot read"),
    ],
)
def test_bad_public_sources_are_refused(tmp_path, text, message):
    path = tmp_path / "margins.csv"
    path.write_text(text)
    with pytest.raises(InvalidPrior, match=message):
        public_prior(path, "sex", categories=[0, 1])


def test_an_absent_public_source_is_refused(tmp_path):
    with pytest.raises(InvalidPrior, match="There is no file"):
        public_prior(tmp_path / "no.csv", "sex", categories=[0, 1])


@pytest.mark.parametrize(
    ("values", "source", "spent", "error", "message"),
    [
        ([0.5, 0.4], "uniform", 0, InvalidPrior, "must sum to 1"),
        ([1.5, -0.5], "uniform", 0, InvalidPrior, "zero or more"),
        ([0.5, 0.5], "guessed", 0, InvalidPrior, "is one of"),
        ([0.5, 0.5], "public", 1, PrivacyError, "no other prior does"),
        ([0.5, 0.5], "private", 0, PrivacyError, "spends part of α"),
        ([0.5, 0.5], "private", -1, PrivacyError, "spends part of α"),
    ],
)
def test_priors_of_columns_and_of_records_are_checked_alike(values, source, spent, error, message):
    with pytest.raises(error, match=message):
        Prior(tuple(values), source, Fraction(spent), "")
    with pytest.raises(error, match=message):
        RecordPrior({("a",): np.array(values)}, source, Fraction(spent), "")


def test_a_public_source_that_lacks_categories_is_said_to(tmp_path):
    (tmp_path / "margins.csv").write_text("category,count\na,30\nb,10\n")
    found = public_prior(tmp_path / "margins.csv", "x", categories=["a", "b", "c"])
    assert "it lacks c of 'x', counted as half of its rarest value" in found.detail
    assert found.probabilities == pytest.approx([30 / 45, 10 / 45, 5 / 45])
    whole = public_prior(tmp_path / "margins.csv", "x", categories=["a", "b"])
    assert "lacks" not in whole.detail
