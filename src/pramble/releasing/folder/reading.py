"""Reading a manifest: its form, its plan, and whether its mechanisms keep what it promises."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from reprlib import repr as short
from typing import Any

from pramble.data.labels import Labels, label_keys
from pramble.errors import InvalidData, InvalidInput, InvalidPlan
from pramble.information.structural_zeros import as_possible
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.json_form import document_in, rational, read_bytes
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.central import is_proven
from pramble.privacy.certificate import certify
from pramble.privacy.gaussian import float_below
from pramble.privacy.promise import CentralPromise, LocalPromise, promise_from_json, stated_alpha
from pramble.privacy.table_privacy import table_guarantee
from pramble.privacy.unit import Unit
from pramble.releasing.distances import ColumnMetric
from pramble.releasing.folder.build import check_signature
from pramble.releasing.folder.layout import MANIFEST, STEM, damaged, refuse_link
from pramble.releasing.spec.document import WITHHELD, files_named, spec_from
from pramble.releasing.spec.settings import Mistake, dataset
from pramble.releasing.spec.spec import ReleaseSpec

SCHEMA = "pramble/release/8"

TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
    "number": int | float,
}  # fmt: skip


@cache
def manifest_schema() -> dict[str, Any]:
    """Return the JSON Schema of manifests.

    >>> manifest_schema()["$id"]
    'pramble/release/8'
    """
    text = (files("pramble") / "resources" / "manifest.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def mistakes_in(value: Any, schema: Mapping[str, Any], *, where: str = "manifest") -> Iterator[str]:
    """Yield a sentence for each way in which a document breaks a schema.

    It knows the part of JSON Schema that the manifest's uses: type, enum, pattern, minimum,
    required, properties, additionalProperties and items.
    """
    # Further checks would only repeat that the type is wrong.
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    # true and false are no numbers, though Python takes them for some.
    odd = isinstance(value, bool) and "boolean" not in kinds
    if kinds and (odd or not any(isinstance(value, TYPES[kind]) for kind in kinds)):
        yield f"{where} must be of type {schema['type']}; found {type(value).__name__}."
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} must be one of {schema['enum']}; found {short(value)}."
    if "pattern" in schema and not re.search(schema["pattern"], str(value)):
        yield f"{where} must match {schema['pattern']}; found {short(value)}."
    if "minimum" in schema and not value >= schema["minimum"]:
        yield f"{where} must be at least {schema['minimum']}; found {short(value)}."
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (
            f"{where} must have {key!r}." for key in schema.get("required", ()) if key not in value
        )
        for key, part in value.items():
            if key in known:
                yield from mistakes_in(part, known[key], where=f"{where}.{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{where} has an unknown field {short(key)}."
    if isinstance(value, list) and "items" in schema:
        for i, part in enumerate(value):
            yield from mistakes_in(part, schema["items"], where=f"{where}[{i}]")


def read_manifest(folder: Path, *, verify: str | Path | None = None) -> dict[str, Any]:
    """Read and check the manifest of a release folder, signed by a key where one is given."""
    path = folder / MANIFEST
    refuse_link(path)
    try:
        with undamaged():
            content = read_bytes(path, InvalidData)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise InvalidData(f"{str(folder)!r} does not exist.") from None
        raise InvalidData(f"{str(folder)!r} is no release: it has no {MANIFEST}.") from None
    if verify is not None:
        check_signature(folder, content, key=verify)
    with undamaged():
        document = document_in(content, InvalidData, name=MANIFEST)
    if isinstance(document, dict) and document.get("schema", SCHEMA) != SCHEMA:
        raise InvalidData(
            f"This software reads releases of schema {SCHEMA!r}; found {short(document['schema'])}."
        )
    for mistake in mistakes_in(document, manifest_schema()):
        raise damaged(mistake)
    try:
        dataset(document.get("dataset", {}))
    except Mistake as mistake:
        raise damaged(f"its dataset {mistake}.") from None
    checked: dict[str, Any] = document
    return checked


@contextmanager
def undamaged() -> Iterator[None]:
    try:
        yield
    except (InvalidData, InvalidPlan) as error:
        raise damaged(str(error)) from None


@contextmanager
def as_invalid(what: str) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidData(f"{what}: {error}") from None


def stated_data(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    if ("data" in manifest) == ("tables" in manifest):
        raise damaged("it must state data or tables, one of the two.")
    found: Mapping[str, Any] = manifest["tables" if "tables" in manifest else "data"]
    if "data" in manifest and ("pieces" in found) != (found["file"] == STEM):
        raise damaged(f"the folder {STEM!r} is of a file in pieces.")
    return found


def checked_plan(manifest: Mapping[str, Any]) -> Plan | TablePlan:
    """Return the plan of a release, whose promise, unit and settings are what it has."""
    plan = stated_plan(manifest)
    check_promised(manifest, plan)
    check_unit(manifest)
    check_settings(manifest)
    return plan


def stated_plan(manifest: Mapping[str, Any]) -> Plan | TablePlan:
    with undamaged():
        stated = manifest["plan"]
        plan = TablePlan.from_json(stated) if "tables" in manifest else Plan.from_json(stated)
    weights = plan.weights if isinstance(plan, TablePlan) else None
    if manifest.get("weights", {}).get("largest") != (weights and weights.largest):
        raise damaged("what it says of weights is not what its plan measures.")
    names = [column["name"] for column in manifest["columns"] if column["randomised"]]
    if sorted(names) != sorted(plan.columns):
        raise damaged(
            f"it states {short(names)} as randomised, and its plan "
            f"randomises {short(list(plan.columns))}."
        )
    labels = protected_labels(plan)
    check_words(manifest["columns"], labels)
    with undamaged(), as_invalid("its rules of what is possible"):
        as_possible(
            manifest.get("synthetic", {}).get("possible"),
            {name: own.values for name, own in labels.items()},
        )
    return plan


def protected_labels(plan: Plan | TablePlan) -> dict[str, Labels]:
    """Return the categories of each protected column."""
    if isinstance(plan, TablePlan):
        return dict(plan.labels)
    return {name: own.labels for name, own in plan.column_labels().items()}


def check_words(columns: Sequence[Mapping[str, Any]], labels: Mapping[str, Labels]) -> None:
    """Refuse codes of a column whose labels are not its categories, or not all different."""
    for column in columns:
        known = {*label_keys(labels.get(column["name"], ()))}
        for part in ("codes", "missing"):
            stated = column.get(part, [])
            codes, words = ({one[key] for one in stated} for key in ("code", "label"))
            sound = len(codes) == len(stated)
            if part == "codes":
                own = (label_keys([one["code"], one["label"]]) for one in stated)
                sound &= len(words) == len(stated) and len({*map(type, codes)}) < 2
                sound &= not known or all(known.intersection(pair) for pair in own)
            if not sound:
                raise damaged(f"the {part} of {short(column['name'])} are not of its categories.")


SAME = 1e-6  # how far ε may differ between machines whose elementary functions round differently


def check_promised(manifest: Mapping[str, Any], plan: Plan | TablePlan) -> None:
    """Refuse mechanisms that spend more than the manifest states, decided in integers."""
    if isinstance(plan, TablePlan):
        check_tables_promise(manifest, plan)
        return
    promise, spent, conditional = manifest["promise"], Fraction(0), False
    with undamaged():
        stated, limit = local_promise(manifest), promise_from_json(promise["limit"])
        design = manifest["design"]
        for part, protected, what in protected_parts(design, plan):
            alpha, prior = rational(part["alpha"], InvalidData), part["prior"]
            if alpha > LARGEST_TOTAL or not certify(protected).satisfies(float(alpha)):
                raise InvalidData(
                    f"it states α = {short(part['alpha'])} for {what}, which its mechanism does "
                    "not satisfy."
                )
            on_prior = stated_alpha(prior)
            if on_prior and prior["source"] != "private":
                raise InvalidData(f"the prior of {what} is not private and spends α.")
            spent += alpha + on_prior
            conditional |= prior["source"] == "confidential"
    if stated.alpha != spent * stated.rows:
        raise InvalidData(
            f"{MANIFEST} is not that of the release: it states {stated}; its columns spend "
            f"{float(spent)!r} on a record."
        )
    reader = check_central(manifest, plan)
    held = reader if isinstance(limit, CentralPromise) else stated
    if held is None or not limit.allows(held):
        raise damaged(f"it states {held}, above its {limit}.")
    with undamaged():
        if held is not None and promise_from_json(promise["spent"]) != held:
            raise InvalidData("what it spent is not what it proves against readers.")
    if conditional != promise["conditional_on_prior"]:
        raise damaged("what it says of confidential priors contradicts its columns.")


def check_unit(manifest: Mapping[str, Any]) -> None:
    """Refuse a unit of other rows than what is promised."""
    with undamaged():
        unit = Unit.from_json(manifest["promise"]["unit"])
        rows = promise_from_json(manifest["promise"]["spent"]).rows
    if unit.rows != rows:
        raise damaged(f"its unit has {unit.rows} rows, and its promise {rows}.")
    if manifest["promise"]["relation"] != unit.relation:
        raise damaged(f"its unit has {unit.rows} rows, and its relation says otherwise.")
    protected = {column["name"] for column in manifest["columns"] if column["randomised"]}
    if protected.intersection(unit.columns):
        raise damaged("a column of its unit says whose a row is, and is protected itself.")


def stated_spec(manifest: Mapping[str, Any]) -> ReleaseSpec | None:
    """Return the plan that a release states, without what it withholds; None where it has none."""
    if "settings" not in manifest:
        return None
    with undamaged():
        settings = {key: own for key, own in manifest["settings"].items() if key != WITHHELD}
        spec = spec_from(settings, seen_allowed=True)
        # An audit opens them: a stranger leads it to no file, and to no address.
        if any(Path(part[key]).name != part[key] for part, key in files_named(settings)):
            raise InvalidData("its settings say where a file lies.")
        return spec


def check_settings(manifest: Mapping[str, Any]) -> None:
    """Refuse a plan that is not the one of the release."""
    spec = stated_spec(manifest)
    if spec is None:
        return
    promise, protected = manifest["promise"], [c for c in manifest["columns"] if c["randomised"]]
    found = {
        "columns": ({one.name for one in spec.columns}, {column["name"] for column in protected}),
        "design": (spec.design, manifest["design"]["kind"]),
        "promise": (spec.limit.to_json(), promise["limit"]),
        "unit": (spec.unit(promise["unit"]["rows"]), Unit.from_json(promise["unit"])),
    }
    for what, (own, said) in found.items():
        if own != said:
            raise damaged(f"its settings state another {what} than the release has.")


def check_tables_promise(manifest: Mapping[str, Any], plan: TablePlan) -> None:
    """Refuse protected tables that reveal more than the manifest states."""
    promise = manifest["promise"]
    with undamaged():
        stated, limit = (CentralPromise.from_json(promise[part]) for part in ("spent", "limit"))
        proven = table_guarantee(plan)
        if "local" in promise:
            raise InvalidData("protected tables have no local promise.")
    if (
        stated.mu_squared is None
        or proven.mu_squared > stated.mu_squared * (1 + Fraction(SAME))
        or stated.rows != plan.rows_per_person
    ):
        raise damaged(
            f"it states ε = {stated.shown:.6g} of its tables, which their noise does not prove."
        )
    if not limit.allows(stated):
        raise damaged(f"it states {stated}, above its {limit}.")


def local_promise(manifest: Mapping[str, Any]) -> LocalPromise:
    """Return what randomising alone promises, whatever the release promises against readers."""
    promise = manifest["promise"]
    is_central = promise["limit"]["notion"] == CentralPromise.notion
    if is_central != ("local" in promise):
        raise InvalidData("it must state a local promise if its promise is central, and only then.")
    found = promise_from_json(promise["local" if is_central else "spent"])
    if not isinstance(found, LocalPromise):
        raise InvalidData("the local promise of randomised records has α.")
    return found


def prior_spending(design: Mapping[str, Any]) -> Fraction:
    return sum((stated_alpha(part["prior"]) for part in design_parts(design)), Fraction(0))


def central_promise(manifest: Mapping[str, Any]) -> CentralPromise | None:
    if "tables" in manifest:
        return CentralPromise.from_json(manifest["promise"]["spent"])
    stated = manifest["promise"].get("central")
    return None if stated is None else CentralPromise.from_json(stated["spent"])


def check_central(manifest: Mapping[str, Any], plan: Plan) -> CentralPromise | None:
    with undamaged():
        stated = central_promise(manifest)
    if stated is None:
        return None
    if any(not column["randomised"] for column in manifest["columns"]):
        raise damaged("it states a central promise, and has an untouched column.")
    if prior_spending(manifest["design"]):
        raise damaged("it states a central promise, and its plan follows from a private prior.")
    people = local_promise(manifest).rows
    if stated.rows != people:
        raise damaged(
            f"a person has {stated.rows} rows in its central promise, and "
            f"{people} in the local one."
        )
    found = is_proven(
        plan,
        epsilon=float(stated.epsilon) * (1 + SAME),
        rows=max(manifest["rows"], 1),
        delta=float_below(stated.delta),
        rows_per_person=stated.rows,
    )
    if not found:
        raise damaged(
            f"it states ε = {stated.shown:.6g} towards readers, which its plan does not prove."
        )
    return stated


def design_parts(design: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a design that spend α: a column each, or the record as a whole."""
    parts = design.get("parts") if design["kind"] == "columns" else [design]
    for part in parts if isinstance(parts, list) else [{}]:
        if "alpha" not in part or "prior" not in part:
            raise InvalidData("a part of its design lacks its alpha or prior.")
    return list(parts or [])


