"""Figures as SVG text and PNG bytes, the same bytes every time, and the shell of pages with them.

A page is one file without network, readable on a phone and on paper.
"""

from __future__ import annotations

import io
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidInput
from pramble.plots.style import house_style
from pramble.words import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jinja2 import Environment
    from matplotlib.figure import Figure

PICTURES = (".svg", ".png", ".pdf")

HOUSE = "DejaVu Sans"
# Fonts of SVG text: the one that was measured, then the ones that are as wide or narrower.
FONTS = f"'{HOUSE}', Verdana, Helvetica, Arial, sans-serif"

# Fonts for scripts that the house font lacks; PNG and PDF take those that this machine has.
OTHERS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Source Han Sans", "IPAGothic", "IPAexGothic",
    "Hiragino Sans", "Yu Gothic", "Microsoft YaHei", "PingFang SC", "WenQuanYi Micro Hei",
    "Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Bengali", "Nirmala UI", "Arial Unicode MS",
)  # fmt: skip


@dataclass(frozen=True)
class Picture:
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
    with house_style(), _without_remarks(), mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return _as_element(stream.getvalue(), name=name, description=description)


def _as_element(document: str, *, name: str, description: str) -> str:
    element = document[document.index("<svg") :].strip()
    opening, rest = element.split(">", 1)
    view = re.search(r'viewBox="[^"]*"', opening)
    assert view, "matplotlib writes a viewBox"
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', rest)
    rest = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', rest)
    rest = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", rest)
    # A label must not steer the text around it: marks of direction are shown as their numbers.
    rest = visible(rest.replace(f"'{HOUSE}'", FONTS))
    words = escape(description, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{view.group()} role="img" aria-label="{words}" class="figure" width="100%">{rest}\n'
    )


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Draw without a warning of each character that no font of this machine has.

    In SVG texts stay texts, and the reader's browser finds a font.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


def to_png(figure: Figure, *, dpi: int = 160) -> bytes:
    return _to_bytes(figure, format="png", dpi=dpi, metadata={"Software": None})


def _to_bytes(figure: Figure, **options: Any) -> bytes:
    from matplotlib.text import Text

    stream = io.BytesIO()
    for text in figure.findobj(Text):
        if _is_foreign(text.get_text()):
            text.set_fontfamily(_families())
    with house_style(), _without_remarks():
        figure.savefig(stream, **options)
    return stream.getvalue()


@cache
def _families() -> list[str]:
    from matplotlib.font_manager import fontManager

    known = set(fontManager.get_font_names())
    return [HOUSE, *(name for name in OTHERS if name in known)]


@cache
def _house_letters() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(HOUSE)).get_charmap())


def _is_foreign(text: str) -> bool:
    """Whether the house font lacks some character of a text.

    >>> _is_foreign("Größe, α"), _is_foreign("東京")
    (False, True)
    """
    return any(ord(letter) not in _house_letters() for letter in text if letter.isprintable())


def save(figure: Figure, path: Path, *, name: str, description: str) -> None:
    kind = path.suffix.lower()
    if kind not in PICTURES:
        raise InvalidInput(f"A plot is a file {' or '.join(PICTURES)}; found {path.name!r}.")
    if kind == ".svg":
        path.write_text(to_svg(figure, name=name, description=description), encoding="utf-8")
    elif kind == ".png":
        path.write_bytes(to_png(figure))
    else:
        undated = dict.fromkeys(("CreationDate", "Creator", "Producer"))
        path.write_bytes(_to_bytes(figure, format="pdf", metadata=undated))


@cache
def style_sheet() -> str:
    return (files("pramble.plots") / "templates" / "page.css").read_text(encoding="utf-8")


@cache
def page_environment(package: str) -> Environment:
    """Return a jinja2 environment over ``package``/templates, with the shell beside it.

    A page begins with ``{% extends "page.html" %}`` and fills the blocks ``title``, ``header``,
    ``content`` and ``footer``. Everything is escaped unless marked safe; a name that is not given
    is an error.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("pramble.plots")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["style_sheet"] = style_sheet
    return environment
