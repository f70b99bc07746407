"""A file before its plan: what its columns look like, and a first plan, as TOML to edit."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from itertools import combinations
from typing import Any

import pyarrow as pa

from pramble.data.bands import band_labels
from pramble.data.encode import Levels
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.records import MixedRecords, Records
from pramble.data.vocabulary import KEY_WORDS, key_variable
from pramble.errors import InvalidInput
from pramble.limits import LEAST_ROWS_OF_A_VALUE
from pramble.releasing.linkage import FUNCTION, likeness
from pramble.releasing.profile.columns import ColumnProfile, profile_columns
from pramble.releasing.repeats import Repeat, SharedValues
from pramble.releasing.spec.document import toml_table, toml_value
from pramble.releasing.spec.settings import STANDARD
from pramble.releasing.spec.spec import columns_of_person
from pramble.releasing.value_sample import MOST_SAMPLED
from pramble.values import Watcher, frozen
from pramble.words import several

MOST_CHOSEN = 8  # more columns leave little but noise at the α of one release
LEAST_KEYS = 3  # columns known by their names from which on no others are taken to fill up
MOST_CATEGORIES = 40  # above, a column is left for the curator to merge its categories

# Cells that are looked at of the first rows of many columns, and rows in any case.
MOST_CELLS, LEAST_SAMPLED = 1 << 23, 1 << 10


def copied_columns(rows: pa.Table, chosen: Sequence[str]) -> dict[str, str]:
    """Return the columns that follow from an earlier one, or determine it, with that one."""
    codes = {name: Levels(name).codes(rows[name]) for name in chosen if rows.num_rows}
    found: dict[str, str] = {}
    for earlier, later in combinations(codes, 2):
        ways = (codes[earlier], codes[later]), (codes[later], codes[earlier])
        if later not in found and any(likeness(*way) >= FUNCTION for way in ways):
            found[later] = earlier
    return found


ALPHA = 2.0  # the promise of a first plan


@frozen(eq=False)
class FileProfile:
    """What a file looks like, and which columns to randomise."""

    profiles: tuple[ColumnProfile, ...]  # of every column, in order
    rows: int
    reading: Reading  # how it was read, to be read the same way again
    first: pa.Table  # some of the first rows
    chosen: tuple[str, ...]  # what was named, or else what is proposed
    follows: dict[str, str]  # chosen columns, and others that they follow from
    tells: dict[str, str]  # columns that are left out, and chosen ones that they would reveal
    repeats: tuple[Repeat, ...] = ()  # columns that look like people with several rows

    def draft(
        self,
        *,
        accepted: Collection[str],
        alpha: float = ALPHA,
        central: float | None = None,
        person: Any = None,
    ) -> str:
        """Return a commented plan, with α or with a promise against readers alone.

        Categories and bands that come from the values of the file stand in it for the columns in
        ``accepted``, as seen. The others get a placeholder, and the plan is refused until the
        curator has declared them. ``person`` says whose rows these are; else it is what was found,
        if anything.
        """
        if person is None and self.repeats:
            person = self.repeats[0].person
        whose = columns_of_person(person)
        names = [name for name in self.chosen if name not in whose]
        chosen = [one for one in self.profiles if one.name in names]
        others = [one for one in self.profiles if one.name not in names]
        tables = TWO_WAY
        promise = DRAFT["local"].format(toml_value(float(alpha)))
        if central is not None:
            promise = DRAFT["central"].format(toml_value(float(central)))
            tables = DRAFT["auto"] + TWO_WAY
        settings = DRAFT["settings"]
        lines = [
            *(DRAFT["head"] + promise + DRAFT["tables"] + tables).splitlines(),
            *([] if central else settings.splitlines()),
            *person_lines(person, self.repeats),
            *(weight_lines(self.profiles) if central is not None else ()),
            *drop_lines(others, self.tells, central=central is not None),
            *file_lines(self.reading),
        ]
        for one in chosen:
            lines += ["", *column_lines(one, accepted=one.name in accepted)]
            if other := self.follows.get(one.name):
                note = f"of {other!r} and this column one follows from the other"
                lines.append(f"# {toml_comment(note)}, and may be left out")
        if not chosen:
            lines += ["", "# No column was found to randomise: add tables [columns.NAME]."]
        known = [one.name for one in chosen if key_variable(one.name)] or [
            one.name for one in chosen
        ]
        keys = toml_comment(toml_value(known[:4]))
        risk = "" if central is not None else DRAFT["risk"].format(keys)
        return "\n".join([*lines, DRAFT["possible"] + risk + DRAFT["dataset"]])


def survey_file(
    source: Any,
    reading: Reading | None = None,
    *,
    columns: Sequence[str] | None = None,
    progress: Watcher | None = None,
) -> FileProfile:
    """Look at every column of a file in one scan, and choose those to randomise.

    >>> found = survey_file({"sex": ["f", "m"] * 30, "name": [f"p{i}" for i in range(60)]})
    >>> found.chosen, found.profiles[1].kind
    (('sex',), 'identifier')
    """
    records = open_records(source, reading)
    records.refuse_missing(columns or ())
    shared = SharedValues(records)
    profiles, rows = profile_columns(records, more=[shared], progress=progress)
    chosen = proposed_columns(profiles) if columns is None else checked_choice(profiles, columns)
    first = first_rows(records)
    follows = copied_columns(first, chosen)
    tells: dict[str, str] = {}
    if columns is None:  # a copy would spend the budget twice on one thing
        chosen = tuple(name for name in chosen if name not in follows)
        tells, follows = follows, {}
    return FileProfile(
        tuple(profiles), rows, records.reading, first, chosen, follows, tells, shared.found()
    )


def first_rows(records: Records) -> pa.Table:
    """Return the first rows: as many as a sample holds, or fewer where columns are many."""
    if isinstance(records, MixedRecords):
        return pa.table({})
    left = max(min(MOST_SAMPLED, MOST_CELLS // max(len(records.names), 1)), LEAST_SAMPLED)
    held: list[pa.RecordBatch] = []
    for batch in records.here(records.names, rows=left).batches(records.names):
        held.append(batch.slice(0, left))
        left -= held[-1].num_rows
        if not left:
            break
    whole = pa.Table.from_batches(held) if held else pa.table({})
    return whole.unify_dictionaries().combine_chunks()


def proposed_columns(profiles: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Return the columns to randomise, in the order of the file."""
    fit = [one for one in profiles if one.is_fit and one.size <= MOST_CATEGORIES]
    if len(fit) <= MOST_CHOSEN:
        return tuple(one.name for one in fit)
    # Else those whose names an intruder's knowledge goes by (sex, age, region, …: one of each
    # first), and without enough of them the first categorical ones.
    kinds, met, ranked = list(KEY_WORDS), Counter[str](), []
    for place, one in enumerate(fit):
        if key := key_variable(one.name):
            met[key] += 1
            ranked.append((met[key], kinds.index(key), place, one.name))
    known = [name for *_, name in sorted(ranked)]
    if len(known) < LEAST_KEYS:
        others = [one.name for one in fit if one.labels and one.name not in known]
        known += others[: MOST_CHOSEN - len(known)]
    best = set(known[:MOST_CHOSEN])
    return tuple(one.name for one in fit if one.name in best)


