"""The contents of a release folder: evidence, what is made from it alone, and the manifest."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet

from pramble.data.crosstab import CrosstabJob
from pramble.data.open import open_records
from pramble.data.places import arrow_input
from pramble.data.records import scan
from pramble.data.remote import on_spark
from pramble.data.save import save_table
from pramble.engine.measure import measure_records
from pramble.engine.shuffle import ShuffledRecords
from pramble.errors import NotIdentifiable, WriteFailed
from pramble.estimation.draws.synthesize import Synthesis, synthesis
from pramble.estimation.estimate import estimate
from pramble.estimation.functionals.result import Estimate
from pramble.limits import MOST_SYNTHETIC_ROWS
from pramble.mechanisms.measured import Measured
from pramble.one_thread import one_thread
from pramble.outcome import Check, ColumnOutcome, FrequencyOutcome, ReleaseOutcome
from pramble.releasing.design import rules_of
from pramble.releasing.folder.layout import (
    ABOUT_SYNTHETIC,
    ABOUT_TABLES,
    CODEBOOK,
    MANIFEST,
    SCRIPTS,
    SUMMARY,
    SYNTHETIC,
    TABLES_FILE,
    described,
    stated_file,
)
from pramble.releasing.folder.manifest import manifest_of, manifest_text
from pramble.releasing.folder.open import Release
from pramble.releasing.prepare import Prepared
from pramble.releasing.table_design import TableReleaseDesign
from pramble.releasing.write.copies import copy_name, write_copies
from pramble.releasing.write.data import write_data
from pramble.releasing.write.published import codebook_text, read_published
from pramble.releasing.write.scripts import write_scripts
from pramble.releasing.write.summary import summary_page
from pramble.releasing.write.verify import WrittenData, WrittenTally, compare, refuse_failed
from pramble.values import Integers, Reporter

# Shares of the work, for the progress; the rest are checks and pages.
COUNTING, WRITING, SYNTHESIS = 0.25, 0.65, 0.3

Answers = Mapping[tuple[str, ...], Estimate]


def write_folder(
    prepared: Prepared,
    folder: Path,
    *,
    key: bytes,
    counted: bool,
    outcome: ReleaseOutcome,
    pages: bool,
    reporter: Reporter,
    created: str | None = None,
) -> tuple[Prepared, dict[str, Any], ReleaseOutcome]:
    """Write and check the evidence, then all that follows from it; return manifest and outcome.

    What is returned has the tables that were chosen meanwhile.
    """
    write = write_tables if prepared.spec.of_tables else write_records
    share = WRITING - SYNTHESIS
    evidence = write(prepared, folder, key=key, reporter=reporter.part(COUNTING, share))
    prepared = replace(prepared, design=evidence.design)
    drawing = reporter.part(COUNTING + share, SYNTHESIS)
    synthetic, made = write_synthetic(prepared, folder, evidence, reporter=drawing)
    tables = outcome.tables
    if prepared.spec.of_tables:  # their number, and the number of rows, may follow from the noise
        tables = prepared.design.accuracy(evidence.rows)
    weighted = getattr(evidence.data, "weighted", None)
    document = manifest_of(
        prepared,
        evidence.entry,
        counted=counted,
        synthetic=synthetic,
        tables=tables,
        rows=evidence.rows,
        created=created,
        weights=None if weighted is None else weighted.totals,
    )
    if prepared.spec.copies:
        document["copies"] = write_copies(
            made.frame, prepared.design.plan, folder, prepared.spec.copies, document["columns"]
        )
    document["scripts"] = write_scripts(prepared, folder)
    reporter.report("drawing the pages", COUNTING + WRITING)
    session = prepared.records.session if prepared.records.rows_stay else None  # type: ignore[attr-defined]
    # From here on nothing is known but what the folder holds.
    release = Release(folder, document, prepared.design.plan, spark=session)
    published = read_published(release, pairs=pages)
    (folder / CODEBOOK).write_text(codebook_text(published), encoding="utf-8", newline="\n")
    document["codebook"] = stated_file(folder, CODEBOOK)
    (folder / MANIFEST).write_text(manifest_text(document), encoding="utf-8")
    if pages:
        (folder / SUMMARY).write_text(summary_page(published), encoding="utf-8")
    outcome = replace(
        outcome,
        **observed_figures(outcome, prepared, evidence, made, published.answers),
        tables=tables,
        checks=evidence.checks,
        data_bytes=evidence.entry["bytes"] + synthetic["bytes"],
        created=document["created"],
        dry_run=False,
    )
    return prepared, document, outcome


def published_files(prepared: Prepared) -> list[str]:
    evidence = prepared.file.files if not prepared.spec.of_tables else [TABLES_FILE]
    copies = map(copy_name, prepared.spec.copies)
    return [*evidence, *copies, SYNTHETIC, *SCRIPTS, CODEBOOK, MANIFEST, SUMMARY]


def write_records(
    prepared: Prepared, folder: Path, *, key: bytes, reporter: Reporter
) -> WrittenData:
    write = on_spark("write_on_spark") if prepared.records.rows_stay else write_here
    tally, entry, checks = write(prepared, folder, key=key, reporter=reporter)
    refuse_failed(checks)
    data: Any = open_records(folder.absolute() / prepared.file.name)
    if prepared.records.rows_stay:
        data = on_spark("SparkFileRecords").of(data, prepared.records.session)  # type: ignore[attr-defined]
    return WrittenData(entry, prepared.rows, data, checks, prepared.design, tally)


def write_here(
    prepared: Prepared, folder: Path, *, key: bytes, reporter: Reporter
) -> tuple[WrittenTally, dict[str, Any], tuple[Check, ...]]:
    records = prepared.records
    if prepared.spec.is_shuffled:
        records = ShuffledRecords(
            records,
            tuple(prepared.names),
            prepared.rows,
            key,
            folder,
            prepared.plan.columns,
            # Writing is what advances: bringing rows into their order has no share of its own.
            lambda rows, share: reporter.report("shuffling", 0.0),  # noqa: ARG005
        )
    tally, entry = write_data(prepared, records, folder, key=key, reporter=reporter)
    return tally, entry, compare(tally, folder / prepared.file.name, rows=prepared.rows)


def write_tables(
    prepared: Prepared, folder: Path, *, key: bytes, reporter: Reporter
) -> WrittenData:
    """Measure the tables once, write them, and read them again."""
    assert isinstance(prepared.design, TableReleaseDesign), "asked for where there are tables"
    measured = measure_records(
        prepared.records,
        prepared.design.plan,
        key=key,
        person=prepared.spec.person_columns or None,
        weights=prepared.spec.weights,
        nulls=prepared.design.nulls,
        reporter=reporter,
    )
    path = folder / TABLES_FILE
    table = measured.to_table()
    titles = prepared.spec.labels.titles
    save_table(table.cast(described(table.schema, ABOUT_TABLES, titles)), path)
    entry = {**stated_file(folder, TABLES_FILE, "parquet"), "sentence": ABOUT_TABLES}
    written = parquet.read_table(arrow_input(path))
    weights = None if measured.weighted is None else measured.weighted.totals
    found = Measured.from_table(written, measured.plan, measured.total, weights)
    if not found.to_table().equals(table):
        raise WriteFailed("The written tables are not what was measured. Nothing was released.")
    cells = sum(own.size for own in measured.parts.values())
    check = Check("tables as they were measured", passed=True, detail=f"{cells:,} cells read again")
    design = prepared.design.with_tables_of(measured.plan)
    return WrittenData(entry, measured.total, measured, (check,), design)


# So that whoever makes the release again has the same figures, to the last digit.
@one_thread()
def write_synthetic(
    prepared: Prepared, folder: Path, evidence: WrittenData, *, reporter: Reporter
) -> tuple[dict[str, Any], Synthesis]:
    """Write complete records from the evidence; return what the manifest says, and their fit.

    The seed follows from the SHA-256 of the evidence, so that every reader can draw the same.
    """
    # A seed drawn anew would make every release of one evidence different for no reason.
    seed = int(hashlib.sha256(evidence.entry["sha256"].encode()).hexdigest()[:12], 16)
    rules = rules_of(prepared.spec) if prepared.spec.of_tables else None  # else of the plan's zeros
    made = synthesis(
        evidence.data,
        None if prepared.spec.of_tables else prepared.plan,
        rows=min(max(evidence.rows, 1), MOST_SYNTHETIC_ROWS),
        seed=seed,
        possible=rules,
        progress=lambda done: reporter.report(done.what, done.share),
    )
    titles = prepared.spec.labels.titles
    records = made.frame.cast(described(made.frame.schema, ABOUT_SYNTHETIC, titles))
    save_table(records, folder / SYNTHETIC)
    stated = stated_file(folder, SYNTHETIC, "parquet")
    facts: dict[str, Any] = {
        "rows": made.rows,
        "seed": seed,
        "sentence": ABOUT_SYNTHETIC,
        "notes": list(made.notes),
    }
    # Of the evidence, not of the file: how far counting the records is from estimating.
    fits = [{"columns": list(fit.columns), "difference": fit.typical} for fit in made.fits]
    if rules:
        facts["possible"] = rules
    return {**stated, **facts, "tables": fits}, made


def observed_figures(
    outcome: ReleaseOutcome,
    prepared: Prepared,
    evidence: WrittenData,
    made: Synthesis,
    answers: Answers,
) -> dict[str, Any]:
    if evidence.tally is None:
        fit = [one.mean * made.rows for one in made.fits]
        expected = prepared.design.figures()["protected"]  # of the tables chosen meanwhile
        protected = replace(
            expected,
            columns=with_estimates(expected.columns, answers),
            fit=float(np.mean(fit)) if fit else 0.0,
        )
        return {"protected": protected}
    tally, record, risk = evidence.tally, outcome.record, outcome.risk
    # Blanks would count as a label of their own and make records look alone.
    if risk is not None and not prepared.plan.is_split:
        keys = CrosstabJob(evidence.data, risk.keys)
        scan(evidence.data, [keys])
        counts = keys.result().counts  # released records that are alone by the keys at face value
        alone, three, five = (int(counts[counts < k].sum()) for k in (2, 3, 5))
        risk = replace(risk, uniques_after=alone, classes_after=(three, five))
    return {
        "record": record and replace(record, columns=with_estimates(record.columns, answers)),
        "columns": tuple(
            observed_column(one, tally.after[one.name], tally.changed[one.name])
            for one in outcome.columns
        ),
        "risk": risk,
    }


def observed_column(outcome: ColumnOutcome, after: Integers, changed: int) -> ColumnOutcome:
    rows = max(int(after.sum()), 1)
    found = replace(outcome, change_observed=changed / rows, after=tuple(after.tolist()))
    if not math.isfinite(outcome.estimation_variance):
        return found
    try:
        answer = estimate(after, outcome.mechanism, counts=True)
    except NotIdentifiable:
        return found
    return replace(found, **shares_of(answer, range(len(answer.values))))


def with_estimates(
    columns: Sequence[FrequencyOutcome], answers: Answers
) -> tuple[FrequencyOutcome, ...]:
    """Add what the release says of each column, where it can be estimated."""
    found = []
    for column in columns:
        one = answers.get((column.name,))
        if one is None:
            found.append(column)
            continue
        order = {label: place for place, label in enumerate(one.cells[column.name])}
        places = [order[label] for label in column.categories]
        found.append(replace(column, **shares_of(one, places)))
    return tuple(found)


def shares_of(answer: Estimate, places: Sequence[int]) -> dict[str, Any]:
    parts = {"estimate": answer.probabilities, "lower": answer.lower, "upper": answer.upper}
    return {name: tuple(own[list(places)].tolist()) for name, own in parts.items()}
