"""Reference pages out of what the code itself reads: a plan's settings, the manifest's schema."""

import json
from importlib.resources import files

from sphinx.util.docutils import SphinxDirective

from pramble.releasing.spec.document import COLUMN, FILE, PLAN, RISK
from pramble.releasing.spec.settings import SeveralOf

TABLES = {
    "plan": (PLAN, ""),
    "columns": (COLUMN, "columns.NAME."),
    "risk": (RISK, "risk."),
    "file": (FILE, "file."),
}
"""The settings of each table of a plan, and how a full name begins."""


def default_of(setting):
    """The default of a setting as a plan would state it; nothing where it has none.

    >>> default_of(PLAN["tables"]), default_of(PLAN["alpha"])
    ('2', '')
    """
    return "" if setting.default in (None, ()) else json.dumps(setting.default)


class PlanSettings(SphinxDirective):
    """``.. plan-settings:: TABLE``: every setting of a table of a plan."""

    required_arguments = 1

    def run(self):
        table = self.arguments[0]
        settings, prefix = TABLES[table]
        lines = []
        for key, setting in settings.items():
            lines += [f".. confval:: {prefix}{key}"]
            if setting.words:
                few = "a list of" if isinstance(setting.read, SeveralOf) else "one of"
                words = ", ".join(f'``"{word}"``' for word in setting.words)
                lines += [f"   :type: {few} {words}"]
            if table == "columns" and setting.in_plan:
                lines += ["   :default: that of the plan"]
            elif default := default_of(setting):
                lines += [f"   :default: ``{default}``"]
            lines += ["", f"   {setting.help} For example ``{key} = {setting.example}``.", ""]
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
