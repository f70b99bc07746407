"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def inline(writer, node):
    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def display(writer, node):
    formula = latex2mathml.tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx):
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(display, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
