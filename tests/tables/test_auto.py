"""Tables that are chosen from the file: the promise of every choice, and what is chosen."""

import json
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tables.brute import kernel
from tests.tables.exact import without_noise
from tests.tables.people import assert_same
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.engine import table_noise
from pramble.errors import InvalidInput, InvalidPlan
from pramble.mechanisms.measured import Measured
from pramble.solvers.tables.choice import with_chosen
from pramble.values import Clock

KEY = bytes(range(32))
SIZES = {"a": 2, "b": 2, "c": 2, "d": 3}
PARITY = ("a", "b", "c")


def rows(n=6_000, *, parity, seed=1):
    """Independent columns; with parity c follows from a and b together, and from neither alone."""
    rng = np.random.default_rng(seed)
    found = {name: rng.integers(0, size, n) for name, size in SIZES.items()}
    if parity:
        found["c"] = (found["a"] + found["b"]) % 2
    return {name: own.tolist() for name, own in found.items()}


def design(sizes=SIZES, epsilon=1.0, **more):
    return pramble.design_tables(sizes, epsilon, 1e-6, tables="auto", **more)


def choices(plan):
    candidates = plan.choice.candidates
    return chain.from_iterable(
        combinations(candidates, count) for count in range(len(candidates) + 1)
    )


@pytest.mark.parametrize("rows_per_person", [1, 2])
@pytest.mark.parametrize("sizes", [SIZES, {"a": 2, "b": 3, "c": 5}])
def test_every_choice_keeps_the_promise_by_brute_force(sizes, rows_per_person):
    plan = design(sizes, rows_per_person=rows_per_person).plan
    choice, limit = plan.choice, pramble.certify(plan).mu_squared
    assert limit == Fraction(choice.mu_squared)
    assert pramble.certify(plan).epsilon <= 1
    for chosen in choices(plan):
        inner = kernel(sizes, with_chosen(plan, chosen).precision)
        own = np.diag(inner)
        apart = (own[:, None] + own[None, :] - 2 * inner).max()
        # the scores: one record for another moves each by two, one for none by one
        scores = 4 * len(choice.candidates) * Fraction(choice.score_precision)
        spent = rows_per_person**2 * (max(apart, own.max() if rows_per_person > 1 else 0) + scores)
        assert spent <= limit
        assert spent > limit * Fraction(999, 1000)


def test_every_choice_measures_pairs_more_precisely_than_the_choice_did():
    plan = design().plan
    for chosen in choices(plan):
        found = with_chosen(plan, chosen)
        assert found.choice is plan.choice
        assert found.chosen == chosen
        assert all(found.precision[part] > own for part, own in plan.choice.first.items())


def test_a_replaced_record_moves_every_score_by_at_most_two():
    sizes = {"a": 2, "b": 2, "c": 2}
    pairs = pramble.design_tables(sizes, 50.0, 1e-6)
    records = list(product(range(2), repeat=3))
    people = dict(zip(sizes, zip(*records, strict=True), strict=True))
    first = pramble.measure({name: list(own) for name, own in people.items()}, pairs, key=KEY)

    def score(file):
        table = np.zeros((2, 2, 2), dtype=np.int64)
        for record in file:
            table[record] += 1
        own = table_noise.exact_scores((PARITY,), {PARITY: table}, first, clock=Clock(None))
        return int(own[0])

    scores = {file: score(file) for file in combinations_with_replacement(records, 2)}
    moved = {
        abs(scores[tuple(sorted((rest, one)))] - scores[tuple(sorted((rest, two)))])
        for rest in records
        for one in records
        for two in records
    }
    assert max(moved) == 2


