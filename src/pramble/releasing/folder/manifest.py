"""The manifest of a release: everything the analyst needs, nothing of the raw data or the key."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pramble.data.bands import Points
from pramble.errors import InvalidPlan
from pramble.information.accuracy import TableOutcome, verdict_of
from pramble.limits import MOST_DOCUMENT_BYTES
from pramble.privacy.certificate import distance_sentence
from pramble.privacy.guarantee import float_above
from pramble.privacy.shuffled.central import CentralGuarantee
from pramble.releasing.column_design import Designed
from pramble.releasing.distances import sentences_of
from pramble.releasing.folder.reading import SCHEMA, points_entry, written_note
from pramble.releasing.prepare import Prepared
from pramble.releasing.priors import Prior
from pramble.releasing.record_design import RecordDesigned
from pramble.releasing.record_priors import RecordPrior
from pramble.releasing.scan import Counted
from pramble.words import visible_names


def manifest_of(
    job: Prepared,
    data: Mapping[str, Any],
    *,
    synthetic: Mapping[str, Any] | None = None,
    tables: Sequence[TableOutcome] = (),
    total: int | None = None,
) -> dict[str, Any]:
    """Return the manifest; ``data`` are name, format, size and hash of the evidence.

    That is the file of randomised records, or of protected tables; ``tables`` are what single
    columns and the wanted tables will be worth, ``total`` the number of records as it was measured.
    """
    from pramble import __version__

    return {
        "schema": SCHEMA,
        "software": {"name": "pramble", "version": __version__},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": job.rows if total is None else total,
        ("data" if job.protected is None else "tables"): dict(data),
        **({} if synthetic is None else {"synthetic": dict(synthetic)}),
        "promise": promise_entry(job),
        "plan": job.published.to_json(),
        "design": design_entry(job),
        **worth_entry(job, tables),
        "columns": columns_entry(job),
        "notes": notes_on(job) if job.protected is None else notes_on_tables(job),
    }


def promise_entry(job: Prepared) -> dict[str, Any]:
    """Return what was promised and spent."""
    spent = job.spent if job.protected is None else job.central
    return {
        "spent": spent.to_json(),
        "limit": job.spec.limit.to_json(),
        "relation": relation_of(spent.rows),
        "sentence": spent.sentence(),
        "conditional_on_prior": bool(job.conditional),
        **central_entry(job),
        **({} if job.protected is None else {"assumes": assumptions_of_tables(job)}),
    }


def columns_entry(job: Prepared) -> list[dict[str, Any]]:
    """Return every column of the release, in order."""
    columns = {column.name: column for column in job.columns}
    return [
        column_entry(columns[name], job.points.get(name))
        if name in columns
        else {"name": name, "randomised": False}
        for name in job.names
    ]


def assumptions_of_tables(job: Prepared) -> list[str]:
    """Return what the promise of protected tables rests on, one sentence each."""
    k = job.central.rows
    counted = (
        "Every row is taken to be another person."
        if k == 1
        else f"At most {k} rows of one person are counted."
    )
    number = (
        f"The number of records, {job.rows:,}, is public: neighbouring files have as many."
        if k == 1
        else "The number of records is measured with noise, like the tables."
    )
    return [
        counted,
        number,
        "The noise was drawn once; the key that drew it is kept like the confidential file.",
        "Other releases of the same people add up with this one.",
        *seen_sentences(job),
    ]


def seen_sentences(job: Prepared) -> list[str]:
    """Say which categories were read off the file."""
    return [
        f"The categories of {name} are taken as known; they were read off the file."
        for name in sorted(job.seen)
    ]


ABOUT_TABLES = (
    "The tables hold noise; they agree with each other and may have negative cells. Estimates and "
    "intervals come from them (pramble.estimate)."
)
ABOUT_RECORDS = (
    "The complete records were drawn from the tables alone: open and count those. What was not "
    "measured together is modelled in them, without interactions beyond those measured."
)


def notes_on_tables(job: Prepared) -> list[str]:
    """Return what a reader of protected tables must know, one sentence each."""
    assert job.protected is not None, "asked for where there are tables"
    several = job.central.rows
    notes = [ABOUT_TABLES, ABOUT_RECORDS]
    if several > 1:
        notes.append(f"Of a person with more than {several} rows a random {several} were counted.")
    if job.seen:
        notes.append(f"Categories taken from the values that occur: {', '.join(sorted(job.seen))}.")
    return notes


def central_entry(job: Prepared) -> dict[str, Any]:
    """Return what is proven against readers of randomised records, where something is."""
    if not isinstance(job.guarantee, CentralGuarantee):
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
        *seen_sentences(job),
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
    if job.protected is not None:
        found = job.protected.design
        figures = {"value": found.value, "bound": found.bound}
        return {"kind": "tables", "objective": found.objective, **figures}
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


def relation_of(rows: int) -> str:
    """Return in what neighbouring files differ, where a person has at most so many rows."""
    return "replace one record" if rows == 1 else f"replace one person, in at most {rows} rows"


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
    spec, prior = design.column.spec, design.prior
    shown = list(prior.probabilities) if prior.source != "confidential" else None
    return {
        "column": spec.name,
        "alpha": design.alpha,
        "family": spec.family,
        "objective": spec.objective,
        "invariant": spec.invariant,
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
