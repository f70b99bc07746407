"""What is counted and sampled of pieces of a file merges into what one pass over it gives."""

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramble
import pramble.releasing.linkage as links_module
import pramble.releasing.repeats as repeats_module
import pramble.releasing.value_sample as value_sample
from pramble.data.open import open_records
from pramble.engine.files import Canonical
from pramble.engine.record import BoundPlan
from pramble.releasing.linkage import Links
from pramble.releasing.write.verify import WrittenTally

KEY = bytes(range(32))
PLAN = pramble.Plan(
    {
        "sex": pramble.randomized_response(["f", "m"], 1.0),
        "age": pramble.randomized_response(list(range(5)), 2.0),
    }
)


def drawn(table, *, batch, first_row=0, key=KEY):
    """The tally and the links of a table, batch by batch."""
    work = Canonical(table.schema, BoundPlan(PLAN, KEY))
    tally = WrittenTally(PLAN, work.names, coded=work.coded)
    links = Links(
        ["town", "name", "day", "early", "late"], PLAN.columns, key=key, first_row=first_row
    )
    for part in table.to_batches(max_chunksize=batch):
        rows = range(first_row + tally.rows, first_row + tally.rows + part.num_rows)
        work.released(part, rows, tally=tally)
        links.add(part, tally.last)
        tally.rows += part.num_rows
    return tally, links


RNG = np.random.default_rng(2)
# "early" nearly names rows in the first batch alone, "late" in all others.
SMALL = pa.table(
    {
        "sex": RNG.choice(["f", "m"], 900),
        "age": RNG.integers(0, 5, 900),
        "town": RNG.choice(["x", "y", "z"], 900),
        "name": pa.array([f"n{i}" for i in RNG.integers(0, 400, 900)]),
        "day": pa.array(RNG.integers(0, 500, 900).astype(np.int32)).cast(pa.date32()),
        "early": np.where(np.arange(900) < 50, np.arange(900), 7),
        "late": np.where(np.arange(900) < 50, 7, np.arange(900)),
    }
)


def state(tally, links):
    samples = {
        name: (one.bits, one.groups().tolist(), [codes.tolist() for codes in one.codes()])
        for name, one in links.values.items()
    }
    draws = {
        path: (one.rows, one.unchanged, one.expected, one.variance)
        for path, one in tally.draws.items()
    }
    kept = pa.concat_tables(links.sampled).combine_chunks()
    counts = [
        {name: values.tolist() for name, values in side.items()}
        for side in (tally.before, tally.after)
    ]
    told = (tally.rows, counts, tally.changed, draws, tally.digests)
    return told, (links.rows, links.step, kept.to_pydict(), samples)


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.sets(st.integers(1, 17), max_size=6),
    most=st.sampled_from([3, 20, 150, 10_000]),
    tree=st.booleans(),
)
def test_merging_is_one_pass(cuts, most, tree):
    """Whatever the pieces, and in whatever order neighbours are merged."""
    with pytest.MonkeyPatch.context() as patch:
        for place in (links_module, value_sample):
            patch.setattr(place, "MOST_SAMPLED", most)
        ends = [0, *sorted(cut * 50 for cut in cuts), 900]
        pieces = [
            pickle.loads(pickle.dumps(drawn(SMALL.slice(a, b - a), batch=50, first_row=a)))
            for a, b in pairwise(ends)
        ]
        while len(pieces) > 1:
            place = len(pieces) - 2 if tree else 0
            for mine, later in zip(pieces[place], pieces.pop(place + 1), strict=True):
                mine.merge(later)
        assert state(*pieces[0]) == state(*drawn(SMALL, batch=50))


def test_a_value_that_is_nought_in_most_rows_is_no_trouble(monkeypatch):
    """Every row of it is in the sample or none is: it must go where it is too frequent."""
    monkeypatch.setattr(value_sample, "MOST_SAMPLED", 50)
    sample = value_sample.ValueSample(KEY, "income")
    values = np.where(np.arange(400) % 2, np.arange(400), 0)
    sample.add(pa.array(values), [np.zeros(400, dtype=np.int64)])
    assert len(sample.groups()) <= 50


