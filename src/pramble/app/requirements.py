"""What step 2 asks besides columns: tables, impossible records, what intruders know, whose rows."""

from collections.abc import Iterable
from typing import Any

from shiny import Inputs, Session, reactive, render, ui
from shiny.ui import Tag, TagChild, tags

from pramble.app.parts import refused
from pramble.app.view import Controls, View
from pramble.app.wizard import Wizard
from pramble.app.written import read_tables, rule_text, tables_text, whole_number
from pramble.errors import InvalidInput, InvalidPlan
from pramble.information.structural_zeros import as_possible
from pramble.releasing.profile.vocabulary import key_of
from pramble.releasing.spec.document import spec_from
from pramble.words import visible

WANTED = {
    "1": "single columns",
    "2": "all pairs of columns",
    "3": "all triples of columns",
    "named": "the tables that I name",
}
NONE = ""
GUESSED = (
    "Single columns are proposed for a local promise, under which most pairs would be noise. "
    "Protected tables, of a central promise, are of all pairs unless you choose here."
)


def serve_wishes(input: Inputs, session: Session, view: View) -> None:
    """Show what else is asked of a file, and take what is said."""
    desk = view.desk
    controls = Controls(view, rules=lambda: rules_state(desk), risk=lambda: risk_state(desk))

    @render.ui
    def wishes() -> TagChild:
        view.watch("source")
        if desk.survey is None:
            return None
        return tags.div(
            folded(
                "Which tables will readers want?",
                tables_form(desk),
                ui.output_ui("tables_said"),
                is_open=True,
            ),
            folded(
                "Which records cannot occur?", ui.output_ui("rules"), ui.output_ui("rules_said")
            ),
            folded("What may an intruder know?", ui.output_ui("risk"), ui.output_ui("risk_said")),
            folded("Has a person several rows?", person_form(desk), ui.output_ui("person_said")),
            class_="wishes",
        )

    def take(place: str, change: Any) -> None:
        """Make a change to the plan; what makes it no plan is refused, and undone."""
        before = dict(desk.document)

        def checked() -> None:
            change()
            try:
                spec_from(desk.plan)
            except InvalidPlan:
                desk.document = before
                raise

        view.attempt(place, checked, "plan")

    @reactive.effect
    @reactive.event(input.wanted, input.named, ignore_init=True)
    def _() -> None:
        def change() -> None:
            asked, desk.tables_guessed = input.wanted(), False
            if asked != "named":
                desk.document["tables"] = int(asked)
                return
            tables = read_tables(input.named())
            unknown = [name for one in tables for name in one if name not in desk.columns]
            if unknown:
                raise InvalidInput(
                    f"{unknown[0]!r} is not among the randomised columns: "
                    f"{', '.join(desk.columns) or 'there are none'}."
                )
            if tables:
                desk.document["tables"] = tables

        take("tables", change)

    @reactive.effect
    @reactive.event(input.whole, ignore_init=True)
    def _() -> None:
        take("tables", lambda: desk.document.update(whole=bool(input.whole())))

    @render.ui
    def tables_said() -> TagChild:
        return refused(view, "tables")

    @render.ui
    def rules() -> TagChild:
        controls.watch("rules")
        return rules_form(desk, session)

    def follow(column: str, labels: str) -> None:
        @reactive.effect
        @reactive.event(input[column])
        def _() -> None:
            choices = [str(label) for label in labels_in(desk, input[column]())]
            ui.update_select(labels, choices=choices)

    follow("if_column", "if_labels")
    follow("then_column", "then_labels")

    @reactive.effect
    @reactive.event(input.add_rule)
    def _() -> None:
        def change() -> None:
            one, two = input.if_column(), input.then_column()
            if one == two:
                raise InvalidInput("A rule needs two different columns.")
            rule: dict[str, Any] = {
                "if": {one: chosen_labels(desk, one, input.if_labels())},
                "then": {two: chosen_labels(desk, two, input.then_labels())},
            }
            if input.repair():
                rule["repair"] = {two: rule["then"][two][0]}
            own = {name: labels_in(desk, name) for name in desk.columns}
            as_possible([{key: rule[key] for key in ("if", "then")}], own)
            desk.document["possible"] = [*desk.document.get("possible", []), rule]

        take("rules", change)

    @reactive.effect
    @reactive.event(input.remove_rule)
    def _() -> None:
        place = int(input.remove_rule()["about"])
        rules = desk.document.get("possible", [])
        desk.document["possible"] = [rule for i, rule in enumerate(rules) if i != place]
        if not desk.document["possible"]:
            del desk.document["possible"]
        view.changed("plan")

    @render.ui
    def rules_said() -> TagChild:
        return refused(view, "rules")

    @render.ui
    def risk() -> TagChild:
        controls.watch("risk")
        if desk.survey is None:
            return None
        return risk_form(desk)

    @reactive.effect
    @reactive.event(input.set_risk)
    def _() -> None:
        def change() -> None:
            keys, size = list(input.keys()), whole_number(input.population(), "The population")
            if not keys:
                desk.document.pop("risk", None)
                return
            if size is None:
                raise InvalidInput("Say how many people the file was sampled from.")
            weights = {"weights": input.weights()} if input.weights() else {}
            desk.document["risk"] = {"keys": keys, "population_size": size, **weights}

        take("risk", change)

    @render.ui
    def risk_said() -> TagChild:
        return refused(view, "risk")

    @reactive.effect
    @reactive.event(input.person, input.rows_per_person, ignore_init=True)
    def _() -> None:
        def change() -> None:
            most = whole_number(input.rows_per_person(), "The most rows of a person")
            for name, own in {"person": input.person() or None, "rows_per_person": most}.items():
                desk.document.pop(name, None)
                if own is not None:
                    desk.document[name] = own

        take("person", change)

    @render.ui
    def person_said() -> TagChild:
        return refused(view, "person")


