"""What a curator decides: columns, categories, recodings, budget, priors, risk keys, output."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import Any

from pramble.data.formats.registry import FORMATS
from pramble.data.labels import label_key
from pramble.data.reading import Reading
from pramble.data.recode import as_recodings, categories_after
from pramble.errors import InvalidPlan
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.privacy.guarantee import RecordPrivacy
from pramble.releasing.prepare.prior import Prior
from pramble.solvers.problem import ObjectiveName
from pramble.values import value
from pramble.words import hint_at

SEEN = "seen"
DESIGNS = ("records", "paper", "tables")
TABLE_OBJECTIVES = ("variance", "relative", "largest")
FAMILIES = ("uniform", "general", "response", "circle")
WITHOUT_PRIOR = ("response", "circle")
BAND = "band"
OBJECTIVES = ("information", "estimation")
SPLITS = ("equal", "weights", "optimal")
OUTPUTS = tuple(form.name for form in FORMATS if form.write is not None)
COPIES = ("csv", "stata", "spss", "excel")
PRIOR_SHARE = 0.02
DELTA = 1e-6
LARGEST_DELTA = 0.01


def recoding_steps(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recodings of a plan file in the words of `pramble.data.recode`."""
    return {
        "missing" if name == "missing_values" else name: given for name, given in settings.items()
    }


