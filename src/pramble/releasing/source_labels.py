"""Labels in place of codes: a column that a file labels is protected, and stated, in its words.

A plan may state categories as codes or as labels. A column keeps its codes where they are numbers
to the plan (bands, bounds), and where fewer than half of its values are labelled: labels of a few
special values are no list of categories.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pramble.data.arrays import text_of_label
from pramble.data.formats.base import FileLabels
from pramble.data.labels import WHOLE, Label, in_order, object_key
from pramble.data.recode import Order, as_recodings, categories_after, one_or_more
from pramble.data.records import Records, scan
from pramble.limits import MOST_CATEGORIES_SEEN
from pramble.releasing.scan import ValueCounts
from pramble.releasing.spec.column import ColumnSpec
from pramble.releasing.spec.settings import DECLARED, SEEN, source_and_value
from pramble.releasing.spec.spec import ReleaseSpec

Labels = Mapping[Label, str]


def open_labelled(source: Any, spec: ReleaseSpec) -> tuple[Records, ReleaseSpec]:
    """Open confidential records with labels in place of codes; return them, and the plan in them.

    Where nothing is labelled both are as they were.
    """
    records = spec.open(source)
    found, released = records.file_labels(), spec.released(records.names)
    banded = {column.name for column in spec.columns if column.stated("bands") is not None}
    coded = set(released) - banded
    values: dict[str, Labels] = {n: own for n, own in found.values.items() if n in coded}
    columns = {column.name: column for column in spec.columns}
    if spec.person_columns and spec.rows_per_person is not None:
        # only a row that is left out may have a value of a column that is released as it is
        values = {name: own for name, own in values.items() if name in columns}
    stated = {name for name, own in columns.items() if own.stated("categories") is not None}
    # A label that no row has may be the name of a person who was taken out of the file: it is
    # published only where the plan states it.
    seen = values_seen(records, values.keys() - stated)
    for name, codes in seen.items():
        values[name] = {code: label for code, label in values[name].items() if code in codes}
    words: dict[str, Labels] = {}
    for column in spec.columns:
        listed = values.get(column.name)
        if listed and keeps_no_codes(column, spec):
            own = seen.get(column.name)
            labels = category_labels(values_stated(column) if own is None else own, listed)
            if labels:
                words[column.name] = values[column.name] = labels
                columns[column.name] = column_in_labels(column, labels, own)
    merges = FileLabels(values=words).recodings
    parts: tuple[Mapping[str, Any], ...] = (found.titles, values, found.missing)
    spec = replace(
        spec,
        columns=tuple(columns.values()),
        possible=tuple(rule_in_labels(rule, words) for rule in spec.possible),
        reading=replace(spec.reading, recode={**spec.reading.recode, **merges}),
        labels=FileLabels(*({n: own[n] for n in released if n in own} for own in parts)),
    )
    return (spec.open(source) if words else records), spec


def values_seen(records: Records, names: Iterable[str]) -> dict[str, list[Label]]:
    """Return the values that occur in some columns as they stand in the file, in order."""
    jobs = [ValueCounts(name) for name in names]
    plain: Any = replace(records.reading, recode={}, repairs=())
    if jobs:
        scan(replace(records, reading=plain), jobs)  # type: ignore[type-var]
    return {job.columns[0]: in_order({*job.counts} - {None, ""}) for job in jobs}


def keeps_no_codes(column: ColumnSpec, spec: ReleaseSpec) -> bool:
    """Whether nothing that the plan says takes the values of a column for numbers."""
    conditions = [
        part[column.name]
        for rule in spec.possible
        for part in rule.values()
        if isinstance(part, Mapping) and column.name in part
    ]
    return (
        column.low is None
        and column.high is None
        and column.name not in spec.reading.recode
        and not any(isinstance(one, Mapping) or callable(one) for one in conditions)
    )


def values_stated(column: ColumnSpec) -> list[Label]:
    """Return the values that a plan states for a column, without the labels that it makes."""
    merge = column.stated("merge") or {}
    made = {*map(str, merge), *((column.null_label,) if column.missing else ())}
    listed = (*column.stated("categories"), *(old for olds in merge.values() for old in olds))
    return [one for one in listed if one not in made and one is not None]


def category_labels(values: Sequence[Label], listed: Labels) -> Labels:
    """Return the label of each code, also of codes without one; none for a column of numbers."""
    texts = {*listed.values()}
    known = [one for one in values if one in texts or word_of(one, listed) in texts]
    if 2 * len(known) < len(values):
        return {}
    others = (as_code(one) for one in values if one not in known)
    all_labels = {**{code: str(code) for code in others if type(code) is int}, **listed}
    return {code: all_labels[code] for code in in_order(all_labels)}


def as_code(value: Label) -> Label:
    return int(value) if isinstance(value, str) and WHOLE.fullmatch(value) else value


def word_of(value: Label, labels: Labels) -> Label:
    """Return the label of what a plan states as a code or as a label.

    >>> [word_of(one, {1: "Yes", 2: "No"}) for one in (1, "2", "No", 3, "other", None)]
    ['Yes', 'No', 'No', '3', 'other', None]
    """
    text = text_of_label(value)
    if isinstance(value, str) and value in labels.values():
        return value
    codes = (object_key(value)[-1], text, as_code(text))
    return next((labels[one] for one in codes if type(one) in (int, str) and one in labels), text)


def column_in_labels(
    column: ColumnSpec, labels: Labels, seen: Sequence[Label] | None
) -> ColumnSpec:
    """Return what a plan says of a column in labels; categories that were seen are stated as so."""

    def words(values: Iterable[Label]) -> tuple[Label, ...]:
        return tuple(word_of(one, labels) for one in values)

    def merged(lists: Mapping[Label, Any]) -> dict[Any, Any]:
        return {word_of(new, labels): words(one_or_more(olds)) for new, olds in lists.items()}

    def label(value: Label) -> Label:
        return value if value is True else word_of(value, labels)

    found: dict[str, Any] = {"missing_values": words(column.missing_values)}
    for name, change in (("categories", words), ("missing", label), ("merge", merged)):
        source, stated = source_and_value(name, getattr(column, name))
        if stated not in (None, {}):
            found[name] = change(stated) if source == DECLARED else {source: change(stated)}
    if isinstance(column.distance, Mapping) and "groups" in column.distance:
        found["distance"] = {**column.distance, "groups": merged(column.distance["groups"])}
    column = replace(column, **found)
    if seen is not None:
        order = Order(tuple(dict.fromkeys(labels.get(one, text_of_label(one)) for one in seen)))
        left = categories_after((order, *as_recodings(column.recode))) or ()
        if 2 <= len(left) <= MOST_CATEGORIES_SEEN:  # else it is refused when it is counted
            column = replace(column, categories={SEEN: left})
    return column


def rule_in_labels(rule: Mapping[str, Any], words: Mapping[str, Labels]) -> dict[str, Any]:
    def in_words(wanted: Any, labels: Labels) -> Any:
        several = isinstance(wanted, list | tuple)
        return [word_of(one, labels) for one in wanted] if several else word_of(wanted, labels)

    return {
        word: {
            name: in_words(own, words[name]) if name in words else own for name, own in part.items()
        }
        if isinstance(part, Mapping)
        else part
        for word, part in rule.items()
    }
