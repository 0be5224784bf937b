"""What is said in other languages than English is told from what is of the moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.distilled_memories import kept, sections_of

from memd.sleep.distil.language.words import words
from memd.sleep.distil.user.speech_acts import Act, judge

SAYINGS = sections_of(Path(__file__).with_name("foreign.txt"))
# Of the even ones, which were looked at, and of the odd ones, which were not.
KEPT = {
    "German wishes": (20, 10),  # (7, 7) before they were looked at
    "German decisions": (17, 11),  # (1, 1)
    "German corrections": (18, 12),  # (2, 1)
    "German facts": (16, 8),  # (1, 2)
    "German of the moment": (1, 0),  # (1, 1)
    "Spanish wishes": (6, 5),  # (3, 3)
    "Spanish decisions": (5, 3),  # (0, 1)
    "Spanish corrections": (6, 2),  # (2, 1)
    "Spanish facts": (7, 0),  # (1, 0)
    "Spanish of the moment": (0, 1),  # (2, 1)
    "French wishes": (8, 3),  # (4, 3)
    "French decisions": (7, 2),  # (0, 1)
    "French corrections": (6, 6),  # (0, 2)
    "French facts": (8, 3),  # (0, 1)
    "French of the moment": (0, 0),  # (2, 0)
}


@pytest.mark.parametrize("section", SAYINGS)
def test_messages_in_other_languages_are_kept_if_they_last(section: str) -> None:
    hits = [kept(saying) for saying in SAYINGS[section]]
    counts = (sum(hits[::2]), sum(hits[1::2]))
    bounds = zip(counts, KEPT[section], strict=True)
    lasts = not section.endswith("of the moment")
    assert all(count >= bound if lasts else count <= bound for count, bound in bounds), counts


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Die Geschäftsführung hat entschieden, dass wir bei Hetzner hosten.", Act.DECISION),
        ("Wir bleiben bei Django 4.2.", Act.DECISION),
        ("Statt Poetry nutzen wir jetzt uv.", Act.DECISION),
        ("Wir feiern am Samstag danach, also am 13.", Act.DECISION),
        ("wir mieten den Gemeindesaal in der Bismarckstraße", Act.DECISION),
        ("den Trikotsatz bestellen wir bei Owayo", Act.DECISION),
        ("Topfschlagen finden die öde, nur Schatzsuche und Krakenfangen", Act.DECISION),
        ("die Lesung ist jetzt am Mittwoch", Act.CORRECTION),
        ("das Training beginnt jetzt um 18 Uhr", Act.CORRECTION),
        ("Die Einladungen müssen bis 20. Januar raus.", Act.CONSTRAINT),
        ("der Antrag muss spätestens am Freitag beim Amt sein", Act.CONSTRAINT),
        ("schreib nie 'ihr Lieben', das mag Hanna nicht", Act.PREFERENCE),
        ("On garde MariaDB pour les factures.", Act.DECISION),
        ("Nos quedamos con Django.", Act.DECISION),
        ("Falsch, der Port ist 5433.", Act.CORRECTION),
        ("Non, c'est le port 5433.", Act.CORRECTION),
        ("Die Testdaten dürfen keine echten Namen enthalten.", Act.CONSTRAINT),
        ("Der Staging-Server läuft auf 10.0.0.5.", Act.ENVIRONMENT),
        ("Für Rechnungen ist Nele zuständig.", Act.ENVIRONMENT),
        ("meine frau ist vegetarierin, ich esse alles", Act.ENVIRONMENT),
        ("mein sohn heißt jonas", Act.ENVIRONMENT),
        ("unsere katze hat eine niere", Act.ENVIRONMENT),
        ("ich studiere jura in mainz", Act.ENVIRONMENT),
        ("die prüfung in bio ist am 12. februar", Act.ENVIRONMENT),
        ("wir haben die wohnung in triest gebucht, 3. bis 10. juni", Act.ENVIRONMENT),
        ("Aendere niemals etwas ohne Ruecksprache.", Act.PREFERENCE),
        ("Kuenftig bitte erst einen Plan zeigen.", Act.PREFERENCE),
    ],
)
def test_a_sign_of_each_language_tells_what_is_done(text: str, act: Act) -> None:
    assert judge(text).act is act


@pytest.mark.parametrize(
    "text",
    [
        "Ab jetzt geht es wieder, danke!",
        "Zeig mir bitte nur die letzten zehn Zeilen.",
        "Bitte nicht committen, ich schau erst drüber.",
        "Das dauert immer ewig bei mir.",
        "Ich muss los, das Zertifikat bitte nicht vergessen.",
        "Wir benutzen gerade den alten Server.",
        "Ich möchte, dass du den Knopf rot machst.",
        "Hoy no quiero tocar los tests.",
        "Pourquoi ça plante toujours au même endroit",
        "Nunca había visto ese error.",
        "Non, c'est parfait.",
        "mein mann ist beim arzt",
        "meine frau ist krank",
        "mein chef hat angerufen",
        "meine mutter ist nicht da",
        "unsere app verbraucht 2 GB, woran liegt das",
        "Wir fahren gleich los, bis später.",
        "Wir treffen uns morgen in der Küche.",
        "Super, wir feiern heute Abend!",
        "Gut, wir fahren mit dem zweiten Schritt fort.",
        "wir fahren den Server kurz runter",
        "Der Build ist jetzt um 3 Sekunden schneller.",
        "Das muss bis zum Mittagessen fertig sein.",
        "Doch nicht den Parser, erst den Lexer bitte.",
        "Nur den ersten, den Rest mach ich später.",
        "Der Import läuft nie durch, schau mal.",
    ],
)
def test_what_is_of_the_hour_is_none(text: str) -> None:
    judged = judge(text)
    assert judged.score < 0.5 or judged.act in {Act.REQUEST, Act.QUESTION}


def test_a_rule_with_few_articles_is_no_log() -> None:
    for text in (
        "Könntest du ab sofort vor jedem Commit ruff und mypy laufen lassen?",
        "Testdaten dürfen niemals echte Kundennamen oder Bankverbindungen enthalten.",
        "Lass künftig vor jedem Push zuerst sämtliche Integrationstests durchlaufen.",
    ):
        assert words(text).paragraphs == (text,)
