"""What a sentence of the user does, and what of it is worth a memory."""

from __future__ import annotations

import pytest

from memd.sleep.distil.sentence_worth import may_be_plain
from memd.sleep.distil.user.speech_acts import WORTH, Act, approves, judge

KEPT = {
    Act.DECISION: [
        "For now we keep the old endpoint in pkg/api.",
        "Our goal is to have one binary for the server and the client.",
        "Commit messages should name the ticket.",
        "The subject line should only name the part that changed.",
        "forget selling",
        "Our team uses Postgres for reports.",
        "the project deploys with blue-green",
        "our CI runs on every push",
        "our project uses 4 spaces",
        "we use 16 GB runners for the builds",
        "our app uses a 30s timeout",
        "colours: navy #0B2545 and sand #F4E9CD, nothing else",
        "the font should be Inter",
        "ok, and the site title should be Kelp & Sons",
        "rather not Rabatzz, too loud",
        "doch lieber nicht der Adler",
    ],
    Act.TASK: [
        "Let's put the rate limiter into its own package",
        "We want the tray icon on both desktops.",
        "When the token has expired we should fall back to the login page, no?",
        "The button should have a wider line",
    ],
    Act.CORRECTION: [
        "No, the retry belongs into the client, not into the handler",
        "I said the cache stays, you removed it anyway",
        "The address is wrong: it's ~/.app/cli/token.json, not ~/.config/app",
        "You should have asked before deleting the branch.",
        "You should not be moving anything out of the archive.",
        "ok, fine for the first page, but the second has no line",
        "Turns out the old parser is still used, so we don't touch it.",
    ],
    Act.PREFERENCE: [
        "From now on run the linter before you say it works.",
        "Never add comments that repeat the code.",
        "Just tell me the message and I'll commit it",
        "I prefer small commits.",
        "I'll run the migration myself.",
        "can you use single quotes everywhere",
        "Lösche niemals Dateien im Ordner data.",
        "Utilise toujours le port que nous avons choisi.",
        "never book a flight over Madrid without my ok, i lost my bags there",
        "write the poem for Lena but never rhyme, it sounds like a card",
        "translate the page but no more exclamation marks please, they look silly",
    ],
    Act.CONSTRAINT: [
        "It has to work without network, we ship to planes.",
        "Old clients must still be able to read the file.",
    ],
    Act.ENVIRONMENT: [
        "The staging server runs at http://10.0.0.5:8080 in the cellar",
        "my brother now takes the pill in the evening",
    ],
}
LEFT = {
    Act.QUESTION: [
        "what should I use to deploy the page",
        "why does the worker need the port to be 8080",
        "Where is the log written?",
        "What happens if there are two of them.",
        "Should we write a test?",
    ],
    Act.REQUEST: [
        "run the tests",
        "Now fix the linter warnings in main.py",
        "ok, let's start with a plan in docs/PLAN.md",
        "Please add a column to the table",
        "write it up",
        "I want to add a column to the table",
        "wait, first write a page about it",
        "I've started it. We want a second line in Name. Now run it again.",
        "/implement S10: a migration that adds the currency",
        "/review",
        "can you rename getUser to get_user everywhere",
        "rather not now, let me look at it myself",
    ],
    Act.ACKNOWLEDGEMENT: [
        "output: the number and the unit, nothing else",
        "great, thanks!",
        "ok",
        "Let me try that, 1 sec.",
        "danke",
        "",
        "our app uses 2 GB",
        "our service only uses about 40% of the disk",
        "our backend uses a lot of memory",
        "we use more cpu than before",
        "our worker uses 100% cpu",
    ],
    Act.APPROVAL: ["yup!", "ok, yes", "sure"],
}


@pytest.mark.parametrize(("does", "text"), [(k, t) for k, each in KEPT.items() for t in each])
def test_what_holds_longer_than_today_is_worth_keeping(does: Act, text: str) -> None:
    assert judge(text).act is does
    assert judge(text).score >= WORTH


@pytest.mark.parametrize(("does", "text"), [(k, t) for k, each in LEFT.items() for t in each])
def test_what_is_asked_thanked_or_wanted_now_is_not(does: Act, text: str) -> None:
    assert judge(text).score < WORTH
    assert does in {judge(text).act, Act.ACKNOWLEDGEMENT, Act.APPROVAL}


@pytest.mark.parametrize(
    "text",
    [
        "use port 8081 instead",
        "please don't use mocks",
        "I use pnpm, not npm",
        "We're on Python 3.9 so no match statements",
        "It must work on Windows too",
        "run only the unit tests, the others take an hour",
        "use uv for installs",
        "the key is in .env.local",
        "we deploy with `make deploy`",
        "we use conventional commits",
        "tests go into the folder next to the module",
        "no emojis please",
        "it's ok to break the interface",
        "the endpoint returns 204, not 200",
        "go with the second",
        "this is a prototype, skip the tests",
        # Decided or set right.
        "You do not need the server to read local files.",
        "It should only be taken in store.py, no?",
    ],
)
def test_plain_words_of_how_things_are_done_here_are_worth_keeping(text: str) -> None:
    assert judge(text).score >= WORTH


