"""Whole folders of files, one release: resumable, and renamed into place at the end."""

import hashlib
import hmac
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pramble.data.formats.registry import target_name
from pramble.data.open import files_of, open_records
from pramble.data.reading import Reading
from pramble.data.save import PARTIAL, sync, whole_file
from pramble.engine.keystream import derived_key
from pramble.engine.record import Record
from pramble.engine.streaming import perturb_stream
from pramble.errors import InvalidData, InvalidInput, WriteFailed
from pramble.values import Clock

JOURNAL = "journal.json"


def perturb_folder(
    source: Path,
    target: Path,
    record: Record,
    *,
    secret: bytes,
    first_row: int,
    reading: Reading,
    clock: Clock,
) -> tuple[tuple[Path, ...], int]:
    """Randomise every data file of a folder; return the files written and their rows in all.

    Files are done in a hidden folder beside the target, which gets the target's name when all
    are there. Its journal says which are complete, and under which key, plan and source (as a
    keyed hash), so that the same call takes up an interrupted run.
    """
    names = data_files(source)
    partial = target.with_name(f".{target.name}{PARTIAL}")
    tag = run_tag(source, names, record, secret=secret, row=first_row, reading=reading)
    journal = Journal.begin(partial, tag)
    sizes = [(source / name).stat().st_size or 1 for name in names]
    row = first_row
    try:
        for i, name in enumerate(names):
            part = clock.part(sum(sizes[:i]) / sum(sizes), sizes[i] / sum(sizes))
            if name.as_posix() not in journal.rows:
                place = partial / target_name(name)
                place.parent.mkdir(parents=True, exist_ok=True)
                records = open_records(source / name, reading)
                count = perturb_stream(records, place, record, first_row=row, clock=part)
                clock.rows = part.rows
                journal.note(name, count)
            row += journal.rows[name.as_posix()]
    except InvalidInput:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    journal.end(target)
    return tuple(target / target_name(name) for name in names), row - first_row


def data_files(folder: Path) -> list[Path]:
    """Return the data files of a folder, by their names within it, in order."""
    found = [path.relative_to(folder) for path in files_of(folder)]
    written: dict[Path, Path] = {}
    for name in found:
        other = written.setdefault(target_name(name), name)
        if other != name:
            raise InvalidData(f"{other} and {name} would both be written to {target_name(name)}.")
    return found


def run_tag(
    source: Path,
    names: list[Path],
    record: Record,
    *,
    secret: bytes,
    row: int,
    reading: Reading,
) -> str:
    """Return a keyed hash of all that decides the outcome; without the key it says nothing."""
    described: dict[str, Any] = {
        "row": row,
        "reading": repr(reading),
        "plan": record.plan.to_json(),
        "files": [
            [name.as_posix(), (source / name).stat().st_size, (source / name).stat().st_mtime_ns]
            for name in names
        ],
    }
    text = json.dumps(described, sort_keys=True)
    return hmac.new(derived_key(secret, "journal"), text.encode(), hashlib.sha256).hexdigest()


@dataclass
class Journal:
    """Which files of a run are complete, kept in the run's own folder."""

    folder: Path
    tag: str
    rows: dict[str, int] = field(default_factory=dict)

    @classmethod
    def begin(cls, folder: Path, tag: str) -> "Journal":
        """Begin a run in a folder, or take up the interrupted one that is there."""
        file = folder / JOURNAL
        if not folder.exists():
            try:
                folder.mkdir()
            except OSError as error:
                raise WriteFailed(f"{folder} could not be made: {error.strerror}.") from error
        if not file.exists():
            journal = cls(folder, tag)
            journal.save()
            return journal
        kept = json.loads(file.read_text(encoding="utf-8"))
        if not hmac.compare_digest(kept["tag"], tag):
            raise InvalidInput(
                f"{folder} holds an interrupted run with another key, plan or source. "
                "Repeat it with its own, or delete the folder to begin anew."
            )
        return cls(folder, tag, kept["rows"])

    def note(self, name: Path, rows: int) -> None:
        """Note that a file is complete."""
        self.rows[name.as_posix()] = rows
        self.save()

    def save(self) -> None:
        """Write the journal, whole."""
        with whole_file(self.folder / JOURNAL) as partial:
            text = json.dumps({"tag": self.tag, "rows": self.rows})
            partial.write_text(text, encoding="utf-8")

    def end(self, target: Path) -> None:
        """Give the folder its name; the run is complete."""
        for leftover in self.folder.rglob(f".*{PARTIAL}"):
            leftover.unlink()
        (self.folder / JOURNAL).unlink()
        sync(self.folder)
        self.folder.replace(target)
        sync(target.parent)
