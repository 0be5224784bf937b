"""How work is gone about is a wish; a fault that is reported, a page's text, a step are none."""

from __future__ import annotations

from typing import Any

import pytest
from support.distilled_memories import without_digest

from memd.sleep.distil.language.replies import asks_permission, takes_up
from memd.sleep.distil.language.words import words
from memd.sleep.distil.language.work_habits import states_method
from memd.sleep.distil.user.speech_acts import WORTH, Act, judge


def memories_of(*texts: str) -> list[str]:
    """Return what is kept of *texts*, which the user and the agent say by turns."""
    messages: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)
    ]
    return [each.text for each in without_digest(messages)]


@pytest.mark.parametrize(
    ("wish", "moment"),
    [
        ("Favour small modules wherever possible.", "Use the second one if possible."),
        ("Update the handbook as you go.", "Update the handbook with this section."),
        ("Commit often, with small commits.", "Commit it."),
        ("Count the rows twice before you report a sum.", "Count the rows twice."),
        ("Double check the totals before you say they match.", "Double check the second row."),
        ("Before you touch the ledger please make a copy.", "Before you stop please show the log."),
        ("If a column is ambiguous, ask me.", "If a column is empty, it crashes."),
        ("Push back when you disagree.", "Tell me if you see it."),
        ("Tick the list after each milestone.", "Tick the second box."),
        ("After finishing a task, tick it.", "After finishing this, start the next one."),
        ("Follow the conventions of the code around.", "Follow this pattern."),
        ("Check your work.", "Check the second page."),
        ("Treat the archive as read-only.", "Treat that as done."),
        ("Put all scripts under tools.", "Put it under tools."),
        ("Reply in whole sentences.", "Reply with yes or no."),
        ("I usually squash my branches.", "I usually see four rows here."),
        ("We value plain words over short ones.", "I value what you did."),
        ("Clarity is more important than speed.", "The header is more important right now."),
        ("I come from Perl, so compare with that.", "I come from the second page."),
        ("I take care of the releases, you write the notes.", "I take care of it."),
        ("Emoji are not welcome in this repo.", "Emoji are not shown in this list."),
        ("Money is kept in cents everywhere.", "Dates are written twice everywhere."),
        ("It's yarn, not npm, in this repo.", "It's blue, not green."),
        ("Again, no exclamation marks.", "Again, the page is empty."),
        ("Don't forget to update the changelog.", "Don't forget to update this one."),
        ("Note it so that we don't trip over it again.", "Try it so that it runs again."),
        ("Make a rule to never rename columns.", "Make a rule of this colour."),
        ("Do it, don't just say how.", "Do it."),
        ("Write the patch, don't just outline it.", "Write the patch."),
        ("Make sure you edit the ledger directly.", "Make sure it opens this ledger directly."),
        ("Warn me whenever a total is at risk.", "It warns them whenever I open it."),
        ("Let me know if I need to take a decision.", "Let me know if it runs."),
        ("call me Jo", "call me back at five"),
        ("Call me Dr Haddad, not Mrs.", "Call me crazy, but it runs."),
        ("i go by Jo", "i go by train"),
        ("List it first, and once I approve you can start.", "Once I open it you can start."),
        ("Don't rename a thing until I have confirmed it.", "Don't rename it until I am back."),
        ("Plan it first.", "Plan the first page."),
        ("Write code and don't waste tokens.", "The menu is wasting tokens."),
        ("We will follow this workflow: you write, I test.", "They follow this workflow."),
        ("Mend it (stick to the best practices of Perl).", "Mend it (stick to this one)."),
        ("Mend the rows, using small targeted edits.", "Mend the rows, using the small font."),
        ("Run it and try to avoid long names.", "Run it and try to avoid this."),
        ("Don't be lazy.", "It must not be empty."),
        ("You know me, don't ask me for my name.", "They don't ask me."),
        ("Do not bother with backward compatibility.", "Is it backward compatible?"),
    ],
)
def test_how_work_is_gone_about_is_a_wish(wish: str, moment: str) -> None:
    if "Count" not in wish:
        assert judge(wish).act is Act.PREFERENCE
    assert not states_method(moment)


