"""``pramble release``: file in, release folder out."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import pramble
from pramble import numbers
from pramble.cli.console import answers, messages, print_json, said_later, shown_progress, table_of
from pramble.cli.design_records import wanted_tables
from pramble.cli.options import AsJson, Impossible, names, new_file, new_folder, rules
from pramble.information.accuracy import verdict_of, worst_first
from pramble.ledger.account import as_central
from pramble.ledger.budgets import pair
from pramble.outcome import RecordOutcome, ReleaseOutcome
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.releasing.folder.open import Release
from pramble.releasing.folder.reading import LockedKey, private_key
from pramble.report.details import loss_sentence, plan_sentences, protected_sentences
from pramble.report.pages import table_row
from pramble.words import visible

SHOWN = (
    "name", "alpha", "alpha_prior", "change_expected", "information", "information_bound",
    "entropy", "kept", "share", "standard_error",
)  # fmt: skip
MOST_TABLES = 20
TABLE_HEADINGS = ("table", "95 % interval", "typical cell", "cells", "smallest group")
HEADINGS = ("column", "α", "prior", "changed", "information kept", "of the most possible")


def release(
    source: Annotated[Path, typer.Argument(help="The confidential file, of any known format.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", callback=new_folder, help="The folder to make.")
    ] = None,
    plan: Annotated[Path | None, typer.Option(help="A plan, as `pramble init` writes.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns to randomise: a,b,c.")] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Privacy in total for a person (ε), whatever happens to the file."),
    ] = None,
    central: Annotated[
        float | None,
        typer.Option(help="Central ε against readers, instead of --alpha: protected tables."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="δ of the central promise; 1e-6 by default.")
    ] = None,
    synthetic: Annotated[
        bool,
        typer.Option("--synthetic", help="Write complete records, drawn from the release, beside."),
    ] = False,
    prior: Annotated[
        str | None, typer.Option(help="private (default), uniform, public or confidential.")
    ] = None,
    prior_file: Annotated[str | None, typer.Option(help="Public margins or another file.")] = None,
    family: Annotated[
        str | None, typer.Option(help="uniform, general, response or circle.")
    ] = None,
    objective: Annotated[str | None, typer.Option(help="information or estimation.")] = None,
    split: Annotated[str | None, typer.Option(help="equal, weights or optimal.")] = None,
    design: Annotated[
        str | None,
        typer.Option(help="tables (with --central), records (with --alpha), or paper."),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            help="Tables that readers will want: 1, 2 (default), all, a+b,a+c, or, with --central, "
            "auto: all pairs, and triples chosen privately from the file."
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Every record keeps all its columns: no blanks.")
    ] = False,
    impossible: Impossible = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out: a,b,c.")] = None,
    person: Annotated[
        str | None, typer.Option(help="Column that says whose row it is, if people have several.")
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(help="Most rows of one person; counted by --person.")
    ] = None,
    allow: Annotated[
        str | None,
        typer.Option(help="Columns to release although they tell protected ones: a,b,c."),
    ] = None,
    output: Annotated[
        str | None, typer.Option("--format", help="parquet (default), csv, tsv or arrow.")
    ] = None,
    rows_per_file: Annotated[
        int | None,
        typer.Option(help="Write the data as files of so many rows each (multiples of 131072)."),
    ] = None,
    copies: Annotated[
        str | None,
        typer.Option(help="The same records again for other programs: csv,stata,spss,excel."),
    ] = None,
    no_scripts: Annotated[
        bool, typer.Option("--no-scripts", help="Write no analysis.py and analysis.R.")
    ] = False,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Release the rows in a random order.")
    ] = False,
    keys: Annotated[str | None, typer.Option(help="Report the risk for these keys: a,b,c.")] = None,
    population: Annotated[int | None, typer.Option(help="Size of the population.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but write.")] = False,
    ledger: Annotated[Path | None, typer.Option(help="Ledger file; your own by default.")] = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Enter it nowhere.")] = False,
    people: Annotated[
        str | None, typer.Option(help="Name of the people, if several files hold the same.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Refuse to pass this α over all releases.")
    ] = None,
    central_budget: Annotated[
        str | None, typer.Option(help="Refuse to pass this central ε,δ over all releases.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(callback=new_file, help="Write the secret key here; by default nowhere."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Sign with this private key (Ed25519, PEM).")
    ] = None,
    confidential: Annotated[
        bool,
        typer.Option(
            "--i-know-the-design-reveals-the-prior",
            help="Allow a prior counted on the confidential file.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Protect columns of a confidential file in a folder that may be published.

    With --alpha every other column is released as it is, unless dropped. Beside a plan, options
    take the place of what it says; --columns then names some of its columns, and the others are
    dropped.

    Examples
    --------
      pramble release people.parquet --out out --columns sex,age,region --alpha 3

      pramble init people.parquet --out plan.toml

      pramble release people.parquet --out out --plan plan.toml --dry-run

      pramble release people.parquet --out out --plan plan.toml --alpha 3 --columns sex,age

      pramble release people.parquet --out out --columns sex,age,region --central 1 --drop id
    """
    if out is None and not dry_run:
        raise typer.BadParameter("say where the release goes, or --dry-run", param_hint="--out")
    if plan is None and columns is None:
        raise typer.BadParameter("give --plan or --columns", param_hint="--plan")
    settings: dict[str, Any] = {
        "columns": listed(columns),
        "central": central,
        "delta": delta,
        "synthetic": synthetic or None,
        "prior": prior,
        "prior_file": prior_file,
        "family": family,
        "objective": objective,
        "split": split,
        "design": design,
        "tables": None if tables is None else wanted_tables(tables),
        "whole": whole or None,
        "possible": rules(impossible or []) or None,
        "drop": listed(drop),
        "person": person,
        "rows_per_person": rows_per_person,
        "allow": listed(allow),
        "output": output,
        "rows_per_file": rows_per_file,
        "copies": listed(copies),
        "scripts": False if no_scripts else None,
        "shuffle": shuffle or None,
        "risk": risk_settings(keys, population),
    }
    signer = sign and unlocked(sign)
    with shown_progress() as progress, said_later():
        result = pramble.release(
            source,
            out or Path("unwritten"),
            plan=plan,
            alpha=alpha,
            dry_run=dry_run,
            key_file=key_file,
            sign=signer,
            ledger=False if no_ledger else True if ledger is None else ledger,
            people=people,
            budget=budget,
            central_budget=None if central_budget is None else as_pair(central_budget),
            confidential_prior_allowed=confidential,
            progress=progress,
            **{name: value for name, value in settings.items() if value is not None},
        )
    if as_json:
        print_json(as_document(result))
    else:
        show(result)


