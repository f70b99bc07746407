"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

MACROS = {
    r"\iff": r"\Leftrightarrow",
    r"\implies": r"\Rightarrow",
    r"\bigl": "",
    r"\bigr": "",
    r"\Bigl": "",
    r"\Bigr": "",
    r"\bigm": "",
}
"""Commands that the converter lacks, and what stands for them."""


def mathml(node, *, as_block):
    formula = node.astext()
    for macro, meaning in MACROS.items():
        formula = re.sub(re.escape(macro) + r"(?![a-zA-Z])", lambda _, m=meaning: m, formula)
    try:
        return latex2mathml.tex2mathml(formula, as_block=as_block)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %s", error, formula, location=node)
        return formula


def inline(writer, node):
    writer.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def display(writer, node):
    writer.body.append(f'<div class="math">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx):
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(display, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
