"""The reviewer's folder: what is to be said of a release, from what is published of it."""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from pramble import numbers
from pramble.data.arrays import text_of_label
from pramble.errors import InvalidInput
from pramble.information.accuracy import TableOutcome, verdict_of
from pramble.information.structural_zeros import as_possible
from pramble.ledger.book import Ledger, default_ledger
from pramble.ledger.entries import Entry, central_sum, local_sum
from pramble.mechanisms.table_plan import TablePlan
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.releasing.design import rules_of
from pramble.releasing.folder.build import building
from pramble.releasing.folder.open import Release, open_release
from pramble.releasing.folder.reading import prior_spending, protected_labels, stated_spec
from pramble.releasing.priors import restricted
from pramble.releasing.spec.document import WITHHELD
from pramble.releasing.table_design import table_outcomes
from pramble.releasing.try_release import Candidate
from pramble.releasing.write.scripts import filled_template
from pramble.risk.assess import Assessment
from pramble.solvers.record.design_record import design_record
from pramble.solvers.tables.design_tables import design_for_people
from pramble.words import visible, visible_names

STATEMENTS, ENTRY, SCRIPT = "sp800-226.md", "deployment.yaml", "try_anonymeter.py"
PICTURE = "risk.svg"
SOURCES = {"seen": "read off the file", "standard": "standard ones", "declared": "declared"}
# The other promises that the picture shows, in times that of the release; the effort of a design.
OTHERS, EFFORT = (0.25, 0.5, 2.0, 4.0), 0.3


def dossier(
    folder: str | Path,
    target: str | Path | None = None,
    *,
    ledger: str | Path | Ledger | None = None,
    assessment: Assessment | None = None,
) -> Path:
    """Write what reviewers of a release ask for, from what is published of it.

    The folder has an entry for the registry of differential privacy deployments
    (``deployment.yaml``), statements in the order of NIST SP 800-226 (``sp800-226.md``), a picture
    of risk against error with the release in it (``risk.svg``), and a script that attacks a trial
    release with Anonymeter (``try_anonymeter.py``). What no machine can know is left out, with a
    comment that it is to be filled in.

    Parameters
    ----------
    folder : str or Path
        A release folder.
    target : str or Path, optional
        The folder to make; ``NAME-dossier`` beside the release unless given.
    ledger : str, Path or Ledger, optional
        The ledger that knows what earlier releases of the same people spent; the user's own unless
        given, where there is one.
    assessment : Assessment, optional
        What :func:`~pramble.assess` says of the confidential file: risk before and after is then in
        the statements. Its figures are confidential, and the dossier with them.

    Returns
    -------
    Path
        The folder that was made.

    Examples
    --------
    >>> import pramble, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> people = pramble.datasets.synthetic_new_york(2000).select(["SEX", "MARST"])
    >>> _ = pramble.release(
    ...     people, folder.name + "/out", columns=["SEX", "MARST"], central=1.0, ledger=False
    ... )
    >>> made = pramble.dossier(folder.name + "/out")
    >>> made.name, sorted(path.name for path in made.iterdir())
    ('out-dossier', ['deployment.yaml', 'risk.svg', 'sp800-226.md', 'try_anonymeter.py'])
    >>> folder.cleanup()
    """
    release, where = open_release(folder), Path(folder).absolute()
    place = where.with_name(f"{where.name}-dossier") if target is None else Path(target)
    words = statements(release, entries_of(where, ledger)) | {"folder": visible(where.name)}
    words["risk"] = risk_text(release, assessment)
    with building(place) as made:
        words["picture"] = risk_picture(release, made / PICTURE)
        texts = {
            ENTRY: registry_entry(words),
            STATEMENTS: filled_template("dossier.md.txt", **words),
            SCRIPT: attack_script(release),
        }
        for name, text in texts.items():
            (made / name).write_text(text, encoding="utf-8", newline="\n")
    return place


