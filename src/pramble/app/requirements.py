"""What step 2 asks besides columns: tables, impossible records, what intruders know, whose rows."""

from collections.abc import Callable, Iterable
from typing import Any

from shiny import Inputs, Session, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from pramble.app.view import Controls, View, button, fill_output, refused, when
from pramble.app.wizard import Wizard
from pramble.app.written import read_tables, rule_text, tables_text, whole_number
from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.structural_zeros import as_possible
from pramble.releasing.profile.vocabulary import key_variable
from pramble.releasing.spec.document import spec_from
from pramble.words import visible

WANTED = {
    "1": "single columns",
    "2": "all pairs of columns",
    "3": "all triples of columns",
    "named": "the tables that I name",
}
NONE = ""
PLACES = ("tables", "rules", "risk", "person")
GUESSED = (
    "Single columns are proposed for a local promise, under which most pairs would be noise. "
    "Protected tables, of a central promise, are of all pairs unless you choose here."
)


def serve_requirements(input: Inputs, session: Session, view: View) -> None:
    """Ask what else a file needs, and take what is said."""
    wizard = view.wizard

    @render.ui
    def requirements() -> TagChild:
        view.watch("source")
        if wizard.survey is None:
            return None
        wanted = folded(
            "Which tables will readers want?",
            tables_form(wizard),
            ui.output_ui("tables_said"),
            is_open=True,
        )
        rules, risk = (
            folded(title, ui.output_ui(name), ui.output_ui(f"{name}_said"))
            for name, title in {
                "rules": "Which records cannot occur?",
                "risk": "What may an intruder know?",
            }.items()
        )
        person = folded(
            "Has a person several rows?", person_form(wizard), ui.output_ui("person_said")
        )
        return tags.div(wanted, rules, risk, person, class_="requirements")

    for place in PLACES:
        show_refusal(view, place)
    serve_tables(input, view)
    serve_rules(input, session, view)
    serve_risk(input, view)
    serve_person(input, view)


def show_refusal(view: View, place: str) -> None:
    """Say in its place why something was refused."""
    fill_output(f"{place}_said", lambda: refused(view, place))


def change_plan(view: View, place: str, change: Callable[[], None]) -> None:
    """Make a change to the plan; what makes it no plan is refused, and undone."""
    wizard = view.wizard
    before = dict(wizard.document)

    def checked() -> None:
        change()
        try:
            spec_from(wizard.plan)
        except InvalidPlan:
            wizard.document = before
            raise

    view.attempt(place, checked, "plan")


def serve_tables(input: Inputs, view: View) -> None:
    """Take which tables are wanted, and whether records keep all their columns."""
    wizard = view.wizard

    def change() -> None:
        asked, wizard.tables_guessed = input.wanted(), False
        if asked != "named":
            wizard.document["tables"] = int(asked)
            return
        tables = read_tables(input.named())
        unknown = [name for one in tables for name in one if name not in wizard.columns]
        if unknown:
            raise InvalidInput(
                f"{unknown[0]!r} is not among the randomised columns: "
                f"{', '.join(wizard.columns) or 'there are none'}."
            )
        if tables:
            wizard.document["tables"] = tables

    @reactive.effect
    @reactive.event(input.wanted, input.named, ignore_init=True)
    def _() -> None:
        change_plan(view, "tables", change)

    @reactive.effect
    @reactive.event(input.whole, ignore_init=True)
    def _() -> None:
        change_plan(view, "tables", lambda: wizard.document.update(whole=bool(input.whole())))


def serve_rules(input: Inputs, session: Session, view: View) -> None:
    """Show the rules of impossible records; add and remove some."""
    wizard = view.wizard
    controls = Controls(view, rules=lambda: rules_state(wizard))

    @render.ui
    def rules() -> TagChild:
        controls.watch("rules")
        return rules_form(wizard, session)

    def follow(column: str, labels: str) -> None:
        @reactive.effect
        @reactive.event(input[column])
        def _() -> None:
            choices = [str(label) for label in column_labels(wizard, input[column]())]
            ui.update_select(labels, choices=choices)

    follow("if_column", "if_labels")
    follow("then_column", "then_labels")

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

    when(input.add_rule, lambda: change_plan(view, "rules", add))

    @reactive.effect
    @reactive.event(input.remove_rule)
    def _() -> None:
        place = int(input.remove_rule()["about"])
        kept = [rule for i, rule in enumerate(wizard.document.pop("possible", [])) if i != place]
        if kept:
            wizard.document["possible"] = kept
        view.changed("plan")


