"""Bands by private quantiles: what they spend, where they lie, and that noise is all they see."""

import tomllib

import numpy as np
import pyarrow as pa
import pytest
from tests.releasing.conftest import tried

import pramble

INCOMES = np.random.default_rng(5).lognormal(10, 0.6, 20_000).round(2)


@pytest.fixture(scope="module")
def incomes():
    return pa.table(
        {"income": INCOMES, "sex": np.random.default_rng(6).choice(["f", "m"], 20_000).tolist()}
    )


def plan(**bands):
    return {
        "alpha": 40.0,
        "design": "paper",
        "columns": {
            "income": {"bands": {"quantiles": 5, "from": 0, "to": 60_000, **bands}},
            "sex": {"categories": ["f", "m"]},
        },
    }


def test_bands_hold_about_as_many_people_each(incomes):
    r = tried(plan(), incomes)
    edges = tomllib.loads(r.outcome.plan)["columns"]["income"]["bands"]
    assert edges[0] == 0
    assert len(edges) == 5
    held = np.histogram(INCOMES, [*edges, np.inf])[0] / len(INCOMES)
    assert np.abs(held - 0.2).max() < 0.04
    income = r.outcome.columns[0]
    assert income.alpha_prior == pytest.approx(0.02 * 20)  # of the column's part of 40
    np.testing.assert_allclose(income.prior, held, atol=0.02)


def test_a_release_counts_the_bands_in_what_it_spends(incomes, tmp_path):
    r = pramble.release(incomes, tmp_path / "out", plan=plan(), ledger=False)
    part = next(p for p in r.manifest["design"]["parts"] if p["column"] == "income")
    assert part["prior"]["source"] == "private"
    assert part["prior"]["alpha"] == pytest.approx(0.4)
    assert "quantiles" in part["prior"]["detail"]
    assert r.alpha <= 40.0
    found = pramble.open_release(tmp_path / "out")
    e = pramble.estimate(found.data, found.plan, by=["income"])
    assert len(e.probabilities) == 5
    assert np.abs(e.probabilities - 0.2).max() < 0.05


def test_values_beyond_the_range_are_in_the_first_and_the_last_band(tmp_path):
    table = pa.table({"income": [-5.0, 1e9, 20.0, 30.0] * 500, "sex": ["f", "m"] * 1000})
    r = pramble.release(table, tmp_path / "out", plan=plan(to=50, quantiles=2), ledger=False)
    assert len(r.plan["income"].categories) == 2


def test_empty_cells_have_a_share_of_the_prior():
    table = pa.table({"income": [10.0, None, 20.0, 40.0] * 2000, "sex": ["f", "m"] * 4000})
    stated = plan(to=50, quantiles=2)
    stated["columns"]["income"]["missing"] = "none"
    income = tried(stated, table).outcome.columns[0]
    assert income.prior[-1] == pytest.approx(0.25, abs=0.03)
    assert len(income.categories) == len(income.prior)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quantiles": 1}, "quantiles"),
        ({"quantiles": 2.5}, "whole number"),
        ({"to": -1}, "to a larger one"),
        ({"step": 1}, "quantiles, from and to"),
    ],
)
def test_mistakes_in_the_plan(incomes, tmp_path, change, words):
    with pytest.raises(pramble.InvalidPlan, match=words):
        pramble.release(incomes, tmp_path / "out", plan=plan(**change))


def test_plans_for_records_and_counted_people_are_refused(incomes, tmp_path):
    records = {**plan(), "design": "records"}
    with pytest.raises(pramble.InvalidPlan, match="one by one"):
        pramble.release(incomes, tmp_path / "out", plan=records)
    people = incomes.append_column("id", pa.array(range(incomes.num_rows)))
    counted = {**plan(), "person": "id"}
    with pytest.raises(pramble.InvalidPlan, match="rows_per_person"):
        pramble.release(people, tmp_path / "out", plan=counted)
