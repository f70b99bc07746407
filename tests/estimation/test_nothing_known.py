"""A release of full rank that tells nothing: every path says so, none is tight and wrong."""

import numpy as np
import pytest

import pramble


@pytest.fixture(scope="module")
def nearly_singular():
    """A mechanism of rank five whose condition number is nine million, and a release with it."""
    M = np.tile([0.5, 0.3, 0.1, 0.05, 0.05], (5, 1)) + np.diag(1e-7 * np.arange(1, 6))
    m = pramble.Mechanism.from_matrix(M / M.sum(axis=1, keepdims=True), categories=list("abcde"))
    assert np.linalg.matrix_rank(m.matrix) == 5
    rng = np.random.default_rng(0)
    x = rng.choice(list("abcde"), 20_000, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    frame = {
        "x": x.tolist(),
        "y": (rng.normal(10, 1, 20_000) + (x == "a")).tolist(),
        "s": rng.choice(["u", "v"], 20_000).tolist(),
    }
    return pramble.perturb(frame, {"x": m}, key=b"k" * 32), {"x": m}


@pytest.mark.parametrize("method", ["mle", "inverse"])
@pytest.mark.parametrize(
    "asked",
    [
        {"by": "x"},
        {"by": ["s", "x"]},
        {"by": "x", "query": "x=a|b"},
        {"by": "x", "given": "s"},
        {"by": "s", "given": "x"},
    ],
)
def test_shares_are_said_to_be_unknown(nearly_singular, asked, method):
    data, plan = nearly_singular
    e = pramble.estimate(data, plan, method=method, **asked)
    assert (e.lower == 0).all()
    assert (e.upper == 1).all()
    assert e.notes[0].startswith(f"Nothing is known of {len(e.values)} of {len(e.values)}")


def test_totals_are_said_to_be_unknown(nearly_singular):
    data, plan = nearly_singular
    e = pramble.estimate(data, plan, by="x", total="y")
    most = np.abs(data["y"]).sum()
    assert (e.lower <= -most).all()
    assert (e.upper >= most).all()
    assert "Nothing is known of 5 of 5 totals" in e.notes[0]


def test_means_are_said_to_be_unknown(nearly_singular):
    data, plan = nearly_singular
    e = pramble.estimate(data, plan, by="x", mean="y")
    assert np.isinf(e.upper).all()
    assert len(e.notes) == 2


def test_scores_and_contrasts_are_said_to_be_unknown(nearly_singular):
    data, plan = nearly_singular
    table = pramble.estimate(data, plan, by=["s", "x"])
    mean = table.mean("x", dict(zip("abcde", range(5), strict=True)))
    assert (mean.lower.tolist(), mean.upper.tolist()) == ([0, 0], [4, 4])
    assert "Nothing is known of 2 of 2" in mean.notes[0]
    difference = pramble.estimate(data, plan, by="x", given="s").contrast("s", "u", "v")
    assert (difference.upper - difference.lower >= 1).all()


def test_the_strength_of_a_dependence_is_said_to_be_unknown(nearly_singular):
    data, plan = nearly_singular
    found = pramble.independence_test(data, plan, columns=["x", "s"])
    assert np.isnan(found.cramers_v)


def test_a_good_release_has_no_such_note():
    m = pramble.randomized_response(list("abc"), 2.0)
    data = {"x": list("abcab") * 400, "y": [1.0, 2.0] * 1000}
    for asked in ({}, {"query": "x=a"}, {"total": "y"}, {"mean": "y"}):
        assert pramble.estimate(data, {"x": m}, by="x", **asked).notes == ()


def test_rows_that_were_selected_by_a_randomised_column_are_noticed(tmp_path):
    rng = np.random.default_rng(2)
    people = {"x": rng.choice(list("abc"), 900).tolist(), "s": rng.choice(["u", "v"], 900).tolist()}
    release = pramble.release(people, tmp_path / "out", columns=["x"], alpha=1.0, ledger=False)
    frame = release.data.to_pandas()
    with pytest.warns(pramble.PrambleWarning, match="rows of the 900 that were released"):
        e = pramble.estimate(frame[frame.x == "a"], release, by="x")
    assert "fits its plan badly" in e.notes[-1]
    whole = pramble.estimate(frame, release, by="x")
    assert whole.notes == ()
    assert whole.values == pytest.approx(pramble.estimate(release, by="x").values)
