"""Fixtures for every test: where shared data lies, and when a missing tool may skip."""

import os
import shutil
from html import escape
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

NUMBERS = count()
ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
"""What keeps a browser from asking anything by itself."""

for profile, examples in {"pramble": 50, "fast": 8}.items():
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
    parser.addoption(
        "--write-goldens", action="store_true", help="write the goldens of tests/contract again"
    )


def pytest_configure(config):
    if config.getoption("--fast"):
        settings.load_profile("fast")


def listed(name):
    """The beginnings of names of tests in a list beside this file."""
    lines = (ROOT / "tests" / name).read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if not line.startswith("#"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    slow = listed("slow.txt")
    for item in items:
        if item.nodeid.startswith(slow):
            item.add_marker(pytest.mark.slow)
    if shutil.which("Rscript") is None and config.option.markexpr != "r":
        leave_out(config, items, lambda item: item.get_closest_marker("r") is not None)
    if not config.getoption("--fast"):
        return
    long = listed("long.txt")

    def is_long(item):
        marks = {mark.name for mark in item.iter_markers()}
        return item.nodeid.startswith(long) or bool(marks & {"spark", "browser", "slow", "r"})

    leave_out(config, items, is_long)


def leave_out(config, items, is_left):
    """Deselect some tests."""
    config.hook.pytest_deselected(items=list(filter(is_left, items)))
    items[:] = [item for item in items if not is_left(item)]


@pytest.fixture(scope="session", autouse=True)
def no_ledger_of_the_user(tmp_path_factory):
    """No test reads or writes the ledger of whoever runs it; fixtures of modules share one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("xdg")))
        patch.delenv("PRAMBLE_LEDGER", raising=False)
        yield


@pytest.fixture(autouse=True)
def ledger_of_the_test(no_ledger_of_the_user, monkeypatch):
    """Each test begins without a ledger of its own: what others released is not its business."""
    monkeypatch.setenv("XDG_DATA_HOME", f"{os.environ['XDG_DATA_HOME']}/{next(NUMBERS)}")


UNDRAWN = ("attacks", "calibration", "contract", "estimation", "laws", "ledger", "releasing")
"""Areas whose tests look at releases and not at the pictures on their pages."""


@pytest.fixture(autouse=True)
def no_pictures(request, monkeypatch):
    """Leave the pictures of pages undrawn, which takes most of the time of a small release.

    They are looked at in tests/report, and where a test is marked ``pictures``.
    """
    area = request.path.relative_to(ROOT).parts[1:2]
    if area and area[0] in UNDRAWN and request.node.get_closest_marker("pictures") is None:
        from pramble.report import pages

        monkeypatch.setattr(pages, "to_svg", undrawn)


def undrawn(figure, *, name, description):
    """An empty picture in the place of a drawn one."""
    return f'<svg id="{name}" role="img" aria-label="{escape(description)}"></svg>'


@pytest.fixture(autouse=True)
def quick_releases(monkeypatch):
    """Search a moment for the plan of a release: what plans are worth is tested elsewhere."""
    import pramble.releasing.record_design as record_design

    monkeypatch.setattr(record_design, "EFFORT", 0.25)


@pytest.fixture
def shared_data():
    """A function from a file name to its path, which skips when the file is absent."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"needs {name} in ../shared/data, which a plain clone does not have")
        return path

    return find


@pytest.fixture(scope="session")
def chromium(tool):
    """A real browser, one for all tests of a process, which can have only one driver."""
    from playwright.sync_api import sync_playwright

    program = tool("chromium")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
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
