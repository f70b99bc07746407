"""The verb: the curator's whole job, file in, release folder out."""

import secrets
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pramble.data.places import is_address, path_or_place
from pramble.data.reading import Reading, as_reading
from pramble.data.remote import on_spark, spark_source
from pramble.engine.keystream import checked_key
from pramble.errors import InvalidInput, PrambleWarning
from pramble.ledger.account import Account, open_account, open_book
from pramble.ledger.book import Ledger
from pramble.ledger.budgets import pair
from pramble.ledger.known import file_facts
from pramble.outcome import ReleaseOutcome
from pramble.privacy.shuffled.central import CentralGuarantee
from pramble.releasing.accuracy import table_outcomes
from pramble.releasing.advice import advice
from pramble.releasing.bands import settle_bands
from pramble.releasing.extras.beside import TABLES, published_files
from pramble.releasing.extras.copies import check_copies
from pramble.releasing.extras.synthetic import SYNTHETIC
from pramble.releasing.figures import expected_figures, risk_figures
from pramble.releasing.folder.build import (
    building,
    check_contents,
    check_target,
    report_path,
    write_key,
    write_private,
)
from pramble.releasing.folder.layout import MANIFEST
from pramble.releasing.folder.manifest import manifest_of, manifest_text
from pramble.releasing.folder.open import Release
from pramble.releasing.folder.reading import SIGNATURE, key_warnings, private_key, write_signature
from pramble.releasing.prepare import Prepared, prepare
from pramble.releasing.record_figures import (
    expected_record,
    expected_tables,
    loss_from_noise,
)
from pramble.releasing.repair import source_records
from pramble.releasing.spec.document import spec_of, spec_to_toml
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.write.contents import COUNTING, WRITING, write_folder
from pramble.releasing.write.data import rehearse
from pramble.releasing.write.keys import bound_key
from pramble.releasing.write.tables import write_tables
from pramble.report.pages import SUMMARY, report_page, summary_page
from pramble.values import Clock, Watcher
from pramble.words import several


