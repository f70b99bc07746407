"""The house rules that a machine can check."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pramble"
STUDY = ROOT / "src" / "pramble_study"

LAYERS = [
    {"cli"},
    {"app"},
    {"spark"},
    {"releasing", "datasets"},
    {"calibration", "report"},
    {"engine", "estimation", "risk"},
    {"solvers"},
    {"ledger"},
    {"outcome"},
    {"privacy", "information", "geography"},
    {"mechanisms"},
    {"data", "plots"},
    {"errors", "values", "limits", "compiled", "one_thread", "shown"},
    {"words", "numbers"},
]
RANK = {area: rank for rank, layer in enumerate(LAYERS) for area in layer}


def area_of(path: Path) -> str:
    """The folder or module right below the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def study_files() -> list[Path]:
    return sorted(STUDY.rglob("*.py"))


def imported_areas(path: Path):
    """Pairs (area, line) of every pramble area that a file imports, at any depth."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            modules = [node.module]
            if node.module == "pramble":
                modules = [f"pramble.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] == "pramble" and len(parts) > 1:
                yield parts[1], node.lineno


def test_layers_name_every_area():
    areas = {area_of(path) for path in source_files()} - {"__init__", "__main__"}
    assert areas <= set(RANK)


@pytest.mark.parametrize("path", source_files(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    area = area_of(path)
    if area in {"__init__", "__main__"}:
        return
    for target, line in imported_areas(path):
        if target in {area, "__version__"}:
            continue
        assert target in RANK, f"{path}:{line} imports pramble.{target}, which is no area"
        assert RANK[target] > RANK[area], f"{path}:{line}: {area} may not import {target}"


def statements(node: ast.AST):
    """Every node below this one, but nothing that only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from statements(other)
        else:
            yield child
            yield from statements(child)


def imported_names(path: Path):
    """Dotted names that a file imports, also inside functions; a name may be a module's own."""
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def import_graph(package: Path) -> dict[str, set[str]]:
    """For every module of a package but its top, the modules of the package that it imports."""
    files = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts): path
        for path in sorted(package.rglob("*.py"))
    }
    modules = {name.removesuffix(".__init__"): path for name, path in files.items()}
    del modules[package.name]

    def module_of(name: str) -> str:
        return name if name in modules else name.rpartition(".")[0]

    return {
        module: {module_of(name) for name in imported_names(path)} & set(modules)
        for module, path in modules.items()
    }


def import_cycles(graph: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """The sets of modules that import each other, directly or by way of others."""

    def reached(start: str) -> set[str]:
        seen, waiting = set(), [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    reach = {module: reached(module) for module in graph}
    return {
        tuple(sorted(other for other in reach[module] if module in reach[other]))
        for module in graph
        if module in reach[module]
    }


@pytest.mark.parametrize("package", [PACKAGE, STUDY], ids=lambda p: p.name)
def test_no_modules_import_each_other(package):
    assert not import_cycles(import_graph(package))


def test_only_the_command_line_knows_of_the_study():
    own = [path for path in source_files() if "pramble_study" in path.read_text(encoding="utf-8")]
    assert own == [PACKAGE / "cli" / "study.py"]


def test_the_cycle_rule_would_catch_a_cycle(tmp_path):
    package = tmp_path / "house"
    package.mkdir()
    for name, text in {
        "__init__": "from house import hall",
        "hall": "from house.room import bed",
        "room": "def bed():\n    from house import attic",
        "attic": "import house.hall",
        "cellar": "if TYPE_CHECKING:\n    from house.stairs import step",
        "stairs": "from house.cellar import wine",
    }.items():
        (package / f"{name}.py").write_text(text)
    graph = import_graph(package)
    assert graph["house.stairs"] == {"house.cellar"}
    assert import_cycles(graph) == {("house.attic", "house.hall", "house.room")}


def test_no_folder_shares_its_name_with_a_public_function():
    import pramble

    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    public_callables = {name for name in pramble.__all__ if callable(getattr(pramble, name))}
    assert not folders & public_callables


@pytest.mark.parametrize(
    "path", source_files() + study_files(), ids=lambda p: str(p.relative_to(ROOT / "src"))
)
def test_source_files_stay_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


def test_area_packages_export_nothing():
    for path in PACKAGE.glob("*/__init__.py"):
        if path.parent.name == "cli":
            continue
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert len(body) == 1, f"{path} holds more than a docstring"


def test_nothing_is_named_utils():
    assert not [path for path in PACKAGE.rglob("*") if "util" in path.name or "helper" in path.name]


def test_no_module_seeds_the_global_generator():
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        assert "np.random.seed" not in text, path
        assert not re.search(r"^\s*(import random\b|from random import)", text, re.MULTILINE), path


def comparison_statements(path: Path):
    """Line numbers of comparisons whose result is thrown away."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Expr):
            continue
        value = node.value
        if isinstance(value, ast.Compare | ast.BoolOp):
            yield node.lineno
        elif isinstance(value, ast.Call):
            name = ast.unparse(value.func).split(".")[-1]
            if name in {"allclose", "isclose", "array_equal", "equals", "satisfies", "all", "any"}:
                yield node.lineno


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_comparison_in_tests_is_asserted(path):
    assert not list(comparison_statements(path))


def test_the_comparison_rule_would_catch_a_loose_comparison(tmp_path):
    loose = tmp_path / "loose.py"
    loose.write_text("x = 1\nx == 2\nnp.allclose(x, 2)\nassert x == 1\n")
    assert list(comparison_statements(loose)) == [2, 3]


@pytest.mark.parametrize("name", ["long.txt", "slow.txt"])
def test_what_a_run_of_the_tests_leaves_out_exists(name):
    lines = (ROOT / "tests" / name).read_text(encoding="utf-8").splitlines()
    for line in lines:
        path, _, case = line.partition("::")
        test = case.partition("[")[0]
        if not line.startswith("#"):
            assert (ROOT / path).exists(), line
            assert not test or f"def {test}" in (ROOT / path).read_text(encoding="utf-8"), line


def test_the_layer_list_is_ordered_from_top_to_bottom():
    assert all(not upper & lower for upper, lower in pairwise(LAYERS))