def unlocked(path: Path) -> Any:
    """Return a signing key: its file, or the key itself once its passphrase was asked for."""
    try:
        private_key(path)
    except LockedKey:
        asked = typer.prompt(f"Passphrase of {visible(path.name)}", hide_input=True, err=True)
        return private_key(path, asked.encode())
    return path


def listed(text: str | None) -> list[str] | None:
    """Return the names in a comma-separated list, where there is one."""
    return None if text is None else names([text])


def risk_settings(keys: str | None, population: int | None) -> dict[str, Any] | None:
    """Return the risk table of a plan."""
    if keys is None:
        return None
    size = {} if population is None else {"population_size": population}
    return {"keys": names([keys]), **size}


def outcome_of(result: Release) -> ReleaseOutcome:
    """Return the outcome, which a release made by this command always has."""
    assert result.outcome is not None
    return result.outcome


def show(result: Release) -> None:
    """Print what was done, or would be."""
    outcome, console = outcome_of(result), answers()
    heading = "Dry run: nothing was written" if outcome.dry_run else f"Released to {result.folder}"
    console.print(f"{heading}: {outcome.rows:,} rows, {promise_text(outcome)}", style="bold")
    if outcome.protected is not None:
        for sentence in protected_sentences(outcome.protected):
            console.print(sentence, soft_wrap=True)
    elif outcome.record is None:
        console.print(column_table(outcome))
    else:
        show_record(outcome.record)
    if outcome.tables:
        show_worth(outcome)
    if outcome.risk:
        risk = outcome.risk
        console.print(
            f"Risk ({risk.model}, {risk.sample_uniques:,} sample uniques): expected right matches "
            f"{numbers.expected(risk.tau2_before)} before, "
            f"{numbers.expected(risk.tau2_after)} after.",
            soft_wrap=True,
        )
    size, wait = numbers.size(outcome.data_bytes), f"{outcome.seconds:.1f} s"
    console.print(
        f"It would need about {size} of disk and {wait}."
        if outcome.dry_run
        else f"{outcome.data_file}: {size}, in {wait}."
    )
    for check in outcome.checks:
        console.print(f"checked: {check.name}. {check.detail}", soft_wrap=True)
    for warning in outcome.warnings:
        messages().print(f"warning: {warning}", style="yellow", soft_wrap=True)


