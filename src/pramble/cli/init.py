"""``pramble init``: a first plan for a file."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from pramble.cli.console import VERBOSITY, complain, messages, show, shown_progress
from pramble.cli.inputs import Confidential, Text, listed_names, new_file, option
from pramble.data.bands import band_labels
from pramble.data.recode import reading_of
from pramble.data.save import whole_file
from pramble.errors import InvalidInput
from pramble.releasing.profile.columns import ColumnProfile
from pramble.releasing.profile.survey import ALPHA, survey_file
from pramble.releasing.spec.readers import Mistake
from pramble.releasing.spec.readers import alpha as read_alpha
from pramble.words import several, visible, visible_names

# The ε that is drafted if the promise is to hold against readers alone.
CENTRAL = 1.0
AGAINST = (
    "Must the promise hold also against whoever handles the file before it is released? (no: only "
    "against those who read the release)"
)
# Columns named in a line, and values listed in a question.
MOST_NAMED = 8
MOST_SHOWN = 8


def init(
    source: Confidential,
    out: Annotated[Path, option("The plan to write.", "--out", "-o", callback=new_file)] = Path(
        "plan.toml"
    ),
    columns: Annotated[Text, option("Columns to randomise: a,b,c; else they are proposed.")] = None,
    accept: Annotated[
        bool,
        option("Take the values that occur as the categories, without asking.", "--accept-seen"),
    ] = False,
    decline: Annotated[
        bool, option("Leave all categories for you to declare.", "--decline-seen")
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
    the data become categories only if you accept them, because a release reveals its categories.

    Examples
    --------
      pramble init people.parquet

      pramble init people.csv --out plan.toml --accept-seen

      pramble init people.csv --columns sex,age,region --separator ";" --missing NA,-9

      pramble init people.csv --accept-seen --central 1
    """
    if out.exists():
        raise InvalidInput(f"{str(out)!r} exists already; choose another name with --out.")
    if accept and decline:
        raise InvalidInput("Give one of --accept-seen and --decline-seen, not both.")
    if alpha is not None and central is not None:
        raise InvalidInput("Give one of --alpha and --central, not both.")
    for name, promise in {"alpha": alpha, "central": central}.items():
        check_promise(name, promise)
    reading = reading_of(separator, encoding, decimal, missing, sheet)
    with shown_progress() as progress:
        survey = survey_file(source, reading, columns=listed_names(columns), progress=progress)
    found, chosen = survey.profiles, survey.chosen
    show(*summary_lines(found, chosen), console=messages())
    accepted = [look.name for look in found if accept]
    if not accept and not decline:
        with asking():
            seen = [look for look in found if look.name in chosen and not look.is_public]
            accepted = [look.name for look in seen if asked(look)]
            if alpha is None and central is None:
                against_all = typer.confirm(AGAINST, default=True, err=True)
                central = None if against_all else CENTRAL
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
        yield f"To randomise: {few(chosen)}."
    else:
        yield "No column was found to randomise; name those to randomise with --columns."
    if spare:
        yield f"Not chosen, dropped: {few(spare)}. Others are chosen with --columns."
    kinds: dict[str, list[str]] = {}
    for look in columns:
        if not look.is_fit and look.name not in chosen:
            kinds.setdefault(look.kind, []).append(look.name)
    yield from (f"Dropped ({kind}): {few(found)}." for kind, found in kinds.items())


def few(found: Sequence[str]) -> str:
    """Return some names, and how many more there are.

    >>> few(["a", " b"]), few([str(i) for i in range(11)])
    ("a, ' b'", '0, 1, 2, 3, 4, 5, 6, 7 and 3 more')
    """
    more = len(found) - MOST_NAMED
    return visible_names(found[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


@contextmanager
def asking() -> Iterator[None]:
    """Say what an unanswered question means: nobody is there, or an interrupt."""
    try:
        yield
    except typer.Abort:
        if not sys.stdin.isatty():
            raise InvalidInput(
                "Nobody is there to say whether values seen in the file are its categories; use "
                "--accept-seen or --decline-seen. No plan was written."
            ) from None
        complain("interrupted; no plan was written.")
        raise typer.Exit(130) from None


def asked(look: ColumnProfile) -> bool:
    """Ask whether the values seen in a column are all there can be, or whether bands will do."""
    labels = look.labels if look.bands is None else band_labels(look.bands.edges)
    most = MOST_SHOWN if look.bands is None else len(labels)
    listed = "pramble --show-values lists them"
    if VERBOSITY.values:
        listed = ", ".join(map(str, labels[:most])) + ", …" * (len(labels) > most)
    if look.bands is None:
        seen = several(len(labels), "value")
        question = f"{look.name}: {seen} seen ({listed}). Take them as its categories?"
    else:
        question = f"{look.name}: round bands of the size of its numbers ({listed}). Take them?"
    return typer.confirm(visible(question), default=False, err=True)
