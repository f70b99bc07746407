"""Whether the mechanisms of a release keep what its manifest promises."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from reprlib import repr as short
from typing import Any

from pramble.errors import InvalidData, InvalidInput, InvalidMechanism
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.json_form import rational
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.central_privacy import CentralPrivacy, guarantee_from_json
from pramble.privacy.certificate import certify
from pramble.privacy.guarantee import RecordPrivacy, float_above, float_below, stated_alpha
from pramble.privacy.shuffled.central import is_proven
from pramble.privacy.table_privacy import table_guarantee
from pramble.releasing.distances import Apart
from pramble.releasing.folder.layout import MANIFEST
from pramble.releasing.folder.reading import undamaged

SAME = 1e-6
"""How far ε may differ between machines whose elementary functions round differently."""


def check_promise(manifest: Mapping[str, Any], plan: Plan | TablePlan) -> None:
    """Refuse mechanisms that spend more than the manifest states, decided in integers."""
    if isinstance(plan, TablePlan):
        check_tables_promise(manifest, plan)
        return
    promise, spent, conditional = manifest["promise"], Fraction(0), False
    with undamaged():
        stated, limit = (guarantee_from_json(promise[part]) for part in ("spent", "limit"))
        design = manifest["design"]
        for part, protected, what in protected_parts(design, plan):
            spent += spent_on(part, protected, what=what)
            conditional |= part["prior"]["source"] == "confidential"
    if not isinstance(stated, RecordPrivacy) or stated.alpha != spent * stated.rows:
        raise InvalidData(
            f"{MANIFEST} is not that of the release: it states {stated}; its columns spend "
            f"{float(spent)!r} on a record."
        )
    reader = check_central(manifest, plan, besides=besides_of(design))
    held = reader if isinstance(limit, CentralPrivacy) else stated
    if held is None or not limit.allows(held):
        raise InvalidData(f"{MANIFEST} is damaged: it states {held}, above its {limit}.")
    if conditional != promise["conditional_on_prior"]:
        raise InvalidData(
            f"{MANIFEST} is damaged: what it says of confidential priors contradicts its columns."
        )


def check_tables_promise(manifest: Mapping[str, Any], plan: TablePlan) -> None:
    """Refuse protected tables that reveal more than the manifest states."""
    promise = manifest["promise"]
    with undamaged():
        stated, limit = (CentralPrivacy.from_json(promise[part]) for part in ("spent", "limit"))
        proven = table_guarantee(plan)
    if (
        stated.mu_squared is None
        or proven.mu_squared > stated.mu_squared * (1 + Fraction(SAME))
        or stated.rows != plan.rows_per_person
    ):
        raise InvalidData(
            f"{MANIFEST} is damaged: it states ε = {stated.shown:.6g} of its tables, which their "
            "noise does not prove."
        )
    if not limit.allows(stated):
        raise InvalidData(f"{MANIFEST} is damaged: it states {stated}, above its {limit}.")


def besides_of(design: Mapping[str, Any]) -> Fraction:
    """Return what priors spent on a record."""
    return sum((stated_alpha(part["prior"]) for part in parts_of(design)), Fraction(0))


def central_promise(manifest: Mapping[str, Any]) -> CentralPrivacy | None:
    """Return what was spent against readers of a release, where that is stated."""
    if "tables" in manifest:
        return CentralPrivacy.from_json(manifest["promise"]["spent"])
    stated = manifest["promise"].get("central")
    return None if stated is None else CentralPrivacy.from_json(stated["spent"])


def check_central(
    manifest: Mapping[str, Any], plan: Plan, *, besides: Fraction
) -> CentralPrivacy | None:
    """Return the central promise that a manifest states; refuse one that is not proven."""
    with undamaged():
        stated = central_promise(manifest)
    if stated is None:
        return None
    if any(not column["randomised"] for column in manifest["columns"]):
        raise InvalidData(
            f"{MANIFEST} is damaged: it states a central promise, and has an untouched column."
        )
    people = RecordPrivacy.from_json(manifest["promise"]["spent"]).rows
    if stated.rows != people:
        raise InvalidData(
            f"{MANIFEST} is damaged: a person has {stated.rows} rows in its central promise, and "
            f"{people} in the local one."
        )
    found = is_proven(
        plan,
        epsilon=float(stated.epsilon) * (1 + SAME),
        rows=max(manifest["rows"], 1),
        delta=float_below(stated.delta),
        besides=float_above(besides),
        rows_per_person=stated.rows,
    )
    if not found:
        raise InvalidData(
            f"{MANIFEST} is damaged: it states ε = {stated.shown:.6g} towards readers, which its "
            "plan does not prove."
        )
    return stated


def parts_of(design: Mapping[str, Any]) -> list[Mapping[str, Any]]:
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
    parts = parts_of(design)
    if design["kind"] == "records":
        check_tables(design["prior"], plan)
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


def check_tables(prior: Mapping[str, Any], plan: Plan) -> None:
    """Refuse tables of a prior that are no laws of the plan's columns."""
    labels = plan.column_labels()
    for table in prior.get("tables", []):
        if not table["columns"] or not set(table["columns"]) <= set(labels):
            raise InvalidData("a table of its prior has columns that the plan does not randomise.")
        cells = math.prod(len(labels[name].labels) for name in table["columns"])
        check_shares(table["probabilities"], cells, what=", ".join(table["columns"]))


