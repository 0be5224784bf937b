"""Rules that a person lists, and lines that lead to a list."""

from __future__ import annotations

import pytest

from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.language.rule_lists import MORE, RULES_CHARS_MAX, rule_texts, with_items
from memd.sleep.distil.language.words import words

_RULES = """\
# Pages
Never fetch data inside a page
Always place shared parts in src/parts/
Use the theme for every colour
# Hooks
Always keep hooks apart from the pages
Never read the address inside a hook
Every hook must return:
{ data, error }
"""


def _memories(user: str, *agent: str) -> list[tuple[NapKind, str]]:
    before = [{"role": "assistant", "content": text} for text in agent]
    turn = [{"role": "user", "content": user}, {"role": "assistant", "content": "That is done."}]
    return [(each.kind, each.text) for each in distil(SessionTurns.of([*before, *turn]))]


def test_rules_are_told_by_heading_with_those_that_say_neither_always_nor_never() -> None:
    assert rule_texts(_RULES) == (
        "Pages:\n- Never fetch data inside a page\n- Always place shared parts in src/parts/\n"
        "- Use the theme for every colour\nHooks:\n- Always keep hooks apart from the pages\n"
        "- Never read the address inside a hook\n- Every hook must return: { data, error }",
    )


def test_a_long_page_of_rules_is_several_memories_and_its_cut_is_marked() -> None:
    page = "\n".join(
        f"# Part {part}\n"
        + "\n".join(f"Never use the {part * 10 + at}th way of it" for at in range(9))
        for part in range(1, 20)
    )
    texts = rule_texts(page)
    assert len(texts) == 5
    assert all(len(text) < RULES_CHARS_MAX + len(MORE) + 1 for text in texts)
    assert [text.endswith(MORE) for text in texts] == [False, False, False, False, True]
    assert all(text.startswith("Part ") for text in texts)


def test_a_page_of_rules_is_preferences_and_no_plan() -> None:
    page = _RULES * 5
    assert len(page) > 1000
    assert words(page).plan == ""
    assert {kind for kind, text in _memories(page) if "fetch" in text} == {NapKind.PREFERENCE}


def test_rules_in_the_words_of_a_message_are_told_once() -> None:
    listed = "\n".join(f"- never use the {at}th way" for at in range(6))
    texts = [text for _, text in _memories(f"Our pages:\n\n{listed}") if "4th" in text]
    assert texts == [f"Our pages:\n{listed}"]


@pytest.mark.parametrize(
    "text",
    [
        "- never fetch\n- use hooks\n- move the list up\n- add a button",
        # What must stay as it is for now.
        "- Do not change the plan.\n- Do not touch the tests.\n- Don't add routes.\n- Never edit.",
        "```\nnever a\nnever b\nnever c\nnever d\n```",
        "We never push.\n\nIt is slow, and nobody knows why it is.\n\nAlways ask.",
    ],
)
def test_what_is_no_list_of_rules_is_read_line_by_line(text: str) -> None:
    assert rule_texts(text) == ()


def test_a_line_that_a_rule_only_contains_stays() -> None:
    rules = "- never fetch\n- always use hooks\n- no borders: they flicker\n- must be pure"
    own = words(f"{rules}\n\nhooks\n\nborders\nno borders: they flicker").without_rules()
    assert own.paragraphs == ("hooks", "borders")


@pytest.mark.parametrize("items", ["{ data, error }", "{\ndata,\nerror", "data: T;\nerror"])
def test_a_line_that_was_joined_to_its_rule_is_told_with_it(items: str) -> None:
    page = f"{_RULES.replace('{ data, error }', items)}\nerror"
    own = words(page)
    assert "must return: " in own.rules[0]
    assert own.without_rules().paragraphs == ()


def test_rules_that_the_agent_wrote_are_not_the_user_s() -> None:
    listed = "\n".join(f"- never use the {at}th way of doing it here" for at in range(6))
    assert [kind for kind, _ in _memories(f"Add these.\n\n{listed}", f"Rules:\n{listed}")] == []


def test_a_line_keeps_what_it_leads_to() -> None:
    lead = "Install only these libraries and never any others:"
    text = f"{lead}\n\n- axios\n- zustand\n\nThanks."
    assert _memories(text) == [(NapKind.CONSTRAINT, f"{lead} axios; zustand")]
    code = "A hook must return:\n\n```ts\ninterface Result {\n  data: T;\n}\n```"
    assert with_items("A hook must return:", code) == (
        "A hook must return: interface Result { data: T; }"
    )


def test_a_list_that_is_cut_says_so() -> None:
    text = "Use only:\n" + "\n".join(f"- the library number {at} of all" for at in range(20))
    assert with_items("Use only:", text).endswith(f"; {MORE}")


def test_a_line_is_not_told_twice() -> None:
    text = "Use only:\n- axios\n- zustand"
    assert with_items("Use only:\n- axios\n- zustand", text) == "Use only:\n- axios\n- zustand"
