"""Priors of a plan: their sources, what they cost, and refusals."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import tried

from pramble.errors import InvalidPrior, PrivacyError

PEOPLE = {"sex": [0, 1, 1, 0] * 3000}


def outcome(categories=(0, 1), source=None, **more):
    """What is known of a column whose design depends on its prior."""
    source = PEOPLE if source is None else source
    column = {"categories": list(categories), "invariant": True, **more}
    plan = {"alpha": 2.0, "design": "columns", "columns": {"sex": column}}
    return tried(plan, source, confidential_prior_allowed=more.get("prior") == "confidential")


def public(path, categories=(0, 1), source=None):
    """A column with the prior of a public file."""
    found = outcome(categories, source, prior="public", prior_file=str(path))
    (column,) = found.outcome.columns
    assert (column.prior_source, column.alpha_prior) == ("public", 0)
    return column


def test_only_private_priors_spend():
    for source, spends in (("private", True), ("uniform", False), ("confidential", False)):
        (column,) = outcome(prior=source).outcome.columns
        assert column.prior_source == source
        assert (column.alpha_prior > 0) == spends


def test_a_confidential_prior_needs_the_flag():
    plan = {"alpha": 2.0, "design": "columns", "prior": "confidential",
            "columns": {"sex": {"categories": [0, 1], "invariant": True}}}  # fmt: skip
    with pytest.raises(PrivacyError, match="confidential_prior_allowed"):
        tried(plan, PEOPLE)


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
    column = public(path)
    assert column.prior == pytest.approx((0.25, 0.75))
    assert column.prior_detail == "Frequencies of margins.csv, public."


def test_public_priors_from_parquet_with_an_absent_category(tmp_path):
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"sex": pa.array(["m", "f", "f"]).dictionary_encode()}), path)
    column = public(path, ["m", "f", "x"], {"sex": ["m", "f"] * 6000})
    assert column.prior == pytest.approx((1 / 3.5, 2 / 3.5, 0.5 / 3.5))
    assert "it lacks x of 'sex', counted as half of its rarest value" in column.prior_detail


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
        public(path)


def test_an_absent_public_source_is_refused(tmp_path):
    with pytest.raises(InvalidPrior, match="There is no file"):
        public(tmp_path / "no.csv")
