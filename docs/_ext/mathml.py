"""Formulas as MathML, which browsers draw by themselves: no script, no network.

What they draw with is a mathematical font that the pages bring along, since few systems have one:
a part of STIX Two Math (fonts/OFL.txt). It lies inside a style sheet, because Firefox does not load
fonts from files beside a page that is itself a file.
"""

import base64
import re
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree as ET

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

FONT = Path(__file__).parent / "fonts" / "STIXTwoMath.woff2"

MACROS = {
    r"\iff": r"\Leftrightarrow",
    r"\implies": r"\Rightarrow",
    r"\dots": r"\ldots",
    "…": r"\ldots ",
    r"\textstyle": "",
    **{rf"\{size}{side}": "" for size in ("big", "Big", "bigg", "Bigg") for side in ("", *"lmr")},
}
"""What the converter lacks, and what stands for it."""

XML = "{http://www.w3.org/1998/Math/MathML}"
ET.register_namespace("", XML.strip("{}"))
MARKS, JOINER = tuple(".,;:)?"), "\u2060"
APPLY, ACCENTS = "\u2061", set("~^¯ˆ˜ˉ˙¨→")

BARE_FRACTION = re.compile(r"(\\[td]?frac)\s*(\d)\s*(\d|[a-zA-Z](?![a-zA-Z])|(?=[{\\]))")
BARE_SCRIPT = re.compile(r"([_^])(\d)(?=\d)")
CLOSE_NAME = re.compile(r"(?<=[\w})])\s*(\\(?:log|exp|tanh|operatorname)(?![a-zA-Z]))")


def readable(formula):
    """The formula in what the converter reads as TeX does: ``\\frac12`` is one half, not 12 over.

    >>> readable(r"\\tfrac12 x^10 \\Big(\\frac1{n}\\Big)")
    '\\\\tfrac{1}{2} x^{1}0 (\\\\frac{1}{n})'
    """
    for macro, meaning in MACROS.items():
        follows = r"(?![a-zA-Z])" if macro[-1].isalpha() else ""
        formula = re.sub(re.escape(macro) + follows, lambda _, m=meaning: m, formula)
    braced = BARE_FRACTION.sub(
        lambda m: f"{m[1]}{{{m[2]}}}{{{m[3]}}}" if m[3] else f"{m[1]}{{{m[2]}}}", formula
    )
    return CLOSE_NAME.sub(r"\\,\1", BARE_SCRIPT.sub(r"\1{\2}", braced))


def spaced(drawn):
    """The formula with TeX's spaces, sizes and accents where the converter's differ.

    A slash stands close; the name of a function stands apart from what follows; a norm
    or a set is not as tall as a sum inside; an accent stays on its letter beside a subscript.
    """
    tree = ET.fromstring(drawn.replace("&ApplyFunction;", APPLY))  # noqa: S314
    for parent in list(tree.iter()):
        for here, after in zip_longest(list(parent), list(parent)[1:]):
            if here.tag == f"{XML}munderover" and here[2].text in ACCENTS:
                base, below, accent = here
                here.tag, here[:] = (
                    f"{XML}msub",
                    [
                        ET.Element(f"{XML}mover", {"accent": "true"}),
                        below,
                    ],
                )
                here[0].extend([base, accent])
            elif here.text == "/":
                here.attrib |= {"lspace": "0", "rspace": "0"}
            elif here.text == "‖" or (here.text in {"{", "}"} and parent.tag != f"{XML}mrow"):
                here.set("stretchy", "false")
            elif here.text in {"min", "max"} and after is not None and after.text in {"(", "["}:
                here.attrib |= {"lspace": "0.17em", "rspace": "0"}
            elif here.text == APPLY and after is not None and after.text not in {"(", "["}:
                here.set("rspace", "0.17em")
    return ET.tostring(tree, encoding="unicode")


def mathml(node, *, as_block):
    formula = node.astext()
    try:
        return spaced(latex2mathml.tex2mathml(readable(formula), as_block=as_block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %s", error, formula, location=node)
        return formula


def inline(writer, node):
    """Write a formula in a line; a mark behind it is not torn from it."""
    after = node.next_node(descend=False, siblings=True, ascend=False)
    torn = isinstance(after, nodes.Text) and after.astext().startswith(MARKS)
    writer.body.append(mathml(node, as_block=False) + (JOINER if torn else ""))
    raise nodes.SkipNode


def display(writer, node):
    writer.body.append(f'<div class="math">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def write_font(app, _error):
    font = base64.b64encode(FONT.read_bytes()).decode()
    face = (
        '@font-face { font-family: "Pages Math"; font-display: block; '
        f'src: url("data:font/woff2;base64,{font}") format("woff2"); }}\n'
    )
    folder = Path(app.outdir) / "_static"
    if folder.is_dir():
        (folder / "math.css").write_text(face, encoding="utf-8")


def setup(app: Sphinx):
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(display, None)
    )
    app.add_css_file("math.css")
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