def checked_choice(profiles: Sequence[ColumnProfile], wanted: Collection[str]) -> tuple[str, ...]:
    """Return the columns that the curator named; refuse those for which nothing can be proposed."""
    unfit = [
        f"Column {one.name!r} cannot be randomised as it is ({one.kind}: {one.reason}). Recode "
        "it in the file first, or leave it out of --columns."
        for one in profiles
        if one.name in wanted and not one.can_be_randomised
    ]
    if unfit:
        raise InvalidInput("\n".join(unfit))
    return tuple(one.name for one in profiles if one.name in wanted)


# Labels of empty cells: the first that is no category.
MISSING = ("missing", "(missing)", "no answer", "empty cell")
NUMBERS = (-1, -9, -99, -999, -9999)
MOST_MEANINGS = 12
BARE = re.compile(r"[A-Za-z0-9_-]+")
OF_TEXT = ("separator", "quote", "encoding", "decimal", "missing")


# The texts of a first plan, by their names.
DRAFT = dict(
    re.findall(
        r"@(\w+)@\n(.*?)(?=@\w+@\n|\Z)",
        (files("pramble") / "resources" / "draft.toml.txt").read_text(encoding="utf-8"),
        re.DOTALL,
    )
)
TWO_WAY = "tables = 2\n"


def drop_lines(
    others: Sequence[ColumnProfile], tells: Mapping[str, str], *, central: bool
) -> list[str]:
    reasons = {one.name: toml_comment(reason_dropped(one, tells.get(one.name))) for one in others}
    listed = [f"  {toml_value(name)},  # {reason}" for name, reason in reasons.items()]
    note = [
        "# To randomise one that is marked “not chosen”, take it off and give it a table",
        "# [columns.NAME], or name all that you want in `pramble init FILE --columns NAME,NAME`.",
    ]
    return [
        "",
        "# Left out of the release. A column that you take off this list without giving it a table",
        "# [columns.NAME] "
        + ("is refused." if central else "is published as it is, without any protection."),
        *(note if any(one.is_fit for one in others) else ()),
        *(["drop = [", *listed, "]"] if others else ["drop = []"]),
    ]


def person_lines(person: Any, repeats: Sequence[Repeat]) -> list[str]:
    """Return whose rows these are, with what was found of it; as a comment where nobody says so."""
    if person is None:
        return list(DRAFT["nobody"].splitlines())
    about = [toml_comment(f"# {one}") for one in repeats]
    own = [one for one in repeats if set(one.columns) == {*columns_of_person(person)}]
    rows = [DRAFT["rows"].format(toml_comment(one.shares())) for one in own[:1]]
    stated = DRAFT["person"].format(toml_value(person))
    return ["", *about, *stated.splitlines(), *"".join(rows).splitlines()]


