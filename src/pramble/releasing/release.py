"""The verb: the curator's whole job, file in, release folder out."""

import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pramble.data.places import is_address, path_or_place
from pramble.data.recode import as_reading
from pramble.data.records import Records
from pramble.data.remote import on_spark, spark_source
from pramble.engine.keystream import checked_key
from pramble.errors import InvalidInput, InvalidPlan, PrambleWarning
from pramble.information.accuracy import TableOutcome, worst_first
from pramble.ledger.account import Account, open_account, open_book
from pramble.ledger.book import Ledger
from pramble.ledger.entries import file_facts
from pramble.numbers import points
from pramble.outcome import ReleaseOutcome
from pramble.privacy.central import CentralGuarantee
from pramble.releasing.design import risk_figures
from pramble.releasing.folder.build import (
    SIGNATURE,
    building,
    check_contents,
    check_target,
    key_warnings,
    private_key,
    report_path,
    write_key,
    write_private,
)
from pramble.releasing.folder.layout import TABLES_FILE
from pramble.releasing.folder.manifest import manifest_of, manifest_text
from pramble.releasing.folder.open import Release
from pramble.releasing.prepare import Prepared, design_scanned, scan_for
from pramble.releasing.source_labels import open_labelled
from pramble.releasing.spec.document import spec_of, spec_to_toml
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.write.contents import COUNTING, published_files, write_folder
from pramble.releasing.write.copies import check_copies
from pramble.releasing.write.data import bound_key
from pramble.report.pages import report_page
from pramble.values import Reporter, Watcher

# What a call may say beside the settings of a plan.
OF_THE_CALL = ("reading", "key_file", "central_budget", "confidential_prior_allowed")


