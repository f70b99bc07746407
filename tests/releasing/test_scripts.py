"""Scripts in a release folder: written from the plan alone, safe whatever labels say."""

import ast
import json
import re
import runpy
import shutil
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.releasing.conftest import release_by, rewrite

import pramble
from pramble.errors import InvalidData

EVIL = [
    '"); system("touch owned"); ("',
    "'); __import__('os').system('touch owned'); ('",
    "back\\slash\\U{22}",
    "two\nlines\n# stop",
    "]\nprint(1)\n[",
    "\u202eright to left",
    "emoji 🙂",
    "`x`",
    "%s {tables} $(touch owned)",
]


def evil_plan():
    return pramble.Plan({
        EVIL[0]: pramble.randomized_response(EVIL, 3.0),
        EVIL[3]: pramble.randomized_response(EVIL[:3], 3.0),
    })  # fmt: skip


def texts_of(plan, folder):
    """The scripts of a release of a few records, with what the Python one shows first."""
    labels = {name: list(own.labels.values) for name, own in plan.column_labels().items()}
    source = {name: (own * 30)[:30] for name, own in labels.items()}
    made = release_by(plan, source, folder / "out")
    scripts = {
        name: (made.folder / name).read_text(encoding="utf-8")
        for name in ("analysis.R", "analysis.py")
    }
    assigned = [n for n in ast.parse(scripts["analysis.py"]).body if isinstance(n, ast.Assign)]
    tables = next(n.value for n in assigned if ast.unparse(n.targets[0]) == "TABLES")
    return scripts, ast.literal_eval(tables)


def test_labels_and_names_cannot_end_the_text_they_stand_in(tmp_path):
    scripts, tables = texts_of(evil_plan(), tmp_path)
    assert scripts["analysis.R"].isascii() or EVIL[5] not in scripts["analysis.R"]
    code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', scripts["analysis.R"].split("# ---- Reading")[0])
    for word in ("system", "touch", "print", "owned"):
        assert word not in code
    tree = ast.parse(scripts["analysis.py"])
    called = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert set(called) == {"Path", "Path(__file__).resolve", "pramble.open_release",
                           "pramble.estimate", "print"}  # fmt: skip
    assert scripts["analysis.py"].isascii()
    assert tables == [[EVIL[0]], [EVIL[0], EVIL[3]]]


def test_the_python_script_runs_and_prints_the_estimates(tmp_path, capsys):
    plan = pramble.Plan({name: pramble.randomized_response(["no", "yes"], 3.0) for name in "ab"})
    rng = np.random.default_rng(2)
    source = {name: rng.choice(["no", "yes"], 400).tolist() for name in "ab"}
    release = release_by(plan, source, tmp_path / "out")
    runpy.run_path(str(release.folder / "analysis.py"))
    printed = capsys.readouterr().out
    opened = pramble.open_release(release.folder)
    assert str(pramble.estimate(opened, by=["a"])) in printed
    assert str(pramble.estimate(opened, by=["a", "b"])) in printed


def test_scripts_follow_from_plan_and_number_of_rows_alone(tmp_path):
    plan = pramble.Plan({"a": pramble.randomized_response(["no", "yes"], 3.0)})
    found = []
    for name, share in (("one", 0.1), ("two", 0.9)):
        rng = np.random.default_rng(3)
        source = {"a": np.where(rng.random(200) < share, "yes", "no").tolist()}
        folder = release_by(plan, source, tmp_path / name).folder
        found.append([(folder / script).read_bytes() for script in ("analysis.R", "analysis.py")])
    assert found[0] == found[1]


def test_scripts_may_be_edited_but_not_in_a_folder_that_is_verified(tmp_path):
    key = Ed25519PrivateKey.generate()
    pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (tmp_path / "public.pem").write_bytes(pem)
    plan = pramble.Plan({"a": pramble.randomized_response(["no", "yes"], 3.0)})
    made = release_by(plan, {"a": ["no", "yes"] * 20}, tmp_path / "out", sign=key)
    pramble.open_release(made.folder, verify=tmp_path / "public.pem")
    script = made.folder / "analysis.R"
    script.write_text(script.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    pramble.open_release(made.folder)
    with pytest.raises(InvalidData, match=r"analysis.R is not the file that was released"):
        pramble.open_release(made.folder, verify=tmp_path / "public.pem")
    script.unlink()
    with pytest.raises(InvalidData, match="lacks its script"):
        pramble.open_release(made.folder, verify=tmp_path / "public.pem")


def test_scripts_that_a_signed_manifest_does_not_state_are_refused(tmp_path):
    key = Ed25519PrivateKey.generate()
    pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (tmp_path / "public.pem").write_bytes(pem)
    plan = pramble.Plan({"a": pramble.randomized_response(["no", "yes"], 3.0)})
    source = {"a": ["no", "yes"] * 20}
    made = release_by(plan, source, tmp_path / "out", sign=key)
    rewrite(made.folder, lambda document: document.pop("scripts"))
    signature = key.sign((made.folder / "manifest.json").read_bytes())
    (made.folder / "manifest.sig").write_bytes(signature)
    with pytest.raises(InvalidData, match="does not state"):
        pramble.open_release(made.folder, verify=tmp_path / "public.pem")


def test_what_the_manifest_states_of_scripts_is_named(tmp_path):
    plan = pramble.Plan({"a": pramble.randomized_response(["no", "yes"], 3.0)})
    made = release_by(plan, {"a": ["no", "yes"] * 20}, tmp_path / "out")
    copy = shutil.copytree(made.folder, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest["scripts"][0]["file"] = "../elsewhere.R"
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidData, match="must match"):
        pramble.open_release(copy)


def test_the_first_tables_are_some_that_can_be_told(tmp_path):
    m = pramble.randomized_response(["no", "yes"], 1.0)
    half = Fraction(1, 2)
    plan = pramble.Plan(branches=[
        pramble.Branch(half, {"a": m}), pramble.Branch(half, {"b": m, "c": m})
    ])  # fmt: skip
    assert texts_of(plan, tmp_path)[1] == [["a"], ["b", "c"]]
