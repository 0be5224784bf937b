"""Which of the texts beside a question an answer took up: an estimate by words of their own."""

from __future__ import annotations

import pytest

from memd.learn.measured_uptake import key_terms, measure_uptake

GIVEN = {
    "port": "The staging proxy listens on port 8443.",
    "bucket": "Nightly archives go to the Fjord bucket.",
    "path": "The settings of the proxy stand in /etc/proxy/site.conf.",
    "tone": "He likes answers that are short and to the point.",
}


@pytest.mark.parametrize(
    ("answer", "taken_up"),
    [
        ("Use 8443.", {"port"}),
        ("I copied them to the fjord bucket and edited /etc/proxy/site.conf", {"bucket", "path"}),
        ("The staging proxy listens on a port.", set()),
        ("Port 84430 it is.", set()),
        ("", set()),
    ],
)
def test_an_answer_takes_up_what_it_has_the_own_words_of(answer: str, taken_up: set[str]) -> None:
    uptake = measure_uptake("Where does it listen?", GIVEN, answer)

    assert uptake.recognisable == {"port", "bucket", "path"}
    assert uptake.taken_up == taken_up


def test_what_the_question_says_itself_tells_nothing() -> None:
    uptake = measure_uptake(
        "Is 8443 the port, or does Fjord have another?", GIVEN, "8443, for Fjord."
    )

    assert uptake.recognisable == {"path"}
    assert uptake.taken_up == set()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("We deploy in 3 steps. Then we rest.", set()),
        ("It is getUserName, or MAX_ROWS, by Grace Hopper.",
         {"getusername", "max_rows", "grace", "hopper"}),
        ("Mail ops@example.org about v2.4.1 on 2026-03-17", {"ops@example.org", "v2.4.1",
         "2026-03-17"}),
        ("\u6771\u4eac\u3067\u306f 8443", {"8443"}),
    ],
)  # fmt: skip
def test_numbers_names_paths_and_identifiers_are_the_own_words(text: str, terms: set[str]) -> None:
    assert key_terms(text) == terms
