"""``pramble certify``: how private is exactly what will be sampled."""

from pathlib import Path
from typing import Annotated

import typer

import pramble
from pramble.cli.console import answers, print_json
from pramble.cli.options import AsJson, Verify
from pramble.cli.plans import read_mechanism_or_plan
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
    verify: Verify = None,
    as_json: AsJson = False,
) -> None:
    """Say the smallest α of a mechanism, decided in integers, and where it is attained.

    A CSV matrix is first rounded to exact weights on the private side, as it would be sampled. Of a
    release folder α is that of a person: mechanisms, what private priors spent, and every row.

    Examples
    --------
      pramble certify region.json --alpha 1
    """
    certificate = pramble.certify(
        pramble.open_release(source, verify=verify)
        if source.is_dir()
        else read_mechanism_or_plan(source, verify=verify)
    )
    satisfied = None if alpha is None else certificate.satisfies(alpha)
    if as_json:
        print_json(
            {
                "alpha": certificate.alpha,
                "numerator": certificate.numerator,
                "denominator": certificate.denominator,
                "witness": list(certificate.witness),
                "alpha_on_priors": float_above(certificate.besides),
                "rows_per_person": certificate.rows,
                "asked": alpha,
                "satisfied": satisfied,
            }
        )
    else:
        answers().print(str(certificate), soft_wrap=True)
        if satisfied is not None:
            verdict = "is" if satisfied else "is not"
            answers().print(f"α = {alpha:g} {verdict} satisfied.")
    if satisfied is False:
        raise typer.Exit(1)
