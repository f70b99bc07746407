"""The verb: the curator's whole job, file in, release folder out."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidPlan, PrivacyError
from pramble.privacy.guarantee import float_above
from pramble.releasing.accounting import Account, open_account
from pramble.releasing.binding import bound_key
from pramble.releasing.checking import checks_of, compare
from pramble.releasing.figures import expected_figures, observed_figures, risk_figures
from pramble.releasing.folder import building, check_target, write_key
from pramble.releasing.manifest import MANIFEST, file_sha256, manifest_of, manifest_text
from pramble.releasing.opening import Release
from pramble.releasing.outcome import ReleaseOutcome
from pramble.releasing.parsing import plan_from, read_plan
from pramble.releasing.plan import ReleasePlan
from pramble.releasing.preparing import Prepared, prepare
from pramble.releasing.shuffling import shuffled
from pramble.releasing.source import open_source
from pramble.releasing.toml import plan_to_toml
from pramble.releasing.writing import rehearse, write_release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pramble.releasing.ledger import Ledger

    Progress = Callable[[int, int], None]
    WriteReports = Callable[[Path, ReleaseOutcome], None]


def release(
    source: str | Path,
    target: str | Path,
    *,
    columns: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    alpha: float | None = None,
    plan: str | Path | ReleasePlan | Mapping[str, Any] | None = None,
    dry_run: bool = False,
    key: bytes | None = None,
    key_file: str | Path | None = None,
    ledger: str | Path | Ledger | bool = True,
    people: str | None = None,
    budget: float | None = None,
    confidential_prior_allowed: bool = False,
    write_reports: WriteReports | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Release:
    r"""Randomise columns of a confidential file into a folder that may be published.

    Every record gets :math:`\alpha`-differential privacy in the randomised columns together: priors
    and mechanisms spend at most the total, summed exactly. The mechanisms are the best for their
    part of α, designed for priors that are uniform, public, or private (the default: a noisy
    histogram that spends 2 % of α). Every other column is released **as it is**, unless dropped.

    The plan is checked against the whole file before anything is written; the written file is read
    again and compared with the source; and the folder appears under its name complete, or not at
    all.

    Parameters
    ----------
    source : str or Path
        The confidential file: Parquet, CSV or Arrow, or a folder of them.
    target : str or Path
        The folder to make; it must not exist, or be empty.
    columns : sequence of str, or mapping
        The columns to randomise; a mapping gives settings of each (`ColumnPlan`). Categories that
        it does not declare are the values seen in the file, which the release then reveals.
    alpha : float
        α in total for a record (the ε of most of the literature).
    plan : str, Path, ReleasePlan or mapping
        A plan instead of columns, α and settings: a TOML file, or its contents.
    dry_run : bool
        Do everything but write: the result's ``outcome`` has the designs and what to expect.
    key : bytes, optional
        32 secret bytes; drawn from the system unless given. The same key repeats the release where
        file and mechanisms are the same; a private prior is drawn anew, and with another mechanism
        or file the same key gives independent bits.
    key_file : str or Path, optional
        Where to write the key, readable by its owner only; it is written nowhere else.
    ledger : str, Path, Ledger or bool
        The ledger that adds up releases of the same people; True is the user's own, False none.
    people : str, optional
        A name for the people in the file, where several files hold the same; the file's content
        tells them otherwise.
    budget : float, optional
        The most that all releases of these people together may spend.
    confidential_prior_allowed : bool
        Allow priors counted on the confidential file as they are; the manifest says so.
    write_reports : callable or None
        Called with the unfinished folder and the `ReleaseOutcome`. `pramble.release` writes
        ``report.html``, for the curator alone, and ``summary.html``, which may be published; None
        writes no pages.
    progress : callable, optional
        Called with (rows written, rows in all).
    **settings
        Other settings of a plan: ``prior``, ``family``, ``objective``, ``invariant``, ``split``,
        ``prior_share``, ``drop``, ``output``, ``shuffle``, ``risk``.

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
    (True, ['data.parquet', 'manifest.json', 'report.html', 'summary.html'])
    >>> pramble.open_release(r.folder).data.num_rows
    2000
    >>> folder.cleanup()
    """
    started = time.perf_counter()
    chosen = settled_plan(plan, columns, alpha=alpha, settings=settings)
    opened, target = open_source(source), Path(target)
    chosen.check_columns(opened.names)
    if not dry_run:
        check_target(target)
    account = open_account(opened.path, ledger=ledger, people=people, budget=budget)
    job = prepare(opened, chosen, confidential_allowed=confidential_prior_allowed)
    account.check(job.spent)
    outcome = expected_outcome(job, account, started=started)
    if dry_run:
        size, wait = rehearse(job.source, job.plan, mechanisms=job.mechanisms, rows=job.rows)
        outcome = replace(outcome, data_bytes=size, seconds=outcome.seconds + wait)
        return Release(None, manifest(job, {}), job.mechanisms, outcome)
    entry = account.entered(job.spent, columns=list(job.mechanisms), target=target)
    with entry as building_in, building(target) as folder:
        building_in(folder)
        secret = secrets.token_bytes(32) if key is None else key
        bound = bound_key(secret, job.source.path, mechanisms=job.mechanisms)
        if job.plan.shuffle:
            job = replace(job, source=shuffled(job.source, job.rows, key=bound))
        document, outcome = write_folder(
            job, folder, key=bound, outcome=outcome, progress=progress, started=started
        )
        if write_reports is not None:
            write_reports(folder, outcome)
        if key_file is not None:
            write_key(Path(key_file), secret, release=target)
    return Release(target, document, job.mechanisms, outcome)


def settled_plan(
    plan: str | Path | ReleasePlan | Mapping[str, Any] | None,
    columns: Sequence[str] | Mapping[str, Mapping[str, Any]] | None,
    *,
    alpha: float | None,
    settings: Mapping[str, Any],
) -> ReleasePlan:
    """Return the plan, however it was given."""
    if plan is None:
        if columns is None or isinstance(columns, str):
            raise InvalidPlan("A release needs a plan, or a list of columns and alpha.")
        tables = columns if hasattr(columns, "keys") else {name: {} for name in columns}
        total = {} if alpha is None else {"alpha": alpha}
        return plan_from({**settings, **total, "columns": tables}, seen_allowed=True)
    if columns is not None or alpha is not None or settings:
        raise InvalidPlan("Give a plan, or columns with alpha and settings, not both.")
    if isinstance(plan, ReleasePlan):
        return plan
    return read_plan(plan) if isinstance(plan, str | Path) else plan_from(plan)


def expected_outcome(job: Prepared, account: Account, *, started: float) -> ReleaseOutcome:
    """Return what is known before anything is written."""
    columns = tuple(expected_figures(design, rows=job.rows) for design in job.designs)
    keys = job.plan.risk
    document = manifest(job, {})
    return ReleaseOutcome(
        source=job.source.path.name,
        rows=job.rows,
        columns=columns,
        untouched=job.untouched,
        dropped=job.plan.drop,
        alpha=float_above(job.spent),
        alpha_limit=float_above(job.plan.total),
        split=job.plan.split if job.plan.alpha is not None else "own",
        warnings=(*ledger_warnings(job, account), *job.warnings),
        checks=(),
        risk=None if keys is None else risk_figures(job.source, keys, mechanisms=job.mechanisms),
        ledger_total=float_above(account.spent() + job.spent) if account.ledger else None,
        data_file=job.data_file,
        data_bytes=0,
        seconds=time.perf_counter() - started,
        plan=plan_to_toml(job.plan),
        version=document["software"]["version"],
        created=document["created"],
        dry_run=True,
    )


def ledger_warnings(job: Prepared, account: Account) -> list[str]:
    """Say what these people have spent before, and whether this release goes uncounted."""
    before = account.spent()
    found = [account.warning] if account.warning else []
    if before:
        found.append(
            f"These people have spent α = {float(before):.6g} in earlier releases; with this one "
            f"it is {float(before + job.spent):.6g}."
        )
    return found


def manifest(job: Prepared, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a prepared release."""
    return manifest_of(
        job.designs,
        job.names,
        rows=job.rows,
        spent=job.spent,
        limit=job.plan.total,
        seen=job.seen,
        data=data,
    )


