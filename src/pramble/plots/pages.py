"""The shell of a self-contained page: one file, no network, readable on a phone and on paper."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def style_sheet() -> str:
    """Return the style sheet that every page carries inside."""
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
