"""A design in words: for a terminal and for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pramble.solvers.result import Design, Level

SHOWN = 4

UNITS = {"information": "nats", "estimation": "× 1/n"}

OBJECTIVES = {
    "information": "mutual information",
    "estimation": "summed variance of the estimate of p",
    "loss": "expected loss",
    "queries": "summed variance of the queries",
}


def title(design: Design) -> str:
    """Return one line that says what this is."""
    S, T = design.mechanism.shape
    size = f"{S} categories" if S == T else f"{S} categories, {T} outputs"
    return f"Design: {design.family} family, {size}, α = {design.alpha:g}"


def facts(design: Design) -> list[tuple[str, str]]:
    """Return names and sentences in the order they are read."""
    unit = f" {UNITS[design.objective]}" if design.objective in UNITS else ""
    objective = "queries" if "queries" in design.details else design.objective
    rows = [
        (OBJECTIVES.get(objective, objective), f"{design.value:.9g}{unit}"),
        ("proven bound", f"{design.bound:.9g}{unit} (gap {design.gap:.2g})"),
        *losses(design),
        (
            "information kept",
            (
                f"{design.share_of_entropy:.2%} of H(X) = {design.entropy:.6g} nats; "
                f"{design.share:.2%} of a bound on all matrices, {design.ceiling:.6g}"
            ),
        ),
        ("kept unchanged", kept_text(design)),
        *((f"kept at {level.name}", level_text(design, level)) for level in design.levels),
        ("certificate", str(design.certificate)),
    ]
    rank, size = design.details.get("rank"), design.mechanism.shape[0]
    if rank is not None and rank < size:
        rows.append(("rank", f"{rank} of {size}: p cannot be estimated from the release"))
    if design.stopped != "tolerance":
        rows.append(("stopped", f"by {design.stopped}"))
    return rows


def losses(design: Design) -> list[tuple[str, str]]:
    """Return what simpler releases would lose, of a design for a loss."""
    if design.objective != "loss":
        return []
    known = design.details
    text = f"{known['response']:.6g} by randomised response, {known['constant']:.6g} by one value"
    return [("loss without design", f"{text}; {known['unprotected']:.6g} without privacy")]


def kept_text(design: Design) -> str:
    """Return how often a value survives, overall and from the least to the most kept category."""
    least, most = design.keep.min(), design.keep.max()
    return f"{design.kept:.4f} overall; {least:.4g} to {most:.4g} by category"


def level_text(design: Design, level: Level) -> str:
    """Return the probability of a level, how many categories it has, and which."""
    labels = design.mechanism.labels.values
    if len(level) == len(labels):
        which = "all categories"
    else:
        names = ", ".join(repr(labels[i]) for i in level.positions[:SHOWN].tolist())
        which = names + (", …" if len(level) > SHOWN else "")
    return f"{level.probability:.6g}, {len(level)} of {len(labels)}: {which}"