@pytest.mark.parametrize(
    "text",
    [
        # Said twice.
        "Why do you keep adding comments to every line?",
        "How many times do I have to say that the tests stay?",
        "I told you not to touch the lock file.",
        "I already said the column stays nullable.",
        "You keep renaming my variables.",
        "Could you please stop summarising what you did?",
        "Is there a way to make sure you always run the linter?",
        # How somebody wants to be talked to, and how their work is to look.
        "Keep your answers short.",
        "Please answer in German.",
        "I find nested ternaries hard to read.",
        "I'd rather have small functions than clever ones.",
        "One question at a time please",
        # At an occasion that comes again.
        "Ask me before you delete anything.",
        "dont commit without asking me first",
        "If you are unsure, ask.",
        "when working with yaml, don't reorder the keys",
        'never ask me "shall I proceed?" when it is obvious',
        # In other languages.
        "Warum änderst du immer die Einrückung?",
        "Bitte keine Emojis.",
        "Je t'ai déjà dit de garder le port.",
        "Ya te dije que uses tabs",
        "Já falei que não é para mexer no banco",
        "Ti ho già detto di non toccare il file",
        "Ik heb je toch gezegd dat de poort blijft",
        # To be shown first.
        "First, explain your plan to me. Then ask any questions you might have.",
        "Before taking any action, explain how you would solve it and wait for my approval.",
        "I want to see the plan before you implement it.",
        "以后都用中文回答我的问题。",
    ],
)
def test_complaints_and_wishes_of_style_are_standing_wishes(text: str) -> None:
    assert judge(text).act is Act.PREFERENCE


@pytest.mark.parametrize(
    "text",
    [
        "why didn't you run the migration on the copy?",
        "why are you editing the template, not the source?",
        "I didn't ask for a new dependency.",
    ],
)
def test_a_reproach_sets_the_agent_right(text: str) -> None:
    assert (judge(text).act, judge(text).score >= WORTH) == (Act.CORRECTION, True)


@pytest.mark.parametrize(
    "text",
    [
        "why didn't you see that just now?",
        "why are you asking?",
        # A rule's word within a name, or in another's mouth.
        "fix it in @dont-touch-this.md",
        "Set the --only-changed flag and run it",
        'He said "never again" on the call, what does he mean?',
        # How the product is to be, within an order of the day.
        "Write a README that explains the tool without jargon",
        # What is true of the hour.
        "it still isnt right",
        "ok, the dump is in ~/tmp/dump.sql",
        "i don't think you saved it",
        "When I run it, it prints nothing.",
        "The buttons do not open the dialog.",
        "I tested the upload with a big file and it works without a hitch",
        "great. now, let's update @docs/plan.md with it",
        "based on what we have so far, update the plan so that it makes sense",
        "ok. let's implement",
        "I run lint at the root and see this. keep fixing",
        "update it in case we want another host than localhost in the future.",
        "read @apps/api/README.md and see how it is built",
        # Says nothing by itself.
        "I don't understand",
        "don't worry about it",
        "let's do the next one",
        "I need to go",
        "I want you to read the whole module first",
        "Let's add a test for the parser of dates",
        "we need to look into the build first",
        "it still doesn't work",
        "that is not what I see",
        "No, that did nothing.",
        "make sure",
        "keep going",
        "can we only run it once?",
        "Dude, you are slow today.",
        # A question without its mark, a report of the hour.
        "Should https://shop.example.org/play and the local host see each other",
        "is the lock only taken in store.py",
        "I have a shop 2.10 app, but it cannot find node:stream. What might be the cause of this?",
        "We need the scale for the canvas, but the canvas for the scale. What do you think?",
        "有没有简单的办法, 能知道这个系统所有的功能",
        "After the last change, I'm not seeing the players. I think we broke the lock.",
        "I also updated some paths in sketch.js to use `@/src/` instead of `./`.",
        "There are several errors and the lock still has the old name.",
        "when trying to run seeds I got this error: value `:cash` does not match type :string",
        "When adding a price I get this error: it must always be a number",
        "No, I still can't add it",
        "no, there is an error because the list shows none after the second click",
        "By default I will see standard orders, with a switch I can open those of the house.",
        "El botón no funciona, solo se ve la tabla.",
    ],
)
def test_what_is_no_rule_or_only_looks_like_one_is_not_kept(text: str) -> None:
    assert judge(text).score < WORTH


@pytest.mark.parametrize(
    "text",
    [
        "When you get errors in a test, stop and ask me.",
        "By default, we use the newest release.",
        "Whenever I see an error in the log, I want a ticket for it.",
    ],
)
def test_a_wish_about_errors_is_one(text: str) -> None:
    assert judge(text).score >= WORTH


def test_what_is_for_now_is_no_standing_wish() -> None:
    assert judge("Don't touch the other commands for now.").act is not Act.PREFERENCE


def test_a_text_is_worth_as_much_as_its_best_sentence() -> None:
    assert judge("Run it.\nFrom now on we never push on Fridays.").act is Act.PREFERENCE


def test_after_an_interruption_a_wish_sets_the_agent_right() -> None:
    text = "let's use the helper in paths.py"
    assert judge(text, stopped=True).act is Act.CORRECTION
    assert judge(text, stopped=True).score > judge(text).score


def test_a_tentative_wish_is_none() -> None:
    assert judge("maybe we should use a solid line").score < WORTH
    assert (
        judge("the other option we have is to keep the column in the table instead").score < WORTH
    )
    assert judge("another approach would be to use a queue instead of polling").score < WORTH
    assert judge("we keep the column in the table instead").score >= WORTH


@pytest.mark.parametrize("text", ["yup", "Yes, but keep it", "ok do it", "ja", "go ahead", "sí"])
def test_agreement_is_told_by_its_beginning(text: str) -> None:
    assert approves(text)


@pytest.mark.parametrize(
    "text",
    [
        "ok, now look at the log of the server and at the one before",
        "yesterday",
        "no",
        "keep it",
        "sureness",
        "jammed",
    ],
)
def test_other_words_are_no_agreement(text: str) -> None:
    assert not approves(text)


def test_a_slash_command_states_nothing() -> None:
    assert not may_be_plain(judge("/implement S10: the amounts are in cents, the test is T4"))
    assert may_be_plain(judge("/data is where the exports of the plant are"))
    assert judge("/plan and never start before I agree").act is Act.PREFERENCE
