"""Fixtures for every test: where shared data lies, and when a missing tool may skip."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"

for profile, examples in {"pramble": 60, "fast": 8}.items():
    settings.register_profile(
        profile,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=examples,
    )
settings.load_profile("pramble")


def pytest_addoption(parser):
    parser.addoption(
        "--fast", action="store_true", help="few examples, and nothing that is long (long.txt)"
    )


def pytest_configure(config):
    if config.getoption("--fast"):
        settings.load_profile("fast")


def pytest_collection_modifyitems(config, items):
    if shutil.which("Rscript") is None and config.option.markexpr != "r":
        leave_out(config, items, lambda item: item.get_closest_marker("r") is not None)
    if not config.getoption("--fast"):
        return
    lines = (ROOT / "tests" / "long.txt").read_text(encoding="utf-8").splitlines()
    long = tuple(line for line in lines if not line.startswith("#"))

    def is_long(item):
        marks = {mark.name for mark in item.iter_markers()}
        return item.nodeid.startswith(long) or bool(marks & {"spark", "browser", "slow", "r"})

    leave_out(config, items, is_long)


def leave_out(config, items, is_left):
    """Deselect some tests."""
    config.hook.pytest_deselected(items=list(filter(is_left, items)))
    items[:] = [item for item in items if not is_left(item)]


@pytest.fixture(autouse=True)
def quick_releases(monkeypatch):
    """Search one second for the plan of a release: what plans are worth is tested elsewhere."""
    from pramble.releasing.prepare import advice, record_design, record_figures

    monkeypatch.setattr(record_design, "SECONDS", 1.0)
    monkeypatch.setattr(advice, "QUICK", 0.1)
    monkeypatch.setattr(record_figures, "COMPARED", 0.5)


@pytest.fixture
def shared_data():
    """A function from a file name to its path, which skips when the file is absent."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"needs {name} in ../shared/data, which a plain clone does not have")
        return path

    return find


@pytest.fixture
def tool():
    """A function from a program's name to its path; a missing one skips, but fails in CI."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            target = "test-r" if name == "Rscript" else "setup"
            message = f"needs the program {name!r}; `make {target}` installs it"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        return path

    return find
