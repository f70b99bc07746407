"""The manifest of a release: everything the analyst needs, nothing of the raw data or the key."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from reprlib import repr as short
from typing import Any

from pramble.data.points import Points
from pramble.errors import InvalidData, InvalidPlan
from pramble.limits import MOST_DOCUMENT_BYTES
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.privacy.by_distance import distance_sentence
from pramble.privacy.guarantee import RecordPrivacy, float_above
from pramble.releasing.folder.files import MANIFEST, refuse_link
from pramble.releasing.folder.numbers import points_entry, written_note
from pramble.releasing.folder.schema import manifest_schema, mistakes_in
from pramble.releasing.folder.signing import check_signature
from pramble.releasing.prepare.apart import sentences_of
from pramble.releasing.prepare.column import Designed
from pramble.releasing.prepare.count import Counted
from pramble.releasing.prepare.data_file import STEM
from pramble.releasing.prepare.prepare import Prepared
from pramble.releasing.prepare.prior import Prior
from pramble.releasing.prepare.record_design import RecordDesigned
from pramble.releasing.prepare.record_prior import RecordPrior
from pramble.report.tables import TableOutcome, verdict_of
from pramble.words import visible_names

SCHEMA = "pramble/release/6"


def manifest_of(
    job: Prepared,
    data: Mapping[str, Any],
    *,
    synthetic: Mapping[str, Any] | None = None,
    tables: Sequence[TableOutcome] = (),
) -> dict[str, Any]:
    """Return the manifest; ``data`` are name, format, size and hash of the data file.

    ``tables`` are what single columns and the wanted tables will be worth.
    """
    from pramble import __version__

    columns = {column.name: column for column in job.columns}
    return {
        "schema": SCHEMA,
        "software": {"name": "pramble", "version": __version__},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": job.rows,
        "data": dict(data),
        **({} if synthetic is None else {"synthetic": dict(synthetic)}),
        "promise": {
            "spent": job.spent.to_json(),
            "limit": job.decisions.limit.to_json(),
            "relation": relation_of(job.spent),
            "sentence": job.spent.sentence(),
            "conditional_on_prior": bool(job.conditional),
            **central_entry(job),
        },
        "plan": job.plan.to_json(),
        "design": design_entry(job),
        **worth_entry(job, tables),
        "columns": [
            column_entry(columns[name], job.points.get(name))
            if name in columns
            else {"name": name, "randomised": False}
            for name in job.names
        ],
        "notes": notes_on(job),
    }


def central_entry(job: Prepared) -> dict[str, Any]:
    """Return what is proven towards readers of the release, where something is."""
    if job.guarantee is None:
        return {}
    return {
        "central": {
            "spent": job.central.to_json(),
            "lower": job.guarantee.lower,
            "method": job.guarantee.method,
            "sentence": job.central.sentence(),
            "assumes": assumptions(job),
        }
    }


FROM_NOISY_COUNTS = (
    "The plan was made for noisy counts of the file, which are part of what is spent; ε is that of "
    "the plan that came of them."
)


def has_private_prior(job: Prepared) -> bool:
    """Whether something was counted on the file, with noise, to design the plan."""
    priors = [design.prior for design in job.designs] if job.record is None else [job.record.prior]
    return any(prior.source == "private" for prior in priors)


def assumptions(job: Prepared) -> list[str]:
    """Return what a central promise rests on, one sentence each."""
    return [
        (
            "The reader sees the release and nothing that was there before its rows were "
            "shuffled; towards whoever handles the file before that, only the local promise holds."
        ),
        "Every released column is randomised.",
        "The rows stand in a secure random order.",
        f"The number of rows, {job.rows:,}, is public: neighbouring files have as many.",
        "Other releases of the same people add up with this one.",
        *([FROM_NOISY_COUNTS] if has_private_prior(job) else []),
        *(
            f"The categories of {name} are taken as known; they were read off the file."
            for name in sorted(job.seen)
        ),
    ]


def worth_entry(job: Prepared, tables: Sequence[TableOutcome]) -> dict[str, Any]:
    """Return what readers can tell; nothing where it would show a confidential prior."""
    if job.conditional or not tables:
        return {}
    verdict = verdict_of(tables)
    return {
        "worth": {
            "sentences": [sentence for sentence in (verdict.good, verdict.bad) if sentence],
            "tables": [
                {
                    "columns": list(table.columns),
                    "cells": table.cells,
                    **({"standard_error": table.error} if math.isfinite(table.error) else {}),
                    "wanted": table.wanted,
                    "noise": table.useless,
                }
                for table in tables
            ],
        }
    }


def design_entry(job: Prepared) -> dict[str, Any]:
    """Return how the plan was designed and what it and its priors spent on a record, exactly."""
    if job.record is not None:
        return record_entry(job.record)
    return {"kind": "columns", "parts": [part_entry(design) for design in job.designs]}


def record_entry(record: RecordDesigned) -> dict[str, Any]:
    """Return what the manifest says of a plan for records; no confidential probabilities."""
    prior = record.prior
    shown = prior.tables if prior.source != "confidential" else {}
    return {
        "kind": "records",
        "objective": record.design.objective,
        "alpha": record.design.alpha,
        "prior": {
            **origin(prior),
            "tables": [
                {"columns": list(names), "probabilities": table.reshape(-1).tolist()}
                for names, table in shown.items()
            ],
        },
        **({"distances": distances_of(record)} if record.apart else {}),
    }


def distances_of(record: RecordDesigned) -> list[dict[str, Any]]:
    """Return what is promised by distance of every column, its categories in order."""
    return [
        {
            "column": name,
            "categories": list(record.labels[name]),
            "alpha": one.alpha,
            **one.distance.to_json(),
        }
        for name, one in record.apart.items()
    ]


def origin(prior: Prior | RecordPrior) -> dict[str, Any]:
    """Return where a prior comes from and what it spent."""
    return {
        "source": prior.source,
        "alpha": float_above(prior.spent),
        "alpha_exact": str(prior.spent),
        "detail": prior.detail,
    }


def relation_of(spent: RecordPrivacy) -> str:
    """Return in what neighbouring files differ."""
    if spent.rows == 1:
        return "replace one record"
    return f"replace one person, in at most {spent.rows} rows"


def notes_on(job: Prepared) -> list[str]:
    """Return what a reader of the release must know, one sentence each."""
    notes = [
        "Each record is protected on its own; alpha adds up over the randomised columns."
        if job.record is None
        else "Each record is protected as a whole: alpha is of all randomised columns together."
    ]
    if len(job.plan.branches) > 1:
        notes.append(
            "A record shows the columns of one branch of the plan, drawn at random; its other "
            "randomised columns are blank, which says nothing of it."
        )
    if job.spent.rows > 1:
        notes.append(
            f"A person has at most {job.spent.rows} rows; alpha of a person is so many times that "
            "of a record, priors included."
        )
    notes += [
        f"{design.column.name}: {distance_sentence(design.distance, design.per_unit)}"
        for design in job.designs
        if design.distance is not None
    ]
    notes += sentences_of({} if job.record is None else job.record.apart)
    notes += [written_note(name, points) for name, points in job.points.items()]
    if job.untouched:
        notes.append(f"Released as they are, not protected: {visible_names(job.untouched)}.")
    if job.seen:
        names = ", ".join(sorted(job.seen))
        notes.append(f"Categories taken from the values that occur: {names}.")
    if job.conditional:
        notes.append(
            "The guarantee is conditional on the prior, which was counted on the confidential "
            f"file and may be revealed by the mechanism: {', '.join(job.conditional)}."
        )
    return notes


def column_entry(column: Counted, points: Points | None) -> dict[str, Any]:
    """Return what the manifest says of a randomised column."""
    return {
        "name": column.name,
        "randomised": True,
        "categories_from": "data" if column.seen else "plan",
        **({} if points is None else {"released_as": points_entry(points)}),
    }


def part_entry(design: Designed) -> dict[str, Any]:
    """Return how one column was designed; no confidential probabilities."""
    decision, prior = design.column.decision, design.prior
    shown = list(prior.probabilities) if prior.source != "confidential" else None
    return {
        "column": decision.name,
        "alpha": design.alpha,
        "family": decision.family,
        "objective": decision.objective,
        "invariant": decision.invariant,
        "prior": origin(prior) | ({} if shown is None else {"probabilities": shown}),
        **distance_entry(design),
    }


def distance_entry(design: Designed) -> dict[str, Any]:
    """Return what is promised by distance, where something is."""
    if design.distance is None:
        return {}
    return {"distance": {"alpha": design.per_unit, **design.distance.to_json()}}


def manifest_text(document: Mapping[str, Any]) -> str:
    """Return a manifest as JSON with one line for each field and each column.

    >>> print(manifest_text({"rows": 2, "columns": [{"name": "a"}, {"name": "b"}]}), end="")
    {
     "rows": 2,
     "columns": [
      {"name": "a"},
      {"name": "b"}
     ]
    }
    """

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    def block(value: Any) -> str:
        if not isinstance(value, list):
            return line(value)
        return "[\n" + ",\n".join(f"  {line(part)}" for part in value) + "\n ]"

    fields = ",\n".join(f" {line(key)}: {block(value)}" for key, value in document.items())
    text = "{\n" + fields + "\n}\n"
    if len(text.encode()) > MOST_DOCUMENT_BYTES:
        raise InvalidPlan(
            f"The manifest would have more than {MOST_DOCUMENT_BYTES:,} bytes, which nobody reads: "
            "randomise columns of fewer categories."
        )
    return text


def read_manifest(folder: Path, *, verify: str | Path | None = None) -> dict[str, Any]:
    """Read and check the manifest of a release folder, signed by a key where one is given."""
    path = folder / MANIFEST
    refuse_link(path)
    try:
        with undamaged():
            content = read_bytes(path, InvalidData)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise InvalidData(f"{str(folder)!r} does not exist.") from None
        raise InvalidData(f"{str(folder)!r} is no release: it has no {MANIFEST}.") from None
    if verify is not None:
        check_signature(folder, content, key=verify)
    with undamaged():
        document = document_in(content, InvalidData, name=MANIFEST)
    if isinstance(document, dict) and document.get("schema", SCHEMA) != SCHEMA:
        raise InvalidData(
            f"This software reads releases of schema {SCHEMA!r}; found {short(document['schema'])}."
        )
    for mistake in mistakes_in(document, manifest_schema()):
        raise InvalidData(f"{MANIFEST} is damaged: {mistake}")
    checked: dict[str, Any] = document
    return checked


@contextmanager
def undamaged() -> Iterator[None]:
    """Tell what is wrong with a part of the manifest as a damage of it."""
    try:
        yield
    except (InvalidData, InvalidPlan) as error:
        raise InvalidData(f"{MANIFEST} is damaged: {error}") from None


def data_of(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is stated of the data file."""
    found: Mapping[str, Any] = manifest["data"]
    if ("pieces" in found) != (found["file"] == STEM):
        raise InvalidData(f"{MANIFEST} is damaged: the folder {STEM!r} is of a file in pieces.")
    return found


def plan_of(manifest: Mapping[str, Any]) -> Plan:
    """Return the plan that the data was released with, which randomises the columns it says."""
    with undamaged():
        plan = Plan.from_json(manifest["plan"])
    stated = [column["name"] for column in manifest["columns"] if column["randomised"]]
    if sorted(stated) != sorted(plan.columns):
        raise InvalidData(
            f"{MANIFEST} is damaged: it states {short(stated)} as randomised, and its plan "
            f"randomises {short(list(plan.columns))}."
        )
    return plan
