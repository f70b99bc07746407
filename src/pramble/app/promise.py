"""Step 3: what is promised, what an intruder can learn, and what readers will get."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import trials
from pramble.app.controls import Form, under_label
from pramble.app.tasks import try_promise
from pramble.app.trials import curve_figure, plan_figure, promise_figures
from pramble.app.view import Controls, PageView, notice, refusal, refused, step_section, when
from pramble.app.wizard import FIRST, Wizard
from pramble.releasing.try_release import PEEK
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
    return step_section(
        "Promise",
        "How much privacy?",
        "Choose what people are promised, and see what an intruder could learn and what "
        "readers would get. Nothing is randomised and nothing is written here.",
        *("kinds", "slider", "exact", "state", "figures", "pictures", "below"),
    )


@module.server
def promise_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard, trial = view.wizard, ("trial", "plan", "source", "trying")
    choice = Choice(session, view)
    for name in ("kinds", "slider", "exact"):
        view.fill(name, partial(choice.drawn, name))
    when(input.said, lambda: choice.take(**input.said()))
    when(input.notch, lambda: choice.take_notch(int(input.notch())))
    when(input.mend, lambda: view.go("columns"))
    when(input.onwards, lambda: view.go("release"))
    view.fill("figures", partial(if_ready, wizard, promise_figures), *trial)
    view.fill("state", partial(trial_state, view), *trial)
    view.fill("pictures", partial(if_ready, wizard, pictures_of), "pictures")
    view.fill("below", partial(if_ready, wizard, onwards_line), "source")
    serve_trials(input, view)
    time_pictures(view)


def if_ready(wizard: Wizard, drawn: Callable[[Wizard], TagChild]) -> TagChild:
    """Return what is drawn of a wizard, where there is anything that can be tried."""
    return drawn(wizard) if trials.is_ready(wizard) else None


def onwards_line(_: Wizard) -> TagList:
    onwards = ui.input_action_button("onwards", "Go on: release", class_="btn-primary")
    return TagList(notice("note", PEEK), onwards)


def chosen_promise(wizard: Wizard) -> tuple[Any, ...]:
    """Return the promise that stands: its kind, its number and δ."""
    if not trials.is_ready(wizard):
        return ()
    return wizard.kind, wizard.promise, trials.delta_of(wizard)


class Choice:
    """The controls of a promise; ``shown`` are the promises on the slider."""

    def __init__(self, session: Session, view: PageView) -> None:
        self.session, self.view, self.wizard = session, view, view.wizard
        self.form = Form(session, "said")
        self.shown: list[float] = []
        self.controls = Controls(
            view,
            kinds=lambda: (chosen_promise(self.wizard)[:1], trials.central_refused(self.wizard)),
            slider=lambda: chosen_promise(self.wizard)[:2],
            exact=lambda: chosen_promise(self.wizard),
        )

    def drawn(self, name: str) -> TagChild:
        self.controls.watch(name)
        if name == "kinds":
            return self.kinds()
        if not trials.is_ready(self.wizard):
            return None
        return self.slider() if name == "slider" else self.exact()

    def kinds(self) -> TagChild:
        """Return the kinds of promise to choose; a central one may not be possible."""
        if not trials.is_ready(self.wizard):
            missing = "Open a file" if self.wizard.survey is None else "Choose columns to randomise"
            return notice("note", f"{missing} first. Then the promise is chosen here.")
        now, why_not = self.wizard.kind, trials.central_refused(self.wizard)
        choices = []
        for kind, (name, words) in KINDS.items():
            is_closed = kind not in ("local", now) and why_not
            choices.append(
                self.form.tick(
                    "kind", [tags.strong(name), f": {words}"], is_on=kind == now, place=kind,
                    type="radio", value=kind, disabled="" if is_closed else None,
                )
            )  # fmt: skip
        mend = ui.input_action_button("mend", "Go to the columns", class_="btn-sm")
        return TagList(
            tags.fieldset(tags.legend("To whom?", class_="fs-6"), *choices),
            notice("note", tags.p(visible(why_not)), mend) if why_not else None,
        )

    def slider(self) -> Tag:
        kind, promise, delta = chosen_promise(self.wizard)
        # The page sends a place, which means the promises that it was drawn with.
        self.shown = trials.notches(self.wizard)
        own, place = self.session.ns("notches"), self.shown.index(promise)
        words = [trials.promise_words(kind, one, delta) for one in self.shown]
        slider = tags.input(
            type="range",
            id=own,
            min="0",
            max=str(len(words) - 1),
            step="1",
            value=str(place),
            class_="desk-range",
            data_sends=self.session.ns("notch"),
            data_words=json.dumps(words),
            aria_valuetext=words[place],
        )
        said = tags.output(words[place], id=f"{own}-words", for_=own, class_="notch-words")
        return under_label(
            own, "More privacy to the left, more precision to the right", slider, said
        )

    def exact(self) -> Tag:
        kind, promise, delta = chosen_promise(self.wizard)
        label = f"{trials.SIGNS[kind]}, exactly"
        number = {"type": "number", "min": "0", "step": "any"}
        deltas = {repr(one): numbers.tiny(one) for one in sorted({*trials.DELTAS, delta})[::-1]}
        about = "δ: the chance that ε does not hold"
        return tags.div(
            self.form.text("number", label, f"{promise:g}", **number),
            None if kind == "local" else self.form.selection("delta", about, deltas, repr(delta)),
            class_="fields",
        )

    def take(self, about: str, value: str) -> None:
        """Promise what was chosen or written."""
        wizard = self.wizard
        if about == "kind" and value in KINDS and value != wizard.kind:
            wizard.delta = trials.delta_of(wizard)
            before = wizard.found.setdefault("promised", {})
            before[wizard.kind] = wizard.promise
            self.promise("kinds", value, before.get(value, FIRST[value]))
        elif about == "number":
            number = partial(trials.promise_in, wizard.kind, value)
            self.view.attempt("promise", lambda: self.promise("exact", wizard.kind, number()))
        elif about == "delta":
            wizard.delta = float(value)
            self.promise("exact", wizard.kind, wizard.promise)

    def take_notch(self, place: int) -> None:
        if 0 <= place < len(self.shown):
            self.promise("slider", self.wizard.kind, self.shown[place])

    def promise(self, control: str, kind: str, promise: float) -> None:
        self.wizard.promise_to(kind, promise)
        self.controls.used(control)
        self.view.changed("plan")


def serve_trials(input: Inputs, view: PageView) -> None:
    """Try the promises of the slider one after another, while this step is shown."""
    wizard = view.wizard

    @reactive.effect
    def _() -> None:
        view.watch("trial", "plan", "source", "shown", "trying")
        is_idle = wizard.step != "promise" or not trials.goes_on(wizard)
        if is_idle or "trial" in wizard.then or not trials.is_ready(wizard):
            return
        following = trials.next_trial(wizard)
        has_failed = trials.has_failed(wizard, wizard.kind)
        if has_failed or following is None or wizard.source is None:
            return
        kind, promise = following
        key = trials.trial_key(wizard, kind, promise)
        wizard.found["tried last"] = key[:-1]
        view.begin(
            "trial", try_promise, wizard.ground, wizard.source.path, wizard.plan_for(kind), kind,
            promise, trials.delta_of(wizard), worker=wizard.trier,
            then=partial(trials.store, wizard, key),
        )  # fmt: skip

    def stop() -> None:
        wizard.found["trying"] = False
        wizard.trier.stop()
        view.changed("work", "trying")

    def go_on() -> None:
        wizard.found["trying"], wizard.found["tried last"] = True, None
        view.changed("trying")

    when(input.stop, stop)
    when(input.go_on, go_on)


def trial_state(view: PageView) -> TagChild:
    """Return how many promises have been tried, and why one was refused."""
    wizard, said = view.wizard, refused(view, "promise")
    if not trials.is_ready(wizard):
        return said
    go_on = ui.input_action_button("go_on", "Go on", class_="btn-sm")
    if trials.has_failed(wizard, wizard.kind):
        work = wizard.works["trial"]
        return TagList(said, refusal(work.error, work.values), go_on)
    done, left = len(trials.known(wizard, wizard.kind)), len(trials.waiting(wizard))
    if not left:
        return said
    is_on = trials.goes_on(wizard)
    words = f"{done} of {done + left} promises computed" + ("" if is_on else "; stopped")
    line = tags.div(
        tags.progress(value=str(done), max=str(done + left), aria_label="promises computed"),
        tags.span(words, class_="doing", role="status"),
        ui.input_action_button("stop", "Stop", class_="btn-sm") if is_on else go_on,
        class_="progress-line",
    )
    return TagList(said, line)


def time_pictures(view: PageView) -> None:
    """Draw what is known as pictures after all the rest, for they take longer."""
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


def pictures_of(wizard: Wizard) -> Tag:
    tried = trials.known(wizard, wizard.kind).get(wizard.promise)
    every = [one.candidate for kind in KINDS for one in trials.known(wizard, kind).values()]
    now = None if tried is None else tried.candidate
    return tags.div(
        curve_figure(every, now) if every else None,
        None if tried is None else plan_figure(tried),
        class_="pictures",
    )
