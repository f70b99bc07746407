"""What a release says of its figures: tables that will be noise, the order, the risk."""

import numpy as np
import pyarrow as pa
import pytest

import pramble


def told(r):
    (said,) = [warning for warning in r.outcome.warnings if "will be noise" in warning]
    return said


@pytest.mark.parametrize("design", ["records", "paper"])
def test_many_columns_at_a_small_alpha_are_warned_of(tmp_path, design):
    rng = np.random.default_rng(1)
    frame = pa.table({f"c{i}": rng.integers(0, 4, 6000) for i in range(6)})
    columns = {name: {"categories": [0, 1, 2, 3]} for name in frame.column_names}
    r = pramble.release(
        frame, tmp_path / "out", columns=columns, alpha=1.0, prior="uniform", design=design,
        dry_run=True, ledger=False,
    )  # fmt: skip
    assert "15 of the 15 wanted tables" in told(r)


def test_empty_cells_that_are_a_category_keep_records_whole(tmp_path):
    """A blank could not be told from an empty cell: no plan may leave one."""
    rng = np.random.default_rng(2)
    b = [[False, True, None][i] for i in rng.integers(0, 3, 600)]
    frame = pa.table({"b": b, "n": rng.integers(0, 3, 600), "s": rng.choice(list("uvw"), 600)})
    columns = {
        "b": {"categories": [False, True], "missing": True},
        "n": {"categories": [0, 1, 2]},
        "s": {"categories": list("uvw")},
    }
    r = pramble.release(frame, tmp_path / "out", columns=columns, alpha=0.5, ledger=False)
    assert told(r)
    assert len(r.plan.branches) == 1


def test_a_shuffled_release_shows_itself(tmp_path):
    frame = pa.table({"s": list("uvw") * 300})
    promises = {"α of a person": {"alpha": 1.0, "shuffle": True},
                "central ε": {"central": 1.0, "design": "records"}}  # fmt: skip
    for number, promise in promises.items():
        r = pramble.release(frame, tmp_path / number, columns=["s"], ledger=False, **promise)
        assert r.central is not None
        assert [one for one in promises if one in repr(r)] == [number]  # one to quote


def test_risk_is_told_before_and_after(tmp_path):
    rng = np.random.default_rng(4)
    n = 600
    frame = pa.table({
        "sex": rng.choice(["f", "m"], n), "age": rng.integers(0, 12, n),
        "home": np.arange(n) // 3, "w": rng.uniform(5, 20, n),
    })  # fmt: skip
    columns = {"sex": {"categories": ["f", "m"]}, "age": {"categories": list(range(12))}}
    r = pramble.release(
        frame, tmp_path / "out", columns=columns, alpha=3.0, drop=["home", "w"], whole=True,
        ledger=False, prior="uniform",
        risk={"keys": ["sex", "age"], "population_size": 6000},
    )  # fmt: skip
    risk = r.outcome.risk
    a = pramble.assess(frame, ["sex", "age"], population_size=6000)
    assert risk.classes == (a.below(3), a.below(5))
    pairs = list(zip(*(r.data[name].to_pylist() for name in ("sex", "age")), strict=True))
    assert risk.uniques_after == sum(pairs.count(pair) == 1 for pair in pairs)
    report = (tmp_path / "out-report.html").read_text()
    assert "at face value" in report
    assert "sum of" not in (tmp_path / "out" / "summary.html").read_text()
    with pytest.raises(pramble.InvalidPlan, match="'house' as a risk key"):
        pramble.release(
            frame, tmp_path / "two", columns=columns, alpha=3.0, ledger=False,
            risk={"keys": ["sex", "house"], "population_size": 6000},
        )  # fmt: skip
