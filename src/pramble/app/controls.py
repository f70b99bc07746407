"""Controls of settings, made from the table of the spec: their labels, options and what they say.

A control tells its value when it is changed or left. In a form it is sent by the form's button,
together with all others that have a name.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shiny import Session
from shiny.ui import Tag, TagChild, tags

from pramble.app.view import PageView
from pramble.errors import InvalidPlan
from pramble.releasing.spec import readers as read
from pramble.releasing.spec.document import spec_from
from pramble.releasing.spec.readers import Setting
from pramble.words import names_in, visible


def label_of(row: Setting) -> str:
    """Return what a setting means as a label: the first sentence of its help.

    >>> from pramble.releasing.spec.document import PLAN, RISK
    >>> label_of(PLAN["shuffle"]), label_of(RISK["population_size"])
    ('The rows are released in a random order', 'How many people the file was sampled from')
    """
    first = row.help.replace("``", "").partition(". ")[0].rstrip(".").removeprefix("Whether ")
    return first[:1].upper() + first[1:]


def setting_value(row: Setting, sent: Any) -> Any:
    """Return the setting that a control tells; None where it was left empty.

    >>> from pramble.releasing.spec.document import FILE, RISK
    >>> setting_value(RISK["population_size"], " 1,000 "), setting_value(FILE["missing"], "NA, -9")
    (1000, ['NA', '-9'])
    """
    if not isinstance(sent, str):
        return sent or None  # a tick that is off, or no word of a list, is the default
    text = sent.strip()
    if row.read in (read.values, read.names):
        return names_in(text) or None
    digits = text.replace(",", "").replace(" ", "")
    return int(digits) if row.read is read.whole and digits.isdigit() else text or None


def state(document: dict[str, Any], row: Setting, sent: Any) -> None:
    """State a setting in a document, or take it out."""
    given = setting_value(row, sent)
    document.pop(row.name, None)
    if given is not None:
        document[row.name] = given


def change_plan(view: PageView, place: str, change: Callable[[], None]) -> None:
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


class Form:
    """Makes the controls of one form, or of one event that each of them tells.

    ``event`` is the input that takes what a control says, with the setting that it is about;
    without one the form's button tells all controls together.
    """

    def __init__(self, session: Session, event: str = "") -> None:
        self.session = session
        self.sending = {"data_sends": session.ns(event)} if event else {}

    def setting(
        self,
        row: Setting,
        now: Any,
        *,
        label: str = "",
        options: Mapping[str, str] | None = None,
        hint: str = "",
    ) -> Tag:
        """Return the control of a setting as it stands: a tick, words to choose, or a field."""
        label = label or label_of(row)
        if options is None:
            options = {word: word for word in row.words}
        if row.read is read.flag:
            return self.tick(row.name, label, is_on=bool(now))
        if isinstance(row.read, read.SeveralOf) or (row.read is read.names and options):
            return self.ticks(row.name, label, options, now or ())
        if options:
            return self.selection(row.name, label, options, str(now or ""))
        shown = ", ".join(map(str, now)) if isinstance(now, list | tuple) else str(now or "")
        return self.text(row.name, label, shown, hint=hint, placeholder=row.example.strip('"'))

    def text(self, name: str, label: str, shown: str, *, hint: str = "", **more: Any) -> Tag:
        """Return a field that is sent when it is left."""
        own = self.session.ns(f"field_{name}")
        about = {"aria_describedby": f"{own}-hint"} if hint else {}
        control = tags.input(
            {"type": "text", "value": shown, "spellcheck": "false", **more},
            **self.common(name, own, "form-control"),
            **about,
        )
        below = tags.div(hint, id=f"{own}-hint", class_="form-text") if hint else None
        return under_label(own, label, control, below)

    def lines(self, name: str, label: str, shown: str, rows: int) -> Tag:
        own = self.session.ns(f"field_{name}")
        more: dict[str, Any] = {"rows": str(rows), "spellcheck": "false"}
        control = tags.textarea(shown, more, **self.common(name, own, "form-control"))
        return under_label(own, label, control)

    def selection(
        self, name: str, label: str, options: Mapping[str, str], now: str, **more: Any
    ) -> Tag:
        own = self.session.ns(f"field_{name}")
        control = tags.select(
            options_of(options, now), more, **self.common(name, own, "form-select")
        )
        return under_label(own, label, control)

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
        own = self.session.ns(f"field_{name}{place}")
        control = tags.input(
            {"type": "checkbox", "checked": "" if is_on else None, **more},
            **self.common(name, own, "form-check-input"),
        )
        words = tags.label(label, for_=own, class_="form-check-label")
        return tags.div(control, words, class_="form-check")

    def common(self, name: str, own: str, look: str) -> dict[str, Any]:
        return {
            "id": own,
            "name": name,
            "class_": look,
            **self.sending,
            **({"data_about": name} if self.sending else {}),
        }

    def button(self, event: str, words: str, look: str = "btn btn-primary") -> Tag:
        """Return the button that tells all controls of the form around it."""
        more: dict[str, Any] = {"data_sends": self.session.ns(event), "data_form": ""}
        return tags.button(words, more, type="button", class_=look)


def options_of(options: Mapping[str, str], now: str) -> list[Tag]:
    return [
        tags.option(words, value=name, selected="" if name == now else None)
        for name, words in options.items()
    ]


def under_label(own: str, label: str, control: Tag, *below: TagChild) -> Tag:
    above = tags.label(label, for_=own, class_="form-label")
    return tags.div(above, control, *below, class_="mb-2")


def shown_names(names: Iterable[str]) -> dict[str, str]:
    return {name: visible(name) for name in names}
