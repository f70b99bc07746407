"""``pramble certify``: how private is exactly what will be sampled."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.console import attributes, print_answer
from pramble.cli.inputs import AsJson, Text, Verify, option, read_plan
from pramble.errors import PrivacyError
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.central import CentralGuarantee
from pramble.privacy.certificate import Certificate, distance_sentence
from pramble.privacy.gaussian import float_above, float_below
from pramble.privacy.table_privacy import TableGuarantee, table_guarantee
from pramble.releasing.spec.spec import DELTA

Proven = CentralGuarantee | TableGuarantee


def certify(
    source: Annotated[
        Path,
        typer.Argument(
            help="A mechanism or plan (JSON), a labelled matrix (CSV), or a release folder.",
            show_default=False,
        ),
    ],
    alpha: Annotated[
        float | None, option("Ask whether this α is satisfied; exit 1 if not.")
    ] = None,
    rows: Annotated[
        int | None, option("Say the central promise, too: so many rows, shuffled together.")
    ] = None,
    delta: Annotated[
        float | None,
        option("With --rows, or of tables: δ of the central promise; 1e-6 by default."),
    ] = None,
    epsilon: Annotated[
        float | None,
        option("With --rows, or of tables: ask if this ε is proven; exit 1 if not."),
    ] = None,
    distance: Annotated[
        Text,
        option("Of a mechanism: path for ordered categories, to say α per step between them."),
    ] = None,
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Say the smallest α of a mechanism, decided in integers, and where it is attained.

    Of protected tables: the central (ε, δ) that is proven, and which people are distinguished best.

    With --rows: also the central (ε, δ) that is proven against readers of the whole file, if its
    rows stand in random order, and the ε that no proof can go below, as an attack shows.

    A CSV matrix is first rounded to exact weights on the private side, as it would be sampled. Of a
    release folder α is that of a person: mechanisms, what private priors spent, and every row; the
    number of its rows is known.

    Examples
    --------
      pramble certify region.json --alpha 1

      pramble certify ages.json --distance path --alpha 0.25

      pramble certify out --epsilon 1

      pramble certify plan.json --rows 1000000 --delta 1e-6
    """
    given: Any = (
        pramble.open_release(source, verify=verify)
        if source.is_dir()
        else read_plan(source, verify=verify)
    )
    is_release = isinstance(given, pramble.Release)
    plan = given.plan if is_release else given
    certificate: Certificate | None = None
    central: Proven | None = None
    if isinstance(plan, TablePlan):
        if alpha is not None or distance is not None:
            raise PrivacyError(NO_LOCAL)
        if rows is not None:
            raise typer.BadParameter(
                "leave it out: the promise of protected tables does not depend on it",
                param_hint="--rows",
            )
        central = table_guarantee(plan, delta=delta)
    else:
        if distance is not None and (rows is not None or not isinstance(given, pramble.Mechanism)):
            raise typer.BadParameter(
                "it goes with a single mechanism, and without --rows", param_hint="--distance"
            )
        certificate = pramble.certify(given, distance=distance)
        if is_release:
            asked = (rows, delta, epsilon) != (None,) * 3
            rows, delta = promised_rows(given, rows, delta, is_asked=asked)
        elif rows is None and (delta is not None or epsilon is not None):
            name = "--epsilon" if delta is None else "--delta"
            raise typer.BadParameter(f"{name} goes with --rows", param_hint=name)
        if rows is not None:
            central = pramble.central_guarantee(
                plan,
                rows=rows,
                delta=DELTA if delta is None else delta,
                rows_per_person=certificate.rows,
            )
    found = {
        **(local_document(certificate, alpha) if certificate else {"alpha": None}),
        "central": central and central_document(central, epsilon),
        **({"unit": given.unit.to_json()} if is_release else {}),
    }
    whose = [given.unit.sentence()] if is_release else []
    print_answer(as_json, lambda: found, *whose, *sentences(certificate, central, alpha, epsilon))
    # Scripts ask by the exit code: what is not proven is not satisfied.
    if found.get("satisfied") is False or (central and found["central"]["proven"] is False):
        raise typer.Exit(1)


