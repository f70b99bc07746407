"""``pramble init``: a first plan for a file."""

from pathlib import Path
from typing import Annotated

import typer

from pramble.cli.console import VERBOSITY, messages, visible
from pramble.data.open import open_records
from pramble.errors import InvalidInput
from pramble.releasing.decisions.draft import draft_decisions
from pramble.releasing.decisions.looks import look_at


def init(
    source: Annotated[Path, typer.Argument(help="The confidential file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The plan to write.")] = Path(
        "plan.toml"
    ),
    accept: Annotated[
        bool,
        typer.Option(
            "--accept-seen",
            help="Take the values that occur as the categories, without asking.",
        ),
    ] = False,
    decline: Annotated[
        bool, typer.Option("--decline-seen", help="Leave all categories for you to declare.")
    ] = False,
    alpha: Annotated[float, typer.Option(help="Privacy in total for a record (ε).")] = 2.0,
) -> None:
    """Write a commented plan from a file's columns, for you to edit.

    Columns that look like identifiers, free text, numbers or dates are not randomised; they go on
    the list of columns to drop. Values that were only seen in the data become categories only if
    you accept them, because a release reveals its categories.

    Examples
    --------
      pramble init people.parquet

      pramble init people.csv --out plan.toml --accept-seen
    """
    if out.exists():
        raise InvalidInput(f"{str(out)!r} exists already; choose another name with --out.")
    records = open_records(source)
    looks = look_at(records)
    accepted = []
    for look in looks:
        if look.kind != "categorical":
            messages().print(
                f"{look.name}: {look.kind} ({look.reason}); not randomised, dropped",
                soft_wrap=True,
            )
        elif accept or (not decline and asked(look.name, look.labels)):
            accepted.append(look.name)
    text = draft_decisions(
        looks, accepted=accepted, alpha=alpha, reading=records.reading, propose=True
    )
    out.write_text(text, encoding="utf-8")
    messages().print(f"Wrote {out}. Read it, edit it, then: pramble release --plan {out} …")


def asked(name: str, labels: tuple[object, ...]) -> bool:
    """Ask whether the values seen in a column are all there can be."""
    shown = ", ".join(str(label) for label in labels[:8]) + (", …" if len(labels) > 8 else "")
    listed = shown if VERBOSITY.values else "pramble --show-values lists them"
    return typer.confirm(
        visible(f"{name}: {len(labels)} values seen ({listed}). Take them as its categories?"),
        default=False,
        err=True,
    )
