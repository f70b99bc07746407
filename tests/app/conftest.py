"""A desk that is served, and browsers to use it with."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMAND = "from pramble.cli import main; main()"
# Milliseconds: only a browser that hangs waits so long, however busy the machine.
WAIT = 240_000
"""Milliseconds that a test waits for the desk at most."""


@dataclass
class Served:
    """A desk that is served by a process of its own: its address, and the user's home folder."""

    address: str
    home: Path
    process: subprocess.Popen
    errors: Path


def serve(home):
    """Start ``pramble app`` as a user would, with a home folder and temporary files of its own."""
    temporary = home / "temporary"
    temporary.mkdir(parents=True)
    errors = home / "errors.txt"
    own = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "TMPDIR": str(temporary)}
    with errors.open("w") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "app", "--no-browser"],
            env={**os.environ, **own},
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
        )
    address = process.stdout.readline().strip()
    if not address.startswith("http://127.0.0.1:"):
        process.kill()
        process.wait()
        pytest.fail(errors.read_text())
    return Served(address, home, process, errors)


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """One desk server for all tests of a process; each test has a browser of its own."""
    found = serve(tmp_path_factory.mktemp("home"))
    yield found
    found.process.send_signal(signal.SIGINT)
    found.process.communicate(timeout=20)


@pytest.fixture
def small_file(served, request):
    """A file of the user in a folder of its own, whose columns declare their categories."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def declared(labels, every):
        codes = pa.array([row // every % len(labels) for row in range(2000)], pa.int8())
        return pa.DictionaryArray.from_arrays(codes, pa.array(labels), ordered=True)

    path = served.home / request.node.name / "small.parquet"
    path.parent.mkdir()
    columns = {"sex": declared(["f", "m"], 1), "age": declared(["young", "old"], 2)}
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def new_page(chromium):
    """A function that opens a page in a browser that has never seen the desk.

    What pages ask from elsewhere, and errors on their consoles, fail the test.
    """
    opened, wrong = [], []

    def open_page(width=1280, height=900, **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(WAIT)
        opened.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda m: wrong.append(f"{m.text} {m.location['url']}") if m.type == "error" else None,
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: None if is_own(r.url) else wrong.append(r.url))
        return page

    yield open_page
    for context in opened:
        context.close()
    assert not wrong


def is_own(url):
    """Whether an address is that of a desk, or no address at all."""
    return url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:", "about:"))


@pytest.fixture
def page(new_page, served):
    """A page with a fresh desk."""
    found = new_page()
    found.goto(served.address)
    found.get_by_role("heading", name="Which file?").wait_for()
    return found