def test_a_strong_triple_is_chosen_and_its_records_follow():
    measured = pramble.measure(rows(parity=True), design(), key=KEY)
    assert PARITY in measured.plan.chosen
    records = pramble.synthesize(measured, seed=1).to_pydict()
    wrong = sum((a + b + c) % 2 for a, b, c in zip(*(records[x] for x in PARITY), strict=True))
    assert wrong < 0.05 * 6_000
    pairs = pramble.measure(rows(parity=True), pramble.design_tables(SIZES, 1.0, 1e-6), key=KEY)
    assert pramble.estimate(pairs, by=list(PARITY)).is_modelled
    found = pramble.estimate(measured, by=list(PARITY))
    assert not found.is_modelled
    assert found.table.num_rows == 8


def test_what_pairs_imply_is_hardly_ever_chosen():
    file, keys = rows(parity=False), np.random.default_rng(2)
    found = [pramble.measure(file, design(), key=keys.bytes(32)).plan for _ in range(20)]
    assert sum(len(plan.chosen) for plan in found) <= 5
    noisy = pramble.measure(rows(40, parity=True), design(epsilon=0.1), key=KEY)
    assert noisy.plan.chosen == ()


def test_published_parts_have_the_precision_that_is_stated():
    sizes = {name: SIZES[name] for name in ("a", "b", "d")}
    plan, file = design(sizes, rows_per_person=2).plan, rows(300, parity=False)
    exact = pramble.measure(file, without_noise(pairs_of(plan)), key=KEY)
    keys, parts = np.random.default_rng(3), [("a",), ("a", "d")]
    found = {part: [] for part in [(), *parts]}
    for _ in range(120):
        measured = pramble.measure(file, plan, key=keys.bytes(32))
        found[()].append((measured.total - 300) * measured.plan.precision[()] ** 0.5)
        for part in parts:
            noise = measured.effects[part] - exact.effects[part]
            degrees = np.prod([1 - 1 / SIZES[name] for name in part])
            scale = (measured.plan.precision[part] / degrees) ** 0.5
            found[part].append(noise.ravel()[0] * scale)
    for own in found.values():
        assert abs(np.mean(own)) < 4 / np.sqrt(120)
        assert abs(np.var(own) - 1) < 4 * np.sqrt(2 / 120)


def pairs_of(plan):
    """A plan of the same pairs without a choice."""
    return pramble.design_tables(dict(plan.labels), 1.0, 1e-6, tables=2).plan


def test_the_same_file_design_and_key_give_the_same_bytes_on_every_engine():
    import polars as pl

    file, plan = rows(parity=True), design()
    one = pramble.measure(file, plan, key=KEY)
    assert_same(one, pramble.measure(pl.LazyFrame(file), plan, key=KEY))
    assert_same(one, pramble.measure(pa.table(file), plan.plan, key=KEY))
    again = type(plan.plan).from_json(json.dumps(plan.plan.to_json()))
    assert_same(one, pramble.measure(file, again, key=KEY))
    # the plan that came of it states the choice, so that it measures the same again
    assert_same(one, pramble.measure(file, one.plan, key=KEY))
    assert_same(one, Measured.from_table(one.to_table(), one.plan, one.total))


def test_another_record_gives_independent_noise_in_every_stage(monkeypatch):
    drawn = []

    def watched(stream, cells, *, scale, precision):
        drawn.append(stream.words(range(8)).tobytes())
        return lattice_noise(stream, cells, scale=scale, precision=precision)

    lattice_noise = table_noise.lattice_noise
    monkeypatch.setattr(table_noise, "lattice_noise", watched)
    file = rows(parity=True)
    changed = {name: [*own[:-1], (own[-1] + 1) % 2] for name, own in file.items()}
    unseen = {name: [own[-1], *own[:-1]] for name, own in file.items()}
    found = []
    for own in (file, changed, unseen):
        drawn.clear()
        pramble.measure(own, design(), key=KEY)
        found.append(set(drawn))
        # every part of pairs twice, the scores, and what was chosen: no bits are used again
        assert len(found[-1]) == len(drawn) >= 2 * 10 + 1 + 1
    assert found[0].isdisjoint(found[1])
    assert found[0] == found[2]  # the same rows in another order


