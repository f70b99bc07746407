"""The public names are pinned, documented, and their examples run."""

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import pramble
from pramble_study import paper

PINNED = {
    "Areas",
    "Audit",
    "audit",
    "dossier",
    "Branch",
    "Promise",
    "Plan",
    "Progress",
    "RecordDesign",
    "Reading",
    "Assessment",
    "Calibration",
    "Candidates",
    "CentralGuarantee",
    "Certificate",
    "Combined",
    "Estimate",
    "Independence",
    "Design",
    "Distance",
    "geometric",
    "InvalidData",
    "InvalidInput",
    "InvalidMechanism",
    "InvalidPlan",
    "InvalidPrior",
    "Measured",
    "Mechanism",
    "Membership",
    "NotConverged",
    "NotIdentifiable",
    "PrambleError",
    "PrambleWarning",
    "PrivacyError",
    "Regression",
    "assess",
    "calibrate",
    "central_guarantee",
    "WriteFailed",
    "certify",
    "circle",
    "combine",
    "conditional_entropy",
    "design",
    "design_record",
    "design_tables",
    "Release",
    "Survey",
    "TableDesign",
    "datasets",
    "entropy",
    "estimate",
    "estimate_regression",
    "estimation_variance",
    "fisher_information",
    "impute",
    "independence_test",
    "information_bound",
    "keep_probabilities",
    "measure",
    "mutual_information",
    "perturb",
    "perturb_file",
    "open_release",
    "randomized_response",
    "release",
    "released_distribution",
    "synthesize",
    "try_release",
}


def test_the_export_list_is_what_is_pinned():
    assert set(pramble.__all__) == PINNED
    assert list(pramble.__all__) == sorted(pramble.__all__)


def public_with_examples():
    """Every public name that must show an example: all but the leaves of the exception tree."""
    for name in pramble.__all__:
        thing = getattr(pramble, name)
        if inspect.ismodule(thing):
            continue
        if inspect.isclass(thing) and issubclass(thing, Exception) and thing.__subclasses__() == []:
            continue
        if thing is pramble.InvalidInput:
            continue
        yield name


@pytest.mark.parametrize("name", pramble.__all__)
def test_every_public_name_has_a_docstring(name):
    assert inspect.getdoc(getattr(pramble, name))


@pytest.mark.parametrize("name", list(public_with_examples()))
def test_every_public_name_has_a_running_example(name):
    thing = getattr(pramble, name)
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing))
    assert examples, f"pramble.{name} shows no example"


@pytest.mark.parametrize("name", pramble.__all__)
def test_public_names_live_in_modules_that_import_alone(name):
    thing = getattr(pramble, name)
    module = thing.__name__ if inspect.ismodule(thing) else thing.__module__
    assert module.startswith("pramble")
    assert importlib.import_module(module)


@pytest.mark.parametrize("name", paper.__all__)
def test_every_name_of_the_paper_is_explained(name):
    thing = getattr(paper, name)
    assert not callable(thing) or inspect.getdoc(thing)
    if inspect.isfunction(thing):
        assert doctest.DocTestParser().get_examples(inspect.getdoc(thing))


def test_a_name_that_never_was_is_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pramble.no_such_name


def loaded_after(line):
    """Names of modules that a fresh Python holds after a line of code."""
    code = f"import sys, pramble\n{line}\nprint(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


def test_importing_loads_no_module_of_the_package():
    found = loaded_after("")
    assert [name for name in found if name.startswith("pramble.")] == []
    assert "numpy" not in found


NO_DATA = "pyarrow narwhals pandas polars pramble.data.open"
NO_SOLVER = "numba highspy scipy.optimize scipy.stats pyspark"
NO_PICTURE = "matplotlib jinja2 pramble.plots pramble.report pramble.geography pramble_study"


@pytest.mark.parametrize(
    ("line", "absent"),
    [
        ("pramble.certify, pramble.design, pramble.randomized_response", NO_DATA),
        ("pramble.estimate, pramble.assess, pramble.perturb", "pandas polars"),
        ("[getattr(pramble, name) for name in pramble.__all__]", "pandas polars matplotlib jinja2"),
    ],
)
def test_a_verb_loads_what_it_needs(line, absent):
    found = loaded_after(line)
    assert found.isdisjoint(f"{absent} {NO_SOLVER}".split())
    if "__all__" not in line:
        assert found.isdisjoint(NO_PICTURE.split())


def test_what_type_checkers_read_is_what_is_loaded():
    """The imports under ``TYPE_CHECKING`` and the table name the same homes."""
    tree = ast.parse(Path(pramble.__file__).read_text(encoding="utf-8"))
    read = {
        alias.name: f"pramble.{alias.name}" if node.module == "pramble" else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pramble")
        for alias in node.names
    }
    assert read == pramble._MODULES
    assert list(pramble._MODULES) == list(pramble.__all__)
    assert set(pramble.__all__) <= set(dir(pramble))


FIRST_CALLS = {
    "a matrix": "Mechanism.from_matrix([[0.6, 0.4], [0.4, 0.6]])",
    "a document": f"Mechanism.from_json({pramble.geometric(3, 0.5).to_json()!r})",
    "a scale": "geometric(5, 0.5)",
    "a circle": "circle(8, 1.0)",
    "responses": "randomized_response(['a', 'b'], 1.0)",
    "a plan": "Plan({'a': pramble.geometric(3, 0.5)})",
    "a design": "design([0.5, 0.3, 0.2], 1.0, family='general')",
    "tables": "design_tables({'a': 2, 'b': 3}, 1.0, 1e-6)",
}


@pytest.mark.parametrize("call", FIRST_CALLS.values(), ids=FIRST_CALLS)
def test_a_name_works_when_it_is_the_first_that_is_used(call):
    """Modules are loaded when a name of theirs is met: none may rest on another being loaded."""
    done = subprocess.run(
        [sys.executable, "-c", f"import pramble; pramble.{call}"], capture_output=True, text=True
    )
    assert not done.stderr, done.stderr
