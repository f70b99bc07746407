"""Step 3: what is promised, what an intruder can learn, and what readers will get."""

import json
from typing import Any

from shiny import Inputs, Outputs, Session, module, reactive, render, ui
from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app import trials as curve
from pramble.app.parts import notice, refusal, refused
from pramble.app.promise_view import curve_figure, figures_of, plan_figure
from pramble.app.tasks import try_promise
from pramble.app.view import Controls, View
from pramble.app.wizard import FIRST
from pramble.releasing.compare import PEEK
from pramble.words import visible

AFTER = 0.05
"""Seconds after the figures in numbers in which pictures are begun."""

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
    """Return what is shown."""
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
    """Do what the step offers."""
    desk = view.desk
    shown: list[float] = []
    drawn: dict[str, Any] = {}

    def chosen() -> tuple[Any, ...]:
        if not curve.is_ready(desk):
            return ()
        return desk.kind, desk.promise, curve.delta_of(desk)

    controls = Controls(
        view,
        kinds=lambda: (chosen()[:1], curve.central_refused(desk)),
        slider=lambda: chosen()[:2],
        exact=chosen,
    )

    # What is chosen ---------------------------------------------------------------------------

    @render.ui
    def kinds() -> TagChild:
        controls.watch("kinds")
        if not curve.is_ready(desk):
            return nothing_yet(no_file=desk.survey is None)
        why_not = curve.central_refused(desk)
        return TagList(
            tags.fieldset(
                tags.legend("To whom?", class_="fs-6"),
                *[
                    kind_choice(session, kind, chosen=desk.kind, possible=not why_not)
                    for kind in KINDS
                ],
            ),
            notice(
                "note",
                tags.p(visible(why_not)),
                ui.input_action_button("mend", "Go to the columns", class_="btn-sm"),
            )
            if why_not
            else None,
        )

    @render.ui
    def slider() -> TagChild:
        controls.watch("slider")
        if not curve.is_ready(desk):
            return None
        shown[:] = curve.notches(desk)
        return range_of(session, desk.kind, shown, desk.promise, curve.delta_of(desk))

    @render.ui
    def exact() -> TagChild:
        controls.watch("exact")
        if not curve.is_ready(desk):
            return None
        return tags.div(
            exact_field(session, desk.kind, desk.promise),
            None if desk.kind == "local" else delta_field(session, curve.delta_of(desk)),
            class_="fields",
        )

    def promise_to(control: str, kind: str, promise: float) -> None:
        desk.promise_to(kind, promise)
        controls.used(control)
        view.changed("plan")

    @reactive.effect
    @reactive.event(input.kind)
    def _() -> None:
        kind = str(input.kind())
        if kind in KINDS and kind != desk.kind:
            desk.delta = curve.delta_of(desk)
            before = desk.found.setdefault("promised", {})
            before[desk.kind] = desk.promise
            promise_to("kinds", kind, before.get(kind, FIRST[kind]))

    @reactive.effect
    @reactive.event(input.notch)
    def _() -> None:
        place = int(input.notch())
        if 0 <= place < len(shown):
            promise_to("slider", desk.kind, shown[place])

    @reactive.effect
    @reactive.event(input.number)
    def _() -> None:
        def change() -> None:
            promise_to("exact", desk.kind, curve.promise_in(desk.kind, input.number()))

        view.attempt("promise", change)

    @reactive.effect
    @reactive.event(input.delta)
    def _() -> None:
        desk.delta = float(input.delta())
        promise_to("exact", desk.kind, desk.promise)

    @reactive.effect
    @reactive.event(input.mend)
    def _() -> None:
        view.go("columns")

    # What is tried ----------------------------------------------------------------------------

    def has_failed() -> bool:
        return curve.has_failed(desk, desk.kind)

    @reactive.effect
    def _() -> None:
        view.watch("trial", "plan", "source", "shown", "trying")
        idle = desk.step != "promise" or not desk.found.get("trying", True)
        if idle or "trial" in desk.then or not curve.is_ready(desk) or has_failed():
            return
        next_one = curve.next_trial(desk)
        if next_one is None or desk.source is None:
            return
        kind, promise = next_one
        key = curve.key_of(desk, kind, promise)
        desk.found["tried last"] = key[:-1]
        view.begin(
            "trial", try_promise, desk.ground, desk.source.path, desk.plan_for(kind), kind, promise,
            curve.delta_of(desk), worker=desk.trier, progress=True,
            then=lambda tried: curve.keep(desk, key, tried),
        )  # fmt: skip

    @reactive.effect
    @reactive.event(input.stop)
    def _() -> None:
        desk.found["trying"] = False
        desk.trier.stop()
        view.changed("work", "trying")

    @reactive.effect
    @reactive.event(input.go_on)
    def _() -> None:
        desk.found["trying"], desk.found["tried last"] = True, None
        view.changed("trying")

    @render.ui
    def state() -> TagChild:
        view.watch("trial", "plan", "source", "trying")
        said = refused(view, "promise")
        if not curve.is_ready(desk):
            return said
        done, left = len(curve.known(desk, desk.kind)), len(curve.waiting(desk))
        go_on = ui.input_action_button("go_on", "Go on", class_="btn-sm")
        if has_failed():
            work = desk.works["trial"]
            return TagList(said, refusal(work.error, work.values), go_on)
        if not left:
            return said
        bar = tags.progress(value=str(done), max=str(done + left), aria_label="promises computed")
        told = f"{done} of {done + left} promises computed"
        is_on = desk.found.get("trying", True)
        return TagList(
            said,
            tags.div(
                bar,
                tags.span(told if is_on else f"{told}; stopped", class_="doing", role="status"),
                ui.input_action_button("stop", "Stop", class_="btn-sm") if is_on else go_on,
                class_="progress-line",
            ),
        )

    # What is found ----------------------------------------------------------------------------

    @render.ui
    def figures() -> TagChild:
        view.watch("trial", "plan", "source", "trying")
        if not curve.is_ready(desk):
            return None
        tried = curve.known(desk, desk.kind).get(desk.promise)
        other = curve.known(desk, curve.OTHER.get(desk.kind, "")).get(desk.promise)
        return figures_of(
            desk.kind,
            desk.promise,
            curve.delta_of(desk),
            None if tried is None else tried.candidate,
            None if other is None else other.candidate,
            has_keys="risk" in desk.document,
            waits=desk.found.get("trying", True) and not has_failed(),
        )

    @reactive.effect
    def _() -> None:  # figures take longer to draw than all the rest: that is shown before
        view.watch("trial", "plan", "source")
        now = (chosen(), *(tuple(curve.known(desk, kind)) for kind in KINDS), desk.ground)
        if now != drawn.get("next"):
            drawn["next"] = now
            reactive.invalidate_later(AFTER)
        elif now != drawn.get("last"):
            drawn["last"] = now
            view.changed("pictures")

    @render.ui
    def pictures() -> TagChild:
        view.watch("pictures")
        if not curve.is_ready(desk):
            return None
        tried = curve.known(desk, desk.kind).get(desk.promise)
        every = [one.candidate for kind in KINDS for one in curve.known(desk, kind).values()]
        now = None if tried is None else tried.candidate
        return tags.div(
            curve_figure(every, now) if every else None,
            None if tried is None else plan_figure(tried),
            class_="pictures",
        )

    @render.ui
    def below() -> TagChild:
        view.watch("source")
        if not curve.is_ready(desk):
            return None
        return TagList(
            notice("note", PEEK),
            ui.input_action_button("onwards", "Go on: release", class_="btn-primary"),
        )

    @reactive.effect
    @reactive.event(input.onwards)
    def _() -> None:
        view.go("release")