NO_LOCAL = (
    "Protected tables make no promise against whoever handles the file, so that there is no α to "
    "ask for: --epsilon and --delta ask for their central promise."
)
UNSHUFFLED = (
    "This release makes no central promise: its rows stand in the order of the source, a column is "
    "released as it is, or its plan follows from a private prior. Release with --central for one."
)


def promised_rows(
    release: pramble.Release, rows: int | None, delta: float | None, *, is_asked: bool
) -> tuple[int | None, float | None]:
    """Return the rows and δ of the central promise that a release makes; none of one without."""
    if release.central is None:
        if is_asked:
            raise PrivacyError(UNSHUFFLED)
        return None, None
    own = release.manifest["rows"]
    if rows not in {None, own}:
        raise typer.BadParameter(f"the release has {own:,} rows", param_hint="--rows")
    # Rounded down, so that the ε which is proven is not that of a larger δ.
    return max(own, 1), float_below(release.central.delta) if delta is None else delta


def sentences(
    certificate: Certificate | None,
    central: Proven | None,
    alpha: float | None,
    epsilon: float | None,
) -> Iterator[Any]:
    """Yield what is promised in plain words, and what was asked of α and ε."""
    yield certificate or central
    if certificate is not None:
        if certificate.distance is not None:
            yield distance_sentence(certificate.distance, certificate.alpha)
        if alpha is not None:
            verdict = "is" if certificate.satisfies(alpha) else "is not"
            yield f"α = {alpha:g} {verdict} satisfied."
        if central is not None and not math.isinf(certificate.alpha):
            yield f"Local: {certificate.promise.sentence()}"
    if central is not None:
        yield f"Central: {central.sentence()}"
        if epsilon is not None:
            yield verdict_on(epsilon, central)


def verdict_on(epsilon: float, proven: Proven) -> str:
    """Say whether an ε is proven, refuted, or neither."""
    at = f"ε = {epsilon:g} at δ = {proven.delta:.3g}"
    if proven.epsilon <= epsilon:
        return f"{at} is proven."
    if not is_refuted(epsilon, proven):
        return f"{at} is neither proven nor refuted; take it as not satisfied."
    if isinstance(proven, CentralGuarantee):
        return f"{at} is not satisfied: an attack does better."
    columns = ", ".join(proven.worst)
    return f"{at} is not satisfied: people who differ in {columns} are easier to distinguish."


def is_refuted(epsilon: float, proven: Proven) -> bool:
    """Whether an attack, or a pair of people, does better than an ε."""
    if isinstance(proven, CentralGuarantee):
        return epsilon < proven.lower
    # The proven ε of tables is exact where two people attain it: none below it holds.
    return epsilon < proven.epsilon and proven.attained


def local_document(certificate: Certificate, alpha: float | None) -> dict[str, Any]:
    """Return the promise of a certificate for a script, and what was asked of α."""
    return {
        **attributes(certificate, ("alpha", "numerator", "denominator")),
        "witness": list(certificate.witness),
        "alpha_on_priors": float_above(certificate.additional),
        "rows_per_person": certificate.rows,
        "asked": alpha,
        "satisfied": None if alpha is None else certificate.satisfies(alpha),
    }


def central_document(proven: Proven, epsilon: float | None) -> dict[str, Any]:
    """Return a central promise for a script, and what was asked of ε."""
    names = ("lower", "method", "rows", "worst", "attained", "rows_per_person")
    found = {name: getattr(proven, name) for name in names if hasattr(proven, name)}
    if isinstance(proven, TableGuarantee):
        found["mu"] = math.sqrt(float_above(proven.mu_squared))
    return {
        "epsilon": proven.epsilon,
        "delta": proven.delta,
        **found,
        "asked": epsilon,
        "proven": None if epsilon is None else proven.epsilon <= epsilon,
        "refuted": None if epsilon is None else is_refuted(epsilon, proven),
        "sentence": proven.sentence(),
    }
