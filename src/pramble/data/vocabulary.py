"""What the name of a column tells, and in what order people expect the words in it.

Names and words of English, French, German, Spanish, Italian, Dutch and Portuguese files are known,
and some of well-known surveys.
"""

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from importlib.resources import files
from typing import Any

from pramble.data.formats.delimited import MARKERS
from pramble.data.labels import Label, in_order

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")

WORDS: dict[str, Any] = tomllib.loads(
    (files("pramble") / "resources" / "vocabulary.toml").read_text(encoding="utf-8")
)
NAME_WORDS, QUANTITY_WORDS, KEY_WORDS = (
    {what: frozenset(listed.split()) for what, listed in WORDS[part].items()}
    for part in ("names", "quantities", "keys")
)


def words_in(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, without accents and numbers, in lower case.

    >>> words_in("Région_deNaissance 2"), words_in("PWGTP12")
    (('region', 'de', 'naissance'), ('pwgtp',))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    bare = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(word.lower() for word in WORD.findall(bare) if not word.isdigit())


def name_parts(name: str) -> set[str]:
    found = words_in(name)
    return {*found, "".join(found)}


def is_direct(name: str) -> bool:
    return not (NAME_WORDS["direct"] | NAME_WORDS["surname"]).isdisjoint(name_parts(name))


def is_identifier(name: str) -> bool:
    """Whether a column's name is that of an identifier, if it has many values.

    >>> [is_identifier(name) for name in ("patientId", "Kennung", "identifiant_ménage", "idiom")]
    [True, True, True, False]
    """
    many = NAME_WORDS["pointing"] | NAME_WORDS["called"]
    return is_direct(name) or not many.isdisjoint(name_parts(name)) or bool(who_is_named(name))


def is_household(name: str) -> bool:
    """Whether a column's name says that it points at households.

    >>> is_household("ori_hid"), is_household("id_foyer"), is_household("patient_id")
    (True, True, False)
    """
    words = name_parts(name)
    numbered = COMPOUND["household"].fullmatch("".join(words_in(name))) is not None
    return numbered or not NAME_WORDS["household"].isdisjoint(words)


def compound(kind: str) -> re.Pattern[str]:
    """Return the pattern of words for somebody with a number, written as one word."""
    # One letter makes a number only where it stands alone.
    whose, number = ("|".join(sorted(NAME_WORDS[k], key=len)[::-1]) for k in (kind, "numbers"))
    number = number.removesuffix("|n")
    link = "(?:s|n|en|de|del|do|da|di|du|dela|van)?"
    return re.compile(f"(?:{number}){link}(?:{whose})|(?:{whose}){link}(?:{number})")


COMPOUND = {kind: compound(kind) for kind in ("person", "household")}


def who_is_named(name: str) -> str:
    """Return whom the values of a column with this name number: by its words alone.

    "person" or "household"; "record" where it does not say of what; "" if nobody.

    >>> [who_is_named(name) for name in ("Patientennummer", "NumeroDossier", "id_foyer", "lopid")]
    ['person', 'person', 'household', '']
    >>> [who_is_named(name) for name in ("study_id", "hospital_id", "patient_type_code", "n_rooms")]
    ['record', '', '', '']
    """
    words = set(words_in(name)) - NAME_WORDS["link"]
    parts = words | {"".join(words_in(name))}
    if parts & NAME_WORDS["direct"]:
        return "person"
    numbers = NAME_WORDS["numbers"] | NAME_WORDS["pointing"]
    for kind, pattern in COMPOUND.items():
        if any(map(pattern.fullmatch, parts)):
            return kind
    if words & NAME_WORDS["describing"] or quantity_of(name) is not None or is_weight_name(name):
        return ""
    for kind in COMPOUND:
        others = words - NAME_WORDS[kind]
        if others < words and (others & numbers or not others):
            return kind
    if not words & NAME_WORDS["pointing"] or words & NAME_WORDS["things"]:
        return ""
    return "record" if words - numbers else "person"


def is_name_of_people(name: str) -> bool:
    """Whether a column's name is that of names of people, or of a part of them."""
    words = set(words_in(name)) - NAME_WORDS["link"] - NAME_WORDS["person"]
    if name_parts(name) & NAME_WORDS["surname"]:
        return True
    return bool(words) and words <= NAME_WORDS["called"]


def is_birth(name: str) -> bool:
    """Whether a column's name is that of a day or year of birth.

    >>> [is_birth(name) for name in ("dob", "Geburtsdatum", "annee_naissance", "birth_weight")]
    [True, True, True, False]
    """
    words = set(words_in(name)) - NAME_WORDS["link"]
    born = NAME_WORDS["born"] | QUANTITY_WORDS["birth year"]
    return bool(words & born) and words <= born | NAME_WORDS["times"]


def is_number_within(name: str) -> bool:
    """Whether a column's name is that of numbers that are given out anew in every group.

    >>> [is_number_within(name) for name in ("PERNUM", "nr", "patient_no", "no_answer", "code")]
    [True, True, True, False, False]
    """
    words = set(words_in(name)) - NAME_WORDS["link"]
    return bool(words) and words <= NAME_WORDS["counting"] | NAME_WORDS["person"]


def is_group(name: str) -> bool:
    """Whether a column's name is that of something within which people are numbered."""
    things = set(words_in(name)) & NAME_WORDS["things"] and key_variable(name) != "region"
    return bool(things) or who_is_named(name) in ("household", "record")


SCALES = re.compile(r"(body|birth|bmx)(weight|wgt|wt)|(weight|wgt|wt|poids|peso|gewicht)(kg|lbs?)")
WEIGHED = re.compile(r"weight|wgt|^wt|^\w{3,}wt$")


def is_weight_name(name: str, beside: Collection[str] = ()) -> bool:
    """Whether a column's name is that of a sampling weight.

    A plain "weight" beside a height is one on the scales.

    >>> [is_weight_name(name) for name in ("PWGTP7", "poids_final", "birth_weight", "weekday")]
    [True, True, False, False]
    >>> is_weight_name("weight"), is_weight_name("weight", ["height", "sex"])
    (True, False)
    """
    found = words_in(name)
    if not NAME_WORDS["body"].isdisjoint(found) or SCALES.search("".join(found)):
        return False
    if set(found) <= NAME_WORDS["plain"] and any(
        not NAME_WORDS["stature"].isdisjoint(name_parts(other)) for other in beside
    ):
        return False
    return any(word in NAME_WORDS["weight"] or WEIGHED.search(word) for word in found)


def is_code(name: str) -> bool:
    return not NAME_WORDS["code"].isdisjoint(words_in(name))


def quantity_of(name: str) -> str | None:
    """Return which quantity of publicly known size a column's name tells.

    >>> quantity_of("Alter"), quantity_of("ageGroup"), quantity_of("income")
    ('age', 'age', None)
    """
    found = set(words_in(name))
    if "birth" in found and "year" in found:
        return "birth year"
    return next((what for what, words in QUANTITY_WORDS.items() if words & found), None)


def key_variable(name: str) -> str | None:
    """Return which key variable a column's name tells.

    >>> [key_variable(name) for name in ("MARST", "Geschlecht", "nivel_de_estudios", "roof")]
    ['marital', 'sex', 'education', None]
    """
    found = name_parts(name)
    return next((what for what, words in KEY_WORDS.items() if words & found), None)


FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)*")
BELOW = re.compile(
    r"<|\b(under|below|less|fewer|up|moins|unter|bis|menos|hasta|meno|fino|onder|tot|minder|até)\b"
)
ABOVE = re.compile(
    r">|\+|\b(over|above|more|older|plus|über|mehr|älter|más|mas|mayor|più|oltre|meer|ouder|mais)\b"
)
BAND_WORD = re.compile(
    r"(under|below|less|fewer|up|over|above|more|older|younger|to|and|or|than|years?|yrs?|old|of|"
    r"age|aged|moins|plus|de|à|a|ans|et|unter|bis|über|mehr|als|älter|und|oder|jahre?|menos|hasta|"
    r"más|mas|mayor|o|y|años|anos|meno|fino|di|più|oltre|anni|e|tot|onder|meer|minder|dan|ouder|"
    r"en|jaar|até|ou|mais|persons?|hours?|k|eur|usd|million)"
)

