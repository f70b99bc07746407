"""Figures as SVG text and PNG bytes: the same figure gives the same bytes every time."""

from __future__ import annotations

import io
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidInput
from pramble.plots.fonts import families, is_foreign
from pramble.plots.style import house_style

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

PICTURES = (".svg", ".png", ".pdf")
FONTS = "'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif"
"""Fonts of SVG text: the one that was measured, then the ones that are as wide or narrower."""


@dataclass(frozen=True)
class Picture:
    """A named figure with its caption, and its content in words for those who cannot see it."""

    name: str
    caption: str
    description: str
    figure: Figure


def to_svg(figure: Figure, *, name: str, description: str) -> str:
    """Return a figure as one ``<svg>`` element that scales with its page.

    ``name`` is unique on the page: every id inside the image begins with it. ``description`` says
    what the figure shows, for those who cannot see it.
    """
    import matplotlib as mpl

    stream = io.StringIO()
    with house_style(), without_remarks(), mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return inline(stream.getvalue(), name=name, description=description)


@contextmanager
def without_remarks() -> Iterator[None]:
    """Draw without a warning of each character that no font of this machine has.

    In SVG texts stay texts, and the reader's browser finds a font.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def inline(document: str, *, name: str, description: str) -> str:
    """Turn a stand-alone SVG document into an element for a page."""
    element = document[document.index("<svg") :].strip()
    opening, rest = element.split(">", 1)
    view = re.search(r'viewBox="[^"]*"', opening)
    assert view, "matplotlib writes a viewBox"
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', rest)
    rest = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', rest)
    rest = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", rest)
    rest = rest.replace("'DejaVu Sans'", FONTS)
    words = escape(description, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{view.group()} role="img" aria-label="{words}" class="figure" width="100%">{rest}\n'
    )


def to_png(figure: Figure, *, dpi: int = 160) -> bytes:
    """Return a figure as a PNG image without date or version."""
    return drawn(figure, format="png", dpi=dpi, metadata={"Software": None})


def to_pdf(figure: Figure) -> bytes:
    """Return a figure as a PDF page without date or version."""
    nothing = dict.fromkeys(("CreationDate", "Creator", "Producer"))
    return drawn(figure, format="pdf", metadata=nothing)


def drawn(figure: Figure, **options: Any) -> bytes:
    """Return a figure as bytes, in fonts that have its characters."""
    from matplotlib.text import Text

    stream = io.BytesIO()
    for text in figure.findobj(Text):
        if is_foreign(text.get_text()):
            text.set_fontfamily(families())
    with house_style(), without_remarks():
        figure.savefig(stream, **options)
    return stream.getvalue()


def save(figure: Figure, path: Path, *, name: str, description: str) -> None:
    """Write a figure as PNG, SVG or PDF, by the ending of the file's name."""
    kind = path.suffix.lower()
    if kind == ".svg":
        path.write_text(to_svg(figure, name=name, description=description), encoding="utf-8")
    elif kind in PICTURES:
        path.write_bytes(to_png(figure) if kind == ".png" else to_pdf(figure))
    else:
        raise InvalidInput(f"A plot is a file {' or '.join(PICTURES)}; found {path.name!r}.")
