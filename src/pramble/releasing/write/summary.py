"""The page of a release, to read and to cite: made from the published folder alone."""

import base64
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pramble import numbers
from pramble.errors import PrambleError
from pramble.estimation.functionals.ratios import conditional
from pramble.information.accuracy import TableOutcome, worst_first
from pramble.mechanisms.table_plan import Columns, TablePlan
from pramble.plots.images import page_environment, to_svg
from pramble.plots.mechanisms import (
    NOISE_CAPTION,
    NOISE_PICTURE,
    PLAN_CAPTION,
    PLAN_PICTURE,
)
from pramble.privacy.promise import promise_from_json
from pramble.releasing.spec.settings import DATASET
from pramble.releasing.write.published import (
    MOST_CELLS,
    Published,
    PublishedColumn,
    figures_by_cell,
)
from pramble.releasing.write.scripts import r_text
from pramble.words import visible

# What a page of two sheets has room for; the codebook and the manifest have all.
MOST_TABLES_SHOWN, MOST_CATEGORIES_SHOWN, MOST_COLUMNS_SHOWN, MOST_COLUMNS_PRINTED = 8, 20, 60, 12
MOST_PARTS_DRAWN = 40
# A cell known to within a tenth is called good; where the interval is wider than the cell, noise.
GOOD = 0.1

AGAINST = {
    "tables": (
        "Against everybody who reads this release, whatever else they know. It rests on trust in "
        "the producer, who holds the original file and drew the noise once."
    ),
    "shuffled": (
        "Against everybody who reads this release, whatever else they know. It rests on trust in "
        "the producer, who randomised every record and released them in a random order."
    ),
    "local": (
        "Against everybody, whatever else they know, also those who handled the file after it was "
        "randomised. It rests on the randomisation of every record alone."
    ),
}