def release(
    source: Any,
    target: str | Path,
    *,
    columns: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    alpha: float | None = None,
    plan: str | Path | ReleaseSpec | Mapping[str, Any] | None = None,
    dry_run: bool = False,
    key: bytes | None = None,
    sign: Any = None,
    ledger: str | Path | Ledger | bool = True,
    budget: float | None = None,
    pages: bool = True,
    progress: Watcher | None = None,
    spark: Any = None,
    **settings: Any,
) -> Release:
    r"""Protect columns of a confidential file into a folder that may be published.

    Every person gets :math:`\alpha`-differential privacy in the randomised columns together: priors
    and plan spend at most the total, summed exactly over rows. The plan is the best for the tables
    that readers will want (`pramble.design_record`), designed for priors that are uniform, public,
    or private (the default: noisy tables that spend 2 % of α); with ``design="columns"`` each
    column has the best matrix for its part of α. Every other column is released **as it is**,
    unless dropped; one that reveals a protected column is refused unless allowed by name.

    The plan is checked against the whole file before anything is written; the written file is read
    again and compared with the source; and the folder appears under its name complete, or not at
    all.

    Parameters
    ----------
    source : path, frame, reader or mapping
        The confidential records: a file of any known format, a folder or a pattern, or a frame.
        Of a Spark frame the release is written on Spark, in pieces of 2²² rows unless
        ``rows_per_file`` says otherwise: the bytes that one machine writes in such pieces.
    target : str or Path
        The folder to make; it must not exist, or be empty.
    columns : sequence of str, or mapping
        The columns to randomise; a mapping gives settings of each. Categories that
        it does not declare are the values seen in the file, which the release then reveals.
    alpha : float
        α in total for a person (the ε of most of the literature). A person has one row unless
        ``person`` or ``rows_per_person`` says otherwise; each row then gets its part.
    plan : str, Path, ReleaseSpec or mapping
        A plan: a TOML file, or its contents. What is given beside it takes the place of what it
        says; columns are then some of its columns, and its others are dropped.
    dry_run : bool
        Do everything but write: the result's ``outcome`` has the designs and what to expect.
    key : bytes, optional
        32 secret bytes; drawn from the system unless given. The same key repeats the release of
        the same file by the same plan (`pramble.audit`); with another plan or file it gives
        independent bits.
    sign : str, Path or Ed25519PrivateKey, optional
        A private key, as a PEM file that needs no passphrase, or one of `cryptography`: its
        signature of the manifest is written to ``manifest.sig``, which ``open_release`` verifies.
    ledger : str, Path, Ledger or bool
        The ledger that adds up releases of the same people; True is the user's own, False none.
    budget : float, optional
        The most α that all releases of these people together may spend; it is kept with them.
    pages : bool
        Whether to write ``NAME-report.html`` beside the folder, for the curator alone and readable
        by its owner only, and ``summary.html`` in it, which may be published.
    progress : callable, optional
        Called with a `pramble.Progress` now and then.
    spark : SparkSession, optional
        Let the workers of Spark read the Parquet files of a path, and write the release.
    **settings
        Other settings of a plan (:doc:`/plan`): ``central`` and ``delta`` (a promise towards
        those who read the release, instead of α), ``design`` ("tables", "records" or "columns"),
        ``tables`` (2: all pairs; 1, 3, "all", a list of tuples, or "auto"), ``prior``, ``drop``,
        ``person`` (the column that says whose row it is), ``rows_per_person``, ``people`` (their
        name in the ledger) and more. And what is no setting of a plan:

        ``reading`` : Reading or mapping
            How to read the file; what neither this nor the plan says is found out.
        ``key_file`` : str or Path
            Where to write the key, readable by its owner only; it is written nowhere else.
        ``central_budget`` : (float, float)
            The most central ε and δ that these people may spend together, added up.
        ``confidential_prior_allowed`` : bool
            Allow priors counted on the confidential file as they are; the manifest says so.

    Returns
    -------
    Release
        The folder, its manifest, and what was spent.

    Examples
    --------
    >>> import pramble, tempfile, pyarrow.parquet
    >>> folder = tempfile.TemporaryDirectory()
    >>> people = pramble.datasets.synthetic_new_york(2000)
    >>> pyarrow.parquet.write_table(people, folder.name + "/people.parquet")
    >>> r = pramble.release(
    ...     folder.name + "/people.parquet", folder.name + "/out",
    ...     columns=["SEX", "AGE"], alpha=2.0, ledger=False,
    ... )
    >>> r.alpha <= 2.0, sorted(path.name for path in r.folder.iterdir())
    (True, ['analysis.R', 'analysis.py', 'codebook.xml', ...])
    >>> pramble.open_release(r.folder).data.num_rows
    2000
    >>> folder.cleanup()
    """
    reporter = Reporter(progress)
    call = {name: settings.pop(name) for name in OF_THE_CALL if name in settings}
    spec = spec_of(plan, columns, alpha=alpha, settings=settings)
    if call.get("reading") is not None:
        spec = replace(spec, reading=as_reading(call["reading"]))
    signer = private_key(sign) if isinstance(sign, str | Path) else sign
    records, spec, place = open_source(source, spec, target, spark=spark)
    if not dry_run:
        check_target(place)
    secret = checked_key(secrets.token_bytes(32) if key is None else key)
    digest = cache(records.digest)
    prepared, account = prepare_release(
        records,
        spec,
        secret=secret,
        digest=digest,
        ledger=ledger,
        dry_run=dry_run,
        limits={"budget": budget, "central_budget": call.get("central_budget")},
        confidential_allowed=bool(call.get("confidential_prior_allowed")),
        reporter=reporter.part(0.0, COUNTING),
    )
    is_counted = account.ledger is not None
    outcome = expected_outcome(prepared, account, remarks=key_warnings(sign), reporter=reporter)
    for remark in outcome.warnings:
        warnings.warn(remark, PrambleWarning, stacklevel=2)
    if dry_run:
        document = manifest_of(prepared, {}, counted=is_counted, tables=outcome.tables)
        return Release(None, document, prepared.design.plan, outcome)
    entry = account.entered(
        prepared.design.spent,
        columns=list(prepared.design.plan.columns),
        target=place,
        central=prepared.central,
        unit=prepared.unit,
    )
    written: list[Path] = []  # beside the folder: it goes too if the folder cannot be moved
    with entry as publishing, building(place, publishing=publishing, beside=written) as folder:
        bits = key_of_draws(prepared, secret, digest)
        prepared, document, outcome = write_folder(
            prepared,
            folder,
            key=bits,
            counted=is_counted,
            outcome=outcome,
            pages=pages,
            reporter=reporter,
        )
        if signer is not None:
            (folder / SIGNATURE).write_bytes(signer.sign(manifest_text(document).encode()))
        held = check_contents(folder, (*published_files(prepared), SIGNATURE))
        outcome = replace(outcome, checks=(*outcome.checks, held), seconds=reporter.seconds())
        if pages:
            written.append(write_private(report_path(place), report_page(outcome)))
        if call.get("key_file") is not None:
            written.append(write_key(Path(call["key_file"]), secret, release=place))
    reporter.report("done", 1.0)
    return Release(place, document, prepared.design.plan, outcome)


def prepare_release(
    records: Records,
    spec: ReleaseSpec,
    *,
    secret: bytes,
    digest: Callable[[], str],
    ledger: str | Path | Ledger | bool,
    dry_run: bool,
    limits: Mapping[str, Any],
    confidential_allowed: bool,
    reporter: Reporter,
) -> tuple[Prepared, Account]:
    """Count the file, design its release, and find the account that it will be entered in."""
    book, warning = open_book(ledger=ledger, dry_run=dry_run, **limits)
    sketch = None if book is None else book.sketching(records.names, person=spec.person_columns)
    more = [] if sketch is None else [sketch]
    scanned = scan_for(records, spec, secret=secret, more=more, reporter=reporter)
    prepared = design_scanned(
        scanned, spec, confidential_allowed=confidential_allowed, reporter=reporter
    )
    check_copies(prepared)
    account = open_account(
        book,
        file_facts(records, rows=prepared.rows, sketch=None if sketch is None else sketch.result()),
        digest="" if book is None else digest(),
        people=spec.people,
        warning=warning,
        **limits,
    )
    account.check(prepared.design.spent, prepared.central, prepared.unit)
    return prepared, account


