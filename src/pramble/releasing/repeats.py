r"""Whose rows these are: columns whose values look like people who have several rows.

A promise for a person whose rows nobody counted holds for one row alone. So every column is looked
at as it stands in the file, and some that only together name somebody: a random part of the values
with every row of each. A column is found by its name (`who_is_named`), or by its values where they
look given out and rows that share one are alike in what stays the same with a person.
"""

import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain, combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble import numbers
from pramble.data.arrays import is_number_type, is_text, plain_texts, value_type, without_dictionary
from pramble.data.records import MixedRecords, Records
from pramble.data.vocabulary import (
    is_birth,
    is_code,
    is_group,
    is_name_of_people,
    is_number_within,
    is_weight_name,
    key_variable,
    quantity_of,
    who_is_named,
)
from pramble.releasing.linkage import likeness
from pramble.releasing.profile.columns import POINT, Distinct
from pramble.releasing.spec.document import toml_value
from pramble.releasing.value_sample import MOST_SAMPLED, ValueSample, hashes
from pramble.values import Integers, frozen
from pramble.words import several

# Cells of all samples together, and rows of one in any case.
MOST_CELLS, LEAST_HELD = 1 << 23, 1 << 10
MOST_TRAITS, MOST_GROUPS = 8, 2

# Distinct values from which on a column is one of many people: numbers, other names, no name.
MANY_NUMBERS, MANY, MANY_UNNAMED = 20, 10, 30

# κ from which on rows of one value are alike as those of one person are: in sex and birth, in which
# there are only mistakes, and in two other traits, age among them, where the file has neither.
CONSTANT, ALIKE, AGEING = 0.5, 0.8, 0.25
# Values for each category of a trait: as many as categories, and the column is a version of it.
VALUES_A_CATEGORY, MOST_CATEGORIES = 2, 60

# An identifier of who knows what belongs to people where a value has few rows.
FEW_ROWS = 20
# Share of rows with a repeated name from which on it is not chance that people have one name.
NAMESAKES, NAMESAKES_OF_ONE_DAY = 0.3, 0.05

GIVEN_OUT = re.compile(
    r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{16,}|[^@\s]+@[^@\s]+\.\w+"
    r"|(\+|00?)[1-9]\d{0,3}[\s()/.-]*\d[\d\s()/.-]{5,16}|b'.*'",
    re.IGNORECASE | re.DOTALL,
)
NOBODY = re.compile(r"\s*([-+]?0*|-?9+|\W*|n/?\.?a\.?|nan|null|unknown|none)\s*", re.IGNORECASE)
# Times the usual number of rows from which on such a value stands for nobody; others have a number.
OFTEN = 5
MOST_READ = 2_000  # values of a sample that are read to see what they look like


@frozen
class Repeat:
    """Columns that seem to say whose a row is, and how many rows their values have."""

    columns: tuple[str, ...]
    household: bool
    sizes: Mapping[int, int]  # how many of the values have so many rows
    is_sample: bool = False  # whether they are a random part of the values

    @property
    def person(self) -> Any:
        """The setting that states it."""
        named = self.columns[0] if len(self.columns) == 1 else list(self.columns)
        return {"household": named} if self.household else named

    @property
    def named(self) -> str:
        return " and ".join(map(repr, self.columns))

    def __str__(self) -> str:
        values, more = sum(self.sizes.values()), [rows for rows in self.sizes if rows > 1]
        rows = f"{min(more)} to {max(more):,}" if min(more) < max(more) else f"{max(more):,}"
        part = "in a random part of them, " if self.is_sample else ""
        shared = f"{values - self.sizes.get(1, 0):,} of {values:,}"
        return f"Rows share values of {self.named}: {part}{shared} have {rows} rows."

    def shares(self) -> str:
        """Return which share has at most one row, two, three, …."""
        rows, values = np.array(list(self.sizes)), np.array(list(self.sizes.values()))
        steps = [most for most in (1, 2, 3, 5, 10, 20, 50) if most < rows.max()]
        upto = {most: values[rows <= most].sum() / values.sum() for most in (*steps, rows.max())}
        return ", ".join(f"{several(k, 'row')}: {numbers.percent(n)}" for k, n in upto.items())