def risk_text(release: Release, assessment: Assessment | None) -> str:
    """Return what is said of risk before and after: figures of the file where some are given."""
    said = texts_for("risk")
    if assessment is None:
        return said["unknown"]
    after, plan = said["tables"], release.plan
    if not isinstance(plan, TablePlan):
        keys = [name for name in assessment.keys if name in plan.columns]
        own: Any = {name: plan[name] for name in keys} if plan.is_simple else plan
        left = assessment.after(own).tau2 if keys else assessment.tau2
        after = said["records"].format(after=numbers.expected(left))
    return said["known"].format(
        keys=visible_names(assessment.keys), model=assessment.model, after=after,
        population=numbers.count(round(assessment.population_size)),
        uniques=numbers.count(assessment.sample_uniques),
        before=numbers.expected(assessment.tau2),
    )  # fmt: skip


def entries_of(folder: Path, ledger: str | Path | Ledger | None) -> list[Entry]:
    """Return the releases of the same people up to this one; none where no ledger knows it."""
    if ledger is None and not default_ledger().exists():
        return []
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger or default_ledger(), make=False)
    own = [entry for entry in book.entries() if entry.target == str(folder.resolve())]
    return [one for one in book.entries(own[-1].people) if one.id <= own[-1].id] if own else []


def texts_for(kind: str, **words: Any) -> dict[str, str]:
    """Return sentences of a dossier by name, with some words filled in."""
    path = files("pramble") / "resources" / "dossier.toml"
    found = tomllib.loads(path.read_text(encoding="utf-8"))[kind]
    return {name: text.format(**words) if words else text for name, text in found.items()}


def labels_of(release: Release) -> dict[str, list[Any]]:
    return {name: list(own.values) for name, own in protected_labels(release.plan).items()}


def promise_of(release: Release) -> LocalPromise | CentralPromise:
    """Return the one promise that is stated everywhere of a release."""
    found = release.central or release.guarantee
    assert isinstance(found, LocalPromise | CentralPromise), "there are no others"
    return found


def statements(release: Release, history: Sequence[Entry]) -> dict[str, Any]:
    """Return what the documents say, by name; None stands for what is to be filled in."""
    manifest, promise, unit = release.manifest, promise_of(release), release.unit
    delta = promise.shown_delta if isinstance(promise, CentralPromise) else None
    about: Mapping[str, Any] = manifest.get("dataset", {})
    title, date, made = about.get("title"), str(about.get("date")), manifest["created"][:10]
    slug = re.findall(r"[a-z0-9]+", f"{title} {made[:4]}".lower())
    protected = ", ".join(
        f"{visible_names([name])} ({len(own)} categories)"
        for name, own in labels_of(release).items()
    )
    stated = manifest["promise"].get("central", manifest["promise"])
    relation, said = manifest["promise"]["relation"], design_statements(release)
    public = "\n".join(f"- {fact}" for fact in public_facts(release))
    return said | {
        "title": visible(title or "A release of records"),
        "history_source": " and the ledger" if history else "",
        "promise": promise.sentence(),
        "epsilon": f"{promise.shown:.6g}",
        "delta": f"{delta or 0.0:.3g}",
        "unit": unit.sentence(),
        "relation": relation,
        "rows": f"{manifest['rows']:,}",
        "delta_means": "But for a probability of δ, with which that may fail." * bool(delta),
        "assumes": "\n".join(
            f"- {visible(one)}" for one in stated.get("assumes") or [unit.sentence()]
        ),
        "protected": protected,
        "public": public,
        "history": history_text(history),
        "worth": "\n\n".join(map(visible, manifest.get("worth", {}).get("sentences", ()))),
        # What the registry's entry alone says.
        "unknown": None,
        "slug": "-".join(slug) if title else None,
        "name": title,
        "curators": [about["producer"]] if about.get("producer") else None,
        "region": about.get("region"),
        "description": about.get("description") or said["product"],
        "date": date if re.fullmatch(r"\d{4}-\d\d-\d\d", date) else made,
        "domain": f"Files of records of {protected}.",
        "noun": unit.noun.capitalize(),
        "neighbours": f"{unit.sentence()} Neighbouring files: {relation}.",
        "shown_epsilon": promise.shown,
        "shown_delta": delta,
        "release_type": "Many releases" if history[1:] else None,
        "release_types": history_text(history) if history else None,
        "made": f"{said['mechanisms']} {said['implementation']}",
        "doi": about.get("doi"),
    }