@value
class ColumnDecision:
    """How one column is randomised.

    Attributes
    ----------
    name : str
    categories : tuple or None
        Every possible label, in order; None takes the values seen in the file, sorted, which
        reveals the values that occur.
    recode : mapping
        Recodings in the words of a plan file: ``trim``, ``missing_values``, ``low``, ``high``,
        ``bands``, ``merge`` (`pramble.data.recode`).
    missing : label, True or None
        What empty cells are released as: a label, True for a category of their own that stays
        empty, None to refuse them.
    family : str
        "uniform" (the paper's matrix), "general" (any square matrix), "response" (randomised
        response: no prior is needed) or "circle" (arcs around equally likely bands of a number, as
        `pramble.circle` makes them: none either).
    objective : str
        "information", "estimation" or "loss".
    distance : "path", mapping or None
        How far apart categories are (`pramble.releasing.prepare.apart`): those farthest apart are
        protected by the column's α, and nearer ones better, in proportion.
    release_as : str
        "band", or a number in place of it: "midpoint" or "point", one drawn within the band.
    loss : "path", mapping or None
        With the objective "loss": by how much a released value may be wrong, as a distance.
    invariant : bool
        Whether released margins are to be right at face value.
    estimable : bool
        Whether a design that merges categories, so that their frequencies cannot be estimated, is
        replaced by one that tells them apart.
    alpha : float or None
        α of this column, when the plan gives no total.
    weight : float
        Share of the total under "weights"; importance under "optimal".
    prior : str
        "uniform", "public", "private" or "confidential".
    prior_file, prior_probabilities
        The public source: a file, or probabilities in the order of the categories.
    noisy : Prior or None
        The private prior that came with bands by quantiles; no setting of a plan.
    """

    name: str
    categories: tuple[Any, ...] | None = None
    recode: Mapping[str, Any] = field(default_factory=dict)
    missing: Any = None
    family: str = "uniform"
    objective: ObjectiveName = "information"
    distance: Any = None
    release_as: str = BAND
    loss: Any = None
    invariant: bool = False
    estimable: bool = True
    alpha: float | None = None
    weight: float = 1.0
    prior: str = "private"
    prior_file: str | None = None
    prior_probabilities: tuple[float, ...] | None = None
    noisy: Prior | None = None

    @property
    def declared(self) -> tuple[Any, ...] | None:
        """The declared categories: stated, or those of its bands; None takes the values seen."""
        if self.categories is not None:
            return self.categories
        return categories_after(as_recodings(recoding_steps(self.recode)))

    def labels(self, seen: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Return every category, the one of empty cells included."""
        declared = self.declared
        labels = tuple(seen) if declared is None else declared
        if self.missing is None:
            return labels
        extra = None if self.missing is True else self.missing
        known = {label_key(label) for label in labels}
        return labels if label_key(extra) in known else (*labels, extra)

    def needs_prior(self, size: int) -> bool:
        """Whether the design depends on the prior.

        With two categories randomised response is best for every prior and either objective, since
        the only α-extreme columns are (1, a) and (a, 1), and rows that sum to one use both alike.
        """
        if self.objective == "loss":
            return True
        return self.invariant or (self.family not in WITHOUT_PRIOR and size > 2)


@value
class RiskDecision:
    """Which risk to report: key variables, population size and model.

    With ``weights``, the column of sampling weights, also the individual risk; with ``household``,
    the column that says who lives together, also the risk that somebody of it is found.
    """

    keys: tuple[str, ...]
    population_size: int
    model: str = "two-way"
    weights: str | None = None
    household: str | None = None

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns of weights and households, where they are named."""
        return tuple(name for name in (self.weights, self.household) if name is not None)


@value
class Decisions:
    """A whole plan file, checked; `read_decisions` and `decisions_from` make one.

    Attributes
    ----------
    columns : tuple of ColumnDecision
        The columns to randomise; every other column is released as it is, unless dropped.
    design : str
        "tables" (the default under a central promise): protected tables, with complete records
        drawn from them; "records" (the default otherwise): the best plan for the wanted tables of
        all columns together; or "paper": a matrix for each column, with its settings and its part
        of α.
    tables : int, "all", or tuple of tuples of columns
        The tables that a plan for records is best for: of so many columns, all, or these.
    objective : str
        What a plan for records is best for: "estimation" of the tables, or "information"; and
        protected tables: "variance", "relative" or "largest" errors (`pramble.design_tables`).
    whole : bool
        Every record keeps all its columns, in one file.
    possible : tuple of mappings
        Rules of which records can occur (`pramble.information.structural_zeros`), each perhaps
        with a ``repair``: the labels that a record which breaks it gets.
    alpha : float or None
        α in total for a person; None when every column states its own, or the promise is central.
    central : float or None
        ε of a central promise, against everybody who reads the release: by protected tables, or by
        randomising every released column and shuffling the rows.
    delta : float
        δ of the central promise.
    synthetic : bool
        Whether complete records, drawn from what is released alone, lie beside it.
    split : str
        "equal", "weights" or "optimal".
    split_objective : str
        What an optimal split optimises: "information" or "estimation".
    prior_share : float
        Part of α that private priors may spend.
    drop : tuple of str
        Columns left out of the release.
    output : str
        The format of the data file: one of ``OUTPUTS``.
    rows_per_file : int or None
        Write the data as a folder of files with so many rows each; None for one file.
    copies : tuple of str
        Formats of further files of the same released records: some of ``COPIES``.
    scripts : bool
        Whether ``analysis.py`` and ``analysis.R`` lie beside the data.
    shuffle : bool
        Release the rows in a random order.
    person : str or None
        The column that tells whose row it is, where people have several.
    rows_per_person : int or None
        The most rows of one person; counted in the file where only ``person`` is given, and 1
        without either.
    people : str or None
        The name under which the ledger adds up releases of these people.
    allow : tuple of str
        Columns that are released as they are although they tell a protected one.
    risk : RiskDecision or None
    reading : Reading
        How to read the file, where that is not left to be found out.
    """

    columns: tuple[ColumnDecision, ...]
    design: str = "records"
    tables: Any = 2
    objective: Any = "estimation"
    whole: bool = False
    possible: tuple[Mapping[str, Any], ...] = ()
    alpha: float | None = None
    central: float | None = None
    delta: float = DELTA
    synthetic: bool = False
    split: str = "equal"
    split_objective: ObjectiveName = "information"
    prior_share: float = PRIOR_SHARE
    drop: tuple[str, ...] = ()
    output: str = "parquet"
    rows_per_file: int | None = None
    copies: tuple[str, ...] = ()
    scripts: bool = True
    shuffle: bool = False
    person: str | None = None
    rows_per_person: int | None = None
    people: str | None = None
    allow: tuple[str, ...] = ()
    risk: RiskDecision | None = None
    reading: Reading = Reading()

    @property
    def limit(self) -> RecordPrivacy | CentralPrivacy:
        """What may be spent on a person in all, exactly."""
        if self.central is not None:
            return CentralPrivacy(Fraction(self.central), Fraction(self.delta))
        return self.local_limit

    @property
    def local_limit(self) -> RecordPrivacy:
        """What may be spent on a person by mechanisms and priors, exactly."""
        if self.alpha is not None:
            return RecordPrivacy(Fraction(self.alpha))
        return RecordPrivacy(sum((Fraction(c.alpha or 0) for c in self.columns), Fraction(0)))

    @property
    def of_tables(self) -> bool:
        """Whether protected tables are released, and no randomised records."""
        return self.design == "tables"

    @property
    def is_shuffled(self) -> bool:
        """Whether rows are released in random order."""
        return self.shuffle or (self.central is not None and self.design == "records")

    @property
    def ending(self) -> str:
        """The ending of the names of data files."""
        return next(form for form in FORMATS if form.name == self.output).endings[0]

    @property
    def data_file(self) -> str:
        """Name of the data file in the release folder; in pieces the folder has it, unended."""
        return f"data{self.ending}"

    def released(self, names: Sequence[str]) -> list[str]:
        """Return the columns of a file that are released, in order."""
        return [name for name in names if name not in self.drop]

    def watched(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are released as they are and must not tell protected ones."""
        known = (*(column.name for column in self.columns), *self.allow, self.person)
        return [name for name in self.released(names) if name not in known]

    def full_reading(self) -> Reading:
        """Return how to read the file, with the recodings of the columns."""
        recode = {c.name: as_recodings(recoding_steps(c.recode)) for c in self.columns if c.recode}
        return replace(self.reading, recode={**self.reading.recode, **recode})

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a plan that names columns which the file does not have."""
        wanted = [
            *((column.name, "to randomise") for column in self.columns),
            *((name, "to drop") for name in self.drop),
            *((name, "to allow") for name in self.allow),
            *((name, "to tell people apart") for name in [self.person] if name is not None),
            *((name, "as a risk key") for name in (self.risk.keys if self.risk else ())),
            *((name, "for the risk") for name in (self.risk.beside if self.risk else ())),
        ]
        mistakes = [
            f"The plan names the column {name!r} {purpose}, which the file does not have"
            f"{hint_at(name, names)}."
            for name, purpose in wanted
            if name not in names
        ]
        if mistakes:
            raise InvalidPlan("\n".join(mistakes))


def columns_of(rule: Mapping[str, Any]) -> set[str]:
    """Return the columns that a rule of what is possible looks at or repairs."""
    parts = (part for part in rule.values() if isinstance(part, Mapping))
    return {name for part in parts for name in part}
