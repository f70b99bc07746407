"""Complete records of every release: drawn from it alone, stated, hashed, and repeatable."""

import json
import shutil
from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import LEAST_ROWS

import pramble
from pramble.errors import InvalidData

N = 3000
DECLARED = {
    "sex": {"categories": ["f", "m"]},
    "ill": {"categories": ["yes", "no", "?"], "missing": "?"},
    "work": {"categories": ["no", "half", "full"]},
}


def sample(n, seed=4):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.6, 0.4])
    ill = np.where(rng.random(n) < np.where(sex == "f", 0.5, 0.2), "yes", "no").tolist()
    ill = [None if i % 10 == 0 else one for i, one in enumerate(ill)]
    work = np.where(sex == "f", rng.choice(["no", "half"], n), rng.choice(["no", "full"], n))
    return pa.table({"sex": sex.tolist(), "ill": ill, "work": work.tolist()})


LEFT = {"town": list("xyz"), "age": [20, 30, 40, None]}
LOCAL = {"alpha": 6.0, "prior": "uniform"}
ZEROS = [{"sex": ["f"], "work": ["full"]}, {"sex": ["m"], "work": ["half"]}]
RULES = [{"never": own} for own in ZEROS]
KINDS = {
    "records": LOCAL,
    "whole": {**LOCAL, "whole": True},
    "paper": {**LOCAL, "design": "paper"},
    "pieces": {**LOCAL, "rows_per_file": LEAST_ROWS},
    "zeros": {**LOCAL, "possible": RULES},
    "several rows": {**LOCAL, "alpha": 18.0, "person": "who", "drop": ["who"]},
    "shuffled": {"central": 6.0, "design": "records"},
    "tables": {"central": 2.0},
    "tables with zeros": {"central": 2.0, "possible": RULES},
    "tables of people": {"central": 6.0, "person": "who", "rows_per_person": 3, "drop": ["who"]},
}


