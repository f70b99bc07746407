"""``pramble init``: a first plan for a file."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pramble.cli.console import VERBOSITY, messages, show, shown_progress
from pramble.cli.inputs import Confidential, Text, listed_names, new_file, option, person_in
from pramble.data.recode import reading_of
from pramble.data.save import whole_file
from pramble.errors import InvalidInput
from pramble.limits import LEAST_ROWS_OF_A_VALUE
from pramble.releasing.profile.columns import ColumnProfile
from pramble.releasing.profile.survey import ALPHA, FileProfile, rare_text, survey_file
from pramble.releasing.spec.document import toml_value
from pramble.releasing.spec.settings import STANDARD, Mistake
from pramble.releasing.spec.settings import alpha as read_alpha
from pramble.releasing.spec.settings import person as read_person
from pramble.releasing.spec.spec import columns_of_person
from pramble.words import first_names, several

DECLARE = (
    "The categories of {} are left for you to declare in the plan; --accept-seen takes the values "
    "that occur, or that the file lists."
)

RARE = (
    f"Fewer than {LEAST_ROWS_OF_A_VALUE} rows hold each of these values; categories that are seen "
    'reveal that they occur. --merge-rare merges them into "other".'
)


def init(
    source: Confidential,
    out: Annotated[Path, option("The plan to write.", "--out", "-o", callback=new_file)] = Path(
        "plan.toml"
    ),
    columns: Annotated[Text, option("Columns to randomise: a,b,c; else they are proposed.")] = None,
    accept: Annotated[
        bool,
        option(
            "Take the values that occur as the categories, or leave all for you to declare.",
            "--accept-seen/--decline-seen",
        ),
    ] = False,
    merge_rare: Annotated[
        bool, option('Take the values that occur; those of few rows become "other".')
    ] = False,
    alpha: Annotated[
        float | None, option("The promise against everybody, in total for a record; 2 by default.")
    ] = None,
    central: Annotated[
        float | None, option("Instead: a promise (ε) against readers of the release alone.")
    ] = None,
    person: Annotated[
        Text, option("Whose rows these are: columns, a,b, or false if every row is another person.")
    ] = None,
    separator: Annotated[
        Text, option('What separates the fields of a delimited file: ",", ";", tab or "|".')
    ] = None,
    encoding: Annotated[Text, option("Of a text file, such as utf-8 or cp1252.")] = None,
    decimal: Annotated[Text, option('The decimal sign of a text file: "." or ",".')] = None,
    missing: Annotated[
        Text, option("Strings that mean a missing value in a text file: NA,-9.")
    ] = None,
    sheet: Annotated[Text, option("The sheet of an Excel file, by its name.")] = None,
) -> None:
    """Write a commented plan from a file's columns, for you to edit.

    It proposes to randomise at most eight columns, those that an intruder is likely to know, with
    categories in their order and numbers in round bands. All others are dropped, with the reason:
    identifiers, weights, dates, free text, and what was not chosen. Where people seem to have
    several rows you are asked whose they are, and the plan says it. Values that occur, or that the
    file's types and value labels list, become categories only with --accept-seen, because a release
    reveals its categories; they stand in the plan as seen, and the release says so. Those that few
    rows hold are listed.

    Examples
    --------
      pramble init people.parquet

      pramble init people.csv --out plan.toml --accept-seen

      pramble init people.csv --columns sex,age,region --separator ";" --missing NA,-9

      pramble init people.csv --accept-seen --central 1

      pramble init visits.csv --person patient_id
    """
    if out.exists():
        raise InvalidInput(f"{str(out)!r} exists already; choose another name with --out.")
    if alpha is not None and central is not None:
        raise InvalidInput("Give one of --alpha and --central, not both.")
    for name, promise in {"alpha": alpha, "central": central}.items():
        check_promise(name, promise)
    reading = reading_of(separator, encoding, decimal, missing, sheet)
    with shown_progress() as progress:
        survey = survey_file(source, reading, columns=listed_names(columns), progress=progress)
    whose = person_stated(survey, person)
    found = survey.profiles
    chosen = [name for name in survey.chosen if name not in columns_of_person(whose)]
    show(*rare_value_lines(found, chosen), *summary_lines(found, chosen), console=messages())
    is_open = accept or merge_rare
    accepted = [look.name for look in found if is_open or look.source == STANDARD]
    seen = [name for name in chosen if name not in accepted]
    if seen:
        messages().print(DECLARE.format(first_names(seen)), soft_wrap=True)
    if merge_rare:
        survey = replace(survey, profiles=tuple(look.with_rare_merged() for look in found))
    text = survey.draft(
        accepted=accepted, alpha=ALPHA if alpha is None else alpha, central=central, person=whose
    )
    with whole_file(out) as partial:
        partial.write_text(text, encoding="utf-8")
    messages().print(
        f"Wrote {out}. Read it, edit it, then: pramble release {source} --plan {out} --dry-run",
        soft_wrap=True,
    )


def person_stated(survey: FileProfile, option: str | None) -> Any:
    """Return whose rows these are: as the option says, or as was found and nobody denies."""
    for one in survey.repeats:
        messages().print(str(one), soft_wrap=True)
    if option is None and survey.repeats:
        found = toml_value(survey.repeats[0].person)
        if sys.stdin.isatty() and sys.stderr.isatty():
            question = "Whose rows are these: columns, or false if every row is another person"
            option = typer.prompt(question, default=found, err=True)
        else:
            option = found
            messages().print(
                f"The plan says person = {found}, as nobody was there to ask. Check it: --person "
                "names other columns, and --person false says that every row is another person.",
                soft_wrap=True,
            )
    try:
        whose = None if option is None else read_person(person_in(option))
    except Mistake as mistake:
        raise InvalidInput(f"--person {mistake}.") from None
    names = [look.name for look in survey.profiles]
    for name in columns_of_person(whose):
        if name not in names:
            raise InvalidInput(f"--person names {name!r}, which the file does not have.")
    return whose


def check_promise(name: str, value: float | None) -> None:
    """Refuse a promise that no release could keep."""
    if value is None:
        return
    try:
        read_alpha(value)
    except Mistake as mistake:
        raise InvalidInput(f"--{name} {mistake}.") from None


def rare_value_lines(columns: Sequence[ColumnProfile], chosen: Sequence[str]) -> Iterator[str]:
    """Yield the values that few rows hold, a line for each column, and what to do with them."""
    rare = [look for look in columns if look.rare and look.name in chosen]
    # A terminal is the curator's own screen; a log may be anybody's.
    is_shown = messages().is_terminal or VERBOSITY.values
    for look in rare:
        yield f"{look.name}: {rare_text(look) if is_shown else several(len(look.rare), 'value')}"
    yield from [RARE] if rare else []


def summary_lines(columns: Sequence[ColumnProfile], chosen: Sequence[str]) -> Iterator[str]:
    """Yield in a line each what is randomised, what might be, and what is dropped."""
    spare = [look.name for look in columns if look.is_fit and look.name not in chosen]
    if chosen:
        yield f"To randomise: {first_names(chosen)}."
    else:
        yield "No column was found to randomise; name those to randomise with --columns."
    if spare:
        yield f"Not chosen, dropped: {first_names(spare)}. Others are chosen with --columns."
    kinds: dict[str, list[str]] = {}
    for look in columns:
        if not look.is_fit and look.name not in chosen:
            kinds.setdefault(look.kind, []).append(look.name)
    yield from (f"Dropped ({kind}): {first_names(found)}." for kind, found in kinds.items())
