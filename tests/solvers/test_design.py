import math
import pickle

import numpy as np
import pytest

import pramble

PRIOR = [0.4, 0.3, 0.2, 0.1]


@pytest.mark.parametrize(
    ("prior", "alpha", "sentence"),
    [
        ([0.5, 0.4], 1.0, "sum to 1"),
        ([0.5, -0.1, 0.6], 1.0, "position 1 holds -0.1"),
        ([0.5, math.nan, 0.5], 1.0, "position 1 holds nan"),
        (PRIOR, 0.0, "positive and finite"),
        (PRIOR, -1.0, "positive and finite"),
        (PRIOR, math.inf, "positive and finite"),
        (PRIOR, math.nan, "positive and finite"),
        (PRIOR, "much", "positive number"),
        ([1.0], 1.0, "at least two categories"),
        ([], 1.0, "vector of numbers"),
        ([0.5, 0.3, 0.2], 1e-16, "too small"),
    ],
)
def test_bad_input_gets_one_clear_sentence(prior, alpha, sentence):
    with pytest.raises(pramble.PrambleError, match=sentence):
        pramble.design(prior, alpha)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"family": "special"}, "family, objective"),
        ({"objective": "fun"}, "family, objective"),
        ({"categories": ["a", "b"]}, "2 categories do not fit a prior of 4"),
        ({"categories": ["a", "b", "c", "a"]}, "distinct"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"keep_at_least": 1.5}, "must lie in"),
        ({"keep_at_least": 0.9}, "at most one of 4 categories"),
        ({"outputs": "free"}, "no meaning"),
        ({"workload": np.eye(4)}, "no meaning"),
        ({"workload": np.eye(3)}, "4 columns"),
        ({"invariant": True, "symmetric": True}, "nothing beside it"),
        ({"time_limit": -1}, "time_limit must be positive"),
    ],
)
def test_bad_options_get_one_clear_sentence(options, sentence):
    with pytest.raises(pramble.PrambleError, match=sentence):
        pramble.design(PRIOR, 1.0, **options)


def test_a_design_carries_its_question_and_its_answer():
    design = pramble.design(PRIOR, 1.5, categories=list("abcd"))
    assert design.mechanism.categories == ("a", "b", "c", "d")
    assert (design.alpha, design.family, design.objective) == (1.5, "uniform", "information")
    np.testing.assert_allclose(design.prior, PRIOR, rtol=1e-15)
    assert design.certificate == pramble.certify(design.mechanism)
    assert design.information == design.value
    ceiling = min(pramble.information_bound(1.5), pramble.entropy(PRIOR))
    assert design.ceiling == pytest.approx(ceiling, rel=1e-14)
    assert design.share == design.value / design.ceiling
    assert design.unchanged == pytest.approx(design.prior @ design.keep)
    assert design.gap == abs(design.bound - design.value) / design.value


def test_a_design_is_frozen_and_survives_pickling():
    design = pramble.design(PRIOR, 1.0)
    with pytest.raises(AttributeError):
        design.value = 1.0
    copy = pickle.loads(pickle.dumps(design))
    for one in (design, copy):
        with pytest.raises(ValueError, match="read-only"):
            one.prior[0] = 0.0
        with pytest.raises(ValueError, match="read-only"):
            one.levels[0].positions[0] = 1
        with pytest.raises(TypeError):
            one.details["nodes"] = 0
    assert copy.mechanism == design.mechanism
    assert (copy.value, copy.bound, copy.notes) == (design.value, design.bound, design.notes)


def test_a_design_refuses_a_mechanism_that_is_not_private_enough():
    with pytest.raises(pramble.PrivacyError, match="must satisfy"):
        pramble.Design(
            mechanism=pramble.randomized_response(4, 2.0),
            prior=np.array(PRIOR),
            alpha=1.0,
            family="uniform",
            objective="information",
            value=0.1,
            bound=0.2,
        )


def test_printing_tells_the_story_in_the_papers_words():
    design = pramble.design([0.95] + [0.05 / 9] * 9, 2.0, categories=list("abcdefghij"))
    text = repr(design)
    for part in ("v_max", "v_−α", "1 of 10: 'a'", "9 of 10: 'b', 'c', 'd', 'e', …", "gap", "%"):
        assert part in text
    assert max(map(len, text.splitlines())) < 110


def test_the_notebook_form_escapes_labels():
    design = pramble.design([0.97, 0.01, 0.01, 0.01], 1.0, categories=["<b>", "&", "c", "d"])
    page = design._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert page.count("<tr>") == page.count("</tr>") > 4


def test_ints_and_counts_as_categories():
    assert pramble.design(PRIOR, 1.0, categories=4).mechanism.categories == (0, 1, 2, 3)
    assert pramble.design([0.5, 0.5], 1.0, categories=[True, None]).mechanism.categories == (
        True,
        None,
    )


@pytest.mark.parametrize("family", ["uniform", "general"])
@pytest.mark.parametrize("alpha", [1e-300, 1e-17])
def test_an_alpha_that_weights_cannot_show_is_refused(family, alpha):
    with pytest.raises(pramble.PrivacyError, match="too small"):
        pramble.design([0.2, 0.3, 0.5], alpha, family=family)