def write_folder(
    job: Prepared,
    folder: Path,
    *,
    key: bytes,
    outcome: ReleaseOutcome,
    progress: Progress | None,
    started: float,
) -> tuple[dict[str, Any], ReleaseOutcome]:
    """Write and check the data, then the manifest; return it and the outcome."""
    path = folder / job.data_file
    write_release(
        job.source,
        path,
        plan=job.plan,
        mechanisms=job.mechanisms,
        key=key,
        rows=job.rows,
        progress=progress,
    )
    tally = compare(job.source, path, plan=job.plan, mechanisms=job.mechanisms)
    checks = checks_of(tally, rows=job.rows, mechanisms=job.mechanisms)
    failed = [check for check in checks if not check.passed]
    if failed:
        raise PrivacyError(
            f"The written file failed its check of the {failed[0].name}: {failed[0].detail} "
            "Nothing was released."
        )
    size = path.stat().st_size
    document = manifest(
        job,
        {
            "file": path.name,
            "format": job.plan.output,
            "bytes": size,
            "sha256": file_sha256(path),
        },
    )
    (folder / MANIFEST).write_text(manifest_text(document), encoding="utf-8")
    return document, replace(
        outcome,
        columns=tuple(observed_figures(column, tally) for column in outcome.columns),
        checks=checks,
        data_bytes=size,
        created=document["created"],
        seconds=time.perf_counter() - started,
        dry_run=False,
    )
