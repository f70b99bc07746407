"""The central part of ``pramble certify``: what is proven towards a reader of the whole file."""

import math
from collections.abc import Iterator
from typing import Any

import typer

import pramble
from pramble.errors import PrivacyError
from pramble.privacy.certificate import Certificate
from pramble.privacy.guarantee import float_above, float_below
from pramble.privacy.shuffled.central import CentralGuarantee
from pramble.releasing.spec.spec import DELTA
from pramble.values import value


@value
class Asked:
    """What was asked of the central promise, as it stood on the command line."""

    rows: int | None
    delta: float | None
    epsilon: float | None
    rows_per_person: int | None
    population: int | None


def proven_of(given: Any, certificate: Certificate, asked: Asked) -> CentralGuarantee | None:
    """Return the central promise that was asked for, or that a release makes; None without."""
    rows, delta, plan = asked.rows, DELTA if asked.delta is None else asked.delta, given
    if isinstance(given, pramble.Release):
        if given.central is None:
            refuse_unshuffled(asked)
            return None
        if rows not in {None, given.manifest["rows"]}:
            raise typer.BadParameter(
                f"the release has {given.manifest['rows']:,} rows", param_hint="--rows"
            )
        rows, plan = max(given.manifest["rows"], 1), given.plan
        delta = float_below(given.central.delta) if asked.delta is None else asked.delta
    if rows is None:
        refuse_without_rows(asked)
        return None
    return pramble.central_guarantee(
        plan,
        rows=rows,
        delta=delta,
        rows_per_person=certificate.rows,
        besides=float_above(certificate.besides),
        population=asked.population,
    )


def refuse_unshuffled(asked: Asked) -> None:
    """Refuse a central question of a release that makes no such promise."""
    if (asked.rows, asked.delta, asked.epsilon, asked.population) != (None,) * 4:
        raise PrivacyError(
            "This release makes no central promise: its rows stand in the order of the source, or "
            "a column is released as it is. Release with --central to shuffle it."
        )


def refuse_without_rows(asked: Asked) -> None:
    """Refuse a central question without the number of rows."""
    questions = {
        "--delta": asked.delta, "--epsilon": asked.epsilon, "--population": asked.population,
    }  # fmt: skip
    for name, said in questions.items():
        if said is not None:
            raise typer.BadParameter(f"{name} goes with --rows", param_hint=name)


def central_sentences(
    certificate: Certificate, central: CentralGuarantee | None, epsilon: float | None
) -> Iterator[str]:
    """Yield both promises in plain words, and what was asked of ε."""
    if central is None:
        return
    if not math.isinf(certificate.alpha):
        yield f"Local: {certificate.guarantee.sentence()}"
    yield f"Central: {central.sentence()}"
    if epsilon is not None:
        yield verdict(central, epsilon)


def verdict(central: CentralGuarantee, epsilon: float) -> str:
    """Say whether an ε is proven, refuted by an attack, or neither."""
    at = f"ε = {epsilon:g} at δ = {central.delta:.3g}"
    if central.epsilon <= epsilon:
        return f"{at} is proven."
    if epsilon < central.lower:
        return f"{at} is not satisfied: an attack does better."
    return f"{at} is neither proven nor refuted; take it as not satisfied."


def central_document(
    central: CentralGuarantee | None, epsilon: float | None
) -> dict[str, Any] | None:
    """Return a central promise for a script."""
    if central is None:
        return None
    return {
        "epsilon": central.epsilon,
        "delta": central.delta,
        "lower": central.lower,
        "method": central.method,
        "rows": central.rows,
        "rows_per_person": central.rows_per_person,
        "population": central.population,
        "asked": epsilon,
        "proven": None if epsilon is None else central.epsilon <= epsilon,
        "refuted": None if epsilon is None else epsilon < central.lower,
        "sentence": central.sentence(),
    }
