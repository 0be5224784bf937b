"""Which sentences say what harms somebody, and which only look like it."""

from __future__ import annotations

import pytest

from memd.text.harms import HARMS, states_health_risk

HARMFUL = """
    Emil verträgt keine Milch
    frida reagiert auf bienenstiche
    ibuprofen nur mit magenschutz
    und ibuprofen 600 nur mit magenschutz
    aspirin makes me sick
    ich vertrag kein penicillin, bei der letzten angina hatte ich ausschlag überall
    ich vertrage Milch nicht
    Ibuprofen vertrage ich nicht
    von aspirin krieg ich nesselsucht
    penicillin gives me a rash
    von erdbeeren bekommt Frida Ausschlag
    i get hives from strawberries
    Frida reacts badly to bee stings
    mon fils réagit aux piqûres de guêpes
    il ne supporte pas le lait
    je ne tolère pas l'ibuprofène
    no tolera la leche
    mi hija reacciona a los huevos
    mia figlia reagisce al lattosio
    não tolera leite
    mijn zoon verdraagt geen melk
    ik kan niet tegen melk
    ibuprofen only with a stomach tablet
    l'aspirine me rend malade
    von Ibuprofen wird mir schlecht
    shellfish makes my mum really ill
"""
HARMLESS = """
    this makes me sick of css
    postgres verträgt keine umlaute im dateinamen
    der Vertrag mit Vodafone läuft im März aus
    der Button reagiert auf Klick nicht
    the server reacts to SIGTERM
    the component reacts to a change of the egg timer
    only with the flag --force
    nur mit Ausweis abholen
    solo con receta
    milch, eier, mehl und butter kaufen
    buy milk, eggs and honey
    there's a rash of new bugs
    the swollen river near the farm
    the cake makes me happy
    coffee makes me sick of meetings
    der Test verträgt sich nicht mit python 3
    die Katze reagiert nicht auf ihren Namen
    der Hund reagiert auf pfiff
    react to milk.js changes with useEffect
    la page ne supporte pas le format webp
    no soporta markdown
    la api no soporta fechas
    non supporta python 2
    de server verdraagt geen hoge belasting
    wait for the ei parser
    latex only with tectonic, not pdflatex
    latex nur mit xelatex bauen
    we use latex with biber
    statin study: only with approval
    statin trial data only with ethics approval
    the bee animation reacts to clicks on the honey jar
    reacts to fish shell only
    fish shell makes me ill
    fish makes me sick of bash
    the rash decision to rewrite from scratch
    hives and spark tables from hive
    melk, brood en noten kopen
    das Rezept ist nur mit Eiern gut
    Milch nur mit Hafer ersetzen
    wir vertragen keine Verzögerung
    chocolate makes me happy
"""
ASKED = """
    does aspirin make you sick?
    reagiert Frida auf Bienenstiche?
    verträgt Emil keine Milch?
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("sentence", lines(HARMFUL))
def test_what_harms_somebody_is_recognised_in_seven_languages(sentence: str) -> None:
    assert states_health_risk(sentence)


@pytest.mark.parametrize("sentence", lines(HARMLESS))
def test_what_no_body_reacts_to_is_no_harm(sentence: str) -> None:
    assert HARMS.search(sentence) is None


@pytest.mark.parametrize("sentence", lines(ASKED))
def test_a_question_states_no_harm(sentence: str) -> None:
    assert not states_health_risk(sentence)