def summary_page(published: Published) -> str:
    """Return the page as HTML: one file that fetches nothing."""
    environment = page_environment("pramble.report")
    script = environment.get_template("explorer.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    release, manifest = published.release, published.manifest
    tables = worst_first([one for one in published.tables if one.wanted or len(one.columns) == 1])
    shown = published.columns[:MOST_COLUMNS_SHOWN]
    example = next((list(c) for c in published.answers if len(c) == 2), [])
    example = example or list(release.plan.columns)[:1]
    picture, words, caption = None, PLAN_PICTURE, PLAN_CAPTION
    if isinstance(release.plan, TablePlan):
        words, caption = NOISE_PICTURE, NOISE_CAPTION
    if len(release.plan.columns) <= MOST_PARTS_DRAWN:
        picture = to_svg(release.plan.plot(), name="plan", description=words)
    return environment.get_template("summary.html").render(
        {
            "published": published,
            "release": release,
            "manifest": manifest,
            "known": dict.fromkeys(DATASET, "") | dict(published.dataset),
            "numbers": numbers,
            "visible": visible,
            "number": release.guarantee.number.partition(",")[0],
            "against": AGAINST[release_kind(published)],
            "kind": release_kind(published),
            "verdict": manifest.get("worth", {}).get("sentences", ()),
            "rows": accuracy_rows(published, tables),
            "most_tables": MOST_TABLES_SHOWN,
            "open_columns": [c.name for c in published.columns if not c.is_protected],
            "columns": [column_table(column) for column in shown],
            "more_columns": len(published.columns) - len(shown),
            "most_printed": MOST_COLUMNS_PRINTED,
            "most_cells": MOST_CELLS,
            "in_python": f"[{', '.join(map(ascii, example))}]"
            + (f", weights={published.weights!a}" if published.weights else ""),
            "in_r": table_in_r(example, published.weights),
            "for_r": " ".join(r_text(name) for name in example),
            "explorer": explorer_data(published),
            "script": script,
            "script_hash": f"sha256-{digest}",
            "linked": linked_data(published),
            "certificate": certificate(published),
            "plan_picture": picture,
            "plan_caption": caption,
        }
    )


def table_in_r(columns: Sequence[str], weights: str | None) -> str:
    """Return R code for a table of the complete records."""
    own = [f"d[[{r_text(name)}]]" for name in columns]
    if weights is None:
        return f"table({', '.join(own)})"
    return f"xtabs(d[[{r_text(weights)}]] ~ {' + '.join(own)})"


def release_kind(published: Published) -> str:
    if isinstance(published.release.plan, TablePlan):
        return "tables"
    return "shuffled" if "local" in published.manifest["promise"] else "local"


def accuracy_rows(published: Published, tables: Sequence[TableOutcome]) -> list[dict[str, Any]]:
    """Return what is known of each table: errors in people, and in per cent of a typical cell."""
    stated = published.manifest["synthetic"].get("tables", ())
    distances = {frozenset(one["columns"]): one["difference"] for one in stated}
    rows = []
    for table in tables:
        distance = distances.get(frozenset(table.columns))
        relative = table.half_width / table.typical
        rough = "noise" if table.useless else "rough"
        rows.append(
            {
                "name": visible(table.name),
                "cells": numbers.count(table.cells),
                "typical": numbers.rounded(table.typical * table.rows),
                "error": in_people(table.half_width, table),
                "counting": "—" if distance is None else in_people(distance, table),
                "verdict": "good" if relative <= GOOD else rough,
            }
        )
    return rows


def in_people(share: float, table: TableOutcome) -> str:
    """Return an error of a share in records, and in per cent of a typical cell."""
    if share >= 1:  # no error of a share is larger
        return f"± {numbers.count(table.rows)} or more"
    of_cell = numbers.percent(share / table.typical, 1 if share < GOOD * table.typical else 0)
    return f"± {numbers.few_digits(float(f'{share * table.rows:.2g}'))} ({of_cell})"


def column_table(column: PublishedColumn) -> dict[str, Any]:
    """Return the categories of a column with their shares; of very many, the most frequent."""
    shares = column.shares
    order = list(range(len(shares)))
    if len(order) > MOST_CATEGORIES_SHOWN:
        order.sort(key=lambda place: -(shares[place] or (0.0,))[0])
    rows = []
    for place in order[:MOST_CATEGORIES_SHOWN]:
        code, share = column.codes[place], shares[place]
        figures = ["—", ""]
        if share is not None:
            low, high = (numbers.percent(end).removesuffix(" %") for end in share[1:])
            figures = [numbers.percent(share[0]), f"{low} – {high}"]
        rows.append([column.texts[place], visible(str(code)), *figures])
    return {
        "name": visible(column.name),
        "label": visible(column.label),
        "is_protected": column.is_protected,
        "has_codes": column.has_codes,
        "rows": rows,
        "more": len(order) - len(rows),
    }


def explorer_data(published: Published) -> dict[str, Any]:
    """Return the tables of one and two columns that a reader may look into."""
    columns = [one for one in published.columns if one.categories]
    place = {column.name: number for number, column in enumerate(columns)}
    by_name = {column.name: column for column in columns}
    tables = []
    for names, answer in (published.weighted or published.answers).items():
        if len(names) > 2:
            continue
        own = [by_name[name] for name in names]
        within: list[Any] = []
        for name in names if len(names) == 2 else ():
            with suppress(PrambleError):
                within.append(
                    [place[name], figures_in_order(own, names, conditional(answer, [name]))]
                )
        tables.append(
            {
                "columns": [place[name] for name in names],
                "n": round(float(answer.counts().values.sum())),
                "cells": figures_in_order(own, names, answer),
                "within": within,
            }
        )
    return {
        "of": "people" if published.weights else "records",
        "columns": [
            {"name": visible(c.name), "label": visible(c.label), "categories": c.texts}
            for c in columns
        ],
        "tables": tables,
    }


def figures_in_order(columns: Sequence[PublishedColumn], names: Columns, answer: Any) -> list[Any]:
    """Return the figures of cells in the order of categories, the last column running fastest."""
    found = figures_by_cell(answer, names)
    keys: list[tuple[Any, ...]] = [()]
    for column in columns:
        keys = [(*key, own) for key in keys for own in column.keys]
    return [None if key not in found else [round(end, 5) for end in found[key]] for key in keys]


def linked_data(published: Published) -> dict[str, Any]:
    """Return the data set in the vocabulary of schema.org, which search engines read."""
    known, release = published.dataset, published.release
    names = {
        "description": "description",
        "licence": "license",
        "version": "version",
        "region": "spatialCoverage",
    }
    found: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": published.title,
        "datePublished": known.get("date", published.manifest["created"][:10]),
        **{theirs: known[own] for own, theirs in names.items() if own in known},
        "citation": published.citation,
        "measurementTechnique": "differential privacy: " + release.guarantee.sentence(),
        "variableMeasured": [
            {"@type": "PropertyValue", "name": column.name, "description": column.label}
            for column in published.columns
        ],
        "distribution": [
            {
                "@type": "DataDownload",
                "name": stated["file"],
                "description": stated["sentence"],
                "contentSize": f"{stated['bytes']} B",
                "sha256": stated["sha256"],
            }
            for stated in published.files
        ],
    }
    if "producer" in known:
        found["creator"] = {"@type": "Organization", "name": known["producer"]}
    if "doi" in known:
        found["@id"] = found["identifier"] = f"https://doi.org/{known['doi']}"
    return found


def certificate(published: Published) -> dict[str, Any]:
    """Return what is promised in full, and the hashes by which the folder is known."""
    manifest, promise = published.manifest, published.manifest["promise"]
    central = promise.get("central", {})
    sentences = []
    if "local" in promise:
        local = promise_from_json(promise["local"]).sentence()
        sentences = [f"Against those who saw the records before they were shuffled: {local}"]
    if central:
        lower = numbers.few_digits(central["lower"])
        against = "" if "local" in promise else f"Against readers alone: {central['sentence']} "
        sentences.append(
            f"{against}ε is proven with every rounding to the safe side ({central['method']}); an "
            f"attack shows that no proof can go below {lower}."
        )
    others = [*manifest.get("scripts", ()), *filter(None, [manifest.get("codebook")])]
    files = [(one["file"], one["sha256"]) for one in (*published.files, *others)]
    return {
        "sentences": sentences,
        "assumes": central.get("assumes", promise.get("assumes", ())),
        "notes": manifest["notes"],
        "relation": promise["relation"],
        "files": files,
    }
