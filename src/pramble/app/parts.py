"""Pieces of the page that several steps show: notices, tables, figures, progress."""

from collections.abc import Sequence

from shiny import ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.view import View
from pramble.app.worker import Work
from pramble.information.accuracy import TableOutcome, Verdict, worst_first
from pramble.report.pages import table_row
from pramble.words import time_left, visible

MARKS = {"note": "ℹ", "warning": "⚠", "error": "✕", "good": "✓"}
MOST_TABLES = 20
WORDS = {"note": "Note", "warning": "Warning", "error": "Error", "good": "Done"}


def notice(kind: str, *said: TagChild) -> Tag:
    """Return a sentence that stands out: a "note", "warning", "error" or what went "good"."""
    role = {"error": "alert"}.get(kind, "status")
    mark = tags.span(MARKS[kind], class_="sign", aria_hidden="true")
    word = tags.span(f"{WORDS[kind]}: ", class_="visually-hidden")
    return tags.div(mark, tags.div(word, *said), class_=f"notice {kind}", role=role)


def refusal_lines(message: str) -> list[Tag]:
    """Return a message that may have several lines."""
    return [tags.p(visible(line)) for line in message.splitlines() if line.strip()]


def refusal(message: str, values: str = "") -> Tag:
    """Return why something was refused, line by line; values are shown if asked for."""
    lines = refusal_lines(message)
    if not values:
        return notice("error", *lines)
    shown = tags.details(
        tags.summary("Show the values of the data that this is about"), tags.pre(values)
    )
    return notice("error", *lines, shown)


def refused(view: View, place: str) -> TagChild:
    """Return what refused the last change in a place, if anything did."""
    view.watch(place)
    error = view.refused.get(place)
    return None if error is None else refusal(str(error), error.values)


def table(
    head: Sequence[TagChild],
    rows: Sequence[Sequence[TagChild]],
    *,
    caption: str = "",
    left: Sequence[int] = (0,),
) -> Tag:
    """Return a table; columns are of figures, but for those on the ``left``."""

    def side(place: int) -> str:
        return "text-start" if place in left else "text-end"

    return tags.div(
        tags.table(
            tags.caption(caption) if caption else None,
            tags.thead(
                tags.tr(*[tags.th(one, scope="col", class_=side(i)) for i, one in enumerate(head)])
            ),
            tags.tbody(
                *[
                    tags.tr(*[tags.td(one, class_=side(i)) for i, one in enumerate(row)])
                    for row in rows
                ]
            ),
            class_="table table-sm",
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption or "table",
    )


def figure(svg: str, caption: str = "") -> Tag:
    """Return a drawn figure with its caption; in a narrow window it scrolls, by keyboard too."""
    shown = tags.figcaption(caption) if caption else None
    return tags.figure(ui.HTML(svg), shown, class_="figure-box", tabindex="0")


def cards(shown: Sequence[tuple[str, str]]) -> Tag:
    """Return figures that matter, each with what it is."""
    return tags.dl(
        *[
            tags.div(tags.dd(figure), tags.dt(label), class_="figure-card")
            for figure, label in shown
        ],
        class_="figure-cards",
    )


def worth_table(tables: Sequence[TableOutcome]) -> Tag:
    """Return what tables will be worth, the worst first; those that are noise are called so."""
    shown = worst_first(tables)[:MOST_TABLES]
    more, noisy = len(tables) - len(shown), any(one.noise == one.noise for one in tables)
    rows = [(one, table_row(one)) for one in shown]
    return table(
        [
            "table",
            *(["noise, people a cell"] if noisy else []),
            "95 % interval of a typical cell",
            "typical cell",
            "cells",
            "smallest group",
        ],
        [
            [
                visible(row["name"]),
                *([f"± {numbers.few_digits(one.noise)}"] if noisy else []),
                row["error"],
                row["typical"],
                row["cells"],
                tags.strong("noise") if row["bad"] else row["group"],
            ]
            for one, row in rows
        ],
        caption="Widest for their cells first" + (f"; {more} more, narrower" if more else ""),
    )


def verdict_lines(verdict: Verdict) -> TagList:
    """Return what a release is good for, and what not."""
    good = verdict.good or "Nothing useful is left."
    return TagList(
        tags.p(visible(good)),
        tags.p(tags.strong(visible(verdict.bad))) if verdict.bad else None,
    )


def progress(work: Work) -> Tag:
    """Return how far a piece of work is."""
    told = work.progress
    share = round(100 * told.share)
    left = time_left(told.seconds_left)
    bar = tags.progress(value=str(share), max="100", aria_label=f"{told.what}, share done")
    return tags.div(bar, tags.span(f"{told.what} … {left}", class_="doing"), class_="progress-line")


def work_line(view: View, name: str, *, stop: TagChild = None) -> TagChild:
    """Return what there is to say of some work: how far it is, or why it failed."""
    view.watch(name)
    work = view.desk.works.get(name)
    if work is None or work.state == "done":
        return None
    if work.is_running:
        view.watch("progress")
        return TagList(progress(work), stop)
    if work.state == "stopped":
        return notice("note", "Stopped; nothing was changed.")
    return refusal(work.error, work.values)
