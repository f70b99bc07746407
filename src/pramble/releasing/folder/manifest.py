"""The manifest of a release: everything the analyst needs, nothing of the raw data or the key."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pramble.errors import InvalidPlan
from pramble.information.accuracy import TableOutcome, verdict_of
from pramble.limits import MOST_DOCUMENT_BYTES
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.central import CentralGuarantee
from pramble.releasing.folder.reading import SCHEMA
from pramble.releasing.prepare import Prepared
from pramble.words import visible_names


def manifest_of(
    prepared: Prepared,
    data: Mapping[str, Any],
    *,
    synthetic: Mapping[str, Any] | None = None,
    tables: Sequence[TableOutcome] = (),
    rows: int | None = None,
) -> dict[str, Any]:
    """Return the manifest; ``data`` are name, format, size and hash of the evidence.

    That is the file of randomised records, or of protected tables; ``tables`` are what single
    columns and the wanted tables will be worth, ``rows`` the number of records that is published.
    """
    from pramble import __version__

    source = {
        column.name: {"categories_from": "data" if column.seen else "plan"}
        for column in prepared.design.columns
    }
    return {
        "schema": SCHEMA,
        "software": {"name": "pramble", "version": __version__},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": prepared.rows if rows is None else rows,
        ("tables" if prepared.spec.of_tables else "data"): dict(data),
        **({} if synthetic is None else {"synthetic": dict(synthetic)}),
        "promise": promise_entry(prepared),
        "plan": prepared.design.plan.to_json(),
        "design": prepared.design.entry(),
        **accuracy_entry(prepared, tables),
        "columns": [
            {"name": name, "randomised": name in source, **source.get(name, {})}
            for name in prepared.names
        ],
        "notes": reader_notes(prepared),
    }


def promise_entry(prepared: Prepared) -> dict[str, Any]:
    spent = prepared.central if prepared.spec.of_tables else prepared.design.spent
    central = {}
    if isinstance(prepared.proof, CentralGuarantee):
        central = {
            "spent": prepared.central.to_json(),
            "lower": prepared.proof.lower,
            "method": prepared.proof.method,
            "sentence": prepared.central.sentence(),
            "assumes": assumptions(prepared),
        }
    return {
        "spent": spent.to_json(),
        "limit": prepared.spec.limit.to_json(),
        "relation": "replace one record"
        if spent.rows == 1
        else f"replace one person, in at most {spent.rows} rows",
        "sentence": spent.sentence(),
        "conditional_on_prior": bool(prepared.design.confidential),
        **({"central": central} if central else {}),
        **({"assumes": assumptions(prepared)} if prepared.spec.of_tables else {}),
    }


FROM_NOISY_COUNTS = (
    "The plan was made for noisy counts of the file, which are part of what is spent; ε is that of "
    "the plan that came of them."
)


def assumptions(prepared: Prepared) -> list[str]:
    same_rows = f"The number of %s, {prepared.rows:,}, is public: neighbouring files have as many."
    if prepared.spec.of_tables:
        k = prepared.central.rows
        counted = ["Every row is taken to be another person.", same_rows % "records"]
        if k > 1:
            counted = [
                f"At most {k} rows of one person are counted.",
                "The number of records is measured with noise, like the tables.",
            ]
        plan = prepared.design.plan
        if isinstance(plan, TablePlan) and plan.choice is not None:
            counted.append(
                "Which tables were measured was decided by noisy scores, whose cost is included."
            )
        key = "The noise was drawn once; the key that drew it is kept like the confidential file."
        found, prior = [*counted, key], False
    else:
        found = [
            (
                "The reader sees the release and nothing that was there before its rows were "
                "shuffled; towards whoever handles the file before that, only the local promise "
                "holds."
            ),
            "Every released column is randomised.",
            "The rows stand in a secure random order.",
            same_rows % "rows",
        ]
        prior = any(one.source == "private" for one in prepared.design.priors)
    return [
        *found,
        "Other releases of the same people add up with this one.",
        *([FROM_NOISY_COUNTS] if prior else []),
        *(
            f"The categories of {name} are taken as known; they were read off the file."
            for name in sorted(prepared.seen)
        ),
    ]


def accuracy_entry(prepared: Prepared, tables: Sequence[TableOutcome]) -> dict[str, Any]:
    """Return what readers can tell; nothing where it would show a confidential prior."""
    if prepared.design.confidential or not tables:
        return {}
    verdict = verdict_of(tables)
    listed = []
    for table in tables:
        entry = {"columns": list(table.columns), "cells": table.cells}
        if math.isfinite(table.error):
            entry["standard_error"] = table.error
        listed.append({**entry, "wanted": table.wanted, "noise": table.useless})
    sentences = [sentence for sentence in (verdict.good, verdict.bad) if sentence]
    return {"worth": {"sentences": sentences, "tables": listed}}


def reader_notes(prepared: Prepared) -> list[str]:
    notes = prepared.design.notes()
    if prepared.untouched:
        notes.append(f"Released as they are, not protected: {visible_names(prepared.untouched)}.")
    if prepared.seen:
        names = ", ".join(sorted(prepared.seen))
        notes.append(f"Categories taken from the values that occur: {names}.")
    if prepared.design.confidential:
        notes.append(
            "The guarantee is conditional on the prior, which was counted on the confidential "
            f"file and may be revealed by the mechanism: {', '.join(prepared.design.confidential)}."
        )
    return notes


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
