"""What is otherwise now takes the place of its old value, and of nothing that only sounds alike."""

from __future__ import annotations

import pytest

from memd.sleep.nap.value_updates import (
    announces_update,
    find_old_values,
    find_replaced_values,
    sets_new_value,
)


def _replaces(new: str, old: str) -> bool:
    return announces_update(new) and find_replaced_values(new, [(1, old)]) == [1]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("the staging host is kite-9 now", "the staging host is kite-7"),
        ("we deploy from tags now, not main", "we deploy from main"),
        ("Deborah left, my new manager is Priya", "my manager is Deborah"),
        ("call me Joanna from now on", "call me Jo please"),
        (
            "full refund is now up to 48h before the start",
            "full refund up to 24h before the start, after that 50%",
        ),
        ("Ben is 10 now", "Ben is 9"),
        ("so, the port is 8081 now", "the port is 8080"),
        ("our rate is now 85 an hour", "our rate is 70 an hour"),
        ("I live in Leeds now", "I live in Bristol"),
        ("we're on node 22 now", "we're on node 20"),
        ("we use Postgres for the ledger now", "we use MySQL for the ledger"),
        ("Naz\u2019s party is on the 5th now", "Naz's party is on the 4th"),
        ("the recital is now on 2 June, the hall is taken", "the recital will be on 30 May at 8"),
        ("Petra is away on 3 May so the recital is now on 10 May", "the recital is on 3 May"),
        ("the physio now comes three times a week", "the physio comes twice a week"),
        ("my father now takes ramipril twice a day, at 8", "my father takes ramipril once a day"),
        ("my son now has piano on Thursdays at 17:00", "my son has piano on Tuesdays at 16:30"),
    ],
)
def test_a_new_value_takes_the_place_of_the_old_one(new: str, old: str) -> None:
    assert _replaces(new, old)
    assert not _replaces(old, new)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("the car is broken now", "the car is red"),
        ("the staging host is slow now", "the staging host is kite-7"),
        ("Sam takes the bus to school now", "Leila takes the bus to school"),
        ("Ida is in bed now", "Ida is in Bristol"),
        ("we deploy the docs from main now", "we deploy from main"),
        ("I work at Rolls now", "I work with Priya"),
        ("Ben is 10 now", "Ben is allergic to nuts"),
        ("Ben is 10 now", "Ben is 9. He is allergic to nuts."),
        ("Naz has 3 kids now", "Naz has 2 dogs"),
        ("we use Sentry now", "we use Postgres"),
        ("we use Redis for the queue now", "we use Postgres for the ledger"),
        ("I like tea now", "I like coffee"),
        ("I'm on holiday now", "I'm on node 20"),
        ("I'm at 80 kg now", "I'm at 5 Elm Road"),
        ("her new manager is Priya", "my manager is Deborah"),
        ("the concert is now on 21 june", "the party will be on 14 june"),
        ("the cleaner now comes twice a month", "the physio comes three times a week"),
        ("my mother now takes ramipril at 9", "my father takes ramipril at 8"),
        ("is the port 8081 now?", "the port is 8080"),
        ("Maya is allergic to cashews now", "Maya is allergic to peanuts"),
        ("Maya is allergic to Kiwi now as well", "Maya is allergic to Penicillin"),
        ("my son goes to Scouts now", "my son goes to Oakwood school"),
        ("my son goes to Scouts now", "my son goes to Karate"),
        ("Leo is in Year 3 now", "Leo is in Mrs Kaur's class"),
        ("my mum lives with Carol now", "my mum lives with Parkinson's"),
        ("the api uses Redis for caching now", "the api uses Postgres for billing"),
        ("we deploy to Fly now as well", "we deploy to Hetzner"),
        ("we deploy to Fly now", "we deploy to Hetzner"),
        ("I meet with Sam on Mondays now", "I meet with Jo on Fridays"),
        ("Mia is in London until Friday now", "Mia is in Paris"),
        ("I work at Rolls on Mondays now", "I work at Google"),
        ("dinner is at 8 tonight now", "dinner is at 7"),
        ("the port is 8081", "the port is 8080"),
    ],
)
def test_what_only_sounds_alike_stays(new: str, old: str) -> None:
    assert not _replaces(new, old)


TIMEOUT = "In answer to: The gateway's timeout is 30 seconds."


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (
            f"User: raise the timeout of the gateway to 60\n{TIMEOUT}",
            "the gateway needs a timeout of 30",
        ),
        ("bump the minimum of Node from 18.1 to 20.2 for the build", "the build runs on Node 18.1"),
        (
            "the shop closes at 18:00 on Saturdays, not 16:00. it is now 18:00",
            "Saturdays the shop is open until 16:00",
        ),
    ],
)
def test_a_value_that_is_set_anew_takes_the_place_of_the_one_told_beside_it(
    new: str, old: str
) -> None:
    assert sets_new_value(new)
    assert find_old_values(new, [(1, old)]) == [1]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (
            f"User: raise the timeout of the gateway to 60\n{TIMEOUT}",
            "30 people come to the summer party",
        ),
        (
            f"User: raise the timeout of the gateway to 60\n{TIMEOUT}",
            "the gateway's timeout is 30, the worker's 60",
        ),
        (
            f"User: the timeout of the gateway is fine\n{TIMEOUT}",
            "the gateway needs a timeout of 30",
        ),
        ("set the size of the page to 50", "the size of the page is 20"),
        ("bump the minimum of Node from 18.1 to 20.2", "the build of Node takes 18 minutes"),
        (
            "the dose of the tablets is now 10 mg, not 5 mg",
            "she is allergic to the 5 mg tablets, to any dose",
        ),
    ],
)
def test_a_value_of_another_thing_or_make_stays(new: str, old: str) -> None:
    assert find_old_values(new, [(1, old)]) == []
