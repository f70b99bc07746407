"""What a promise gives, as it is shown beside the slider."""

import math
from collections.abc import Sequence

from shiny.ui import Tag, TagChild, TagList, tags

from pramble import numbers
from pramble.app.tasks import Tried
from pramble.app.trials import SIGNS, belief_of
from pramble.app.view import cards, figure, notice, verdict_lines, worth_table
from pramble.plots.images import to_svg
from pramble.plots.tradeoffs import candidates_figure
from pramble.releasing.compare import Candidate, width_text
from pramble.words import visible

INTRUDER = {
    "local": "sure at most: an intruder who was half sure of a person’s values",
    "central": "sure at most: a reader who was half sure of a person’s values, but for δ",
    "shuffled": "sure at most: a reader who was half sure of a person’s values, but for δ",
}
CURVE_CAPTION = (
    "Each point is a promise, by the figure beside it: to the left an intruder learns less, and "
    "further down readers get narrower intervals."
)
NO_KEYS = (
    "What an intruder may know of people (keys), and how large the population is, can be named in "
    "step 2; then the right matches that are expected are shown here too."
)


def figures_of(
    kind: str,
    promise: float,
    delta: float,
    found: Candidate | None,
    other: Candidate | None,
    *,
    has_keys: bool,
    waits: bool,
) -> TagList:
    """Return the figures of the present promise; before they are found, those of it alone.

    ``other`` is what the other design gives that keeps the same central promise, if it is known.
    """
    belief = belief_of(kind, promise, delta) if found is None else found.belief
    shown = [
        (numbers.sure(belief), INTRUDER[kind]),
        (
            f"× {numbers.ratio_text(promise)}",
            f"e^{SIGNS[kind]}: by this factor at most the odds of any guess change",
        ),
    ]
    if found is None:
        told = f"{SIGNS[kind]} = {promise:g}"
        said = (
            f"What readers get under {told} is being computed …"
            if waits
            else (f"What readers get under {told} is not computed.")
        )
        return TagList(cards(shown), tags.p(said, role="status", class_="waits"))
    shown.append((found.verdict.headline, found.verdict.about))
    if not math.isnan(found.right_after):
        before, after = map(numbers.expected, (found.right_before, found.right_after))
        shown.append((f"{before} → {after}", "right matches expected, before and after"))
    return TagList(
        cards(shown),
        verdict_lines(found.verdict),
        None if other is None else notice("note", comparison(found, other)),
        *[notice("warning", visible(one)) for one in found.warnings],
        None if has_keys or kind == "central" else tags.p(NO_KEYS, class_="form-text"),
        tags.h3("What tables would be worth"),
        worth_table(found.tables),
    )


DESIGNS = {"tables": "protected tables", "records": "randomised records in random order"}


def comparison(one: Candidate, two: Candidate) -> str:
    """Say which of the two designs that keep a central promise is better."""
    best, worse = sorted((one, two), key=lambda own: own.half_width)
    figures = "; ".join(
        f"{DESIGNS[own.design]} {width_text(own.half_width)}" for own in (best, worse)
    )
    return (
        f"For the wanted tables {DESIGNS[best.design]} are better at {one.name}. The 95 % interval "
        f"of a typical cell: {figures}."
    )


def curve_figure(found: Sequence[Candidate], current: Candidate | None) -> Tag:
    """Return all promises that are known as a figure, with the present one marked."""
    drawn = candidates_figure(found, current=current)
    here = "" if current is None else f"; the present one, {current.name}, has a ring"
    words = f"What readers get against what an intruder may learn, for each promise{here}"
    return tags.div(
        tags.h3("Promises side by side"),
        figure(to_svg(drawn, name="curve", description=words), CURVE_CAPTION),
    )


def plan_figure(tried: Tried) -> TagChild:
    """Return what would be done to a record, as a picture."""
    of_tables = tried.candidate.design == "tables"
    title = "How noisy the tables would be" if of_tables else "What would be done to a record"
    return tags.div(tags.h3(title), figure(tried.picture, tried.caption))
