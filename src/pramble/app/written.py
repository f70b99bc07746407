"""What is written into the fields of a column, as settings of a plan, and back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pramble.app.wizard import Wizard
from pramble.data.bands import text_of_number
from pramble.errors import InvalidInput
from pramble.words import names_in

MERGED, AND = " = ", " | "


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


def edges_text(edges: Sequence[float]) -> str:
    """Return the edges of bands as they are written.

    >>> edges_text([0, 16.0, 65.5])
    '0, 16, 65.5'
    """
    return ", ".join(map(text_of_number, edges))


def read_tables(text: str) -> list[list[str]]:
    r"""Return the wanted tables, one a line, their columns joined by plus signs.

    >>> read_tables("sex + age\nregion")
    [['sex', 'age'], ['region']]
    """
    lines = (line.strip() for line in text.splitlines())
    return [[name.strip() for name in line.split("+") if name.strip()] for line in lines if line]


def tables_text(tables: Any) -> str:
    r"""Return named tables as they are written.

    >>> tables_text([["sex", "age"], "region"]), tables_text(2)
    ('sex + age\nregion', '')
    """
    if not isinstance(tables, list | tuple):
        return ""
    return "\n".join(one if isinstance(one, str) else " + ".join(one) for one in tables)


def rule_text(rule: Mapping[str, Any]) -> str:
    """Say what a rule of impossible combinations means.

    >>> rule_text({"if": {"age": ["0-14"]}, "then": {"marital": ["single"]}})
    'if age is 0-14, then marital is single'
    """

    def part(word: str) -> str:
        given = rule[word].items()
        return " and ".join(f"{name} is {words(labels)}" for name, labels in given)

    said = f"never: {part('never')}" if "never" in rule else f"if {part('if')}, then {part('then')}"
    mended = f"; a record that breaks this becomes: {part('repair')}" if "repair" in rule else ""
    return said + mended


def words(labels: Any) -> str:
    """Return some labels in words.

    >>> words(["a", "b", "c"]), words("a")
    ('a, b or c', 'a')
    """
    own = [str(one) for one in labels] if isinstance(labels, list | tuple) else [str(labels)]
    return own[0] if len(own) == 1 else f"{', '.join(own[:-1])} or {own[-1]}"


def whole_number(text: Any, what: str) -> int | None:
    """Return a whole number that was typed, or nothing.

    >>> whole_number(" 1,000 ", "population"), whole_number("", "population")
    (1000, None)
    """
    digits = "".join(names_in(str(text or "").replace(" ", "")))
    if not digits:
        return None
    if not digits.isdigit():
        raise InvalidInput(f"{what} is a whole number; found {text!r}.")
    return int(digits)


def fields_of(settings: dict[str, Any]) -> tuple[str, ...]:
    """Return the fields that are shown for a column with these settings."""
    if isinstance(settings.get("bands"), list):
        return ("edges", "low", "release_as", "missing", "distance", "declared")
    return ("categories", "missing", "distance", "declared")


def missing_text(missing: Any) -> str:
    """Return what empty cells become as it is written."""
    return "" if missing is None else "(empty)" if missing is True else str(missing)


def settings_of(wizard: Wizard, name: str, written: dict[str, Any]) -> dict[str, Any]:
    """Return a column's settings with what was written into its fields."""
    before, look = wizard.columns[name], wizard.look(name)
    gone = ("categories", "merge", "bands", "low", "release_as", "missing", "distance")
    kept = {key: own for key, own in before.items() if key not in gone}
    missing = written["missing"].strip()
    if missing:
        whole = look.labels and all(type(one) is int for one in look.labels)
        number = whole and missing.lstrip("-").isdigit()
        kept["missing"] = True if missing == "(empty)" else int(missing) if number else missing
    if written["distance"]:
        kept["distance"] = written["distance"]
    if "edges" in written:
        edges = read_edges(written["edges"])
        kept |= {"bands": edges} | ({"low": edges[0]} if written["low"] and edges else {})
        kind = written["release_as"]
        return kept if kind == "band" else {**kept, "release_as": kind}
    merged = before.get("merge", {}).values()
    known = [*look.labels, *before.get("categories", ()), *(old for olds in merged for old in olds)]
    return {**read_categories(written["categories"], known), **kept}
