"""Tables of words of time in seven languages, folded: lower case without accents.

English, German, French, Spanish, Italian, Portuguese, Dutch. A word with another common meaning
is in ``UNSURE`` and counts only next to a word of time.
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import TypeVar

Value = TypeVar("Value")


def fold(word: str) -> str:
    """Return *word* in the tables' spelling.

    >>> fold("Février"), fold("Übermorgen")
    ('fevrier', 'ubermorgen')
    """
    plain = word.casefold()
    if plain.isascii():
        return plain
    plain = unicodedata.normalize("NFKD", plain)
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


class Grain(StrEnum):
    """The precision of words of time."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _number(*rows: str, first: int = 1) -> dict[str, int]:
    return {word: number for number, row in enumerate(rows, first) for word in row.split()}


def _all(rows: dict[Value, str]) -> dict[str, Value]:
    return {word: value for value, row in rows.items() for word in row.split()}


MONTHS = _number(
    "january jan januar janner janvier janv enero gennaio janeiro januari",
    "february feb februar feber fevrier fevr febrero febbraio fevereiro februari",
    "march mar marz maerz mars marzo marco maart",
    "april apr avril abril aprile",
    "may mai mayo maggio maio mei",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet juil julio luglio julho",
    "august aug aout agosto augustus",
    "september sep sept septembre septiembre setiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez decembre diciembre dicembre dezembro",
)
UNSURE = _words("may march mar sep dec jan mars mai marco mei julio juli janeiro")
"""Months that are also names, verbs, or a planet."""
CAPITAL = _words("may march mar sep dec jan")
"""Those of UNSURE, all English, that count if they are capitalised."""
MONTH_LEADS = _words(
    """in im en em au dans seit ab bis vor nach depuis avant apres desde hasta since until till
    before after from to through during durante through by dal tra fra dopo ate sinds tot voor
    na tussen between zwischen entre anfang mitte ende early mid late debut fin mois monat mes
    mese maand gli"""
)
JOINTS = _words("of de del di du d der des do da von van")
"""Words between a day, a month and a year."""

WEEKDAYS = _number(
    "monday montag lundi lunes lunedi maandag",
    "tuesday dienstag mardi martes martedi dinsdag",
    "wednesday mittwoch mercredi miercoles mercoledi woensdag",
    "thursday donnerstag jeudi jueves giovedi donderdag",
    "friday freitag vendredi viernes venerdi vrijdag",
    "saturday samstag sonnabend samedi sabado sabato zaterdag",
    "sunday sonntag dimanche domingo domenica zondag",
    first=0,
)
FEIRAS = _number("segunda", "terca", "quarta", "quinta", "sexta", first=0)
"""Portuguese weekdays, ordinals unless "feira" follows."""
HABITS = _words("every each jeden jede chaque cada ogni elke iedere los tous toutes")
"""Before a weekday these make a habit and not a day."""

DAYS = _all(
    {
        -2: "vorgestern anteayer antier altroieri anteontem eergisteren avanthier",
        -1: "yesterday gestern hier ayer ieri ontem gisteren",
        0: "today heute hoy oggi hoje vandaag aujourdhui",
        1: "tomorrow morgen demain manana domani amanha",
        2: "ubermorgen uebermorgen apresdemain pasadomanana dopodomani overmorgen",
    }
)
GERMANIC = _words(
    """ist sind war waren was wer wie wo wann warum ich wir der die das dem den mein meine ein eine
    und nicht hat haben gibt liegt steht wohnt het een ik wij wat waar wanneer staat ligt zijn
    woont"""
)
"""In a text with one of these, "hier" means "here" and not the French "yesterday"."""

PARTS = _all(
    {
        (5, 12): "morning vormittag fruh matin matinee mattina mattino manha ochtend morgen manana",
        (11, 14): "noon mittag midi mediodia mezzogiorno",
        (12, 18): "afternoon nachmittag apresmidi pomeriggio middag",
        (12, 20): "tarde",
        (17, 24): "evening abend soir soiree sera avond",
        (18, 29): "night nacht nuit noche notte noite",
    }
)
"""Hours of the day; they may reach into the next day."""
PART_LEADS = _words("a in por pela de la na em noite am im s le au nel di")
DAY_PARTS = {
    "tonight": (0, (17, 29)),
    "stamattina": (0, (5, 12)),
    "stasera": (0, (17, 24)),
    "stanotte": (0, (0, 6)),
    "vanochtend": (0, (5, 12)),
    "vanmiddag": (0, (12, 18)),
    "vanavond": (0, (17, 24)),
    "vannacht": (0, (18, 29)),
    "gisterochtend": (-1, (5, 12)),
    "gistermiddag": (-1, (12, 18)),
    "gisteravond": (-1, (17, 24)),
}

