"""The manifest of a release: everything the analyst needs, nothing of the raw data or the key."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pramble.data.labels import label_keys
from pramble.errors import InvalidPlan
from pramble.information.accuracy import TableOutcome, verdict_of
from pramble.limits import MOST_DOCUMENT_BYTES
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.central import CentralGuarantee
from pramble.privacy.promise import CentralPromise, Promise
from pramble.privacy.unit import Unit
from pramble.releasing.folder.reading import SCHEMA, protected_labels
from pramble.releasing.prepare import Prepared
from pramble.releasing.spec.document import public_settings
from pramble.words import visible_names


def manifest_of(
    prepared: Prepared,
    data: Mapping[str, Any],
    *,
    counted: bool = False,
    synthetic: Mapping[str, Any] | None = None,
    tables: Sequence[TableOutcome] = (),
    rows: int | None = None,
    created: str | None = None,
    weights: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the manifest; ``data`` are name, format, size and hash of the evidence.

    ``counted`` says whether a ledger adds the release to others of the same people. The evidence
    is the file of randomised records, or of protected tables; ``tables`` are what single
    columns and the wanted tables will be worth, ``rows`` the number of records that is published,
    ``weights`` the totals of weighted tables. What is made again states when it was ``created``.
    """
    from pramble import __version__

    published = prepared.rows if rows is None else rows
    words = words_of_columns(prepared)
    largest = prepared.spec.largest_weight
    source = {one.name: {"categories_from": one.source} for one in prepared.spec.columns}
    return {
        "schema": SCHEMA,
        "software": {"name": "pramble", "version": __version__},
        "created": created or datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": published,
        **({"dataset": dict(prepared.spec.dataset)} if prepared.spec.dataset else {}),
        ("tables" if prepared.spec.of_tables else "data"): dict(data),
        **({} if synthetic is None else {"synthetic": dict(synthetic)}),
        "promise": promise_entry(prepared, counted=counted, rows=published),
        "plan": prepared.design.plan.to_json(),
        "design": prepared.design.entry(),
        **({} if weights is None else {"weights": {**weights, "largest": largest}}),
        **({} if prepared.spec.survey is None else {"survey": dict(prepared.spec.survey)}),
        **accuracy_entry(prepared, tables),
        "columns": [
            {
                "name": name,
                "randomised": name in source,
                **source.get(name, {}),
                **words.get(name, {}),
            }
            for name in prepared.names
        ],
        "notes": reader_notes(prepared),
        "settings": public_settings(prepared.spec),
    }


def words_of_columns(prepared: Prepared) -> dict[str, dict[str, Any]]:
    """Return what the file calls each column and its values, for categories of the plan alone."""
    found, labels = prepared.spec.labels, protected_labels(prepared.design.plan)

    def listed(values: Mapping[Any, str], known: set[Any] | None = None) -> list[Any]:
        return [
            {"code": code, "label": label}
            for code, label in values.items()
            if known is None or known.intersection(label_keys([code, label]))
        ]

    entries = {}
    for name in prepared.names:
        known = {*label_keys(labels[name])} if name in labels else None
        entry = {
            "label": found.titles.get(name),
            "codes": listed(found.values.get(name, {}), known),
            "missing": listed(found.missing.get(name, {})),
        }
        entries[name] = {part: own for part, own in entry.items() if own}
    return entries


def promise_entry(prepared: Prepared, *, counted: bool, rows: int) -> dict[str, Any]:
    spent: Promise = prepared.design.spent
    if prepared.spec.central is not None:
        spent = prepared.central
    # What holds of shuffled records even against somebody who saw them in their order.
    is_both = isinstance(spent, CentralPromise) and not prepared.spec.of_tables
    local = {"local": prepared.design.spent.to_json()} if is_both else {}
    central = {}
    if isinstance(prepared.proof, CentralGuarantee):
        central = {
            "spent": prepared.central.to_json(),
            "lower": prepared.proof.lower,
            "method": prepared.proof.method,
            "sentence": prepared.central.sentence(),
            "assumes": assumptions(prepared, rows=rows),
        }
    return {
        "spent": spent.to_json(),
        **local,
        "limit": prepared.spec.limit.to_json(),
        "unit": prepared.unit.to_json(),
        "relation": prepared.unit.relation,
        "sentence": spent.sentence(),
        "conditional_on_prior": bool(prepared.design.confidential),
        "counted": counted,
        **({"central": central} if central else {}),
        **({"assumes": assumptions(prepared, rows=rows)} if prepared.spec.of_tables else {}),
    }