def brute_force_likeness(groups, codes):
    agreed, base = [], []
    for i in range(len(groups)):
        mates = [j for j in range(len(groups)) if j != i and groups[j] == groups[i]]
        if mates:
            agreed.append(np.mean([codes[j] == codes[i] for j in mates]))
            base.append(codes[i])
    q = (np.bincount(base) / len(base) ** 1.0) @ np.bincount(base) / len(base)
    return (np.mean(agreed) - q) / (1 - q)


@pytest.mark.parametrize("groups", [2, 10, 40])
def test_likeness_is_what_brute_force_finds(groups):
    g, x = RNG.integers(0, groups, 90), RNG.integers(0, 3, 90)
    assert links_module.likeness(g, x) == pytest.approx(brute_force_likeness(g, x))


def test_values_of_a_part_stay_whole(monkeypatch):
    monkeypatch.setattr(value_sample, "MOST_SAMPLED", 500)
    who, x = np.repeat(np.arange(3000), 3), np.tile(np.arange(3), 3000)
    sample = value_sample.ValueSample(bytes(32), "id")
    for a, b in zip(np.array_split(who, 7), np.array_split(x, 7), strict=True):
        sample.add(pa.array(a), [b])
    sizes = np.bincount(sample.groups())
    assert set(sizes) == {3}
    assert 100 < sizes.sum() <= 500
    assert np.bincount(sample.codes()[0]).tolist() == [len(sizes)] * 3


@pytest.mark.parametrize("batch", [317, 40_000])
def test_rows_of_one_person_in_a_file_larger_than_the_sample(monkeypatch, batch):
    """Two waves, one after the other: mates are far apart, and most rows are not kept."""
    for place in (links_module, value_sample):
        monkeypatch.setattr(place, "MOST_SAMPLED", 2000)
    n = 20_000
    sex = RNG.integers(0, 2, n)
    names = np.array([f"P{i:06d}" for i in RNG.permutation(n)])
    waves = pa.table({"sex": np.tile(sex, 2), "who": np.tile(names, 2)})
    links = Links(["who"], ["sex"])
    for part in waves.to_batches(max_chunksize=batch):
        links.add(part, {"sex": part["sex"].to_numpy()})
    assert sum(map(len, links.sampled)) <= 2000
    [link] = links.found(rows_per_person=1)
    assert (link.column, link.protected, link.kind) == ("who", "sex", "alike")
    assert not list(links.found(rows_per_person=2))


def test_texts_have_equal_hashes_where_they_are_equal():
    texts = pa.array(["a", "b", None, "", "a", "ab" * 50, "ab" * 50]).slice(1)
    assert (
        len(set(value_sample.hashes(texts).tolist())) == 4
    )  # b, the empty one, a, and the long one


@pytest.mark.parametrize("most", [200, 100_000])
def test_people_are_found_whatever_the_parts(monkeypatch, most):
    """Each part has a copy of the job, as on a cluster."""
    monkeypatch.setattr(repeats_module, "MOST_SAMPLED", most)
    monkeypatch.setattr(repeats_module, "LEAST_HELD", 1)
    who = RNG.permutation(np.repeat(np.arange(300), 3))
    columns = {
        "sex": RNG.choice(["f", "m"], 300)[who],
        "v1": who,
        "patient_id": [f"P{i}" for i in who],
    }
    table = pa.table({**columns, "hospital": who % 7, "nr": who // 7})
    empty = pickle.dumps(repeats_module.SharedValues(open_records(table)))
    answers = []
    for cuts in ([0, 900], [0, 1, 450, 451, 900]):
        parts = [pickle.loads(empty) for _ in cuts[1:]]
        for part, first, end in zip(parts, cuts[:-1], cuts[1:], strict=True):
            for batch in table.slice(first, end - first).to_batches(max_chunksize=170):
                part.add(batch)
        for later in parts[1:]:
            parts[0].merge(pickle.loads(pickle.dumps(later)))
        answers.append(parts[0].found())
    assert answers[0] == answers[1]
    assert [one.columns for one in answers[0]] == [("patient_id",), ("v1",), ("hospital", "nr")]
    assert all(one.is_sample == (most < 900) and set(one.sizes) == {3} for one in answers[0])
