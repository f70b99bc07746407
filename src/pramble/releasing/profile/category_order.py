"""The order in which people expect the categories of a column."""

import re
from collections.abc import Iterator, Sequence

from pramble.data.formats.dialect import MARKERS
from pramble.data.labels import Label, in_order

SCALES = """
none/no/never/not at all/nothing; rarely/seldom/hardly ever/a little/little/slightly;
sometimes/occasionally/some/somewhat/moderately/partly; often/usually/frequently/much/most/quite
a bit/mostly; very often/nearly always/very much; always/all/completely/extremely/a lot

very low/lowest/very small; low/lo/small/light; lower middle;
medium/middle/moderate/average/normal/mid/med; upper middle; high/hi/large/heavy/big; very
high/highest/very large/severe

very poor/very bad/terrible; poor/bad; fair/average/moderate; good; very good; excellent

strongly disagree/disagree strongly; disagree/rather disagree; neither/neutral/undecided/neither
agree nor disagree; agree/rather agree; strongly agree/agree strongly

very dissatisfied; dissatisfied/unsatisfied; neutral/neither; satisfied; very satisfied

no/none/absent; mild/slight; moderate; severe/strong; very severe/extreme

none/no schooling/no education/illiterate; preschool/nursery/kindergarten;
primary/elementary/basic; lower secondary/middle school; secondary/high school/upper secondary;
vocational/post-secondary/some college/technical; associate;
tertiary/college/bachelor/bachelors/bachelor's/university/undergraduate;
master/masters/master's/postgraduate/graduate; professional; doctorate/phd/doctoral

preschool; 1st-4th; 5th-6th; 7th-8th; 9th; 10th; 11th; 12th; hs-grad; some-college; assoc-voc;
assoc-acdm; bachelors; masters; prof-school; doctorate

xxs; xs; s; m; l; xl; xxl

first/1st; second/2nd; third/3rd; fourth/4th; fifth/5th

child/children; teen/teenager/adolescent/youth; young/young adult; adult/middle aged;
senior/elderly/old

jamais; rarement; parfois/quelquefois; souvent; très souvent; toujours

nie; selten; manchmal; oft; sehr oft; immer

nunca; raramente/rara vez/casi nunca; a veces/às vezes/algunas veces; a
menudo/frequentemente/frecuentemente; casi siempre; siempre/sempre

mai; raramente; qualche volta/a volte; spesso; sempre

nooit; zelden; soms; vaak; altijd

très faible; faible/bas; moyen/moyenne; élevé/élevée/fort/haut; très élevé

sehr niedrig; niedrig/gering; mittel; hoch; sehr hoch

muy bajo/muito baixo/molto basso; bajo/baja/baixo/basso/bassa; medio/media/médio/média;
alto/alta; muy alto/muito alto/molto alto

zeer laag; laag; midden/gemiddeld; hoog; zeer hoog

january/jan; february/feb; march/mar; april/apr; may; june/jun; july/jul; august/aug;
september/sep/sept; october/oct; november/nov; december/dec

janvier; février; mars; avril; mai; juin; juillet; août; septembre; octobre; novembre; décembre

januar/jänner/januari; februar/februari; märz/maart; april; mai/mei; juni; juli;
august/augustus; september; oktober; november; dezember/december

enero/janeiro; febrero/fevereiro; marzo/março; abril; mayo/maio; junio/junho; julio/julho;
agosto; septiembre/setembro; octubre/outubro; noviembre/novembro; diciembre/dezembro

gennaio; febbraio; marzo; aprile; maggio; giugno; luglio; agosto; settembre; ottobre; novembre;
dicembre

monday/mon; tuesday/tue/tues; wednesday/wed; thursday/thu/thur/thurs; friday/fri; saturday/sat;
sunday/sun

lundi; mardi; mercredi; jeudi; vendredi; samedi; dimanche

montag/mo; dienstag/di; mittwoch/mi; donnerstag/do; freitag/fr; samstag/sonnabend/sa; sonntag/so

lunes; martes; miércoles; jueves; viernes; sábado; domingo

lunedì; martedì; mercoledì; giovedì; venerdì; sabato; domenica

maandag; dinsdag; woensdag; donderdag; vrijdag; zaterdag; zondag

segunda; terça; quarta; quinta; sexta; sábado; domingo
"""
"""Scales, parted by empty lines: semicolons part their steps, slashes words for one step."""

OTHER = "other others autre autres andere otro otra otros altro altri anders outro outros"
UNKNOWN = (
    "unknown inconnu unbekannt desconocido sconosciuto onbekend desconhecido refused refusal "
    "missing none-given not-stated not-applicable no-answer "
    "don't-know n.a."
)
"""Words that come after all others, in this order; hyphens stand for blanks too."""

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