def design_statements(release: Release) -> dict[str, str]:
    """Return what there is to say of releases of this design."""
    manifest = release.manifest
    protected = [column for column in manifest["columns"] if column["randomised"]]
    kind = "records" if release.central is None else "shuffled" if "data" in manifest else "tables"
    sources = " ".join(
        f"The categories of {visible_names(names)} are {said}."
        for source, said in SOURCES.items()
        if (names := [c["name"] for c in protected if c.get("categories_from") == source])
    )
    version = visible(manifest["software"]["version"])
    found = texts_for("all", version=version, categories=sources) | texts_for(kind)
    if kind == "records" and (spent := prior_spending(manifest["design"])):
        found["mechanisms"] += texts_for("noisy_prior", prior=f"{float(spent):.3g}")["mechanisms"]
    return found


def public_facts(release: Release) -> Iterator[str]:
    """Yield what the release shows of the file that its promise does not cover."""
    manifest, unit, of_tables = release.manifest, release.unit, "tables" in release.manifest
    columns, spec = manifest["columns"], stated_spec(manifest)
    untouched = [one["name"] for one in columns if not one["randomised"]]
    seen = [one["name"] for one in columns if one.get("categories_from") == "seen"]
    true = {
        "untouched": bool(untouched),
        "rows": not (of_tables and unit.rows > 1),  # else they are measured with noise
        "seen": bool(seen),
        "order": not of_tables and release.central is None and not (spec and spec.is_shuffled),
        "several": not of_tables and unit.rows > 1,
        "confidential": manifest["promise"]["conditional_on_prior"],
        "plan": True,
    }
    words = {"rows": f"{manifest['rows']:,}", "noun": unit.noun}
    words |= {"untouched": visible_names(untouched), "seen": visible_names(seen)}
    found = texts_for("public", **words)
    yield from (found[name] for name, holds in true.items() if holds)


def history_text(history: Sequence[Entry]) -> str:
    said = texts_for("history")
    if not history:
        return said["unknown"]
    lines = [said["columns"], "|---|---|---|---|---|"]
    for one in history:
        cells = [one.created[:10], visible_names(one.columns), one.unit.noun, local_text(one.spent)]
        lines.append(f"| {' | '.join(cells)} | {one.central.number} |")
    local, central = local_text(local_sum(history)), central_sum(history).number
    return "\n".join([*lines, f"| **together** | | | {local} | {central} |"])


def local_text(spent: LocalPromise) -> str:
    return "none holds" if spent.is_unbounded else f"{spent.shown:.6g}"


def registry_entry(words: Mapping[str, Any]) -> str:
    """Return the entry for the registry, with a comment for each value that is to be filled in."""
    asked = texts_for("to_be_filled_in")
    text = (files("pramble") / "resources" / "deployment.yaml.txt").read_text(encoding="utf-8")

    def filled(found: re.Match[str]) -> str:
        pad, key, name = found.groups()
        if words[name] is None:
            return f"{pad}# {key}: to be filled in: {asked[key]}\n" if key in asked else ""
        return f"{pad}{key}: {yaml_value(words[name])}\n"

    # A mapping of comments alone would be null.
    heading = "# administrative:" if words["doi"] is None else "administrative:"
    return re.sub(r"( *)(\w+): @(\w+)@\n", filled, text.replace("@administrative@", heading))


def yaml_value(value: Any) -> str:
    """Return a value as JSON, which YAML reads as well.

    >>> print(yaml_value(["a", "b: c"]), yaml_value(1e-6))
    ["a", "b: c"] 1.0e-06
    """
    if isinstance(value, list):
        return f"[{', '.join(map(yaml_value, value))}]"
    if isinstance(value, str):
        return json.dumps(visible(value), ensure_ascii=False)
    # YAML takes 1e-06 for a text: its numbers have a point.
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")


