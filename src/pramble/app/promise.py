"""Step 3: what is promised, what an intruder can learn, and what readers will get."""

import json
from collections.abc import Callable
from functools import partial

from shiny import Inputs, Outputs, Session, module, reactive, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import trials
from pramble.app.forms import Form, under_label
from pramble.app.tasks import try_promise
from pramble.app.trials import pictures, promise_figures
from pramble.app.view import PageView, notice, refused, status, step_section, when
from pramble.app.wizard import FIRST, Wizard
from pramble.releasing.try_release import PEEK
from pramble.words import visible

KINDS = {
    "local": (
        "Local α",
        "holds against everybody, also who handles the file; readers get randomised records",
    ),
    "central": (
        "Central ε and δ",
        "holds against readers, who get complete records to count and tables to estimate from",
    ),
}
DESIGNS = {
    "records": "randomised records, all columns designed together",
    "columns": "randomised records, a matrix for each column",
    "tables": "protected tables, and complete records drawn from them",
}
CONTROLS = ("kinds", "slider", "exact")


@module.ui
def promise_ui() -> Tag:
    return step_section(
        "Promise",
        "How much privacy?",
        "Choose what people are promised, and see what an intruder could learn and what "
        "readers would get. Nothing is randomised and nothing is written here.",
        *(*CONTROLS, "state", "figures", "pictures", "below"),
    )


@module.server
def promise_server(input: Inputs, output: Outputs, session: Session, view: PageView) -> None:
    wizard, trial = view.wizard, ("trial", "plan", "source")
    choice = Choice(session, view)
    view.fill("kinds", choice.kinds, "source", "columns", "draw kinds")
    view.fill(
        "slider", partial(if_ready, wizard, choice.slider), "source", "columns", "draw slider"
    )
    view.fill("exact", partial(if_ready, wizard, choice.exact), "source", "columns", "draw exact")
    when(input.said, lambda: choice.take(**input.said()))
    when(input.notch, lambda: choice.take_notch(int(input.notch())))
    when(input.mend, lambda: view.go("columns"))
    when(input.onwards, lambda: view.go("release"))
    view.fill("figures", partial(if_ready, wizard, partial(promise_figures, wizard)), *trial)
    view.fill("state", lambda: TagList(refused(view, "promise"), status(view, "trial")), *trial)
    view.fill("pictures", partial(if_ready, wizard, partial(pictures, wizard)), *trial)
    view.fill("below", partial(if_ready, wizard, onwards_line), "source")
    serve_trials(view)


def if_ready(wizard: Wizard, drawn: Callable[[], TagChild]) -> TagChild:
    """Return what is drawn of a wizard, where there is anything that can be tried."""
    return drawn() if trials.is_ready(wizard) else None


def onwards_line() -> TagList:
    onwards = ui.input_action_button("onwards", "Go on: release", class_="btn-primary")
    return TagList(notice("note", PEEK), onwards)


class Choice:
    """The controls of a promise; ``shown`` are the promises on the slider."""

    def __init__(self, session: Session, view: PageView) -> None:
        self.session, self.view, self.wizard = session, view, view.wizard
        self.form = Form(session, "said")
        self.shown: list[float] = []

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
        wizard = self.wizard
        # The page sends a place, which means the promises that it was drawn with.
        self.shown = trials.notches(wizard)
        own, place = self.session.ns("notches"), self.shown.index(wizard.promise)
        delta = trials.delta_of(wizard)
        words = [trials.promise_words(wizard.kind, one, delta) for one in self.shown]
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
        wizard, form = self.wizard, self.form
        label, delta = f"{trials.SIGNS[wizard.kind]}, exactly", trials.delta_of(wizard)
        number = {"type": "number", "min": "0", "step": "any"}
        deltas = {repr(one): numbers.tiny(one) for one in sorted({*trials.DELTAS, delta})[::-1]}
        about = "δ: the chance that ε does not hold"
        designs = {name: words for name, words in DESIGNS.items() if name in wizard.designs}
        return tags.div(
            form.text("number", label, f"{wizard.promise:g}", **number),
            None if wizard.kind == "local" else form.selection("delta", about, deltas, repr(delta)),
            form.selection("design", "What is released", designs, wizard.design),
            class_="fields",
        )

    def take(self, about: str, value: str) -> None:
        """Promise what was chosen or written."""
        wizard = self.wizard
        kind, promise, design = wizard.kind, wizard.promise, wizard.design
        if about == "kind" and value in KINDS and value != kind:
            wizard.delta = trials.delta_of(wizard)
            before = wizard.found.setdefault("promised", {})
            before[kind] = promise
            self.promise("kinds", value, before.get(value, FIRST[value]))
        elif about == "number":
            number = partial(trials.promise_in, kind, value)
            self.view.attempt("promise", lambda: self.promise("exact", kind, number(), design))
        elif about == "delta":
            wizard.delta = float(value)
            self.promise("exact", kind, promise, design)
        elif about == "design" and value in wizard.designs:
            self.promise("exact", kind, promise, value)

    def take_notch(self, place: int) -> None:
        if 0 <= place < len(self.shown):
            self.promise("slider", self.wizard.kind, self.shown[place], self.wizard.design)

    def promise(self, control: str, kind: str, promise: float, design: str = "") -> None:
        """Promise it; the control that was used itself keeps the focus, the others follow."""
        self.wizard.promise_to(kind, promise, design)
        others = [f"draw {name}" for name in CONTROLS if name != control]
        self.view.changed("plan", *others)


def serve_trials(view: PageView) -> None:
    """Try the promises of the slider one after another, while this step is shown."""
    wizard = view.wizard

    @reactive.effect
    def _() -> None:
        view.watch("trial", "plan", "source", "shown")
        is_idle = wizard.step != "promise" or "trial" in wizard.then
        if is_idle or not trials.is_ready(wizard) or trials.is_halted(wizard):
            return
        left = trials.waiting(wizard)
        if not left or wizard.source is None:
            return
        wizard.found["tried last"] = trials.trial_key(wizard, wizard.promise)
        view.begin(
            "trial", try_promise, wizard.ground, wizard.source.path, wizard.plan, wizard.kind,
            left[0], trials.delta_of(wizard), worker=wizard.trier,
            then=partial(trials.store, wizard, trials.trial_key(wizard, left[0])),
        )  # fmt: skip