# Of each scale the step of every word.
RANKS = tuple(
    {word: step for step, words in enumerate(scale.split("; ")) for word in words.split("/")}
    for scale in WORDS["scales"]
)
LATE = {word: place for place, words in enumerate(WORDS["late"]) for word in words.split()}


def in_expected_order(labels: Sequence[Label]) -> list[Label]:
    """Return labels in the order of a known scale or of the numbers in them.

    Else they stand in natural order. Words such as "other" and "unknown" come last.

    >>> in_expected_order(["often", "never", "sometimes", "unknown"])
    ['never', 'sometimes', 'often', 'unknown']
    >>> in_expected_order(["65+", "under 5", "5-14", "15-64"])
    ['under 5', '5-14', '15-64', '65+']
    >>> in_expected_order(["west", "other", "east"])
    ['east', 'west', 'other']
    """
    if not all(isinstance(label, str) for label in labels):
        return in_order(labels)
    places = {
        label: 2 if label.strip() in MARKERS else LATE.get(folded_label(label).replace(" ", "-"))
        for label in labels
    }
    late = {label: place for label, place in places.items() if place is not None}
    first = in_order(label for label in labels if label not in late)
    last = sorted(late, key=lambda one: late[one])
    for some, rest in ((in_order(labels), []), (first, last)):
        for keys in rankings(some):
            if None not in keys:
                order = sorted(range(len(some)), key=lambda i: keys[i] or (0.0, 0.0))
                return [*(some[i] for i in order), *rest]
    return [*first, *last]


