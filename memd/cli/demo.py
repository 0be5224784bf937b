"""``memd demo``: show memd at work in a minute, on a temporary memory.

It starts a real daemon with the real model, stores a text and a few statements of a user, and asks
five questions, one of which no memory answers. The temporary folder is deleted at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from memd.base.errors import InvalidError, NotRunningError, StartingError
from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX
from memd.cli.notes.note import parse_note
from memd.cli.progress import Progress
from memd.cli.upkeep.models import fetch

if TYPE_CHECKING:
    from memd.client import Client


ANSWERS_SHOWN = 2
BATCH_TEXTS = 8
LINE_CHARS = 100
TEXT_COLUMN = 24
"""Columns of an answer's line before its text: rank and date."""
WAIT_SECONDS_MAX = 300.0
_POLL_S = 0.1

# Statements of a user over a year: with dates, a change of mind, a preference.
STATEMENTS = (
    ("2025-11-03T09:12:00Z", "We started the billing service on MySQL because Jonas knew it."),
    ("2026-01-19T15:40:00Z", "I prefer short answers with the command first."),
    ("2026-03-02T10:05:00Z", "We moved the billing service from MySQL to PostgreSQL 16 today."),
    ("2026-04-14T11:30:00Z", "The staging server is called heron and runs in Frankfurt."),
    ("2026-05-28T16:02:00Z", "Mira found the login bug: the session cookie expired in UTC."),
)  # fmt: skip


class DemoQuestion(NamedTuple):
    """A question, and what is expected to answer it."""

    text: str
    kind: str = "memory"
    """``memory``, ``preference`` or ``nothing``. Only preferences are shown for ``preference``."""


QUESTIONS = (
    DemoQuestion("Which database does the billing service use now?"),
    DemoQuestion("What was wrong with the login?"),
    DemoQuestion("How long should an answer be?", "preference"),
    DemoQuestion("What is the melting point of tungsten?", "nothing"),
)


@options.examples("memd demo", "memd demo notes.md", "memd demo --json")
def demo(
    file: Annotated[Path | None, "[FILE]", "Text file to use; default: memd's README."] = None,
) -> None:
    """Show memd at work on a temporary memory."""
    title, text = _text(file)
    model_dir = Paths.resolve().model_dir
    fetch(model_dir)
    _say(console.bold("memd demo") + console.dim("  on a temporary memory; yours is not touched"))
    with daemon(model_dir) as running:
        _step(
            "start", f"the daemon (process {running.pid}) answers after {running.started_s:.1f} s"
        )
        loaded_s = _load(running.client)
        _step("", f"its model is loaded {loaded_s:.1f} s after the first text")
        ingested = _remember(running.client, title, text)
        _say_ingested(title, ingested)
        _step("ask", "")
        answers = [_ask_question(running.client, question) for question in _questions(file, text)]
        for answer in answers:
            _say_answer(answer)
        began = time.monotonic()
    stopped_s = time.monotonic() - began
    _say()
    _step("stop", f"the daemon stopped after {stopped_s:.1f} s; its memory is deleted")
    _say()
    _say(
        "Next: " + console.bold("memd service install") + ", then " + console.bold('memd add "..."')
    )
    console.print_if_json(
        {
            "text": title,
            "started_s": round(running.started_s, 3),
            "loaded_s": round(loaded_s, 3),
            "ingest": ingested,
            "questions": answers,
            "stopped_s": round(stopped_s, 3),
        }
    )


def _text(file: Path | None) -> tuple[str, str]:
    """Return title and text of *file*, or of memd's README."""
    readme = Path(__file__).resolve().parents[2] / "README.md"
    if file is None and not readme.is_file():
        return "README.md", str(metadata.metadata("memd").json["description"])
    path = file or readme
    try:
        return path.name, path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path} cannot be read as UTF-8 text", field="file") from error


def _questions(file: Path | None, text: str) -> list[DemoQuestion]:
    """Return the questions: one about the text, then those about the statements."""
    if file is None:
        return [DemoQuestion("Does memd need a network connection?"), *QUESTIONS]
    # The second heading, because the first one is usually the title.
    headings = [line.strip("# ") for line in text.splitlines() if line.startswith("#")]
    about = headings[min(1, len(headings) - 1)] if headings else text.strip()[:80]
    return [DemoQuestion(about or "What is this text about?"), *QUESTIONS]


def _remember(client: Client, title: str, text: str) -> dict[str, Any]:
    """Ingest the text and the statements, wait for all vectors, and return counts and rate."""
    document = parse_note(text, PurePath(title), markdown=True)
    # The first statement has been stored by _load.
    items = [{**item, "source": title} for item in document.items] + _messages()[1:]
    tally = dict.fromkeys(("stored", "pending", "merged", "turned_away"), 0)
    preferences: list[str] = []
    began = time.monotonic()
    with Progress("remembering", unit="texts") as progress:
        for first in range(0, len(items), BATCH_TEXTS):
            batch = items[first : first + BATCH_TEXTS]
            answer = client.call("memory.ingest_many", {"items": batch})
            for receipt in answer["items"]:
                preferences += receipt.get("preferences", ())
                for name in tally:
                    tally[name] += len(receipt.get(name, ()))
            progress.at(first + len(batch), len(items))
        _wait_until_embedded(client)
    seconds = time.monotonic() - began
    memories = sum(tally.values())
    return {
        "texts": len(items),
        "memories": memories,
        **tally,
        "preferences": preferences,
        "seconds": round(seconds, 3),
        "memories_per_s": round(memories / seconds, 1),
    }