def protected_parts(
    design: Mapping[str, Any], plan: Plan
) -> Iterator[tuple[Mapping[str, Any], Plan, str]]:
    """Yield every part of a design with what it protects, each column once."""
    parts = design_parts(design)
    if design["kind"] == "records":
        labels = plan.column_labels()
        for table in design["prior"].get("tables", []):
            own = table["columns"]
            if not own or not set(own) <= set(labels):
                raise InvalidData(
                    "a table of its prior has columns that the plan does not randomise."
                )
            cells = math.prod(len(labels[name].labels) for name in own)
            check_shares(table["probabilities"], cells, what=", ".join(own))
        check_distances(design.get("distances"), plan)
        yield parts[0], plan, "the record"
        return
    mechanisms = plan.single_columns(what="A design by columns")
    if sorted(part["column"] for part in parts) != sorted(mechanisms):
        raise InvalidData("its design has other columns than its plan.")
    for part in parts:
        name = part["column"]
        check_shares(part["prior"].get("probabilities"), mechanisms[name].shape[0], what=name)
        check_distance(part.get("distance"), mechanisms[name], what=name)
        yield part, Plan({name: mechanisms[name]}), f"column {name!r}"


def stated_distance(stated: Mapping[str, Any], size: int, *, what: str) -> Distance:
    """Return a stated distance, which is one of so many categories."""
    if stated.get("path", stated.get("size")) != size:
        raise InvalidData(f"the distance of {short(what)} does not fit {size} categories.")
    others = ("alpha", "column", "categories")
    with as_invalid(f"the distance of {short(what)} is none"):
        return Distance.from_json({key: part for key, part in stated.items() if key not in others})


