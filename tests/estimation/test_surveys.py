"""Survey designs: figures of R's survey 4.1 on a small made-up survey, and randomisation."""

from dataclasses import replace

import numpy as np
import pytest

import pramble


def survey():
    """Three strata of ten clusters of eight records, with weights."""
    i = np.arange(240)
    stratum, cluster = i // 80, i // 8
    a, b = (i * i + 3 * cluster) % 3, ((i * 7 + cluster * 5) % 11 < 5).astype(int)
    return {
        "stratum": stratum,
        "cluster": cluster,
        "a": a,
        "b": b,
        "x": ((i * 37) % 101) / 10.0,
        "y": ((i * 13 + stratum * 4) % 17 + 3 * b + 2 * (a == 1) > 12).astype(int),
        "w": 1 + ((i * 29) % 7) + 2 * stratum,
    }


DESIGNS = {
    "both": {"strata": "stratum", "clusters": "cluster"},
    "clusters": {"clusters": "cluster"},
    "strata": {"strata": "stratum"},
}
R_TABLE = {  # svymean(~interaction(a, b)): a = 0, 1 with b = 0, then with b = 1
    "both": [0.0303575795630, 0.0294980094764, 0.0298425868179, 0.0282336592612],
    "clusters": [0.0295163645883, 0.0288001481411, 0.0288845474775, 0.0274938703397],
    "strata": [0.0265827602176, 0.0338012829043, 0.0261401159841, 0.0328769629197],
}
R_SHARES = [0.179790940767, 0.358188153310, 0.153310104530, 0.308710801394]
R_GIVEN = {  # svyby(~b, ~a, svymean): the error of b given a = 0, and given a = 1
    "both": [0.0872408307756, 0.0416227010477],
    "clusters": [0.0846209258792, 0.0406004552411],
    "strata": [0.0613368859416, 0.0432669286450],
}
R_LOGISTIC = {  # svyglm(y ~ a + x, family = quasibinomial())
    "both": [0.2655040575567, 0.2148885814748, 0.0376968136081],
    "clusters": [0.2582485181583, 0.2110680759260, 0.0365244892632],
    "strata": [0.3542225311980, 0.3154120189741, 0.0492854895115],
}
R_LINEAR = {  # svyglm(x ~ a + b)
    "both": [0.589548612879, 0.715351231328, 0.696252591635],
    "clusters": [0.570443007156, 0.691043600667, 0.675381441049],
    "strata": [0.400077043702, 0.432992633789, 0.411978217553],
}
R_JACKKNIFE = [0.0296618738286, 0.0289951250435, 0.0290117668166, 0.0276521593380]


@pytest.mark.parametrize("design", DESIGNS)
def test_tables_have_the_errors_of_r(design):
    e = pramble.estimate(survey(), {}, by=["b", "a"], weights="w", survey=DESIGNS[design])
    assert e.values == pytest.approx(R_SHARES, rel=1e-10)
    assert e.standard_errors == pytest.approx(R_TABLE[design], rel=1e-9)
    assert np.sqrt(np.diag(e.covariance)) == pytest.approx(R_TABLE[design], rel=1e-9)
    assert ((e.lower < e.values) & (e.values < e.upper)).all()


@pytest.mark.parametrize("design", DESIGNS)
def test_conditional_shares_have_the_errors_of_r(design):
    e = pramble.estimate(survey(), {}, by="b", given="a", weights="w", survey=DESIGNS[design])
    assert e.standard_errors == pytest.approx(np.repeat(R_GIVEN[design], 2), rel=1e-9)


@pytest.mark.parametrize("design", DESIGNS)
def test_regressions_have_the_errors_of_r(design):
    data = survey() | {"a": np.array(["u", "v", "v"])[survey()["a"]]}
    logistic = pramble.estimate_regression(
        data, {}, "y ~ a + x", weights="w", survey=DESIGNS[design]
    )
    assert logistic.coefficients == pytest.approx(
        [-0.7985393576121, 0.3868512071588, 0.0162717566206], rel=1e-6
    )
    assert logistic.standard_errors == pytest.approx(R_LOGISTIC[design], rel=1e-6)
    linear = pramble.estimate_regression(
        data, {}, "x ~ a + b", family="linear", weights="w", survey=DESIGNS[design]
    )
    assert linear.coefficients == pytest.approx(
        [5.0561240097779, -0.1580306139077, 0.0930578333007], rel=1e-8
    )
    assert linear.standard_errors == pytest.approx(R_LINEAR[design], rel=1e-6)


