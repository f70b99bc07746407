"""A wizard: everything that one curator has chosen so far, and what was found for it.

Every verb is given the plan: the document without what the present promise has no use for, so that
nothing is lost where the promise changes. A wizard outlives the page that shows it.
"""

import json
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

from pramble.app.worker import PATIENCE, Work, Worker
from pramble.data.repair import rule_columns
from pramble.data.vocabulary import key_variable
from pramble.releasing.profile.columns import ColumnProfile
from pramble.releasing.profile.survey import FileProfile, column_lines
from pramble.releasing.spec.document import (
    PLAN,
    default_design,
    spec_from,
    spec_to_toml,
    without_others,
)
from pramble.releasing.spec.settings import TABLES, seen_settings
from pramble.releasing.spec.spec import DELTA
from pramble.values import frozen

STEPS = ("open", "columns", "promise", "release", "read")
# Settings of a plan that say what is promised, and by which design it is kept.
PROMISE = ("alpha", "central", "delta", "design")

# The setting of each kind of promise, what is promised before anything was chosen.
SETTINGS = {"local": "alpha", "central": "central"}
FIRST = {"local": 2.0, "central": 1.0}

# Keys that are proposed: what most intruders may know.
MOST_KEYS = 4

# Settings that no figure of a promise depends on.
WITHOUT_FIGURES = ("copies", "rows_per_file", "people")


@frozen
class SourceFile:
    """A confidential file: where it is, its name, and whether the app made the file itself."""

    path: Path
    name: str
    is_ours: bool = False


