"""How large and how connected the house may be: ceilings that go down, never up."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import pramble
from pramble.cli.release import release as release_command
from pramble.releasing.spec.document import COLUMN, FILE, OF_ALL, PLAN, RISK
from pramble.releasing.spec.settings import DESIGNS
from tests.test_architecture import PACKAGE, ROOT, import_cycles, import_graph, source_files

MOST_LINES, MOST_MODULES = 61_000, 274
# Functions and classes of one name in several modules.
MOST_SHARED_NAMES = 12
# Modules that one other alone imports.
MOST_SERVANTS = 60
# Lines of the longest body, without its docstring.
MOST_STATEMENTS_LINES = 60
MOST_PARAMETERS = 14
MOST_PUBLIC_NAMES = 69
MOST_RELEASE_OPTIONS = 22
MOST_SETTINGS = 44
# The share of lines that hold nothing but a comment.
LEAST_COMMENTS = 0.017
# Files that know that a plan has branches; all others ask its channel.
MOST_BRANCH_WALKERS = 4
# The share of the tests' lines in files that import no module behind the public doors.
LEAST_PUBLIC_TESTS = 0.6
PUBLIC_DOORS = {
    "pramble",
    "pramble.app.serve",
    "pramble.cli",
    "pramble.cli.app",
    "pramble.datasets",
    "pramble.errors",
    "pramble.limits",
    "pramble_study.paper",
}
# What each area shows to the others; the rest of its modules are its own.
DOORS = {
    "app": "serve",
    "calibration": "calibration",
    "data": (
        "arrays bands crosstab decode encode formats.base formats.delimited formats.registry "
        "frames labels open places recode records remote repair save selection vocabulary"
    ),
    "engine": (
        "block files keystream lattice_noise measure perturb record sampling shuffle table_counts"
    ),
    "estimation": (
        "draws.impute draws.synthesize estimate functionals.ratios functionals.result "
        "records.channel_tables regression.families regression.result"
    ),
    "geography": "areas reading",
    "information": (
        "accuracy consistent distributions fisher kernels measures proportional structural_zeros"
    ),
    "ledger": "account book entries",
    "mechanisms": (
        "arcs base channel column_labels csv_form distance general geometric json_form "
        "measured operators.base operators.dense operators.uniform plan "
        "ratios table_plan uniform"
    ),
    "plots": "estimates images map mechanisms tradeoffs",
    "privacy": "central certificate gaussian largest_shift promise table_privacy unit",
    "releasing": (
        "folder.build folder.layout folder.open linkage prepare profile.columns "
        "profile.survey scan spec.document spec.settings "
        "source_labels spec.spec try_release value_sample write.data write.verify"
    ),
    "report": "outcome_text pages",
    "risk": "after assess cells readings",
    "solvers": (
        "budget design problem record.costs record.design_record record.problem "
        "result tables.choice tables.design_tables"
    ),
}
# Words that mean something only to whoever chose them; the field has its own.
RIDDLES = {
    *("anew", "apart", "besides", "dealt", "hushed", "kept", "law", "looks", "rivals"),
    *("settled", "steadiest", "strays", "told", "towards", "turned", "wishes", "worth"),
}


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


def test_the_channel_alone_walks_branches():
    walkers = [path for path in source_files() if re.search(r"\.branches\b", path.read_text())]
    assert len(walkers) <= MOST_BRANCH_WALKERS, walkers


def test_areas_are_entered_by_their_doors():
    graph = import_graph(PACKAGE)
    used = {
        other
        for module, imported in graph.items()
        for other in imported
        if other.split(".")[1] != module.split(".")[1] and other.count(".") > 1
    }
    doors = {f"pramble.{area}.{own}" for area, listed in DOORS.items() for own in listed.split()}
    assert used == doors


def folders_of(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Which folders the modules of each folder import from; a folder and those in it are one."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, imported in graph.items():
        own = module.rpartition(".")[0]
        for other in {name.rpartition(".")[0] for name in imported}:
            found[other] |= set()
            if not f"{own}.".startswith(f"{other}.") and not f"{other}.".startswith(f"{own}."):
                found[own].add(other)
    return found


def test_no_folders_import_each_other():
    assert not import_cycles(folders_of(import_graph(PACKAGE)))


def defined_names(path: Path):
    """Names of a module, its functions, classes, parameters and variables."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def words_in(name: str) -> set[str]:
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))


def test_no_name_is_a_riddle():
    riddles = {
        (str(path.relative_to(PACKAGE)), name)
        for path in source_files()
        for name in defined_names(path)
        if words_in(name) & RIDDLES
    }
    assert not riddles, sorted(riddles)


def imported_modules(path: Path, graph: set[str]):
    """Modules of pramble that a file imports, names of the package itself left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("pramble"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pramble"):
            yield node.module
            if node.module == "pramble":
                yield from {f"pramble.{alias.name}" for alias in node.names} & graph


def test_most_tests_use_public_names():
    graph = set(import_graph(PACKAGE))
    lines, public = 0, 0
    for path in (ROOT / "tests").rglob("*.py"):
        own = len(lines_of(path))
        inside = [m for m in imported_modules(path, graph) if not m.startswith("pramble_study")]
        lines += own
        public += own if set(inside) <= PUBLIC_DOORS else 0
    assert public / lines >= LEAST_PUBLIC_TESTS


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
    # A setting that a plan may state for all its columns is one row.
    assert sum(map(len, (OF_ALL, COLUMN, RISK, FILE))) <= MOST_SETTINGS
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
    [("release", 114, 14), ("design", 23, 9), ("estimate", 27, 7), ("assess", 18, 8)],
)
def test_a_walk_through_a_verb_is_short(verb, files, deep):
    """How many files of the package a call touches, and through how many it goes at the deepest."""
    done = subprocess.run(
        [sys.executable, "-c", WALK, verb], capture_output=True, text=True, check=True
    )
    touched, deepest = json.loads(done.stdout.splitlines()[-1])
    assert touched <= files
    assert deepest <= deep
