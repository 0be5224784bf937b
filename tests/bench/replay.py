"""What prompts hold when sessions go on: ``python -m tests.bench.replay DIR [--json OUT]``.

DIR holds recorded coding sessions (SpecStory's Markdown). They are replayed in the order
of their names against a real daemon with the product's defaults: each message of the user
asks ``inject.prepare`` first, with its session, and is ingested then; each message of the
assistant is ingested with the origin assistant; what tools print is not. In a second pass
the same is said once more in sessions of other names: somebody comes back to the same work.

Counted are the memories that were injected, over all prompts of a pass:
``window``  of the very session, said before in it: that text is still in the window;
``own``     of a message of the user, whatever it says, and of these
``asked``   those that state nothing: questions, requests of the moment, thanks;
``again``   given before in the same session;
``double``  the same text twice in one prompt.
``--show`` prints what was injected of the user's own messages, never of a session held back.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bench.bench_daemon import Stage, save_result, staged
from bench.reader_labels import split
from bench.transcripts import Message, exported
from memd.extract.passing import passing_kind

AGENT = "me"
PASSES = {"first": "", "second": " again"}
"""What is put behind a session's name in each."""
COUNTED = ("entries", "tokens", "window", "own", "asked", "again", "double")
_KEPT = ("stored", "pending", "merged", "turned_away")


class Heard(NamedTuple):
    """Where a memory came from, and what it says."""

    session: str
    role: str
    text: str

    @property
    def is_asked(self) -> bool:
        return self.role == "user" and passing_kind(self.text) is not None


@dataclass
class Replay:
    """What is known while sessions are replayed: whose each memory is, what each was given."""

    stage: Stage
    heard: dict[str, Heard] = field(default_factory=dict)
    in_window: set[tuple[str, str]] = field(default_factory=set)
    """Session and memory: what was said in it before, and so is in its window."""
    given: set[tuple[str, str]] = field(default_factory=set)
    shown: list[str] = field(default_factory=list)
    splits: dict[str, str] = field(default_factory=split)

    def message(self, session: str, role: str, text: str) -> dict[str, int] | None:
        """Replay one message; return what its prompt held, None for one that asks nothing."""
        counts = self._prepared(session, text) if role == "user" else None
        origin = "person" if role == "user" else "assistant"
        more = {"agent_id": AGENT, "session_id": session, "origin": origin}
        receipt = self.stage.client.call("memory.ingest", {"text": text, **more})
        for item in (item for kind in _KEPT for item in receipt.get(kind, ())):
            if item["id"] not in self.heard:
                entry = self.stage.client.call("memory.get", {"id": item["id"], "agent_id": AGENT})
                self.heard[item["id"]] = Heard(session, role, entry["content"])
            self.in_window.add((session, item["id"]))
        self.stage.settle()
        return counts

    def _prepared(self, session: str, text: str) -> dict[str, int]:
        params = {"query": text, "agent_id": AGENT, "session_id": session}
        prompt: dict[str, Any] = self.stage.client.call("inject.prepare", params)
        ids = [memory["id"] for memory in prompt["memories"]]
        counts = dict.fromkeys(COUNTED, 0)
        counts |= {"entries": len(ids), "tokens": prompt["tokens_used"]}
        counts["double"] = len(ids) - len({self.heard[each].text for each in ids})
        for each in ids:
            heard = self.heard[each]
            counts["window"] += (session, each) in self.in_window
            counts["own"] += heard.role == "user"
            counts["asked"] += heard.is_asked
            counts["again"] += (session, each) in self.given
            self.given.add((session, each))
            recorded = heard.session.removesuffix(PASSES["second"])
            if heard.role == "user" and self.splits.get(recorded) != "held":
                self.shown.append(heard.text)
        return counts


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.replay", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path, dest="out")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args(argv)
    with staged() as stage:
        replay = Replay(stage)
        result = measured(replay, exported(options.folder, sidechains=False))
    print(table(result))
    if options.show:
        for text in dict.fromkeys(replay.shown):
            print(f"{replay.shown.count(text):4}  {' '.join(text.split())[:200]}")
    save_result(result, options.out)


def measured(
    replay: Replay, sessions: Mapping[str, Sequence[Message]]
) -> dict[str, dict[str, int]]:
    """Return the sums of each pass, and how many prompts there were."""
    result: dict[str, dict[str, int]] = {}
    for name, more in PASSES.items():
        prompts = [
            counts
            for session, messages in sorted(sessions.items())
            for message in messages
            if message["role"] in {"user", "assistant"} and message["content"].strip()
            if (counts := replay.message(f"{session}{more}", message["role"], message["content"]))
        ]
        sums = {key: sum(prompt[key] for prompt in prompts) for key in COUNTED}
        result[name] = {"prompts": len(prompts), **sums}
    return result


def table(result: dict[str, dict[str, int]]) -> str:
    """Return the figures as lines of a table."""
    columns = ("prompts", *COUNTED, "entries a prompt", "tokens a prompt")
    lines = ["| pass | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, sums in result.items():
        each = [sums[key] / max(1, sums["prompts"]) for key in ("entries", "tokens")]
        cells = [str(sums[key]) for key in ("prompts", *COUNTED)]
        cells += [f"{mean:.1f}" for mean in each]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
