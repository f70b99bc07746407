"""``pramble certify``: how private is exactly what will be sampled."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.console import answers, print_json
from pramble.cli.inputs import AsJson, Verify, read_distance, read_mechanism_or_plan
from pramble.errors import PrivacyError
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.central import CentralGuarantee
from pramble.privacy.certificate import Certificate, distance_sentence
from pramble.privacy.guarantee import float_above, float_below
from pramble.privacy.table_privacy import TableGuarantee, table_guarantee
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
        yield verdict_on(epsilon, central)


def verdict_on(epsilon: float, proven: CentralGuarantee | TableGuarantee) -> str:
    """Say whether an ε is proven, refuted, or neither."""
    at = f"ε = {epsilon:g} at δ = {proven.delta:.3g}"
    if proven.epsilon <= epsilon:
        return f"{at} is proven."
    if is_refuted(epsilon, proven):
        if isinstance(proven, CentralGuarantee):
            return f"{at} is not satisfied: an attack does better."
        columns = ", ".join(proven.worst)
        return f"{at} is not satisfied: people who differ in {columns} are told apart better."
    return f"{at} is neither proven nor refuted; take it as not satisfied."


def is_refuted(epsilon: float, proven: CentralGuarantee | TableGuarantee) -> bool:
    """Whether an attack, or a pair of people, does better than an ε."""
    if isinstance(proven, CentralGuarantee):
        return epsilon < proven.lower
    return epsilon < proven.epsilon and proven.attained


def answer_on(epsilon: float | None, proven: CentralGuarantee | TableGuarantee) -> dict[str, Any]:
    """Return for a script what was asked of ε, and the promise as a sentence."""
    return {
        "asked": epsilon,
        "proven": None if epsilon is None else proven.epsilon <= epsilon,
        "refuted": None if epsilon is None else is_refuted(epsilon, proven),
        "sentence": proven.sentence(),
    }


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
        **answer_on(epsilon, central),
    }


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
        print_json({"alpha": None, "central": tables_document(proven, asked.epsilon)})
    else:
        answers().print(repr(proven), soft_wrap=True)
        answers().print(f"Central: {proven.sentence()}", soft_wrap=True)
        if asked.epsilon is not None:
            answers().print(verdict_on(asked.epsilon, proven), soft_wrap=True)
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


def tables_document(proven: TableGuarantee, epsilon: float | None) -> dict[str, Any]:
    """Return the promise of protected tables for a script."""
    return {
        "epsilon": proven.epsilon,
        "delta": proven.delta,
        "mu": math.sqrt(float_above(proven.mu_squared)),
        "worst": list(proven.worst),
        "attained": proven.attained,
        "rows_per_person": proven.rows_per_person,
        **answer_on(epsilon, proven),
    }


def certify(
    source: Annotated[
        Path,
        typer.Argument(
            help="A mechanism or plan (JSON), a labelled matrix (CSV), or a release folder.",
            show_default=False,
        ),
    ],
    alpha: Annotated[
        float | None, typer.Option(help="Ask whether this α is satisfied; exit 1 if not.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Say the central promise, too: so many rows, shuffled together."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="With --rows, or of tables: δ of the central promise; 1e-6 by default."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="With --rows, or of tables: ask if this ε is proven; exit 1 if not."),
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(help="The most rows of one person; both promises are of a person.")
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(help="With --rows: they are a secret random sample of so many records."),
    ] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            help="Of a mechanism: say α per unit of distance between categories; path for ordered "
            "ones, or a CSV file of distances."
        ),
    ] = None,
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Say the smallest α of a mechanism, decided in integers, and where it is attained.

    Of protected tables: the central (ε, δ) that is proven, and which people are told apart best.

    With --rows: also the central (ε, δ) that is proven towards whoever reads the whole file, if its
    rows stand in random order, beside the ε that no proof can go below, as an attack shows.

    A CSV matrix is first rounded to exact weights on the private side, as it would be sampled. Of a
    release folder α is that of a person: mechanisms, what private priors spent, and every row; its
    rows need not be told.

    Examples
    --------
      pramble certify region.json --alpha 1

      pramble certify ages.json --distance path --alpha 0.25

      pramble certify out --epsilon 1

      pramble certify plan.json --rows 1000000 --delta 1e-6

      pramble certify plan.json --rows 100000 --population 19000000 --epsilon 0.1
    """
    asked = Asked(rows, delta, epsilon, rows_per_person, population)
    given = read_source(source, verify)
    if (tables := table_plan_of(given)) is not None:
        certify_tables(tables, asked, alpha=alpha, distance=distance, as_json=as_json)
        return
    if distance is not None:
        certificate = by_distance(given, distance, rows=rows)
    else:
        certificate = certified(given, asked)
    central = proven_of(given, certificate, asked)
    satisfied = None if alpha is None else certificate.satisfies(alpha)
    if as_json:
        document = {**local_document(certificate), "asked": alpha, "satisfied": satisfied}
        print_json({**document, "central": central_document(central, epsilon)})
    else:
        answers().print(str(certificate), soft_wrap=True)
        if certificate.distance is not None:
            answers().print(distance_sentence(certificate.distance, certificate.alpha))
        if satisfied is not None:
            verdict = "is" if satisfied else "is not"
            answers().print(f"α = {alpha:g} {verdict} satisfied.")
        for sentence in central_sentences(certificate, central, epsilon):
            answers().print(sentence, soft_wrap=True)
    unproven = central is not None and epsilon is not None and central.epsilon > epsilon
    if satisfied is False or unproven:
        raise typer.Exit(1)


def by_distance(given: Any, distance: str, *, rows: int | None) -> Certificate:
    """Return the certificate of a mechanism per unit of distance."""
    if not isinstance(given, pramble.Mechanism) or rows is not None:
        raise typer.BadParameter(
            "it goes with a single mechanism, and without --rows", param_hint="--distance"
        )
    apart, _ = read_distance(distance, given.categories)
    return pramble.certify(given, distance=apart)


def read_source(source: Path, verify: Path | None) -> Any:
    """Return what is certified: a release, a mechanism or a plan."""
    if source.is_dir():
        return pramble.open_release(source, verify=verify)
    return read_mechanism_or_plan(source, verify=verify)


def certified(given: Any, asked: Asked) -> Certificate:
    """Return the certificate of a person; a release knows how many rows one has."""
    found = pramble.certify(given)
    if asked.rows_per_person is None:
        return found
    if isinstance(given, pramble.Release):
        raise typer.BadParameter(
            "a release states the rows of a person itself", param_hint="--rows-per-person"
        )
    if asked.rows_per_person < 1:
        raise typer.BadParameter("a person has one row or more", param_hint="--rows-per-person")
    return replace(found, rows=asked.rows_per_person)


def local_document(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate for a script."""
    return {
        "alpha": certificate.alpha,
        "numerator": certificate.numerator,
        "denominator": certificate.denominator,
        "witness": list(certificate.witness),
        "alpha_on_priors": float_above(certificate.besides),
        "rows_per_person": certificate.rows,
    }
