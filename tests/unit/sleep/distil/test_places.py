"""Where a named thing is, as somebody plainly says it."""

from __future__ import annotations

import pytest

from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.environment.places import find_place, moves
from memd.sleep.nap.retractions import find_moved, find_retracted, may_retract


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
        "Wir haben Sentry umgezogen, es läuft jetzt nicht auf sentry.intern:9000",
        "Sentry läuft jetzt auf sentry.intern:9000, aber der Login funktioniert nicht",
        "Hemos movido Sentry, no funciona en sentry.intern:9000",
        "Sentry tourne sur sentry.intern:9000, mais toujours rien",
        "Abbiamo spostato Sentry, ora va bene",
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
    memories = [each.text for each in distil(SessionTurns.of(messages)) if each.slot != "digest"]
    assert memories == ["staging moved: it's https://new.example now"]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (
            "No, staging is stage2.example.org, not stage1.",
            "Actually we moved staging again, it is stage3.example.org since today.",
        ),
        ("Staging liegt auf stage1.example.org", "Staging liegt seit heute auf stage4.example.org"),
        ("Staging lives at s1.example.org", "From Monday on staging lives at s5.example.org."),
        ("The proxy runs on port 3128", "Der Proxy läuft ab heute auf Port 3129."),
        ("The CI runner is ci1.example.org", "Ab sofort ist der CI runner ci2.example.org"),
        (
            "Sentry läuft auf sentry.old:9000",
            "Wir haben Sentry umgezogen, es läuft jetzt auf sentry.intern:9000",
        ),
        (
            "Sentry tourne sur sentry.old:9000",
            "On a déplacé Sentry, ça marche maintenant sur sentry.intern:9000",
        ),
        (
            "Sentry corre en sentry.old:9000",
            "Hemos movido Sentry, ya funciona en sentry.intern:9000",
        ),
        (
            "Sentry gira su sentry.old:9000",
            "Abbiamo spostato Sentry, ora va su sentry.intern:9000",
        ),
        (
            "Sentry roda em sentry.old:9000",
            "Mudamos o Sentry, já funciona em sentry.intern:9000",
        ),
        (
            "Sentry draait op sentry.old:9000",
            "We hebben Sentry verhuisd, het werkt nu op sentry.intern:9000",
        ),
        ("Grafana läuft auf Port 3000", "Grafana läuft jetzt auf Port 3001"),
        ("Use Redis for the session cache", "Valkey replaces Redis for the session cache."),
        (
            "We deploy with Jenkins on tags",
            "We switched from Jenkins to Buildkite for the deploys.",
        ),
    ],
)
def test_what_is_elsewhere_or_replaced_is_kept_and_takes_back(earlier: str, later: str) -> None:
    messages = [
        {"role": "user", "content": "Please add vitest to the frontend."},
        {"role": "assistant", "content": "I added vitest."},
        {"role": "user", "content": later},
    ]
    kept = [each.text for each in distil(SessionTurns.of(messages)) if later in each.text]
    assert len(kept) == 1
    known = [(1, earlier), (2, "The tests run against Postgres 16.")]
    assert may_retract(kept[0])
    assert {*find_moved(kept[0], known), *find_retracted(kept[0], known)} == {1}


@pytest.mark.parametrize(
    "sentence",
    [
        "it is red since today's build",
        "the page moved to the wrong place",
        "since today the login page is blank",
        "we replaced the icon with a star",
        "I moved it to src/util.ts",
    ],
)
def test_what_moved_at_this_moment_is_not_kept(sentence: str) -> None:
    messages = [{"role": "user", "content": sentence}]
    assert [each for each in distil(SessionTurns.of(messages)) if each.slot != "digest"] == []
