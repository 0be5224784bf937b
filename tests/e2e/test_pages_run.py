"""What the pages tell programmers to type runs as printed, over a real daemon."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from support import foreign_files, forked
from support.daemon import ROOT, Spawned, environment
from support.desk import served

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def daemon(home: Path, model_dir: Path) -> Iterator[Spawned]:
    with served(home, model_dir) as daemon:
        yield daemon


def path_with_memd(home: Path) -> str:
    """Return a PATH on which memd is what is tested."""
    folder = home / "bin"
    folder.mkdir(exist_ok=True)
    python = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    for name, script in ("memd", forked.shell_script()), ("python", python):
        command = folder / name
        command.write_text(script)
        command.chmod(0o700)
    return os.pathsep.join([str(folder), os.environ["PATH"]])


def typed(page: str, home: Path) -> str:
    """Run every Python block of *page* as one program; return what it prints."""
    text = (ROOT / page).read_text("utf-8")
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    return run(program, home)


def run(
    program: str, home: Path, more: Mapping[str, str] | None = None, lines: Sequence[str] = ()
) -> str:
    """Run a Python program to which *lines* are typed; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(home, {"PATH": path_with_memd(home), **(more or {})}),
        cwd=home,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("daemon")
def test_the_example_of_the_readme_puts_what_was_said_before_the_question(home: Path) -> None:
    output = typed("README.md", home)
    assert "[unconfirmed: person] [preference] I prefer short answers." in output  # no key
    assert "We deploy with blue-green since March." in output


@pytest.mark.usefixtures("daemon")
def test_the_page_about_prompts_does_what_it_shows(home: Path) -> None:
    output = typed("docs/prompts.md", home)
    assert "[untrusted: web] [semantic | score: " in output
    assert "['search_memory', 'recall_memory', 'search_org_facts', 'session_search']" in output
    assert "Stored in core memory (id=" in output
    assert "[semantic | score: 1.00] The user's name is Ada." in output
    assert "     1\tDeploys: Thursdays." in output
    assert "[learnings] Slow billing queries" in output
    assert "'tool_use_id': 'toolu_03', 'content': 'Path must start with /memories" in output


@pytest.mark.usefixtures("daemon")
def test_the_page_about_the_python_client_does_what_it_shows(home: Path) -> None:
    output = typed("docs/python.md", home)
    assert "['The staging host is kite-7.'" in output
    assert "\nsemantic\n" in output
    assert "ok\n['The bulbs lie in the hall drawer.']\n" in output
    assert output.endswith("\nnot_running True start it: memd serve\n")


def test_the_assistant_of_the_page_learns_from_one_session_for_the_next(
    home: Path, daemon: Spawned
) -> None:
    """A nap shortens its window, and its next session begins with a brief of this one."""
    with daemon.client() as owner:
        key = owner.call("client.add", {"name": "page", "agent_id": "page"})["key_file"]
    (home / ".git").mkdir()
    program = fenced("docs/writing-an-assistant.md", "python")
    small = program.replace("WINDOW_TOKENS = 30_000", "WINDOW_TOKENS = 600")
    lines = ["We deploy with blue-green since March.", "I prefer short answers."]
    filling = "Explain " + "this " * 400
    first = run(
        small,
        home,
        {"MEMD_CLIENT_KEY_FILE": key},
        [*lines, "Run python -m unittest billing", filling],
    )
    (window,) = re.findall(r'"\[Session context consolidated\].*"', first)
    assert "- We deploy with blue-green since March." in window
    assert "memory-entry" not in window
    second = json.loads(run(program, home, {"MEMD_CLIENT_KEY_FILE": key}, ["How do we deploy?"]))
    asked = next(place for place, message in enumerate(second) if message["role"] == "user")
    given = "\n".join(message["content"] for message in second[:asked])
    assert "What the user prefers:\n- I prefer short answers." in given
    assert "] We deploy with blue-green since March." in given  # the brief
    assert "[digest of session" in given
    assert "Went wrong: python -m unittest billing failed" in given
    # What was said is told once, be it in the brief or with the question.
    assert given.count("] We deploy with blue-green since March.") == 1
    with daemon.client() as owner:
        sessions = owner.call("session.list", {"agent_id": "page"})["items"]
    assert [bool(session["ended_at"]) for session in sessions] == [True, True]


def test_the_messages_of_the_page_are_those_that_a_nap_reads(daemon: Spawned) -> None:
    messages = json.loads(fenced("docs/usage.md", "json", 1))
    window = {"source": "page", "session_id": "page", "used_percent": 90, "agent_id": "reader"}
    with daemon.client() as owner:
        owner.call("usage.report", {**window, "messages": messages})
        digest = owner.call("memory.list", {"agent_id": "reader", "tags": ["digest"]})["items"]
    assert "pytest -q failed" in digest[0]["content"]


