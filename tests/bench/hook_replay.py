"""Recorded sessions told to memd by hooks: ``python -m tests.bench.hook_replay DIR [--show N]``.

DIR holds recorded coding sessions (SpecStory's Markdown). Each is replayed against a real
daemon with the product's defaults as Claude Code would tell it: ``memd hook`` as a process
for the session's start, each message of the user, the last of the assistant's messages
before the next one, and the end. In a second pass somebody comes back to the same work.

Counted over what the hooks printed, text by text:
``window``  said before in the very session, and so in its window;
``asked``   a message of the user that states nothing;
``again``   printed before in the same session;
``double``  twice in one print.
``--show N`` prints what the first N prompts of the second pass were told, and what is stored,
never of a session held back.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.hooking import hook, repository
from support.pumping import bare

from bench.readings import split
from bench.stage import Stage, staged
from bench.transcripts import Message, exported
from memd.extract.passing import passing_kind
from memd.view.labels import find_fenced

SOURCE = AGENT = "claude-code"
PASSES = {"first": "", "second": " again"}
COUNTED = ("told", "texts", "characters", "window", "asked", "again", "double")
PAUSE_S = 0.03  # a notification is answered by nobody


@dataclass
class Replay:
    """What was said and printed so far."""

    stage: Stage
    home: Path
    project: Path
    said: set[tuple[str, str]] = field(default_factory=set)
    printed: set[tuple[str, str]] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    pages: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    numbers: int = 0

    def event(self, session: str, event: str, **more: Any) -> dict[str, int]:
        """Let an event happen; return the counts of what its hook printed."""
        self.numbers += 1
        base = {"session_id": session, "cwd": str(self.project), "prompt_id": f"p{self.numbers}"}
        found = hook(self.home, SOURCE, event, {**base, **more})
        assert (found.code, found.err) == (0, "")
        counts = self._counted(session, found.added)
        if found.added:
            self.pages.append(f"{session} {event} {more.get('prompt', '')[:200]}\n{found.added}\n")
        time.sleep(PAUSE_S)
        self.stage.settle()
        return counts

    def _counted(self, session: str, added: str) -> dict[str, int]:
        texts = [_folded(text) for text in find_fenced(added)]
        counts = {"told": bool(added), "texts": len(texts), "characters": len(added)}
        counts["window"] = sum((session, text) in self.said for text in texts)
        counts["asked"] = sum(text in self.asked for text in texts)
        again = [text for text in set(texts) if (session, text) in self.printed]
        self.repeated += [f"{session}: {text[:150]}" for text in again]
        counts["again"] = len(again)
        counts["double"] = len(texts) - len(set(texts))
        self.printed |= {(session, text) for text in texts}
        return counts

    def heard(self, session: str, role: str, text: str) -> None:
        """Note what was said, as it is stored: whole, and by its parts."""
        items = self.stage.client.call(
            "memory.list", {"agent_id": AGENT, "session_id": session, "limit": 200}
        )["items"]
        parts = {_folded(text), *(_folded(item["content"]) for item in items)}
        self.said |= {(session, part) for part in parts}
        if role == "user" and passing_kind(text) is not None:
            self.asked.add(_folded(text))


def _folded(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.hook_replay", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--sessions", type=int, default=None, help="the first so many alone")
    said = parser.parse_args(argv)
    sessions = dict(sorted(exported(said.folder, sidechains=False).items())[: said.sessions])
    with tempfile.TemporaryDirectory(prefix="memd-bench-") as folder:
        home = Path(folder)
        with staged(home) as stage:
            words = [sys.executable, "-m", "memd", "client", "add", SOURCE, "--agent", AGENT]
            subprocess.run(words, env=bare(home), check=True, capture_output=True)
            replay = Replay(stage, home, repository(home / "proj"))
            began = 0
            for name, more in PASSES.items():
                began = len(replay.pages)
                print(name, json.dumps(passed(replay, sessions, more)))
            print("\n".join(replay.repeated))
            splits = split()
            pages = [p for p in replay.pages[began:] if splits.get(_session(p)) != "held"]
            print("\n".join(pages[: said.show]))
            if said.show:
                for item in stored(stage, said.show * 10):
                    print(item)


def _session(page: str) -> str:
    return page.split(" again ", 1)[0]


def passed(replay: Replay, sessions: Mapping[str, Sequence[Message]], more: str) -> dict[str, int]:
    """Replay each session once; return the sums."""
    sums = dict.fromkeys((*COUNTED, "prompts"), 0)
    for name, messages in sessions.items():
        session = f"{name}{more}"
        begun = replay.event(session, "SessionStart", source="startup")
        found = [begun]
        for prompt, answer in turns(messages):
            sums["prompts"] += 1
            found.append(replay.event(session, "UserPromptSubmit", prompt=prompt))
            replay.heard(session, "user", prompt)
            if answer:
                replay.event(session, "Stop", last_assistant_message=answer)
                replay.heard(session, "assistant", answer)
        replay.event(session, "SessionEnd", reason="other")
        for key in COUNTED:
            sums[key] += sum(each[key] for each in found)
    return sums


def turns(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yield each message of the user with the last answer before the next one."""
    prompt, answer = "", ""
    for message in messages:
        text = message["content"].strip()
        if message["role"] == "user" and text:
            if prompt:
                yield prompt, answer
            prompt, answer = text, ""
        elif message["role"] == "assistant" and text:
            answer = text
    if prompt:
        yield prompt, answer


def stored(stage: Stage, number: int) -> Iterator[str]:
    """Yield the newest memories as lines, without those of sessions held back."""
    splits = split()
    items = stage.client.call("memory.list", {"agent_id": AGENT, "limit": 1_000})["items"]
    for item in items[:number]:
        session = (item["session_id"] or "").removesuffix(PASSES["second"])
        if splits.get(session) != "held":
            line = " ".join(item["content"].split())[:220]
            yield f"{item['origin']:9} {item['passing'] or '-':9} {session[:24]:24} {line}"


if __name__ == "__main__":
    main()
