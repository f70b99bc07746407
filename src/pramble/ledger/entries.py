"""What a ledger remembers of a release, and what releases of the same people add up to."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from pramble.data.records import Records
from pramble.errors import PrivacyError
from pramble.ledger.sketch import Sketch
from pramble.privacy.promise import CentralPromise, LocalPromise, composed, no_local_promise
from pramble.privacy.unit import Unit
from pramble.values import frozen

NOTHING = CentralPromise(Fraction(0), Fraction(0))

G = TypeVar("G", LocalPromise, CentralPromise)

# Numbers of rows that differ by at most this share are alike.
ALIKE_ROWS = 0.1

PENDING, PUBLISHING, DONE = "pending", "publishing", "done"


@frozen
class KnownFile:
    """What a ledger remembers of a file.

    ``fingerprint`` is of the content, and ``sketch`` of what its columns hold, both keyed by the
    ledger's secret; ``name`` is without its folder.
    """

    name: str
    fingerprint: str
    rows: int | None
    columns: tuple[str, ...]
    sketch: Sketch | None = None

    def may_hold_the_people_of(self, other: "KnownFile", released: Collection[str]) -> bool:
        """Whether this file looks like another, of which some columns were released.

        By what the two hold, or by their names of columns where that does not decide: the one with
        fewer columns shares at least half of them, or this one has one of the released columns and
        about as many rows. Names are compared without case.

        >>> file = KnownFile("people.csv", "a", 1000, ("id", "sex", "age"))
        >>> copy = KnownFile("copy.parquet", "b", 999, ("AGE", "SEX"))
        >>> flats = KnownFile("flats.csv", "c", 1000, ("rent", "rooms", "age"))
        >>> copy.may_hold_the_people_of(file, ["sex"]), flats.may_hold_the_people_of(file, ["sex"])
        (True, False)
        """
        if self.sketch is not None and other.sketch is not None:
            decided = self.sketch.may_hold_the_people_of(other.sketch)
            if decided is not None:
                return decided
        mine, theirs = lowered(self.columns), lowered(other.columns)
        if 2 * len(mine & theirs) >= min(len(mine), len(theirs)):
            return True
        if not mine & lowered(released):
            return False
        if self.rows is None or other.rows is None:
            return True
        return abs(self.rows - other.rows) <= ALIKE_ROWS * max(self.rows, other.rows)

    def to_json(self) -> dict[str, Any]:
        sketch = None if self.sketch is None else self.sketch.to_json()
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "rows": self.rows,
            "columns": list(self.columns),
            "sketch": sketch,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "KnownFile":
        sketch = document["sketch"]
        return cls(
            document["name"],
            document["fingerprint"],
            document["rows"],
            tuple(document["columns"]),
            None if sketch is None else Sketch.from_json(sketch),
        )


def fold(name: str) -> str:
    return name.strip().casefold()


def lowered(names: Collection[str]) -> set[str]:
    return set(map(fold, names))


def file_facts(
    records: Records, *, rows: int | None = None, sketch: Sketch | None = None
) -> dict[str, Any]:
    return {
        "name": "" if records.path is None else records.path.name,
        "rows": records.rows if rows is None else rows,
        "columns": tuple(records.names),
        "sketch": sketch,
    }


@frozen
class Entry:
    """One release in the ledger.

    - ``people``: Which people: releases of one name add up.
    - ``columns``: The randomised columns.
    - ``spent``: What it spent, exactly, whatever happens to the file; infinite for protected
      tables, which have no local promise.
    - ``central``: What it spent towards those who only read the release; ε = α where nothing
      more is proven.
    - ``unit``: Whose rows both are about.
    - ``by``: The user and the machine that entered it.
    - ``state``: "pending": being made, or killed; "publishing": its folder gets its name, or a kill
      came then; "done". All of them count; a pending one can be cancelled.
    """

    id: int
    created: str
    people: str
    file: KnownFile
    columns: tuple[str, ...]
    spent: LocalPromise
    central: CentralPromise
    unit: Unit
    target: str
    by: str = ""
    state: str = PENDING

    def as_row(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "created": self.created,
            "people": self.people,
            "file": self.file.name,
            "columns": list(self.columns),
            "unit": self.unit.to_json(),
            "alpha": None if self.spent.is_unbounded else self.spent.shown,
            "epsilon": self.central.shown,
            "delta": self.central.shown_delta,
            "target": self.target,
            "by": self.by,
            "state": self.state,
        }

    def to_json(self) -> dict[str, Any]:
        """Return all but the state, which follows from later events."""
        gaussian = self.central.mu_squared
        return {
            "id": self.id,
            "created": self.created,
            "people": self.people,
            "file": self.file.to_json(),
            "columns": list(self.columns),
            "alpha": str(self.spent.alpha),
            "rows_per_person": self.spent.rows,
            "epsilon": str(self.central.epsilon),
            "delta": str(self.central.delta),
            "mu_squared": None if gaussian is None else str(gaussian),
            "unit": self.unit.to_json(),
            "target": self.target,
            "by": self.by,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Entry":
        alpha, most = document["alpha"], document["rows_per_person"]
        spent = no_local_promise(most) if alpha == "inf" else LocalPromise(Fraction(alpha), most)
        central = CentralPromise.of_local(spent) if document["epsilon"] is None else CentralPromise(
            Fraction(document["epsilon"]),
            Fraction(document["delta"]),
            most,
            None if document["mu_squared"] is None else Fraction(document["mu_squared"]),
        )  # fmt: skip
        return cls(
            document["id"],
            document["created"],
            document["people"],
            KnownFile.from_json(document["file"]),
            tuple(document["columns"]),
            spent,
            central,
            Unit.from_json(document["unit"]),
            document["target"],
            document["by"],
        )


def local_sum(entries: Sequence[Entry]) -> LocalPromise:
    return sum((one.spent for one in entries), LocalPromise(Fraction(0)))


def central_sum(entries: Sequence[Entry]) -> CentralPromise:
    return sum((one.central for one in entries), NOTHING)


def units_differ(units: Collection[Unit]) -> bool:
    """Whether these promises are of different units, so that their sum holds for none but a row.

    Where columns say whose a row is, any number of rows may be selected, and the same columns are
    the same unit. Where none do, so many rows are protected as the curator states, and no others.
    """
    return len({frozenset(unit.columns) or unit.rows for unit in units}) > 1


def whose_text(unit: Unit) -> str:
    if unit.columns:
        return f"person = {', '.join(map(repr, unit.columns))}"
    return f"at most {unit.rows} rows a person" if unit.rows > 1 else "every row is another person"


def smaller(one: G | None, two: G | None) -> G | None:
    if one is None or two is None:
        return one if two is None else two
    if isinstance(one, CentralPromise) and isinstance(two, CentralPromise):
        return CentralPromise(min(one.epsilon, two.epsilon), min(one.delta, two.delta))
    return one if two.allows(one) else two


@frozen
class Budgets:
    """The most that may ever be spent on some people: α, and central ε and δ."""

    local: LocalPromise | None = None
    central: CentralPromise | None = None

    def within(self, other: "Budgets") -> "Budgets":
        return Budgets(smaller(self.local, other.local), smaller(self.central, other.central))

    def refuse_beyond(
        self,
        before: Sequence[Entry],
        *,
        spent: LocalPromise,
        central: CentralPromise,
        unit: Unit,
    ) -> None:
        """Refuse to spend beyond them, saying what is left."""
        if self.local is None and self.central is None:
            return
        units = [one.unit for one in before]
        if units_differ([unit, *units]) and not units_differ(units):
            raise PrivacyError(
                "Releases of these people must be of the same unit where they have a budget, or "
                "they do not add up: this one must state whose rows these are as the earlier ones "
                f"do. Earlier: {whose_text(units[-1])}; now: {whose_text(unit)}. If a "
                "column that says so has another name now, rename it as before. Nothing was "
                "released."
            )
        refuse_beyond_local(self.local, before=local_sum(before), more=spent)
        parts = [one.central for one in before]
        if self.central is None or self.central.allows_together([*parts, central]):
            return
        total = central_sum(before)
        raise PrivacyError(
            f"This release would spend {central.number}; these people have spent "
            f"{total.number} of the central budget {self.central.number} already "
            f"(at that δ, with this release: ε = "
            f"{composed([*parts, central], delta=self.central.shown_delta):.6g}). Nothing was "
            "released."
        )


def refuse_beyond_local(
    budget: LocalPromise | None, *, before: LocalPromise, more: LocalPromise
) -> None:
    if budget is None or budget.allows(before + more):
        return
    if before.is_unbounded or more.is_unbounded:
        which = (
            "This release has" if more.is_unbounded else "An earlier release of these people has"
        )
        raise PrivacyError(
            f"{which} protected tables, which no budget of α can count: give a central budget "
            "(central_budget, --set central_budget=2,1e-5) in its place. Nothing was released."
        )
    left = max(budget.alpha - before.alpha, Fraction(0))
    raise PrivacyError(
        f"This release would spend {more.shown:.6g}; these people have spent {before.shown:.6g} "
        f"of the budget {budget.shown:.6g} already, so at most {float(left):.6g} is left. Nothing "
        "was released."
    )
