"""The page that tells the story: every number on it comes from the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramble.plots.pages import page_environment
from pramble.studies import story

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pramble.studies.runner import Finished


def render(
    finished: tuple[Finished, ...], drawings: Mapping[str, str], *, quick: bool, seed: int
) -> str:
    """Return the page as one self-contained HTML document.

    A study that did not run leaves its section out.
    """
    from markupsafe import Markup

    environment = page_environment("pramble.studies")
    environment.filters.update(story.FILTERS)
    return environment.get_template("study.html").render(
        data={one.study.name: one.data for one in finished},
        config={one.study.name: one.config for one in finished},
        tables={table.name: table for one in finished for table in one.tables},
        pictures={picture.name: picture for one in finished for picture in one.pictures},
        drawings={name: Markup(svg) for name, svg in drawings.items()},  # noqa: S704 (our own SVG)
        story=story,
        quick=quick,
        seed=seed,
    )