def _messages() -> list[dict[str, Any]]:
    return [{"text": text, "occurred_at": when, "source": "demo"} for when, text in STATEMENTS]


def _load(client: Client) -> float:
    """Make the daemon load its model, so that later timings do not include it.

    Stores the first statement and returns the seconds that it took.
    """
    began = time.monotonic()
    client.call("memory.ingest", _messages()[0])
    _wait_until_embedded(client)
    return time.monotonic() - began


def _wait_until_embedded(client: Client) -> None:
    """Wait until all memories have vectors."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while time.monotonic() < deadline:
        if not client.call("system.status").get("pending", 0):
            return
        time.sleep(_POLL_S)


def _ask_question(client: Client, question: DemoQuestion) -> dict[str, Any]:
    began = time.monotonic()
    answer = client.call("memory.recall", {"query": question.text})
    took_ms = (time.monotonic() - began) * 1_000
    preference = question.kind == "preference"
    answers = [
        memory for memory in answer["memories"] if bool(memory.get("preference")) is preference
    ]
    return {
        "question": question.text,
        "kind": question.kind,
        "ms": round(took_ms, 1),
        "answers": [
            {
                "score": memory.get("relevance_score"),
                "text": memory["content"],
                "when": memory.get("occurred_at") or memory["created_at"],
            }
            for memory in answers
        ],
    }


def _say(text: str = "") -> None:
    """Write a line to stdout, nothing with ``--json``."""
    if not console.is_json():
        console.out(text)


def _step(name: str, text: str) -> None:
    _say(f"{console.bold(f'{name:<10}') if name else ' ' * 10}{text}")


def _say_ingested(title: str, ingested: dict[str, Any]) -> None:
    texts = f"{title} and {len(STATEMENTS)} things a user said"
    memories = console.count(ingested["memories"], "memory")
    rate = f"{ingested['memories_per_s']:.0f} a second"
    _step("remember", f"{texts}: {memories} in {ingested['seconds']} s ({rate})")
    if ingested["preferences"]:
        _step("", "one of them is a preference, which is in every prompt")


def _say_answer(answer: dict[str, Any]) -> None:
    duration = console.dim(f"{answer['ms']:.0f} ms")
    _say(f"\n  {console.bold(answer['question'])}  {duration}")
    for number, memory in enumerate(answer["answers"][:ANSWERS_SHOWN], 1):
        # The rank is easier to read than the score. A preference has none: it is in every prompt.
        rank = "always" if memory["score"] is None else f"{number}."
        when = console.dim(str(memory["when"])[:10])
        room = min(LINE_CHARS, console.width() - TEXT_COLUMN)
        text = console.passage(memory["text"], answer["question"], room)
        _say(f"    {rank:<6}  {when}  {text}")
    if not answer["answers"]:
        _say("    " + console.dim("nothing: no memory answers this question"))


START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 10.0
_DAEMON_POLL_S = 0.05
_LOG_LINES_SHOWN = 5


class Trial(NamedTuple):
    """A temporary daemon and a client connected to it."""

    client: Client
    pid: int
    started_s: float


@contextmanager
def daemon(model_dir: Path) -> Iterator[Trial]:
    """Start a daemon with an empty memory and the model in *model_dir*, and yield it.

    On exit the process is stopped and its folder is deleted. Raises NotRunningError, with the end
    of its log, if it does not start.
    """
    from memd.client import Client

    with tempfile.TemporaryDirectory(prefix="memd-demo-") as name:
        home = Path(name)
        environ = {key: value for key, value in os.environ.items() if not key.startswith("MEMD_")}
        environ |= {"MEMD_HOME": name, "MEMD_MODEL_DIR": str(model_dir)}
        paths = Paths.resolve(environ=environ)
        log = home / "daemon.log"
        began = time.monotonic()
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [sys.executable, "-m", "memd", "serve"],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,  # Ctrl-C goes only to this process, which stops the daemon
            )
        try:
            client = Client(socket=paths.socket, timeout=LONG_SECONDS_MAX)
            _wait_until_ready(client, process, log, began)
            yield Trial(client, process.pid, time.monotonic() - began)
            client.close()
        finally:
            _stop(process)


def _wait_until_ready(
    client: Client, process: subprocess.Popen[bytes], log: Path, began: float
) -> None:
    """Wait until the daemon answers. Raises NotRunningError if it exits or takes too long."""
    while True:
        try:
            client.call("system.hello")
        except (NotRunningError, StartingError):
            if process.poll() is not None:
                tail = log.read_text(encoding="utf-8", errors="replace").splitlines()
                output = " | ".join(tail[-_LOG_LINES_SHOWN:]) or "nothing"
                raise NotRunningError(f"the daemon exited at once with: {output}") from None
            if time.monotonic() - began > START_SECONDS_MAX:
                raise
            time.sleep(_DAEMON_POLL_S)
        else:
            return


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
