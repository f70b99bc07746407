"""``pramble certify``: how private is exactly what will be sampled."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pramble.cli.console import answers, print_json
from pramble.errors import InvalidMechanism


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
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Say the smallest α of a mechanism, decided in integers, and where it is attained.

    A CSV matrix is first rounded to exact weights on the private side, as it would be sampled.

    Examples
    --------
      pramble certify region.json --alpha 1
    """
    import pramble

    certificate = pramble.certify(read(source))
    satisfied = None if alpha is None else certificate.satisfies(alpha)
    if as_json:
        print_json(
            {
                "alpha": certificate.alpha,
                "numerator": certificate.numerator,
                "denominator": certificate.denominator,
                "witness": list(certificate.witness),
                "asked": alpha,
                "satisfied": satisfied,
            }
        )
    else:
        answers().print(str(certificate), markup=False, soft_wrap=True)
        if satisfied is not None:
            verdict = "is" if satisfied else "is not"
            answers().print(f"α = {alpha:g} {verdict} satisfied.", markup=False)
    if satisfied is False:
        raise typer.Exit(1)


def read(source: Path) -> Any:
    """Return a mechanism, or a mapping from columns to mechanisms."""
    if source.is_dir() or source.name == "manifest.json":
        from pramble.cli.risk_options import read_plan

        return read_plan(source)
    if source.suffix.lower() == ".csv":
        from pramble.mechanisms.csv_form import read_csv

        return readable(source, read_csv)
    return readable(source, read_json)


def readable(source: Path, reader: Any) -> Any:
    """Return what a reader makes of a file; a file that cannot be read is no mechanism."""
    try:
        return reader(source)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidMechanism(f"Cannot read a mechanism from {str(source)!r}: {error}.") from None


def read_json(source: Path) -> Any:
    """Return the mechanism of a JSON file, or the mechanisms of a plan by column."""
    from pramble.mechanisms.base import Mechanism

    document = json.loads(source.read_text(encoding="utf-8"))
    if isinstance(document, dict) and "kind" not in document:
        return {name: Mechanism.from_json(part) for name, part in document.items()}
    return Mechanism.from_json(document)