UNITS = _all(
    {
        "week": "week woche semaine semana settimana",
        "weekend": "weekend weekends wochenende finesettimana findesemana fimdesemana",
        "month": "month monat mois mes mese maand",
        "quarter": "quarter quartal trimestre kwartaal",
        "year": "year jahr annee an ano anno jaar",
    }
)
COUNTED = _all(
    {
        "minute": "minute minutes minuten minutos minuti minuut",
        "hour": "hour hours stunde stunden heure heures hora horas ora ore uur uren",
        "day": "day days tag tage tagen jour jours dia dias giorno giorni dag dagen",
        "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
        "month": "month months monat monate monaten mois mes meses mese mesi maand maanden",
        "year": "year years jahr jahre jahren an ans annee annees ano anos anno anni jaar jaren",
    }
)
SHIFTS = _all(
    {
        -1: "last past previous letzte letzten letzter letztes letztem vorige vorigen voriger"
        " voriges vorigem vergangene vergangenen vergangenes vergangener dernier derniere passe"
        " passee pasado pasada scorso scorsa passato passata passado passada vorige afgelopen",
        0: "this current diese dieser dieses diesen diesem cette cet ce este esta questo questa"
        " neste nesta deze dit",
        1: "next coming nachste nachsten nachster nachstes nachstem kommende kommenden kommendes"
        " prochain prochaine proximo proxima prossimo prossima volgende komende",
    }
)
SHIFTS_AFTER = _all(
    {
        -1: "dernier derniere passe passee pasado pasada scorso scorsa passato passata passado"
        " passada",
        1: "prochain prochaine proximo proxima prossimo prossima",
    }
)
"""Those that may follow their noun."""
SEASONS = _number(
    "spring fruhling fruhjahr printemps primavera voorjaar lente",
    "summer sommer ete verano estate verao zomer",
    "autumn fall herbst automne otono autunno outono herfst",
    "winter hiver invierno inverno",
    first=0,
)
SEASON_LEADS = _words("in im en au el nel em no during since seit depuis desde")

NUMBERS = _number(
    "a an one ein eine einem einer einen un une una uno um uma een",
    "two zwei deux dos due dois duas twee couple paar",
    "three drei trois tres tre drie few",
    "four vier quatre cuatro quattro quatro",
    "five funf fuenf cinq cinco cinque vijf",
    "six sechs sei seis zes",
    "seven sieben sept siete sette sete zeven",
    "eight acht huit ocho otto oito",
    "nine neun neuf nueve nove negen",
    "ten zehn dix diez dieci dez tien",
    "eleven elf onze once undici",
    "twelve zwolf douze doce dodici doze twaalf",
)
VAGUE = _words("couple few paar")
AGO = _words("ago fa atras geleden")
"""After a number of units."""
AGO_LEADS = _words("vor hace ha")
"""Before a number of units; "il y a" are three words."""

SINCE = _words("since seit ab depuis desde sinds vanaf")
AFTER = _words("after nach apres despues dopo depois")
UNTIL = _words("until till through bis jusqu jusque hasta fino ate tot by")
BEFORE = _words("before vor avant antes prima voor")
BETWEEN = _words("between zwischen entre tra fra tussen")
FROM = _words("from von de du dal da desde van")
AND = _words("and und et y e en")
TO = _words("to till until through bis au a al hasta ate tot jusqu")
FILLERS = _words(
    """the of der dem den des die das zum le la les l au aux a el al los de del di du d il lo i o
    os do dos as em en no na het"""
)
YEAR_LEADS = (
    _words("in en im of del nel em year jahr annee ano anno jaar during and und to bis")
    | SINCE
    | AFTER
    | UNTIL
    | BEFORE
    | BETWEEN
    | frozenset(SEASONS)
)
NO_YEAR = _words(
    """lines words tokens rows files items people users customers requests steps points times euros
    euro dollars pounds ms px mb kb gb km m kg zeilen worter menschen zeichen stuck lignes mots
    lineas palabras percent"""
)
"""After a number these show that it is no year."""

LASTS = _words(
    """last past letzten vergangenen derniers dernieres ultimos ultimas ultimi ultime laatste
    afgelopen"""
)
"""Before a number of units: a stretch that ends now."""

COMPOUNDS = {
    ("aujourd", "hui"): "aujourdhui",
    ("avant", "hier"): "avanthier",
    ("apres", "demain"): "apresdemain",
    ("apres", "midi"): "apresmidi",
    ("pasado", "manana"): "pasadomanana",
    ("altro", "ieri"): "altroieri",
    ("week", "end"): "weekend",
    ("fine", "settimana"): "finesettimana",
    ("fin", "de", "semana"): "findesemana",
    ("fim", "de", "semana"): "fimdesemana",
    ("day", "before", "yesterday"): "vorgestern",
    ("day", "after", "tomorrow"): "ubermorgen",
    ("il", "y", "a"): "vor",
    ("que", "viene"): "proximo",
    ("que", "vem"): "proximo",
    ("il", "prossimo"): "prossimo",
}
"""Compounds: several words with one meaning."""

CORE = (
    frozenset(MONTHS)
    | frozenset(WEEKDAYS)
    | frozenset(FEIRAS)
    | frozenset(DAYS)
    | frozenset(PARTS)
    | frozenset(DAY_PARTS)
    | frozenset(UNITS)
    | frozenset(COUNTED)
    | frozenset(SEASONS)
    | frozenset(("aujourd",))
)
"""Every expression of time contains one of these words, or a number of four digits."""
FIRST = CORE.union(SHIFTS, LASTS, AGO_LEADS, NUMBERS, SINCE, AFTER, UNTIL, BEFORE, BETWEEN, FROM)
"""Words that a time may begin with, beside numbers."""
