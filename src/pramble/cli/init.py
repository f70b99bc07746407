"""``pramble init``: a first plan for a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pramble.cli.console import messages, show, shown_progress
from pramble.cli.inputs import Confidential, Text, listed_names, new_file, option
from pramble.data.recode import reading_of
from pramble.data.save import whole_file
from pramble.errors import InvalidInput
from pramble.releasing.profile.columns import ColumnProfile
from pramble.releasing.profile.survey import ALPHA, survey_file
from pramble.releasing.spec.settings import Mistake
from pramble.releasing.spec.settings import alpha as read_alpha
from pramble.words import first_names

DECLARE = (
    "The categories of {} are left for you to declare in the plan; --accept-seen takes the values "
    "that occur."
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
    alpha: Annotated[
        float | None, option("The promise against everybody, in total for a record; 2 by default.")
    ] = None,
    central: Annotated[
        float | None, option("Instead: a promise (ε) against readers of the release alone.")
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
    identifiers, weights, dates, free text, and what was not chosen. Values that were only seen in
    the data become categories only with --accept-seen, because a release reveals its categories.

    Examples
    --------
      pramble init people.parquet

      pramble init people.csv --out plan.toml --accept-seen

      pramble init people.csv --columns sex,age,region --separator ";" --missing NA,-9

      pramble init people.csv --accept-seen --central 1
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
    found, chosen = survey.profiles, survey.chosen
    show(*summary_lines(found, chosen), console=messages())
    accepted = [look.name for look in found if accept or look.is_public]
    seen = [name for name in chosen if name not in accepted]
    if seen:
        messages().print(DECLARE.format(first_names(seen)), soft_wrap=True)
    text = survey.draft(accepted=accepted, alpha=ALPHA if alpha is None else alpha, central=central)
    with whole_file(out) as partial:
        partial.write_text(text, encoding="utf-8")
    messages().print(
        f"Wrote {out}. Read it, edit it, then: pramble release {source} --plan {out} --dry-run",
        soft_wrap=True,
    )


def check_promise(name: str, value: float | None) -> None:
    """Refuse a promise that no release could keep."""
    if value is None:
        return
    try:
        read_alpha(value)
    except Mistake as mistake:
        raise InvalidInput(f"--{name} {mistake}.") from None


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
