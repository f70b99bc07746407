"""Which promises are tried, in which order, what is known of them, and how it is shown."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from shiny.ui import Tag, TagList, tags

from pramble import numbers
from pramble.app.tasks import Tried
from pramble.app.view import cards, figure, notice, text_tags
from pramble.app.wizard import SETTINGS, Wizard
from pramble.errors import InvalidInput, PrambleError
from pramble.plots.images import to_svg
from pramble.plots.tradeoffs import candidates_figure
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.releasing.prepare import refuse_untouched
from pramble.releasing.spec.document import spec_from
from pramble.releasing.try_release import Candidate
from pramble.report.outcome_text import precision_grid, verdict_sentences
from pramble.words import visible

NOTCHES = {
    "local": (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0),
    "central": (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0),
}
DELTAS = (1e-5, 1e-6, 1e-8)
SIGNS = {"local": "α", "central": "ε"}
INTRUDER = {
    "local": "sure at most: an intruder who was half sure of a person’s values",
    "central": "sure at most: a reader who was half sure of a person’s values, but for δ",
}
CURVE_CAPTION = (
    "Each point is a promise, by the figure beside it: to the left an intruder learns less, and "
    "further down readers get narrower intervals."
)
NO_KEYS = (
    "What an intruder may know of people (keys), and how large the population is, can be named in "
    "step 2; then the right matches that are expected are shown here too."
)

# Promises whose figures a wizard remembers.
MOST_STORED = 100


def delta_of(wizard: Wizard) -> float:
    return float(wizard.document.get("delta", wizard.delta))


def notches(wizard: Wizard) -> list[float]:
    """Return the promises of the slider: the usual ones, those that are known, and the present."""
    return sorted({*NOTCHES[wizard.kind], *known(wizard), wizard.promise})


def promise_words(kind: str, promise: float, delta: float) -> str:
    """Return what a notch of the slider is called.

    >>> promise_words("local", 1.0, 1e-6)
    'α = 1: half sure becomes 74 % at most'
    """
    belief = numbers.sure(belief_of(kind, promise, delta))
    return f"{SIGNS[kind]} = {promise:g}: half sure becomes {belief} at most"


def belief_of(kind: str, promise: float, delta: float) -> float:
    """Return how sure an intruder who was half sure can become, by the promise alone."""
    if kind == "local":
        return LocalPromise(Fraction(promise)).belief()
    return CentralPromise(Fraction(promise), Fraction(delta)).belief()


def promise_in(kind: str, text: str) -> float:
    """Return a promise that was written; refuse what none can be.

    >>> promise_in("local", "2.5")
    2.5
    >>> promise_in("local", "-1")
    Traceback (most recent call last):
    ...
    pramble.errors.InvalidInput: α must be a positive number, such as 2; found '-1'.
    """
    try:
        found = float(text.strip().replace(",", "."))
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise InvalidInput(f"{SIGNS[kind]} must be a positive number, such as 2; found {text!r}.")
    spec_from({SETTINGS[kind]: found, "columns": {"any": {"categories": ["a", "b"]}}})
    return found


def central_refused(wizard: Wizard) -> str:
    """Say why a central promise is not possible; empty if it is, or the plan is wrong anyway."""
    if wizard.survey is None:
        return ""
    try:
        spec_from(wizard.plan_for("local"))
    except PrambleError:
        return ""
    try:
        spec = spec_from(wizard.plan_for("central"))
        refuse_untouched(wizard.names, spec)
    except PrambleError as error:
        return str(error)
    return ""


def trial_key(wizard: Wizard, promise: float) -> tuple[Any, ...]:
    """Return what figures of a promise of the present kind are stored under."""
    delta = 0.0 if wizard.kind == "local" else delta_of(wizard)
    return wizard.ground, delta, promise


def known(wizard: Wizard) -> dict[float, Tried]:
    """Return what is known of promises of the present kind for the plan as it stands, in order."""
    ours = trial_key(wizard, 0.0)[:-1]
    stored: dict[tuple[Any, ...], Tried] = wizard.found.get("tried", {})
    return {key[-1]: stored[key] for key in sorted(stored) if key[:-1] == ours}


def store(wizard: Wizard, key: tuple[Any, ...], tried: Tried) -> None:
    """Remember what was found of a promise."""
    stored = wizard.found.setdefault("tried", {})
    stored[key] = tried
    while len(stored) > MOST_STORED:
        del stored[next(iter(stored))]


def waiting(wizard: Wizard) -> list[float]:
    """Return the promises to be tried: the present one first, then the nearest."""
    left = [one for one in notches(wizard) if one not in known(wizard)]
    # Near in ratio: from 1, both 0.5 and 2 come before 4.
    return sorted(left, key=lambda one: abs(math.log(one / wizard.promise)))


def is_ready(wizard: Wizard) -> bool:
    """Whether there is anything that can be tried."""
    return wizard.survey is not None and bool(wizard.columns)


def is_halted(wizard: Wizard) -> bool:
    """Whether the last trial was stopped or refused, and nothing else was chosen since."""
    work = wizard.works.get("trial")
    has_ended = work is not None and work.state in ("failed", "stopped")
    return has_ended and wizard.found.get("tried last") == trial_key(wizard, wizard.promise)


def promise_figures(wizard: Wizard) -> TagList:
    """Return the figures of the present promise; before they are found, those of it alone."""
    kind, promise = wizard.kind, wizard.promise
    tried = known(wizard).get(promise)
    found = None if tried is None else tried.candidate
    belief = belief_of(kind, promise, delta_of(wizard)) if found is None else found.belief
    odds = f"e^{SIGNS[kind]}: by this factor at most the odds of any guess change"
    shown = [(numbers.sure(belief), INTRUDER[kind]), (f"× {numbers.ratio_text(promise)}", odds)]
    if found is None:
        is_found = "is not computed." if is_halted(wizard) else "is being computed …"
        said = f"What readers get under {SIGNS[kind]} = {promise:g} {is_found}"
        return TagList(cards(shown), tags.p(said, role="status", class_="waits"))
    shown.append((found.verdict.headline, found.verdict.about))
    if not math.isnan(found.right_after):
        before, after = map(numbers.expected, (found.right_before, found.right_after))
        shown.append((f"{before} → {after}", "right matches expected, before and after"))
    has_keys = "risk" in wizard.document or wizard.design == "tables"
    return TagList(
        cards(shown),
        text_tags(*verdict_sentences(found.verdict)),
        *[notice("warning", visible(one)) for one in found.warnings],
        None if has_keys else tags.p(NO_KEYS, class_="form-text"),
        text_tags(precision_grid(found.tables)),
    )


def pictures(wizard: Wizard) -> Tag:
    """Return every promise that is known as a curve, and the present plan."""
    tried = known(wizard).get(wizard.promise)
    found = [one.candidate for one in known(wizard).values()]
    plan = None
    if tried is not None:
        of_tables = tried.candidate.design == "tables"
        title = "How noisy the tables would be" if of_tables else "How records are changed"
        plan = tags.div(tags.h3(title), figure(tried.picture, tried.caption))
    curve = curve_figure(found, None if tried is None else tried.candidate) if found else None
    return tags.div(curve, plan, class_="pictures")


def curve_figure(found: Sequence[Candidate], current: Candidate | None) -> Tag:
    drawn = candidates_figure(found, current=current)
    here = "" if current is None else f"; the present one, {current.name}, has a ring"
    words = f"What readers get against what an intruder may learn, for each promise{here}"
    return tags.div(
        tags.h3("Promises side by side"),
        figure(to_svg(drawn, name="curve", description=words), CURVE_CAPTION),
    )