def ways_out(found: Sequence[Repeat]) -> str:
    """Return why a file cannot be released without a statement, and the statements there are."""
    named = found[0].columns
    option, value = ",".join(named), toml_value(named[0] if len(named) == 1 else named)
    return (
        "\n".join(map(str, found[:3]))
        + "\nOne person seems to have several rows, and a promise for one row is none for all of "
        f"them. State whose rows these are:\n- person = {value} (--person {option}) if they are "
        f"people's;\n- person = {{ household = {value} }} (--person '{{household={value}}}') if "
        "they are households', which are then protected as a whole;\n- person = false (--person "
        "false, --set person=false) if every row is another person.\nNothing was released."
    )


class SharedValues:
    """Samples the values of columns, and of columns together, with their rows: a job for a scan."""

    def __init__(self, records: Records) -> None:
        schema = [] if isinstance(records, MixedRecords) else records.raw_schema
        fields = [field for field in schema if is_sound(field.type)]
        singles = [(field.name,) for field in fields if may_name(field)]
        watched = [*singles, *composites([field.name for field in fields])]
        self.traits = traits_among(fields)
        self.columns = list(dict.fromkeys([*self.traits, *chain(*watched)]))
        cells = max(len(watched), 1) * (len(self.traits) + 2)
        most = max(min(MOST_SAMPLED, MOST_CELLS // cells), LEAST_HELD)
        key = secrets.token_bytes(32)
        self.samples = {one: ValueSample(key, repr(one), most=most) for one in watched}

    def add(self, batch: Any) -> None:
        hashed, filled = {}, {}
        found = {name: plain_column(batch[name]) for name in self.columns}
        for name, values in found.items():
            hashed[name] = hashes(values)
            filled[name] = ~np.asarray(values.is_null(nan_is_null=True))
            if is_text(values):  # an empty text is a cell that nobody filled in
                filled[name] &= hashed[name] != hashes(pa.array([""]))[0]
        # An odd number spreads small integers over the upper bits.
        codes = [
            np.where(filled[name], (hashed[name] * SPREAD) >> np.uint64(40), MISSING)
            .astype(np.int32)
            for name in self.traits
        ]  # fmt: skip
        for columns, sample in self.samples.items():
            single = found[columns[0]] if len(columns) == 1 else None

            def pick(chosen: Any, values: Any = single) -> Sequence[Any]:
                own = [code[chosen] for code in codes]
                return own if values is None else [*own, plain_values(values, chosen)]

            together = reduce(lambda one, two: (one * SPREAD) ^ two, (hashed[c] for c in columns))
            sample.add_hashed(together, np.all([filled[c] for c in columns], axis=0), pick)

    def merge(self, later: "SharedValues") -> None:
        for columns, sample in self.samples.items():
            sample.merge(later.samples[columns])

    def found(self) -> tuple[Repeat, ...]:
        """Return the columns that look like people with several rows, the likeliest first."""
        evidence = {
            columns: Evidence(columns, sample, self.traits)
            for columns, sample in self.samples.items()
            if any(len(block[0]) for block in sample.held)
        }
        found = {columns: look for columns, look in evidence.items() if look.is_found}
        for columns, look in list(found.items()):
            if columns[1:] and is_number_within(columns[-1]):
                # A number that is given out anew in every group names somebody with it alone; but
                # to take all its rows together is never too few, so there must be a reason.
                alone = found.get(columns[-1:])
                if alone is not None and (alone.is_alike or not look.is_alike):
                    del found[columns]
                else:
                    found.pop(columns[-1:], None)
        ranked = sorted(
            found.values(), key=lambda look: (look.whose == "household", not look.whose)
        )
        return tuple(
            Repeat(look.columns, look.whose == "household", look.sizes, look.bits > 0)
            for look in ranked
        )


SPREAD = np.uint64(0x9E3779B97F4A7C15)
MISSING = np.uint64((1 << 32) - 1)  # which is -1 as a code


class Evidence:
    """What the sampled values of a column, or of columns together, look like."""

    def __init__(
        self, columns: tuple[str, ...], sample: ValueSample, traits: Sequence[str]
    ) -> None:
        self.columns, self.bits, self.traits = columns, sample.bits, traits
        groups, self.codes = sample.groups(), sample.codes()
        self.whose = who_is_named(columns[0]) if len(columns) == 1 else ""
        self.texts: list[Any] = []
        if len(columns) == 1:
            firsts = np.unique(groups, return_index=True)[1]
            values = self.codes.pop()[firsts].tolist()
            # What stands for nobody has many rows; others may have a number that looks like it.
            many = np.bincount(groups) > OFTEN * np.median(np.bincount(groups))
            nobody = [
                often and NOBODY.fullmatch(text_of(v)) is not None
                for v, often in zip(values, many, strict=True)
            ]
            somebody = ~np.array(nobody, dtype=bool)[groups]
            self.texts = [v for v, no in zip(values, nobody, strict=True) if not no]
            groups, self.codes = groups[somebody], [code[somebody] for code in self.codes]
        self.groups: Integers = np.unique(groups, return_inverse=True)[1]
        self.counted = np.bincount(self.groups)
        self.distinct = len(self.counted) << self.bits
        self.sizes = dict(sorted(Counter(self.counted.tolist()).items()))

    @property
    def repeated(self) -> float:
        """The share of rows whose value another row has too."""
        return float(self.counted[self.counted > 1].sum() / max(self.counted.sum(), 1))

    @property
    def is_found(self) -> bool:
        if not self.repeated:
            return False
        if len(self.columns) > 1:
            return self.distinct >= MANY and self.names_together
        name, values = (
            self.columns[0],
            Distinct(dict.fromkeys(self.texts[:MOST_READ], 1), typed=True),
        )
        whole = values.are_whole
        if values.are_dates or (values.numbers is not None and not whole):
            return False
        if self.whose in ("person", "household"):
            # A line number in a household goes up to twenty at most.
            return self.distinct >= (MANY_NUMBERS if whole else MANY)
        if self.distinct < MANY_UNNAMED - 10 * (self.whose == "record"):
            return False
        if self.whose == "record":
            return float(self.counted.mean()) <= FEW_ROWS or bool(self.is_alike)
        if is_name_of_people(name):
            full = np.mean([len(text_of(v).split()) > 1 for v in self.texts[:MOST_READ]]) >= 0.9
            return whole or (bool(full) and self.repeated >= NAMESAKES)
        shaped = given_out(values, self.texts, self.distinct)
        return shaped == "surely" or (
            bool(self.is_alike) and (shaped == "perhaps" or self.is_alike_in_more)
        )

    @property
    def names_together(self) -> bool:
        if not is_name_of_people(self.columns[0]):
            return self.is_alike is not False
        birth = any(map(is_birth, self.columns))
        return self.repeated >= (NAMESAKES_OF_ONE_DAY if birth else NAMESAKES)

    @property
    def is_alike(self) -> bool | None:
        """Whether rows that share a value are alike in what stays the same with a person.

        None where the file has neither sex nor birth, and nothing else speaks for it.
        """
        constant, others = self.likeness_in_traits
        if constant:
            return all(constant)
        pairs = combinations(others, 2)  # one that follows from another one says nothing new
        return any(max(likeness(*two), likeness(*two[::-1])) < ALIKE for two in pairs) or None

    @property
    def is_alike_in_more(self) -> bool:
        """Whether they are alike in sex or birth, and in another trait."""
        constant, others = self.likeness_in_traits
        return bool(constant) and len(constant) + len(others) > 1

    @cached_property
    def likeness_in_traits(self) -> tuple[list[bool], list[Any]]:
        """Whether rows are alike in sex and in birth, and the other traits in which they are."""
        constant, others = [], []
        for name, codes in zip(self.traits, self.codes, strict=True):
            kinds = len(np.unique(codes))
            if name in self.columns or kinds < 2:
                continue
            enough = len(self.counted) >= VALUES_A_CATEGORY * kinds
            if key_variable(name) == "sex" or is_birth(name):
                constant.append(enough and likeness(self.groups, codes) >= CONSTANT)
                continue
            # People grow older between their rows.
            least = AGEING if key_variable(name) == "age" else ALIKE
            few = least == AGEING or kinds <= MOST_CATEGORIES
            if enough and few and likeness(self.groups, codes) >= least:
                others.append(codes)
        return constant, others


def given_out(values: Distinct, found: Sequence[Any], distinct: int) -> str:
    """Return whether values look given out to somebody: "surely", "perhaps" or ""."""
    texts = [text_of(value) for value in found[:MOST_READ]]
    if values.numbers is not None:
        # Marks of missing values may stand among them, and values that were not read may be text.
        written = [text for text in map(text_of, found) if POINT.fullmatch(text)]
        figures = [float(text) for text in written]
        lengths = {len(text.lstrip("-")) for text in written}
        through = max(figures) - min(figures) < 2.5 * distinct
        one_length = len(lengths) == 1 and min(lengths) >= 4
        return "perhaps" if through or one_length else ""
    if sum(GIVEN_OUT.fullmatch(text) is not None for text in texts) >= 0.9 * len(texts):
        return "surely"
    shapes = Counter(re.sub(r"[^\W\d_]", "A", re.sub(r"\d+", "9", text)) for text in texts)
    shape, times = shapes.most_common(1)[0]
    lengths = {len(text) for text in texts}
    code = "9" in shape and ("A" in shape or (len(lengths) == 1 and min(lengths) >= 4))
    return "perhaps" if code and times >= 0.9 * len(texts) else ""


def text_of(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def plain_values(values: Any, chosen: Any) -> Any:
    found = values.filter(pa.array(chosen))
    found = plain_texts(found) if is_text(found) else without_dictionary(found)
    if not (is_text(found) or is_number_type(found.type)):
        found = pa.array(list(map(repr, found.to_pylist())), pa.string())
    return found.to_numpy(zero_copy_only=False)


def is_sound(kind: Any) -> bool:
    if pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return not (pa.types.is_nested(value_type(kind)) or pa.types.is_null(kind))


def plain_column(values: Any) -> Any:
    """Return values whose bits can be hashed: decimals as text, and each as often as it occurs."""
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    return values.cast(pa.large_string()) if pa.types.is_decimal(values.type) else values


def unreadable(records: Records) -> list[str]:
    """Return the columns that point at somebody by their names, and cannot be looked at."""
    return [
        field.name
        for field in records.raw_schema
        if not (is_sound(field.type) or pa.types.is_null(field.type)) and who_is_named(field.name)
    ]


def may_name(field: Any) -> bool:
    """Whether a column may number people, going by its type and name."""
    kind, name = value_type(field.type), field.name
    if pa.types.is_temporal(kind) or pa.types.is_boolean(kind):
        return False
    if who_is_named(name) or is_name_of_people(name):
        return True
    known = is_code(name) or is_weight_name(name) or quantity_of(name) or is_birth(name)
    return not known and key_variable(name) is None


def traits_among(fields: Sequence[Any]) -> list[str]:
    """Return the columns in which rows of a person may be alike: sex, birth, and some others."""
    ranks = {"sex": 0, "age": 1, "origin": 2, "marital": 3, "education": 4, None: 5}
    found = [
        (-1 if is_birth(one.name) else ranks[key_variable(one.name)], place, one.name)
        for place, one in enumerate(fields)
        if (is_birth(one.name) or key_variable(one.name) in ranks)
        and not pa.types.is_floating(value_type(one.type))
        and not (is_code(one.name) or who_is_named(one.name) or is_name_of_people(one.name))
    ]
    return [name for *_, name in sorted(found)[:MOST_TRAITS]]


def composites(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield columns that may name somebody together."""
    called = [name for name in names if is_name_of_people(name)]
    births = [name for name in names if is_birth(name)] if called else []
    if len(called) + len(births) > 1 and called:
        yield (*called, *births)
    groups = [name for name in names if is_group(name)][:MOST_GROUPS]
    within = [name for name in names if is_number_within(name) and name not in groups]
    yield from ((group, number) for group in groups for number in within[:MOST_GROUPS])
