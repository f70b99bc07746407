"""Golden numbers of sdcMicro's example files (its documented results, all printed digits)."""

import numpy as np
import pytest

import pramble

FRANCDAT = [
    0.0171442616, 0.0220423262, 0.0220423262, 0.1770758340,
    0.0116544801, 0.2970630774, 0.4023594781, 0.0171442616,
]  # fmt: skip
TESTDATA_KEYS = ["urbrur", "roof", "walls", "water", "sex"]


def test_individual_risk_of_francdat(shared_data):
    path = shared_data("sdcmicro/francdat.csv")
    keys = ["Key1", "Key2", "Key3", "Key4"]
    a = pramble.assess(path, keys, weights="w", model="none")
    np.testing.assert_allclose(a.records["individual"], FRANCDAT, rtol=0, atol=5e-11)
    assert round(float(a.records["individual"].sum()), 12) == 0.966526045200


def test_individual_risk_of_testdata(shared_data):
    path = shared_data("sdcmicro/testdata.csv")
    a = pramble.assess(path, TESTDATA_KEYS, weights="sampling_weight", model="none")
    assert a.n == 4580
    assert a.sample_uniques == 12
    assert round(float(a.records["individual"].sum()), 12) == 1.526397272259


@pytest.mark.parametrize("reader", ["path", "pandas", "polars", "pyarrow"])
def test_main_effects_model_of_testdata(shared_data, reader):
    path = shared_data("sdcmicro/testdata.csv")
    data = {"path": str, "pandas": read_pandas, "polars": read_polars, "pyarrow": read_pyarrow}
    a = pramble.assess(
        data[reader](path), TESTDATA_KEYS, weights="sampling_weight", model="independence"
    )
    assert a.tau1 == pytest.approx(0.0226783069139, abs=5e-14)
    assert a.tau2 == pytest.approx(0.308495222891, abs=5e-13)
    assert a.population_size == 458_000


def read_pandas(path):
    import pandas as pd

    return pd.read_csv(path)


def read_polars(path):
    import polars as pl

    return pl.scan_csv(path)


def read_pyarrow(path):
    from pyarrow import csv

    return csv.read_csv(path)


def test_constant_weights_say_the_same_as_the_population_size(shared_data):
    path = shared_data("sdcmicro/testdata.csv")
    one = pramble.assess(path, TESTDATA_KEYS, weights="sampling_weight", model="two-way")
    two = pramble.assess(path, TESTDATA_KEYS, population_size=458_000, model="two-way")
    assert one.tau1 == pytest.approx(two.tau1, rel=1e-9)
    assert one.tau2 == pytest.approx(two.tau2, rel=1e-9)