def serve_risk(input: Inputs, view: View) -> None:
    """Take what an intruder may know, and of how many people."""
    wizard = view.wizard
    controls = Controls(view, risk=lambda: risk_state(wizard))

    @render.ui
    def risk() -> TagChild:
        controls.watch("risk")
        return None if wizard.survey is None else risk_form(wizard)

    def change() -> None:
        keys, size = list(input.keys()), whole_number(input.population(), "The population")
        if not keys:
            wizard.document.pop("risk", None)
            return
        if size is None:
            raise InvalidInput("Say how many people the file was sampled from.")
        weights = {"weights": input.weights()} if input.weights() else {}
        wizard.document["risk"] = {"keys": keys, "population_size": size, **weights}

    when(input.set_risk, lambda: change_plan(view, "risk", change))


def serve_person(input: Inputs, view: View) -> None:
    """Take whose rows they are."""

    def change() -> None:
        document = view.wizard.document
        most = whole_number(input.rows_per_person(), "The most rows of a person")
        for name, own in {"person": input.person() or None, "rows_per_person": most}.items():
            document.pop(name, None)
            if own is not None:
                document[name] = own

    @reactive.effect
    @reactive.event(input.person, input.rows_per_person, ignore_init=True)
    def _() -> None:
        change_plan(view, "person", change)


def folded(title: str, *shown: TagChild, is_open: bool = False) -> Tag:
    """Return a question that folds."""
    return tags.details(
        tags.summary(tags.h3(title)), *shown, class_="panel", open="" if is_open else None
    )


def named(names: Iterable[str]) -> dict[str, str]:
    """Return columns to choose from, with their names as they can be shown."""
    return {name: visible(name) for name in names}


def tables_form(wizard: Wizard) -> Tag:
    """Ask which tables are wanted."""
    wanted = wizard.document.get("tables", 2)
    now = str(wanted) if str(wanted) in WANTED else "named"
    return tags.div(
        tags.p("The plan is best for these; fewer tables come out more precise."),
        tags.p(GUESSED, class_="form-text") if wizard.tables_guessed else None,
        ui.input_radio_buttons("wanted", "Tables of", WANTED, selected=now),
        ui.input_text_area(
            "named",
            "Tables by name, one a line, such as “sex + age”",
            tables_text(wanted),
            rows=3,
            width="100%",
        ),
        ui.input_checkbox(
            "whole", "Randomised records: every record keeps all its columns",
            bool(wizard.document.get("whole")), width="100%",
        ),
        tags.p(
            "Otherwise a randomised record may show some columns and leave the others blank, for "
            "more precise tables. Protected tables, of a central promise, come with complete "
            "records in any case.",
            class_="form-text",
        ),
    )  # fmt: skip


def rules_state(wizard: Wizard) -> str:
    """Return all that the form of rules depends on, as a text."""
    return repr((wizard.columns, wizard.document.get("possible")))


def risk_state(wizard: Wizard) -> str:
    """Return all that the form of risk depends on, as a text."""
    looks = [] if wizard.survey is None else wizard.survey.profiles
    fates = [(look.name, wizard.action(look.name)) for look in looks]
    return repr((fates, wizard.document.get("risk")))


def column_labels(wizard: Wizard, name: str) -> list[Any]:
    """Return the categories of a randomised column."""
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
    """Show the rules that stand, and ask for another."""
    names = named(wizard.columns)
    standing = [
        tags.li(
            visible(rule_text(rule)),
            " ",
            button(
                session,
                "remove_rule",
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


def risk_form(wizard: Wizard) -> Tag:
    """Ask what an intruder may know."""
    assert wizard.survey is not None
    risk = wizard.document.get("risk", {})
    names = [look.name for look in wizard.survey.profiles if wizard.action(look.name) != "drop"]
    weights = [look.name for look in wizard.survey.profiles if look.kind == "weight"]
    known = risk.get("keys") or [name for name in names if key_variable(name)][:4]
    return tags.div(
        tags.p(
            "With these, the next step tells how many people an intruder would expect to match "
            "rightly, before and after."
        ),
        ui.input_checkbox_group(
            "keys", "Columns that an intruder may know", named(names), selected=known
        ),
        tags.div(
            ui.input_text(
                "population",
                "How many people the file was sampled from",
                str(risk.get("population_size", "")),
                placeholder="19,800,000",
            ),
            ui.input_select(
                "weights", "Sampling weights", {NONE: "none", **named(weights)},
                selected=risk.get("weights", NONE),
            ),
            class_="fields",
        ),
        ui.input_action_button("set_risk", "Apply"),
    )  # fmt: skip


def person_form(wizard: Wizard) -> Tag:
    """Ask whose rows they are."""
    assert wizard.survey is not None
    names = {NONE: "no: a row is a person", **named(one.name for one in wizard.survey.profiles)}
    return tags.div(
        tags.p("Then the promise is to the person, over all of their rows together."),
        tags.div(
            ui.input_select(
                "person", "The column that tells whose row it is", names,
                selected=wizard.document.get("person", NONE),
            ),
            ui.input_text(
                "rows_per_person", "The most rows of one person (else counted)",
                str(wizard.document.get("rows_per_person", "")),
            ),
            class_="fields",
        ),
    )  # fmt: skip
