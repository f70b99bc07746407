"""``pramble certify``: how private is exactly what will be sampled."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.certify_central import Asked, central_document, central_sentences, proven_of
from pramble.cli.certify_tables import certify_tables, table_plan_of
from pramble.cli.console import answers, print_json
from pramble.cli.matrix_file import read_distance
from pramble.cli.options import AsJson, Verify
from pramble.cli.plans import read_mechanism_or_plan
from pramble.privacy.certificate import Certificate, distance_sentence
from pramble.privacy.guarantee import float_above


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
    given = opened(source, verify)
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


def opened(source: Path, verify: Path | None) -> Any:
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