def check_distances(stated: Sequence[Mapping[str, Any]] | None, plan: Plan) -> None:
    if stated is None:
        return
    metrics = {}
    for part in stated:
        name, own = part["column"], part["categories"]
        distance = stated_distance(part, len(own), what=name)
        with as_invalid(f"the distance of {short(name)} is none"):
            alpha = float(rational(part["alpha"], InvalidData))
            metrics[name] = ColumnMetric(distance.named(own), alpha).in_alpha
    with as_invalid("the distances of the record are none"):
        held = certify(plan, distance=metrics)
    if set(metrics) != set(plan.columns) or not held.satisfies(1.0):
        raise InvalidData(
            "its plan does not satisfy what it states by distance, or not for every column."
        )


def check_distance(stated: Mapping[str, Any] | None, mechanism: Mechanism, *, what: str) -> None:
    if stated is None:
        return
    alpha = float(rational(stated.get("alpha"), InvalidData))
    distance = stated_distance(stated, mechanism.shape[0], what=what)
    with as_invalid(f"the distance of {short(what)} is none"):
        held = certify(mechanism, distance=distance).satisfies(alpha)
    if not held:
        raise InvalidData(
            f"it states α = {short(stated['alpha'])} per {distance.unit} for {short(what)}, which "
            "its mechanism does not satisfy."
        )


def check_shares(shares: Any, size: int, *, what: str) -> None:
    if shares is None:
        return
    whole = max(shares, default=2) <= 1 and math.isclose(math.fsum(shares), 1, abs_tol=1e-6)
    if len(shares) != size or not whole:
        raise InvalidData(f"the prior of {short(what)} is no law of its categories.")
