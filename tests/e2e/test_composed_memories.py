"""What naps composed, at the real socket with the real model: asked for in other words (0099)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import commands
from support.daemon import Spawned, wait_until
from support.desk import Desk, a_desk, pending

pytestmark = pytest.mark.model

LOCKFILE = """In answer to: Should I regenerate the lockfile as part of this change?
User: No, leave poetry.lock alone. We update dependencies on the first Monday, by themselves.
Outcome: Only the two modules were changed; the lockfile is as it was."""
TIMEOUT = """User: it still hangs after 30 seconds when I upload the big archive
Cause: the reverse proxy closes the connection because proxy_read_timeout has its default, 30s.
Outcome: proxy_read_timeout is 300s in deploy/nginx.conf now, and the upload of 2 GB passes."""
LISTING = """User: the list command must always print the full identifier, people copy it.
Outcome: The column is as wide as its widest value, and nothing is shortened."""
DATABASE = """Environment: the test database is PostgreSQL 16 on port 5433, started with make db-up;
DATABASE_URL has to point at lantern_test, or the fixtures refuse to run."""
COVERAGE = """User: I don't want tests for getters. Test what has branches, and invert each new
assertion once to see that it can fail.
Outcome: Four trivial tests were removed; the rest were seen to fail when inverted."""
EXPORTER = """User: let's keep the CSV exporter for one more release, two customers still use it.
Outcome: The exporter prints a deprecation warning and is removed in 3.0."""
RETRY = """User: y, do it with exponential backoff, at most five attempts
Outcome: The webhook sender waits 1, 2, 4, 8 and 16 seconds; then it goes into dead_letters."""
RENAME = """User: call it workspace everywhere, not project. The API keeps project_id as it was.
Outcome: Renamed in the templates and the command line; the JSON fields are as they were."""
ICONS = """User: use the outlined icons, the filled ones are too heavy next to the text
Outcome: All icons of the toolbar are the outlined ones; the unused sprites were deleted."""
CACHE = """User: why is the second build slow again?
Cause: the cache key held the timestamp, so that no build ever found the one before it.
Outcome: The key is the hash of the sources; a build without changes takes 4 seconds."""
COMPOSED = (LOCKFILE, TIMEOUT, LISTING, DATABASE, COVERAGE, EXPORTER, RETRY, RENAME, ICONS, CACHE)
WHO = ("Ola", "Karin", "Tom", "Lena", "Uncle Karim", "Priya", "The landlord", "Miso the cat")
DID = (
    "had soup for lunch on the {}th.",
    "walked to the lake and back, {} kilometres.",
    "paid {} euros for a concert ticket.",
    "slept until {} minutes past nine.",
    "counted {} swans in the park.",
    "read {} pages of a novel on the train.",
    "planted {} bulbs in the garden.",
    "waited {} minutes for the bus.",
)
TOLD = [
    f"{who} {did.format(3 + w + 2 * d)}" for w, who in enumerate(WHO) for d, did in enumerate(DID)
]
"""What somebody told besides, so that the store is no small one."""
ASKED = {
    "When may the pinned versions of our libraries be upgraded?": LOCKFILE,
    "Why were large file transfers cut off, and where is the limit set?": TIMEOUT,
    "Which unit tests are pointless, and how do we know the others catch bugs?": COVERAGE,
    "How often is a callback sent again before we give up?": RETRY,
    "Why did compiling twice not get faster?": CACHE,
}
REQUESTS = {
    "Update the list command so that it also shows when each entry was made.": LISTING,
    "Add a progress bar to the upload of archives.": TIMEOUT,
    "Please write the tests for the new parser.": COVERAGE,
}
FOREIGN = (
    "What is the boiling point of tungsten?",
    "How long should I boil eggs for a soft yolk?",
    "Which airline lost the suitcase?",
    "Who signed the Treaty of Westphalia?",
    "Translate this poem by Rilke into Swedish.",
    "Draw a family tree of the Habsburgs.",
)


@pytest.fixture(scope="module")
def known(daemon: Spawned) -> Iterator[Desk]:
    """Return the desk of somebody who told much, and whose sessions were napped over."""
    with a_desk(daemon, "who naps") as desk:
        for place, text in enumerate(COMPOSED):
            napped(desk, text, f"session {place % 3}")
        for text in TOLD:
            desk.store(text, category="episodic")
        desk.settle()
        yield desk


def napped(desk: Desk, text: str, session: str) -> str:
    tags = {"tags": ["nap", "decision"]}
    return desk.store(text, metadata=tags, session_id=session, project_id="lantern")


def prepared(desk: Desk, query: str) -> list[str]:
    """Return the texts in a prompt of the project."""
    prompt = desk.prompt(query, project_id="lantern")
    texts = [desk.get(memory["id"]) for memory in prompt["memories"]]
    return [text["content"] for text in texts if text is not None]


@pytest.mark.parametrize("question", ASKED)
def test_a_question_in_other_words_finds_what_a_nap_composed(known: Desk, question: str) -> None:
    assert ASKED[question] in known.contents(question, top_k=3)


@pytest.mark.parametrize("request_made", REQUESTS)
def test_a_request_of_the_project_brings_what_it_needs_though_nobody_asks(
    known: Desk, request_made: str
) -> None:
    assert REQUESTS[request_made] in prepared(known, request_made)


@pytest.mark.parametrize("question", FOREIGN)
def test_what_naps_composed_answers_no_foreign_question(known: Desk, question: str) -> None:
    assert known.contents(question, top_k=20) == []
    assert prepared(known, question) == []


def test_a_prompt_holds_fewer_than_pass_the_gate_of_what_naps_composed(known: Desk) -> None:
    question = "What was decided about the tests, the list command and the build?"
    best = known.contents(question, top_k=20)

    shown = prepared(known, question)

    assert set(shown) < set(best)
    assert set(best[:3]) <= set(shown)


TALK = (
    ("user", "Deploy the current branch to staging, please."),
    ("assistant", "Staging is stage1.example.org."),
    ("user", "No, staging is stage2.example.org, not stage1."),
    ("assistant", "Deployed, and the health check passed."),
    ("user", "The deploy user is called shipper."),
    ("assistant", "Got it, I'll use shipper as the deploy user."),
)
HOST, USER = "What is the host of staging?", "Which user deploys?"


def test_a_correction_and_what_the_assistant_repeats_take_one_place(daemon: Spawned) -> None:
    denied, turn, user, echo = (TALK[at][1] for at in (1, 2, 4, 5))
    with a_desk(daemon, "who corrects") as desk:
        for role, text in TALK:
            origin = "person" if role == "user" else role
            desk.ingest(text, origin=origin, session_id="talk", project_id="lantern")
        desk.settle()
        assert {turn, denied} <= set(prepared(desk, HOST))
        shown = prepared(desk, USER)
        assert (user in shown, echo in shown) == (True, False)

        messages = [{"role": role, "content": text} for role, text in TALK]
        report = {"source": "codex", "session_id": "talk", "used_percent": 20}
        desk.call("usage.report", **report, event="session_end", messages=messages)
        desk.settle()

        shown = prepared(desk, HOST)
        assert f"User: {turn}\nIn answer to: {denied}" in shown
        assert {turn, denied}.isdisjoint(shown)
        cut = desk.recall(HOST, project_id="lantern", why=True)["cut"]
        repeats = [desk.get(each["id"]) for each in cut if each["by"] == "repeats"]
        assert {turn, denied} <= {each["content"] for each in repeats if each is not None}


@pytest.mark.parametrize("command", ["search", "recall"])
def test_in_a_project_s_folder_its_memories_rank_higher(
    daemon: Spawned, tmp_path: Path, command: str
) -> None:
    ids, folders = {}, [tmp_path / "hives", tmp_path / "mill"]
    with daemon.client() as client:
        for folder in folders:
            (folder / ".git").mkdir(parents=True)
            params = {
                "category": "semantic",
                "content": f"To run the tests of the {folder.name} here: pytest -q",
                "project_id": str(folder),
                "metadata": {"tags": ["nap", "environment"]},
            }
            ids[folder] = client.call("memory.store", params)
        wait_until(lambda: not pending(client), "every memory has its vector", seconds=60)
    line = (command, "how are the tests run?", "--top", "20", "--json")
    answers = {cwd: commands.memd(daemon.home, *line, cwd=cwd).json for cwd in folders}
    relevance = {
        cwd: {each["id"]: each["relevance_score"] for each in answer["memories"]}
        for cwd, answer in answers.items()
    }
    for here, elsewhere in (folders, reversed(folders)):
        assert relevance[here][ids[here]] > relevance[elsewhere].get(ids[here], 0.0)