def jackknifed():
    """The survey with a weight for every cluster left out."""
    data = survey()
    many = data["cluster"].max() + 1
    names = [f"w{c}" for c in range(many)]
    for c, name in enumerate(names):
        data[name] = np.where(data["cluster"] == c, 0.0, data["w"] * many / (many - 1))
    return data, names


def test_replicates_have_the_errors_of_r():
    data, names = jackknifed()
    design = pramble.Survey(replicates=names, replicate_method="jackknife")
    given = {"weights": "w", "survey": design}
    e = pramble.estimate(data, {}, by=["b", "a"], **given)
    assert e.standard_errors == pytest.approx(R_JACKKNIFE, rel=1e-9)
    scaled = pramble.estimate(
        data, {}, by=["b", "a"], weights="w", survey=replace(design, replicate_method=29 / 30)
    )
    assert scaled.standard_errors == pytest.approx(R_JACKKNIFE, rel=1e-9)
    linear = pramble.estimate_regression(data, {}, "x ~ a", family="linear", **given)
    clustered = pramble.estimate_regression(
        data, {}, "x ~ a", family="linear", weights="w", survey={"clusters": "cluster"}
    )
    assert linear.standard_errors == pytest.approx(clustered.standard_errors, rel=0.05)


def test_errors_hold_sampling_of_clusters_and_randomisation():
    """Over many surveys of clusters that are alike inside, released anew."""
    rng = np.random.default_rng(3)
    m = pramble.randomized_response(["no", "yes"], 2.0)
    found, errors, simple = [], [], []
    for run in range(300):
        level = rng.beta(1, 1, 40)
        x = np.where(rng.random((40, 10)) < level[:, None], "yes", "no").ravel()
        data = {"x": x.tolist(), "cluster": np.repeat(np.arange(40), 10).tolist()}
        out = pramble.perturb(data, {"x": m}, key=run.to_bytes(32, "big"))
        e = pramble.estimate(
            out, {"x": m}, by="x", survey={"clusters": "cluster"}, method="inverse"
        )
        found.append(e.values[1])
        errors.append(e.standard_errors[1])
        simple.append(pramble.estimate(out, {"x": m}, by="x").standard_errors[1])
    spread = np.std(found)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(spread, rel=0.12)
    assert np.mean(simple) < 0.85 * spread


def test_branches_take_clusters_too():
    plan = pramble.design_record({"a": [0, 1, 2], "b": [0, 1]}, 3.0, tables=2, time_limit=0.3).plan
    data = survey() | {name: np.tile(survey()[name], 1) for name in ("a", "b")}
    out = pramble.perturb({k: v.tolist() for k, v in data.items()}, plan, key=b"k" * 32)
    e = pramble.estimate(out, plan, by=["a", "b"], survey={"clusters": "cluster"}, weights="w")
    assert (e.standard_errors > 0).all()
    single = pramble.estimate(
        out | {"row": list(range(240))}, plan, by=["a", "b"], survey={"clusters": "row"},
        weights="w", method="inverse",
    )  # fmt: skip
    usual = pramble.estimate(out, plan, by=["a", "b"], weights="w", method="inverse")
    assert single.standard_errors == pytest.approx(usual.standard_errors, rel=0.1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"survey": {"strata": "stratum", "replicates": ["w", "w"]}}, "they hold both"),
        ({"survey": {"replicates": ["w", "w"]}}, "goes with weights="),
        ({"survey": {"replicates": ["w"]}, "weights": "w"}, "two or more"),
        ({"survey": {"replicate_method": "magic"}}, "one of acs"),
        ({"survey": {"cluster": "cluster"}}, "survey has no 'cluster'"),
        ({"survey": "cluster"}, "a Survey or a mapping"),
        ({"survey": {"clusters": "cluster"}, "covers": "randomisation"}, "covers must be 'both'"),
        ({"survey": {"clusters": "cluster"}, "query": "a=0"}, "goes with tables"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, words):
    with pytest.raises(pramble.InvalidInput, match=words):
        pramble.estimate(survey(), {}, by="a", **given)
