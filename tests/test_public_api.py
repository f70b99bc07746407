"""The public names are pinned, documented, and their examples run."""

import doctest
import importlib
import inspect

import pytest

import pramble

PINNED = {
    "Areas",
    "Branch",
    "Guarantee",
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
    "Comparison",
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
    "KeptShares",
    "Measured",
    "Mechanism",
    "Membership",
    "NotConverged",
    "NotIdentifiable",
    "Pareto",
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
    "compare_designs",
    "compose",
    "conditional_entropy",
    "design",
    "design_record",
    "design_tables",
    "Release",
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
    "kept_shares",
    "measure",
    "mutual_information",
    "perturb",
    "perturb_file",
    "plot_kept",
    "plot_tradeoff",
    "open_release",
    "paper",
    "pareto_curve",
    "product",
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


@pytest.mark.parametrize("name", pramble.paper.__all__)
def test_every_name_of_the_paper_is_explained(name):
    thing = getattr(pramble.paper, name)
    assert not callable(thing) or inspect.getdoc(thing)
    if inspect.isfunction(thing):
        assert doctest.DocTestParser().get_examples(inspect.getdoc(thing))


@pytest.mark.parametrize(
    "name",
    [
        "keep_levels",
        "privacy_constraints",
        "privacy_vertices",
        "symmetric_optimum",
        "vertex_threshold",
    ],
)
def test_old_names_warn_and_are_the_same_objects(name):
    with pytest.warns(DeprecationWarning, match=f"pramble.{name} is now pramble.paper.{name}"):
        old = getattr(pramble, name)
    assert old is getattr(pramble.paper, name)


def test_a_name_that_never_was_is_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pramble.no_such_name


def test_import_is_light():
    import subprocess
    import sys

    heavy = "numba highspy scipy.optimize scipy.stats pandas polars matplotlib pyspark jinja2"
    code = (
        f"import sys, pramble\nprint([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