def key_of_draws(prepared: Prepared, secret: bytes, digest: Callable[[], str]) -> bytes:
    if prepared.spec.of_tables:  # tables bind the key themselves, where noise is drawn
        return secret
    whole = digest() if prepared.spec.is_shuffled and prepared.untouched else ""
    return bound_key(
        secret, f"{prepared.fingerprint} {whole}", plan=prepared.plan, spec=prepared.spec
    )


def open_source(
    source: Any, spec: ReleaseSpec, target: str | Path, *, spark: Any
) -> tuple[Records, ReleaseSpec, Any]:
    """Return the records, what their place and their values settle of the plan, and the target."""
    source = spark_source(source, spark)
    (records, spec), place = open_labelled(source, spec), path_or_place(target)
    if is_address(place) and set(spec.copies) - {"csv"}:
        raise InvalidPlan(
            "Copies for Stata, SPSS and Excel are written to a folder of this machine; "
            f"{str(place)!r} is an address. Leave them out of copies, or release to a path."
        )
    if records.rows_stay:
        return records, on_spark("spec_on_spark")(spec), place
    if is_address(place):
        raise InvalidInput(
            f"A release is written to an address on Spark; found {str(place)!r}. Give spark=, or "
            "release to a path."
        )
    return records, spec, place


def expected_outcome(
    prepared: Prepared, account: Account, *, remarks: Sequence[str], reporter: Reporter
) -> ReleaseOutcome:
    from pramble import __version__

    asked, before = prepared.spec.risk, account.before()
    risk, tables = None, prepared.design.accuracy(prepared.rows)
    if asked is not None and prepared.keys is not None and not prepared.spec.of_tables:
        risk = risk_figures(prepared.keys, asked, plan=prepared.plan)
    return ReleaseOutcome(
        source=prepared.records.name,
        rows=prepared.rows,
        **{"columns": (), **prepared.design.figures()},
        tables=tables,
        untouched=prepared.untouched,
        dropped=tuple(name for name in prepared.records.names if name in prepared.spec.drop),
        unit=prepared.unit,
        spent=prepared.design.spent,
        central=None if prepared.proof is None else prepared.central,
        lower=prepared.proof.lower if isinstance(prepared.proof, CentralGuarantee) else None,
        limit=prepared.spec.limit,
        warnings=(
            *remarks,
            *noise_warnings(tables),
            *ledger_warnings(prepared, account),
            *prepared.warnings,
        ),
        seen=prepared.seen,
        rare=prepared.rare,
        checks=(),
        risk=risk,
        ledger_total=before + prepared.design.spent if account.ledger else None,
        data_file=TABLES_FILE if prepared.spec.of_tables else str(prepared.file),
        data_bytes=0,
        seconds=reporter.seconds(),
        plan=spec_to_toml(prepared.spec),
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        dry_run=True,
    )


def noise_warnings(tables: Sequence[TableOutcome]) -> list[str]:
    """Say so if more than half of the wanted tables will be noise."""
    wanted = [table for table in tables if table.wanted]
    noise = worst_first([table for table in wanted if table.useless])
    if 2 * len(noise) <= len(wanted):
        return []
    which = f"{len(noise)} of the {len(wanted)} wanted tables" if wanted[1:] else "The wanted table"
    worst = f"{noise[0].name} {noise[0].text} around {points(noise[0].typical)}"
    what = (
        f"{which} will be noise: the 95 % interval of a typical cell is wider than the cell (in "
        f"{worst}). Want fewer tables (tables = 1), protect fewer columns, merge categories, or "
        "promise less: `pramble try` compares promises."
    )
    return [what]


def ledger_warnings(prepared: Prepared, account: Account) -> list[str]:
    before, read = account.before(), account.before_central()
    found = list(filter(None, (account.warning, account.unit_warning(prepared.unit))))
    if before.alpha:
        after = before + prepared.design.spent
        spent, whole = before.number, after.number
        if prepared.proof is not None:
            spent = f"{read.number} against readers ({spent})"
            whole = f"{(read + prepared.central).number} ({whole})"
        if after.is_unbounded:
            spent, whole = read.number, (read + prepared.central).number
        found.append(
            f"These people have spent {spent} in earlier releases; with this one it is {whole}."
        )
    return found