def test_a_plan_that_spends_more_than_it_states_is_refused():
    plan = pramble.measure(rows(parity=True), design(), key=KEY).plan
    document = plan.to_json()
    assert document["schema"] == "pramble/tables/2"
    for field, factor in (("score_precision", 2), ("mu_squared", 0.99)):
        choice = {**document["choice"], field: document["choice"][field] * factor}
        with pytest.raises(InvalidPlan, match="spend more"):
            pramble.certify(type(plan).from_json({**document, "choice": choice}))
    loud = [{**own, "value": own["value"] * 3} for own in document["choice"]["first"]]
    spoiled = {**document, "choice": {**document["choice"], "first": loud}}
    with pytest.raises(InvalidPlan):
        pramble.measure(rows(parity=True), type(plan).from_json(spoiled), key=KEY)
    few = {**document, "choice": {**document["choice"], "candidates": [["a", "b", "d"]]}}
    with pytest.raises(InvalidPlan, match="chosen from the candidates"):
        type(plan).from_json(few)


def test_what_does_not_go_with_a_choice_is_refused():
    with pytest.raises(InvalidInput, match="importance"):
        design(importance={("a", "b"): 2.0})
    with pytest.raises(InvalidInput, match="objective"):
        design(objective="largest")
    with pytest.raises(InvalidInput, match="protected tables alone"):
        pramble.design_record({"a": 2, "b": 2, "c": 2}, 1.0, tables="auto")
    # of two columns there is nothing to choose
    assert design({"a": 2, "b": 3}).plan.choice is None


def test_a_comparison_of_promises_takes_it_for_protected_tables():
    people = {name: own[:400] for name, own in rows(parity=True).items() if name != "d"}
    local, central = pramble.try_release(
        people, columns=["a", "b", "c"], alphas=[1.0], centrals=[1.0], tables="auto",
        prior="uniform",
    )  # fmt: skip
    assert (local.design, central.design) == ("records", "tables")
    assert central.plan.choice is not None


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    found = tmp_path_factory.mktemp("auto")
    labels = {name: [f"{name}{i}" for i in range(size)] for name, size in SIZES.items()}
    coded = rows(parity=True)
    people = pa.table({n: [labels[n][i] for i in own] for n, own in coded.items()})
    pq.write_table(people, found / "people.parquet")
    columns = {name: {"categories": own} for name, own in labels.items()}
    pramble.release(
        found / "people.parquet", found / "out", columns=columns, central=1.0, delta=1e-6,
        tables="auto", ledger=False, key=KEY,
    )  # fmt: skip
    return found


def test_a_release_states_the_choice_and_what_came_of_it(place):
    release = pramble.open_release(place / "out")
    assert PARITY in release.plan.chosen
    assert pramble.certify(release).epsilon <= 1
    assert release.guarantee.epsilon <= 1
    assert pramble.estimate(release, by=list(PARITY)).table.num_rows == 8
    assert pramble.synthesize(release, rows=100, seed=1).num_rows == 100
    assert any("noisy scores" in own for own in release.manifest["promise"]["assumes"])
    assert "a × b × c" in (place / "out" / "summary.html").read_text(encoding="utf-8")


def test_the_command_line_takes_it(place):
    def answered(*words):
        answer = CliRunner().invoke(app, [*map(str, words), "--json"])
        assert answer.exit_code == 0, answer.output
        return json.loads(answer.stdout)

    folder = place / "again"
    answered(
        "release", place / "people.parquet", "--out", folder, "--columns", "a,b,c,d",
        "--central", "1", "--tables", "auto", "--no-ledger",
    )  # fmt: skip
    assert PARITY in pramble.open_release(folder).plan.chosen
    assert answered("certify", folder)["central"]["epsilon"] <= 1
    answered(
        "design", "--columns", "a=2,b=2,c=3", "--central", "1,1e-6", "--tables", "auto",
        "--out", place / "plan.json",
    )  # fmt: skip
    assert json.loads((place / "plan.json").read_text())["choice"]["candidates"] == [list(PARITY)]