def folded_label(label: str) -> str:
    """Return a label without case and outer blanks, with single blanks in it."""
    return " ".join(label.replace("_", " ").casefold().split())


def rankings(labels: Sequence[str]) -> Iterator[list[tuple[float, float] | None]]:
    """Yield the places of labels by each scale that has two of them, and by their numbers."""
    if len(labels) < 2:
        return
    words = [folded_label(label) for label in labels]
    for ranks in RANKS:
        places = [ranks.get(word) for word in words]
        yield [None if place is None else (float(place), 0.0) for place in places]
    yield [band_place(word) for word in words]


def band_place(word: str) -> tuple[float, float] | None:
    """Return where a band such as "<15", "[18,24]", "65+" or "under 5 years" begins.

    None if it is no band: if it holds other words than those that go with numbers.

    >>> band_place("<15"), band_place("1.500"), band_place("15.5 and over"), band_place("grade 15")
    ((15.0, -1.0), (1500.0, 0.0), (15.5, 1.0), None)
    """
    spaced = word.replace(",", ", ") if word[0] in "[(" else word
    figure = FIGURE.search(spaced)
    rest = re.findall(r"[^\W\d_]+", word)
    if figure is None or not all(BAND_WORD.fullmatch(one) for one in rest):
        return None
    sign = -1.0 if re.match(r"-\d", word) else 1.0
    single = len(FIGURE.findall(spaced)) == 1
    side = -1.0 if single and BELOW.search(word) else 1.0 if single and ABOVE.search(word) else 0.0
    # Points part thousands, as in 1.500, or decimals.
    parts = figure[0].replace(",", "").split(".")
    thousands = len(parts) > 2 or (len(parts) == 2 and len(parts[1]) == 3)
    return sign * float("".join(parts) if thousands else ".".join(parts)), side
