"""The tutorials run from the first block to the last, and their notebooks hold the same."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

tutorials = pytest.importorskip("tutorials", reason="needs the packages of the pages")

PAGES = sorted((DOCS / "tutorials").glob("*.rst"))


@pytest.fixture
def session():
    begun = tutorials.Session()
    yield begun
    begun.close()


def test_there_is_a_page_for_curators_and_one_for_analysts():
    assert [page.stem for page in PAGES] == ["analyst", "curator"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", [*PAGES, DOCS / "index.rst"], ids=lambda page: page.stem)
def test_every_block_runs_and_what_the_text_says_of_it_is_so(page, session):
    for kind, code, _ in tutorials.parts(page.read_text(encoding="utf-8")):
        if kind != "text":
            session.run(kind, code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_found_where_the_page_has_one(page):
    text = page.read_text(encoding="utf-8")
    kinds = [kind for kind, _, _ in tutorials.parts(text)]
    assert len(kinds) - kinds.count("text") == text.count(".. run::")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_every_shown_block_in_order_and_no_markup_of_pages(page):
    import nbformat

    text = page.read_text(encoding="utf-8")
    book = tutorials.notebook(page.stem, text)
    nbformat.validate(book)
    shown = [
        code if kind == "python" else tutorials.commands(code)
        for kind, code, options in tutorials.parts(text)
        if kind != "text" and ":hidden:" not in options
    ]
    assert [cell.source for cell in book.cells if cell.cell_type == "code"] == shown
    prose = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    assert prose.startswith("# ")
    assert not any(mark in prose for mark in (".. ", ":doc:", ":func:", ":sup:", "====", "----"))


def test_a_block_shows_what_it_prints_and_the_value_of_its_last_line(session):
    assert session.run("python", "x = 2\nprint('printed')\nx + 1") == ("printed\n3\n", None)
    assert session.run("sh", "echo told >&2; echo said > file; cat file") == ("told\nsaid\n", None)
    assert session.run("python", "from pathlib import Path\nPath('file').read_text()") == (
        "'said\\n'\n",
        None,
    )


def test_a_block_shows_the_figure_that_it_draws_once(session):
    drawing = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    printed, figure = session.run("python", drawing)
    assert printed == ""
    assert figure.axes
    assert session.run("python", "x = 1") == ("", None)


def test_a_command_that_fails_fails_the_page(session):
    with pytest.raises(RuntimeError, match="no-such-command"):
        session.run("sh", "no-such-command")


def test_commands_of_a_page_have_a_prompt_and_lines_that_go_on_another():
    assert tutorials.prompted("ls\npramble try \\\n  people.csv\nls") == (
        "$ ls\n$ pramble try \\\n>   people.csv\n$ ls"
    )


def test_commands_of_a_notebook_stand_on_one_line_each():
    assert tutorials.commands("ls\npramble try people.csv \\\n  --alpha 1") == (
        "!ls\n!pramble try people.csv --alpha 1"
    )
