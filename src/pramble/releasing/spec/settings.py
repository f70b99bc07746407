"""What a setting is, and how the value of each is read: one small function for each kind of value.

A setting is a field of `ReleaseSpec`, `ColumnSpec`, `RiskSpec` or `FileSpec`, and is described
there alone: how its value is read, which designs have it, what it means. The reader and the writer
of plan files, the options of the command line, the controls of the app and the page of the
documentation are made from these rows.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from datetime import date
from itertools import pairwise
from typing import Any

from pramble.data.formats.base import BATCH_ROWS
from pramble.data.labels import label_key
from pramble.data.recode import as_bands
from pramble.errors import InvalidInput
from pramble.information.structural_zeros import standard_rule
from pramble.limits import LARGEST_TOTAL
from pramble.values import frozen
from pramble.words import hint_at, visible

Reader = Callable[[Any], Any]

# Where categories, bands, merged labels and rules came from. What is plainly stated is declared.
SEEN, STANDARD, DECLARED = "seen", "standard", "declared"
# Settings of a column of which a plan may say so: { seen = … }, { standard = … }.
SOURCED = ("categories", "missing", "bands", "merge")
LARGEST_DELTA = 0.01


class Mistake(Exception):
    """What must hold and what was found, without the place; never leaves the reading of plans."""


@frozen
class OneOf:
    """Reads one of some words."""

    words: tuple[str, ...]

    def __call__(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            listed = ", ".join(map(repr, self.words))
            hint = hint_at(value, self.words) if isinstance(value, str) else ""
            raise Mistake(f"must be one of {listed}; found {value!r}{hint}")
        return value


@frozen
class SeveralOf:
    """Reads a list of some words, each once."""

    words: tuple[str, ...]

    def __call__(self, value: Any) -> tuple[str, ...]:
        found = tuple(map(OneOf(self.words), a_list(value, "words")))
        if len(set(found)) < len(found):
            raise Mistake(f"must name each once; found {value!r}")
        return found


@frozen
class PriorReader:
    """Reads where a prior comes from: one of some words, or a list of probabilities."""

    words: tuple[str, ...]

    def __call__(self, value: Any) -> Any:
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        return probabilities(value) if is_list else OneOf(self.words)(value)


def plain_design(value: Any) -> Any:
    """Return the name of a design; ``"paper"`` is another word for columns."""
    return COLUMNS if value == "paper" else value


def design_name(value: Any) -> str:
    return OneOf(DESIGNS)(plain_design(value))


def bounded_number(value: Any, *, above: float = 0.0, below: float = math.inf) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not above < value < below or value > sys.float_info.max:
        wanted = "a positive number" if below == math.inf else f"a number in ({above:g}, {below:g})"
        raise Mistake(f"must be {wanted}; found {value!r}")
    return float(value)


def alpha(value: Any) -> float:
    found = bounded_number(value)
    if found > LARGEST_TOTAL:
        raise Mistake(f"must be at most {LARGEST_TOTAL:,.0f}; found {value!r}")
    return found


def delta(value: Any) -> float:
    return bounded_number(value, below=LARGEST_DELTA)


def whole(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise Mistake(f"must be a positive whole number; found {value!r}")
    return value


def rows_of_a_file(value: Any) -> int:
    if whole(value) % BATCH_ROWS:
        nearest = max(round(value / BATCH_ROWS), 1) * BATCH_ROWS
        raise Mistake(
            f"must be a multiple of {BATCH_ROWS}, so that pieces end where blocks of rows do; "
            f"found {value}, and {nearest} is the nearest"
        )
    return int(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Mistake(f"must be true or false; found {value!r}")
    return value


def string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Mistake(f"must be a string that is not empty; found {value!r}")
    return value


def person(value: Any) -> Any:
    """Read whose rows these are: columns of people or of households, or false for one row each."""
    if value is False:
        return value
    if isinstance(value, Mapping):
        if set(value) != {"household"}:
            raise Mistake(f"must be columns, {{ household = columns }}, or false; found {value!r}")
        return {"household": person_columns(value["household"])}
    return person_columns(value)


def person_columns(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return string(value)
    found = names(value)
    if not found:
        raise Mistake("must name a column, or be false")
    return found


def a_list(value: Any, of: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Mistake(f"must be a list of {of}; found {value!r}")
    return value


def names(value: Any) -> tuple[str, ...]:
    """Read a list of distinct names; that of a column without one is an empty string."""
    for name in a_list(value, "column names"):
        if not isinstance(name, str):
            raise Mistake(f"must be a list of column names; found {name!r}")
    repeated = [name for i, name in enumerate(value) if name in value[:i]]
    if repeated:
        raise Mistake(f"must name each column once; {repeated[0]!r} is named twice")
    return tuple(value)


def source_and_value(name: str, stated: Any) -> tuple[str, Any]:
    """Split what a column states into where it came from and the value."""
    if isinstance(stated, Mapping) and len(stated) == 1:
        ((source, own),) = stated.items()
        # A list in a merge is of old labels: "seen" and "standard" may be new ones.
        if source in (SEEN, STANDARD) and (name != "merge" or isinstance(own, Mapping)):
            return source, own
    return DECLARED, stated


@frozen
class Sourced:
    """Reads a setting of a column with where it came from."""

    name: str
    read: Reader

    def __call__(self, stated: Any) -> Any:
        source, own = source_and_value(self.name, stated)
        return self.read(own) if source == DECLARED else {source: self.read(own)}


def seen_settings(column: Mapping[str, Any]) -> frozenset[str]:
    """Return the settings of a column that were read off the file."""
    return frozenset(one for one in SOURCED if source_and_value(one, column.get(one))[0] == SEEN)


def labels_or_seen(value: Any) -> tuple[Any, ...] | None:
    """Read the categories: a list of distinct labels, or the word "seen"."""
    if value == SEEN:
        return None
    for label in a_list(value, 'labels, or "seen"'):
        if not (label is None or isinstance(label, str | int)):
            raise Mistake(f"must be strings, whole numbers or booleans; found {label!r}")
    keys = [label_key(label) for label in value]
    repeated = [value[i] for i, key in enumerate(keys) if key in keys[:i]]
    if repeated:
        raise Mistake(f"must be distinct; {repeated[0]!r} is named twice")
    if len(value) < 2:
        raise Mistake(f"must be at least two; found {len(value)}")
    return tuple(value)


def missing_label(value: Any) -> Any:
    if value is True or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise Mistake(f"must be a label, or true for a category of its own; found {value!r}")


def probabilities(value: Any) -> tuple[float, ...]:
    # one that is nearly 1 may be rounded
    found = tuple(bounded_number(part, below=1 + 2e-6) for part in a_list(value, "probabilities"))
    if not math.isclose(math.fsum(found), 1, abs_tol=1e-6):
        raise Mistake(f"must sum to 1; the sum is {math.fsum(found):.9g}")
    # Rounded percentages sum to 1 only nearly; what was read before stays as it is.
    whole = 1.0 if math.isclose(math.fsum(found), 1, abs_tol=1e-12) else math.fsum(found)
    return tuple(part / whole for part in found)


def any_number(value: Any) -> float:
    return bounded_number(value, above=-math.inf) if value != 0 else value


def edges(value: Any) -> tuple[float, ...]:
    found = tuple(any_number(part) for part in a_list(value, "increasing numbers"))
    if len(found) < 2 or any(high <= low for low, high in pairwise(found)):
        raise Mistake(f"must be two or more increasing numbers; found {value!r}")
    return tuple(int(edge) if float(edge).is_integer() else edge for edge in found)


def edges_or_range(value: Any) -> Any:
    """Read the bands of a column: edges, or a table with a step or of dates."""
    if not isinstance(value, Mapping):
        return edges(value)
    try:
        as_bands(value)
    except InvalidInput as error:
        raise Mistake(str(error).removeprefix("bands ").removesuffix(".")) from None
    return dict(value)


def values(value: Any) -> tuple[Any, ...]:
    return tuple(a_list(value, "values"))


def lists_of_labels(value: Any) -> dict[str, tuple[Any, ...]]:
    """Read a table from new labels to the old ones that they stand for."""
    if not isinstance(value, Mapping) or not value:
        raise Mistake(f"must be a table from new labels to lists of old ones; found {value!r}")
    return {str(new): values(old) for new, old in value.items()}


labels = Sourced("categories", labels_or_seen)
missing_code = Sourced("missing", missing_label)
bands = Sourced("bands", edges_or_range)
merge_lists = Sourced("merge", lists_of_labels)


def tables(value: Any) -> Any:
    if value in ("all", "auto"):
        return value
    if isinstance(value, str) or not isinstance(value, Sequence):
        try:
            return whole(value)
        except Mistake:
            raise Mistake(
                f'must be 1, 2, 3, "all", "auto", or lists of columns; found {value!r}'
            ) from None
    if not value:
        raise Mistake("must name at least one table")
    return tuple(names([part] if isinstance(part, str) else part) for part in value)


def rules(value: Any) -> tuple[Mapping[str, Any], ...]:
    found = []
    for stated in a_list(value, "rules"):
        rule, source = stated, {}
        # In a rule of columns alone the word is a column.
        if isinstance(rule, Mapping) and SEEN in rule and {"never", "if"} & set(rule):
            source = {SEEN: True} if flag(rule[SEEN]) else {}
            rule = {word: part for word, part in rule.items() if word != SEEN}
        try:
            found.append(standard_rule(rule) | source)
        except InvalidInput as error:
            raise Mistake(f"must hold rules. {str(error).removesuffix('.')}") from None
        repair = rule.get("repair", {"": ""})
        if not isinstance(repair, Mapping) or not repair:
            raise Mistake(f"must map columns to labels in repair; found {repair!r}")
    return tuple(found)


# What a data set is known by, and the most characters of each part: all stand on one page.
DATASET = {
    "title": 300, "description": 5000, "producer": 500, "contact": 300, "licence": 300,
    "version": 60, "date": 10, "region": 500, "universe": 1000, "citation": 1000, "doi": 200,
}  # fmt: skip
DOI = re.compile(r"10\.[0-9]{4,9}(\.[0-9]+)*/\S+")
DOI_PLACES = re.compile(r"^(doi:\s*|https?://(dx\.)?doi\.org/)", re.IGNORECASE)


def dataset(value: Any) -> dict[str, str]:
    """Read what a data set is known by: title, producer and so on."""
    if not isinstance(value, Mapping):
        raise Mistake(f"must be a table of {', '.join(DATASET)}; found {value!r}")
    return {str(name): part_of_dataset(name, part) for name, part in value.items()}


def part_of_dataset(name: Any, value: Any) -> str:
    if name not in DATASET:
        raise Mistake(f"has no {name!r}{hint_at(str(name), list(DATASET))}: {', '.join(DATASET)}")
    text = value.isoformat() if type(value) is date else value
    if not isinstance(text, str) or not text.strip() or visible(text) != text:
        raise Mistake(f"has a {name} that is no string of visible characters; found {value!r}")
    text = DOI_PLACES.sub("", text.strip()) if name == "doi" else text.strip()
    if len(text) > DATASET[name]:
        raise Mistake(f"has a {name} of {len(text):,} characters; at most {DATASET[name]:,} fit")
    if name == "doi" and not DOI.fullmatch(text):
        raise Mistake(f"has a doi that does not read like 10.1234/abc; found {value!r}")
    if name == "date":
        try:
            is_iso = date.fromisoformat(text).isoformat() == text
        except ValueError:
            is_iso = False
        if not is_iso:
            raise Mistake(f"has a date that does not read like 2026-01-31; found {value!r}")
    return text


def survey_design(value: Any) -> dict[str, Any]:
    """Read how the file was sampled: strata, clusters, replicates, and a design effect."""
    columns = ("strata", "clusters", "replicates")
    if not isinstance(value, Mapping) or not value or set(value) - {*columns, "design_effect"}:
        raise Mistake(
            f"must be a table of {', '.join(columns)} (columns) and design_effect; found {value!r}"
        )
    found: dict[str, Any] = {
        key: list(names([own] if isinstance(own, str) else own))
        for key, own in value.items()
        if key in columns
    }
    if "design_effect" in value:
        found["design_effect"] = bounded_number(value["design_effect"])
    return found


def one_character(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise Mistake(f"must be one character; found {value!r}")
    return value


def distance(value: Any) -> Any:
    """Read how far apart categories are: "path", or a table with files or groups."""
    if value == "path":
        return value
    kinds = ("neighbours", "points", "groups")
    stated = [kind for kind in kinds if isinstance(value, Mapping) and kind in value]
    if len(stated) != 1 or set(value) - {*stated, "most", "across"}:
        listed = ", ".join(kinds)
        raise Mistake(f'must be "path", or a table with one of {listed}; found {value!r}')
    found: dict[str, Any] = {
        key: bounded_number(value[key]) for key in ("most", "across") if key in value
    }
    if stated == ["groups"]:
        return {"groups": lists_of_labels(value["groups"]), **found}
    return {stated[0]: string(value[stated[0]]), **found}


RECORDS, COLUMNS, TABLES = DESIGNS = ("records", "columns", "tables")
RANDOMISED = (RECORDS, COLUMNS)


@frozen
class Setting:
    """One setting of a plan."""

    name: str
    help: str  # one sentence or two that say what it means
    example: str  # a value, as a plan file has it
    read: Reader  # returns the checked value, or raises `Mistake`
    default: Any = None
    designs: tuple[str, ...] = DESIGNS  # in any other it is refused
    in_plan: bool = False  # whether one of columns may be stated for all, at the top of the plan

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(getattr(self.read, "words", ()))


def setting(
    default: Any,
    read: Reader,
    help: str,  # noqa: A002
    *,
    example: str,
    designs: tuple[str, ...] = DESIGNS,
    in_plan: bool = False,
) -> Any:
    row = {"read": read, "help": help, "example": example, "designs": designs, "in_plan": in_plan}
    if callable(default):
        return field(default_factory=default, metadata={"setting": row})
    return field(default=default, metadata={"setting": row})


def settings_of(kind: Any) -> Iterator[Setting]:
    """Yield the settings of a part of a plan, in order."""
    for part in fields(kind):
        if "setting" in part.metadata:
            default = None if part.default is MISSING else part.default
            yield Setting(name=part.name, default=default, **part.metadata["setting"])
