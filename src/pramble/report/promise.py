"""What a release promises, in sentences."""

from typing import Any

from pramble import numbers
from pramble.outcome import ReleaseOutcome
from pramble.privacy.central_privacy import CentralPrivacy

CERTAIN = 0.99


def central_view(outcome: ReleaseOutcome) -> dict[str, Any]:
    """Return the promise towards readers of the release."""
    central, limit = outcome.central, outcome.limit
    assert central is not None, "asked for where there is one"
    return {
        "epsilon": numbers.alpha_text(central.shown),
        "delta": numbers.tiny(central.shown_delta),
        "lower": numbers.alpha_text(outcome.lower or 0.0),
        "limit": f"ε = {limit.shown:.6g}" if isinstance(limit, CentralPrivacy) else None,
        "rests": rests_on(outcome),
        "weak": "; here it says next to nothing" if outcome.guarantee.belief() > CERTAIN else "",
    }


def rests_on(outcome: ReleaseOutcome) -> str:
    """Say what a central promise rests on."""
    if outcome.protected is not None:
        return (
            "trust in whoever handles the file, and noise that was drawn once and stays secret; "
            "releases of the same people add up"
        )
    return (
        "every released column randomised, rows in random order, "
        f"{numbers.count(outcome.rows)} rows as a crowd; releases of the same people add up"
    )


def promises_of(outcome: ReleaseOutcome) -> list[dict[str, Any]]:
    """Return every promise of a release: against whom, how much, and what it rests on."""
    found = []
    if outcome.central is not None:
        central = central_view(outcome)
        found.append({
            "who": "whoever reads the release, and knows everybody else in the file",
            "what": f"ε = {central['epsilon']}, δ = {central['delta']}",
            "rests": central["rests"],
        })  # fmt: skip
    if outcome.protected is None:
        found.append({
            "who": "whoever handles the file before its rows are shuffled",
            "what": f"α = {numbers.alpha_text(outcome.alpha)}",
            "rests": "nothing: it holds value by value"
            + (central["weak"] if outcome.central is not None else ""),
        })  # fmt: skip
    return found


def plain_words(outcome: ReleaseOutcome) -> list[str]:
    """Say what was done in sentences without symbols where they can be avoided."""
    names = joined(list(outcome.names))
    if outcome.protected is not None and outcome.central is not None:
        return [
            (
                f"The people in the file were counted by {names}, in tables of a few columns each. "
                "Random noise was added to every count, and nothing else of the file is released. "
                "The complete records were made from the noisy counts alone: none of them is a "
                "person."
            ),
            outcome.central.sentence(),
        ]
    columns = "these columns" if len(outcome.names) > 1 else names
    blank = outcome.record is not None and outcome.record.branches > 1
    if outcome.central is not None:
        return shuffled_words(outcome, names)
    return [
        (
            f"In {names}, every person's values were replaced at random: "
            + ("blank, " if blank else "")
            + "kept with a known probability, else changed."
        ),
        outcome.guarantee.sentence(),
        (
            f"Whatever a person's true values in {columns} are, what is released of the "
            f"{outcome.guarantee.unit} is at most {numbers.ratio_text(outcome.alpha)} times "
            "likelier under them than under any other values."
        ),
        *(() if outcome.record is None else outcome.record.by_distance),
    ]


def shuffled_words(outcome: ReleaseOutcome, names: str) -> list[str]:
    """Say what was done to a file that is shuffled, and both promises."""
    assert outcome.central is not None, "asked for where there is one"
    return [
        (
            f"In {names}, every person's values were kept or replaced at random, with known "
            "probabilities. Then the rows were put into a random order. Nothing else is released."
        ),
        outcome.central.sentence(),
        (
            f"Towards whoever handled the file before its rows were shuffled: "
            f"{outcome.guarantee.sentence()}"
        ),
    ]


def joined(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]
