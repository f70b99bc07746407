"""Tables in a real PostgreSQL server are counted there."""

import pyarrow as pa
import pytest
from tests.tables.people import KEY, ODD, assert_same, design

import pramble

pytestmark = [
    pytest.mark.xdist_group("postgres"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option"),
]


@pytest.fixture(scope="module")
def people(postgres, table):
    import ibis

    connection = ibis.postgres.connect(**postgres)
    cursor = connection.con.cursor()
    odd = ODD.replace('"', '""')
    cursor.execute(
        f'CREATE TABLE people (sex varchar(10), age smallint, "{odd}" text, ill boolean, '
        "job numeric(9, 0), id bigint)"
    )
    with cursor.copy("COPY people FROM STDIN") as copy:
        for row in zip(*table.to_pydict().values(), strict=True):
            copy.write_row(row)
    connection.con.commit()
    yield connection.table("people")
    connection.disconnect()


@pytest.mark.parametrize("person", [None, "id"])
def test_releases_the_same_bytes(people, expected, person):
    found = pramble.measure(people, design(2), key=KEY, person=person)
    assert_same(found, expected[person])


def test_counts_what_a_query_says(people, table):
    kept = people.filter(people.age < 3)
    few = table.filter(pa.compute.less(table["age"], 3))
    one, other = (pramble.measure(data, design(), key=KEY) for data in (kept, few))
    assert_same(one, other)


def test_counts_recoded_rows(people, table):
    reading = {"recode": {"age": [0, 2, 5]}}
    plan = pramble.design_tables({"age": ["0-1", "2-4", "5+"], "ill": [False, True]}, 1.0, 1e-6)
    one, other = (pramble.measure(data, plan, key=KEY, reading=reading) for data in (people, table))
    assert_same(one, other)


def test_counts_of_no_rows(people):
    none = pramble.measure(people.filter(people.age > 99), design(), key=KEY)
    assert none.total == 0


def test_refuses_undeclared_values_without_telling_them(people):
    plan = pramble.design_tables({"age": 5, "sex": ["f", "m"]}, 1.0, 1e-6)
    for person in (None, "id"):
        with pytest.raises(pramble.InvalidData, match=r"'age' must hold declared") as error:
            pramble.measure(people, plan, person=person)
        assert "rows do not." in str(error.value)
        assert set(error.value.values.split(", ")) == {"5", "6"}


def test_one_query_answers(people, monkeypatch):
    asked = []
    backend = type(people.get_backend())
    real = backend.to_pyarrow
    monkeypatch.setattr(
        backend, "to_pyarrow", lambda self, query, **more: asked.append(query) or real(self, query)
    )
    pramble.measure(people, design())
    counts = [query for query in asked if "COUNT" in pytest.importorskip("ibis").to_sql(query)]
    assert len(counts) == 1
