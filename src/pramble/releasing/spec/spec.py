"""What a curator states of a release: every setting, its meaning, and the designs that have it."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from pramble.data.formats.base import FileLabels
from pramble.data.open import open_records
from pramble.data.recode import Reading, as_recodings
from pramble.data.records import Records
from pramble.data.vocabulary import is_household
from pramble.errors import InvalidPlan
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.privacy.unit import Unit
from pramble.releasing.spec import settings as read
from pramble.releasing.spec.column import OBJECTIVES, ColumnSpec
from pramble.releasing.spec.settings import RANDOMISED, RECORDS, TABLES, setting
from pramble.values import frozen, names_of
from pramble.words import hint_at

TABLE_OBJECTIVES = ("variance", "relative", "largest")
COPIES = ("csv", "stata", "spss", "excel")
DELTA = 1e-6


def columns_of_person(person: Any) -> tuple[str, ...]:
    """Return the columns that say whose a row is, as the setting ``person`` has them."""
    named = person.get("household") if isinstance(person, Mapping) else person
    return tuple(names_of(named)) if named else ()


@frozen
class RiskSpec:
    """Which risk of re-identification is reported."""

    keys: tuple[str, ...] = setting(
        (),
        read.names,
        "The columns that an intruder may know. It must be stated.",
        example='["sex", "region"]',
    )
    population_size: int = setting(
        0,
        read.whole,
        "How many people the file was sampled from. It must be stated.",
        example="1000000",
    )


@frozen
class FileSpec:
    """How the file is read, where that is not left to be found out (`pramble.Reading`)."""

    format: str | None = setting(
        None,
        read.string,
        "The format, where the ending of the name does not say it.",
        example='"csv"',
    )
    separator: str | None = setting(
        None, read.one_character, "The character between fields of a text file.", example='";"'
    )
    quote: str | None = setting(
        None, read.one_character, "The character around fields of a text file.", example='"\'"'
    )
    encoding: str | None = setting(
        None, read.string, "The encoding of a text file.", example='"latin-1"'
    )
    decimal: str | None = setting(
        None, read.one_character, "The character before the decimals of a number.", example='","'
    )
    missing: tuple[str, ...] | None = setting(
        None,
        read.values,
        "Strings that mean a missing value, in every column.",
        example='["NA", "-9"]',
    )
    sheet: str | None = setting(None, read.string, "The sheet of a workbook.", example='"people"')


@frozen
class ReleaseSpec:
    """A whole plan file, checked; `spec_from` and `read_spec` make one.

    ``columns`` are those to protect: every other column of the file is released as it is, unless
    dropped. ``reading`` is how to read the file.
    """

    columns: tuple[ColumnSpec, ...]
    design: str = setting(
        RECORDS,
        read.design_name,
        'What is released. ``"tables"``, the default with ``central`` and only with it: protected '
        'tables, and complete records drawn from them. ``"records"``, the default otherwise: '
        'randomised records, all columns designed together for the wanted tables. ``"columns"`` '
        '(also called ``"paper"``): randomised records with a matrix for each column.',
        example='"tables"',
    )
    alpha: float | None = setting(
        None,
        read.alpha,
        "The most that the release may spend on a person, in total: α, the ε of most of the "
        "literature. State it, or ``central``, or an ``alpha`` in every column.",
        example="3.0",
        designs=RANDOMISED,
    )
    central: float | None = setting(
        None,
        read.alpha,
        "ε of a promise against readers of the release, instead of ``alpha``. It is kept by "
        'protected tables, or, with ``design = "records"``, by randomising every released column '
        "and shuffling the rows. No column is released as it is.",
        example="1.0",
        designs=(TABLES, RECORDS),
    )
    delta: float = setting(
        DELTA,
        read.delta,
        "δ of the central promise: the probability that it may fail with.",
        example="1e-6",
    )
    tables: Any = setting(
        2,
        read.tables,
        "The tables that readers will want; protected tables measure these, with all within them: "
        'all those of 1, 2 or 3 columns, ``"all"``, or a list of tables, each a list of columns. '
        'Of protected tables also ``"auto"``: all pairs, and the triples that the pairs do not '
        "imply, chosen from the file at a cost that the promise includes.",
        example='[["sex", "region"], ["age"]]',
        designs=(TABLES, RECORDS),
    )
    whole: bool = setting(
        False,  # noqa: FBT003
        read.flag,
        "Whether every record keeps all its columns. Otherwise a record may show some of them, and "
        "the others are blank. Shuffled records under ``central`` always do.",
        example="true",
        designs=(RECORDS,),
    )
    objective: Any = setting(
        "estimation",
        read.OneOf((*OBJECTIVES, *TABLE_OBJECTIVES)),
        'What the design is best for. For tables: the least ``"variance"`` of all cells unless '
        'stated; ``"relative"`` errors, each table in shares of its mean count; or the '
        '``"largest"`` error of a cell. For records: ``"estimation"`` of the wanted tables unless '
        'stated. For columns: ``"information"`` unless stated; a column may state its own.',
        example='"estimation"',
    )
    possible: tuple[Mapping[str, Any], ...] = setting(
        (),
        read.rules,
        "Structural zeros: records that cannot occur, as public rules, ``if`` and ``then`` or "
        "``never``, each from columns to labels. ``repair`` says what a record that breaks the "
        "rule becomes; without it the file is refused.",
        example='[{ if = { age = "0-15" }, then = { married = "no" }, repair = { married = "no" }'
        " }]",
        designs=(TABLES, RECORDS),
    )
    drop: tuple[str, ...] = setting(
        (),
        read.names,
        "Columns that are left out. Every other column that is not randomised is released as it "
        "is, unprotected.",
        example='["name", "address"]',
    )
    allow: tuple[str, ...] = setting(
        (),
        read.names,
        "Columns to release as they are even though they reveal a protected one; not with "
        "``central``.",
        example='["ward"]',
        designs=RANDOMISED,
    )
    shuffle: bool = setting(
        False,  # noqa: FBT003
        read.flag,
        "Whether the rows are released in a random order. Randomised records under ``central`` "
        "always are.",
        example="true",
        designs=RANDOMISED,
    )
    person: Any = setting(
        None,
        read.person,
        "Whose rows these are: the column, or columns, that say so. The promise is then that of a "
        'person with all rows; ``{ household = "hid" }`` protects households, and ``false`` states '
        "that every row is another person. At most ``rows_per_person`` rows of each are used.",
        example='"patient"',
    )
    rows_per_person: int | None = setting(
        None,
        read.whole,
        "The most rows of one person that are used, random ones. If only ``person`` is stated, "
        "protected tables choose it by noisy counts, which the promise includes, and randomised "
        "records use the most rows that anybody has. It is 1 without either.",
        example="3",
    )
    weights: str | None = setting(
        None,
        read.string,
        "The column of survey weights: weighted tables are protected too, for half of the promise, "
        "and estimates are for the population. It is not released; synthetic records have one.",
        example='"finalwgt"',
        designs=(TABLES,),
    )
    largest_weight: float | None = setting(
        None,
        read.bounded_number,
        "The most that one row can weigh, from public knowledge, never off the file: larger "
        "weights are cut, and all noise of weighted tables is in proportion to it.",
        example="4000",
        designs=(TABLES,),
    )
    survey: Mapping[str, Any] | None = setting(
        None,
        read.survey_design,
        "How the file was sampled, for readers: the columns of its ``strata``, ``clusters`` and "
        "``replicates``, which are not released unless they are protected, and a ``design_effect`` "
        "by which sampling variances are multiplied; 1 states a simple random sample.",
        example='{ strata = "stratum", clusters = "psu", design_effect = 1.8 }',
    )
    people: str | None = setting(
        None,
        read.string,
        "The name under which the ledger adds up releases of these people.",
        example='"patients of 2024"',
    )
    rows_per_file: int | None = setting(
        None,
        read.rows_of_a_file,
        "Writes the randomised records as a folder of files with this many rows each: a multiple "
        "of 131,072. Without it they are one file.",
        example="1048576",
        designs=RANDOMISED,
    )
    copies: tuple[str, ...] = setting(
        (),
        read.SeveralOf(COPIES),
        "Formats in which the complete records are written again.",
        example='["csv", "stata"]',
    )
    dataset: Mapping[str, str] = setting(
        dict,
        read.dataset,
        "What the released data set is known by, as its page, its codebook and a citation state "
        "it: ``title``, ``description``, ``producer``, ``contact``, ``licence``, ``version``, "
        "``date`` (2026-01-31), ``region``, ``universe`` (who was asked), ``citation``, ``doi``.",
        example='{ title = "Health survey, protected", producer = "Office of Statistics" }',
    )
    risk: RiskSpec | None = None
    reading: Reading = field(default_factory=Reading)
    labels: FileLabels = field(default_factory=FileLabels)  # of the released columns, if opened

    @property
    def limit(self) -> LocalPromise | CentralPromise:
        """What may be spent on a person in all, exactly."""
        if self.central is not None:
            return CentralPromise(Fraction(self.central), Fraction(self.delta))
        return self.local_limit

    @property
    def local_limit(self) -> LocalPromise:
        """What may be spent on a person by mechanisms and priors, exactly."""
        if self.alpha is not None:
            return LocalPromise(Fraction(self.alpha))
        return LocalPromise(sum((Fraction(c.alpha or 0) for c in self.columns), Fraction(0)))

    @property
    def person_columns(self) -> tuple[str, ...]:
        """The columns that say whose a row is."""
        return columns_of_person(self.person)

    def unit(self, rows: int) -> Unit:
        """Return who is protected, where at most so many rows of each are used."""
        columns, stated = self.person_columns, self.person is not None
        if not columns and self.rows_per_person is None:
            return Unit(stated=stated)
        household = isinstance(self.person, Mapping) or (
            columns and all(map(is_household, columns))
        )
        return Unit("household" if household else "person", rows, columns, stated=True)

    @property
    def of_tables(self) -> bool:
        return self.design == TABLES

    @property
    def is_shuffled(self) -> bool:
        return self.shuffle or (self.central is not None and self.design == RECORDS)

    @property
    def survey_columns(self) -> tuple[str, ...]:
        """The columns that say how the file was sampled, weights first."""
        stated = [own for own in (self.survey or {}).values() if isinstance(own, list)]
        named = [*([] if self.weights is None else [self.weights]), *chain(*stated)]
        return tuple(dict.fromkeys(named))

    def released(self, names: Sequence[str]) -> list[str]:
        protected = {column.name for column in self.columns}
        left_out = {*self.drop, *self.survey_columns} - protected
        return [name for name in names if name not in left_out]

    def watched(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are released as they are and must not reveal protected ones."""
        columns = (column.name for column in self.columns)
        known = {*columns, *self.allow, *self.person_columns}
        return [name for name in self.released(names) if name not in known]

    def full_reading(self) -> Reading:
        stated = self.reading.recode
        recode = {
            c.name: (*stated.get(c.name, ()), *as_recodings(c.recode))
            for c in self.columns
            if c.recode
        }
        repairs = tuple(rule for rule in self.possible if "repair" in rule)
        return replace(self.reading, recode={**stated, **recode}, repairs=repairs)

    def open(self, source: Any) -> Records:
        """Open the confidential records as the plan reads them; refuse columns they lack."""
        records = open_records(source, self.full_reading())
        self.check_columns(records.names)
        return records

    def check_columns(self, names: Sequence[str]) -> None:
        wanted = [
            *((column.name, "to randomise") for column in self.columns),
            *((name, "to drop") for name in self.drop),
            *((name, "to allow") for name in self.allow),
            *((name, "to say whose row it is") for name in self.person_columns),
            *((name, "to say how the file was sampled") for name in self.survey_columns),
            *((name, "as a risk key") for name in (self.risk.keys if self.risk else ())),
        ]
        mistakes = [
            f"The plan names the column {name!r} {purpose}, which the file does not have"
            f"{hint_at(name, names)}."
            for name, purpose in wanted
            if name not in names
        ]
        if mistakes:
            raise InvalidPlan("\n".join(mistakes))
