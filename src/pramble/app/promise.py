"""Step 3: what is promised, what an intruder can learn, and what readers will get."""

import json
from dataclasses import dataclass, field
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import trials
from pramble.app.tasks import try_promise
from pramble.app.trials import curve_figure, figures_of, plan_figure
from pramble.app.view import (
    Controls,
    View,
    notice,
    refusal,
    refused,
    selection,
    text_input,
    tick,
    under_label,
    when,
)
from pramble.app.wizard import FIRST, Wizard
from pramble.releasing.compare import PEEK
from pramble.words import visible

# Seconds after the figures in numbers in which pictures are begun.
AFTER = 0.05

KINDS = {
    "local": (
        "Local α",
        "holds against everybody, also who handles the file; readers get randomised records",
    ),
    "central": (
        "Central ε and δ, by protected tables",
        "holds against readers, who get complete records to count and tables to estimate from",
    ),
    "shuffled": (
        "Central ε and δ, by records in random order",
        "holds against readers, who get a randomised record for each true one",
    ),
}


@module.ui
def promise_ui() -> Tag:
    return tags.section(
        tags.h2("How much privacy?"),
        tags.p(
            "Choose what people are promised, and see what an intruder could learn and what "
            "readers would get. Nothing is randomised and nothing is written here.",
            class_="lead-in",
        ),
        ui.output_ui("kinds"),
        ui.output_ui("slider"),
        ui.output_ui("exact"),
        ui.output_ui("state"),
        ui.output_ui("figures"),
        ui.output_ui("pictures"),
        ui.output_ui("below"),
        aria_label="Promise",
    )


@module.server
def promise_server(input: Inputs, output: Outputs, session: Session, view: View) -> None:
    wizard = view.wizard
    choice = Choice(
        Controls(
            view,
            kinds=lambda: (chosen_promise(wizard)[:1], trials.central_refused(wizard)),
            slider=lambda: chosen_promise(wizard)[:2],
            exact=lambda: chosen_promise(wizard),
        )
    )
    show_choice(session, view, choice)
    take_choice(input, view, choice)
    serve_trials(input, view)
    show_trials(view)
    serve_pictures(view)

    @render.ui
    def figures() -> TagChild:
        view.watch("trial", "plan", "source", "trying")
        return figures_of(wizard) if trials.is_ready(wizard) else None

    @render.ui
    def below() -> TagChild:
        view.watch("source")
        if not trials.is_ready(wizard):
            return None
        onwards = ui.input_action_button("onwards", "Go on: release", class_="btn-primary")
        return TagList(notice("note", PEEK), onwards)

    when(input.onwards, lambda: view.go("release"))


@dataclass
class Choice:
    """The controls of a promise, and the promises that the slider shows."""

    controls: Controls
    shown: list[float] = field(default_factory=list)

    def take(self, view: View, control: str, kind: str, promise: float) -> None:
        """Promise what a control says."""
        view.wizard.promise_to(kind, promise)
        self.controls.used(control)
        view.changed("plan")


def chosen_promise(wizard: Wizard) -> tuple[Any, ...]:
    """Return the promise that stands: its kind, its number and δ."""
    if not trials.is_ready(wizard):
        return ()
    return wizard.kind, wizard.promise, trials.delta_of(wizard)


def show_choice(session: Session, view: View, choice: Choice) -> None:
    """Show whom the promise is to, the slider and the exact number."""
    wizard, controls = view.wizard, choice.controls

    @render.ui
    def kinds() -> TagChild:
        controls.watch("kinds")
        if not trials.is_ready(wizard):
            return nothing_yet(no_file=wizard.survey is None)
        why_not = trials.central_refused(wizard)
        choices = [kind_choice(session, kind, wizard.kind, why_not) for kind in KINDS]
        mend = ui.input_action_button("mend", "Go to the columns", class_="btn-sm")
        return TagList(
            tags.fieldset(tags.legend("To whom?", class_="fs-6"), *choices),
            notice("note", tags.p(visible(why_not)), mend) if why_not else None,
        )

    @render.ui
    def slider() -> TagChild:
        controls.watch("slider")
        if not trials.is_ready(wizard):
            return None
        choice.shown = trials.notches(wizard)
        return slider_of(
            session, wizard.kind, choice.shown, wizard.promise, trials.delta_of(wizard)
        )

    @render.ui
    def exact() -> TagChild:
        controls.watch("exact")
        if not trials.is_ready(wizard):
            return None
        return tags.div(
            exact_field(session, wizard.kind, wizard.promise),
            None if wizard.kind == "local" else delta_field(session, trials.delta_of(wizard)),
            class_="fields",
        )


def take_choice(input: Inputs, view: View, choice: Choice) -> None:
    """Promise what is chosen."""
    wizard = view.wizard

    @reactive.effect
    @reactive.event(input.kind)
    def _() -> None:
        kind = str(input.kind())
        if kind in KINDS and kind != wizard.kind:
            wizard.delta = trials.delta_of(wizard)
            before = wizard.found.setdefault("promised", {})
            before[wizard.kind] = wizard.promise
            choice.take(view, "kinds", kind, before.get(kind, FIRST[kind]))

    @reactive.effect
    @reactive.event(input.notch)
    def _() -> None:
        place = int(input.notch())
        if 0 <= place < len(choice.shown):
            choice.take(view, "slider", wizard.kind, choice.shown[place])

    @reactive.effect
    @reactive.event(input.number)
    def _() -> None:
        def change() -> None:
            promise = trials.promise_in(wizard.kind, input.number())
            choice.take(view, "exact", wizard.kind, promise)

        view.attempt("promise", change)

    @reactive.effect
    @reactive.event(input.delta)
    def _() -> None:
        wizard.delta = float(input.delta())
        choice.take(view, "exact", wizard.kind, wizard.promise)

    when(input.mend, lambda: view.go("columns"))


