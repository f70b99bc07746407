"""One key, many uses: what differs has bits of its own, and what does not is the same."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import central, crowd, plan_that_keeps

import pramble

KEY = bytes(range(32))
PLAN = plan_that_keeps(2.0)


@pytest.fixture
def files(tmp_path, given_plan):
    """The data files of releases under one key."""
    people, made = crowd(2000), iter(range(99))

    def release(plan=PLAN, people=people, **options):
        given_plan(plan)
        settings = {"central": 30.0, "tables": 2, "key": KEY, "design": "records", **options}
        return central(people, tmp_path / str(next(made)), **settings).folder / "randomised.parquet"

    return release


def test_the_same_key_data_and_decisions_give_the_same_bytes(files):
    first = files().read_bytes()
    assert files().read_bytes() == first
    assert files(key=bytes(32)).read_bytes() != first
    assert files(key=None).read_bytes() != files(key=None).read_bytes()


def agreement(one, other):
    """Rows that are alike in two releases, in standard deviations beyond chance."""
    first, second = (pq.read_table(path) for path in (one, other))
    cells = [list(zip(*(t[name].to_pylist() for name in t.column_names), strict=True))
             for t in (first, second)]  # fmt: skip
    rows = len(cells[0])
    shares = [{cell: own.count(cell) / rows for cell in set(own)} for own in cells]
    chance = sum(share * shares[1].get(cell, 0) for cell, share in shares[0].items())
    alike = sum(a == b for a, b in zip(*cells, strict=True))
    return (alike - rows * chance) / np.sqrt(rows * chance * (1 - chance))


@pytest.mark.parametrize(
    "change",
    [
        {"plan": plan_that_keeps(2.0001)},
        {"people": crowd(2000).slice(1)},
        {"key": bytes(32)},
    ],
)
def test_another_plan_file_or_key_shares_neither_order_nor_draws(files, change):
    """Under one key, equal places of two releases hold equal cells no oftener than by chance."""
    one, other = files(), files(**change)
    if "people" in change:
        assert one.read_bytes() != other.read_bytes()
    else:
        assert abs(agreement(one, other)) < 5


@pytest.mark.parametrize("change", [{"rows_per_person": 2}, {"delta": 1e-6}, {"tables": 1}])
def test_what_changes_neither_records_nor_plan_gives_the_same_records_again(files, change):
    """Bits may be used again where the two releases are one: the second tells nothing new."""
    assert files().read_bytes() == files(**change).read_bytes()


def test_recodings_given_with_the_reading_have_bits_of_their_own(tmp_path):
    """The same file, plan and key; another recoding makes other records, and draws anew."""
    people = pa.table({"sex": [["f", "m", "x"][k % 3] for k in range(600)]})
    pq.write_table(people, tmp_path / "people.parquet")

    def release(name, into):
        made = pramble.release(
            tmp_path / "people.parquet",
            tmp_path / name,
            columns={"sex": {"categories": ["f", "m"]}},
            alpha=1.0,
            design="paper",
            prior="uniform",
            reading={"recode": {"sex": {"merge": {into: ["x"]}}}},
            key=KEY,
            ledger=False,
            pages=False,
        )
        return pramble.open_release(made.folder).data["sex"].to_pylist()

    one, other = release("one", "f"), release("other", "m")
    assert one == release("same", "f")
    known = [k for k in range(600) if k % 3 < 2]  # these are the same people in both
    assert [one[k] for k in known] != [other[k] for k in known]
