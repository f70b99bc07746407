"""Plans as documents: TOML or keyword arguments in, a checked `ReleaseSpec` out, and TOML again.

Every mistake gets one sentence that says where it is, what must hold and what was found; all of
them are reported together.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from pramble.data.recode import Reading
from pramble.data.repair import rule_columns
from pramble.errors import InvalidPlan
from pramble.releasing.spec.column import ColumnSpec
from pramble.releasing.spec.rules import contradictions
from pramble.releasing.spec.settings import (
    COLUMNS,
    DESIGNS,
    RECORDS,
    SEEN,
    STANDARD,
    TABLES,
    Mistake,
    Setting,
    plain_design,
    settings_of,
    source_and_value,
)
from pramble.releasing.spec.spec import TABLE_OBJECTIVES, FileSpec, ReleaseSpec, RiskSpec
from pramble.values import names_of
from pramble.words import hint_at

COLUMN = {row.name: row for row in settings_of(ColumnSpec)}
RISK = {row.name: row for row in settings_of(RiskSpec)}
FILE = {row.name: row for row in settings_of(FileSpec)}
SHARED = {name: row for name, row in COLUMN.items() if row.in_plan}
OF_ALL = {row.name: row for row in settings_of(ReleaseSpec)}

# The settings of each table of a plan; the plan's own take those that columns share.
PLAN = SHARED | OF_ALL

PARTS = ("columns", "risk", "file")

# Settings that weighted tables have, and randomised records have not.
OF_WEIGHTS = ("weights", "largest_weight")


def spec_from(settings: Mapping[str, Any], *, seen_allowed: bool = False) -> ReleaseSpec:
    """Return a checked plan from nested settings, in the form of a TOML document.

    The settings are those of `ReleaseSpec`, with ``columns`` a mapping from name to the settings of
    `ColumnSpec`, ``risk`` one with those of `RiskSpec`, and ``file`` one with those of `FileSpec`.
    With ``seen_allowed`` a column may leave its categories out, to take the values seen in the
    file.

    Examples
    --------
    >>> plan = spec_from({"alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    >>> plan.alpha, plan.columns[0].labels()
    (2.0, ('m', 'f'))
    >>> spec_from({"alfa": 2, "alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    Traceback (most recent call last):
    ...
    pramble.errors.InvalidPlan: The plan has no setting 'alfa' (did you mean 'alpha'?).
    """
    mistakes: list[str] = []
    top = {key: own for key, own in settings.items() if key not in PARTS}
    found = read_table(top, PLAN, where="The plan", mistakes=mistakes, others=PARTS)
    columns = read_columns(settings.get("columns"), seen_allowed=seen_allowed, mistakes=mistakes)
    file = read_table(settings.get("file", {}), FILE, where="The table [file]", mistakes=mistakes)
    risk = read_risk(settings["risk"], mistakes) if "risk" in settings else None
    found.setdefault("design", default_design(found))
    mistakes.extend(of_other_designs(found, columns))
    if found["design"] == TABLES:
        found.setdefault("objective", TABLE_OBJECTIVES[0])
    spec = None if mistakes else assemble(found, columns, risk, file)
    # What could not be read is no ground for saying that it contradicts something.
    mistakes = mistakes or contradictions(found, spec)
    if spec is None or mistakes:
        raise InvalidPlan("\n".join(mistakes))
    return spec


def default_design(found: Mapping[str, Any]) -> str:
    """Return the design of a plan that states none: it goes by the promise alone."""
    return TABLES if "central" in found and "alpha" not in found else RECORDS


def read_table(
    table: Any,
    rows: Mapping[str, Setting],
    *,
    where: str,
    mistakes: list[str],
    others: Sequence[str] = (),
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not isinstance(table, Mapping):
        mistakes.append(f"{where} must be a table; found {table!r}.")
        return found
    for key, given in table.items():
        if key not in rows:
            hint = hint_at(str(key), [*rows, *others])
            mistakes.append(f"{where} has no setting {key!r}{hint}.")
            continue
        try:
            found[key] = rows[key].read(given)
        except Mistake as mistake:
            mistakes.append(f"{where}: {key} {mistake}.")
    return found


def read_columns(
    tables: Any, *, seen_allowed: bool, mistakes: list[str]
) -> dict[str, dict[str, Any]]:
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
    risk = read_table(table, RISK, where="The table [risk]", mistakes=mistakes)
    if isinstance(table, Mapping):
        absent = [key for key in ("keys", "population_size") if key not in table]
        mistakes.extend(f"The table [risk] must state {key}." for key in absent)
    return risk


def of_other_designs(
    plan: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a sentence for each setting that the design does not have, with both ways out."""
    design = plan["design"]
    said = [(key, PLAN[key], own) for key, own in plan.items()]
    said += [
        (f"{key} of {name!r}", COLUMN[key], own)
        for name, column in columns.items()
        for key, own in column.items()
    ]
    for place, row, own in said:
        if row.name == "distance" and "central" in plan:
            continue  # no central promise has one, whatever the design: `contradictions` says so
        designs = designs_with(row, own)
        if place in OF_WEIGHTS and design not in designs:
            if place == OF_WEIGHTS[0]:
                yield (
                    f"Weighted tables need a central promise: state central (ε) for alpha; or "
                    f"leave weights out, release {own!r} as it is, unprotected, and give "
                    f"weights={own!r} to estimate."
                )
            continue
        if design not in designs:
            ways = " or ".join(f'design = "{other}"' for other in DESIGNS if other in designs)
            yield (
                f'The plan has design = "{design}"; {place} goes with {ways}. Leave {place} out, '
                f"or state {ways}."
            )


def designs_with(row: Setting, own: Any) -> tuple[str, ...]:
    """Return the designs that have a setting with a value; off is the same as not stated."""
    if own is False or own is None:
        return DESIGNS
    if row.name == "objective" and row.designs == DESIGNS:
        return (TABLES,) if own in TABLE_OBJECTIVES else (RECORDS, COLUMNS)
    if row.name == "prior" and own not in ("private", "uniform"):
        return (RECORDS, COLUMNS)
    return row.designs


def assemble(
    found: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    risk: Mapping[str, Any] | None,
    file: Mapping[str, Any],
) -> ReleaseSpec:
    """Return the values of settings that were read; columns take what the plan says for all."""
    own = {key: given for key, given in found.items() if key in OF_ALL}
    shared = {key: given for key, given in found.items() if key in SHARED}
    if found["design"] == COLUMNS:
        own.pop("objective", None)
    else:
        shared.pop("objective", None)
    return ReleaseSpec(
        columns=tuple(
            ColumnSpec(name=name, **with_family(shared | dict(column)))
            for name, column in columns.items()
        ),
        risk=None if risk is None else RiskSpec(**risk),
        reading=Reading(**file),
        **own,
    )


def with_family(column: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a column; a distance is for matrices of any kind."""
    return {"family": "general", **column} if "distance" in column else column


def read_spec(path: str | Path) -> ReleaseSpec:
    return spec_from(read_document(path))


def read_document(path: str | Path) -> dict[str, Any]:
    path = Path(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidPlan(f"There is no plan {str(path)!r}.") from None
    except IsADirectoryError:
        raise InvalidPlan(f"A plan is a TOML file; {str(path)!r} is a folder.") from None
    except UnicodeDecodeError:
        raise InvalidPlan(
            f"{path.name} must be text in UTF-8; some of it is not. Save it as UTF-8."
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidPlan(f"{path.name} is not TOML: {error}.") from None


def spec_of(
    plan: str | Path | ReleaseSpec | Mapping[str, Any] | None,
    columns: str | Sequence[str] | Mapping[str, Mapping[str, Any]] | None,
    *,
    alpha: float | None,
    settings: Mapping[str, Any],
) -> ReleaseSpec:
    """Return what a curator states: a plan, settings, or settings that change a plan."""
    changes = {**settings, **({} if alpha is None else {"alpha": alpha})}
    if plan is None:
        if columns is None:
            raise InvalidPlan("A release needs a plan, or a list of columns and alpha.")
        tables = (
            columns if isinstance(columns, Mapping) else {name: {} for name in names_of(columns)}
        )
        return spec_from({**changes, "columns": tables}, seen_allowed=True)
    if isinstance(columns, Mapping):
        raise InvalidPlan("Next to a plan, columns are names of some of its columns.")
    if not changes and columns is None and isinstance(plan, ReleaseSpec):
        return plan
    document = plan_document(plan)
    if changes or columns is not None:
        document = overridden(document, changes, None if columns is None else names_of(columns))
    return spec_from(document, seen_allowed=isinstance(plan, ReleaseSpec))


def plan_document(plan: str | Path | ReleaseSpec | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(plan, ReleaseSpec):
        return document_of(plan)
    return read_document(plan) if isinstance(plan, str | Path) else dict(plan)


def overridden(
    document: Mapping[str, Any], changes: Mapping[str, Any], columns: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the settings of a plan with changes, and with some of its columns alone.

    Another promise takes the place of the plan's, with all that goes with the old one alone: only a
    design that the curator stated stays, and is refused where it does not go with the promise.
    Columns that are left out are **dropped**: a column that the plan protects is never released as
    it is because of a change. Tables and rules that name them go with them.

    >>> plan = {"alpha": 1.0, "columns": {"sex": {}, "age": {}}, "drop": ["id"]}
    >>> overridden(plan, {"central": 2.0}, ["sex"])
    {'columns': {'sex': {}}, 'drop': ['id', 'age'], 'central': 2.0}
    """
    found = dict(document)
    if "alpha" in changes:
        found = {name: own for name, own in found.items() if name not in ("central", "delta")}
    if "central" in changes:
        by_init = ("alpha", "tables") if isinstance(found.get("tables"), int) else ("alpha",)
        found = {name: own for name, own in found.items()
                 if "alpha" not in document or name not in by_init}  # fmt: skip
    if {"alpha", "central", "design"} & set(changes):
        found = without_others(found, {**found, **changes})
    if columns is not None:
        found |= with_columns_alone(found, columns)
    if {"dataset"} <= set(document) & set(changes):
        changes = {**changes, "dataset": {**document["dataset"], **changes["dataset"]}}
    return found | dict(changes)


def without_others(document: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without the settings that a design which is asked for does not have."""
    design = plain_design(asked.get("design", default_design(asked)))
    return {
        name: own
        for name, own in document.items()
        # Weights are the curator's: left out in silence, their column would be released as it is.
        if name in ("design", *OF_WEIGHTS)
        or name not in PLAN
        or design in designs_with(PLAN[name], own)
    }


def without_weights(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings for randomised records: weighted tables are not compared with anything."""
    found = {name: own for name, own in document.items() if name not in OF_WEIGHTS}
    if weights := document.get(OF_WEIGHTS[0]):
        found["drop"] = list(dict.fromkeys([*document.get("drop", ()), weights]))
    return found


def with_columns_alone(document: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return what changes where some columns of a plan are taken alone."""
    planned = document.get("columns", {})
    for name in columns:
        if name not in planned:
            raise InvalidPlan(
                f"The plan has no column {name!r}{hint_at(name, list(planned))}; next to a plan, "
                "columns are some of its own."
            )
    wanted = set(columns)
    found: dict[str, Any] = {
        "columns": {name: own for name, own in planned.items() if name in wanted},
        "drop": [*document.get("drop", ()), *(name for name in planned if name not in wanted)],
    }
    tables = document.get("tables")
    if isinstance(tables, list | tuple):
        found["tables"] = [table for table in tables if set(table) <= wanted] or 1
    if "possible" in document:
        rules = document["possible"]
        found["possible"] = [rule for rule in rules if rule_columns(rule) <= wanted]
    return found


def toml_value(value: Any) -> str:
    """Return a value as TOML.

    >>> toml_value(["a", 1, True, 0.5])
    '["a", 1, true, 0.5]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        parts = [f"{toml_value(str(key))} = {toml_value(part)}" for key, part in value.items()]
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(part) for part in value) + "]"
    return repr(value)


def toml_table(settings: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml_value(value)}" for key, value in settings.items()]


def changed(part: Any, *leave: str) -> dict[str, Any]:
    """Return the fields of a part of a plan that differ from their defaults, in order."""
    found = {}
    for field in fields(part):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        own = getattr(part, field.name)
        if field.name not in leave and own != default:
            found[field.name] = own
    return found


def document_of(spec: ReleaseSpec) -> dict[str, Any]:
    """Return a plan as nested settings, which `spec_from` reads back to the same plan."""
    found = changed(spec, "design", "columns", "risk", "reading", "labels")
    if spec.design != default_design(found):
        found = {"design": spec.design, **found}
    if reading := changed(spec.reading, "recode"):
        found["file"] = reading
    found["columns"] = {
        one.name: ({} if one.declared is not None else {"categories": SEEN})
        # A distance implies a family, which only columns of their own may state.
        | changed(one, "name", *(["family"] if one.distance is not None else []))
        for one in spec.columns
    }
    return found | ({"risk": changed(spec.risk)} if spec.risk else {})


# What no release says of its plan: what makes no difference to it, or only to the curator.
UNPUBLISHED = ("drop", "allow", "people", "risk")
WITHHELD = "withheld"


def public_settings(spec: ReleaseSpec) -> dict[str, Any]:
    """Return what may be published of a plan, as JSON has it; what else it needs is named.

    >>> columns = {"job": {"categories": ["clerk", "other"], "merge": {"other": ["astronaut"]}}}
    >>> public_settings(spec_from({"alpha": 2, "drop": ["name"], "columns": columns}))["withheld"]
    ["merge of 'job'"]
    """
    stated = {key: own for key, own in document_of(spec).items() if key not in UNPUBLISHED}
    found: dict[str, Any] = plain(stated)
    # Labels take the place of codes whenever the file is opened.
    labelled, recoded = spec.labels.recodings, spec.reading.recode.items()
    others = any(steps != labelled.get(name) for name, steps in recoded)
    left = ["recodings of the reading"] if others else []
    # What a workbook has beside the sheet that was read is not of the release.
    left += ["sheet"] if found.get("file", {}).pop("sheet", None) else []
    for name, column in found["columns"].items():
        # That a rare value occurs may be one person's secret; merged labels are not released.
        source = source_and_value("merge", column.get("merge"))[0]
        if source != STANDARD and column.pop("merge", None):
            left.append(f"merge of {name!r}")
    for part, key in files_named(found):  # not where it lies on the curator's machine
        part[key] = Path(part[key]).name
    settings: dict[str, Any] = found | ({WITHHELD: left} if left else {})
    return settings


def files_named(settings: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Yield where settings name a file: the part of them, and the key in it."""
    columns = list(settings["columns"].values())
    distances = [one["distance"] for one in columns if isinstance(one.get("distance"), Mapping)]
    for part in (settings, *columns, *distances):
        yield from ((part, key) for key in ("prior_file", "neighbours", "points") if key in part)


def plain(value: Any) -> Any:
    """Return settings as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def spec_to_toml(spec: ReleaseSpec) -> str:
    """Return a plan as a TOML document, which `read_spec` reads back to the same plan.

    Examples
    --------
    >>> plan = spec_from({"alpha": 2, "columns": {"sex": {"categories": ["m", "f"]}}})
    >>> print(spec_to_toml(plan))
    alpha = 2.0
    <BLANKLINE>
    [columns."sex"]
    categories = ["m", "f"]
    """
    plan = document_of(spec)
    columns = {f"columns.{toml_value(name)}": own for name, own in plan["columns"].items()}
    parts = {
        "dataset": plan.get("dataset"),
        "file": plan.get("file"),
        **columns,
        "risk": plan.get("risk"),
    }
    sections = (*PARTS, "dataset")
    lines = toml_table({name: own for name, own in plan.items() if name not in sections})
    for name, own in parts.items():
        lines += [] if own is None else ["", f"[{name}]", *toml_table(own)]
    return "\n".join(lines)
