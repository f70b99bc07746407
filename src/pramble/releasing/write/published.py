"""What a release folder says, read from the folder alone; its codebook as DDI Codebook 2.5."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
from pyarrow import parquet

from pramble import numbers
from pramble.data.arrays import text_of_label
from pramble.data.labels import label_key
from pramble.data.open import open_records
from pramble.data.places import arrow_input
from pramble.data.remote import on_spark
from pramble.errors import PrambleError
from pramble.estimation.estimate import estimate, estimate_tables
from pramble.estimation.functionals.result import Estimate
from pramble.information.accuracy import TableOutcome
from pramble.mechanisms.table_plan import Columns, TablePlan
from pramble.releasing.folder.open import Release
from pramble.releasing.folder.reading import protected_labels, stated_data
from pramble.releasing.spec.settings import DATASET
from pramble.values import frozen
from pramble.words import visible

# Cells of a table, and of all tables, that are estimated for the page: some 300 kB of it.
MOST_CELLS, MOST_CELLS_IN_ALL, MOST_TABLES = 400, 6_000, 120
MISSING = "(missing)"

# A share with both ends of its interval.
Interval = tuple[float, float, float]


@frozen(eq=False)
class PublishedColumn:
    """A column of the release: what it is called, its categories, and their estimated shares."""

    name: str
    label: str
    is_protected: bool
    categories: tuple[Any, ...]  # none where the column is released as it is
    codes: tuple[Any, ...]  # of the categories, in the source; the same where it had none
    missing: tuple[tuple[Any, str], ...]  # codes that the source declares missing, with labels
    answer: Estimate | None

    @property
    def texts(self) -> list[str]:
        texts = [MISSING if one is None else str(text_of_label(one)) for one in self.categories]
        return [visible(text) or "(empty)" for text in texts]

    @property
    def keys(self) -> list[Any]:
        return [label_key(one) for one in self.categories]

    @property
    def has_codes(self) -> bool:
        return self.codes != self.categories

    @property
    def shares(self) -> list[Interval | None]:
        """Estimate, lower and upper end of each category, where they can be estimated."""
        found = {} if self.answer is None else figures_by_cell(self.answer, (self.name,))
        return [found.get((key,)) for key in self.keys]


@frozen(eq=False)
class Published:
    """A release as its readers have it, and what its evidence says of its tables."""

    release: Release
    columns: tuple[PublishedColumn, ...]
    answers: Mapping[Columns, Estimate]  # of the records
    wanted: tuple[Columns, ...]
    weighted: Mapping[Columns, Estimate]  # of the population, where tables were weighted

    @property
    def manifest(self) -> Mapping[str, Any]:
        return self.release.manifest

    @property
    def dataset(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.manifest.get("dataset", {})
        return found

    @property
    def weights(self) -> str | None:
        """The column of survey weights, where shares of the population can be estimated."""
        return self.manifest["weights"]["column"] if self.weighted else None

    @property
    def title(self) -> str:
        rows = numbers.count(self.manifest["rows"])
        return self.dataset.get("title", f"Protected data set of {rows} records")

    @property
    def citation(self) -> str:
        """How the data set is to be cited: as stated, or made from what is stated.

        A reader finds the same release again by the DOI, and otherwise by the hash of its evidence.
        """
        known = self.dataset
        if "citation" in known:
            return known["citation"]
        year = known.get("date", self.manifest["created"])[:4]
        who = f"{known['producer'].rstrip('.')} ({year}). " if "producer" in known else ""
        version = f" (version {known['version']})" if "version" in known else ""
        when = "" if who else f" ({year})"
        mark = f"SHA-256 {stated_data(self.manifest)['sha256'][:16]}"
        where = f"https://doi.org/{known['doi']}" if "doi" in known else f"{mark}."
        return f"{who}{self.title}{version}{when} [Data set]. {where}"

    @property
    def files(self) -> list[Mapping[str, Any]]:
        """Every data file as the manifest states it, that for counting first."""
        manifest = self.manifest
        return [manifest["synthetic"], *manifest.get("copies", ()), stated_data(manifest)]

    @property
    def tables(self) -> list[TableOutcome]:
        """How precise the estimated tables are: their error is that of the protection alone."""
        return [
            TableOutcome(
                columns,
                len(answer.values),
                float((answer.standard_errors**2).sum()) * answer.n,
                round(answer.n),
                wanted=columns in self.wanted,
            )
            for columns, answer in self.answers.items()
        ]


def figures_by_cell(
    answer: Estimate, names: Columns
) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """Return share, lower and upper end of each cell that has a share, by the keys of its labels.

    None has one within a group that may be empty.
    """
    cells = zip(*(answer.cells[name] for name in names), strict=True)
    ends = np.nan_to_num(answer.lower, nan=0.0), np.nan_to_num(answer.upper, nan=1.0)
    figures = (np.clip(one, 0, 1).tolist() for one in (answer.values, *ends))
    return {
        tuple(map(label_key, cell)): own
        for cell, own in zip(cells, zip(*figures, strict=True), strict=True)
        if not math.isnan(own[0])
    }


def read_published(release: Release, *, pairs: bool = True) -> Published:
    """Read what a release folder says; nothing else is known here.

    Without ``pairs`` only single columns are estimated, which is all that a codebook needs.
    """
    manifest, plan = release.manifest, release.plan
    labels = {name: own.values for name, own in protected_labels(plan).items()}
    stated = manifest.get("worth", {}).get("tables", ())
    wanted = [tuple(one["columns"]) for one in stated if one["wanted"]]
    if isinstance(plan, TablePlan):
        wanted = list(plan.tables)
    sizes = {name: len(own) for name, own in labels.items()}
    shown = tables_to_show(sizes, wanted if pairs else [])
    answers, weights = estimates_of(release, shown), manifest.get("weights")
    weighted = {} if weights is None else estimates_of(release, shown, weights=weights["column"])
    of_all = weighted or answers
    columns = tuple(
        published_column(one, labels.get(one["name"], ()), of_all.get((one["name"],)))
        for one in manifest["columns"]
    )
    return Published(release, columns, answers, tuple(wanted), weighted)


def published_column(
    stated: Mapping[str, Any], labels: Sequence[Any], answer: Estimate | None
) -> PublishedColumn:
    codes = {label_key(one["label"]): one["code"] for one in stated.get("codes", ())}
    return PublishedColumn(
        stated["name"],
        stated.get("label", ""),
        stated["randomised"],
        tuple(labels),
        tuple(codes.get(label_key(one), one) for one in labels),
        tuple((one["code"], one["label"]) for one in stated.get("missing", ())),
        answer,
    )


def tables_to_show(sizes: Mapping[str, int], wanted: Sequence[Columns]) -> list[Columns]:
    """Return single columns, then wanted tables and pairs within them: small ones first.

    >>> tables_to_show({"a": 2, "b": 3, "c": 500}, [("a", "b"), ("b", "c")])
    [('a',), ('b',), ('c',), ('a', 'b')]
    """
    pairs = [pair for table in wanted for pair in combinations(table, 2)]
    every = dict.fromkeys([*((name,) for name in sizes), *pairs, *wanted])
    cells = {table: math.prod(sizes[name] for name in table) for table in every}
    found: list[Columns] = []
    left = MOST_CELLS_IN_ALL
    for table in sorted(every, key=lambda table: (len(table), cells[table])):
        fits = len(table) == 1 or (cells[table] <= MOST_CELLS and len(found) < MOST_TABLES)
        if fits and cells[table] <= left:
            found.append(table)
            left -= cells[table]
    return found


def estimates_of(
    release: Release, tables: Sequence[Columns], *, weights: str | None = None
) -> dict[Columns, Estimate]:
    """Return what the evidence says of some tables of the file itself, where it says anything."""
    found: dict[Columns, Estimate] = {}
    if isinstance(release.plan, TablePlan):
        for table in tables:
            # A release must not fail because of its noise, such as a total that is not positive.
            with suppress(PrambleError):
                found[table] = estimate(
                    release.tables, by=list(table), covers="randomisation", weights=weights
                )
        return found
    assert release.folder is not None, "a dry run publishes nothing"
    here: Any = open_records(release.folder.absolute() / stated_data(release.manifest)["file"])
    if release.spark is not None:
        here = on_spark("SparkFileRecords").of(here, release.spark)
    return estimate_tables(here, release.plan, tables)


def file_columns(release: Release, stated: Mapping[str, Any]) -> list[str]:
    """Return the columns of a data file that are columns of the release."""
    assert release.folder is not None, "a dry run publishes nothing"
    manifest = release.manifest
    if stated is not stated_data(manifest):  # copies have the columns of the complete records
        file = release.folder / manifest["synthetic"]["file"]
        return list(parquet.read_schema(arrow_input(file)).names)
    return [] if "tables" in manifest else [column["name"] for column in manifest["columns"]]


DDI = "ddi:codebook:2_5"
WEIGHTS = "Made to fit the protected weighted tables; nobody's own weight."


def codebook_text(published: Published) -> str:
    """Return the codebook as XML; the same release gives the same bytes."""
    book = Element("codeBook", xmlns=DDI, version="2.5")
    describe_study(book, published)
    holders: dict[str, list[str]] = {}
    for number, stated in enumerate(published.files, 1):
        file = f"F{number}"
        columns = file_columns(published.release, stated)
        for name in columns:
            holders.setdefault(name, []).append(file)
        describe_file(book, file, published.manifest["rows"], stated, columns=len(columns))
    data = SubElement(book, "dataDscr")
    for number, column in enumerate(published.columns, 1):
        kind = {"intrvl": "discrete"} if column.categories else {}
        within = {"files": " ".join(holders[column.name])} if column.name in holders else {}
        one = add(data, "var", ID=f"V{number}", name=column.name, **within, **kind)
        weighted = {"wgtd": "wgtd"} if published.weights else {}
        describe_column(one, column, protection_of(column, published), weighted)
    if weights := published.manifest.get("weights"):
        name, place = weights["column"], f"V{len(published.columns) + 1}"
        within = {"files": " ".join(holders[name])} if name in holders else {}
        one = add(data, "var", ID=place, name=name, **within, wgt="wgt", intrvl="contin")
        add(one, "labl", "Weight")
        add(one, "notes", WEIGHTS, type="protection")
    indent(book, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(book, encoding="unicode") + "\n"


def add(parent: Element, path: str, text: str | None = None, **attributes: str) -> Element:
    """Add an element, within those of its path; a character that XML cannot hold by its number."""
    *outer, tag = path.split("/")
    for name in outer:
        found = parent.find(name)
        parent = SubElement(parent, name) if found is None else found
    one = SubElement(parent, tag, {key: visible(own) for key, own in attributes.items()})
    one.text = None if text is None else visible(text)
    return one


def describe_study(book: Element, published: Published) -> None:
    known, manifest = dict.fromkeys(DATASET, "") | dict(published.dataset), published.manifest
    study, software = SubElement(book, "stdyDscr"), manifest["software"]
    day = known["date"] or manifest["created"][:10]
    unit = published.release.unit.noun
    # In the order of the standard.
    for path, text, attributes in (
        ("citation/titlStmt/titl", published.title, {}),
        ("citation/titlStmt/IDNo", known["doi"], {"agency": "DOI"}),
        ("citation/rspStmt/AuthEnty", known["producer"], {}),
        ("citation/prodStmt/producer", known["producer"], {}),
        ("citation/prodStmt/prodDate", day, {"date": day}),
        ("citation/prodStmt/software", software["name"], {"version": software["version"]}),
        ("citation/distStmt/contact", known["contact"], {}),
        ("citation/verStmt/version", known["version"], {"date": day}),
        ("citation/biblCit", published.citation, {}),
        ("stdyInfo/abstract", known["description"], {}),
        ("stdyInfo/sumDscr/geogCover", known["region"], {}),
        ("stdyInfo/sumDscr/anlyUnit", unit, {}),
        ("stdyInfo/sumDscr/universe", known["universe"], {}),
        ("stdyInfo/sumDscr/dataKind", "microdata protected by differential privacy", {}),
        ("dataAccs/useStmt/citReq", published.citation, {}),
        ("dataAccs/useStmt/conditions", known["licence"], {}),
    ):
        if text:
            add(study, path, text, **attributes)
    promise = published.release.guarantee.sentence()
    add(study, "notes", promise, type="protection", subject="privacy guarantee")
    for sentence in manifest["notes"]:
        add(study, "notes", sentence, type="protection", subject="note")


def describe_file(book: Element, file: str, rows: int, stated: Any, *, columns: int) -> None:
    one = add(book, "fileDscr", ID=file, URI=stated["file"])
    add(one, "fileTxt/fileName", stated["file"])
    add(one, "fileTxt/fileCont", stated["sentence"])
    if columns:
        add(one, "fileTxt/dimensns/caseQnty", str(stated.get("rows", rows)))
        add(one, "fileTxt/dimensns/varQnty", str(columns))
    add(one, "fileTxt/fileType", stated["format"])
    add(one, "notes", stated["sha256"], type="checksum", subject="SHA-256")


def describe_column(
    one: Element, column: PublishedColumn, protection: str, weighted: Mapping[str, str]
) -> None:
    add(one, "labl", column.label or column.name)
    for code, text, share in zip(column.codes, column.texts, column.shares, strict=True):
        category = add(one, "catgry", **({"missing": "Y"} if code is None else {}))
        add(category, "catValu", MISSING if code is None else str(text_of_label(code)))
        add(category, "labl", text)
        if share is not None and column.answer is not None:
            size = float(column.answer.counts().values.sum()) if weighted else column.answer.n
            count, low, high = (f"{size * end:.0f}" for end in share)
            add(category, "catStat", count, type="freq", **weighted)
            add(category, "catStat", low, type="other", otherType="lower95", **weighted)
            add(category, "catStat", high, type="other", otherType="upper95", **weighted)
    for code, text in column.missing:
        category = add(one, "catgry", missing="Y")
        add(category, "catValu", str(code))
        add(category, "labl", text)
    add(one, "notes", protection, type="protection")


def protection_of(column: PublishedColumn, published: Published) -> str:
    """Say what was done to a column, and what its frequencies are."""
    if not column.is_protected:
        return "Released as it is, not protected."
    how = "Randomised in every record; in the complete records it is drawn from a model of these."
    if "tables" in published.manifest:
        how = "Counted in tables with noise; in the complete records it is drawn from these tables."
    promise = published.release.guarantee.number
    found = f"{how} All protected columns together, for each {published.release.unit.noun}: "
    found += f"{promise}."
    if column.answer is not None:
        found += " Frequencies are estimates with 95 % intervals, not counts"
        found += f"; weighted by {published.weights}." if published.weights else "."
    return found
