"""``pramble audit`` and ``pramble dossier``: a release made again, and statements for reviewers."""

from pathlib import Path
from typing import Annotated

import typer

import pramble
from pramble.cli.console import print_answer, show, shown_progress, without_remarks
from pramble.cli.inputs import AsJson, Confidential, PlanFile, option

Folder = Annotated[Path, typer.Argument(help="A release folder.", show_default=False)]


def audit(
    folder: Folder,
    source: Confidential,
    key: Annotated[Path, option("The secret key, as `pramble release --key-file` wrote it.")],
    plan: PlanFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a release again from its source, plan and key, and compare every byte; exit 1 if not.

    The plan is the one that the release states; give it where a part is withheld, such as values
    that were merged. Nothing is published, and no ledger is touched.

    Examples
    --------
      pramble release people.parquet --out out --plan plan.toml --key-file people.key

      pramble audit out people.parquet --key people.key
    """
    with shown_progress() as progress, without_remarks():
        found = pramble.audit(folder, source, key=key, plan=plan, progress=progress)
    print_answer(
        as_json,
        lambda: {
            "folder": found.folder,
            "passed": found.passed,
            "files": [vars(one) for one in found.files],
            "notes": list(found.notes),
        },
        found,
    )
    if not found.passed:
        raise typer.Exit(1)


def dossier(
    folder: Folder,
    out: Annotated[
        Path | None,
        option("The folder to make; NAME-dossier beside the release by default.", "--out", "-o"),
    ] = None,
    ledger: Annotated[
        Path | None, option("Ledger file; $PRAMBLE_LEDGER or your own by default.")
    ] = None,
) -> None:
    """Write what reviewers ask for, from what is published of a release.

    An entry for the registry of differential privacy deployments, statements in the order of NIST
    SP 800-226, a picture of risk against error, and a script that runs Anonymeter on a trial
    release. What no machine can know is marked as to be filled in.

    Examples
    --------
      pramble dossier out

      pramble dossier out --out for-review --ledger office.db
    """
    made = pramble.dossier(folder, out, ledger=ledger)
    show(f"Wrote {made}: {', '.join(sorted(path.name for path in made.iterdir()))}.")
