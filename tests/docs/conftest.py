"""The built pages."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "docs" / "_build" / "html"
STAMP = ROOT / "docs" / "_build" / "fresh"
MADE = {"_build", "examples", "generated", "images", "__pycache__"}


def sources():
    """Every file that the pages are made from."""
    for folder in (ROOT / "docs", ROOT / "src" / "pramble"):
        for path in folder.rglob("*"):
            if (
                path.is_file()
                and path.suffix != ".ipynb"
                and MADE.isdisjoint(path.relative_to(folder).parts)
            ):
                yield path


@pytest.fixture(scope="session")
def pages():
    """The paths of all pages, which are built anew if anything that they are made from changed."""
    newest = max(path.stat().st_mtime for path in sources())
    if not STAMP.exists() or STAMP.stat().st_mtime < newest:
        for made in (HTML, ROOT / "docs" / "examples"):  # an old picture is not drawn anew
            shutil.rmtree(made, ignore_errors=True)
        command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", str(HTML)]
        built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        STAMP.touch()
    return [path for path in sorted(HTML.rglob("*.html")) if "_static" not in path.parts]