def release(
    source: Any,
    target: str | Path,
    *,
    columns: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    alpha: float | None = None,
    plan: str | Path | ReleaseSpec | Mapping[str, Any] | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    dry_run: bool = False,
    key: bytes | None = None,
    key_file: str | Path | None = None,
    sign: Any = None,
    ledger: str | Path | Ledger | bool = True,
    people: str | None = None,
    budget: float | None = None,
    central_budget: tuple[float, float] | None = None,
    confidential_prior_allowed: bool = False,
    pages: bool = True,
    progress: Watcher | None = None,
    spark: Any = None,
    **settings: Any,
) -> Release:
    r"""Randomise columns of a confidential file into a folder that may be published.

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
    reading : Reading or mapping, optional
        How to read the file; what neither this nor the plan says is found out.
    dry_run : bool
        Do everything but write: the result's ``outcome`` has the designs and what to expect.
    key : bytes, optional
        32 secret bytes; drawn from the system unless given. The same key repeats the release where
        file and mechanisms are the same; a private prior is drawn anew, and with another mechanism
        or file the same key gives independent bits.
    key_file : str or Path, optional
        Where to write the key, readable by its owner only; it is written nowhere else.
    sign : str, Path or Ed25519PrivateKey, optional
        A private key, as a PEM file that needs no passphrase, or one of `cryptography`: its
        signature of the manifest is written to ``manifest.sig``, which ``open_release`` verifies.
    ledger : str, Path, Ledger or bool
        The ledger that adds up releases of the same people; True is the user's own, False none.
    people : str, optional
        A name for the people in the file, where several files hold the same. A file of the same
        content is known; one that looks like it is asked about.
    budget : float, optional
        The most α that all releases of these people together may spend; it is kept with them.
    central_budget : (float, float), optional
        The most central ε and δ that they may spend together, added up.
    confidential_prior_allowed : bool
        Allow priors counted on the confidential file as they are; the manifest says so.
    pages : bool
        Whether to write ``NAME-report.html`` beside the folder, for the curator alone and readable
        by its owner only, and ``summary.html`` in it, which may be published.
    progress : callable, optional
        Called with a `pramble.Progress` now and then.
    spark : SparkSession, optional
        Let the workers of Spark read the Parquet files of a path, and write the release.
    **settings
        Other settings of a plan: ``central`` and ``delta`` (a promise towards those who read the
        release, instead of α: every released column is randomised, and the rows are shuffled),
        ``tables`` (2: all pairs; 1, 3, "all" or a list of tuples), ``whole``, ``possible`` (rules
        of which records can occur), ``design`` ("tables", "records" or "columns"), ``prior``,
        ``prior_share``,
        ``family``, ``objective``, ``invariant``, ``split``, ``drop``, ``person`` (the column that
        says whose row it is), ``rows_per_person``, ``allow`` (columns to release although they
        tell protected ones), ``output``, ``rows_per_file`` (the data as a folder of files with so
        many rows each), ``copies`` (the same released records once more, as "csv", "stata",
        "spss" or "excel"), ``scripts`` (False: no ``analysis.py`` and ``analysis.R``),
        ``shuffle``, ``synthetic`` (complete records drawn from the release alone beside it),
        ``risk``, ``file``.

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
    (True, ['analysis.R', 'analysis.py', 'data.parquet', 'manifest.json', 'summary.html'])
    >>> pramble.open_release(r.folder).data.num_rows
    2000
    >>> folder.cleanup()
    """
    started, clock = time.perf_counter(), Clock(progress)
    spec = spec_of(plan, columns, alpha=alpha, settings=settings)
    if reading is not None:
        spec = replace(spec, reading=as_reading(reading))
    signer = private_key(sign) if isinstance(sign, str | Path) else sign
    source = spark_source(source, spark)
    spec = settle_bands(source, spec)
    records, target = source_records(source, spec), path_or_place(target)
    if records.rows_stay:
        spec = on_spark("spec_on_spark")(spec)
    elif is_address(target):
        raise InvalidInput(
            f"A release is written to an address on Spark; found {str(target)!r}. Give spark=, or "
            "release to a path."
        )
    if not dry_run:
        check_target(target)
    digest, secret = cache(records.digest), secrets.token_bytes(32) if key is None else key
    book, warning = open_book(
        ledger=ledger, budget=budget, central_budget=central_budget, dry_run=dry_run
    )
    job = prepare(
        records,
        spec,
        secret=checked_key(secret),
        confidential_allowed=confidential_prior_allowed,
        clock=clock.part(0.0, COUNTING),
    )
    check_copies(job)
    account = open_account(
        book,
        file_facts(records, rows=job.rows),
        digest="" if book is None else digest(),
        people=people or spec.people,
        budget=budget,
        central_budget=central_budget,
        warning=warning,
    )
    account.check(job.spent, job.central)
    outcome = expected_outcome(job, account, started=started)
    outcome = replace(outcome, warnings=(*key_warnings(sign), *outcome.warnings))
    for remark in outcome.warnings:
        warnings.warn(remark, PrambleWarning, stacklevel=2)
    if outcome.record is not None and (pages or dry_run):
        clock.tell("comparing plans", COUNTING)
        outcome = replace(outcome, record=replace(outcome.record, loss=loss_from_noise(job)))
    if dry_run:
        if job.protected is None:
            size, wait = rehearse(job)
            outcome = replace(outcome, data_bytes=size, seconds=outcome.seconds + wait)
        return Release(None, manifest_of(job, {}, tables=outcome.tables), job.published, outcome)
    entry = account.entered(
        job.spent,
        columns=list(job.published.columns),
        target=target,
        central=job.central,
        any_target=is_address(target),
    )
    with entry as building_in, building(target) as folder:
        if not is_address(target):
            building_in(folder)
        if job.protected is None:
            apart = digest() if spec.is_shuffled and job.untouched else ""
            content = f"{job.fingerprint} {apart}"
            bound = bound_key(secret, content, plan=job.plan, spec=spec)
            document, outcome = write_folder(job, folder, key=bound, outcome=outcome, clock=clock)
        else:
            key = checked_key(secret)  # bound to the tables and the plan where noise is drawn
            document, outcome = write_tables(job, folder, key=key, outcome=outcome, clock=clock)
        if signer is not None:
            write_signature(folder, manifest_text(document), key=signer)
        outcome = replace(outcome, seconds=time.perf_counter() - started)
        if pages:
            clock.tell("drawing the pages", COUNTING + WRITING)
            (folder / SUMMARY).write_text(summary_page(outcome), encoding="utf-8")
        held = check_contents(folder, (*published_files(job), MANIFEST, SIGNATURE, SUMMARY))
        outcome = replace(outcome, checks=(*outcome.checks, held))
        if pages:
            write_private(report_path(target), report_page(outcome))
        if key_file is not None:
            write_key(Path(key_file), secret, release=target)
    clock.tell("done", 1.0)
    return Release(target, document, job.published, outcome)


