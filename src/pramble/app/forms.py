"""Forms made from the settings of the spec: a new setting appears in its form by itself.

A control tells its value when it is changed or left. In a form with a button the button sends it,
together with all others that have a name.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from shiny import Session
from shiny.ui import Tag, TagChild, tags

from pramble.app.view import PageView
from pramble.app.wizard import Wizard
from pramble.errors import InvalidInput, PrambleError
from pramble.releasing.spec import settings as read
from pramble.releasing.spec.document import spec_from, toml_value
from pramble.releasing.spec.settings import Setting
from pramble.words import names_in, visible

# Settings that are written in several lines.
IN_LINES = (read.labels, read.merge_lists, read.rules, read.tables, read.dataset)


def label_of(row: Setting) -> str:
    """Return what a setting means as a label: the first sentence of its help.

    >>> from pramble.releasing.spec.document import COLUMN, PLAN
    >>> label_of(PLAN["shuffle"]), label_of(COLUMN["low"])
    ('The rows are released in a random order', 'Smaller numbers become this one')
    """
    first = help_parts(row)[0].removeprefix("Recoding: ").removeprefix("Whether ").rstrip(".")
    return first[:1].upper() + first[1:]


def help_parts(row: Setting) -> tuple[str, str]:
    """Return the first sentence of what a setting means, and the others."""
    first, _, others = row.help.replace("``", "").partition(". ")
    return first, others


def setting_text(row: Setting, value: Any) -> str:
    r"""Return a setting as it is written in its control.

    >>> from pramble.releasing.spec.document import COLUMN, FILE, PLAN
    >>> setting_text(PLAN["tables"], [["sex", "age"], "region"])
    'sex + age\nregion'
    >>> setting_text(COLUMN["merge"], {"old": ["65-74", "75+"]})
    'old = 65-74 | 75+'
    >>> setting_text(FILE["separator"], "\t"), setting_text(COLUMN["bands"], [0, 16.5])
    ('tab', '0, 16.5')
    """
    _, value = read.source_and_value(row.name, value)
    if value is None or value in ((), [], {}):
        return ""
    if row.read is read.merge_lists:
        return "\n".join(f"{new} = {' | '.join(map(str, old))}" for new, old in value.items())
    if row.read is read.dataset:
        return "\n".join(f"{name} = {part}" for name, part in value.items())
    if isinstance(value, str):
        return "tab" if value == "\t" else value
    if isinstance(value, Mapping | bool):
        return toml_value(value)
    if not isinstance(value, list | tuple):
        return str(value)
    if row.read is read.tables:
        return "\n".join(one if isinstance(one, str) else " + ".join(one) for one in value)
    if row.read is read.rules:
        return "\n".join(map(toml_value, value))
    return ("\n" if row.read is read.labels else ", ").join(map(str, value))


def setting_value(row: Setting, sent: Any, known: Iterable[Any] = ()) -> Any:
    r"""Return the setting that a control tells; None where it was left empty.

    ``known`` are labels of the column: those that look like numbers are numbers only where they are
    numbers there.

    >>> from pramble.releasing.spec.document import COLUMN, FILE, PLAN, RISK
    >>> setting_value(RISK["population_size"], " 1,000 "), setting_value(FILE["missing"], "NA, -9")
    (1000, ['NA', '-9'])
    >>> setting_value(PLAN["tables"], "sex + age\nregion"), setting_value(PLAN["tables"], "2")
    ([['sex', 'age'], ['region']], 2)
    >>> setting_value(COLUMN["merge"], "old = 65-74 | 75+"), setting_value(COLUMN["bands"], "0, 9")
    ({'old': ['65-74', '75+']}, [0, 9])
    >>> setting_value(COLUMN["categories"], "2\n1", [1, 2]), setting_value(COLUMN["missing"], "?")
    ([2, 1], '?')
    """
    if not isinstance(sent, str):
        # What is off by default need not be stated when it is off.
        return None if sent in (row.default, []) else sent
    text = sent.strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not text:
        return None
    if row.read in (read.values, read.names):
        return names_in(text)
    if row.read is read.person and "," in text and text[0] not in '{["':
        return names_in(text)
    if row.read is read.labels:
        return known_labels(lines, known)
    if row.read is read.merge_lists:
        parts = [line.partition(" = ") for line in lines]
        return {new.strip(): known_labels(old.split("|"), known) for new, _, old in parts}
    if row.read is read.dataset:
        parts = [line.partition("=") for line in lines]
        return {name.strip(): own.strip() for name, _, own in parts}
    if row.read is read.tables and ("+" in text or len(lines) > 1):
        return [[name.strip() for name in line.split("+")] for line in lines]
    if row.read in (read.string, read.one_character) or row.words:
        return "\t" if text == "tab" else text
    if row.read is read.whole:
        text = text.replace(",", "")
    for written in (text, f"[{','.join(lines)}]"):
        with suppress(tomllib.TOMLDecodeError):
            found = tomllib.loads(f"x = {written}")["x"]
            # One rule alone is a list of rules, too.
            return [found] if row.read is read.rules and isinstance(found, dict) else found
    return text


def known_labels(words: Iterable[str], known: Iterable[Any]) -> list[Any]:
    """Return labels as the column has them; other words are numbers where all its labels are."""
    labels = {str(label): label for label in known}
    whole = bool(labels) and all(type(label) is int for label in labels.values())
    stripped = (word.strip() for word in words)
    return [
        labels.get(word, int(word) if whole and word.lstrip("-").isdigit() else word)
        for word in stripped
    ]


def state(document: dict[str, Any], row: Setting, sent: Any, known: Iterable[Any] = ()) -> None:
    """State a setting in a document, or take it out."""
    given = setting_value(row, sent, known)
    document.pop(row.name, None)
    if given is not None and given != row.default:
        document[row.name] = given


def change_plan(view: PageView, place: str, change: Callable[[], None]) -> None:
    """Make a change to the plan; what makes it no plan is refused, and undone."""
    wizard = view.wizard
    before = dict(wizard.document)

    def checked() -> None:
        change()
        try:
            spec_from(wizard.plan)
            refuse_other_columns(wizard)
        except PrambleError:
            wizard.document = before
            raise

    view.attempt(place, checked, "plan")


def refuse_other_columns(wizard: Wizard) -> None:
    """Refuse tables of columns that are not randomised."""
    tables = wizard.document.get("tables")
    for table in tables if isinstance(tables, list) else []:
        for name in table:
            if name not in wizard.columns:
                raise InvalidInput(
                    f"{name!r} is not among the randomised columns: "
                    f"{', '.join(wizard.columns) or 'there are none'}."
                )


class Form:
    """Makes the controls of one form, or of one event that each of them tells.

    ``event`` is the input that takes what a control says, with the setting that it is about;
    without one the form's button tells all controls together.
    """

    def __init__(self, session: Session, event: str = "") -> None:
        self.session, self.event = session, event
        self.sending = {"data_sends": session.ns(event)} if event else {}

    def settings(
        self, rows: Iterable[Setting], stated: Mapping[str, Any], columns: Sequence[str] = ()
    ) -> list[Tag]:
        """Return the controls of settings as they stand in a plan; ``columns`` can be chosen."""
        return [self.setting(row, stated.get(row.name), columns) for row in rows]

    def setting(self, row: Setting, now: Any, columns: Sequence[str] = ()) -> Tag:
        """Return the control of a setting: a tick, words to choose, or a field."""
        label, hint = label_of(row), help_parts(row)[1]
        if row.read is read.flag:
            return self.tick(row.name, label, is_on=row.default if now is None else now)
        if isinstance(row.read, read.SeveralOf) or (row.read is read.names and columns):
            shown = {one: visible(one) for one in row.words or columns}
            return self.ticks(row.name, label, shown, now or ())
        if row.words:
            options = {"": "as usual", **{word: word for word in row.words}}
            return self.selection(row.name, label, options, setting_text(row, now))
        text, example = setting_text(row, now), row.example.strip('"')
        if row.read in IN_LINES:
            rows = str(min(max(text.count("\n") + 1, 3), 14))
            lines = tags.textarea(text, rows=rows, placeholder=row.example)
            return self.field(row.name, label, lines, hint=hint)
        return self.text(row.name, label, text, hint=hint, placeholder=example)

    def text(self, name: str, label: str, shown: str, *, hint: str = "", **more: Any) -> Tag:
        """Return a field that is sent when it is left."""
        control = tags.input({"type": "text", "value": shown, **more})
        return self.field(name, label, control, hint=hint)

    def selection(self, name: str, label: str, options: Mapping[str, str], now: str) -> Tag:
        control = tags.select(options_of(options, now))
        return self.field(name, label, control, look="form-select")

    def field(
        self, name: str, label: str, control: Tag, *, hint: str = "", look: str = "form-control"
    ) -> Tag:
        """Return a control below its label, with what else there is to say of it."""
        own = self.session.ns(f"field_{self.event}_{name}")
        control.attrs.update(self.common(name, own, look), spellcheck="false")
        if hint:
            control.attrs.update(aria_describedby=f"{own}-hint")
        below = tags.div(hint, id=f"{own}-hint", class_="form-text") if hint else None
        return under_label(own, label, control, below)

    def ticks(self, name: str, label: str, options: Mapping[str, str], now: Iterable[str]) -> Tag:
        chosen = set(now)
        each = [
            self.tick(name, shown, is_on=word in chosen, place=place, data_word=word)
            for place, (word, shown) in enumerate(options.items())
        ]
        return tags.fieldset(tags.legend(label, class_="fs-6"), *each)

    def tick(
        self, name: str, label: TagChild, *, is_on: bool, place: int | str = "", **more: Any
    ) -> Tag:
        own = self.session.ns(f"field_{self.event}_{name}{place}")
        control = tags.input({"type": "checkbox", "checked": "" if is_on else None, **more})
        control.attrs.update(self.common(name, own, "form-check-input"))
        words = tags.label(label, for_=own, class_="form-check-label")
        return tags.div(control, words, class_="form-check")

    def common(self, name: str, own: str, look: str) -> dict[str, Any]:
        about = {"data_about": name, **self.sending} if self.sending else {}
        return {"id": own, "name": name, "class_": look, **about}

    def button(
        self, event: str, words: str, look: str = "btn btn-primary", about: str | None = None
    ) -> Tag:
        """Return the button that tells all controls of the form around it, and what it is about."""
        own = self.session.ns(event)
        return tags.button(
            words, type="button", class_=look, data_sends=own, data_form="", data_about=about
        )


def options_of(options: Mapping[str, str], now: str) -> list[Tag]:
    return [
        tags.option(words, value=name, selected="" if name == now else None)
        for name, words in options.items()
    ]


def under_label(own: str, label: str, control: Tag, *below: TagChild) -> Tag:
    above = tags.label(label, for_=own, class_="form-label")
    return tags.div(above, control, *below, class_="mb-2")
