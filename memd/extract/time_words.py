"""Tables of time words in seven languages, folded to lower case without accents.

The languages are English, German, French, Spanish, Italian, Portuguese and Dutch. A German word
with an umlaut is in a table in two spellings: "März" as "marz" and "maerz".
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
    """The precision of a time."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


def _spellings(text: str) -> list[str]:
    """Return the folded words of *text*; unless it is ASCII, also with "ae" for "ä" and so on."""
    words = text.split()
    if text.isascii():
        return words
    return [fold(word) for word in words] + [word.translate(_WRITTEN_OUT) for word in words]


_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def word_set(text: str) -> frozenset[str]:
    """Return the words of *text* in all spellings."""
    return frozenset(_spellings(text))


def number_words(*rows: str, first: int = 1) -> dict[str, int]:
    """Return the number of each word: *first* for the words of the first row, and so on."""
    return {word: number for number, row in enumerate(rows, first) for word in _spellings(row)}


def value_words(rows: dict[Value, str]) -> dict[str, Value]:
    """Return the value of each word of *rows*."""
    return {word: value for value, row in rows.items() for word in _spellings(row)}


MONTHS = number_words(
    "january jan januar jänner janvier janv enero gennaio janeiro januari",
    "february feb februar feber fevrier fevr febrero febbraio fevereiro februari",
    "march mar märz mars marzo marco maart",
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
UNSURE = word_set("may march mar sep dec jan mars mai marco mei julio juli janeiro")
"""Months that are also other words, and count only in a context that shows the month."""
CAPITAL = word_set("may march mar sep dec jan")
"""The English words of UNSURE, which also count if capitalised within a sentence."""
# Before a word of UNSURE these show the month.
MONTH_LEADS = word_set(
    """in im en em au dans seit ab bis vor nach depuis avant apres desde hasta since until till
    before after from to through during durante through by dal tra fra dopo ate sinds tot voor
    na tussen between zwischen entre anfang beginn mitte ende early mid late debut fin mi half
    begin midden eind einde inizio meta fine mois monat mes mese maand gli"""
)
JOINTS = word_set("of de del di du d der des do da von van")
"""Words between a day, a month and a year: "8 de mayo de 2023"."""

WEEKDAYS = number_words(
    "monday montag lundi lunes lunedi maandag",
    "tuesday dienstag mardi martes martedi dinsdag",
    "wednesday mittwoch mercredi miercoles mercoledi woensdag",
    "thursday donnerstag jeudi jueves giovedi donderdag",
    "friday freitag vendredi viernes venerdi vrijdag",
    "saturday samstag sonnabend samedi sabado sabato zaterdag",
    "sunday sonntag dimanche domingo domenica zondag",
    first=0,
)
WEEKDAY_JOINTS = word_set("den dem der the le el il op am")
DAY_LEADS = word_set("am vom zum den dem der")
"""Before "3.11." these show a date."""
FEIRAS = number_words("segunda", "terca", "quarta", "quinta", "sexta", first=0)
"""Portuguese weekdays before "feira"; elsewhere they are ordinals."""
HABITS = word_set("every each jeden jede jedes chaque cada ogni elke iedere los tous toutes")
"""Before a weekday, season or feast these make a habit ("every Monday"), which is no time."""

DAYS = value_words(
    {
        -2: "vorgestern anteayer antier altroieri anteontem eergisteren avanthier",
        -1: "yesterday gestern hier ayer ieri ontem gisteren",
        0: "today heute hoy oggi hoje vandaag aujourdhui",
        1: "tomorrow morgen demain manana domani amanha",
        2: "übermorgen apresdemain pasadomanana dopodomani overmorgen",
    }
)
GERMANIC = word_set(
    """ist sind war waren was wer wie wo wann warum ich wir der die das dem den mein meine ein eine
    und nicht hat haben gibt liegt steht wohnt het een ik wij wat waar wanneer staat ligt zijn
    woont"""
)
"""In a text with one of these, "hier" is the German or Dutch "here", not the French "yesterday"."""

PARTS = value_words(
    {
        (5, 12): "morning vormittag früh matin matinee mattina mattino manha ochtend morgen manana",
        (11, 14): "noon mittag midi mediodia mezzogiorno",
        (12, 18): "afternoon nachmittag apresmidi pomeriggio middag",
        (12, 20): "tarde",
        (17, 24): "evening abend soir soiree sera avond",
        (18, 29): "night nacht nuit noche notte noite",
    }
)
"""Parts of a day by first and last hour; an hour over 24 is of the next day."""
# Words between a day and its part: "ayer por la tarde".
PART_LEADS = word_set("a in por pela de la na em noite am im s le au nel di")
DAY_PARTS = {
    "tonight": (0, (17, 29)),
    "stamattina": (0, (5, 12)),
    "stasera": (0, (17, 24)),
    "vanochtend": (0, (5, 12)),
    "vanmiddag": (0, (12, 18)),
    "vanavond": (0, (17, 24)),
    "gisterochtend": (-1, (5, 12)),
    "gistermiddag": (-1, (12, 18)),
    "gisteravond": (-1, (17, 24)),
}
NIGHT = (18, 29)
BOTH_NIGHTS = word_set("heute cette")
"""Before "night" these mean the last or the coming night: "heute Nacht"."""
NIGHTS = word_set("vannacht stanotte")
"""Words for the last or the coming night."""
WEEKDAY_PARTS = {
    day + part: (WEEKDAYS[day], PARTS[part])
    for days, parts in (
        (
            "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag",
            "morgen vormittag mittag nachmittag abend nacht",
        ),
        (
            "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
            "ochtend middag avond nacht",
        ),
    )
    for day in days.split()
    for part in parts.split()
}
"""Parts of a weekday in one word: "Freitagabend"."""

UNITS = value_words(
    {
        "week": "week woche semaine semana settimana",
        "weekend": "weekend weekends wochenende wochenendes finesettimana findesemana fimdesemana",
        "month": "month monat monats mois mes mese maand",
        "quarter": "quarter quartal quartals trimestre kwartaal",
        "year": "year jahr jahres annee an ano anno jaar",
    }
)
UNIT_DAYS = value_words(
    {
        ("year", 0): "heuer",
        ("week", -1): "vorwoche",
        ("month", -1): "vormonat vormonats",
        ("quarter", -1): "vorquartal vorquartals",
        ("year", -1): "vorjahr vorjahres",
    }
)
"""Words that contain a unit and its distance from the current one: "Vorjahr" is year -1."""
CALENDAR_WEEKS = word_set("kw kalenderwoche")
COUNTED = value_words(
    {
        "minute": "minute minutes minuten minutos minuti minuut",
        "hour": "hour hours stunde stunden heure heures hora horas ora ore uur uren",
        "day": "day days tag tage tagen jour jours dia dias giorno giorni dag dagen",
        "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
        "month": "month months monat monate monaten mois mes meses mese mesi maand maanden",
        "year": "year years jahr jahre jahren an ans annee annees ano anos anno anni jaar jaren",
    }
)
PLURALS = {
    word: COUNTED[word]
    for word in word_set(
        """days weeks months years tage tagen wochen monate monaten jahre jahren jours semaines ans
        annees dias semanas meses anos giorni settimane mesi anni dagen weken maanden jaren"""
    )
}
"""Plurals, which without a number mean a few: "die letzten Tage"."""
AGO_OF_GERMAN = word_set("her zurück")
GERMAN_UNITS = word_set(
    "minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren"
)
"""Units after which AGO_OF_GERMAN means "ago"; "her" is also an English word."""
DUTCH_UNITS = word_set("dagen weken maand maanden jaar uur")
"""Units before which Dutch "over" means "in": "over drie dagen"."""
# Distances of the named unit, weekday, month, season or feast from the current one.
SHIFTS = value_words(
    {
        -2: "vorletzte vorletzten vorletzter vorletztes vorletztem avantdernier antepasado"
        " antepasada retrasado retrasada voorvorig voorvorige",
        -1: "last past previous letzte letzten letzter letztes letztem vorige vorigen voriger"
        " voriges vorigem vergangene vergangenen vergangenes vergangener dernier derniere passe"
        " passee pasado pasada scorso scorsa passato passata passado passada vorig afgelopen",
        0: "this current diese dieser dieses diesen diesem cette cet ce este esta questo questa"
        " neste nesta deze dit",
        2: "übernächste übernächsten übernächster übernächstes übernächstem",
        1: "next coming nächste nächsten nächster nächstes nächstem kommende kommenden kommendes"
        " prochain prochaine proximo proxima prossimo prossima volgend volgende komend komende",
    }
)
SHIFTS_AFTER = value_words(
    {
        -2: "antepasado antepasada retrasado retrasada",
        -1: "dernier derniere passe passee pasado pasada scorso scorsa passato passata passado"
        " passada",
        1: "prochain prochaine proximo proxima prossimo prossima",
    }
)
"""Words of SHIFTS that may follow their noun: "le mois dernier"."""
SEASONS = number_words(
    "spring frühling frühlings frühjahr frühjahrs printemps primavera voorjaar lente",
    "summer sommer sommers ete verano estate verao zomer",
    "autumn fall herbst herbsts automne otono autunno outono herfst",
    "winter winters hiver invierno inverno",
    first=0,
)
# Before a season or a quarter these show that it is a time: "in spring", "in Q3".
SEASON_LEADS = word_set(
    "in im en au el nel em no vom zum bis during since until seit depuis desde sinds"
)
NORTHERN = word_set(
    "frühling frühlings frühjahr frühjahrs sommer sommers herbst herbsts voorjaar zomer herfst"
)
"""Seasons in languages spoken in the northern hemisphere only."""
NORTHERN_LEADS = word_set("im letzten vorletzten vorigen vergangenen diesen nächsten kommenden")
"""Before "winter", which is also English, these show such a language."""

NUMBERS = number_words(
    "a an one ein eine einem einer einen un une una uno um uma een",
    "two zwei zwo deux dos due dois duas twee couple paar",
    "three drei trois tres tre drie few several some einige einigen mehrere mehreren quelques"
    " plusieurs algunos algunas unos unas varios varias alcuni alcune qualche parecchi parecchie"
    " alguns algumas enkele",
    "four vier quatre cuatro quattro quatro",
    "five fünf cinq cinco cinque vijf",
    "six sechs sei seis zes",
    "seven sieben sept siete sette sete zeven",
    "eight acht huit ocho otto oito",
    "nine neun neuf nueve nove negen",
    "ten zehn dix diez dieci dez tien",
    "eleven elf onze once undici",
    "twelve zwölf douze doce dodici doze twaalf",
    "thirteen dreizehn treize trece tredici treze dertien",
    "fourteen vierzehn quatorze catorce quattordici catorze veertien",
    "fifteen fünfzehn quinze quince quindici vijftien",
    "sixteen sechzehn seize dieciseis sedici dezesseis zestien",
) | value_words(
    {
        20: "twenty zwanzig vingt veinte venti vinte twintig",
        30: "thirty dreißig trente treinta trenta trinta dertig",
    }
)
# Vague numbers.
VAGUE = word_set(
    """couple few several some paar par paio einige einigen mehrere mehreren quelques plusieurs
    algunos algunas unos unas varios varias alcuni alcune qualche parecchi parecchie alguns algumas
    enkele"""
)
# Numbers with a half.
MIXED = value_words(
    {
        1.5: "anderthalb eineinhalb anderhalf",
        2.5: "zweieinhalb tweeenhalf",
        3.5: "dreieinhalb drieenhalf",
    }
)
HALF = word_set("half halb halbe halben halber halbes demi demie medio media mezzo mezza meio meia")
ABOUT = word_set(
    """gut etwa knapp über rund circa ca zirka ungefähr fast beinahe mehr als about around almost
    nearly over roughly more than environ presque plus de casi mas quasi piu oltre cerca mais
    ongeveer bijna ruim"""
)
"""Words before an approximate number."""
AGO = word_set("ago fa atras geleden terug zurück her")
"""Words for "ago" that follow a number of units."""
AGO_LEADS = word_set("vor hace ha")
"""Words for "ago" that precede a number of units; "il y a" is a compound (``time_text``)."""

AHEAD = word_set("in dans dentro fra tra daqui over binnen")
"""Words before a number of units from now: "in two weeks"."""

SINCE = word_set("since seit ab depuis desde sinds vanaf")
AFTER = word_set("after nach apres despues dopo depois")
UNTIL = word_set("until till through bis jusqu jusque hasta fino ate tot by")
BEFORE = word_set("before vor avant antes prima voor")
BETWEEN = word_set("between zwischen entre tra fra tussen")
FROM = word_set("from von vom de du dal da desde van")
AND = word_set("and und et y e en")
TO = word_set("to till until through bis au a al hasta ate tot jusqu")
RANGE = word_set("bis tot through")
"""Words between two times without a word before them: "Montag bis Freitag"."""
FILLERS = word_set(
    """the of der dem den des die das zum le la les l au aux a el al los de del di du d il lo i o
    os do dos as em en no na het"""
)
# Before a number of four digits these show that it is a year.
YEAR_LEADS = (
    word_set("in en im of del nel em year jahr annee ano anno jaar during and und to bis")
    | SINCE
    | AFTER
    | UNTIL
    | BEFORE
    | BETWEEN
    | frozenset(SEASONS)
)
NO_YEAR = word_set(
    """lines words tokens rows files items people users customers requests steps points times euros
    euro dollars pounds ms px mb kb gb km m kg zeilen wörter menschen zeichen stück lignes mots
    lineas palabras percent"""
)
"""After a number these show that it is not a year: "2000 lines"."""

LASTS = word_set(
    """last past letzte letzten vergangenen derniers dernieres ultimos ultimas ultimi ultime
    laatste afgelopen"""
)
"""Words before a number of units up to now: "the last three days"."""
NEXTS = word_set(
    """next coming nächste nächsten kommenden prochains prochaines proximos proximas prossimi
    prossime volgende komende"""
)
"""Words before a number of units from now on: "the next three days"."""
OF_THINGS = word_set("of the der des von de du del di van")
"""After "the last days" these show that they do not end now: "the last days of March"."""
