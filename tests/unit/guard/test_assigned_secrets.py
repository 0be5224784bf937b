"""What is assigned to a name of a secret is one, if it is made like one, whoever issued it.

``assigned_secrets.txt`` has invented secrets between bars, ``no_secrets.txt`` what resembles them.
"""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from memd.guard.secrets import screen

HERE = Path(__file__).parent
SECRETS = (HERE / "assigned_secrets.txt").read_text("utf-8").splitlines()
BENIGN = (HERE / "no_secrets.txt").read_text("utf-8").splitlines()
TOUCHED_MAX = 2
"""Of BENIGN: words with a number in the place of a password ("the password field is Textarea2")."""

LETTERS, LOWER = string.ascii_letters + string.digits, string.ascii_lowercase + string.digits
FORMS = {
    "32 of hex": (string.hexdigits[:16], 32),
    "16 of hex": (string.hexdigits[:16], 16),
    "24 of base 36": (LOWER, 24),
    "20 of base 62": (LETTERS, 20),
    "40 of base 62": (LETTERS, 40),
    "43 of base64url": (LETTERS + "-_", 43),
}
PLACES = ("X_TOKEN={}", 'api_key: "{}"', "the api token is {}", "client_secret = '{}'")


@pytest.mark.parametrize("line", SECRETS)
def test_a_secret_that_is_assigned_is_replaced_and_nothing_beside_it(line: str) -> None:
    before, secret, after = line.split("|")
    screening = screen(f"{before}{secret}{after}")
    assert len(screening.kinds) == 1
    assert screening.text == f"{before}[secret:{screening.kinds[0]}#1]{after}"


def test_what_resembles_an_assigned_secret_stays() -> None:
    assert len(BENIGN) == 60
    touched = [line for line in BENIGN if screen(line).kinds]
    assert len(touched) <= TOUCHED_MAX, touched


@pytest.mark.parametrize("form", FORMS)
def test_of_generated_values_at_least_95_of_a_hundred_are_replaced(form: str) -> None:
    chance = random.Random(form)  # nothing here is to be kept secret
    alphabet, count = FORMS[form]
    values = ["".join(chance.choices(alphabet, k=count)) for _ in range(400)]
    replaced = [value not in screen(chance.choice(PLACES).format(value)).text for value in values]
    assert sum(replaced) >= 0.95 * len(values)


def test_a_hash_opens_nothing_after_a_key_of_no_known_purpose() -> None:
    digest = "b5c09e7f1d3a48266f90d7be21c4a853"
    for name in ("key", "cache key", "sort_key", "CACHE_KEY", "Public-Key", "snapshot key"):
        assert screen(f"{name}: {digest}").kinds == ()
    for name in ("api key", "MEDUSA_KEY", "signing-key", "secretKey", "token"):
        assert screen(f"{name}: {digest}").text == f"{name}: [secret:generic-secret#1]"


def test_a_third_party_rule_names_the_secret_that_it_knows() -> None:
    key = "sk_live_" + "0123456789abcdefABCDEF"
    assert screen(f"api_key={key}").kinds == ("stripe-key",)
