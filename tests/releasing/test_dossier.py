"""What reviewers of a release read: an entry for a registry, statements, a picture, an attack."""

import ast
import json
import re
import subprocess
import sys

import pytest
from tests.releasing.conftest import COLUMNS, crowd, rewrite
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import InvalidInput

# The registry's fields, each with its kind or its words; a field with a star must be there.
WORDS = {
    "status*": ["Converted", "Draft", "Pending", "Changes Required", "Approved",
                "Approved (Update Requested)", "Approved (Pending)"],
    "tier*": [1, 2, 3],
    "data_product_type*": ["Summary statistics", "Machine learning model", "Dataset",
                           "Synthetic data", "Interactive API", "SQL queries"],
    "data_product_sector": ["Technology", "Healthcare", "Education", "Government", "Energy",
                            "Finance"],
    "variant_name": ["Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"],
    "model_name": ["Local", "Central", "Shuffle", "Federated", "Varies"],
    "release_type": ["One release", "Many releases"],
    "data_source_type": ["Static", "Dynamic"],
    "access_type": ["Interactive", "Non-interactive"],
}  # fmt: skip
REGISTRY = {
    "url_slug*": str, "status*": str, "tier*": int,
    "deployment*": {
        "basic*": {
            "name*": str, "data_curators*": list, "intended_use*": str, "data_product_type*": str,
            "data_product_region*": str, "description*": str, "publication_date*": str,
            "data_product_sector": str,
        },
        "dp_variant": {"variant_name": str, "data_domain": str, "unprotected_quantities": str},
        "privacy_loss": {
            "privacy_unit": str, "privacy_unit_details": str,
            "privacy_parameters": {"epsilon": float, "delta": float, "rho": float},
            "privacy_parameters_details": str,
        },
        "deployment_model": dict.fromkeys(
            ["model_name", "model_name_details", "actors", "release_type", "release_type_details",
             "data_source_type", "data_source_type_details", "access_type", "access_type_details"],
            str,
        ),
        "accounting": {"post_processing": str, "composition": str},
        "implementation": {"preprocessing_and_hyperparameter_tuning": str, "mechanisms": str,
                           "justification": str},
        "administrative": {"sources": str, "notes": str, "registry_authors*": list},
    },
}  # fmt: skip


def parsed(text):
    """The part of YAML that is written: mappings by indentation, JSON values, comments."""
    root, asked = {}, []
    stack = [(-1, root)]
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            asked.append(line.strip("# ").partition(":")[0])
            continue
        pad, key, value = re.fullmatch(r"( *)([a-z_]+):(?: (.*))?", line).groups()
        while stack[-1][0] >= len(pad):
            stack.pop()
        if value is None:
            stack[-1][1][key] = own = {}
            stack.append((len(pad), own))
        else:
            stack[-1][1][key] = json.loads(value)
    return root, asked


def check(found, fields, asked):
    names = {name.rstrip("*"): kind for name, kind in fields.items()}
    assert set(found) <= set(names)
    for name, kind in fields.items():
        own = name.rstrip("*")
        if own not in found:
            assert "*" not in name or own in asked, f"{own} is neither there nor asked for"
        elif isinstance(kind, dict):
            assert found[own], f"{own} would be null"
            check(found[own], kind, asked)
        else:
            assert isinstance(found[own], kind)
        if own in found and name in WORDS:
            assert found[own] in WORDS[name]


def entry_of(folder):
    text = (folder / "deployment.yaml").read_text()
    found, asked = parsed(text)
    check(found, REGISTRY, asked)
    assert not re.search(r": (None|nan)$", text, re.MULTILINE)
    return found, asked


KINDS = {
    "tables": {"central": 1.0},
    "people": {"central": 1.0, "person": "who"},
    "records": {"alpha": 2.0, "tables": 1, "prior": "uniform"},
    "a private prior": {"alpha": 4.0, "tables": 1},
    "shuffled": {"central": 20.0, "design": "records", "tables": 1},
    "columns": {"alpha": 2.0, "design": "paper"},
}
WHO = [f"p{k // 3}" for k in range(900)]


@pytest.fixture(scope="module")
def people():
    import pyarrow as pa

    return crowd(900).append_column("who", pa.array(WHO))


