"""What one sentence of a later session takes back, and what only sounds so."""

from __future__ import annotations

import pytest

from memd.sleep.nap.taken_back import find_taken_back

MAIL = "Send all mail through Mailgun."


@pytest.mark.parametrize(
    "later",
    [
        "We no longer send mails through Mailgun, Brevo does it.",
        "I changed my mind: no Mailgun to send mail.",
        "Scrap Mailgun for all the mail that we send.",
        "User: On second thought, send mail through Brevo, Mailgun is dear.\nOutcome: Done.",
    ],
)
def test_one_sentence_takes_back_what_it_is_about(later: str) -> None:
    earlier = [(1, MAIL), (2, "Keep the shop in German."), (3, f"User: {MAIL}\nOutcome: Set up.")]
    assert find_taken_back(later, earlier) == [1, 3]


@pytest.mark.parametrize(
    "later",
    [
        "Send the mail through Mailgun, and the invoices too.",
        "Test the Mailgun mail. We no longer need the fax.",
        "Rename the mail folder instead.",
        "Ask the shop, the bank, the courier and the lawyer who Mailgun is and why the mail of May "
        "was sent twice, and list each customer, address, order, price and date there instead.",
    ],
)
def test_other_sentences_and_long_ones_take_nothing_back(later: str) -> None:
    assert find_taken_back(later, [(1, MAIL)]) == []


def test_a_review_with_the_rules_of_another_takes_back_none_of_them() -> None:
    rules = "clear names; idiomatic code; readable rather than clever; why comments instead of how"
    one = f"/code-review pays attention to: {rules}"
    assert find_taken_back(f"/pr-review pays attention to: {rules}", [(1, one)]) == []
