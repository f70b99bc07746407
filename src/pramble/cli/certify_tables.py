"""``pramble certify`` of protected tables: their central promise, and who is told apart best."""

import math
from typing import Any

import typer

import pramble
from pramble.cli.certify_central import Asked
from pramble.cli.console import answers, print_json
from pramble.errors import PrivacyError
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.guarantee import float_above
from pramble.privacy.table_privacy import TableGuarantee, table_guarantee

NO_LOCAL = (
    "Protected tables make no promise against whoever handles the file, so that there is no α to "
    "ask for: --epsilon and --delta ask for their central promise."
)


def table_plan_of(given: Any) -> TablePlan | None:
    """Return the plan of protected tables; None for anything else."""
    plan = given.plan if isinstance(given, pramble.Release) else given
    return plan if isinstance(plan, TablePlan) else None


def certify_tables(
    plan: TablePlan, asked: Asked, *, alpha: float | None, distance: str | None, as_json: bool
) -> None:
    """Say the central promise of tables, and whether an ε holds; exit 1 if it does not."""
    refuse_other_questions(asked, alpha=alpha, distance=distance)
    proven = table_guarantee(plan, delta=asked.delta)
    if as_json:
        print_json({"alpha": None, "central": document_of(proven, asked.epsilon)})
    else:
        answers().print(repr(proven), soft_wrap=True)
        answers().print(f"Central: {proven.sentence()}", soft_wrap=True)
        if asked.epsilon is not None:
            answers().print(verdict(proven, asked.epsilon), soft_wrap=True)
    if asked.epsilon is not None and proven.epsilon > asked.epsilon:
        raise typer.Exit(1)


def refuse_other_questions(asked: Asked, *, alpha: float | None, distance: str | None) -> None:
    """Refuse what is asked of randomised records alone."""
    if alpha is not None or distance is not None:
        raise PrivacyError(NO_LOCAL)
    of_records = {
        "--rows": (asked.rows, "the promise of protected tables does not depend on it"),
        "--population": (asked.population, "it goes with randomised records in random order"),
        "--rows-per-person": (asked.rows_per_person, "the plan states the rows of a person itself"),
    }
    for name, (given, why) in of_records.items():
        if given is not None:
            raise typer.BadParameter(f"leave it out: {why}", param_hint=name)


def verdict(proven: TableGuarantee, epsilon: float) -> str:
    """Say whether an ε is proven, refuted by two people, or neither."""
    at = f"ε = {epsilon:g} at δ = {proven.delta:.3g}"
    if proven.epsilon <= epsilon:
        return f"{at} is proven."
    if proven.attained:
        columns = ", ".join(proven.worst)
        return f"{at} is not satisfied: people who differ in {columns} are told apart better."
    return f"{at} is neither proven nor refuted; take it as not satisfied."


def document_of(proven: TableGuarantee, epsilon: float | None) -> dict[str, Any]:
    """Return the promise of protected tables for a script."""
    is_proven = None if epsilon is None else proven.epsilon <= epsilon
    return {
        "epsilon": proven.epsilon,
        "delta": proven.delta,
        "mu": math.sqrt(float_above(proven.mu_squared)),
        "worst": list(proven.worst),
        "attained": proven.attained,
        "rows_per_person": proven.rows_per_person,
        "asked": epsilon,
        "proven": is_proven,
        "refuted": None if epsilon is None else not is_proven and proven.attained,
        "sentence": proven.sentence(),
    }