@pytest.fixture
def released(people, tmp_path):
    def release(kind, **options):
        plan = {"columns": COLUMNS, "drop": ["who"], **KINDS[kind]}
        options = {"ledger": False, "pages": False, **options}
        return pramble.release(people, tmp_path / "out", plan=plan, **options)

    return release


@pytest.mark.parametrize("kind", KINDS)
def test_a_dossier_says_what_the_release_promises(released, kind):
    release = released(kind)
    folder = pramble.dossier(release.folder)
    assert folder.name == "out-dossier"
    found, asked = entry_of(folder)
    loss = found["deployment"]["privacy_loss"]
    promise = release.central or release.guarantee
    assert loss["privacy_parameters"]["epsilon"] == promise.shown
    assert loss["privacy_parameters_details"] == promise.sentence()
    assert {"name", "data_curators", "intended_use", "registry_authors"} <= set(asked)
    is_central = release.central is not None
    assert ("delta" in loss["privacy_parameters"]) == is_central
    variant = found["deployment"]["dp_variant"]["variant_name"]
    assert variant == ("Approximate DP" if is_central else "Pure DP")
    text = (folder / "sp800-226.md").read_text()
    assert text.count(promise.sentence()) == 1
    sure = re.findall(r"at most ([\d.]+ %) sure", text)
    assert len(sure) == 1, "one number a promise"
    assert "@" not in text
    assert not re.search(r"\{\w*\}", text)
    if kind != "columns":
        assert (folder / "risk.svg").read_text().startswith("<svg")
        rows = re.findall(r"\| [αε] = ([\d.]+) \| ([\d.]+ %) \| ± ([\d.]+) points", text)
        errors = [float(error) for _, _, error in rows]
        assert len(errors) >= 3
        assert errors == sorted(errors, reverse=True), "more is told where less is promised"
        assert sure[0] in [said for _, said, _ in rows]
    else:
        assert not (folder / "risk.svg").exists()
        assert "No picture is drawn" in text
    ast.parse((folder / "try_anonymeter.py").read_text())


def test_what_the_producer_states_is_in_the_entry(released):
    """What a manifest says of its data set is taken; a quote or a line's end breaks nothing."""
    release = released("tables")
    about = {"title": 'Who is "ill"?\n# not: yaml', "producer": "Office", "region": "New York",
             "date": "2026-03-01", "description": "Adults: all."}  # fmt: skip

    def change(manifest):
        manifest["dataset"] = about

    from pramble.releasing import dossier

    rewrite(release.folder, change)
    opened = pramble.Release(
        release.folder, json.loads((release.folder / "manifest.json").read_text()), release.plan
    )
    found, asked = parsed(dossier.registry_entry(dossier.statements(opened, [])))
    check(found, REGISTRY, asked)
    basic = found["deployment"]["basic"]
    assert basic["name"] == about["title"]
    assert basic["data_curators"] == ["Office"]
    assert basic["publication_date"] == "2026-03-01"
    assert found["url_slug"].startswith("who-is-ill-not-yaml-")


@pytest.mark.parametrize(
    "promise", [{"central": 1.0, "tables": 1}, {"alpha": 3.0, "design": "paper"}]
)
def test_risk_before_and_after_is_the_curators_to_give(tmp_path, promise):
    keys = ["AGE", "EDUC", "MARST", "RACESING", "EMPSTAT"]
    people = pramble.datasets.synthetic_new_york(3000).select(keys)
    release = pramble.release(
        people, tmp_path / "out", columns=keys, person=False, prior="uniform",
        ledger=False, pages=False, **promise,
    )  # fmt: skip
    assert "this folder does not" in (pramble.dossier(release.folder) / "sp800-226.md").read_text()
    found = pramble.assess(people, keys, population_size=90_000)
    made = pramble.dossier(release.folder, tmp_path / "two", assessment=found)
    text = (made / "sp800-226.md").read_text()
    assert f"{found.sample_uniques:,} records are alone" in text
    assert "These figures are confidential." in text
    if "central" in promise:
        assert "holds no record of the file" in text
        return
    left = found.after({name: release.plan[name] for name in keys}).tau2
    said = float(re.search(r"After randomisation ([\d.]+) are expected", text)[1])
    assert said == pytest.approx(left, rel=0.06)
    assert said < found.tau2


