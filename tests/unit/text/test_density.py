"""SPEC 16.7, D10: which texts are dense."""

from __future__ import annotations

import pytest
from support.entries import an_entry
from support.work_units import effort

from memd.domain.sleep.consolidation import ContentDensity
from memd.text.density import DensityClassifier, classify_batch, score

DENSE = {
    "a function of three lines": (
        "def order_total(lines):\n"
        "    total = sum(line.price for line in lines)\n"
        "    return total * 1.19  # with tax\n"
    ),
    "a flat JSON object with three keys": '{"id": "u-42", "state": "open", "share": 0.75}',
    "a nested JSON object": '{"server": {"port": 8080}, "version": "2.1.0"}',
    "a configuration of five lines with an address": (
        "host: 192.168.1.100\nport: 5432\ndatabase: shop_live\nmax_connections: 50\ntimeout: 30s\n"
    ),
    "a configuration of plain words": "host: localhost\nport: 5432\ndebug: true\nname: web",
    "hash, uuid and address, one a line": (
        "0123456789abcdef0123456789abcdef01234567\n"
        "550e8400-e29b-41d4-a716-446655440000\n"
        "https://api.example.com/v2/users/12345\n"
    ),
    "hash, uuid and address, with their names": (
        "commit: 0123456789abcdef0123456789abcdef01234567\n"
        "uuid: 550e8400-e29b-41d4-a716-446655440000\n"
        "url: https://api.example.com/v2/users/12345\n"
    ),
    "one uuid": "550e8400-e29b-41d4-a716-446655440000",
    "variables of an environment": "API_KEY=abc\nDEBUG=true\nPORT=80",
    "a command": "git commit -m 'x' && docker compose up -d --build",
    "a query": "SELECT id, name FROM users WHERE age > 30 ORDER BY name;",
    "JavaScript": "const x = await fetch(url);\nif (!x.ok) {\n  throw new Error('bad');\n}",
    "lines of a log": "2026-03-01 12:00:01 ERROR worker failed id=123\n2026-03-01 12:00:02 INFO ok",
    "a traceback": 'Traceback:\n  File "app.py", line 3, in main\n    run(x)\nValueError: bad',
}
SPARSE = {
    "a greeting": "Hello, how are you today?",
    "a narrative": (
        "We spoke about the plan for the spring and settled what comes first. "
        "Signing in goes before the new start page, whatever the others would prefer."
    ),
    "an opinion": (
        "I believe another way of caching would serve us better. This one is too complicated "
        "and may well give us trouble when many people come at once."
    ),
    "prose with two parentheses and a semicolon": (
        "We met (twice) last week to talk about the move; everyone agreed (more or less)."
    ),
    "three short bullets": "- buy milk\n- call Ada\n- water plants",
    "ten bullets": "\n".join(f"- something to do on the {day}" for day in "abcdefghij"),
    "a dialogue": "Alice: hi\nBob: hello\nAlice: how are you?\nBob: fine, thanks",
    "a note": "Note: remember the milk",
    "an address in a sentence": "The details of it are at https://example.com/trips if you like.",
    "names with capitals": "I compared PostgreSQL, GitHub and TensorFlow with McDonald last week.",
    "ordinary long words": "Surprisingly comfortable accommodation throughout",
    "nothing": "",
}

HOSTILE = (
    *("ab12-", "a_", "aB", "a.", "a,", "<a", '"a', "/a", "a=", "-a", "1.", "if ", "\n ", "a: b "),
    *("(", "=", "return x\n", "12345678-1234-", "~", "https://", "a", " ", '"'),
)


@pytest.mark.parametrize("text", DENSE.values(), ids=DENSE)
def test_code_data_and_configuration_are_dense_by_default(text: str) -> None:
    assert DensityClassifier().classify(text) is ContentDensity.DENSE


@pytest.mark.parametrize("text", SPARSE.values(), ids=SPARSE)
def test_conversation_and_narrative_are_sparse_by_default(text: str) -> None:
    assert DensityClassifier().classify(text) is ContentDensity.SPARSE


def test_dense_is_what_scores_at_least_the_threshold() -> None:
    text = DENSE["one uuid"]
    exactly = score(text)
    assert DensityClassifier(exactly).classify(text) is ContentDensity.DENSE
    assert DensityClassifier(exactly + 0.001).classify(text) is ContentDensity.SPARSE


def test_a_low_threshold_finds_one_pair_dense_and_a_high_one_finds_json_sparse() -> None:
    half = "Some partially structured content: key=value"
    assert DensityClassifier(dense_threshold=0.01).classify(half) is ContentDensity.DENSE
    assert DensityClassifier().classify(half) is ContentDensity.SPARSE
    assert DensityClassifier(1.0).classify('{"key": "value"}') is ContentDensity.SPARSE


@pytest.mark.parametrize("text", [*DENSE.values(), *SPARSE.values()])
def test_threshold_0_makes_everything_dense_and_1_everything_sparse(text: str) -> None:
    assert DensityClassifier(0.0).classify(text) is ContentDensity.DENSE
    assert DensityClassifier(1.0).classify(text) is ContentDensity.SPARSE
    assert 0.0 <= DensityClassifier().score(text) < 1.0


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_outside_of_0_to_1_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="dense_threshold"):
        DensityClassifier(dense_threshold=threshold)


def test_camel_case_needs_its_capitals() -> None:
    assert score("the callMeLater and fooBarBaz names") > 0.3
    assert score("the callmelater and foobarbaz names") == 0.0


def test_a_batch_is_paired_in_the_order_given() -> None:
    texts = (an_entry("s", content=SPARSE["a greeting"]), an_entry("d", content=DENSE["one uuid"]))
    expected = tuple(zip(texts, (ContentDensity.SPARSE, ContentDensity.DENSE), strict=True))
    assert DensityClassifier().classify_batch(texts) == expected
    assert classify_batch(texts) == expected
    assert DensityClassifier().classify_batch(()) == ()
    assert classify_batch(texts, dense_threshold=0.0)[0][1] is ContentDensity.DENSE


@pytest.mark.parametrize(
    ("piece", "chars"), [*((one, 100_000) for one in HOSTILE), ("ab12-", 10**6)]
)
def test_a_text_made_to_be_slow_costs_no_more_than_its_length(piece: str, chars: int) -> None:
    text = piece * (chars // len(piece))
    with effort() as spent:
        assert 0.0 <= score(text) < 1.0
    # Under 100 a megabyte; what grows with the square takes 500 for the short ones.
    assert spent.units < 400
