"""Step 5: a release as its analyst sees it."""

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.read_ask import serve_questions
from pramble.app.read_tasks import FolderFacts, look_into
from pramble.app.view import View, cards, notice, refused, work_line
from pramble.errors import InvalidInput
from pramble.words import several, visible, visible_names

# What is found out about a folder, and forgotten with it.
ANSWERS = ("read", "read table", "read regression", "read truth")


@module.ui
def read_ui() -> Tag:
    return tags.section(
        tags.h2("Read a release"),
        tags.p(
            "A release folder as those see it who get it: what it promises, and what can be "
            "estimated from it, with intervals. It is checked before it is read.",
            class_="lead-in",
        ),
        ui.output_ui("where"),
        ui.output_ui("state"),
        ui.output_ui("promised"),
        ui.output_ui("questions"),
        aria_label="Read",
    )


@module.server
def read_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    wizard = view.wizard

    @render.ui
    def where() -> TagChild:
        view.watch("read folder")
        return TagList(
            ui.input_text(
                "folder",
                "Path of a release folder",
                wizard.reading_folder,
                placeholder="people-release",
                width="min(100%, 46rem)",
            ),
            ui.input_action_button("open", "Open", class_="btn-primary"),
        )

    @reactive.effect
    @reactive.event(input.open)
    def _() -> None:
        def change() -> None:
            if not input.folder().strip():
                raise InvalidInput("Write the path of a release folder.")
            wizard.reading_folder = input.folder().strip()

        view.attempt("which folder", change, "read folder")

    @reactive.effect
    @reactive.event(lambda: view.topic("read folder").get(), ignore_init=True)
    def _() -> None:
        for name in ANSWERS:
            wizard.found.pop(name, None)
            wizard.works.pop(name, None)
            wizard.then.pop(name, None)
            view.refused.pop(f"ask {name}", None)
        folder = wizard.reading_folder
        view.begin("read", look_into, folder, worker=wizard.reader, progress=True)
        view.changed(*ANSWERS)

    @render.ui
    def state() -> TagChild:
        stop = ui.input_action_button("stop", "Stop", class_="btn-sm")
        return TagList(refused(view, "which folder"), work_line(view, "read", stop=stop))

    @reactive.effect
    @reactive.event(input.stop)
    def _() -> None:
        wizard.reader.stop()
        view.changed("work")

    @render.ui
    def promised() -> TagChild:
        view.watch("read")
        facts = wizard.found.get("read")
        return None if facts is None else promise_of(facts)

    serve_questions(input, view)


def promise_of(facts: FolderFacts) -> TagChild:
    """Return what a release promises and what it is good for."""
    done = "protected" if facts.tables else "randomised"
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
        tags.p(
            f"{done.capitalize()}: {visible(visible_names(facts.randomised))}.", class_="lead-in"
        ),
        *[tags.p(visible(sentence), class_="lead-in") for sentence in facts.sentences],
        *[
            notice("warning" if said.startswith("Not ") else "note", visible(said))
            for said in facts.worth
        ],
        notice(
            "warning",
            f"Released as they were, not protected: {visible(visible_names(facts.untouched))}.",
        )
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
        return [(f"α = {alpha}", "for each person, whoever looks")]
    epsilon, delta = facts.central
    found = [(f"ε = {numbers.alpha_text(epsilon)}", f"against readers, δ = {numbers.tiny(delta)}")]
    if facts.tables:
        return found
    return [*found, (f"α = {alpha}", "against whoever saw the rows unshuffled")]


def sentence_list(title: str, sentences: tuple[str, ...]) -> TagChild:
    if not sentences:
        return None
    points = [tags.li(visible(sentence)) for sentence in sentences]
    return tags.details(tags.summary(title), tags.ul(*points))
