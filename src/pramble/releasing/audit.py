"""The auditor's door: a release made again from its source, plan and key, and compared."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pramble.data.frames import Tidy
from pramble.data.places import arrow_input, path_or_place
from pramble.data.recode import as_reading
from pramble.engine.keystream import checked_key
from pramble.errors import InvalidInput, InvalidPlan
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.column_design import ColumnReleaseDesign
from pramble.releasing.folder.build import SIGNATURE, private_folder, read_key
from pramble.releasing.folder.layout import MANIFEST, SUMMARY, file_sha256
from pramble.releasing.folder.reading import (
    checked_plan,
    protected_labels,
    read_manifest,
    stated_spec,
)
from pramble.releasing.prepare import Prepared
from pramble.releasing.release import (
    expected_outcome,
    key_of_draws,
    open_source,
    prepare_release,
)
from pramble.releasing.spec.document import WITHHELD, spec_of
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.write.contents import COUNTING, write_folder
from pramble.shown import Display, Grid
from pramble.values import Reporter, Watcher, frozen

SAME, DIFFERS, UNREPEATABLE = "same", "differs", "cannot be repeated"
NOT_SIGNED = "its private key has no part in an audit; open_release(verify=…) checks it"
OTHER_PLAN = (
    "the settings give another plan here; the files were made again with the plan that it states"
)
# How much of the work is making the files; the rest compares them.
MAKING = 0.95


@frozen
class Audited:
    """A file of a release: whether it came out the same, and what there is to say of it."""

    name: str
    verdict: str
    detail: str = ""


@dataclass(frozen=True, repr=False)
class Audit(Display, Tidy):
    """The answer of `pramble.audit`: a line for each file of a release.

    Attributes
    ----------
    folder : str
        The release that was made again.
    files : tuple
        Of each file its ``name``, the ``verdict`` ("same", "differs" or "cannot be repeated") and a
        ``detail``.
    notes : tuple of str
        What was taken from the release itself, since nothing else could say it.

    Examples
    --------
    >>> import pramble
    >>> pramble.Audit("out", (), ()).passed
    True
    """

    folder: str
    files: tuple[Audited, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not any(one.verdict == DIFFERS for one in self.files)

    def columns(self) -> dict[str, list[Any]]:
        """Return the lines as plain lists."""
        return {name: [getattr(one, name) for one in self.files]
                for name in ("name", "verdict", "detail")}  # fmt: skip

    def shown(self) -> Grid:
        """Return a line for each file, and what the audit rests on."""
        count = sum(one.verdict == DIFFERS for one in self.files)
        said = "made again, byte for byte" if self.passed else f"{count} of its files differ"
        rows = list(zip(*self.columns().values(), strict=True))
        return Grid(f"Audit of {self.folder}: {said}", ["file", "verdict", ""], rows, 3, self.notes)

    def summary(self) -> str:
        """Return what was compared, as text."""
        return repr(self)


def audit(
    folder: str | Path,
    source: Any,
    *,
    key: bytes | str | Path,
    plan: str | Path | ReleaseSpec | Mapping[str, Any] | None = None,
    reading: Any = None,
    progress: Watcher | None = None,
    spark: Any = None,
) -> Audit:
    """Make a release again from its source, plan and key, and compare every byte.

    The plan is designed, people's rows are chosen, values randomised or tables measured, and every
    file is written again, in a folder of its own that is removed at the end; nothing is published,
    and no ledger is touched. The release repeats on the versions of Python's libraries that made
    it. What it states of when it was made is taken from it; a signature cannot be repeated.

    Parameters
    ----------
    folder : str or Path
        What `pramble.release` wrote.
    source : path, frame or reader
        The confidential records that it was made of.
    key : bytes, str or Path
        The 32 secret bytes, or the file that ``release(..., key_file=)`` wrote. Without them no
        release can be made again.
    plan : str, Path, ReleaseSpec or mapping, optional
        The plan, where the manifest withholds a part of it (such as values that were merged); the
        manifest's otherwise.
    reading : Reading or mapping, optional
        How to read the source, if the release was given one.
    progress : callable, optional
        Called with a `pramble.Progress` now and then.
    spark : SparkSession, optional
        As in `pramble.release`; the folder for temporary files is then one that workers share.

    Returns
    -------
    Audit
        With ``files``, and ``passed``.

    Examples
    --------
    >>> import pramble, tempfile, pyarrow.parquet
    >>> folder = tempfile.TemporaryDirectory()
    >>> source, out, key = (f"{folder.name}/{name}" for name in ("people.parquet", "out", "key"))
    >>> people = pramble.datasets.synthetic_new_york(2000)
    >>> pyarrow.parquet.write_table(people, source)
    >>> _ = pramble.release(
    ...     source, out, columns=["SEX", "AGE"], alpha=2.0, key_file=key, ledger=False
    ... )
    >>> pramble.audit(out, source, key=key).passed
    True
    >>> folder.cleanup()
    """
    place, reporter = path_or_place(folder), Reporter(progress)
    # No key at all is none of this release, and must not become one that is drawn.
    secret = checked_key(read_key(key, "The key") if isinstance(key, str | Path) else key or b"")
    manifest = read_manifest(place)
    stated = checked_plan(manifest)
    spec = spec_to_repeat(manifest, plan)
    if reading is not None:
        spec = replace(spec, reading=as_reading(reading))
    with private_folder(Path(tempfile.gettempdir()), "pramble-audit") as again:
        is_designed = make_again(
            again, source, spec, manifest, stated,
            is_stated=plan is None, pages=(place / SUMMARY).is_file(), secret=secret, spark=spark,
            reporter=reporter.part(0.0, MAKING),
        )  # fmt: skip
        reporter.report("comparing", MAKING)
        files = list(compared(place, again))
    if not is_designed:
        files.append(Audited("plan", DIFFERS, OTHER_PLAN))
    reporter.report("done", 1.0)
    return Audit(str(folder), tuple(files), tuple(notes_on(manifest, is_stated=plan is None)))


def spec_to_repeat(manifest: Mapping[str, Any], plan: Any) -> ReleaseSpec:
    if plan is not None:
        return spec_of(plan, None, alpha=None, settings={})
    spec = stated_spec(manifest)
    if spec is None:
        raise InvalidPlan(f"{MANIFEST} states no settings: give the plan (plan, --plan).")
    if withheld := manifest["settings"].get(WITHHELD):
        raise InvalidPlan(
            f"{MANIFEST} withholds {', '.join(withheld)}: give the plan (plan, --plan)."
        )
    return spec


def make_again(
    folder: Path,
    source: Any,
    spec: ReleaseSpec,
    manifest: Mapping[str, Any],
    stated: Plan | TablePlan,
    *,
    is_stated: bool,
    pages: bool,
    secret: bytes,
    spark: Any,
    reporter: Reporter,
) -> bool:
    """Write a release again; return whether its plan came out as it is stated.

    ``is_stated`` says whether the settings are those of the manifest.
    """
    records, spec, _ = open_source(source, spec, folder, spark=spark)
    if is_stated:  # what was dropped is what the release lacks, and what was allowed is in it
        names = [column["name"] for column in manifest["columns"]]
        dropped = tuple(name for name in records.names if name not in names)
        spec = replace(spec, drop=dropped, allow=tuple(names) if spec.central is None else ())
    digest = cache(records.digest)
    prepared, account = prepare_release(
        records,
        spec,
        secret=secret,
        digest=digest,
        ledger=False,
        dry_run=False,
        limits={"budget": None, "central_budget": None},
        confidential_allowed=manifest["promise"]["conditional_on_prior"],
        reporter=reporter.part(0.0, COUNTING),
    )
    is_designed = True
    if not isinstance(stated, TablePlan) or stated.choice is None:
        # Another machine may round a design in another way: its draws are compared all the same.
        is_designed = json.loads(json.dumps(prepared.design.plan.to_json())) == manifest["plan"]
        if not is_designed and protected_labels(prepared.design.plan) == protected_labels(stated):
            prepared = with_plan(prepared, stated)
    outcome = expected_outcome(prepared, account, remarks=(), reporter=reporter)
    bits = key_of_draws(prepared, secret, digest)
    write_folder(
        prepared,
        folder,
        key=bits,
        counted=manifest["promise"]["counted"],
        outcome=outcome,
        pages=pages,
        reporter=reporter,
        created=manifest["created"],
    )
    return is_designed


def with_plan(prepared: Prepared, plan: Any) -> Prepared:
    design: Any = prepared.design
    if isinstance(design, ColumnReleaseDesign):
        own = plan.single_columns(what="A design by columns")
        parts = [replace(part, mechanism=own[part.column.name]) for part in design.parts]
        return replace(prepared, design=replace(design, parts=tuple(parts)))
    return replace(prepared, design=replace(design, design=replace(design.design, plan=plan)))


def files_in(folder: Any) -> dict[str, Any]:
    """Return what lies in a folder by its path in it; a link is no file of a release."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(folder).as_posix(): path for path in found}


