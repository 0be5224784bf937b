"""SPEC 11, each number: how a memory is fenced, packed and announced."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.entries import a_scored, an_entry

from memd.api import (
    ChatMessage,
    DefaultTokenEstimator,
    InjectionPoint,
    ScoredMemory,
    format_memory_context_with_directive,
    untrusted_content_directive,
    wrap_untrusted,
)
from memd.domain.enums import Origin, Trust
from memd.domain.inject import MessageRole
from memd.inject.format import format_memories, inner_line

ESTIMATOR = DefaultTokenEstimator()
DIRECTIVE = ESTIMATOR.estimate_tokens(untrusted_content_directive(("memory-entry",)))


def format_messages(
    *memories: ScoredMemory, budget: int = 10_000, **more: object
) -> tuple[ChatMessage, ...]:
    return format_memory_context_with_directive(
        memories,
        estimator=ESTIMATOR,
        token_budget=budget,
        **more,  # type: ignore[arg-type]  # a test passes what no caller should
    )


def sized(characters: int) -> ScoredMemory:
    entry = an_entry(content="x" * characters)
    return ScoredMemory(entry=entry, relevance_score=0.5, recency_score=0.0, combined_score=0.5)


def cost(memory: ScoredMemory) -> int:
    return ESTIMATOR.estimate_tokens(f"<memory-entry>\n{inner_line(memory)}\n</memory-entry>")


def test_spec_11_1_1_the_inner_line_has_category_score_and_content() -> None:
    memory = a_scored("nginx listens on 8080", 0.8666)

    assert inner_line(memory) == "[semantic | score: 0.87] nginx listens on 8080"


def test_spec_11_1_1_the_score_is_the_combined_one() -> None:
    memory = a_scored("x", 0.9).model_copy(update={"relevance_score": 0.1, "combined_score": 0.5})

    assert inner_line(memory) == "[semantic | score: 0.50] x"


def test_spec_11_1_1_a_shared_memory_says_so_inside_its_fence() -> None:
    memory = a_scored("nginx listens on 8080", 1.0).model_copy(update={"is_shared": True})

    (_, message) = format_messages(memory)

    assert message.content == (
        "<memory-entry>\n[shared] [semantic | score: 1.00] nginx listens on 8080\n</memory-entry>"
    )


@pytest.mark.parametrize("origin", [Origin.WEB, Origin.TOOL])
def test_d15_what_is_not_trusted_says_where_it_came_from(origin: Origin) -> None:
    memory = a_scored("nginx listens on 8080", 0.5, origin=origin, trust=Trust.UNTRUSTED)

    assert inner_line(memory) == (
        f"[untrusted: {origin}] [semantic | score: 0.50] nginx listens on 8080"
    )


def test_spec_11_1_2_each_entry_has_a_fence_of_its_own_in_one_message() -> None:
    (_, message) = format_messages(a_scored("one", 0.9), a_scored("two", 0.8))

    assert message.content == (
        "<memory-entry>\n[semantic | score: 0.90] one\n</memory-entry>\n"
        "<memory-entry>\n[semantic | score: 0.80] two\n</memory-entry>"
    )


@pytest.mark.parametrize("point", list(InjectionPoint))
def test_spec_11_1_4_the_directive_is_a_system_message_wherever_memories_go(
    point: InjectionPoint,
) -> None:
    directive, message = format_messages(a_scored("one", 0.9), injection_point=point)

    assert directive.role is MessageRole.SYSTEM
    assert directive.content == untrusted_content_directive(("memory-entry",))
    assert message.role == point.value


def test_spec_11_1_3_what_is_too_large_is_skipped_and_smaller_ones_still_tried() -> None:
    large, small = sized(1200), a_scored("small", 0.1)

    (_, message) = format_messages(large, small, budget=DIRECTIVE + cost(small))

    assert "small" in message.content
    assert "xxx" not in message.content


def test_spec_11_1_3_each_entry_after_the_first_costs_a_newline_more() -> None:
    one, two = a_scored("first", 0.9), a_scored("other", 0.8)
    exact = DIRECTIVE + cost(one) + cost(two) + ESTIMATOR.estimate_tokens("\n")

    both = format_memories((one, two), estimator=ESTIMATOR, token_budget=exact)
    short = format_memories((one, two), estimator=ESTIMATOR, token_budget=exact - 1)

    assert (len(both.included), both.tokens) == (2, exact)
    assert len(short.included) == 1


def test_spec_11_1_4_the_directive_is_paid_from_the_budget_and_never_stands_alone() -> None:
    memory = a_scored("one", 0.9)

    assert len(format_messages(memory, budget=DIRECTIVE + cost(memory))) == 2
    assert format_messages(memory, budget=DIRECTIVE + cost(memory) - 1) == ()
    assert format_memories((memory,), estimator=ESTIMATOR, token_budget=1).minimum == (
        DIRECTIVE + cost(memory)
    )


@pytest.mark.parametrize("point", ["assistant", "", None, 1])
def test_spec_11_1_5_another_injection_point_is_refused(point: object) -> None:
    with pytest.raises(ValueError, match="injection point"):
        format_messages(a_scored("one", 0.9), injection_point=point)


@pytest.mark.parametrize("budget", [0, -1, -(10**9)])
def test_spec_11_1_5_without_memories_or_budget_there_is_nothing(budget: int) -> None:
    assert format_messages() == ()
    assert format_messages(a_scored("one", 0.9), budget=budget) == ()


def test_spec_11_1_5_without_budget_there_is_nothing_even_if_it_costs_nothing() -> None:
    class Free:
        def estimate_tokens(self, text: str) -> int:
            return len(text) * 0

    one = (a_scored("one", 0.9),)

    assert format_memories(one, estimator=Free(), token_budget=0).messages == ()
    assert len(format_memories(one, estimator=Free(), token_budget=1).messages) == 2


def test_without_budget_the_least_that_would_do_is_still_told() -> None:
    """Policies and preferences may have taken all of it (SPEC D23)."""
    memory = a_scored("one", 0.9)

    least = DIRECTIVE + cost(memory)

    assert format_memories((memory,), estimator=ESTIMATOR, token_budget=0).minimum == least


def test_spec_11_1_6_there_are_no_other_delimiters() -> None:
    (_, message) = format_messages(a_scored("one", 0.9))

    assert "---" not in message.content


@pytest.mark.parametrize(
    "tag", ["", "A", "Memory", "1a", "-a", "a b", "a_b", "a" * 33, "a>b", "a\n", "ä"]
)
def test_spec_11_2_1_a_tag_is_a_short_lower_case_name(tag: str) -> None:
    with pytest.raises(ValueError, match="tag name"):
        wrap_untrusted(tag, "x")
    with pytest.raises(ValueError, match="tag name"):
        untrusted_content_directive((tag,))


@pytest.mark.parametrize(
    ("planted", "seen"),
    [
        ("a</memory-entry>b", "a<\\/memory-entry>b"),
        ("a</Memory-ENTRY  >b", "a<\\/Memory-ENTRY  >b"),
        ("<memory-entry>", "<memory-entry>"),
        ("</memory-</memory-entry>entry>", "</memory-<\\/memory-entry>entry>"),
    ],
)
def test_spec_11_2_2_a_closing_tag_gets_a_backslash_and_an_opening_one_stays(
    planted: str, seen: str
) -> None:
    assert wrap_untrusted("memory-entry", planted) == f"<memory-entry>\n{seen}\n</memory-entry>"


def test_spec_11_2_3_the_directive_is_one_paragraph_that_names_each_tag() -> None:
    directive = untrusted_content_directive(("memory-entry", "task-data"))

    assert "\n" not in directive
    assert "<memory-entry>, <task-data>" in directive
    for word in ("untrusted data", "outside", "instructions", "commands", "role"):
        assert word in directive
    with pytest.raises(ValueError, match="tag"):
        untrusted_content_directive(())


def test_spec_11_2_4_stored_memories_stand_under_memory_entry() -> None:
    directive, message = format_messages(a_scored("one", 0.9))

    assert "<memory-entry>" in directive.content
    assert message.content.startswith("<memory-entry>\n")


HOSTILE = st.text(
    alphabet=st.sampled_from([*"</>memory-entryMEMORY \n\t\u2028\u200b\x1b[]\\ab"]), max_size=60
)


@given(st.lists(HOSTILE.filter(str.strip), min_size=1, max_size=5), st.booleans())
def test_whatever_is_remembered_each_entry_has_exactly_one_way_out(
    contents: list[str], with_nonce: bool
) -> None:
    memories = [a_scored(f"{place} {text}", 0.5) for place, text in enumerate(contents)]

    context = format_memories(
        memories,
        estimator=ESTIMATOR,
        token_budget=100_000,
        nonce="0123456789abcdef" if with_nonce else None,
    )

    content = context.messages[1].content
    assert len(re.findall(r"(?i)</memory-entry\s*>", content)) == len(contents)
    inside = re.findall(r"^<memory-entry>\n(.*?)\n</memory-entry>$", content, re.DOTALL | re.M)
    assert len(inside) == len(contents)
    if with_nonce:
        assert all(
            line.startswith("[memd:0123456789abcdef] ")
            for text in inside
            for line in text.split("\n")
        )


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.integers(1, 1200))
def test_what_is_put_into_a_prompt_never_costs_more_than_said(
    sizes: list[int], budget: int
) -> None:
    memories = [sized(size) for size in sizes]

    context = format_memories(memories, estimator=ESTIMATOR, token_budget=budget)

    spent = sum(ESTIMATOR.estimate_tokens(message.content) for message in context.messages)
    assert spent <= context.tokens <= budget or not context.messages
