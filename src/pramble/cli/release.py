"""``pramble release``: file in, release folder out."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import pramble
from pramble import numbers
from pramble.cli.console import answers, messages, print_json, said_later, shown_progress, table_of
from pramble.cli.inputs import AsJson, names, new_file, new_folder, tables_in
from pramble.errors import InvalidInput
from pramble.information.accuracy import verdict_of, worst_first
from pramble.ledger.book import pair
from pramble.outcome import RecordOutcome, ReleaseOutcome
from pramble.privacy.guarantee import CentralPrivacy
from pramble.releasing.folder.build import LockedKey, private_key
from pramble.releasing.folder.open import Release
from pramble.report.pages import plan_sentences, protected_sentences, table_row
from pramble.words import visible

SHOWN = (
    "name", "alpha", "alpha_prior", "change_expected", "information", "information_bound",
    "entropy", "kept", "share", "standard_error",
)  # fmt: skip
MOST_TABLES = 20
LISTS = ("copies", "risk.keys", "central_budget")
"""Settings that ``--set`` reads as a,b,c."""
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
    prior: Annotated[
        str | None, typer.Option(help="private (default), uniform, public or confidential.")
    ] = None,
    design: Annotated[
        str | None, typer.Option(help="tables (with --central), records (with --alpha), or paper.")
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            help="Tables that readers will want: 1, 2 (default), all, a+b,a+c, or, with --central, "
            "auto: all pairs, and triples chosen privately from the file."
        ),
    ] = None,
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
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Release the rows in a random order.")
    ] = False,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any other setting of a plan: family=general, copies=csv,stata, "
            "risk.population_size=20000. Give it as often as you like.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but write.")] = False,
    ledger: Annotated[Path | None, typer.Option(help="Ledger file; your own by default.")] = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Enter it nowhere.")] = False,
    budget: Annotated[
        float | None, typer.Option(help="Refuse to pass this α over all releases.")
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(callback=new_file, help="Write the secret key here; by default nowhere."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Sign with this private key (Ed25519, PEM).")
    ] = None,
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

      pramble release people.parquet --out out --plan plan.toml --set copies=csv,stata
    """
    if out is None and not dry_run:
        raise typer.BadParameter("say where the release goes, or --dry-run", param_hint="--out")
    if plan is None and columns is None:
        raise typer.BadParameter("give --plan or --columns", param_hint="--plan")
    settings: dict[str, Any] = {
        "columns": listed(columns),
        "alpha": alpha,
        "central": central,
        "delta": delta,
        "prior": prior,
        "design": design,
        "tables": None if tables is None else tables_in(tables),
        "drop": listed(drop),
        "person": person,
        "rows_per_person": rows_per_person,
        "allow": listed(allow),
        "shuffle": shuffle or None,
    }
    settings = with_settings(settings, given or [])
    signer = sign and unlocked(sign)
    with shown_progress() as progress, said_later():
        result = pramble.release(
            source,
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


def with_settings(options: Mapping[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """Return options that were stated, and settings such as ``risk.population_size=20000``.

    A setting is written as in a plan, but a text needs no quotes, and a list may be a,b,c.

    >>> with_settings({"columns": ["age"], "alpha": None}, ["columns.age.family=general"])
    {'columns': {'age': {'family': 'general'}}}
    """
    stated = {name: own for name, own in options.items() if own is not None}
    for text in given:
        name, sign, words = text.partition("=")
        if not sign:
            raise InvalidInput(f"A setting must read like family=general; found {text!r}.")
        merge(stated, setting_in(name.strip(), words.strip()))
    return stated


def setting_in(name: str, words: str) -> dict[str, Any]:
    """Return one setting, nested as its name has dots."""
    texts = json.dumps(words.split(",") if name in LISTS else words)
    for line in (f"{name} = {words}", f"{name} = {texts}"):
        with suppress(tomllib.TOMLDecodeError):
            return tomllib.loads(line)
    raise InvalidInput(f"A setting must read like family=general; found {name!r}.")


def merge(settings: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Take more settings into nested ones; columns that are listed become tables of settings."""
    for name, own in more.items():
        known = settings.get(name)
        if isinstance(known, list) and isinstance(own, Mapping):
            known = settings[name] = {column: {} for column in known}
        if isinstance(known, dict) and isinstance(own, Mapping):
            merge(known, own)
        else:
            settings[name] = own


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


def record_document(record: RecordOutcome) -> dict[str, Any]:
    """Return the figures of a plan for records."""
    return {
        "alpha": record.alpha,
        "alpha_prior": record.alpha_prior,
        "prior": record.prior_source,
        "branches": record.branches,
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
