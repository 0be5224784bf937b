"""What a language model is asked for fits into the answer that it may give."""

from __future__ import annotations

from memd.domain.enums import Origin
from memd.sleep.distil.digest import FIELDS
from memd.sleep.distil.exchanges import NapKind, NapMemory
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
    merge,
)
from memd.sleep.nap.preparation import extract, read
from memd.sleep.transcript.consolidator import MemoryConsolidator
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


def test_a_digest_by_rule_tells_what_the_model_took_from_the_memories() -> None:
    rule = "From now on we deploy with blue-green, never in place."
    lines = (
        ("user", "Add a retry to the upload client in src/upload.ts, please."),
        ("assistant", "The upload in src/upload.ts is sent three times now."),
        ("user", rule),
        ("assistant", "It is shown on http://localhost:8080/files."),
    )
    messages = [{"role": role, "content": content} for role, content in lines]
    draft = extract(read(messages, distils=True), rule=MemoryConsolidator())
    *_, by_rule = draft.memories
    assert rule not in by_rule.text
    fact = NapMemory(lines[1][1], NapKind.OUTCOME, (1,), "written", Origin.ASSISTANT)
    *memories, last = merge(draft, [fact], {0, 1, 2, 3}, None).memories
    assert memories == [fact]
    assert f"Asked last: {rule}" in last.text