def expected_outcome(job: Prepared, account: Account, *, started: float) -> ReleaseOutcome:
    """Return what is known before anything is written."""
    asked, document, before = job.spec.risk, manifest_of(job, {}), account.before()
    risk, tables = None, table_outcomes(job)
    noise = advice(job, tables)
    if asked is not None and job.keys is not None and job.protected is None:
        risk = risk_figures(job.keys, asked, plan=job.plan, records=job.records)
    return ReleaseOutcome(
        source=job.records.name,
        rows=job.rows,
        columns=tuple(expected_figures(design) for design in job.designs),
        record=expected_record(job),
        protected=expected_tables(job),
        tables=tables,
        untouched=job.untouched,
        dropped=job.spec.drop,
        guarantee=job.spent,
        central=None if job.guarantee is None else job.central,
        lower=job.guarantee.lower if isinstance(job.guarantee, CentralGuarantee) else None,
        limit=job.spec.limit,
        split=split_of(job.spec),
        warnings=(*([noise] if noise else ()), *ledger_warnings(job, account), *job.warnings),
        checks=(),
        risk=risk,
        ledger_total=before + job.spent if account.ledger else None,
        data_file=files_text(job),
        data_bytes=0,
        seconds=time.perf_counter() - started,
        plan=spec_to_toml(job.spec),
        version=document["software"]["version"],
        created=document["created"],
        dry_run=True,
    )


def files_text(job: Prepared) -> str:
    """Return the name of the data file, or say how many pieces there are."""
    if job.protected is not None:
        return f"{SYNTHETIC} and {TABLES}"
    file = job.file
    if file.rows_per_file is None:
        return file.name
    return f"{several(len(file.files), 'file')} in {file.name}/"


def split_of(spec: ReleaseSpec) -> str:
    """Say how α is divided over the columns."""
    if spec.design != "columns":
        return "together"
    return spec.split if spec.alpha is not None else "own"


def ledger_warnings(job: Prepared, account: Account) -> list[str]:
    """Say what these people have spent before, and whether this release goes uncounted."""
    before, read = account.before(), account.before_central()
    found = [account.warning] if account.warning else []
    if before.alpha:
        spent, whole = f"α = {before.shown:.6g}", f"α = {(before + job.spent).shown:.6g}"
        if job.guarantee is not None:
            spent = f"{pair(read)} against readers ({spent})"
            whole = f"{pair(read + job.central)} ({whole})"
        if (before + job.spent).is_none:
            spent, whole = pair(read), pair(read + job.central)
        found.append(
            f"These people have spent {spent} in earlier releases; with this one it is {whole}."
        )
    return found