def fenced(page: str, language: str, number: int = 0) -> str:
    """Return one block of *page*."""
    text = (ROOT / page).read_text("utf-8")
    pattern = rf"^```{language}\n(.*?)^```"
    blocks: list[str] = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    return blocks[number]


# What a page tells a person to type at a shell.

INSTEAD = {
    "memd forget --source ~/notes/old.md": "memd forget --source ~/notes/old.md --yes",
    'memd audit verify --anchor "$(cat audit-head)"': None,  # a head that nobody has
    "memd org write -c core_policy": None,  # at a terminal only: the owner signs
    "memd usage --watch": None,  # until Ctrl-C
    "memd flagged show ID": None,
    "memd flagged release ID": None,
    "memd flagged add ID": None,
    "memd archive restore ID": None,
    "memd owner show": None,  # who signed nothing yet has no key
    "memd model install": None,
    "memd service install": None,
    "memd org timeline Flask --svg flask.svg": 'memd org timeline Flask --svg "$HOME/flask.svg"',
    "memd connect claude-code --remove": "memd connect claude-code --remove --yes",
    "memd connect claude-code": "memd connect claude-code --yes",
    "memd records cost_records export": 'memd records cost_records export > "$HOME/costs.jsonl"',
    "memd stats --days 365 --plot": 'memd stats --days 365 --plot "$HOME/memd.svg"',
    "memd records settings show": None,  # no program has stored one
    "memd model add": None,
    "memd model use": None,
    "memd model undo": None,
    "memd tune run": None,  # too few questions yet
    "memd tune undo": None,
    'memd add "The staging host': None,  # that daemon runs as a service
    "memd profile remove work": "memd profile remove work --yes",
    ". .venv/bin/activate": None,
    "python3 -m venv": None,
    "python3 agent.py": None,  # reads from a terminal
}
"""What is typed in a test instead of a line that begins so; None is for what nobody types here."""

PAGES = ("README.md", "docs/notes.md", "docs/trust.md", "docs/prompts.md", "docs/usage.md",
         "docs/access.md", "docs/org.md", "docs/assistants.md", "docs/records.md",
         "docs/metrics.md", "docs/learning.md", "docs/llm.md", "docs/models.md", "docs/tuning.md",
         "docs/profiles.md", "docs/writing-an-assistant.md", "docs/api.md")  # fmt: skip


def shell_blocks(page: str) -> Iterator[str]:
    text = (ROOT / page).read_text("utf-8")
    yield from re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for block in re.findall(r"(?:^    memd .*\n)+", text, re.MULTILINE):
        yield block.replace("    memd", "memd")


def in_a_test(line: str) -> str:
    for begin, instead in INSTEAD.items():
        if line.startswith(begin):
            return instead or ":"
    return line


def exported(folder: Path) -> None:
    """Write what other programs kept for the user."""
    (folder / "Downloads").mkdir()
    (folder / "shop").mkdir()
    message = {"sender": "human", "text": "How long does dough rest?", "created_at": "2026-01-02"}
    with zipfile.ZipFile(folder / "Downloads" / "chatgpt.zip", "w") as archive:
        archive.writestr(
            "conversations.json", json.dumps([{"uuid": "u", "chat_messages": [message]}])
        )
    history = "# aider chat started at 2026-01-02 10:00:00\n\n#### never use tabs here\n"
    (folder / "shop" / ".aider.chat.history.md").write_text(history)
    kept = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    (folder / "memory.json").write_text(json.dumps(kept))
    opencode, claude_mem = folder / ".local/share/opencode", folder / ".claude-mem"
    opencode.mkdir(parents=True)
    claude_mem.mkdir()
    foreign_files.opencode_database(opencode / "opencode.db", ["ses_1"], str(folder)).close()
    foreign_files.claude_mem_database(claude_mem / "claude-mem.db").close()


@pytest.mark.usefixtures("daemon")
def test_every_block_of_every_page_can_be_typed_in_the_order_of_the_pages(home: Path) -> None:
    """One new user, one memory, all pages: what a page needs, an earlier one has made."""
    folder = home / "user"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "billing.md").write_text("# Billing\nWe use PostgreSQL 16 for billing.\n")
    (folder / "notes" / "old.md").write_text("# Old\nThe garage code was changed last year.\n")
    sessions = folder / ".claude" / "projects" / "-home-ada-shop"
    sessions.mkdir(parents=True)
    message = {"role": "user", "content": "We never use serialisable transactions in the shop."}
    line = {"type": "user", "uuid": "u1", "sessionId": "shop", "message": message}
    (sessions / "shop.jsonl").write_text(json.dumps(line) + "\n")
    exported(folder)
    for page in PAGES:
        if page == "docs/prompts.md":
            typed(page, home)
        lines = [in_a_test(line) for block in shell_blocks(page) for line in block.splitlines()]
        done = subprocess.run(
            ["bash", "-euvo", "pipefail", "-c", "\n".join(lines)],
            env=environment(home, {"PATH": path_with_memd(home), "HOME": str(folder)}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{page}:\n{done.stderr}"