def folded(title: str, *shown: TagChild, is_open: bool = False) -> Tag:
    """Return a question that folds."""
    return tags.details(
        tags.summary(tags.h3(title)), *shown, class_="panel", open="" if is_open else None
    )


def named(names: Iterable[str]) -> dict[str, str]:
    """Return columns to choose from, with their names as they can be shown."""
    return {name: visible(name) for name in names}


def tables_form(desk: Wizard) -> Tag:
    """Ask which tables are wanted."""
    wanted = desk.document.get("tables", 2)
    now = str(wanted) if str(wanted) in WANTED else "named"
    return tags.div(
        tags.p("The plan is best for these; fewer tables come out more precise."),
        tags.p(GUESSED, class_="form-text") if desk.tables_guessed else None,
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
            bool(desk.document.get("whole")), width="100%",
        ),
        tags.p(
            "Otherwise a randomised record may show some columns and leave the others blank, for "
            "more precise tables. Protected tables, of a central promise, come with complete "
            "records in any case.",
            class_="form-text",
        ),
    )  # fmt: skip


def rules_state(desk: Wizard) -> str:
    """Return all that the form of rules depends on, as a text."""
    return repr((desk.columns, desk.document.get("possible")))


def risk_state(desk: Wizard) -> str:
    """Return all that the form of risk depends on, as a text."""
    looks = [] if desk.survey is None else desk.survey.looks
    fates = [(look.name, desk.action(look.name)) for look in looks]
    return repr((fates, desk.document.get("risk")))


def labels_in(desk: Wizard, name: str) -> list[Any]:
    """Return the categories of a randomised column."""
    if name not in desk.columns:
        return []
    spec = spec_from({"alpha": 1.0, "columns": {name: desk.columns[name]}})
    return list(spec.columns[0].labels())


def chosen_labels(desk: Wizard, name: str, texts: Any) -> list[Any]:
    chosen = [label for label in labels_in(desk, name) if str(label) in (texts or ())]
    if not chosen:
        raise InvalidInput(f"Choose one or more categories of {name!r}.")
    return chosen


def rules_form(desk: Wizard, session: Session) -> Tag:
    """Show the rules that stand, and ask for another."""
    names = named(desk.columns)
    standing = [
        tags.li(
            visible(rule_text(rule)),
            " ",
            tags.button(
                "Remove",
                type="button",
                class_="btn btn-sm btn-outline-secondary",
                aria_label=f"Remove the rule {visible(rule_text(rule))}",
                data_tells=session.ns("remove_rule"),
                data_about=str(place),
            ),
        )
        for place, rule in enumerate(desk.document.get("possible", []))
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
            ui.input_select(
                "if_labels", "is one of", [str(one) for one in labels_in(desk, first)],
                multiple=True, size="4",
            ),
            ui.input_select("then_column", "then", names, selected=second),
            ui.input_select(
                "then_labels", "must be one of", [str(one) for one in labels_in(desk, second)],
                multiple=True, size="4",
            ),
            class_="fields",
        ),
        ui.input_checkbox("repair", "Records that break it get the first of these", width="100%"),
        ui.input_action_button("add_rule", "Add the rule"),
    )  # fmt: skip


def risk_form(desk: Wizard) -> Tag:
    """Ask what an intruder may know."""
    assert desk.survey is not None
    risk = desk.document.get("risk", {})
    names = [look.name for look in desk.survey.looks if desk.action(look.name) != "drop"]
    weights = [look.name for look in desk.survey.looks if look.kind == "weight"]
    known = risk.get("keys") or [name for name in names if key_of(name)][:4]
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


def person_form(desk: Wizard) -> Tag:
    """Ask whose rows they are."""
    assert desk.survey is not None
    names = {NONE: "no: a row is a person", **named(one.name for one in desk.survey.looks)}
    return tags.div(
        tags.p("Then the promise is to the person, over all of their rows together."),
        tags.div(
            ui.input_select(
                "person", "The column that tells whose row it is", names,
                selected=desk.document.get("person", NONE),
            ),
            ui.input_text(
                "rows_per_person", "The most rows of one person (else counted)",
                str(desk.document.get("rows_per_person", "")),
            ),
            class_="fields",
        ),
    )  # fmt: skip
