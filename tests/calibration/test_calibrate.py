"""Calibration ends on the safe side, is as large as it can be, and says when nothing does."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

import pramble
from pramble.calibration.calibration import Target, Trial, search
from pramble.errors import InvalidInput
from pramble.values import Reporter

KEYS = ["age", "sex", "region"]
N = 4000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    age = rng.choice(6, 400, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03])
    return {
        "age": age.tolist(),
        "sex": rng.choice(["f", "m"], 400).tolist(),
        "region": ((age + rng.choice(8, 400, p=np.arange(8, 0, -1) / 36)) % 8).tolist(),
    }


def again(people, k, **options):
    """The measure, computed anew from the plan alone."""
    a = pramble.assess(people, KEYS, population_size=N, **options)
    return a.after(k.plan)


MEASURES = [
    ("tau1", 0.05, None),
    ("tau2", 2.0, None),
    ("worst", 0.05, None),
    ("share", 0.1, 0.02),
]


@pytest.mark.parametrize(("measure", "at_most", "level"), MEASURES)
def test_the_answer_is_safe_and_a_little_more_is_not(people, measure, at_most, level):
    k = pramble.calibrate(
        people, KEYS, population_size=N, column="region", measure=measure, at_most=at_most,
        level=level,
    )  # fmt: skip
    left = again(people, k)
    value = left.share_above(level) if level else getattr(left, measure)
    assert k.met
    assert k.value == pytest.approx(value, rel=1e-9)
    assert value <= at_most
    assert k.design.certificate.satisfies(k.alpha)
    beyond = k.curve["alpha"][k.curve["value"] > at_most]
    assert k.alpha < beyond.min() <= k.alpha * 1.0002
    assert (k.curve["value"][k.curve["alpha"] <= k.alpha] <= at_most).all()


def test_targets_are_ordered_as_their_answers(people):
    alphas = [
        pramble.calibrate(people, KEYS, population_size=N, column="region", at_most=target).alpha
        for target in (1.5, 2.0, 3.0)
    ]
    assert alphas == sorted(alphas)
    assert alphas[0] < alphas[-1]


def test_the_smallest_alpha_for_an_error(people):
    k = pramble.calibrate(people, KEYS, column="age", measure="error", at_most=0.02)
    design = k.design
    n = len(people["age"])
    variance = pramble.estimation_variance(design.prior, design.mechanism)
    error = np.sqrt(variance / (n * len(design.prior)))
    assert k.met
    assert k.value == pytest.approx(error)
    assert error <= 0.02
    short = k.curve["alpha"][k.curve["value"] > 0.02]
    assert k.alpha > short.max() >= k.alpha / 1.0002
    assert k.after is None
    assert np.isnan(k.curve["tau2"]).all()


def test_several_columns_share_alpha_equally(people):
    k = pramble.calibrate(people, KEYS, population_size=N, column=["age", "region"], at_most=1.0)
    assert set(k.design) == {"age", "region"}
    assert k.designs["age"].alpha == k.designs["region"].alpha == pytest.approx(k.alpha / 2)
    assert pramble.certify(k.plan).satisfies(k.alpha * (1 + 1e-12))
    assert again(people, k).tau2 <= 1.0


def test_when_no_alpha_can_do_it_the_best_is_given(people):
    k = pramble.calibrate(people, KEYS, population_size=N, column="sex", at_most=0.01)
    assert not k.met
    assert k.value == k.curve["value"].min()
    assert "No α tried" in k.notes[0]


def test_when_every_alpha_does_it_the_largest_is_given(people):
    k = pramble.calibrate(people, KEYS, population_size=N, column="sex", at_most=1e6)
    assert k.met
    assert k.alpha == 16.0
    assert "Every α" in k.notes[0]


def test_the_result_reminds_of_what_alpha_does_not_cover(people):
    own = pramble.calibrate(people, KEYS, population_size=N, column="sex", at_most=2.0)
    assert any("looking at the data" in note for note in own.notes)
    assert any("distribution of the file itself" in note for note in own.notes)
    public = pramble.calibrate(
        people,
        KEYS,
        population_size=N,
        column="sex",
        at_most=2.0,
        design={"prior": [0.5, 0.5]},
    )
    assert not any("distribution of the file itself" in note for note in public.notes)
    np.testing.assert_array_equal(public.design.prior, [0.5, 0.5])


def test_categories_that_do_not_occur_can_be_declared(people):
    k = pramble.calibrate(
        people, KEYS, population_size=N, column="sex", at_most=2.0,
        design={"categories": {"sex": ["m", "x", "f"]}},
    )  # fmt: skip
    assert k.design.mechanism.categories == ("m", "x", "f")
    assert k.design.prior[1] == 0.0
    with pytest.raises(InvalidInput, match="must hold every value of the file"):
        pramble.calibrate(
            people, KEYS, population_size=N, column="sex", at_most=2.0,
            design={"categories": {"sex": ["f", "x"]}},
        )  # fmt: skip


def test_more_columns_than_any_grid_holds():
    rng = np.random.default_rng(12)
    data = {f"k{i}": rng.integers(0, 12, 300) for i in range(12)}
    k = pramble.calibrate(
        data, list(data), population_size=3000, column="k0", model="independence",
        measure="worst", at_most=0.5,
    )  # fmt: skip
    assert k.before.cells == 12**12
    assert k.value <= 0.5
    several = pramble.calibrate(
        data, list(data), population_size=3000, column=["k0", "k1", "k2"], model="independence",
        at_most=100.0,
    )  # fmt: skip
    assert several.met
    assert several.value <= 100.0


def test_a_measure_that_is_not_monotone_still_ends_on_the_safe_side():
    def trial(alpha):
        return Trial(alpha, 1.0 + np.sin(3 * alpha), {}, None, {}, 0.0, 0.0, None)

    trials, best = search(
        trial,
        Target("tau2", 1.5),
        (0.01, 2.0),
        tolerance=1e-6,
        points=12,
        reporter=Reporter(None),
    )
    assert trials[-1].value <= 1.5  # a larger α meets it, too, but not all on the way
    assert best.value <= 1.5
    assert best.alpha == pytest.approx(np.pi / 18, rel=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "tau3"}, "measure must be one of"),
        ({"at_most": float("nan")}, "at_most must be"),
        ({"measure": "share"}, "level"),
        ({"level": 0.1}, "level"),
        ({"column": "height"}, "must be among the keys"),
        ({"column": []}, "At least one column"),
        ({"alphas": (2.0, 1.0)}, "range of positive"),
        ({"population_size": 3}, "at least the file's 400 records"),
        ({"model": "none"}, "needs a model of the population"),
    ],
)
def test_what_cannot_be_asked_is_refused(people, options, message):
    asked = {"column": "sex", "at_most": 1.0, "population_size": N} | options
    with pytest.raises(InvalidInput, match=message):
        pramble.calibrate(people, KEYS, **asked)


def test_an_assessment_stands_for_data_keys_and_population(people):
    weighted = people | {"w": np.full(400, 10.0)}
    a = pramble.assess(weighted, KEYS, weights="w")
    k = pramble.calibrate(a, column="region", at_most=2.0)
    assert k.before is a
    assert k.value == a.after(k.plan).tau2 <= 2.0
    for wrong in ({"keys": KEYS}, {"population_size": N}):
        with pytest.raises(InvalidInput, match="give neither"):
            pramble.calibrate(a, column="region", at_most=2.0, **wrong)
    with pytest.raises(InvalidInput, match="Give keys="):
        pramble.calibrate(people, column="region", at_most=2.0)


def test_the_result_pickles_plots_and_speaks_json(people):
    k = pramble.calibrate(people, KEYS, population_size=N, column="region", at_most=2.0)
    copy = pickle.loads(pickle.dumps(k))
    assert copy.alpha == k.alpha
    assert copy.plan == k.plan
    with pytest.raises(ValueError, match="read-only"):
        copy.curve["alpha"][0] = 1.0
    assert json.loads(json.dumps(k.summary()))["met"] is True
    left, right = k.plot().axes
    drawn = left.lines[0].get_xydata()
    np.testing.assert_array_equal(drawn[:, 0], k.curve["alpha"])
    np.testing.assert_array_equal(drawn[:, 1], k.curve["value"])
    assert right.get_ylabel() == "information kept, % of entropy"


def test_progress_is_told(people):
    heard = []
    pramble.calibrate(
        people, KEYS, population_size=N, column="region", at_most=2.0,
        progress=lambda told: heard.append((told.what, told.share)),
    )  # fmt: skip
    shares = [share for doing, share in heard if doing == "calibrating"]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_parts_of_alpha_never_add_up_to_more(people):
    k = pramble.calibrate(
        people, KEYS, population_size=N, model="independence", column=KEYS, at_most=2.0
    )
    assert sum(Fraction(d.alpha) for d in k.designs.values()) <= Fraction(k.alpha)
    assert k.designs["age"].alpha == pytest.approx(k.alpha / 3)


def test_a_prior_for_some_columns_only_is_noted(people):
    options = {"population_size": N, "model": "independence", "at_most": 2.0}
    flat = {"age": np.full(6, 1 / 6), "sex": [0.5, 0.5]}
    some = pramble.calibrate(
        people, KEYS, column=["age", "sex"], design={"prior": {"sex": [0.5, 0.5]}}, **options
    )
    every = pramble.calibrate(
        people, KEYS, column=["age", "sex"], design={"prior": flat}, **options
    )
    assert any("distribution of the file itself" in note for note in some.notes)
    assert not any("distribution of the file itself" in note for note in every.notes)


@pytest.mark.parametrize("column", [{"age": 3.0}, ["age", "age"]])
def test_columns_are_named_once_and_share_alpha_equally(people, column):
    with pytest.raises(pramble.InvalidInput, match="to randomise"):
        pramble.calibrate(
            people, keys=["age"], population_size=N, column=column, measure="tau2", at_most=2.0
        )
