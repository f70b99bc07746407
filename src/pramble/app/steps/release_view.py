"""What a dry run has found, and what was released, as the desk shows it."""

from pathlib import Path

from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.parts import cards, notice, table, verdict_lines, worth_table
from pramble.app.tasks.release import Released
from pramble.information.accuracy import verdict_of
from pramble.outcome import ReleaseOutcome
from pramble.report.details import loss_sentence, plan_sentences, protected_sentences
from pramble.report.pages import SUMMARY
from pramble.report.pages import cards as figures_of
from pramble.words import visible

GONE = "This page is not where it was written: {path}."


def rehearsed(outcome: ReleaseOutcome) -> TagList:
    """Return what a dry run has found: promise, worth, risk, loss, size, time, every warning."""
    verdict = verdict_of(outcome.tables) if outcome.tables else None
    shown = [(one["value"], one["label"]) for one in figures_of(outcome, verdict)]
    shown = [(numbers.count(outcome.rows), "rows"), *shown]
    if outcome.data_bytes:
        shown.append((numbers.size(outcome.data_bytes), "of disk, about"))
    shown.append((f"{outcome.seconds:.1f} s", "of time, about"))
    sentences = [] if outcome.record is None else plan_sentences(outcome.record)
    if outcome.protected is not None:
        sentences = protected_sentences(outcome.protected)
    if outcome.record is not None:
        sentences.append(f"Prior: {outcome.record.prior_detail}")
        if outcome.record.loss is not None:
            sentences.append(loss_sentence(outcome.record.loss))
    return TagList(
        cards(shown),
        warnings_of(outcome),
        None if verdict is None else verdict_lines(verdict),
        *[tags.p(visible(sentence)) for sentence in sentences],
        worth_table(outcome.tables) if outcome.tables else None,
    )


def warnings_of(outcome: ReleaseOutcome) -> TagList:
    """Return every warning; that there is none is said too."""
    if not outcome.warnings:
        return TagList(tags.p("There are no warnings."))
    return TagList(*[notice("warning", visible(one)) for one in outcome.warnings])


def released(found: Released, *, onwards: TagChild) -> TagList:
    """Return where a release is, what is in it, and both its pages."""
    outcome = found.outcome
    rows = [[visible(name), numbers.size(size)] for name, size in found.files]
    summary = Path(found.folder) / SUMMARY
    return TagList(
        tags.h3("Released"),
        notice(
            "good",
            tags.p(tags.strong(visible(found.folder))),
            tags.p(
                f"{numbers.count(outcome.rows)} rows, in {outcome.seconds:.1f} s. This folder is "
                "what may be published, and all that an analyst needs."
            ),
        ),
        table(["file", "size"], rows, caption="What is in the folder"),
        tags.p(
            "The report beside it stays with you, for it holds figures of the confidential file: ",
            tags.code(visible(found.report)),
        ),
        tags.p(visible(found.ledger or "It was entered in no ledger.")),
        tags.ul(
            *[tags.li(f"Checked: {one.name}. {visible(one.detail)}") for one in outcome.checks]
        ),
        warnings_of(outcome),
        onwards,
        page_in_place("The summary, which may be published", summary, is_open=True),
        page_in_place("The report, for you alone", Path(found.report)),
    )


def page_in_place(title: str, path: Path, *, is_open: bool = False) -> Tag:
    """Return a page that was written, shown in a frame where nothing in it can run."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return notice("note", GONE.format(path=visible(str(path))))
    return tags.details(
        tags.summary(title),
        tags.iframe(class_="page", sandbox="", srcdoc=text, title=title),
        open="" if is_open else None,
    )