def serve_trials(input: Inputs, view: View) -> None:
    """Try the promises of the slider one after another, while this step is shown."""
    wizard = view.wizard

    @reactive.effect
    def _() -> None:
        view.watch("trial", "plan", "source", "shown", "trying")
        is_idle = wizard.step != "promise" or not wizard.found.get("trying", True)
        if is_idle or "trial" in wizard.then or not trials.is_ready(wizard):
            return
        following = trials.next_trial(wizard)
        has_failed = trials.has_failed(wizard, wizard.kind)
        if has_failed or following is None or wizard.source is None:
            return
        kind, promise = following
        key = trials.key_of(wizard, kind, promise)
        wizard.found["tried last"] = key[:-1]
        view.begin(
            "trial", try_promise, wizard.ground, wizard.source.path, wizard.plan_for(kind), kind,
            promise, trials.delta_of(wizard), worker=wizard.trier, progress=True,
            then=lambda tried: trials.keep(wizard, key, tried),
        )  # fmt: skip

    @reactive.effect
    @reactive.event(input.stop)
    def _() -> None:
        wizard.found["trying"] = False
        wizard.trier.stop()
        view.changed("work", "trying")

    @reactive.effect
    @reactive.event(input.go_on)
    def _() -> None:
        wizard.found["trying"], wizard.found["tried last"] = True, None
        view.changed("trying")


def show_trials(view: View) -> None:
    """Show how many promises have been tried, and why one was refused."""
    wizard = view.wizard

    @render.ui
    def state() -> TagChild:
        view.watch("trial", "plan", "source", "trying")
        said = refused(view, "promise")
        if not trials.is_ready(wizard):
            return said
        go_on = ui.input_action_button("go_on", "Go on", class_="btn-sm")
        if trials.has_failed(wizard, wizard.kind):
            work = wizard.works["trial"]
            return TagList(said, refusal(work.error, work.values), go_on)
        done, left = len(trials.known(wizard, wizard.kind)), len(trials.waiting(wizard))
        if not left:
            return said
        is_on = wizard.found.get("trying", True)
        words = f"{done} of {done + left} promises computed" + ("" if is_on else "; stopped")
        line = tags.div(
            tags.progress(value=str(done), max=str(done + left), aria_label="promises computed"),
            tags.span(words, class_="doing", role="status"),
            ui.input_action_button("stop", "Stop", class_="btn-sm") if is_on else go_on,
            class_="progress-line",
        )
        return TagList(said, line)


def serve_pictures(view: View) -> None:
    """Show what is known as pictures, after all the rest: they take longer to draw."""
    wizard = view.wizard
    drawn: dict[str, Any] = {}

    @reactive.effect
    def _() -> None:
        view.watch("trial", "plan", "source")
        known = (tuple(trials.known(wizard, kind)) for kind in KINDS)
        now = (chosen_promise(wizard), *known, wizard.ground)
        if now != drawn.get("next"):
            drawn["next"] = now
            reactive.invalidate_later(AFTER)
        elif now != drawn.get("last"):
            drawn["last"] = now
            view.changed("pictures")

    @render.ui
    def pictures() -> TagChild:
        view.watch("pictures")
        if not trials.is_ready(wizard):
            return None
        tried = trials.known(wizard, wizard.kind).get(wizard.promise)
        every = [one.candidate for kind in KINDS for one in trials.known(wizard, kind).values()]
        now = None if tried is None else tried.candidate
        return tags.div(
            curve_figure(every, now) if every else None,
            None if tried is None else plan_figure(tried),
            class_="pictures",
        )


def nothing_yet(*, no_file: bool) -> Tag:
    """Say what is missing before a promise can be chosen."""
    said = "Open a file first." if no_file else "Choose columns to randomise first."
    return notice("note", f"{said} Then the promise is chosen here.")


def kind_choice(session: Session, kind: str, now: str, why_not: str) -> Tag:
    """Return one kind of promise to choose; a central one may not be possible."""
    name, words = KINDS[kind]
    is_closed = kind != "local" and kind != now and why_not
    return tick(
        session, "kind", f"kind_{kind}", [tags.strong(name), f": {words}"], is_on=kind == now,
        type="radio", name=session.ns("kinds_of_promise"), value=kind,
        disabled="" if is_closed else None,
    )  # fmt: skip


def slider_of(session: Session, kind: str, shown: list[float], promise: float, delta: float) -> Tag:
    """Return the slider over promises."""
    own, place = session.ns("notches"), shown.index(promise)
    words = [trials.promise_words(kind, one, delta) for one in shown]
    slider = tags.input(
        type="range",
        id=own,
        min="0",
        max=str(len(shown) - 1),
        step="1",
        value=str(place),
        class_="desk-range",
        data_tells=session.ns("notch"),
        data_words=json.dumps(words),
        aria_valuetext=words[place],
    )
    said = tags.output(words[place], id=f"{own}-words", for_=own, class_="notch-words")
    return under_label(own, "More privacy to the left, more precision to the right", slider, said)


def exact_field(session: Session, kind: str, promise: float) -> Tag:
    label, shown = f"{trials.SIGNS[kind]}, exactly", f"{promise:g}"
    return text_input(
        session, "number", "exactly", label, shown, type="number", min="0", step="any"
    )


def delta_field(session: Session, delta: float) -> Tag:
    """Return the choice of δ."""
    own, choices = session.ns("deltas"), sorted({*trials.DELTAS, delta}, reverse=True)
    options = {repr(one): numbers.tiny(one) for one in choices}
    control = selection(session, "delta", options, repr(delta), id=own)
    return under_label(own, "δ: the chance that ε does not hold", control)
