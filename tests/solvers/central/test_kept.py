"""Shares of records kept under a central promise: proven, near the guide, and drawn."""

import numpy as np
import pytest

import pramble

GUIDE = {
    (1.0, 10**6): (0.995, 0.96, 0.76),
    (1.0, 10**5): (0.96, 0.76, 0.42),
    (0.1, 10**6): (0.81, 0.45, 0.18),
}
"""Shares at S = 110, 1,000 and 10,000 and δ = 1e-6, from normal margins."""


@pytest.mark.parametrize(("epsilon", "rows"), GUIDE)
def test_near_the_guide(epsilon, rows):
    found = pramble.kept_shares(epsilons=[epsilon], cells=[110, 1000, 10_000], rows=[rows])
    np.testing.assert_allclose(found.shares[0, :, 0], GUIDE[epsilon, rows], atol=0.01)


@pytest.mark.parametrize(("epsilon", "S", "rows"), [(0.1, 10, 10**4), (2.0, 100, 10**5)])
def test_each_share_is_proven_and_little_more_is_refuted(epsilon, S, rows):
    share = pramble.kept_shares(epsilons=[epsilon], cells=[S], rows=[rows]).shares.item()
    for kept, proven in ((share, True), (share + 0.02 * (1 - share), False)):
        alpha = float(np.log1p(S * kept / (1 - kept)))
        m = pramble.randomized_response(S, alpha)
        g = pramble.central_guarantee(m, rows=rows, delta=1e-6)
        if proven:
            assert g.epsilon <= epsilon * (1 + 1e-9)
        else:
            assert g.epsilon > epsilon


def test_shares_stand_by_epsilon_cells_and_rows():
    found = pramble.kept_shares(epsilons=[0.5, 1.0], cells=[10, 50, 100], rows=[10**3, 10**4])
    assert found.shares.shape == (2, 3, 2)
    assert (np.diff(found.shares, axis=0) > 0).all()
    assert (np.diff(found.shares, axis=1) < 0).all()
    assert (np.diff(found.shares, axis=2) > 0).all()
    one = pramble.kept_shares(epsilons=[1.0], cells=[50], rows=[10**3]).shares.item()
    assert found.shares[1, 1, 0] == one


def test_the_figure_shows_every_curve():
    found = pramble.kept_shares(epsilons=[0.5, 1.0], cells=[10, 50], rows=[10**3, 10**6])
    figure = pramble.plot_kept(found)
    assert [axes.get_title("left") for axes in figure.axes] == ["ε = 0.5", "ε = 1"]
    for axes, shares in zip(figure.axes, found.shares, strict=True):
        for line, row in zip(axes.get_lines(), shares, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), row)
            np.testing.assert_array_equal(line.get_xdata(), found.rows)
    figure.canvas.draw()
    shown = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert {"1k", "1M"} <= set(shown)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["10 cells", "50 cells"]


def test_nothing_asked_is_refused():
    for wrong in ({"cells": []}, {"epsilons": []}, {"rows": []}):
        with pytest.raises(pramble.InvalidInput, match="at least one"):
            pramble.kept_shares(**wrong)
    with pytest.raises(pramble.InvalidInput, match="epsilon > 0"):
        pramble.kept_shares(epsilons=[0.0])
