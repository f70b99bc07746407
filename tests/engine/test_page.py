"""The page on randomising data: its examples run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.rst"


def test_the_examples_of_the_page_run():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    outcome = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert outcome.attempted > 5
    assert outcome.failed == 0