class Wizard:
    """What one curator has chosen, and what was found for it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pramble-desk-"))  # its owner's alone
        self.step = STEPS[0]
        # Three processes: a promise is tried, and a release read, while another is made.
        self.worker, self.trier, self.reader = Worker(), Worker(), Worker()
        self.source: SourceFile | None = None
        self.reading: dict[str, Any] = {}  # how to read the file, as far as the curator said so
        self.survey: FileProfile | None = None
        self.document: dict[str, Any] = {}  # all that was said; `plan` is what `release` takes
        self.risk: dict[str, Any] = {}  # what an intruder may know, as far as it was said
        self.picked: str | None = None  # the column whose details are shown
        self.counted_for: dict[str, Any] = {}  # the columns whose categories were counted last
        self.reading_folder = ""
        self.asked: dict[str, Any] = {}  # what was chosen in the last step
        self.works: dict[str, Work] = {}
        self.then: dict[str, Callable[[Any], None]] = {}
        self.found: dict[str, Any] = {}  # results of ended work, by its name
        self.delta = DELTA  # kept while the promise is local
        self.target, self.has_ledger = "", True  # an empty target is the proposed one

    def close(self) -> None:
        """End what goes on, and delete what was kept on disk."""
        self.worker.stop(patience=PATIENCE)
        self.trier.stop()
        self.reader.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(
        self,
        name: str,
        task: Callable[..., Any],
        *given: Any,
        then: Callable[[Any], None] | None = None,
        worker: Worker | None = None,
        **more: Any,
    ) -> Work:
        """Begin work in the background; what it finds is stored under its name, or given on."""
        work = (worker or self.worker).do(task, *given, name=name, progress=True, **more)
        self.works[name] = work
        self.then[name] = then or (lambda result: self.found.__setitem__(name, result))
        return work

    def stop(self, name: str) -> None:
        work = self.works.get(name)
        if work is not None and work.is_running:
            work.undone = work.worker.stop(name, patience=work.patience)

    def take(self) -> list[str]:
        """Take the results of what has ended since, and return the names of that work."""
        ended = [name for name in self.then if name not in self.running]
        for name in ended:
            then = self.then.pop(name)
            if self.works[name].state == "done":
                then(self.works[name].result)
        return ended

    @property
    def running(self) -> set[str]:
        """The names of the work that goes on."""
        return {name for name, work in self.works.items() if work.is_running}

    @property
    def is_busy(self) -> bool:
        """Whether anything goes on, or has ended and was not taken."""
        return bool(self.then)

    def take_survey(self, survey: FileProfile) -> None:
        """Begin with a file that was looked at: its proposed plan, of what was seen in the file."""
        self.survey = survey
        self.document = tomllib.loads(survey.draft(accepted=self.names))
        known = [name for name in self.names if key_variable(name) and self.action(name) != "drop"]
        self.risk = dict(self.document.get("risk", {"keys": known[:MOST_KEYS]}))
        self.picked = next(iter(self.columns), None)
        self.counted_for, self.target = {}, ""
        self.trier.stop()  # it has counted another file
        self.found = {name: own for name, own in self.found.items() if name.startswith("read")}

    # Columns ----------------------------------------------------------------------------------

    @property
    def columns(self) -> dict[str, dict[str, Any]]:
        own: dict[str, dict[str, Any]] = self.document.setdefault("columns", {})
        return own

    @property
    def dropped(self) -> list[str]:
        own: list[str] = self.document.setdefault("drop", [])
        return own

    @property
    def columns_alone(self) -> dict[str, Any]:
        """A plan of the randomised columns and how the file is read, and nothing else."""
        file = {"file": self.document["file"]} if "file" in self.document else {}
        return deepcopy({"alpha": 1.0, "columns": self.columns, **file})

    @property
    def names(self) -> list[str]:
        """The columns of the file, in order."""
        return [] if self.survey is None else [look.name for look in self.survey.profiles]

    def look(self, name: str) -> ColumnProfile:
        """Return what a column looks like."""
        assert self.survey is not None
        return next(look for look in self.survey.profiles if look.name == name)

    def proposed(self, look: ColumnProfile) -> dict[str, Any]:
        """Return the settings that are proposed for a column to randomise."""
        lines = column_lines(look, accepted=True)
        own: dict[str, Any] = tomllib.loads("\n".join(lines))["columns"][look.name]
        return own

    def merge_rare(self, name: str) -> None:
        """Merge the values of a column that few rows hold."""
        self.columns[name] |= self.proposed(self.look(name).with_rare_merged())

    def action(self, name: str) -> str:
        """Return what happens to a column: "randomise", "drop" or "keep"."""
        return "randomise" if name in self.columns else "drop" if name in self.dropped else "keep"

    def act(self, name: str, action: str) -> None:
        """Let something else happen to a column; what names it elsewhere goes with it."""
        settings = self.columns.pop(name, None)
        self.document["drop"] = [one for one in self.dropped if one != name]
        if action == "randomise":
            self.columns[name] = self.proposed(self.look(name)) if settings is None else settings
            columns = self.columns
            self.document["columns"] = {own: columns[own] for own in self.names if own in columns}
        else:
            self.forget(name)
        if action == "drop":
            self.document["drop"].append(name)

    def forget(self, name: str) -> None:
        """Take a column that is no longer randomised out of tables, rules and keys."""
        tables = self.document.get("tables")
        if isinstance(tables, list):
            self.document["tables"] = [table for table in tables if name not in table] or 1
        rules = self.document.get("possible", [])
        if any(name in rule_columns(rule) for rule in rules):
            self.document["possible"] = [rule for rule in rules if name not in rule_columns(rule)]
        self.risk["keys"] = [key for key in self.risk.get("keys", []) if key != name]
        if "risk" in self.document:
            del self.document["risk"]
            if self.risk["keys"]:
                self.document["risk"] = dict(self.risk)

    def settle(self, name: str, settings: Mapping[str, Any]) -> None:
        """Give a column its settings; refuse those that no plan can have, naming each."""
        spec_from({"alpha": 1.0, "columns": {name: settings}})
        self.columns[name] = dict(settings)

    @property
    def undeclared(self) -> list[str]:
        """Randomised columns whose categories, bands or merged labels were read off the file."""
        return [name for name, own in self.columns.items() if seen_settings(own)]

    # The plan ---------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """What is promised: "local", against everybody; or "central", against readers."""
        return "central" if "central" in self.document else "local"

    @property
    def promise(self) -> float:
        return float(self.document[SETTINGS[self.kind]])

    @property
    def design(self) -> str:
        return str(self.document.get("design", default_design(self.document)))

    def promise_to(self, kind: str, promise: float, design: str = "") -> None:
        """Promise something else, kept by a design or by the usual one."""
        promised: dict[str, Any] = {SETTINGS[kind]: promise}
        if kind == "central":
            promised["delta"] = self.delta
        if design not in ("", default_design(promised)):
            promised["design"] = design
        rest = {name: own for name, own in self.document.items() if name not in PROMISE}
        self.document = {**promised, **rest}

    @property
    def designs(self) -> tuple[str, ...]:
        """The designs that keep the present kind of promise."""
        return PLAN[SETTINGS[self.kind]].designs

    @property
    def plan(self) -> dict[str, Any]:
        """The plan, as `pramble.release` takes it: without what its design has no use for."""
        found = without_others(self.document, self.document)
        if self.design == TABLES:
            # Protected tables are no records, whose risk could be compared.
            found.pop("risk", None)
        return found

    def plan_for(self, kind: str) -> dict[str, Any]:
        """Return the plan under a kind of promise: the present one, or its first."""
        other, ours = copy(self), kind == self.kind
        if not ours:
            other.promise_to(kind, FIRST[kind])
        return other.plan

    @property
    def ground(self) -> str:
        """All that figures of promises depend on but how much is promised, as a text."""
        left = (*PROMISE, *WITHOUT_FIGURES)
        rest = {name: own for name, own in self.document.items() if name not in left}
        path = self.source and str(self.source.path)
        given = [path, self.kind, self.design, rest]
        return json.dumps(given, sort_keys=True, default=str)

    def toml(self) -> str:
        return spec_to_toml(spec_from(self.plan))


class Wizards:
    """The wizards of a server: each belongs to one browser, under the name in its address."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], Wizard] = {}

    def of(self, browser: str, name: str) -> Wizard:
        """Return a wizard of a browser, a new one where there is none of this name."""
        if (browser, name) not in self.all:
            self.all[browser, name] = Wizard()
        return self.all[browser, name]

    def close(self) -> None:
        for wizard in self.all.values():
            wizard.close()
        self.all.clear()
