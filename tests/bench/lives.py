"""What a person's later requests are told: ``python -m tests.bench.lives [NAME ...] [--show]``.

``lives/`` has the logs of four people with their assistants over four weeks, by writers who knew
nothing of memd: what is said early is changed later, mostly without the old value. *ines* and *tom*
may be looked at, *dmitri* and *amara* are only scored. Each conversation is replayed against a real
daemon with the product's defaults: each message is prepared for and ingested, and at the end the
window is reported, so that a nap runs. Then each of 40 later messages begins a session of its own,
which is told a brief and a prompt. Thirty need something: *needs* are words of the log that tell
it, all of them or *any*; ten need nothing.

Counted are the messages whose needs stand in the prompt, and in the brief or the prompt; of those
with a value that was changed (*stale*) how many are told the old one; and the memories in a prompt.
``--show`` prints the messages whose needs are told nowhere.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from bench.bench_daemon import Stage, save_result, staged

LIVES = Path(__file__).with_suffix("")
NAMES = ("ines", "tom", "dmitri", "amara")
LOOKED_AT = frozenset(NAMES[:2])
TURN = timedelta(minutes=3)
WINDOW_TOKENS = 200_000
ORIGINS = {"user": "person", "assistant": "assistant"}
_OTHER = re.compile(r"[\W_]+")


class Told(NamedTuple):
    """What a later message was told: the texts of its brief and prompt, and how many memories."""

    brief: str
    prompt: str
    memories: int


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.lives", description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME")
    parser.add_argument("--show", action="store_true", help="print what is told nowhere")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    results = {}
    with staged() as stage:
        for name in options.names:
            life = json.loads((LIVES / f"{name}.json").read_text("utf-8"))
            replay(stage, name, life["sessions"])
            answers = [(later, ask(stage, name, later)) for later in life["later"]]
            results[name] = count(answers)
            print(name, json.dumps(results[name]), flush=True)
            if options.show and name in LOOKED_AT:
                print(*show(answers), sep="\n")
    save_result(results, options.json)


def replay(stage: Stage, name: str, sessions: Sequence[dict[str, Any]]) -> None:
    """Tell the daemon what was said, as a connected assistant does."""
    for session in sessions:
        who = _place(name, f"{name} {session['id']}", session["project"])
        stage.client.call("session.start", who)
        begun = datetime.fromisoformat(session["day"])
        messages: list[dict[str, str]] = []
        for number, (asked, answer) in enumerate(session["turns"]):
            at = (begun + number * TURN).isoformat()
            stage.client.call("inject.prepare", {"query": asked, **who})
            for role, text in (("user", asked), ("assistant", answer)):
                turn = {"text": text, "origin": ORIGINS[role], "occurred_at": at, **who}
                stage.client.call("memory.ingest", turn)
                messages.append({"role": role, "content": text, "timestamp": at})
        stage.settle()
        report = {
            "source": "an-assistant",
            "session_id": who["session_id"],
            "agent_id": name,
            "event": "session_end",
            "ts": messages[-1]["timestamp"],
            "used_tokens": sum(len(each["content"]) for each in messages) // 4,
            "window_tokens": WINDOW_TOKENS,
            "messages": messages,
        }
        if session["project"] is not None:
            report["cwd"] = session["project"]
        stage.client.call("usage.report", report)


def ask(stage: Stage, name: str, later: dict[str, Any]) -> Told:
    """Begin a session with the message *later*."""
    who = _place(name, f"{name} later {later['text']}"[:60], later["project"])
    stage.client.call("session.start", who)
    brief = stage.client.call("inject.brief", who)
    prompt = stage.client.call("inject.prepare", {"query": later["text"], **who})
    return Told(_text_of(brief), _text_of(prompt), len(prompt["memories"]))


def _place(name: str, session_id: str, project: str | None) -> dict[str, str]:
    place = {"agent_id": name, "session_id": session_id}
    return place if project is None else {**place, "project_id": project}


def _text_of(answer: dict[str, Any]) -> str:
    return _plain("\n".join(message["content"] for message in answer["messages"]))


def _plain(text: str) -> str:
    """Return a text as it is compared: its letters and digits in lower case."""
    return _OTHER.sub(" ", text.casefold()).strip()


def _is_told(later: dict[str, Any], text: str) -> bool:
    enough = any if later.get("any") else all
    return enough(_plain(need) in text for need in later["needs"])


def count(answers: Sequence[tuple[dict[str, Any], Told]]) -> dict[str, float]:
    """Return the counts of one life."""
    needing = [(later, its) for later, its in answers if later["needs"]]
    changed = [(later, its) for later, its in needing if later.get("stale")]
    others = [its.memories for later, its in answers if not later["needs"]]
    return {
        "needing": len(needing),
        "in the prompt": sum(_is_told(later, its.prompt) for later, its in needing),
        "in brief or prompt": sum(_is_told(later, _both(its)) for later, its in needing),
        "changed": len(changed),
        "told the old value": sum(
            any(_plain(old) in _both(its) for old in later["stale"]) for later, its in changed
        ),
        "memories in a prompt": _mean([its.memories for _, its in needing]),
        "where nothing is needed": _mean(others),
    }


def _both(its: Told) -> str:
    return f"{its.brief} {its.prompt}"


def _mean(values: Sequence[int]) -> float:
    return round(sum(values) / max(1, len(values)), 2)


def show(answers: Sequence[tuple[dict[str, Any], Told]]) -> Iterator[str]:
    """Yield the messages whose needs are told nowhere, and what they need."""
    for later, its in answers:
        if later["needs"] and not _is_told(later, _both(its)):
            yield f"  {later['text']}\n    {later['needs']}"


if __name__ == "__main__":
    main()
