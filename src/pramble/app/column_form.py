"""The form of a randomised column: its settings as text to edit, and back."""

from collections.abc import Iterable, Mapping
from typing import Any

from shiny import Session
from shiny.ui import Tag, TagChild, tags

from pramble.app.controls import Form, state
from pramble.app.wizard import Wizard
from pramble.data.bands import text_of_number
from pramble.errors import InvalidInput
from pramble.releasing.spec.document import COLUMN

MERGED, AND = " = ", " | "
PROTECTION = {
    "": "the same for every pair of categories",
    "path": "better the nearer two are in this order",
}
# What the form says of a column; its other settings stay as they are.
EDITED = ("categories", "merge", "bands", "low", "missing", "distance")


def column_form(session: Session, wizard: Wizard, name: str) -> Tag:
    settings, form = wizard.columns[name], Form(session)
    distance = settings.get("distance") if settings.get("distance") == "path" else ""
    meanings = wizard.look(name).meanings
    own: list[TagChild]
    if isinstance(settings.get("bands"), list):
        edges = ", ".join(map(text_of_number, settings["bands"]))
        own = [
            form.text("edges", "Edges of the bands; the last is open above", edges),
            form.tick(
                "low", "Smaller numbers count with the first band", is_on="low" in settings
            ),
        ]  # fmt: skip
    else:
        label = "Categories, one a line, in order; “new = old | old” merges some"
        rows = min(max(len(settings.get("categories", ())), 3), 14)
        own = [form.lines("categories", label, category_lines(settings), rows)]
    return tags.div(
        *own,
        form.text(
            "missing",
            "Label for missing values (leave blank if there are none)",
            missing_text(settings.get("missing")),
        ),
        form.selection("distance", "Protection", PROTECTION, distance or ""),
        form.tick(
            "declared",
            "These are all there can be, whether they occur in this file or not",
            is_on=name in wizard.declared,
        ),
        tags.p(f"It also has: {'; '.join(meanings)}", class_="form-text") if meanings else None,
        form.button("apply", "Apply"),
        class_="form",
    )


def column_settings(wizard: Wizard, name: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return a column's settings with what was written into its form."""
    before, look = wizard.columns[name], wizard.look(name)
    found = {key: own for key, own in before.items() if key not in EDITED}
    missing = sent["missing"].strip()
    if missing:
        whole = look.labels and all(type(one) is int for one in look.labels)
        number = whole and missing.lstrip("-").isdigit()
        found["missing"] = True if missing == "(empty)" else int(missing) if number else missing
    state(found, COLUMN["distance"], sent["distance"])
    if "edges" in sent:
        found["bands"] = read_edges(sent["edges"])
        if sent["low"] and found["bands"]:
            found["low"] = found["bands"][0]
        return found
    # Labels that look like numbers are numbers if the file, or what was merged, has them so.
    merged = before.get("merge", {}).values()
    known = [*look.labels, *before.get("categories", ()), *(old for olds in merged for old in olds)]
    return {**read_categories(sent["categories"], known), **found}


def missing_text(missing: Any) -> str:
    return "" if missing is None else "(empty)" if missing is True else str(missing)


def category_lines(settings: Mapping[str, Any]) -> str:
    """Return categories as lines, in order; one that is merged from others names them.

    >>> print(category_lines({"categories": ["a", "b"], "merge": {"b": ["c", "d"]}}))
    a
    b = c | d
    """
    merge = settings.get("merge", {})
    return "\n".join(
        f"{label}{MERGED}{AND.join(map(str, merge[label]))}" if label in merge else str(label)
        for label in settings.get("categories", ())
    )


def read_categories(text: str, known: Iterable[Any]) -> dict[str, Any]:
    r"""Return the settings that lines of categories say; labels are those known, where they are.

    >>> read_categories("2\n1", [1, 2])
    {'categories': [2, 1]}
    >>> read_categories("young\nold = 65-74 | 75+", ["65-74"])
    {'categories': ['young', 'old'], 'merge': {'old': ['65-74', '75+']}}
    """
    own = list(known)
    labels = {str(label): label for label in own}
    whole = bool(own) and all(type(label) is int for label in own)

    def label_of(word: str) -> Any:
        return labels.get(word, int(word) if whole and word.lstrip("-").isdigit() else word)

    categories: list[Any] = []
    merge: dict[str, list[Any]] = {}
    for line in text.splitlines():
        word = line.strip()
        new, sign, old = word.partition(MERGED)
        if not word:
            continue
        if word in labels or not sign:
            categories.append(label_of(word))
        else:
            categories.append(new.strip())
            merge[new.strip()] = [label_of(one.strip()) for one in old.split(AND.strip())]
    return {"categories": categories, **({"merge": merge} if merge else {})}


def read_edges(text: str) -> list[float]:
    """Return the edges of bands.

    >>> read_edges("0, 16; 65"), read_edges("0 1.5 3")
    ([0, 16, 65], [0, 1.5, 3])
    """
    words = text.replace(";", " ").replace(",", " ").split()
    try:
        edges = [float(word) for word in words]
    except ValueError:
        raise InvalidInput(
            f"Edges of bands are numbers, such as 0, 16, 65; found {text!r}."
        ) from None
    return [int(edge) if edge.is_integer() else edge for edge in edges]