@pytest.mark.parametrize(
    "saying",
    [
        # What was said before and not heeded, whose product it is, and rules to write down
        "That is just what my instructions tried to prevent.",
        "You ignored my rules again.",
        "Nothing is rolled out yet, so rename what you like.",
        "I don't need too many notes.",
        "Update the copilot instructions so that agents know the glossary.",
        "For the future: the customer reads Welsh.",
        "Moving forward, every label goes through the glossary.",
        "I'm using fish as my shell.",
    ],
)
def test_what_lasts_has_more_words(saying: str) -> None:
    assert judge(saying).act is Act.PREFERENCE


@pytest.mark.parametrize(
    "saying",
    [
        "See the drawing of the cover for reference.",
        "There was never a problem with the queue before.",
        "I still cannot add it.",
        "Now we see the same error in the archive.",
        "Let's now adapt the route.",
        "Let's do phase 3.",
        "Explore the folder ./archive to see how errors are told.",
        "Don't both begin with a capital",
        "If it has to be the archive, will you be able to read it",
        "That's weird that we only get a copy of it.",
        "Are these the new ones? I thought that was the archive?",
        "More errors.",
        "OK it seems like that worked but new error",
        "The second argument of Name is never used in line 24",
        "What are the current faults of the archive, not of the page",
        "How close are we to being done with only the archive",
        "@src/archive.py make a copy of the rows unless it is too early",
        "#terminalSelection need to fix the errors, please",
        "I am sick of this.",
        "Once we have this, we will mend the page of the archive.",
        "Now let's make the button work.",
        "Check the pages against the archive and update them where appropriate.",
        "When you run the archive, you get stuck in a loop.",
        "I would rather work on the errors of the archive.",
    ],
)
def test_a_report_or_a_step_of_the_hour_is_not_kept(saying: str) -> None:
    judged = judge(saying)
    assert judged.score < WORTH, judged


@pytest.mark.parametrize(
    "saying",
    [
        "For reference, our customers are all in Wales.",
        "It still isn't right, it should read the archive.",
        "Give me whole files instead of snippets.",
        "Commit messages should name the ticket.",
    ],
)
def test_what_only_looks_like_the_hour_is_kept(saying: str) -> None:
    assert judge(saying).score >= WORTH


def test_exactly_what_sets_no_bound() -> None:
    assert judge("We need exactly what you have.").score < judge("We need exactly two rows.").score


def test_the_text_of_a_client_a_page_or_a_build_is_not_the_user_s() -> None:
    for text in (
        "For the code present, we get this error: x. If you propose a fix, please make it concise.",
        "Implement the plan as specified, it is attached for your reference. Do NOT edit it.",
        "Implement the following to-dos from the plan (the plan is attached for your reference).",
        '@agent Continue: "Continue to iterate?"',
        "@agent Try Again",
        "File editing session",
        "An unexpected error occurred. We always try to help.",
        "no function clause matching in Shop.Orders.handle_event/3",
        "#12 [web 3/6] RUN npm ci, which must always pass",
        "12:3 error Promises must always be awaited",
        "main.js?v=9ab:12 You must never call it twice",
    ):
        assert words(text).paragraphs == ()


def test_a_numbered_step_is_taken_up_and_not_picked() -> None:
    assert takes_up("do phase B")
    assert takes_up("let's start with #3")
    assert not takes_up("do option B")
    assert (
        memories_of(
            "what is next?", "Phases:\n- Phase A: the lock\n- Phase B: the list", "do phase B"
        )
        == []
    )


def test_help_to_find_something_is_a_step() -> None:
    assert asks_permission("Would you like me to help you locate the bundle?")
    assert asks_permission("Shall I proceed with it before closing the list?")
    assert not asks_permission("Shall I proceed with it by closing the list?")
