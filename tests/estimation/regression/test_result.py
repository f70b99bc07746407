"""The answer of a regression, and how it is shown."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from tests.estimation.regression.people import NAMES, PLANS, people

import pramble

FRAME = people(np.random.default_rng(0), 3000)
RELEASED = pramble.perturb(FRAME, PLANS["columns"], key=bytes(32))
FORMULA = "y ~ x + sex + age"
FIT = pramble.estimate_regression(RELEASED, PLANS["columns"], FORMULA)


def test_it_pickles_and_is_read_only():
    again = pickle.loads(pickle.dumps(FIT))
    assert np.array_equal(again.coefficients, FIT.coefficients)
    assert not again.covariance.flags.writeable


def test_frames_of_every_library():
    assert isinstance(FIT.table, pd.DataFrame)
    assert isinstance(FIT.to_polars(), pl.DataFrame)
    assert isinstance(FIT.to_arrow(), pa.Table)
    assert FIT.to_pandas().columns.tolist() == [
        "term", "coefficient", "standard_error", "lower", "upper", "z", "p_value", "inflation",
    ]  # fmt: skip
    np.testing.assert_allclose(FIT.z, FIT.coefficients / FIT.standard_errors)


def test_text_and_html_have_the_numbers():
    for text in (repr(FIT), FIT.summary(), FIT._repr_html_()):
        assert "3,000 records" in text
        for name, value in zip(FIT.names, FIT.coefficients, strict=True):
            assert name in text
            assert f"{value:.5g}" in text
    hostile = FRAME.assign(x=FRAME.x.replace({"b": "z<script>"}))
    shown = pramble.estimate_regression(hostile, {}, "y ~ x")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_inflation_is_what_randomisation_adds():
    """Against fits without randomisation, on average."""
    raw = pramble.estimate_regression(FRAME, {}, FORMULA)
    factor = (FIT.standard_errors / raw.standard_errors) ** 2
    assert np.allclose(raw.inflation, 1, rtol=1e-9)
    assert (np.abs(np.log(FIT.inflation / factor)) < 0.7).all()
    assert FIT.inflation[NAMES.index("x[b]")] > 2
    assert FIT.inflation[NAMES.index("age")] < 1.5


def test_it_is_drawn():
    figure = FIT.plot()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == list(FIT.names)