def nothing_yet(*, no_file: bool) -> Tag:
    """Say what is missing before a promise can be chosen."""
    said = "Open a file first." if no_file else "Choose columns to randomise first."
    return notice("note", f"{said} Then the promise is chosen here.")


def kind_choice(session: Session, kind: str, *, chosen: str, possible: bool) -> Tag:
    name, words = KINDS[kind]
    own = session.ns(f"kind_{kind}")
    return tags.div(
        tags.input(
            type="radio",
            id=own,
            name=session.ns("kinds_of_promise"),
            value=kind,
            checked="" if kind == chosen else None,
            disabled="" if kind != "local" and not possible and kind != chosen else None,
            class_="form-check-input",
            data_tells=session.ns("kind"),
        ),
        tags.label(tags.strong(name), f": {words}", for_=own, class_="form-check-label"),
        class_="form-check",
    )


def range_of(session: Session, kind: str, shown: list[float], promise: float, delta: float) -> Tag:
    """Return the slider over promises."""
    own, place = session.ns("notches"), shown.index(promise)
    words = [curve.promise_words(kind, one, delta) for one in shown]
    return tags.div(
        tags.label(
            "More privacy to the left, more precision to the right", for_=own, class_="form-label"
        ),
        tags.input(
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
        ),
        tags.output(words[place], id=f"{own}-words", for_=own, class_="notch-words"),
    )


def exact_field(session: Session, kind: str, promise: float) -> Tag:
    own = session.ns("exactly")
    return tags.div(
        tags.label(f"{curve.SIGNS[kind]}, exactly", for_=own, class_="form-label"),
        tags.input(
            type="number",
            id=own,
            value=f"{promise:g}",
            min="0",
            step="any",
            class_="form-control",
            data_tells=session.ns("number"),
        ),
    )


def delta_field(session: Session, delta: float) -> Tag:
    """Return the choice of δ."""
    own = session.ns("deltas")
    return tags.div(
        tags.label("δ: the chance that ε does not hold", for_=own, class_="form-label"),
        tags.select(
            *[
                tags.option(
                    numbers.tiny(one), value=repr(one), selected="" if one == delta else None
                )
                for one in sorted({*curve.DELTAS, delta}, reverse=True)
            ],
            id=own,
            class_="form-select",
            data_tells=session.ns("delta"),
        ),
    )
