"""Which times phrases of seven languages name, above all German ones, on a Wednesday in Berlin."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from support.period_notation import BERLIN, NOW, only, read, shown

from memd.base.clock import to_us
from memd.extract.calendar_periods import CalendarDate, easter
from memd.extract.times import find_periods, parse_limit

GERMAN = {
    "vorletzte Woche": "2026-11-02 2026-11-09",
    "vorletzter Monat": "2026-09-01 2026-10-01",
    "im vorletzten Monat": "2026-09-01 2026-10-01",
    "vorletztes Jahr": "2024-01-01 2025-01-01",
    "vorletztes Wochenende": "2026-11-07 2026-11-09",
    "vorletzten Dienstag": "2026-11-10 2026-11-11",
    "vorletzten Sommer": "2025-06-01 2025-09-01",
    "übernächste Woche": "2026-11-30 2026-12-07",
    "uebernaechste Woche": "2026-11-30 2026-12-07",
    "übernächsten Montag": "2026-11-30 2026-12-01",
    "vor gut zwei Wochen": "2026-11-01 2026-11-08",
    "vor etwa zwei Wochen": "2026-11-01 2026-11-08",
    "vor knapp zwei Wochen": "2026-11-01 2026-11-08",
    "vor über zwei Wochen": "2026-11-01 2026-11-08",
    "vor ueber zwei Wochen": "2026-11-01 2026-11-08",
    "vor rund zwei Wochen": "2026-11-01 2026-11-08",
    "vor ca. zwei Wochen": "2026-11-01 2026-11-08",
    "vor mehr als zwei Wochen": "2026-11-01 2026-11-08",
    "vor zwo Wochen": "2026-11-01 2026-11-08",
    "vor vierzehn Tagen": "2026-11-04 2026-11-05",
    "vor fünfzehn Tagen": "2026-11-03 2026-11-04",
    "vor fuenf Tagen": "2026-11-13 2026-11-14",
    "vor zwanzig Tagen": "2026-10-29 2026-10-30",
    "vor einigen Tagen": "2026-11-11 2026-11-17",
    "vor mehreren Tagen": "2026-11-11 2026-11-17",
    "vor ein paar Tagen": "2026-11-11 2026-11-17",
    "vor einigen Wochen": "2026-09-30 2026-11-05",
    "vor Tagen": "2026-11-11 2026-11-17",
    "vor anderthalb Jahren": "2025-03-19 2025-07-18",
    "vor eineinhalb Jahren": "2025-03-19 2025-07-18",
    "vor einem halben Jahr": "2026-03-19 2026-07-18",
    "vor 1,5 Jahren": "2025-03-19 2025-07-18",
    "vor einer halben Stunde": "2026-11-18T13 2026-11-18T14",
    "vor einer Woche": "2026-11-08 2026-11-15",
    "drei Wochen her": "2026-10-25 2026-11-01",
    "Es ist drei Wochen her, dass": "2026-10-25 2026-11-01",
    "ein paar Tage her": "2026-11-11 2026-11-17",
    "seit zwei Wochen": "2026-11-04 -",
    "seit einer Woche": "2026-11-11 -",
    "seit gut einem Jahr": "2025-11-18 -",
    "seit einigen Tagen": "2026-11-14 -",
    "seit Wochen": "2026-10-28 -",
    "seit einem halben Jahr": "2026-05-18 -",
    "in zwei Wochen": "2026-11-29 2026-12-06",
    "in drei Tagen": "2026-11-21 2026-11-22",
    "in einem Monat": "2026-12-03 2027-01-03",
    "in einer Woche": "2026-11-22 2026-11-29",
    "in etwa zwei Wochen": "2026-11-29 2026-12-06",
    "Freitagabend": "2026-11-13T17 2026-11-14",
    "am Freitagabend": "2026-11-13T17 2026-11-14",
    "Montagmorgen": "2026-11-16T05 2026-11-16T12",
    "Dienstagnachmittag": "2026-11-17T12 2026-11-17T18",
    "Mittwochvormittag": "2026-11-11T05 2026-11-11T12",
    "Samstagnacht": "2026-11-14T18 2026-11-15T05",
    "übers Wochenende": "2026-11-14 2026-11-16",
    "uebers Wochenende": "2026-11-14 2026-11-16",
    "letztes Wochenende": "2026-11-14 2026-11-16",
    "am letzten Wochenende": "2026-11-14 2026-11-16",
    "nächstes Wochenende": "2026-11-28 2026-11-30",
    "am 3.11.": "2026-11-03 2026-11-04",
    "vom 3.11.": "2026-11-03 2026-11-04",
    "am 3.11": "2026-11-03 2026-11-04",
    "am 03.11. um zehn": "2026-11-03 2026-11-04",
    "seit dem 3.11.": "2026-11-03 -",
    "bis zum 20.12.": "- 2025-12-21",
    "vom 3.11. bis 5.11.": "2026-11-03 2026-11-06",
    "vom 3.11. bis zum 5.11.": "2026-11-03 2026-11-06",
    "am 3. November": "2026-11-03 2026-11-04",
    "am 3. November 2025": "2025-11-03 2025-11-04",
    "vom 3. bis 5. November": "2026-11-03 2026-11-06",
    "zwischen dem 3. und dem 5. November": "2026-11-03 2026-11-06",
    "Freitag, den 13. November": "2026-11-13 2026-11-14",
    "KW 45": "2026-11-02 2026-11-09",
    "in KW45": "2026-11-02 2026-11-09",
    "in Kalenderwoche 50": "2025-12-08 2025-12-15",
    "KW 3/2025": "2025-01-13 2025-01-20",
    "KW 45 2025": "2025-11-03 2025-11-10",
    "im ersten Quartal": "2026-01-01 2026-04-01",
    "im letzten Quartal": "2026-07-01 2026-10-01",
    "im 2. Quartal 2025": "2025-04-01 2025-07-01",
    "im dritten Quartal letzten Jahres": "2025-07-01 2025-10-01",
    "in Q3": "2026-07-01 2026-10-01",
    "Q1 2025": "2025-01-01 2025-04-01",
    "im Frühling": "2026-03-01 2026-06-01",
    "im Fruehling": "2026-03-01 2026-06-01",
    "im Frühjahr": "2026-03-01 2026-06-01",
    "im Sommer": "2026-06-01 2026-09-01",
    "letzten Sommer": "2026-06-01 2026-09-01",
    "im Herbst": "2026-09-01 2026-12-01",
    "im Winter": "2025-12-01 2026-03-01",
    "Sommer letzten Jahres": "2025-06-01 2025-09-01",
    "Weihnachten": "2025-12-24 2025-12-27",
    "an Weihnachten": "2025-12-24 2025-12-27",
    "letzte Weihnachten": "2025-12-24 2025-12-27",
    "Weihnachten 2024": "2024-12-24 2024-12-27",
    "Weihnachten vor zwei Jahren": "2024-12-24 2024-12-27",
    "Heiligabend": "2025-12-24 2025-12-25",
    "Ostern": "2026-04-03 2026-04-07",
    "an Ostern 2025": "2025-04-18 2025-04-22",
    "seit Ostern": "2026-04-03 -",
    "vor Ostern": "- 2026-04-03",
    "Silvester": "2025-12-31 2026-01-01",
    "Neujahr": "2026-01-01 2026-01-02",
    "Pfingsten": "2026-05-24 2026-05-26",
    "zwischen Weihnachten und Neujahr": "2025-12-24 2026-01-02",
    "Karfreitag": "2026-04-03 2026-04-04",
    "die letzten Tage": "2026-11-13 2026-11-19",
    "in den letzten Tagen": "2026-11-13 2026-11-19",
    "in den letzten Wochen": "2026-10-14 2026-11-19",
    "in den letzten zwei Wochen": "2026-11-04 2026-11-19",
    "in den letzten paar Tagen": "2026-11-13 2026-11-19",
    "in den nächsten Tagen": "2026-11-18 2026-11-24",
    "in den naechsten drei Tagen": "2026-11-18 2026-11-22",
    "Ende letzten Monats": "2026-10-21 2026-11-01",
    "Anfang der Woche": "2026-11-16 2026-11-19",
    "Ende der Woche": "2026-11-13 2026-11-16",
    "Anfang des Monats": "2026-11-01 2026-11-11",
    "Mitte letzter Woche": "2026-11-11 2026-11-14",
    "Ende letzter Woche": "2026-11-13 2026-11-16",
    "Anfang nächster Woche": "2026-11-23 2026-11-26",
    "Anfang März": "2026-03-01 2026-03-12",
    "Anfang Maerz": "2026-03-01 2026-03-12",
    "Mitte Oktober": "2026-10-11 2026-10-22",
    "Ende Oktober": "2026-10-21 2026-11-01",
    "Ende Oktober 2025": "2025-10-21 2025-11-01",
    "Ende 2025": "2025-09-01 2026-01-01",
    "Anfang 2025": "2025-01-01 2025-05-01",
    "Ende letzten Jahres": "2025-09-01 2026-01-01",
    "Ende des letzten Jahres": "2025-09-01 2026-01-01",
    "seit Anfang März": "2026-03-01 -",
    "bis Ende Oktober": "- 2026-11-01",
    "zum Jahresende": "2026-09-01 2027-01-01",
    "am Monatsanfang": "2026-11-01 2026-11-11",
    "erste Augustwoche": "2026-08-01 2026-08-08",
    "in der letzten Augustwoche": "2026-08-25 2026-09-01",
    "zweite Oktoberhälfte": "2026-10-16 2026-11-01",
    "erste Woche im August": "2026-08-01 2026-08-08",
    "erstes Wochenende im Oktober": "2026-10-03 2026-10-05",
    "zweite Hälfte des Jahres 2025": "2025-07-01 2026-01-01",
    "heuer": "2026-01-01 2027-01-01",
    "im Vorjahr": "2025-01-01 2026-01-01",
    "Dienstag letzter Woche": "2026-11-10 2026-11-11",
    "am Dienstag der letzten Woche": "2026-11-10 2026-11-11",
    "letzte Woche Dienstag": "2026-11-10 2026-11-11",
    "letzte Woche am Sonntag": "2026-11-15 2026-11-16",
    "vorletzte Woche Montag": "2026-11-02 2026-11-03",
    "Freitagabend letzter Woche": "2026-11-13T17 2026-11-14",
    "Montag nächster Woche": "2026-11-23 2026-11-24",
    "nächste Woche Montag": "2026-11-23 2026-11-24",
    "Freitag vor zwei Wochen": "2026-11-06 2026-11-07",
    "vor zwei Wochen am Freitag": "2026-11-06 2026-11-07",
    "Montag in zwei Wochen": "2026-11-30 2026-12-01",
    "März letzten Jahres": "2025-03-01 2025-04-01",
    "letztes Jahr im März": "2025-03-01 2025-04-01",
    "letztes Jahr im Mai": "2025-05-01 2025-06-01",
    "Anfang März letzten Jahres": "2025-03-01 2025-03-12",
    "heute Nacht": "2026-11-17T18 2026-11-18T05",
    "zwischen März und Mai": "2026-03-01 2026-06-01",
    "von März bis Mai": "2026-03-01 2026-06-01",
    "März bis Mai": "2026-03-01 2026-06-01",
    "zwischen Maerz und Mai 2025": "2025-03-01 2025-06-01",
    "zwischen Anfang März und Mitte April": "2026-03-01 2026-04-21",
    "Montag bis Mittwoch": "2026-11-09 2026-11-12",
    "naechste Woche": "2026-11-23 2026-11-30",
    "im Maerz": "2026-03-01 2026-04-01",
}
OTHERS = {
    "the last few days": "2026-11-13 2026-11-19",
    "the past few weeks": "2026-10-14 2026-11-19",
    "the last couple of days": "2026-11-13 2026-11-19",
    "the last two weeks": "2026-11-04 2026-11-19",
    "about two weeks ago": "2026-11-01 2026-11-08",
    "some days ago": "2026-11-11 2026-11-17",
    "several weeks ago": "2026-09-30 2026-11-05",
    "half a year ago": "2026-03-19 2026-07-18",
    "a year and a half ago": "2025-03-19 2025-07-18",
    "fourteen days ago": "2026-11-04 2026-11-05",
    "in two weeks": "2026-11-29 2026-12-06",
    "in three days": "2026-11-21 2026-11-22",
    "the next three days": "2026-11-18 2026-11-22",
    "early March": "2026-03-01 2026-03-12",
    "mid-October": "2026-10-11 2026-10-22",
    "the end of last month": "2026-10-21 2026-11-01",
    "at the beginning of the week": "2026-11-16 2026-11-19",
    "the end of March 2025": "2025-03-21 2025-04-01",
    "late last year": "2025-09-01 2026-01-01",
    "the end of 2024": "2024-09-01 2025-01-01",
    "until the end of March": "- 2026-04-01",
    "the first week of August": "2026-08-01 2026-08-08",
    "the last weekend of October": "2026-10-31 2026-11-02",
    "the first quarter of 2025": "2025-01-01 2025-04-01",
    "in the first quarter": "2026-01-01 2026-04-01",
    "in Q2": "2026-04-01 2026-07-01",
    "Tuesday of last week": "2026-11-10 2026-11-11",
    "on Tuesday last week": "2026-11-10 2026-11-11",
    "last week's Tuesday": "2026-11-10 2026-11-11",
    "last week on Friday evening": "2026-11-13T17 2026-11-14",
    "Friday two weeks ago": "2026-11-06 2026-11-07",
    "Monday next week": "2026-11-23 2026-11-24",
    "March last year": "2025-03-01 2025-04-01",
    "last year in March": "2025-03-01 2025-04-01",
    "in May last year": "2025-05-01 2025-06-01",
    "at Christmas": "2025-12-24 2025-12-27",
    "last Christmas": "2025-12-24 2025-12-27",
    "Christmas 2024": "2024-12-24 2024-12-27",
    "on Christmas Eve": "2025-12-24 2025-12-25",
    "before Christmas": "- 2025-12-24",
    "since Easter": "2026-04-03 -",
    "at Easter last year": "2025-04-18 2025-04-22",
    "on New Year's Eve": "2025-12-31 2026-01-01",
    "on Friday, 13 March 2026": "2026-03-13 2026-03-14",
    "from 3 to 5 November": "2026-11-03 2026-11-06",
    "between March and May": "2026-03-01 2026-06-01",
    "il y a environ deux semaines": "2026-11-01 2026-11-08",
    "il y a quelques jours": "2026-11-11 2026-11-17",
    "il y a un an et demi": "2025-03-19 2025-07-18",
    "depuis deux semaines": "2026-11-04 -",
    "dans trois jours": "2026-11-21 2026-11-22",
    "ces derniers jours": "2026-11-13 2026-11-19",
    "les deux dernières semaines": "2026-11-04 2026-11-19",
    "l'avant-dernière semaine": "2026-11-02 2026-11-09",
    "mardi de la semaine dernière": "2026-11-10 2026-11-11",
    "en mars de l'année dernière": "2025-03-01 2025-04-01",
    "fin mars": "2026-03-21 2026-04-01",
    "début octobre": "2026-10-01 2026-10-12",
    "la première semaine d'août": "2026-08-01 2026-08-08",
    "entre mars et mai": "2026-03-01 2026-06-01",
    "du 3 au 5 mai": "2026-05-03 2026-05-06",
    "à Noël": "2025-12-24 2025-12-27",
    "à Pâques": "2026-04-03 2026-04-07",
    "au premier trimestre": "2026-01-01 2026-04-01",
    "cette nuit": "2026-11-17T18 2026-11-18T05",
    "hace unas dos semanas": "2026-11-01 2026-11-08",
    "hace algunos días": "2026-11-11 2026-11-17",
    "hace medio año": "2026-03-19 2026-07-18",
    "desde hace dos semanas": "2026-11-04 -",
    "dentro de dos semanas": "2026-11-29 2026-12-06",
    "los últimos días": "2026-11-13 2026-11-19",
    "el martes de la semana pasada": "2026-11-10 2026-11-11",
    "en marzo del año pasado": "2025-03-01 2025-04-01",
    "a finales de marzo": "2026-03-21 2026-04-01",
    "a mediados del mes pasado": "2026-10-11 2026-10-22",
    "la semana antepasada": "2026-11-02 2026-11-09",
    "en Navidad": "2025-12-24 2025-12-27",
    "en Semana Santa": "2026-03-29 2026-04-06",
    "en el primer trimestre de 2025": "2025-01-01 2025-04-01",
    "circa due settimane fa": "2026-11-01 2026-11-08",
    "qualche giorno fa": "2026-11-11 2026-11-17",
    "da due settimane": "2026-11-04 -",
    "tra due settimane": "2026-11-29 2026-12-06",
    "negli ultimi giorni": "2026-11-13 2026-11-19",
    "martedì della settimana scorsa": "2026-11-10 2026-11-11",
    "a marzo dell'anno scorso": "2025-03-01 2025-04-01",
    "fine ottobre": "2026-10-21 2026-11-01",
    "a metà ottobre": "2026-10-11 2026-10-22",
    "all'inizio della settimana": "2026-11-16 2026-11-19",
    "a Natale": "2025-12-24 2025-12-27",
    "a Pasqua": "2026-04-03 2026-04-07",
    "a Capodanno": "2026-01-01 2026-01-02",
    "há cerca de duas semanas": "2026-11-01 2026-11-08",
    "há alguns dias": "2026-11-11 2026-11-17",
    "daqui a duas semanas": "2026-11-29 2026-12-06",
    "nos últimos dias": "2026-11-13 2026-11-19",
    "terça-feira da semana passada": "2026-11-10 2026-11-11",
    "em março do ano passado": "2025-03-01 2025-04-01",
    "no final de outubro": "2026-10-21 2026-11-01",
    "em meados de outubro": "2026-10-11 2026-10-22",
    "a semana retrasada": "2026-11-02 2026-11-09",
    "no Natal": "2025-12-24 2025-12-27",
    "na Páscoa": "2026-04-03 2026-04-07",
    "ongeveer twee weken geleden": "2026-11-01 2026-11-08",
    "een paar dagen geleden": "2026-11-11 2026-11-17",
    "een half jaar geleden": "2026-03-19 2026-07-18",
    "anderhalf jaar geleden": "2025-03-19 2025-07-18",
    "sinds twee weken": "2026-11-04 -",
    "over twee weken": "2026-11-29 2026-12-06",
    "de afgelopen dagen": "2026-11-13 2026-11-19",
    "dinsdag vorige week": "2026-11-10 2026-11-11",
    "vorige week dinsdag": "2026-11-10 2026-11-11",
    "maart vorig jaar": "2025-03-01 2025-04-01",
    "vrijdagavond": "2026-11-13T17 2026-11-14",
    "eind oktober": "2026-10-21 2026-11-01",
    "begin maart": "2026-03-01 2026-03-12",
    "half oktober": "2026-10-11 2026-10-22",
    "begin van de week": "2026-11-16 2026-11-19",
    "de eerste week van augustus": "2026-08-01 2026-08-08",
    "in het eerste kwartaal": "2026-01-01 2026-04-01",
    "met Kerst": "2025-12-24 2025-12-27",
    "met Pasen": "2026-04-03 2026-04-07",
    "tussen maart en mei": "2026-03-01 2026-06-01",
    "vannacht": "2026-11-17T18 2026-11-18T05",
}


@pytest.mark.parametrize("text", GERMAN)
def test_german_words_of_time_are_read(text: str) -> None:
    assert read(text) == [GERMAN[text]]


@pytest.mark.parametrize("text", OTHERS)
def test_such_words_of_other_languages_are_read(text: str) -> None:
    assert read(text) == [OTHERS[text]]


@pytest.mark.parametrize(
    ("text", "stretch"),
    [
        ("It was fine last week", "2026-11-09 2026-11-16"),
        ("Did it end last week?", "2026-11-09 2026-11-16"),
        ("We start next week", "2026-11-23 2026-11-30"),
        ("I spent half of last year there", "2025-01-01 2026-01-01"),
        ("Was war am Montag vor zwei Wochen?", "2026-11-02 2026-11-03"),
        ("am Samstag, den 14.11.", "2026-11-14 2026-11-15"),
        ("Ist das vor Ende des Jahres fertig?", "- 2027-01-01"),
    ],
)
def test_the_words_around_a_time_are_not_part_of_it(text: str, stretch: str) -> None:
    assert read(text) == [stretch]


@pytest.mark.parametrize(
    "text",
    [
        "Das Ende naht. Am Anfang war nichts, in der Mitte auch nicht, zu Beginn wenig",
        "Er kommt von weit her; I gave two weeks her boss; it took three days. Her mother",
        "I am 5.11 tall. We use Python 3.11. Ab 3.11. läuft es, um 10.30 Uhr, Nr. 3.11.",
        "version 3.5 and 1.2.3, 10.0.0.1, 12.30, 1.5 GB, 45 kW",
        "a Christmas tree, the Easter egg, Noel Gallagher, in Natal, the Halloween page",
        "once in a week, it runs in 5 minutes, measured in days, in Tagen gerechnet, in one an",
        "Did it last a week? Estimates are in half days",
        "the first half of the game, the first week of the course, the last days of the war",
        "Q1: What is it? Q2 is next, in the first place, KW, 45",
        "jeden Sommer, jedes Weihnachten, every Christmas",
        "the end of an id, the end of the day, the start of the file, mid size, a late show",
        "gut zwei Kilo, etwa drei, rund um die Uhr, knapp daneben, ein paar Schuhe, einige Leute",
        "Neulich, kürzlich, letztens, das letzte Mal, erste Hilfe, die zweite Hälfte",
        "Il fine giustifica i mezzi, la fin du film, o fim do filme, un par de zapatos",
    ],
)
def test_like_words_are_no_times(text: str) -> None:
    assert read(text) == []


def test_what_may_be_last_or_next_has_two_readings() -> None:
    for text, other in {
        "heute Nacht": "2026-11-18T18",
        "cette nuit": "2026-11-18T18",
        "Weihnachten": "2026-12-24",
        "im ersten Quartal": "2027-01-01",
        "KW 45": "2027-11-08",
        "Ende der Woche": "2026-11-20",
    }.items():
        readings = only(text).other
        assert readings is not None
        assert shown(readings[0]) == other


def test_a_time_within_another_has_one_reading_and_its_year() -> None:
    assert only("Dienstag letzter Woche").other is None
    assert only("im März letzten Jahres").dates == (CalendarDate(3, 2025),)
    assert only("Mitte Oktober 2025").dates == (CalendarDate(10, 2025, 16),)
    assert only("Mitte Oktober").dates == ()


def test_two_times_in_two_clauses_are_two() -> None:
    assert read("on Friday. Last week we met") == [
        "2026-11-13 2026-11-14",
        "2026-11-09 2026-11-16",
    ]


def test_a_german_season_is_that_of_the_north_where_clocks_do_not_tell() -> None:
    for zone in (ZoneInfo("UTC"), BERLIN):
        assert len(find_periods("letzten Sommer", NOW, zone)) == 1
    assert find_periods("last summer", NOW, UTC) == ()
    assert find_periods("letzten Sommer", NOW, ZoneInfo("Australia/Sydney")) == ()


@pytest.mark.parametrize(
    ("year", "day"),
    [(2008, "03-23"), (2019, "04-21"), (2024, "03-31"), (2025, "04-20"), (2038, "04-25")],
)
def test_easter_is_known(year: int, day: str) -> None:
    assert f"{easter(year):%m-%d}" == day


@pytest.mark.parametrize(
    "word",
    [
        "unas ", "Ende ", "in ", "erste ", "letzte Woche ", "half a ", "vor zwei ", "KW ", "3. ",
        "Anfang der ", "Montag bis ", "a year and a half ", "Weihnachten ", "seit etwa ", "of ",
    ],
)  # fmt: skip
def test_a_text_of_nothing_but_such_words_is_read_once(word: str) -> None:
    short, long = (len(find_periods(word * times, NOW, BERLIN)) for times in (50, 100))

    assert long <= 2 * short + 2


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("vorletzte Woche", "2026-11-02"),
        ("vor einigen Tagen", "2026-11-14"),
        ("in den letzten Tagen", "2026-11-13"),
        ("Dienstag letzter Woche", "2026-11-10"),
        ("übers Wochenende", "2026-11-14"),
        ("am 3.11.", "2026-11-03"),
        ("KW 45", "2026-11-02"),
        ("Ende Oktober", "2026-10-21"),
        ("Ostern", "2026-04-03"),
        ("heuer", "2026-01-01"),
        ("dentro de dos semanas", "2026-12-02"),
    ],
)
def test_such_a_time_may_be_a_limit(text: str, begin: str) -> None:
    limit = parse_limit(text, NOW, BERLIN)

    assert limit is not None
    assert shown(to_us(limit)) == begin
