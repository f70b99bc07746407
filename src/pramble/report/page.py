"""Self-contained HTML: a template, the style sheet inside, nothing fetched."""

from importlib.resources import files
from typing import Any


def render(template: str, view: dict[str, Any]) -> str:
    """Fill a template of this package; text is escaped, charts are trusted SVG."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(css=trusted(source("page.css")), **view)


def source(name: str) -> str:
    """Return the text of a file of ``templates/``."""
    return (files("pramble.report") / "templates" / name).read_text(encoding="utf-8")


def trusted(text: str) -> Any:
    """Mark text that this package made itself as safe to put in a page unescaped."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 (never user text)
