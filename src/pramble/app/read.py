"""Step 5: a release as its analyst sees it."""

from functools import partial

from shiny import Inputs, Outputs, Session, module, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.read_ask import QUESTIONS, serve_questions
from pramble.app.read_tasks import FolderFacts, look_into
from pramble.app.view import PageView, cards, notice, status, step_section, when
from pramble.app.wizard import Wizard
from pramble.errors import InvalidInput
from pramble.words import several, visible, visible_names


@module.ui
def read_ui() -> Tag:
    return step_section(
        "Read",
        "Read a release",
        "A release folder as those see it who get it: what it promises, and what can be "
        "estimated from it, with intervals. It is checked before it is read.",
        *("where", "state", "promised", "questions"),
    )


@module.server
def read_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard = view.wizard

    def choose() -> None:
        if not input.folder().strip():
            raise InvalidInput("Write the path of a release folder.")
        wizard.reading_folder = input.folder().strip()

    def begin() -> None:
        for name in ("read", *QUESTIONS):
            for of_folder in (wizard.found, wizard.works, wizard.then, view.refused):
                of_folder.pop(name, None)
        view.begin("read", look_into, wizard.reading_folder, worker=wizard.reader)
        view.changed(*QUESTIONS)

    view.fill("where", partial(folder_field, wizard), "read folder")
    when(input.open, lambda: view.attempt("read", choose, "read folder"))
    when(lambda: view.topic("read folder").get(), begin, at_first=False)
    view.fill("state", partial(status, view, "read"))
    view.fill("promised", partial(folder_facts, wizard), "read")
    serve_questions(input, session, view)


def folder_field(wizard: Wizard) -> TagList:
    label, width = "Path of a release folder", "min(100%, 46rem)"
    now, example = wizard.reading_folder, "people-release"
    return TagList(
        ui.input_text("folder", label, now, placeholder=example, width=width),
        ui.input_action_button("open", "Open", class_="btn-primary"),
    )


def folder_facts(wizard: Wizard) -> TagChild:
    """Return what a release promises and what it is good for."""
    facts: FolderFacts | None = wizard.found.get("read")
    if facts is None:
        return None
    done = "protected" if facts.tables else "randomised"
    untouched = visible(visible_names(facts.untouched))
    return TagList(
        tags.h3("What is promised", class_="mt-4"),
        cards(
            [
                (numbers.count(facts.rows), "records" if facts.tables else "rows"),
                *promise_cards(facts),
                (str(len(facts.randomised)), f"{done} columns"),
                (facts.created[:10], "made on"),
            ]
        ),
        *[
            tags.p(visible(sentence), class_="lead-in")
            for sentence in (
                f"{done.capitalize()}: {visible_names(facts.randomised)}.",
                *facts.sentences,
            )
        ],
        *[
            notice("warning" if said.startswith("Not ") else "note", visible(said))
            for said in facts.precision
        ],
        notice("warning", f"Released as they were, not protected: {untouched}.")
        if facts.untouched
        else None,
        sentence_list(f"The {several(len(facts.tables), 'protected table')}", facts.tables),
        sentence_list("What the manifest notes", facts.notes),
        sentence_list("What the promise against readers rests on", facts.assumes),
    )


def promise_cards(facts: FolderFacts) -> list[tuple[str, str]]:
    """Return α, or ε and δ with the α that holds before rows are shuffled."""
    alpha = numbers.alpha_text(facts.alpha)
    if facts.central is None:
        return [(f"α = {alpha}", "for each person, against everybody")]
    epsilon, delta = facts.central
    found = [(f"ε = {numbers.alpha_text(epsilon)}", f"against readers, δ = {numbers.tiny(delta)}")]
    if facts.tables:
        return found
    return [*found, (f"α = {alpha}", "against those who saw the rows unshuffled")]


def sentence_list(title: str, sentences: tuple[str, ...]) -> TagChild:
    if not sentences:
        return None
    points = [tags.li(visible(sentence)) for sentence in sentences]
    return tags.details(tags.summary(title), tags.ul(*points))
