"""What a language model is asked for fits into the answer that it may give."""

from __future__ import annotations

from memd.domain.enums import Origin
from memd.sleep.distil.digest import FIELDS
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.model.nap_writer import (
    REPLY_TOKENS,
    SCHEMA_FACT_CHARS_MAX,
    SCHEMA_FACTS_MAX,
    SCHEMA_LINE_CHARS_MAX,
    SCHEMA_TURNS_MAX,
    WrittenFact,
    WrittenLine,
    WrittenNap,
    _origin,
)
from memd.text.tokens import DefaultTokenEstimator

WORDS = "the server of the staging site listens on port 8443 behind the proxy "
TURNS = tuple(range(100, 100 + SCHEMA_TURNS_MAX))


def longest(facts: int = SCHEMA_FACTS_MAX, scale: int = 1) -> WrittenNap:
    text = (WORDS * 20 * scale)[: SCHEMA_FACT_CHARS_MAX * scale]
    line = (WORDS * 20 * scale)[: SCHEMA_LINE_CHARS_MAX * scale]
    return WrittenNap(
        facts=(WrittenFact(kind=NapKind.ENVIRONMENT, text=text, turns=TURNS * scale),) * facts,
        digest=tuple(WrittenLine(label=label, text=line, turns=TURNS) for label in FIELDS),
    )


def test_the_longest_answer_by_the_schema_is_not_cut() -> None:
    assert DefaultTokenEstimator().count(longest().model_dump_json()) <= REPLY_TOKENS


def test_the_schema_says_how_much_is_asked_for() -> None:
    schema = WrittenNap.model_json_schema()

    assert schema["properties"]["facts"]["maxItems"] == SCHEMA_FACTS_MAX
    assert schema["properties"]["digest"]["maxItems"] == len(FIELDS)
    fact, line = (schema["$defs"][name]["properties"] for name in ("WrittenFact", "WrittenLine"))
    assert (fact["text"]["maxLength"], line["text"]["maxLength"]) == (300, 200)
    assert fact["turns"]["maxItems"] == line["turns"]["maxItems"] == SCHEMA_TURNS_MAX
    assert line["label"]["enum"] == list(FIELDS)


def test_an_answer_that_says_more_is_read_all_the_same() -> None:
    more = longest(SCHEMA_FACTS_MAX + 1, scale=2)
    assert WrittenNap.model_validate_json(more.model_dump_json()) == more


def test_results_of_tools_are_not_the_persons_words() -> None:
    results = [{"type": "tool_result", "tool_use_id": "1", "content": "I prefer tabs."}]
    typed = {"type": "text", "text": "I prefer tabs."}

    assert _origin({"role": "user", "content": results}) is Origin.TOOL
    assert _origin({"role": "user", "content": [typed]}) is Origin.PERSON
