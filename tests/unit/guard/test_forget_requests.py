"""Messages that only ask to forget what was said, and others that say more."""

from __future__ import annotations

import pytest

from memd.guard.forget_requests import is_forget_request


@pytest.mark.parametrize(
    "text",
    [
        "forget what i told you about my blood pressure",
        "forget that i said the thing about my knee ... i don't want birte or mum to know",
        "Please forget everything I said about my divorce.",
        "can you forget what I told you about Sam?",
        "forget I ever mentioned the divorce",
        "delete everything you know about my knee",
        "forget my phone number please",
        "vergiss bitte die nummer von tilos mama, die stimmt nicht mehr",
        "und vergiss das mit dem etf, ich mach doch keinen",
        "vergiss bitte, was ich dir über meine Schulden erzählt habe",
        "vergiss, dass ich dir von der Diagnose erzählt habe",
        "oublie ce que je t'ai dit sur mon genou",
        "olvida lo que te dije de mi rodilla",
        "esquece o que eu te disse sobre o Rui",
        "dimentica quello che ti ho detto di Marco",
        "vergeet wat ik je over mijn knie heb verteld",
    ],
)
def test_who_asks_to_forget_names_what_was_said(text: str) -> None:
    assert is_forget_request(text)


@pytest.mark.parametrize(
    "text",
    [
        *("forget it", "forget about it", "forget the tests for now", "forget the address bar"),
        "don't forget what i told you about the dentist",
        "vergiss nicht: brot kaufen",
        "vergiss das mit dem Zahnarzt nicht",
        "vergiss nicht, was ich dir gesagt habe",
        "forget what I said about tabs, use spaces",
        "meh. forget cargo-dist, hand written action",
        "did you forget what I told you about the knee?",
        "remove everything we wrote to the table",
        "delete what I wrote in main.py",
        "vergiss die Migration, wir nehmen Alembic",
        "lösche die Datei mit den Logs",
        "she told me to forget what he said",
    ],
)
def test_who_drops_an_idea_or_says_more_does_not(text: str) -> None:
    assert not is_forget_request(text)