def weight_lines(profiles: Sequence[ColumnProfile]) -> list[str]:
    """Return what to state of a column that looks like survey weights, as a comment."""
    names = [one.name for one in profiles if one.kind == "weight"]
    about = [DRAFT["weights"].format(toml_comment(toml_value(name))) for name in names[:1]]
    return "".join(about).splitlines()


def reason_dropped(one: ColumnProfile, revealed: str | None) -> str:
    chosen = ", not chosen" if one.is_fit else ""
    many = one.is_fit and one.size > MOST_CATEGORIES
    merge = "; too many to randomise, merge them into fewer" if many else ""
    as_it_is = "" if revealed is None else f"; as it is, it tells {revealed!r}"
    return f"{titled_text(one)}{one.kind}{chosen}: {one.reason}{merge}{as_it_is}"


def titled_text(one: ColumnProfile) -> str:
    return f"{one.title}; " if one.title else ""


def toml_comment(line: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def file_lines(reading: Reading) -> list[str]:
    names = ("format", *(OF_TEXT if reading.separator is not None else ()), "sheet")
    said = {name: getattr(reading, name) for name in names}
    table = {name: setting for name, setting in said.items() if setting is not None}
    head = ["", "# How the file is read, as it was found out or said.", "[file]"]
    return [*head, *toml_table(table)] if table else []


def column_lines(one: ColumnProfile, *, accepted: bool) -> list[str]:
    found = f"{several(len(one.labels), 'value')} seen"
    if one.is_listed:
        found = f"{several(len(one.labels), 'value')} listed in the file"
    elif one.bands is not None:
        found = f"{one.reason}, in round bands"
    name = one.name if BARE.fullmatch(one.name) else toml_value(one.name)
    lines = [f"[columns.{name}]  # {toml_comment(titled_text(one) + found)}"]
    is_known, has_empty = accepted or one.source == STANDARD, bool(one.empty or one.marks)
    if one.bands is not None:
        lines += band_lines(one, is_known=is_known)
    elif is_known and has_empty and all(isinstance(label, bool) for label in one.labels):
        lines.append('categories = { standard = ["no", "yes"] }')
        lines.append(f"merge = {toml_value({'standard': {'no': [False], 'yes': [True]}})}")
    elif is_known:
        if one.meanings and len(one.meanings) <= MOST_MEANINGS:
            lines.append(f"# {toml_comment('; '.join(one.meanings))}")
        lines.append(f"categories = {{ {one.source} = {toml_value(one.labels)} }}")
    else:
        lines.append("categories = []  # declare every possible value, in order")
    if one.merge:
        lines.append(f"merge = {{ seen = {toml_value(one.merge)} }}")
    if one.rare:  # values stand in a plan only where the curator accepted those that were seen
        listed = f": {rare_text(one)}" if accepted else ""
        few = f"fewer than {LEAST_ROWS_OF_A_VALUE} rows hold {several(len(one.rare), 'value')}"
        lines.append(f"# {toml_comment(few + listed)}")
    if one.trim:
        lines.append("trim = true  # blanks around values are taken off")
    if one.marks:
        lines.append(f"missing_values = {toml_value(one.marks)}  # these mean an empty cell")
    if has_empty:
        cells = f"{several(one.empty, 'cell')} {'is' if one.empty == 1 else 'are'} empty"
        said = cells if one.empty else "of empty cells"
        # Codes with meanings are released as those, which are texts.
        numbers = not one.meanings and all(type(label) is int for label in one.labels or (None,))
        taken = {*one.labels, *(meaning.partition(" = ")[2] for meaning in one.meanings)}
        free = (label for label in (NUMBERS if numbers else MISSING) if label not in taken)
        lines.append(f"missing = {{ seen = {toml_value(next(free))} }}  # their label: {said}")
    return lines


def rare_text(one: ColumnProfile) -> str:
    """List the values that few rows hold, for the curator."""
    return ", ".join(f"{label} ({several(count, 'row')})" for label, count in one.rare)


def band_lines(one: ColumnProfile, *, is_known: bool) -> list[str]:
    assert one.bands is not None
    if not is_known:
        return ["bands = []  # increasing edges, such as [0, 10, 20, 50]; the last band is open"]
    edges = one.bands.edges
    labels = band_labels(edges)
    shown = labels if len(labels) <= 3 else (labels[0], labels[1], "…", labels[-1])
    known = "the usual ones" if one.bands.public else "round numbers of the size of the file's"
    said = f"{', '.join(shown)}: {known}"
    lines = [f"bands = {{ {one.source} = {toml_value(edges)} }}  # {said}"]
    if one.bands.low:
        lines.insert(1, f"low = {toml_value(edges[0])}  # smaller numbers count as this one")
    return lines