def test_earlier_releases_of_the_same_people_are_listed(released, people, tmp_path):
    ledger = tmp_path / "ledger.db"
    for name in ("first", "other"):
        columns = {"sex": COLUMNS["sex"]} if name == "first" else {"ill": COLUMNS["ill"]}
        pramble.release(
            people.select(list(columns)).slice(0, 900 if name == "first" else 400), tmp_path / name,
            plan={"alpha": 0.5, "prior": "uniform", "people": name, "columns": columns},
            ledger=ledger, pages=False,
        )  # fmt: skip
    plan = {"columns": COLUMNS, "drop": ["who"], "central": 1.0, "people": "first"}
    made = pramble.release(people, tmp_path / "out", plan=plan, ledger=ledger, pages=False)
    before = ledger.read_bytes()
    folder = pramble.dossier(made.folder, tmp_path / "dossier", ledger=ledger)
    text = (folder / "sp800-226.md").read_text()
    assert len(re.findall(r"^\| 20\d\d-", text, re.MULTILINE)) == 2
    assert "ill |" not in text, "a release of other people"
    assert "ε = 1.5" in text
    found, _ = entry_of(folder)
    assert found["deployment"]["deployment_model"]["release_type"] == "Many releases"
    assert str(tmp_path) not in "".join(path.read_text() for path in folder.iterdir())
    assert ledger.read_bytes() == before
    alone = pramble.dossier(made.folder)
    assert "is to be filled in" in (alone / "sp800-226.md").read_text()


def test_a_dossier_takes_the_place_of_nothing(released, tmp_path):
    release = released("columns")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").write_text("mine")
    with pytest.raises(InvalidInput, match="not empty"):
        pramble.dossier(release.folder, tmp_path / "full")
    answer = CliRunner().invoke(app, ["dossier", str(release.folder), "-o", str(tmp_path / "new")])
    assert answer.exit_code == 0
    assert "deployment.yaml" in answer.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        path.name for path in release.folder.iterdir()
    )


def test_the_attack_makes_a_trial_release_that_is_not_published(released, people, tmp_path):
    """The first half of the script runs where pramble is; the second needs Anonymeter."""
    import pyarrow.parquet as pq

    pq.write_table(people, tmp_path / "people.parquet")
    folder = pramble.dossier(released("people").folder)
    words = [str(folder / "try_anonymeter.py"), "prepare", str(tmp_path / "people.parquet")]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", *words, str(tmp_path / "private")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    tables = {
        name: pq.read_table(tmp_path / "private" / f"{name}.parquet")
        for name in ("inside", "outside", "synthetic")
    }
    assert tables["inside"].num_rows + tables["outside"].num_rows == 900
    assert tables["inside"].num_rows % 3 == 0, "people are on one side with all their rows"
    assert all(table.column_names == ["sex", "ill", "age"] for table in tables.values())
    assert (tmp_path / "private").stat().st_mode & 0o077 == 0


def test_labels_stay_texts_in_the_script(tmp_path):
    odd = ['"""', "\\'", "'); import os; ('", "é\n@settings@"]
    folder = tmp_path / "out"
    pramble.release(
        {"x": odd * 200}, folder, plan={"central": 1.0, "columns": {"x": {"categories": odd}}},
        ledger=False, pages=False,
    )  # fmt: skip
    tree = ast.parse((pramble.dossier(folder) / "try_anonymeter.py").read_text())
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)][:5]
    labels = next(one for one in texts if one.targets[0].id == "LABELS")
    assert json.loads(labels.value.args[0].value) == {"x": odd}


def test_the_order_of_columns_in_a_plan_is_no_matter(tmp_path):
    """The search may bring the columns of a plan into another order than that of the file."""
    people = crowd(300)
    columns = {name: own for name, own in COLUMNS.items() if name in people.column_names}
    for number, order in enumerate((list(columns), list(columns)[::-1])):
        plan = {"alpha": 2.0, "person": False, "columns": {name: columns[name] for name in order}}
        out = tmp_path / f"{number}"
        pramble.release(people, out, plan=plan, ledger=False, pages=False, key=bytes(range(32)))
        assert (pramble.dossier(out) / "risk.svg").exists()
