"""The codebook of a release as DDI Codebook 2.5, from what the folder says alone."""

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pramble.data.arrays import text_of_label
from pramble.releasing.spec.settings import DATASET
from pramble.releasing.write.published import (
    MISSING,
    Published,
    PublishedColumn,
    file_columns,
)
from pramble.words import visible

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
        describe_file(book, file, stated, published=published, columns=len(columns))
    data = SubElement(book, "dataDscr")
    for number, column in enumerate(published.columns, 1):
        own = " ".join(holders.get(column.name, ()))
        describe_column(data, f"V{number}", column, published=published, files=own)
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


def describe_file(
    book: Element, file: str, stated: Any, *, published: Published, columns: int
) -> None:
    one = add(book, "fileDscr", ID=file, URI=stated["file"])
    add(one, "fileTxt/fileName", stated["file"])
    add(one, "fileTxt/fileCont", stated["sentence"])
    if columns:
        rows = stated.get("rows", published.manifest["rows"])
        add(one, "fileTxt/dimensns/caseQnty", str(rows))
        add(one, "fileTxt/dimensns/varQnty", str(columns))
    add(one, "fileTxt/fileType", stated["format"])
    add(one, "notes", stated["sha256"], type="checksum", subject="SHA-256")


def describe_column(
    data: Element, place: str, column: PublishedColumn, *, published: Published, files: str
) -> None:
    kind = {"intrvl": "discrete"} if column.categories else {}
    within = {"files": files} if files else {}
    one = add(data, "var", ID=place, name=column.name, **within, **kind)
    add(one, "labl", column.label or column.name)
    for number, (text, share) in enumerate(zip(column.texts, column.shares, strict=True)):
        code = column.codes[number]
        category = add(one, "catgry", **({"missing": "Y"} if code is None else {}))
        value = MISSING if code is None else str(text_of_label(code))
        add(category, "catValu", value)
        add(category, "labl", text)
        if share is not None and column.answer is not None:
            count, low, high = (f"{column.answer.n * one:.0f}" for one in share)
            add(category, "catStat", count, type="freq")
            add(category, "catStat", low, type="other", otherType="lower95")
            add(category, "catStat", high, type="other", otherType="upper95")
    for code, text in column.missing:
        category = add(one, "catgry", missing="Y")
        add(category, "catValu", str(code))
        add(category, "labl", text)
    add(one, "notes", protection_of(column, published), type="protection")


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
        found += " Frequencies are estimates with 95 % intervals, not counts."
    return found