def promise_text(outcome: ReleaseOutcome) -> str:
    """Return what is promised, in a few words."""
    local = f"α = {outcome.alpha:.6g} a {outcome.guarantee.unit}"
    if outcome.central is None:
        return local
    if outcome.protected is not None:
        return f"{pair(outcome.central)} a {outcome.guarantee.unit}, against readers"
    return f"{pair(outcome.central)} against readers ({local} before shuffling)"


def as_pair(text: str) -> tuple[float, float]:
    """Return ε and δ from a text such as 2,1e-5."""
    most = as_central(text.split(","))
    return most.shown, most.shown_delta


def column_table(outcome: ReleaseOutcome) -> Table:
    """Return what each column keeps, where columns were designed one by one."""
    table = table_of(None, *HEADINGS, left={"column", "prior"})
    for c in outcome.columns:
        table.add_row(
            c.name,
            f"{c.alpha:.4g}",
            c.prior_source,
            f"{c.change_expected:.1%}",
            numbers.share_text(c.kept),
            numbers.share_text(c.share),
        )
    return table


def show_worth(outcome: ReleaseOutcome) -> None:
    """Print what single columns and the wanted tables will be worth, and what they are good for."""
    console = answers()
    table = table_of(
        "What tables will be worth, widest for their cells first", *TABLE_HEADINGS, left={"table"},
        title_justify="left",
    )  # fmt: skip
    for one in worst_first(outcome.tables)[:MOST_TABLES]:
        row = table_row(one)
        noise = "noise" if row["bad"] else row["group"]
        table.add_row(row["name"], row["error"], row["typical"], row["cells"], noise)
    console.print(table)
    if len(outcome.tables) > MOST_TABLES:
        console.print(f"{len(outcome.tables) - MOST_TABLES} more, narrower: see --json.")
    verdict = verdict_of(outcome.tables)
    for sentence in filter(None, (verdict.good or "Nothing useful is left.", verdict.bad)):
        console.print(sentence, soft_wrap=True)


def show_record(record: RecordOutcome) -> None:
    """Print what is done to a record."""
    console = answers()
    for sentence in plan_sentences(record):
        console.print(sentence, soft_wrap=True)
    console.print(f"Prior: {record.prior_detail}", soft_wrap=True)
    if record.loss is not None:
        console.print(loss_sentence(record.loss), soft_wrap=True)


def record_document(record: RecordOutcome) -> dict[str, Any]:
    """Return the figures of a plan for records; the loss is a raw figure."""
    return {
        "alpha": record.alpha,
        "alpha_prior": record.alpha_prior,
        "prior": record.prior_source,
        "branches": record.branches,
        "loss": record.loss,
    }


def as_document(result: Release) -> dict[str, Any]:
    """Return the answer for the curator's scripts; checks, risk and warnings are raw figures."""
    outcome = outcome_of(result)
    return {
        "folder": None if result.folder is None else str(result.folder),
        "dry_run": outcome.dry_run,
        "rows": outcome.rows,
        "alpha": None if outcome.guarantee.is_none else outcome.alpha,
        "rows_per_person": outcome.guarantee.rows,
        "alpha_limit": None if isinstance(outcome.limit, CentralPrivacy) else outcome.limit.shown,
        "central": None
        if outcome.central is None
        else {**outcome.central.to_json(), "lower": outcome.lower},
        "ledger_total": None
        if outcome.ledger_total is None or outcome.ledger_total.is_none
        else outcome.ledger_total.shown,
        "data_bytes": outcome.data_bytes,
        "seconds": outcome.seconds,
        "columns": [
            {"prior": c.prior_source, **{name: getattr(c, name) for name in SHOWN}}
            for c in outcome.columns
        ],
        "record": outcome.record and record_document(outcome.record),
        "protected": outcome.protected
        and {
            "tables": outcome.protected.tables,
            "noise": outcome.protected.noise,
            "gap": outcome.protected.gap,
            "fit": outcome.protected.fit,
        },
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
