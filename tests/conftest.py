"""Fixtures for every test: where shared data lies, and when a missing tool may skip."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"

settings.register_profile(
    "pramble", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("pramble")


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
            message = f"needs the program {name!r}; `make setup` installs it"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        return path

    return find
