"""Where a named thing is, as somebody plainly says it."""

from __future__ import annotations

import pytest

from memd.sleep.distil.distil import ReadSession, distil
from memd.sleep.distil.environment.places import find_place, moves


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("Note: staging is at https://old.example:8443 and you need the VPN for it.", "https:"),
        ("fyi the staging server is https://new.example:8443", "https:"),
        ("Grafana is at http://10.20.0.5:3000, user viewer", "http:"),
        ("The log files are in /var/log/lagerhaus/api.log", "/var/log"),
        ("The database runs on port 5433", "5433"),
        ("The tests need docker compose up -d db first.", "docker compose up -d db"),
        ("staging moved: it's https://new.example now", "https:"),
        ("You can find the API docs under https://docs.example/api", "https:"),
        ("The staging host is web1.shop.internal", "web1"),
        ("The Sentry project id is 4711", "4711"),
        ("The ledger uses Postgres 16", "postgres 16"),
        ("Der Staging-Server läuft auf https://stage.example:8443", "https:"),
        ("Die Logs liegen unter /var/log/api.log", "/var/log"),
        ("Grafana ist auf Port 3000 erreichbar", "3000"),
        ("Le serveur de staging tourne sur https://stage.example", "https:"),
        ("Les logs se trouvent dans /var/log/api.log", "/var/log"),
        ("El servidor de staging corre en https://stage.example", "https:"),
        ("La base de datos se encuentra en db1.example:5432", "db1"),
        ("Il server di staging gira su https://stage.example", "https:"),
        ("O servidor roda na porta 8080", "8080"),
        ("De logs staan in /var/log/api.log", "/var/log"),
    ],
)
def test_a_named_thing_has_its_place(sentence: str, place: str) -> None:
    named = find_place(sentence)
    assert named is not None
    assert named.place.startswith(place)


@pytest.mark.parametrize(
    "sentence",
    [
        "check the logs in /var/log/api.log",
        "the error is at src/main.py:42",
        "it says the file is in /var/x.log",
        "The login is broken at https://stage.example/login",
        "I put the screenshot in /home/ada/shot.png",
        "the page is at localhost:3000 but it shows nothing",
        "it's running on http://localhost:5173",
        "the server is running on port 3000",
        "is staging at https://stage.example?",
        "if the database is on port 5433 it fails",
        "The meeting is at 10:30",
        "The margin is about 10 pixels",
        "The route is /api/stock",
        "The check is in auth.ts:120",
    ],
)
def test_what_is_of_the_moment_or_names_nothing_has_none(sentence: str) -> None:
    assert find_place(sentence) is None


def test_a_thing_moves_to_another_place_of_the_same_sort() -> None:
    old = "The database runs on port 5432."
    assert moves("fyi the database runs on port 5433 now", old)
    assert not moves("the database is at db.example:5432", old)
    assert not moves("The test database runs on port 5433", old)
    server = "Staging server is at https://stage.example"
    assert not moves("The staging database is at db.example:5432", server)
    assert moves("Der Staging-Server läuft auf https://new.example", server)
    assert not moves("The database runs on port 5433", f"{old} The user is stock_rw.")


def test_a_place_is_kept_and_the_newer_of_a_session_counts() -> None:
    messages = [
        {"role": "user", "content": "Note: staging is at https://old.example:8443"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "staging moved: it's https://new.example now"},
    ]
    memories = [each.text for each in distil(ReadSession.of(messages)) if each.slot != "digest"]
    assert memories == ["staging moved: it's https://new.example now"]