SCHOOL = tuple(
    re.compile(stage)
    for stage in (
        r"^(none|never|no (schooling|education|school|grade)\b.*)$",
        r"nursery|pre-?school|kindergarten",
        r"\b(grade|class|year)\b(?!.*(college|university))|\b\d+(st|nd|rd|th)\b",
        r"high school|diploma|ged|hs-grad",
        r"college|associate",
        r"bachelor|university",
        r"master|professional|graduate",
        r"doctor|phd",
    )
)
"""Stages of schooling, in order."""


def steps_of(scale: str) -> dict[str, int]:
    return {
        word: step
        for step, words in enumerate(" ".join(scale.split()).split("; "))
        for word in words.strip().split("/")
    }


RANKS = tuple(steps_of(scale) for scale in SCALES.strip().split("\n\n"))
LATE = {word: place for place, words in enumerate((OTHER, UNKNOWN)) for word in words.split()}


def in_expected_order(labels: Sequence[Label]) -> tuple[list[Label], bool]:
    """Return labels in the order of a known scale or of the numbers in them, and whether it is one.

    Else they stand in natural order. Words such as "other" and "unknown" come last.

    >>> in_expected_order(["often", "never", "sometimes", "unknown"])
    (['never', 'sometimes', 'often', 'unknown'], True)
    >>> in_expected_order(["65+", "under 5", "5-14", "15-64"])[0]
    ['under 5', '5-14', '15-64', '65+']
    >>> in_expected_order(["west", "other", "east"])
    (['east', 'west', 'other'], False)
    """
    if not all(isinstance(label, str) for label in labels):
        return in_order(labels), all(isinstance(label, int) for label in labels)
    late = {label: late_place(label) for label in labels}
    first = in_order(label for label in labels if late[label] < 0)
    last = sorted((label for label in labels if late[label] >= 0), key=lambda one: late[one])
    for some, rest in ((in_order(labels), []), (first, last)):
        for keys in rankings(some):
            if None not in keys:
                order = sorted(range(len(some)), key=lambda i: keys[i] or (0.0, 0.0))
                return [*(some[i] for i in order), *rest], True
    return [*first, *last], False


def late_place(label: str) -> int:
    """Return where a label stands among those that come last; -1 if it is none of them."""
    word = folded(label)
    if label.strip() in MARKERS:
        return 2
    return LATE.get(word, LATE.get(word.replace(" ", "-"), -1))


def folded(label: str) -> str:
    """Return a label without case and outer blanks, with single blanks in it."""
    return " ".join(label.replace("_", " ").casefold().split())


def rankings(labels: Sequence[str]) -> Iterator[list[tuple[float, float] | None]]:
    """Yield the places of labels by each scale that has two of them, and by their numbers."""
    if len(labels) < 2:
        return
    words = [folded(label) for label in labels]
    for ranks in RANKS:
        places = [ranks.get(word) for word in words]
        yield [None if place is None else (float(place), 0.0) for place in places]
    yield [band_place(word) for word in words]
    yield [school_place(word) for word in words]


def band_place(word: str) -> tuple[float, float] | None:
    """Return where a band such as "<15", "[18,24]", "65+" or "under 5 years" begins.

    None if it is no band: if it holds other words than those that go with numbers.

    >>> band_place("<15"), band_place("15"), band_place("15 and over"), band_place("grade 15")
    ((15.0, -1.0), (15.0, 0.0), (15.0, 1.0), None)
    """
    apart = word.replace(",", ", ") if word[0] in "[(" else word
    figures = [number(figure) for figure in FIGURE.findall(apart)]
    rest = re.findall(r"[^\W\d_]+", word)
    if not figures or not all(BAND_WORD.fullmatch(one) for one in rest):
        return None
    sign = -1.0 if re.match(r"-\d", word) else 1.0
    single = len(figures) == 1
    side = -1.0 if single and BELOW.search(word) else 1.0 if single and ABOVE.search(word) else 0.0
    return sign * figures[0], side


def school_place(word: str) -> tuple[float, float] | None:
    """Return where a stage of schooling stands: by its kind, then by the grade or years it names.

    >>> school_place("none"), school_place("grade 10"), school_place("2 years of college")
    ((0.0, 0.0), (2.0, 10.0), (4.0, 2.0))
    """
    stage = next((place for place, words in enumerate(SCHOOL) if words.search(word)), None)
    if stage is None:
        return None
    figures = [number(figure) for figure in FIGURE.findall(word)]
    return float(stage), figures[0] if figures else 0.0


def number(figure: str) -> float:
    """Return the number that a figure in a label stands for; points part thousands or decimals.

    >>> number("1.500"), number("1.5"), number("20,000")
    (1500.0, 1.5, 20000.0)
    """
    parts = figure.replace(",", "").split(".")
    grouped = len(parts) > 2 or (len(parts) == 2 and len(parts[1]) == 3)
    return float("".join(parts) if grouped else ".".join(parts))
