"""Tutorials: pages whose commands and Python run when they are built, and notebooks of the same.

A page of ``docs/tutorials`` holds ``.. run:: sh`` and ``.. run:: python`` blocks. They run in
order, in an empty folder of the page, as the cells of a notebook would: what is printed stands
below a block, and so do the value of its last line and the figure that it shows. ``:hidden:``
blocks run and are not shown; they hold what must be so for the text to be right.
"""

import ast
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path
from typing import ClassVar

import matplotlib as mpl
import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib import pyplot as plt
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery.notebook import rst2md

from pramble.errors import PrambleWarning
from pramble.plots.style import RC

HEADINGS = {(None, "="): 1, (None, "-"): 2}
FOLDER = Path(__file__).parent.parent / "tutorials"
RUN = re.compile(r"^\.\. run:: (sh|python)\n((?:   :.*\n)*)\n((?:(?:   .*)?\n)+)", re.MULTILINE)
ROLE = re.compile(r":(?:doc|func|class|meth|download):`(?:([^`<]*?) <[^`]*>|~?([^`]*))`")


def parts(text):
    """The parts of a page in order: ("text" | "sh" | "python", content, options).

    >>> [kind for kind, _, _ in parts("First:\\n\\n.. run:: sh\\n\\n   ls\\n\\nThen.\\n")]
    ['text', 'sh', 'text']
    """
    found, end = [], 0
    for match in RUN.finditer(text):
        found.append(("text", text[end : match.start()].strip("\n"), ""))
        found.append((match[1], textwrap.dedent(match[3]).strip("\n"), match[2]))
        end = match.end()
    found.append(("text", text[end:].strip("\n"), ""))
    return [part for part in found if part[1]]


class Session:
    """A folder, an environment and a name space in which the blocks of one page run."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tutorial-"))
        self.names = {"__name__": "__main__"}

    def close(self):
        """Remove the folder."""
        shutil.rmtree(self.folder)

    def run(self, kind, code):
        """What a block printed, and the figure that it drew, or None."""
        with self.inside():
            return (self.shell(code), None) if kind == "sh" else self.python(code)

    @contextlib.contextmanager
    def inside(self):
        """In the folder, without the user's own ledger, printing lines of one width."""
        before, here = dict(os.environ), Path.cwd()
        os.environ.update(
            HOME=str(self.folder),
            XDG_DATA_HOME=str(self.folder / ".data"),
            COLUMNS="96",
            NO_COLOR="1",
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{before['PATH']}",
        )
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)

    def shell(self, code):
        done = subprocess.run(  # noqa: S603 - the pages are ours
            ["sh", "-e", "-c", code],  # noqa: S607
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{code}\n{done.stdout}")
        return done.stdout

    def python(self, code):
        tree, last, printed = ast.parse(code), None, io.StringIO()
        plt.close("all")  # what pages before this one have left open
        if isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        value = None
        style = mpl.rc_context({**RC, "text.parse_math": True})
        with contextlib.redirect_stdout(printed), warnings.catch_warnings(), style:
            warnings.simplefilter("ignore", PrambleWarning)
            warnings.filterwarnings("ignore", ".*non-interactive, and thus cannot be shown")
            exec(compile(tree, "tutorial", "exec"), self.names)  # noqa: S102
            if last is not None:
                value = eval(compile(last, "tutorial", "eval"), self.names)  # noqa: S307
        if value is not None:
            printed.write(f"{value!r}\n")
        drawn = [plt.figure(number) for number in plt.get_fignums()]
        plt.close("all")
        return printed.getvalue(), drawn[-1] if drawn else None


class Run(SphinxDirective):
    """``.. run:: sh`` or ``.. run:: python``: a block, and what came of it."""

    required_arguments = 1
    option_spec: ClassVar = {"hidden": directives.flag, "alt": directives.unchanged}
    has_content = True

    def run(self):
        kind, code = self.arguments[0], "\n".join(self.content)
        printed, figure = self.session().run(kind, code)
        if "hidden" in self.options:
            return []
        language = "console" if kind == "sh" else kind
        typed = prompted(code) if kind == "sh" else code
        shown = [nodes.literal_block(typed, typed, language=language)]
        if printed.strip():
            plain = printed.rstrip()
            shown.append(nodes.literal_block(plain, plain, language="text", classes=["printed"]))
        if figure is not None:
            shown.append(self.picture(figure))
        return shown

    def session(self):
        kept = self.env.temp_data
        if "session" not in kept:
            kept["session"] = Session()
        return kept["session"]

    def picture(self, figure):
        number = self.env.new_serialno("picture")
        name = f"{Path(self.env.docname).name}_{number}.png"
        folder = Path(self.env.srcdir) / "tutorials" / "images"
        folder.mkdir(exist_ok=True)
        with mpl.rc_context({"text.parse_math": True}):
            figure.savefig(folder / name, dpi=160)
        uri = f"/tutorials/images/{name}"
        return nodes.image(uri=uri, alt=self.options["alt"], classes=["tutorial-picture"])


def notebook(name, text):
    """The notebook of a page: prose as Markdown, commands behind an exclamation mark."""
    settings = {"notebook_images": False, "pypandoc": False}
    cells = []
    for kind, content, options in parts(text):
        if ":hidden:" in options:
            continue
        number = len(cells)
        if kind == "text":
            prose = ROLE.sub(lambda match: match[1] or match[2], content)
            prose = re.sub(r"^\.\. only:: .*\n\n(?:   .*\n?|\n)+", "", prose, flags=re.MULTILINE)
            cell = nbformat.v4.new_markdown_cell(rst2md(prose, settings, "", HEADINGS))
        else:
            code = content if kind == "python" else commands(content)
            cell = nbformat.v4.new_code_cell(code)
        cell["id"] = f"{name}-{number}"
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def prompted(code):
    """Shell commands as a terminal shows them.

    >>> print(prompted("ls\\npramble try \\\\\\n  people.csv"))
    $ ls
    $ pramble try \\
    >   people.csv
    """
    lines = code.splitlines()
    marks = [">" if line.endswith("\\") else "$" for line in ["", *lines[:-1]]]
    return "\n".join(f"{mark} {line}" for mark, line in zip(marks, lines, strict=True))


def commands(code):
    """Shell commands as a notebook has them: one to a line, each with its mark."""
    joined = re.sub(r"\\\n\s*", "", code)
    return "\n".join(f"!{line}" for line in joined.splitlines())


def write_notebooks(_app):
    """Write the notebook of every tutorial beside it, where it can be downloaded from."""
    for page in sorted(FOLDER.glob("*.rst")):
        text = nbformat.writes(notebook(page.stem, page.read_text(encoding="utf-8")))
        target = page.with_suffix(".ipynb")
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def close(app, _doctree):
    """Remove the folder of the page that was read."""
    session = app.env.temp_data.pop("session", None)
    if session is not None:
        session.close()


def setup(app):
    app.add_directive("run", Run)
    app.connect("builder-inited", write_notebooks)
    app.connect("doctree-read", close)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