def risk_picture(release: Release, path: Path) -> str:
    """Draw what readers would get under this promise and others; return what is said of it."""
    from pramble.plots.images import save
    from pramble.plots.tradeoffs import candidates_figure

    said, promise = texts_for("picture"), promise_of(release).shown
    own, design = stated_outcomes(release.manifest), release.manifest["design"]
    has_rows = bool(release.manifest["rows"])
    if not (own and has_rows) or design["kind"] == "columns" or "distances" in design:
        return said["undrawn"]
    current = candidate_of(release, promise, own)
    found = [current]
    for other in (promise * factor for factor in OTHERS):
        with suppress(InvalidInput):  # no plan keeps it, or none is needed
            found.append(candidate_of(release, other, outcomes_under(release, other, own)))
    found.sort(key=lambda one: one.promise)
    figure = candidates_figure(found, current=current)
    save(figure, path, name="risk", description=said["description"])
    cells = ((one.name, numbers.sure(one.belief), one.verdict.headline) for one in found)
    rows = [f"| {' | '.join(own)} |" for own in cells]
    lines = [f"![{said['description']}]({PICTURE})", "", said["about"], "", said["columns"]]
    return "\n".join([*lines, "|---|---|---|", *rows])


def candidate_of(release: Release, promise: float, tables: Sequence[TableOutcome]) -> Candidate:
    kind = "local" if release.central is None else "central"
    design = "tables" if "tables" in release.manifest else "records"
    belief, verdict = LocalPromise(Fraction(promise)).belief(), verdict_of(tables)
    return Candidate(
        kind, promise, belief, math.nan, math.nan, verdict, tuple(tables), None, (), design
    )


def stated_outcomes(manifest: Mapping[str, Any]) -> list[TableOutcome]:
    """Return what the manifest says of the wanted tables; the cost follows from the error."""
    rows, found = manifest["rows"], []
    for own in manifest.get("worth", {}).get("tables", ()):
        if own["wanted"]:
            cost = own.get("standard_error", math.inf) ** 2 * own["cells"] * rows
            found.append(TableOutcome(tuple(own["columns"]), own["cells"], cost, rows, wanted=True))
    return found


def outcomes_under(
    release: Release, promise: float, wanted: Sequence[TableOutcome]
) -> Sequence[TableOutcome]:
    """Return what wanted tables would be worth under another promise, by a design of its own."""
    plan, manifest, labels = release.plan, release.manifest, labels_of(release)
    rows, design, tables = manifest["rows"], manifest["design"], [one.columns for one in wanted]
    if isinstance(plan, TablePlan):
        weights = None if plan.weights is None else plan.weights.largest
        other = design_for_people(
            labels, promise, plan.delta, tables=tables, objective=design.get("objective"),
            rows_per_person=plan.rows_per_person, largest_weight=weights,
        )  # fmt: skip
        return table_outcomes(other.plan, rows)
    spec, central = stated_spec(manifest), release.central
    possible = as_possible(None if spec is None else rules_of(spec), labels)
    prior = {}
    for own in design["prior"]["tables"]:
        shape = [len(labels[name]) for name in own["columns"]]
        prior[tuple(own["columns"])] = np.reshape(own["probabilities"], shape)
    limit: dict[str, Any] = {"alpha": promise / release.unit.rows}
    if central is not None:
        limit = {"central": (promise, central.shown_delta), "rows": rows}
        limit["rows_per_person"] = central.rows
    found = design_record(
        labels, **limit, prior=restricted(prior, possible) or None, possible=possible,
        tables=tables, objective=design.get("objective"), effort=EFFORT,
        whole=central is not None or bool(spec and spec.whole),
    )  # fmt: skip
    cells = (int(possible.mask(table).sum()) for table in tables)
    costs = {frozenset(table): cost for table, cost in found.costs.items()}  # in their own order
    return [
        TableOutcome(table, own, costs[frozenset(table)], rows)
        for table, own in zip(tables, cells, strict=True)
    ]


def attack_script(release: Release) -> str:
    """Return the script that runs Anonymeter on a trial release by the same plan."""
    settings = dict(release.manifest.get("settings", {}))
    labels = labels_of(release)
    words = {
        "withheld": settings.pop(WITHHELD, []) if settings else ["its settings"],
        "settings": settings,
        "released": [column["name"] for column in release.manifest["columns"]],
        "labels": {n: [str(text_of_label(one)) for one in own] for n, own in labels.items()},
        "person": list(release.unit.columns),
    }
    # A text of a text: whatever a label holds, it stays one in the script.
    texts = {name: ascii(json.dumps(own)) for name, own in words.items()}
    return filled_template("try_anonymeter.py.txt", **texts)
