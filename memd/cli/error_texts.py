"""Translate the daemon's errors into the words of the command line.

An error of the daemon names parameters and methods of the API, such as ``top_k``; somebody who
typed ``--top`` must read ``--top``. One table is enough, because all commands use the same names.
"""

from __future__ import annotations

import re
from typing import Final

from memd.base.errors import MemdError

WORDS: Final = {
    "action": "ACTION",
    "after": "--after",
    "agent_id": "--agent",
    "as_of": "--as-of",
    "autonomy_level": "--autonomy",
    "categories": "--category",
    "category": "--category",
    "client": "--client",
    "content": "the text",
    "context": "TEXT",
    "exclude_agent": "--without",
    "fact_id": "the id",
    "days": "--days",
    "hops": "--hops",
    "id": "the id",
    "ids": "the ids",
    "known": "--known",
    "known_at": "--known-at",
    "level": "--level",
    "limit": "--limit",
    "max_tokens": "--budget",
    "metadata.tags": "--tag",
    "method": "--method",
    "name": "the name",
    "namespace": "--namespace",
    "namespaces": "--namespace",
    "object": "OBJECT",
    "occurred_since": "--since",
    "occurred_until": "--until",
    "outcome": "--outcome",
    "project_id": "--project",
    "query": "the question",
    "question": "the question",
    "relation": "RELATION",
    "retention_overrides": "--retain",
    "run_id": "the run",
    "scopes": "--scopes",
    "search_mode": "--mode",
    "seniority": "--seniority",
    "session_id": "--session",
    "sessions": "--sessions",
    "source": "--source",
    "speaker": "--speaker",
    "steps": "--step",
    "strategy": "--strategy",
    "subject": "SUBJECT",
    "tags": "--tag",
    "target": "the file",
    "text": "the text",
    "token_budget": "--budget",
    "top_k": "--top",
    "valid": "--valid",
    "valid_from": "--from",
    "valid_to": "--until",
    "value": "the value",
}
"""Parameter name -> option or argument of the command line."""

COMMANDS: Final = {
    "inject.prepare": "memd inject",
    "memory.forget": "memd forget",
    "memory.ingest": "memd import",
    "memory.ingest_many": "memd import",
    "memory.list": "memd list",
    "memory.recall": "memd search",
    "memory.store": "memd add",
    "memory.synthesize": "memd synthesize",
    "memory.update": "memd edit",
    "org.write": "memd org write",
    "skill.export": "memd skill export",
    "sleep.report": "memd sleep --report",
    "sleep.resume": "memd sleep --resume",
    "sleep.run": "memd sleep --now",
    "store.backup": "memd backup",
    "store.check": "memd check",
    "store.rebuild": "memd rebuild",
    "system.status": "memd status",
    "usage.list": "memd usage",
    "wiki.export": "memd wiki",
}
"""Method name -> command that calls it."""

_METHOD = re.compile(r"\b(?:" + "|".join(map(re.escape, COMMANDS)) + r")\b(?!\.)")
_PATH = re.compile(r"(?:^|(?<=; ))([a-z_]+(?:\.[\w-]+)*): ")
"""The path of a parameter before each of several problems, such as ``filter.tags.0: ``."""


def message_and_hint(error: MemdError) -> tuple[str, str | None]:
    """Return the message and the hint of *error* in the words of the command line.

    >>> from memd.base.errors import InvalidError
    >>> message_and_hint(InvalidError("top_k: must be at least 1", field="top_k"))[0]
    '--top must be at least 1'
    """
    message = error.message
    if error.field is not None:
        message = _PATH.sub(_translate, message)
    return _commands(message), None if error.hint is None else _commands(error.hint)


def _translate(match: re.Match[str]) -> str:
    """Replace a path such as ``categories.0: `` by its option; an unknown one stays."""
    path = match[1]
    for name in (path, path.rpartition(".")[0], path.partition(".")[0]):
        if name in WORDS:
            return f"{WORDS[name]} "
    return match[0]


def _commands(text: str) -> str:
    return _METHOD.sub(lambda method: COMMANDS[method[0]], text)
