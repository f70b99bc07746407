"""What step 2 asks besides columns: tables, impossible records, what intruders know, whose rows."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from shiny import Inputs, Session, ui
from shiny.ui import Tag, TagChild, tags

from pramble.app.controls import Form, change_plan, shown_names, state
from pramble.app.view import Controls, PageView, event_button, refused, when
from pramble.app.wizard import Wizard
from pramble.errors import InvalidInput
from pramble.information.structural_zeros import as_possible
from pramble.releasing.profile.vocabulary import key_variable
from pramble.releasing.spec.document import PLAN, RISK, spec_from
from pramble.words import visible

WANTED = {
    "1": "single columns",
    "2": "all pairs of columns",
    "3": "all triples of columns",
    "named": "the tables that I name",
}
QUESTIONS = {
    "tables": "Which tables will readers want?",
    "rules": "Which records cannot occur?",
    "risk": "What may an intruder know?",
    "person": "Has a person several rows?",
}
GUESSED = (
    "Single columns are proposed for a local promise, under which most pairs would be noise. "
    "Protected tables, of a central promise, are of all pairs unless you choose here."
)


def serve_requirements(input: Inputs, session: Session, view: PageView) -> None:
    """Ask what else a file needs, and take what is said."""
    wizard = view.wizard
    # As texts: columns and rules are changed in place, and would equal what they were before.
    controls = Controls(
        view,
        tables=lambda: repr((wizard.document.get("tables"), wizard.tables_guessed)),
        rules=lambda: repr((wizard.columns, wizard.document.get("possible"))),
        risk=lambda: repr((list(map(wizard.action, wizard.names)), wizard.document.get("risk"))),
    )
    forms = {"tables": tables_form, "rules": rules_form, "risk": risk_form, "person": person_form}

    def form(name: str) -> TagChild:
        if name in controls.states:
            controls.watch(name)
        return None if wizard.survey is None else forms[name](wizard, session)

    view.fill("requirements", lambda: questions(wizard), "source")
    for name in QUESTIONS:
        view.fill(name, partial(form, name), "source")
        view.fill(f"{name}_said", partial(refused, view, name))
    when(input.requirement, lambda: take_requirement(view, controls, **input.requirement()))
    when(input.set_risk, lambda: take_risk(view, input.set_risk()))
    serve_rules(input, view)


def questions(wizard: Wizard) -> TagChild:
    if wizard.survey is None:
        return None
    each = [
        tags.details(
            tags.summary(tags.h3(title)),
            ui.output_ui(name),
            ui.output_ui(f"{name}_said"),
            class_="panel",
            open="" if name == "tables" else None,
        )
        for name, title in QUESTIONS.items()
    ]
    return tags.div(*each, class_="requirements")


def take_requirement(view: PageView, controls: Controls, about: str, value: Any) -> None:
    """Take which tables are wanted, whether records keep all columns, or whose rows they are."""
    wizard = view.wizard

    def change() -> None:
        if about in ("whole", "person", "rows_per_person"):
            state(wizard.document, PLAN[about], value)
            return
        wizard.tables_guessed = False
        if about == "wanted" and value != "named":
            wizard.document["tables"] = int(value)
        elif about == "named" and (tables := read_tables(value)):
            refuse_other_columns(wizard, tables)
            wizard.document["tables"] = tables

    change_plan(view, "person" if about in ("person", "rows_per_person") else "tables", change)
    if about == "wanted":
        controls.used("tables")


def refuse_other_columns(wizard: Wizard, tables: list[list[str]]) -> None:
    """Refuse tables of columns that are not randomised."""
    for name in (name for table in tables for name in table):
        if name not in wizard.columns:
            raise InvalidInput(
                f"{name!r} is not among the randomised columns: "
                f"{', '.join(wizard.columns) or 'there are none'}."
            )


def take_risk(view: PageView, sent: Mapping[str, Any]) -> None:
    """Take what an intruder may know, and of how many people."""

    def change() -> None:
        risk: dict[str, Any] = {}
        for name, own in sent.items():
            state(risk, RISK[name], own)
        view.wizard.document.pop("risk", None)
        if "keys" in risk:
            view.wizard.document["risk"] = risk

    change_plan(view, "risk", change)


def serve_rules(input: Inputs, view: PageView) -> None:
    wizard = view.wizard

    def offer_labels(part: str) -> None:
        labels = column_labels(wizard, input[f"{part}_column"]())
        ui.update_select(f"{part}_labels", choices=[str(label) for label in labels])

    def add() -> None:
        one, two = input.if_column(), input.then_column()
        if one == two:
            raise InvalidInput("A rule needs two different columns.")
        rule: dict[str, Any] = {
            "if": {one: chosen_labels(wizard, one, input.if_labels())},
            "then": {two: chosen_labels(wizard, two, input.then_labels())},
        }
        own = {name: column_labels(wizard, name) for name in wizard.columns}
        as_possible([rule], own)
        if input.repair():
            rule = {**rule, "repair": {two: rule["then"][two][0]}}
        wizard.document["possible"] = [*wizard.document.get("possible", []), rule]

    def remove() -> None:
        place, rules = int(input.remove_rule()["about"]), wizard.document.pop("possible", [])
        left = [rule for i, rule in enumerate(rules) if i != place]
        if left:
            wizard.document["possible"] = left
        view.changed("plan")

    for part in ("if", "then"):
        when(input[f"{part}_column"], partial(offer_labels, part))
    when(input.add_rule, lambda: change_plan(view, "rules", add))
    when(input.remove_rule, remove)


def tables_form(wizard: Wizard, session: Session) -> Tag:
    form, wanted = Form(session, "requirement"), wizard.document.get("tables", 2)
    now = str(wanted) if str(wanted) in WANTED else "named"
    names = "Tables by name, one a line, such as “sex + age”"
    return tags.div(
        tags.p("The plan is best for these; fewer tables come out more precise."),
        tags.p(GUESSED, class_="form-text") if wizard.tables_guessed else None,
        form.selection("wanted", "Tables of", WANTED, now),
        form.lines("named", names, tables_text(wanted), rows=3),
        form.setting(PLAN["whole"], wizard.document.get("whole")),
        tags.p(
            "Otherwise a randomised record may show some columns and leave the others blank, for "
            "more precise tables. Protected tables, of a central promise, come with complete "
            "records in any case.",
            class_="form-text",
        ),
    )


def column_labels(wizard: Wizard, name: str) -> list[Any]:
    if name not in wizard.columns:
        return []
    spec = spec_from({"alpha": 1.0, "columns": {name: wizard.columns[name]}})
    return list(spec.columns[0].labels())


def chosen_labels(wizard: Wizard, name: str, texts: Any) -> list[Any]:
    chosen = [label for label in column_labels(wizard, name) if str(label) in (texts or ())]
    if not chosen:
        raise InvalidInput(f"Choose one or more categories of {name!r}.")
    return chosen


def rules_form(wizard: Wizard, session: Session) -> Tag:
    names = shown_names(wizard.columns)
    standing = [
        tags.li(
            visible(rule_text(rule)),
            " ",
            event_button(
                session.ns("remove_rule"),
                "Remove",
                str(place),
                class_="btn btn-sm btn-outline-secondary",
                aria_label=f"Remove the rule {visible(rule_text(rule))}",
            ),
        )
        for place, rule in enumerate(wizard.document.get("possible", []))
    ]
    if len(names) < 2:
        return tags.p("Rules are about two randomised columns.")
    first, second = list(names)[:2]
    return tags.div(
        tags.p(
            "From public knowledge alone, such as that children are not married; never counted on "
            "this file. Noise is then spent on records that can occur only."
        ),
        tags.ul(*standing) if standing else None,
        tags.div(
            ui.input_select("if_column", "If", names, selected=first),
            labels_choice("if_labels", "is one of", column_labels(wizard, first)),
            ui.input_select("then_column", "then", names, selected=second),
            labels_choice("then_labels", "must be one of", column_labels(wizard, second)),
            class_="fields",
        ),
        ui.input_checkbox("repair", "Records that break it get the first of these", width="100%"),
        ui.input_action_button("add_rule", "Add the rule"),
    )  # fmt: skip


def labels_choice(name: str, label: str, labels: Iterable[Any]) -> Tag:
    return ui.input_select(name, label, [str(one) for one in labels], multiple=True, size="4")


def risk_form(wizard: Wizard, session: Session) -> Tag:
    form, risk = Form(session), wizard.document.get("risk", {})
    names = [name for name in wizard.names if wizard.action(name) != "drop"]
    known = risk.get("keys") or [name for name in names if key_variable(name)][:4]
    return tags.div(
        tags.p(
            "With these, the next step tells how many people an intruder would expect to match "
            "rightly, before and after."
        ),
        form.setting(RISK["keys"], known, options=shown_names(names)),
        form.setting(RISK["population_size"], risk.get("population_size")),
        form.button("set_risk", "Apply", "btn btn-default"),
        class_="form",
    )


def person_form(wizard: Wizard, session: Session) -> Tag:
    form, plan = Form(session, "requirement"), wizard.document
    names = {"": "no: a row is a person", **shown_names(wizard.names)}
    return tags.div(
        tags.p("Then the promise is to the person, over all of their rows together."),
        tags.div(
            form.setting(PLAN["person"], plan.get("person"), options=names),
            form.setting(PLAN["rows_per_person"], plan.get("rows_per_person")),
            class_="fields",
        ),
    )


def read_tables(text: str) -> list[list[str]]:
    r"""Return the wanted tables, one a line, their columns joined by plus signs.

    >>> read_tables("sex + age\nregion")
    [['sex', 'age'], ['region']]
    """
    lines = (line.strip() for line in text.splitlines())
    return [[name.strip() for name in line.split("+") if name.strip()] for line in lines if line]


def tables_text(tables: Any) -> str:
    r"""Return named tables as they are written.

    >>> tables_text([["sex", "age"], "region"]), tables_text(2)
    ('sex + age\nregion', '')
    """
    if not isinstance(tables, list | tuple):
        return ""
    return "\n".join(one if isinstance(one, str) else " + ".join(one) for one in tables)


def rule_text(rule: Mapping[str, Any]) -> str:
    """Say what a rule of impossible combinations means.

    >>> rule_text({"if": {"age": ["0-14"]}, "then": {"marital": ["single"]}})
    'if age is 0-14, then marital is single'
    """

    def part(word: str) -> str:
        given = rule[word].items()
        return " and ".join(f"{name} is {label_words(labels)}" for name, labels in given)

    said = f"never: {part('never')}" if "never" in rule else f"if {part('if')}, then {part('then')}"
    repair = f"; a record that breaks this becomes: {part('repair')}" if "repair" in rule else ""
    return said + repair


def label_words(labels: Any) -> str:
    """Return some labels in words.

    >>> label_words(["a", "b", "c"]), label_words("a")
    ('a, b or c', 'a')
    """
    own = [str(one) for one in labels] if isinstance(labels, list | tuple) else [str(labels)]
    return own[0] if len(own) == 1 else f"{', '.join(own[:-1])} or {own[-1]}"
