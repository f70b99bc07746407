"""Goldens: ``pytest tests/contract --write-goldens`` writes them again."""

import pytest
from tests.contract.golden import compare


@pytest.fixture
def golden(request):
    """A function that compares a result with the golden of a name."""
    write = request.config.getoption("--write-goldens")
    return lambda name, found: compare(name, found, write=write)


@pytest.fixture(autouse=True)
def quick_releases():
    """Leave the searches of releases as users have them."""
