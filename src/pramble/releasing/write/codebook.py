"""The codebook of a release as DDI Codebook 2.5, from what the folder says alone."""

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pramble import numbers
from pramble.data.arrays import text_of_label
from pramble.privacy.promise import CentralPromise
from pramble.releasing.write.published import (
    MISSING,
    Published,
    PublishedColumn,
    file_columns,
)
from pramble.words import visible

DDI = "ddi:codebook:2_5"


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
        describe_file(book, file, stated, published=published, columns=len(columns))
    data = SubElement(book, "dataDscr")
    for number, column in enumerate(published.columns, 1):
        own = " ".join(holders.get(column.name, ()))
        describe_column(data, f"V{number}", column, published=published, files=own)
    indent(book, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(book, encoding="unicode") + "\n"


def add(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """Add an element; characters that XML cannot hold are written as their numbers."""
    one = SubElement(parent, tag, {key: visible(own) for key, own in attributes.items()})
    if text is not None:
        one.text = visible(text)
    return one


def describe_study(book: Element, published: Published) -> None:
    known, manifest = published.dataset, published.manifest
    study = SubElement(book, "stdyDscr")
    citation = SubElement(study, "citation")
    title = SubElement(citation, "titlStmt")
    add(title, "titl", published.title)
    if "doi" in known:
        add(title, "IDNo", known["doi"], agency="DOI")
    if "producer" in known:
        add(SubElement(citation, "rspStmt"), "AuthEnty", known["producer"])
    production = SubElement(citation, "prodStmt")
    if "producer" in known:
        add(production, "producer", known["producer"])
    day = known.get("date", manifest["created"][:10])
    add(production, "prodDate", day, date=day)
    software = manifest["software"]
    add(production, "software", software["name"], version=software["version"])
    if "contact" in known:
        add(SubElement(citation, "distStmt"), "contact", known["contact"])
    if "version" in known:
        add(SubElement(citation, "verStmt"), "version", known["version"], date=day)
    add(citation, "biblCit", published.citation)
    about = SubElement(study, "stdyInfo")
    if "description" in known:
        add(about, "abstract", known["description"])
    scope = SubElement(about, "sumDscr")
    if "region" in known:
        add(scope, "geogCover", known["region"])
    add(scope, "anlyUnit", published.release.unit.noun)
    if "universe" in known:
        add(scope, "universe", known["universe"])
    add(scope, "dataKind", "microdata protected by differential privacy")
    use = SubElement(SubElement(study, "dataAccs"), "useStmt")
    add(use, "citReq", published.citation)
    if "licence" in known:
        add(use, "conditions", known["licence"])
    promise = published.release.guarantee.sentence()
    add(study, "notes", promise, type="protection", subject="privacy guarantee")
    for sentence in manifest["notes"]:
        add(study, "notes", sentence, type="protection", subject="note")


def describe_file(
    book: Element, file: str, stated: Any, *, published: Published, columns: int
) -> None:
    one = add(book, "fileDscr", ID=file, URI=stated["file"])
    text = SubElement(one, "fileTxt")
    add(text, "fileName", stated["file"])
    add(text, "fileCont", stated["sentence"])
    if columns:
        size = SubElement(text, "dimensns")
        add(size, "caseQnty", str(stated.get("rows", published.manifest["rows"])))
        add(size, "varQnty", str(columns))
    add(text, "fileType", stated["format"])
    add(one, "notes", stated["sha256"], type="checksum", subject="SHA-256")


def describe_column(
    data: Element, place: str, column: PublishedColumn, *, published: Published, files: str
) -> None:
    kind = {"intrvl": "discrete"} if column.categories else {}
    within = {"files": files} if files else {}
    one = add(data, "var", ID=place, name=column.name, **within, **kind)
    add(one, "labl", column.label or column.name)
    for number, (text, share) in enumerate(zip(column.texts, column.shares, strict=True)):
        missing = {"missing": "Y"} if column.is_missing(number) else {}
        category = add(one, "catgry", **missing)
        code = column.codes[number]
        value = MISSING if code is None else str(text_of_label(code))
        add(category, "catValu", value)
        add(category, "labl", text)
        if share is not None and column.answer is not None:
            count, low, high = (f"{column.answer.n * one:.0f}" for one in share)
            add(category, "catStat", count, type="freq")
            add(category, "catStat", low, type="other", otherType="lower95")
            add(category, "catStat", high, type="other", otherType="upper95")
    add(one, "notes", protection_of(column, published), type="protection")


def protection_of(column: PublishedColumn, published: Published) -> str:
    """Say what was done to a column, and what its frequencies are."""
    if not column.is_protected:
        return "Released as it is, not protected."
    release, unit = published.release, published.release.unit
    promise = release.guarantee
    number = numbers.alpha_text(promise.shown)
    sign = "α"
    if isinstance(promise, CentralPromise):
        sign, number = "ε", f"{number}, δ = {numbers.tiny(promise.shown_delta)}"
    how = {
        True: "Counted in tables with random noise; in the complete records it is drawn from a "
        "model of these tables.",
        False: "Randomised in every record; in the complete records it is drawn from a model of "
        "what the randomised records say.",
    }["tables" in published.manifest]
    found = f"{how} Protected together with all other protected columns, for each {unit.noun}: "
    found += f"{sign} = {number}."
    if column.answer is not None:
        found += " Frequencies are estimates with 95 % intervals, not counts."
    return found
