"""``pramble release``: file in, release folder out; and ``audit`` and ``dossier`` of the folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble import numbers
from pramble.cli.console import (
    attributes,
    messages,
    print_answer,
    show,
    shown_progress,
    without_remarks,
)
from pramble.cli.inputs import (
    AsJson,
    Confidential,
    PlanFile,
    Settings,
    Text,
    listed_names,
    new_file,
    new_folder,
    option,
    person_in,
    plan_option,
    tables_in,
    with_settings,
)
from pramble.outcome import ReleaseOutcome
from pramble.privacy.promise import CentralPromise
from pramble.releasing.folder.build import LockedKey, private_key
from pramble.releasing.folder.layout import SYNTHETIC
from pramble.releasing.folder.open import Release
from pramble.report.outcome_text import release_text
from pramble.words import visible

SHOWN = (
    "name", "alpha", "alpha_prior", "change_expected", "information", "information_bound",
    "entropy", "retained", "share", "standard_error",
)  # fmt: skip


def release(
    source: Confidential,
    out: Annotated[
        Path | None, option("The folder to make.", "--out", "-o", callback=new_folder)
    ] = None,
    plan: PlanFile = None,
    columns: Annotated[Text, option("Columns to randomise: a,b,c.")] = None,
    alpha: Annotated[float | None, plan_option("alpha")] = None,
    central: Annotated[float | None, plan_option("central")] = None,
    delta: Annotated[float | None, plan_option("delta")] = None,
    prior: Annotated[Text, plan_option("prior", "private, uniform, public or confidential")] = None,
    design: Annotated[Text, plan_option("design", "tables, records or columns")] = None,
    tables: Annotated[Text, plan_option("tables", "such as a+b,a+c")] = None,
    drop: Annotated[Text, plan_option("drop", "a,b,c")] = None,
    person: Annotated[Text, plan_option("person", "a,b, or false")] = None,
    rows_per_person: Annotated[int | None, plan_option("rows_per_person")] = None,
    allow: Annotated[Text, plan_option("allow", "a,b,c")] = None,
    shuffle: Annotated[bool, plan_option("shuffle", "", "--shuffle")] = False,
    given: Settings = None,
    dry_run: Annotated[bool, option("Do everything but write.", "--dry-run")] = False,
    ledger: Annotated[
        Path | None, option("Ledger file; $PRAMBLE_LEDGER or your own by default.")
    ] = None,
    no_ledger: Annotated[
        bool, option("Do not record this release in the ledger.", "--no-ledger")
    ] = False,
    budget: Annotated[float | None, option("Refuse to pass this α over all releases.")] = None,
    key_file: Annotated[
        Path | None, option("Write the secret key here; by default nowhere.", callback=new_file)
    ] = None,
    sign: Annotated[Path | None, option("Sign with this private key (Ed25519, PEM).")] = None,
    as_json: AsJson = False,
) -> None:
    """Protect columns of a confidential file in a folder that may be published.

    With --alpha every other column is released as it is, unless dropped. Next to a plan, options
    take the place of what it says; --columns then names some of its columns, and the others are
    dropped.

    Examples
    --------
      pramble release people.parquet --out out --columns sex,age,region --alpha 3

      pramble init people.parquet --out plan.toml

      pramble release people.parquet --out out --plan plan.toml --dry-run

      pramble release people.parquet --out out --plan plan.toml --alpha 3 --columns sex,age

      pramble release people.parquet --out out --columns sex,age,region --central 1 --drop id

      pramble release people.parquet --out out --plan plan.toml --set copies=csv,stata
    """
    if out is None and not dry_run:
        raise typer.BadParameter("say where the release goes, or --dry-run", param_hint="--out")
    if plan is None and columns is None:
        raise typer.BadParameter("give --plan or --columns", param_hint="--plan")
    options = {
        "columns": listed_names(columns),
        "alpha": alpha,
        "central": central,
        "delta": delta,
        "prior": prior,
        "design": design,
        "tables": tables_in(tables),
        "drop": listed_names(drop),
        "person": person_in(person),
        "rows_per_person": rows_per_person,
        "allow": listed_names(allow),
        "shuffle": shuffle or None,
    }
    settings = with_settings(options, given)
    # The passphrase is asked for before the work, while somebody is there.
    signer = sign and unlocked(sign)
    with shown_progress() as progress, without_remarks():
        result = pramble.release(
            source,
            # A dry run has no folder, but checks one as a release does.
            out or Path("unwritten"),
            plan=plan,
            dry_run=dry_run,
            key_file=key_file,
            sign=signer,
            ledger=False if no_ledger else True if ledger is None else ledger,
            budget=budget,
            progress=progress,
            **settings,
        )
    outcome = outcome_of(result)
    print_answer(as_json, lambda: release_document(result), *release_lines(result))
    if not as_json:
        for warning in outcome.warnings:
            messages().print(f"warning: {warning}", style="yellow", soft_wrap=True)


def unlocked(path: Path) -> Any:
    """Return a signing key: its file, or the key itself once its passphrase was asked for."""
    try:
        private_key(path)
    except LockedKey:
        asked = typer.prompt(f"Passphrase of {visible(path.name)}", hide_input=True, err=True)
        return private_key(path, asked.encode())
    return path


def outcome_of(result: Release) -> ReleaseOutcome:
    """Return the outcome, which a release made by this command always has."""
    assert result.outcome is not None
    return result.outcome


def release_lines(result: Release) -> Iterator[Any]:
    """Yield what was done, or would be."""
    outcome = outcome_of(result)
    heading = "Dry run: nothing was written" if outcome.dry_run else f"Released to {result.folder}"
    yield f"{heading}: {outcome.rows:,} rows, {promise_text(outcome)}"
    yield from release_text(outcome, hint=": --json")
    if not outcome.dry_run:
        size = numbers.size(outcome.data_bytes)
        yield f"{SYNTHETIC}: complete records, to open and count."
        yield (
            f"{outcome.data_file}: the evidence behind them, to estimate from and not to count. "
            f"{size} in all, in {outcome.seconds:.1f} s."
        )
    yield from (f"checked: {check.name}. {check.detail}" for check in outcome.checks)


def promise_text(outcome: ReleaseOutcome) -> str:
    """Return what is promised, in a few words."""
    local = f"{outcome.spent.number} a {outcome.unit.noun}"
    if outcome.guarantee is outcome.spent:
        return local
    central = f"{outcome.guarantee.number} a {outcome.unit.noun}, against readers"
    return central if outcome.spent.is_unbounded else f"{central} ({local} before shuffling)"


def release_document(result: Release) -> dict[str, Any]:
    """Return the answer for the curator's scripts; checks, risk and warnings are raw figures."""
    outcome = outcome_of(result)
    return {
        "folder": None if result.folder is None else str(result.folder),
        "dry_run": outcome.dry_run,
        "rows": outcome.rows,
        "promise": outcome.guarantee.to_json(),
        "alpha": None if outcome.spent.is_unbounded else outcome.alpha,
        "rows_per_person": outcome.spent.rows,
        "alpha_limit": None if isinstance(outcome.limit, CentralPromise) else outcome.limit.shown,
        "central": None
        if outcome.central is None
        else {**outcome.central.to_json(), "lower": outcome.lower},
        "ledger_total": None
        if outcome.ledger_total is None or outcome.ledger_total.is_unbounded
        else outcome.ledger_total.shown,
        "data_bytes": outcome.data_bytes,
        "seconds": outcome.seconds,
        "columns": [{"prior": c.prior_source, **attributes(c, SHOWN)} for c in outcome.columns],
        "record": outcome.record
        and {
            "prior": outcome.record.prior_source,
            **attributes(outcome.record, ("alpha", "alpha_prior", "branches")),
        },
        "protected": outcome.protected
        and attributes(outcome.protected, ("tables", "noise", "gap", "fit")),
        "tables": [
            {
                "columns": list(one.columns),
                "cells": one.cells,
                "standard_error": one.error,
                "half_width": one.half_width,
                "wanted": one.wanted,
                "noise": one.useless,
            }
            for one in outcome.tables
        ],
        "risk": None if outcome.risk is None else vars(outcome.risk),
        "warnings": list(outcome.warnings),
        "checks": [vars(check) for check in outcome.checks],
    }


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
