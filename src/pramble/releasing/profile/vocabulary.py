"""What the name of a column tells.

Names of English, French, German, Spanish, Italian, Dutch and Portuguese files are known, and some
of well-known surveys.
"""

import re
import unicodedata

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")

DIRECT = (
    "uuid guid ssn nin nhs nir dni nie nif cpf bsn iban bic email mail courriel correo phone "
    "telephone tel telefon telefono telefone mobile handy passport passeport surname forename "
    "lastname firstname fullname vorname nachname familienname prenom apellido apellidos cognome "
    "achternaam voornaam sobrenome matricule personennummer steuernummer"
)
"""Names of what points at one person, however many values there are."""

POINTING = (
    "id ids pid hid hhid idno ident identifier identifiant identificador identificatore kennung "
    "serial serialno seqn person patient subject respondent pseudonym name names nom naam nome "
    "nombre address adresse address1 direccion indirizzo endereco street strasse rue calle "
    "licence license account konto compte cuenta record caseid case uid"
)
"""Names of what points at a person, a household or a record where there are many values."""

WEIGHT = (
    "weight weights wgt wgts wt wts weighting pond ponderation ponderacion ponderador poids peso "
    "pesos gewicht gewichtung gewichte hochrechnungsfaktor hrf weging weegfactor fnlwgt perwt hhwt "
    "wtfinl asecwt pweight hweight extri expansion elevacion facexp w"
)
NO_WEIGHT = "body birth kg lb lbs gram grams height change loss over"
"""Names of sampling weights; beside these words a weight is one on the scales."""

CODE = (
    "zip zipcode postcode postal plz cap cp county commune municipality gemeinde municipio comune "
    "gemeente concelho puma fips tract nuts lau insee nace naics sic isco soc icd cpt code codes "
    "kod occ ind"
)
"""Names of fine classifications, whose numbers are no quantities."""

QUANTITY = {
    "age": "age ages agep alter edad eta leeftijd idade",
    "count": (
        "hhsize hhsiz npers persons personnes personen personas persone pessoas children enfants "
        "kinder hijos ninos figli kinderen filhos rooms zimmer pieces habitaciones stanze kamers "
        "nchild famsize haushaltsgroesse siblings"
    ),
    "hours": "hours heures stunden horas ore uren uhrswork wkhp",
    "birth year": (
        "birthyr birthyear yob geburtsjahr nacimiento nascita geboortejaar nascimento naissance"
    ),
    "year": "year annee jahr ano anno jaar",
}
"""Names of numbers whose size is publicly known."""

KEYS = {
    "sex": "sex gender sexe geschlecht genre sexo sesso geslacht genero genere civilite",
    "age": (
        f"{QUANTITY['age']} {QUANTITY['birth year']} agegroup agegrp ageband agecat altersgruppe "
        "altersklasse tranche birth geburt"
    ),
    "region": (
        "region regions state province district departement department canton kanton bundesland "
        "land provincia regione regio provincie regiao distrito urban rural urbrur area metro "
        "city town ville stadt ciudad citta stad cidade residence nuts county puma st"
    ),
    "education": (
        "educ edu education educd educational schooling school schl degree diploma diplome bildung "
        "schulabschluss abschluss educacion estudios istruzione titolo opleiding onderwijs "
        "escolaridade instrucao isced etudes qualification"
    ),
    "marital": (
        "marital marst mar maritalstatus civil hhcivil matrimonial familienstand estado civiel "
        "burgerlijke stato civile etat conjugal married spouse"
    ),
    "occupation": (
        "occupation occ profession beruf ocupacion profesion occupazione professione beroep "
        "profissao job employment empstat employed emploi activity erwerbsstatus erwerbstaetigkeit "
        "labour labor work workclass empleo lavoro werk emprego industry branche isco csp pcs"
    ),
    "origin": (
        "nationality nationalite nationalitaet nationalitat nacionalidad nazionalita nationaliteit "
        "nacionalidade citizenship citizen cit staatsangehoerigkeit staatsangehorigkeit "
        "ciudadania cittadinanza country pays pais paese birthplace bpl native migration race "
        "racesing ethnicity ethnic hispan hispanic etnia raza raca herkunft origin origine "
        "religion konfession language langue sprache idioma lingua taal"
    ),
    "household": (
        f"{QUANTITY['count']} household hh relat relate relationship menage haushalt hogar "
        "famiglia huishouden familia agregado family kinship"
    ),
    "tenure": (
        "tenure ownershp ownership owner tenancy dwelling logement wohnung vivienda alloggio "
        "woning habitacao housing ten occupancy mortgage"
    ),
    "health": "disability disabled handicap behinderung discapacidad disabilita veteran vetstat",
}
"""What an intruder may know of somebody, best known first."""


def words_of(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


DIRECT_WORDS, POINTING_WORDS = words_of(DIRECT), words_of(POINTING)
WEIGHT_WORDS, NO_WEIGHT_WORDS, CODE_WORDS = words_of(WEIGHT), words_of(NO_WEIGHT), words_of(CODE)
QUANTITY_WORDS = {what: words_of(listed) for what, listed in QUANTITY.items()}
KEY_WORDS = {what: words_of(listed) for what, listed in KEYS.items()}


def words_in(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, without accents and numbers, in lower case.

    >>> words_in("Région_deNaissance 2"), words_in("PWGTP12")
    (('region', 'de', 'naissance'), ('pwgtp',))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    bare = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return tuple(word.lower() for word in WORD.findall(bare) if not word.isdigit())


def parts_of(name: str) -> set[str]:
    """Return the words of a column's name, and all of them in one."""
    found = words_in(name)
    return {*found, "".join(found)}


def is_direct(name: str) -> bool:
    """Whether a column's name is that of a direct identifier."""
    return not DIRECT_WORDS.isdisjoint(parts_of(name))


def is_identifier(name: str) -> bool:
    """Whether a column's name is that of an identifier, if it has many values.

    >>> [is_identifier(name) for name in ("patientId", "Kennung", "identifiant_ménage", "idiom")]
    [True, True, True, False]
    """
    return is_direct(name) or not POINTING_WORDS.isdisjoint(parts_of(name))


def is_weight(name: str) -> bool:
    """Whether a column's name is that of a sampling weight.

    >>> [is_weight(name) for name in ("PWGTP7", "poids_final", "birth_weight", "weekday")]
    [True, True, False, False]
    """
    found = words_in(name)
    if not NO_WEIGHT_WORDS.isdisjoint(found):
        return False
    return any(word in WEIGHT_WORDS or "weight" in word or "wgt" in word for word in found)


def is_code(name: str) -> bool:
    """Whether a column's name is that of a fine classification."""
    return not CODE_WORDS.isdisjoint(words_in(name))


def quantity_of(name: str) -> str | None:
    """Return which quantity of publicly known size a column's name tells.

    >>> quantity_of("Alter"), quantity_of("ageGroup"), quantity_of("income")
    ('age', 'age', None)
    """
    found = set(words_in(name))
    if "birth" in found and "year" in found:
        return "birth year"
    return next((what for what, words in QUANTITY_WORDS.items() if words & found), None)


def key_of(name: str) -> str | None:
    """Return which key variable a column's name tells.

    >>> key_of("MARST"), key_of("Geschlecht"), key_of("nivel_de_estudios"), key_of("roof")
    ('marital', 'sex', 'education', None)
    """
    found = parts_of(name)
    return next((what for what, words in KEY_WORDS.items() if words & found), None)
