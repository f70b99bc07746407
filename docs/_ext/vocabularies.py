"""Reference pages out of what the code itself reads: a plan's settings, the manifest's schema."""

import json
import tomllib
from dataclasses import MISSING, fields
from importlib.resources import files
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

from pramble.data.reading import Reading
from pramble.releasing.spec.column import ColumnSpec
from pramble.releasing.spec.document import COLUMN, FILE, PLAN, RISK
from pramble.releasing.spec.spec import ReleaseSpec, RiskSpec

MEANINGS = Path(__file__).parent.parent / "settings.toml"
TABLES = {
    "plan": (PLAN, (ReleaseSpec, ColumnSpec), ""),
    "columns": (COLUMN, (ColumnSpec,), "columns.NAME."),
    "risk": (RISK, (RiskSpec,), "risk."),
    "file": (FILE, (Reading,), "file."),
}
"""Each table of a plan: its readers, where the defaults are, and how a full name begins."""

LISTS = ("copies",)
"""Settings that take several words at once."""

INHERITED = ("family", "objective", "invariant", "estimable", "prior", "prior_file")
"""Settings of a column that are the plan's unless the column states its own."""


def meanings():
    """Every setting of every table, with its meaning and an example."""
    return tomllib.loads(MEANINGS.read_text(encoding="utf-8"))


def words_of(reader):
    """The words that a reader takes, where it takes some words only.

    >>> words_of(PLAN["split"]), words_of(PLAN["alpha"])
    (('equal', 'weights', 'optimal'), ())
    """
    held = {
        name: cell.cell_contents
        for name, cell in zip(reader.__code__.co_freevars, reader.__closure__ or (), strict=True)
    }
    return tuple(held.get("options", ())) or (words_of(held["one"]) if "one" in held else ())


def default_of(key, kinds):
    """The default of a setting as a plan would state it; nothing where it has none.

    >>> default_of("tables", (ReleaseSpec,)), default_of("alpha", (ReleaseSpec,))
    ('2', '')
    """
    for kind in kinds:
        for part in fields(kind):
            if part.name == key and part.default is not MISSING:
                absent = part.default is None or part.default == ()
                return "" if absent else json.dumps(part.default)
    return ""


class PlanSettings(SphinxDirective):
    """``.. plan-settings:: TABLE``: every setting of a table of a plan."""

    required_arguments = 1

    def run(self):
        table = self.arguments[0]
        readers, kinds, prefix = TABLES[table]
        told = meanings()[table]
        self.env.note_dependency(str(MEANINGS))
        if set(told) != set(readers):
            raise self.error(f"{MEANINGS.name} and the code differ: {set(told) ^ set(readers)}")
        lines = []
        for key, entry in told.items():
            lines += [f".. confval:: {prefix}{key}"]
            if words := words_of(readers[key]):
                few = "a list of" if key in LISTS else "one of"
                lines += [f"   :type: {few} " + ", ".join(f'``"{word}"``' for word in words)]
            if table == "columns" and key in INHERITED:
                lines += ["   :default: that of the plan"]
            elif default := default_of(key, kinds):
                lines += [f"   :default: ``{default}``"]
            lines += ["", f"   {entry['meaning']} For example ``{key} = {entry['example']}``.", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def kind_of(schema):
    """What a value of the manifest is, in a few words."""
    if "enum" in schema:
        words = ", ".join(f"``{word}``" for word in schema["enum"])
        return words if len(schema["enum"]) == 1 else f"one of {words}"
    kind = schema.get("type", "any value")
    if kind == "array":
        inner = schema.get("items", {}).get("type", "value")
        return f"list of {inner}s"
    return kind


def rows_of(schema, path):
    """Each value inside an object or a list of them: path, kind, whether required, meaning."""
    inside = schema.get("items", schema) if schema.get("type") == "array" else schema
    path = f"{path}[]" if schema.get("type") == "array" else path
    for name, part in inside.get("properties", {}).items():
        here = f"{path}.{name}"
        yield here, kind_of(part), name in inside.get("required", ()), part.get("description", "")
        yield from rows_of(part, here)


class ManifestSchema(SphinxDirective):
    """``.. manifest-schema::``: every value that a manifest may hold, from its JSON Schema."""

    def run(self):
        text = files("pramble").joinpath("resources/manifest.schema.json").read_text("utf-8")
        schema = json.loads(text)
        lines = [f"{schema['description']} The version is ``{schema['$id']}``.", ""]
        for name, part in schema["properties"].items():
            always = "always" if name in schema["required"] else "where it applies"
            lines += [f".. confval:: manifest.{name}", f"   :type: {kind_of(part)}, {always}", ""]
            lines += [f"   {part['description']}", ""] if "description" in part else []
            rows = list(rows_of(part, name))
            if rows:
                lines += self.table(rows)
        return self.parse_text_to_nodes("\n".join(lines))

    def table(self, rows):
        lines = ["   .. list-table::", "      :header-rows: 1", "      :widths: 45 55", ""]
        lines += ["      * - Value", "        - Kind and meaning"]
        for path, kind, required, meaning in rows:
            shown = path.replace(".", ".\u200b")
            lines += [f"      * - ``{shown}``"]
            lines += [f"        - {kind}{'' if required else ', not always'}. {meaning}"]
        return [*lines, ""]


def setup(app):
    app.add_directive("plan-settings", PlanSettings)
    app.add_directive("manifest-schema", ManifestSchema)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
