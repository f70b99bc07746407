"""How large and how connected the house may be: ceilings that go down, never up."""

import ast
import inspect
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import pramble
from pramble.cli.release import release as release_command
from pramble.releasing.spec.document import PLAN
from pramble.releasing.spec.readers import DESIGNS
from tests.test_architecture import PACKAGE, import_graph, source_files

MOST_LINES, MOST_MODULES = 70_600, 320
MOST_SHARED_NAMES = 134
"""Functions and classes of one name in several modules."""
MOST_SERVANTS = 70
"""Modules that one other alone imports."""
MOST_STATEMENTS_LINES = 60
"""Lines of the longest body, without its docstring."""
MOST_PARAMETERS = 17
MOST_PUBLIC_NAMES = 72
MOST_RELEASE_OPTIONS = 22
LEAST_COMMENTS = 0.003
"""The share of lines that hold nothing but a comment."""


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_house_does_not_grow():
    assert sum(len(lines_of(path)) for path in source_files()) <= MOST_LINES
    assert len(source_files()) <= MOST_MODULES


def test_comments_say_why():
    lines = [line.strip() for path in source_files() for line in lines_of(path)]
    comments = [line for line in lines if line.startswith("#") and not line.startswith("# type")]
    assert len(comments) / len(lines) >= LEAST_COMMENTS


def test_few_names_are_defined_twice():
    homes = Counter()
    for path in source_files():
        body = ast.parse(path.read_text(encoding="utf-8")).body
        kinds = ast.FunctionDef | ast.ClassDef
        homes.update({node.name for node in body if isinstance(node, kinds)})
    twice = sorted(name for name, times in homes.items() if times > 1)
    assert len(twice) <= MOST_SHARED_NAMES, twice


def test_few_modules_serve_one_other_alone():
    importers = defaultdict(set)
    for module, imported in import_graph(PACKAGE).items():
        for name in imported:
            importers[name].add(module)
    servants = sorted(name for name, own in importers.items() if len(own) == 1)
    assert len(servants) <= MOST_SERVANTS, servants


def bodies():
    """Pairs of a function's name and the number of lines of its body, docstring aside."""
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                if body:
                    name = f"{path.relative_to(PACKAGE)}:{node.name}"
                    yield name, body[-1].end_lineno - body[0].lineno + 1


def test_no_body_is_long():
    assert not [(name, size) for name, size in bodies() if size > MOST_STATEMENTS_LINES]


def public_functions():
    """Every public function, and every method of a public class."""
    for name in pramble.__all__:
        found = getattr(pramble, name)
        if inspect.isclass(found):
            own = inspect.getmembers(found, inspect.isfunction)
            yield from ((f"{name}.{each}", call) for each, call in own if each[0] != "_")
        elif inspect.isfunction(found):
            yield name, found


def test_public_signatures_can_be_remembered():
    wide = {
        name: len(inspect.signature(call).parameters)
        for name, call in public_functions()
        if len(inspect.signature(call).parameters) > MOST_PARAMETERS
    }
    assert not wide
    assert len(pramble.__all__) <= MOST_PUBLIC_NAMES


def test_settings_and_options_are_few():
    options = set(inspect.signature(release_command).parameters) - {"source"}
    assert len(options) <= MOST_RELEASE_OPTIONS
    assert all(set(row.designs) <= set(DESIGNS) for row in PLAN.values())


WALK = """
import json, sys, warnings
warnings.simplefilter("ignore")
import tempfile
import numpy, pyarrow, pramble
from pathlib import Path

root = str(Path(pramble.__file__).parent)
touched, deepest, depth = set(), 0, []

def watch(frame, event, _):
    global deepest
    name = frame.f_code.co_filename
    if not name.startswith(root):
        return
    if event == "call":
        touched.add(name)
        depth.append(name)
        deepest = max(deepest, files_on(depth))
    elif event == "return" and depth:
        depth.pop()

def files_on(stack):
    return 1 + sum(a != b for a, b in zip(stack, stack[1:]))

people = pramble.datasets.synthetic_new_york(1000, seed=1).select(["SEX", "MARST", "EMPSTAT"])
folder = tempfile.TemporaryDirectory()
columns = people.column_names
made = pramble.release(people, folder.name + "/once", columns=columns, alpha=3.0, prior="uniform",
                       ledger=False, pages=False)
released = pramble.open_release(folder.name + "/once")
verbs = {
    "release": lambda: pramble.release(people, folder.name + "/out", columns=columns, alpha=3.0,
                                       prior="uniform", ledger=False, pages=False),
    "design": lambda: pramble.design([0.4, 0.3, 0.2, 0.1], 1.0),
    "estimate": lambda: pramble.estimate(released, by=["SEX", "MARST"]),
    "assess": lambda: pramble.assess(people, keys=columns, population_size=100_000),
}
call = verbs[sys.argv[1]]
call() if sys.argv[1] != "release" else None
sys.setprofile(watch)
call()
sys.setprofile(None)
print(json.dumps([len(touched), deepest]))
"""


@pytest.mark.parametrize(
    ("verb", "files", "deep"),
    [("release", 108, 15), ("design", 24, 9), ("estimate", 31, 9), ("assess", 18, 8)],
)
def test_a_walk_through_a_verb_is_short(verb, files, deep):
    """How many files of the package a call touches, and through how many it goes at the deepest."""
    done = subprocess.run(
        [sys.executable, "-c", WALK, verb], capture_output=True, text=True, check=True
    )
    touched, deepest = json.loads(done.stdout.splitlines()[-1])
    assert touched <= files
    assert deepest <= deep