PUBLIC_WORDS = (
    "What the source calls its columns and values is public: neighbouring files have the same "
    "titles, labels and codes."
)
FROM_NOISY_COUNTS = (
    "The plan was made for noisy counts of the file, which are part of what is spent; ε is that of "
    "the plan that came of them."
)


def assumptions(prepared: Prepared, *, rows: int) -> list[str]:
    # The published number: how many rows the file has is confidential where some are left out.
    same_rows = f"The number of %s, {rows:,}, is public: neighbouring files have as many."
    if prepared.spec.of_tables:
        counted = [same_rows % "records"]
        if prepared.central.rows > 1:
            counted = ["The number of records is measured with noise, like the tables."]
        plan = prepared.design.plan
        if isinstance(plan, TablePlan) and plan.people_precision is not None:
            counted.append(
                "How many rows of a person are counted was decided by noisy counts of people, "
                "whose cost is included."
            )
        if isinstance(plan, TablePlan) and plan.weights is not None:
            counted.append(
                f"No row weighs more than {plan.weights.largest:g}, which is public knowledge: "
                "larger weights are cut."
            )
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
                "shuffled; against those who handle the file before that, only the local promise "
                "holds."
            ),
            "Every released column is randomised.",
            "The rows stand in a secure random order.",
            same_rows % "rows",
        ]
        prior = any(one.source == "private" for one in prepared.design.priors)
    return [
        prepared.unit.sentence(),
        *found,
        "Other releases of the same people add up with this one.",
        *([FROM_NOISY_COUNTS] if prior else []),
        *([PUBLIC_WORDS] if any(words_of_columns(prepared).values()) else []),
        *(f"{sentence} This is taken as known." for sentence in prepared.seen),
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
    notes = [prepared.unit.sentence(), *prepared.design.notes()]
    if prepared.unit.rows > 1:
        notes.append(several_rows(prepared.unit, of_tables=prepared.spec.of_tables))
    notes.extend(survey_notes(prepared.spec.survey or {}))
    if prepared.untouched:
        notes.append(f"Released as they are, not protected: {visible_names(prepared.untouched)}.")
    notes.extend(prepared.seen)
    if prepared.design.confidential:
        notes.append(
            "The guarantee is conditional on the prior, which was counted on the confidential "
            f"file and may be revealed by the mechanism: {', '.join(prepared.design.confidential)}."
        )
    return notes


def survey_notes(survey: Mapping[str, Any]) -> list[str]:
    """Say how the file was sampled, and what estimates take of it."""
    columns = ", ".join(
        f"{what} ({visible_names(own)})" for what, own in survey.items() if isinstance(own, list)
    )
    found = [f"The file is a sample with {columns}."] if columns else []
    effect = survey.get("design_effect")
    if effect is not None:
        found.append(
            f"The stated design effect, {effect:g}, multiplies sampling variances in estimates; "
            "that of a simple random sample is 1."
        )
    elif columns:
        found.append(
            "No design effect is stated: sampling errors take records as drawn on their own. "
            "survey={'design_effect': …} multiplies their variances."
        )
    return found


def several_rows(unit: Unit, *, of_tables: bool) -> str:
    """Return what readers must know where one of those who are protected has several rows."""
    if of_tables:
        return (
            f"Shares are those of the rows that are used: {unit.plural} with more than {unit.rows} "
            f"count with {unit.rows}. How many each has is protected."
        )
    return (
        f"α of a {unit.of} is {unit.rows} times that of a record, priors included. It covers what "
        "is in their rows; how many there are is not protected."
    )


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