def check_distances(stated: Sequence[Mapping[str, Any]] | None, plan: Plan) -> None:
    """Refuse a promise by distance, summed over columns, that a plan does not keep."""
    if stated is None:
        return
    for part in stated:
        if part.get("path", part.get("size")) != len(part["categories"]):
            raise InvalidData(f"the distance of {short(part['column'])} does not fit its column.")
    try:
        apart = {
            part["column"]: Apart(
                Distance.from_json(plain_distance(part)).named(part["categories"]),
                float(rational(part["alpha"], InvalidData)),
            )
            for part in stated
        }
        held = certify(plan, distance={name: one.in_alpha for name, one in apart.items()})
    except (InvalidInput, InvalidMechanism) as error:
        raise InvalidData(f"the distances of the record are none: {error}") from None
    if set(apart) != set(plan.columns) or not held.satisfies(1.0):
        raise InvalidData(
            "its plan does not satisfy what it states by distance, or not for every column."
        )


def plain_distance(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stated distance without what stands beside it."""
    beside = ("alpha", "column", "categories")
    return {key: part for key, part in stated.items() if key not in beside}


def check_distance(stated: Mapping[str, Any] | None, mechanism: Mechanism, *, what: str) -> None:
    """Refuse a promise by distance that a mechanism does not keep."""
    if stated is None:
        return
    alpha, size = rational(stated.get("alpha"), InvalidData), mechanism.shape[0]
    if stated.get("path", stated.get("size")) != size:
        raise InvalidData(f"the distance of {short(what)} does not fit {size} categories.")
    try:
        distance = Distance.from_json(plain_distance(stated))
        held = certify(mechanism, distance=distance).satisfies(float(alpha))
    except InvalidInput as error:
        raise InvalidData(f"the distance of {short(what)} is none: {error}") from None
    if not held:
        raise InvalidData(
            f"it states α = {short(stated['alpha'])} per {distance.unit} for {short(what)}, which "
            "its mechanism does not satisfy."
        )


def check_shares(shares: Any, size: int, *, what: str) -> None:
    """Refuse numbers that are no law of so many categories."""
    if shares is None:
        return
    whole = max(shares, default=2) <= 1 and math.isclose(math.fsum(shares), 1, abs_tol=1e-6)
    if len(shares) != size or not whole:
        raise InvalidData(f"the prior of {short(what)} is no law of its categories.")


def spent_on(part: Mapping[str, Any], protected: Plan, *, what: str) -> Fraction:
    """Return the α of a part and its prior; refuse what the plan does not satisfy."""
    alpha, prior = rational(part["alpha"], InvalidData), part["prior"]
    if alpha > LARGEST_TOTAL or not certify(protected).satisfies(float(alpha)):
        raise InvalidData(
            f"it states α = {short(part['alpha'])} for {what}, which its mechanism does not "
            "satisfy."
        )
    on_prior = stated_alpha(prior)
    if on_prior and prior["source"] != "private":
        raise InvalidData(f"the prior of {what} is not private and spends α.")
    return alpha + on_prior