def compared(folder: Any, again: Path) -> Iterator[Audited]:
    """Yield a line for every file of a release, and for every one that it should have."""
    there, made = files_in(folder), files_in(again)
    for name in sorted({*there, *made}):
        if name == SIGNATURE:
            yield Audited(name, UNREPEATABLE, NOT_SIGNED)
        elif name not in made:
            yield Audited(name, DIFFERS, "it is no file of this release")
        elif name not in there:
            yield Audited(name, DIFFERS, "the release lacks it")
        elif there[name].is_symlink():
            yield Audited(name, DIFFERS, "it is a symbolic link")
        elif file_sha256(there[name]) == file_sha256(made[name]):
            yield Audited(name, SAME)
        else:
            yield Audited(name, DIFFERS, difference(there[name], made[name]))


def difference(there: Any, made: Path) -> str:
    if made.name == MANIFEST:
        own, found = (
            document_in(read_bytes(path, InvalidInput), InvalidInput, name=MANIFEST)
            for path in (there, made)
        )
        names = [name for name in {**own, **found} if own.get(name) != found.get(name)]
        return f"it states another {', '.join(names)}" if names else "it says the same otherwise"
    if made.suffix == ".parquet":
        from pyarrow import ArrowInvalid, parquet

        with suppress(ArrowInvalid):  # what was tampered with may be no table
            own, found = (parquet.read_table(arrow_input(path)) for path in (there, made))
            if own.equals(found):
                return "its records are the same: another version of a library wrote it"
    return f"{there.stat().st_size:,} bytes; made again, {made.stat().st_size:,}"


def notes_on(manifest: Mapping[str, Any], *, is_stated: bool) -> Iterator[str]:
    yield (
        f"That it was made at {manifest['created']}, and whether a ledger counts it, cannot be "
        "repeated: they are taken as stated."
    )
    if is_stated:
        yield "The settings are those that the release states."
    if manifest["promise"]["conditional_on_prior"]:
        yield "Its prior was counted on the confidential file, which the release states."