@pytest.fixture(scope="module")
def people():
    table = sample(N)
    for name, values in LEFT.items():
        table = table.append_column(name, pa.array((values * N)[:N]))
    return table.append_column("who", pa.array([i // 3 for i in range(N)]))


@pytest.fixture(scope="module", params=KINDS)
def folder(request, people, tmp_path_factory):
    given = dict(KINDS[request.param])
    drop = {"who", *(LEFT if "central" in given else ())} | set(given.pop("drop", ()))
    target = tmp_path_factory.mktemp(request.param.replace(" ", "-")) / "out"
    pramble.release(
        people, target, columns=DECLARED, drop=sorted(drop), ledger=False, pages=False,
        key=b"k" * 32, **{"rows_per_person": 1, **given} if "person" not in given else given,
    )  # fmt: skip
    return target


def estimated(release, names):
    """The shares of all cells of a table by the evidence, unbiased, and their errors."""
    found = pramble.estimate(release, by=list(names), method="inverse", covers="randomisation")
    cells = zip(*(found.cells[name] for name in names), strict=True)
    return dict(
        zip(cells, zip(found.probabilities, found.standard_errors, strict=True), strict=True)
    )


def counted(records, names):
    return Counter(zip(*(records[name].to_pylist() for name in names), strict=True))


def test_the_folder_holds_complete_records(folder, people):
    release = pramble.open_release(folder)
    records, stated = release.synthetic, release.manifest["synthetic"]
    names = [column["name"] for column in release.manifest["columns"]]
    assert records.column_names == names
    assert stated["rows"] == records.num_rows == release.manifest["rows"]
    assert "nothing beyond it" in stated["sentence"]
    for name in names:
        truth = Counter("?" if one is None and name == "ill" else one
                        for one in people[name].to_pylist())  # fmt: skip
        found = counted(records, [name])
        for (label,), (_, error) in estimated(release, [name]).items():
            away = found[label,] / records.num_rows - truth[label] / N
            assert abs(away) < 6 * error + 0.02, (name, label)
    women = [ill for sex, ill in counted(records, ["sex", "ill"]).elements() if sex == "f"]
    men = [ill for sex, ill in counted(records, ["sex", "ill"]).elements() if sex == "m"]
    assert women.count("yes") / len(women) > men.count("yes") / len(men) + 0.1


@pytest.mark.parametrize("folder", ["zeros", "tables with zeros"], indirect=True)
def test_cells_that_cannot_be_are_empty(folder):
    found = counted(pramble.open_release(folder).synthetic, ["sex", "work"])
    assert found["f", "full"] == found["m", "half"] == 0
    assert found["f", "half"] > 0


def test_every_reader_can_draw_them_again(folder):
    release = pramble.open_release(folder)
    seed = release.manifest["synthetic"]["seed"]
    assert pramble.synthesize(release, seed=seed).equals(release.synthetic)


def test_stated_differences_are_those_of_counting(folder):
    """Counted in the file, estimated from the evidence, cell by cell."""
    release = pramble.open_release(folder)
    records = release.synthetic
    stated = release.manifest["synthetic"]["tables"]
    tables = [tuple(one["columns"]) for one in stated]
    assert {(name,) for name in records.column_names} <= set(tables)
    assert len(tables) == len(set(tables)) > len(records.column_names)
    zeros = "zeros" in folder.parent.name
    for table, one in zip(tables, stated, strict=True):
        shares, counts = estimated(release, table), counted(records, table)
        labels = [[label for (label,) in estimated(release, [name])] for name in table]
        away = []
        for cell in product(*labels):
            known = dict(zip(table, cell, strict=True))
            out = zeros and any(
                all(known.get(name) in own for name, own in rule.items()) for rule in ZEROS
            )
            share = 0.0 if out else shares.get(cell, (0.0,))[0]
            away.append(counts[cell] / records.num_rows - share)
        assert one["difference"] == pytest.approx(np.sqrt(np.mean(np.square(away))), abs=1e-9)


def test_every_file_says_what_it_is_and_nothing_of_the_source(people, tmp_path):
    named = people.drop_columns(["who"]).replace_schema_metadata(
        {b"secret": b"CANARY", b"pramble": b"CANARY"}
    )
    own = pa.schema([field.with_metadata({b"note": b"CANARY"}) for field in named.schema],
                    metadata=named.schema.metadata)  # fmt: skip
    pq.write_table(named.cast(own), tmp_path / "people.parquet")
    for place, given in enumerate(({**LOCAL, "rows_per_file": LEAST_ROWS}, LOCAL,
                                   {"central": 2.0, "drop": list(LEFT)})):  # fmt: skip
        made = pramble.release(
            tmp_path / "people.parquet", tmp_path / str(place), columns=DECLARED, ledger=False,
            rows_per_person=1, **given,
        )  # fmt: skip
        stated = made.manifest.get("data") or made.manifest["tables"]
        wanted = {"synthetic.parquet": made.manifest["synthetic"]["sentence"]}
        wanted |= {piece["file"]: stated["sentence"] for piece in stated.get("pieces", [stated])}
        for path in made.folder.rglob("*"):
            assert path.is_dir() or b"CANARY" not in path.read_bytes()
        files = {
            path.relative_to(made.folder).as_posix() for path in made.folder.rglob("*.parquet")
        }
        assert files == set(wanted)
        for name, sentence in wanted.items():
            notes = pq.read_metadata(made.folder / name).metadata
            assert notes.pop(b"ARROW:schema")
            assert notes == {b"pramble": sentence.encode()}


def test_what_has_too_many_values_is_left_out_with_a_note(people, tmp_path):
    wide = people.append_column("pay", pa.array([i / 7 for i in range(N)]))
    wide = wide.append_column("code", pa.array([f"c{i % 201}" for i in range(N)]))
    wide = wide.append_column("fine", pa.array([f"c{i % 200}" for i in range(N)]))
    wide = wide.append_column("same", pa.array(["one"] * N)).append_column("none", pa.nulls(N))
    made = pramble.release(
        wide, tmp_path / "out", columns=DECLARED, drop=["who", *LEFT], rows_per_person=1,
        ledger=False, allow=["pay", "code", "fine", "same", "none"], **LOCAL,
    )  # fmt: skip
    stated = made.manifest["synthetic"]
    assert [note.split("'")[1] for note in stated["notes"][:2]] == ["pay", "code"]
    records = pramble.open_release(made.folder).synthetic
    assert records.column_names == [*DECLARED, "fine", "same", "none"]
    assert set(records["same"].to_pylist()) == {"one"}
    assert records["none"].null_count == N
    assert min(counted(records, ["fine"]).values()) >= 10


@pytest.mark.parametrize("design", ["records", "paper"])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_file_of_hardly_any_rows_is_released(tmp_path, rows, design):
    columns = {"sex": DECLARED["sex"], "work": DECLARED["work"]}
    table = sample(rows).drop_columns(["ill"])
    made = pramble.release(
        table, tmp_path / "out", columns=columns, design=design, ledger=False, rows_per_person=1,
        **LOCAL,
    )  # fmt: skip
    assert pramble.open_release(made.folder).synthetic.num_rows == rows


def test_what_the_release_does_not_reveal_is_drawn_evenly_and_said(tmp_path):
    """An alpha so near 0 that the designed matrices have equal rows."""
    table = sample(N).drop_columns(["ill"]).append_column("left", pa.array(["a", "b", "b"] * 1000))
    made = pramble.release(
        table, tmp_path / "out", alpha=1e-9,
        columns={"sex": DECLARED["sex"], "work": DECLARED["work"]},
        prior="uniform", ledger=False, rows_per_person=1, copies=["csv"],
    )  # fmt: skip
    release = pramble.open_release(made.folder)
    assert release.synthetic.column_names == ["sex", "work", "left"]
    stated = release.manifest["synthetic"]
    assert stated["notes"][0].startswith("Columns that the release does not reveal")
    assert [one["columns"] for one in stated["tables"]] == [["left"]]
    assert counted(release.synthetic, ["left"]) == {("a",): 1000, ("b",): 2000}
    for name in ("sex", "work"):
        found = counted(release.synthetic, [name])
        assert max(found.values()) - min(found.values()) <= 1
    assert pramble.synthesize(release, seed=stated["seed"]).equals(release.synthetic)


def test_changed_records_are_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = copy / "synthetic.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(InvalidData, match="SHA-256 differs"):
        pramble.open_release(copy)
    path.unlink()
    with pytest.raises(InvalidData, match="lacks its data file"):
        pramble.open_release(copy)


def test_records_that_nobody_states_are_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    del manifest["synthetic"]
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidData, match="does not state"):
        pramble.open_release(copy)


@pytest.mark.parametrize("promise", [{"central": 1.0}, {"alpha": 2.0, "prior": "uniform"}])
def test_numbers_with_a_word_for_empty_cells(tmp_path, promise):
    """Labels of two types are released as text, and copies hold them too."""
    people = pa.table({"ill": pa.array([0, 1, None] * 200), "sex": ["f", "m"] * 300})
    columns = {"ill": {"missing": "unknown"}, "sex": {}}
    made = pramble.release(
        people, tmp_path / "out", columns=columns, copies=["csv", "stata", "spss", "excel"],
        person=False, ledger=False, pages=False, **promise,
    )  # fmt: skip
    assert set(pramble.open_release(made.folder).synthetic["ill"].to_pylist()) == {
        "0",
        "1",
        "unknown",
    }
