"""The same data through every door gives the same answer, for every verb."""

from pathlib import Path

import pytest
from tests.laws.doors import FILES, FRAMES, VERBS, door

pytestmark = pytest.mark.xdist_group("doors")  # one worker makes what all need

DOCS = Path(__file__).resolve().parents[2] / "docs" / "data.rst"


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What each verb says of the table itself, once."""
    folder = tmp_path_factory.mktemp("answers")
    return {name: verb(door("pyarrow", folder), folder) for name, verb in VERBS.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("doors")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", [*FILES, *FRAMES])
def test_the_answer_does_not_depend_on_the_door(name, verb, answers, folder):
    assert VERBS[verb](door(name, folder), folder) == answers[verb]


def table_of_doors() -> str:
    """The table of the documentation: doors by verbs, ticked by the test above."""
    heads = [f"``{verb}``" for verb in VERBS]
    lines = [".. list-table::", "   :header-rows: 1", "   :class: compact", "", "   * - data"]
    lines += [f"     - {head}" for head in heads]
    for name in [*FILES, *FRAMES]:
        lines += [f"   * - {name}", *("     - ✓" for _ in VERBS)]
    return "\n".join(lines)


def test_the_documentation_shows_what_is_tested_here():
    assert table_of_doors() in DOCS.read_text(encoding="utf-8")
