"""The reference pages name everything there is, and what they say of settings is so."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import pramble

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

vocabularies = pytest.importorskip("vocabularies", reason="needs the packages of the pages")
mathml = pytest.importorskip("mathml", reason="needs the packages of the pages")


def listed():
    """The names in the tables of the reference."""
    text = (DOCS / "api.rst").read_text(encoding="utf-8")
    # The paper's names stand under the module of the study.
    text = re.sub(r"currentmodule:: pramble_study.*?currentmodule", "", text, flags=re.DOTALL)
    return re.findall(r"^   ([\w.]+)$", text, flags=re.MULTILINE)


def test_every_public_name_is_in_the_reference_once():
    modules = {"datasets"}
    wanted = set(pramble.__all__) - modules
    for module in modules:
        kept = getattr(pramble, module)
        wanted |= {f"{module}.{n}" for n in kept.__all__ if callable(getattr(kept, n))}
    names = listed()
    assert set(names) == wanted
    assert len(names) == len(set(names))


@pytest.mark.parametrize("table", vocabularies.TABLES)
def test_every_setting_of_a_plan_is_explained_with_an_example_that_is_read(table):
    settings, _ = vocabularies.TABLES[table]
    assert settings
    for key, setting in settings.items():
        value = tomllib.loads(f"{key} = {setting.example}")[key]
        setting.read(value)
        assert setting.help.endswith(".")


def test_defaults_are_those_of_the_code():
    plan, _ = vocabularies.TABLES["plan"]
    assert vocabularies.default_of(plan["delta"]) == "1e-06"
    assert vocabularies.default_of(plan["prior"]) == '"private"'
    assert vocabularies.default_of(plan["person"]) == ""


def test_every_value_of_the_manifest_has_a_row():
    schema = {
        "type": "array",
        "items": {
            "required": ["a"],
            "properties": {"a": {"type": "object", "properties": {"b": {}}}},
        },
    }
    rows = [(path, required) for path, _, required, _ in vocabularies.rows_of(schema, "x")]
    assert rows == [("x[].a", True), ("x[].a.b", False)]


def test_every_page_of_the_gallery_is_short_and_draws():
    pages = sorted((DOCS / "gallery").glob("plot_*.py"))
    assert len(pages) >= 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 60, page.name
        assert "figure" in text, page.name


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        (r"\tfrac12 x", "<mn>1</mn>"),
        (r"\tilde\lambda_j", '<mover accent="true">'),
        (r"\Big(\sum_x p_x\Big)", "<mo stretchy"),
    ],
)
def test_formulas_are_read_as_tex_reads_them(formula, holds):
    from docutils import nodes

    drawn = mathml.mathml(nodes.math(formula, formula), as_block=True)
    assert holds in re.sub(r">\s+<", "><", drawn)
    assert "munderover" not in drawn
    assert "<mn>12</mn>" not in drawn


def test_a_formula_that_cannot_be_read_stays_as_it_is_for_the_browser_test_to_find():
    from docutils import nodes

    formula = r"\nosuchcommand x"
    assert mathml.mathml(nodes.math(formula, formula), as_block=False) == formula
