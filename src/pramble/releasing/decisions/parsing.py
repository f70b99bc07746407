"""Reading plans: TOML or keyword arguments in, a checked `Decisions` out.

Every mistake gets one sentence that says where it is, what must hold and what was found; all of
them are reported together.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pramble.data.reading import Reading
from pramble.errors import InvalidPlan
from pramble.releasing.decisions.decisions import (
    TABLE_OBJECTIVES,
    ColumnDecision,
    Decisions,
    RiskDecision,
)
from pramble.releasing.decisions.settings import (
    COLUMN,
    DEFAULTS,
    FILE,
    PLAN,
    RECODE,
    RISK,
    Mistake,
    Reader,
    text,
)
from pramble.words import hint_at

TABLES: dict[str, Reader] = {"columns": text, "risk": text, "file": text}
OF_RECORDS = ("tables", "whole", "possible", "central")
BY_COLUMN = ("family", "invariant", "estimable", "split", "split_objective")
OF_COLUMN = (
    "family",
    "objective",
    "loss",
    "invariant",
    "estimable",
    "alpha",
    "weight",
)
"""Settings of a plan for records, and those that mean a matrix for each column."""

OF_RANDOMISED = ("whole", "rows_per_file", "shuffle", "allow", "synthetic")
PUBLIC_PRIOR = ("prior_file", "prior_probabilities")
"""Settings of randomised records, which protected tables do not have."""


def read_table(
    table: Any, readers: Mapping[str, Reader], *, where: str, mistakes: list[str]
) -> dict[str, Any]:
    """Read the known keys of a table; note a sentence for each mistake."""
    found: dict[str, Any] = {}
    if not isinstance(table, Mapping):
        mistakes.append(f"{where} must be a table; found {table!r}.")
        return found
    for key, value in table.items():
        if key not in readers:
            mistakes.append(f"{where} has no setting {key!r}{hint_at(str(key), list(readers))}.")
            continue
        try:
            found[key] = readers[key](value)
        except Mistake as mistake:
            mistakes.append(f"{where}: {key} {mistake}.")
    return found


def decisions_from(settings: Mapping[str, Any], *, seen_allowed: bool = False) -> Decisions:
    """Return a checked plan from nested settings, in the form of a TOML document.

    The settings are the keys of `Decisions`, with ``columns`` a mapping from name to the keys of
    `ColumnDecision`, ``risk`` one with the keys of `RiskDecision`, and ``file`` one with the fields
    of `pramble.Reading`. With ``seen_allowed`` a column may leave its categories out, to take the
    values seen in the file.

    Examples
    --------
    >>> plan = decisions_from({"alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    >>> plan.alpha, plan.columns[0].labels()
    (2.0, ('m', 'f'))
    >>> decisions_from({"alfa": 2, "alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    Traceback (most recent call last):
    ...
    pramble.errors.InvalidPlan: The plan has no setting 'alfa' (did you mean 'alpha'?).
    """
    mistakes: list[str] = []
    top = {key: value for key, value in settings.items() if key not in TABLES}
    found = read_table(top, {**PLAN, **TABLES}, where="The plan", mistakes=mistakes)
    columns = read_columns(settings.get("columns"), seen_allowed=seen_allowed, mistakes=mistakes)
    mistakes.extend(settle_design(found, columns))
    leave = set() if found["design"] == "paper" else {"objective"}
    defaults = {key: found.pop(key) for key in DEFAULTS if key in found and key not in leave}
    columns = {
        name: with_recoding(with_family({**defaults, **column})) for name, column in columns.items()
    }
    file = read_table(settings.get("file", {}), FILE, where="The table [file]", mistakes=mistakes)
    risk = read_risk(settings["risk"], mistakes) if "risk" in settings else None
    if mistakes := mistakes or contradictions(found, columns):
        raise InvalidPlan("\n".join(mistakes))
    return Decisions(
        columns=tuple(ColumnDecision(name=name, **column) for name, column in columns.items()),
        risk=None if risk is None else RiskDecision(**risk),
        reading=Reading(**file),
        **found,
    )


def settle_design(found: dict[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """State which design is meant, where it follows; return what contradicts it."""
    by_column = [key for key in BY_COLUMN if key in found]
    by_column += [
        f"{key} of {name!r}" for name, c in columns.items() for key in OF_COLUMN if key in c
    ]
    if len({column.get("prior", found.get("prior")) for column in columns.values()}) > 1:
        by_column.append("a prior for each column")
    of_records = [key for key in OF_RECORDS if key in found]
    alone = by_column or any("distance" in column for column in columns.values())
    if "central" in found and "alpha" not in found:
        found.setdefault("design", "tables")
    asked = found.setdefault("design", "paper" if alone and not of_records else "records")
    if asked == "tables":
        return against_tables(found, columns, by_column)
    if found.get("objective") in TABLE_OBJECTIVES:
        of_records.append(f"objective = {found['objective']!r}")
        by_column, asked = [of_records[-1]], "records"
        return [f'The plan designs records; {by_column[0]} goes with design = "tables".']
    against = by_column if asked == "records" else of_records
    if not against:
        return []
    meant = "records together" if asked == "records" else "columns one by one"
    other = "paper" if asked == "records" else "records"
    return [f'The plan designs {meant}; {against[0]} goes with design = "{other}".']


def against_tables(
    found: dict[str, Any], columns: Mapping[str, Mapping[str, Any]], by_column: list[str]
) -> list[str]:
    """Return what protected tables contradict; their objective is the variance unless stated."""
    if "central" not in found:
        return ['design = "tables" goes with a central promise: state central (ε) for alpha.']
    objective = found.setdefault("objective", TABLE_OBJECTIVES[0])
    wrong = [*by_column, *(key for key in OF_RANDOMISED if found.get(key) not in (None, False))]
    wrong += [
        f"{key} of {name!r}"
        for name, column in columns.items()
        for key in ("release_as", *PUBLIC_PRIOR)
        if key in column
    ]
    if objective not in TABLE_OBJECTIVES:
        wrong.append(f"objective = {objective!r}")
    if found.get("prior") in ("public", "confidential"):
        wrong.append(f"prior = {found['prior']!r}")
    if not wrong:
        return []
    said = f"The plan releases protected tables, for which {wrong[0]} has no meaning."
    return [f'{said} Leave it out, or state design = "records": randomised records, shuffled.']


def with_family(column: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a column; a distance or a loss is for matrices of any kind."""
    by_distance = "distance" in column or "loss" in column
    return {"family": "general", **column} if by_distance else column


def with_recoding(column: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a column with its recodings gathered."""
    recode = {name: column.pop(name) for name in RECODE if name in column}
    return {**column, "recode": recode} if recode else column


def read_columns(
    tables: Any, *, seen_allowed: bool, mistakes: list[str]
) -> dict[str, dict[str, Any]]:
    """Read the tables of the columns; note a sentence for each mistake."""
    if not isinstance(tables, Mapping) or not tables:
        mistakes.append("The plan must name the columns to randomise, in tables [columns.NAME].")
        return {}
    columns = {}
    for name, table in tables.items():
        columns[str(name)] = read_table(table, COLUMN, where=f"Column {name!r}", mistakes=mistakes)
        known = isinstance(table, Mapping) and ("categories" in table or "bands" in table)
        if isinstance(table, Mapping) and not known and not seen_allowed:
            mistakes.append(
                f"Column {name!r} must declare its categories, every possible label in order; "
                'write categories = "seen" to take the values that occur, which reveals them.'
            )
    return columns


def read_risk(table: Any, mistakes: list[str]) -> dict[str, Any]:
    """Read the table of the risk; note a sentence for each mistake."""
    risk = read_table(table, RISK, where="The table [risk]", mistakes=mistakes)
    if isinstance(table, Mapping):
        absent = [key for key in ("keys", "population_size") if key not in table]
        mistakes.extend(f"The table [risk] must state {key}." for key in absent)
    return risk


def contradictions(plan: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each pair of settings that cannot both hold."""
    own = [name for name, column in columns.items() if "alpha" in column]
    without = [name for name in columns if name not in own]
    found = []
    if "alpha" in plan and own:
        found.append(
            f"The plan states alpha in total and column {own[0]!r} its own; state one or the other."
        )
    if "central" in plan and ("alpha" in plan or own):
        found.append(
            "The plan states a central promise and alpha; state one of them. The local alpha of "
            "randomised records is reported too."
        )
    if "central" in plan and plan.get("shuffle") is False:
        found.append(
            "The plan states a central promise and shuffle = false; the promise is of rows in "
            "random order."
        )
    far = [name for name, column in columns.items() if "distance" in column]
    if "central" in plan and far:
        found.append(
            f"The plan states a central promise and a distance of {far[0]!r}, which goes with "
            "alpha; state one of them."
        )
    if "alpha" not in plan and "central" not in plan and without:
        found.append(
            f"The plan states no alpha in total, and column {without[0]!r} none of its own."
        )
    if plan.get("output") in plan.get("copies", ()):
        found.append(
            f"The data is written as {plan['output']}; copies are in other formats than the data."
        )
    if own and plan.get("split", "equal") != "equal":
        found.append(f"A split is of a total; column {own[0]!r} states its own alpha.")
    if plan.get("person") in columns:
        found.append(f"Column {plan['person']!r} says whose row it is and cannot be randomised.")
    ruled = {name for rule in plan.get("possible", ()) for part in rule.values() for name in part}
    found.extend(
        f"A rule of what is possible names {name!r}, which is not randomised."
        for name in sorted(ruled - set(columns))
    )
    both = [name for name in plan.get("drop", ()) if name in columns]
    found.extend(f"Column {name!r} is both randomised and dropped." for name in both)
    found.extend(
        f'Column {name!r}: family = "circle" is the same for every prior, and not invariant.'
        for name, column in columns.items()
        if column.get("family") == "circle" and column.get("invariant")
    )
    for name, column in columns.items():
        found.extend(prior_contradictions(name, column))
        found.extend(distance_contradictions(name, column))
    return found


def distance_contradictions(name: str, column: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each contradiction about the distance or the loss of a column."""
    for_loss = column.get("objective") == "loss"
    if for_loss != ("loss" in column):
        return [f'Column {name!r}: objective = "loss" and a loss go together; state both.']
    both = [key for key in ("distance", "loss") if key in column]
    if len(both) == 2:
        return [f"Column {name!r} states a distance and a loss; state one of them."]
    if both and (column["family"] != "general" or column.get("invariant")):
        return [f'Column {name!r}: a {both[0]} goes with family = "general", and not invariant.']
    return []


def prior_contradictions(name: str, column: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each contradiction about the prior of a column."""
    public = column.get("prior", "private") == "public"
    given = [key for key in ("prior_file", "prior_probabilities") if key in column]
    if public and len(given) != 1:
        return [f"Column {name!r} needs one of prior_file and prior_probabilities."]
    if given and not public:
        return [f'Column {name!r} states {given[0]}, which needs prior = "public".']
    values, wanted = column.get("prior_probabilities"), column.get("categories")
    if values is None:
        return []
    if wanted is None:
        return [f"Column {name!r}: prior_probabilities need declared categories."]
    size = len(ColumnDecision(name, categories=wanted, missing=column.get("missing")).labels())
    if len(values) != size:
        return [f"Column {name!r} has {size} categories and {len(values)} prior_probabilities."]
    return []


def read_decisions(path: str | Path) -> Decisions:
    """Read a plan from a TOML file, as `pramble init` writes it."""
    return decisions_from(read_document(path))


def read_document(path: str | Path) -> dict[str, Any]:
    """Read the settings of a plan from a TOML file, unchecked."""
    path = Path(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidPlan(f"There is no plan {str(path)!r}.") from None
    except IsADirectoryError:
        raise InvalidPlan(f"A plan is a TOML file; {str(path)!r} is a folder.") from None
    except UnicodeDecodeError:
        raise InvalidPlan(
            f"{path.name} must be a text in UTF-8; some of it is not. Save it as UTF-8."
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidPlan(f"{path.name} is not TOML: {error}.") from None
