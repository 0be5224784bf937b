"""Which events of which assistant ``memd hook SOURCE EVENT`` understands, and what each is for.

The events have each assistant's own names, as its settings file writes them. What is not
in the table is nothing to memd: a hook that is called with it does nothing.
"""

from __future__ import annotations

BEGIN = "begin"
"""A session begins, or its window was just emptied: it is told a brief."""
PROMPT = "prompt"
"""Somebody asks: what is known about it is added, and what was asked is kept."""
ANSWER = "answer"
"""The assistant has answered: what it said is kept."""
COMPACTS = "compacts"
"""The window is about to be emptied: a nap."""
COMPACTED = "compacted"
"""It was emptied."""
END = "end"
"""The session is over: a nap."""

EVENTS: dict[str, dict[str, str]] = {
    "claude-code": {
        "SessionStart": BEGIN,
        "UserPromptSubmit": PROMPT,
        "Stop": ANSWER,
        "PreCompact": COMPACTS,
        "SessionEnd": END,
    },
    "codex": {
        "SessionStart": BEGIN,
        "UserPromptSubmit": PROMPT,
        "Stop": ANSWER,
        "PreCompact": COMPACTS,
    },
    "gemini": {
        "SessionStart": BEGIN,
        "BeforeAgent": PROMPT,
        "AfterAgent": ANSWER,
        "PreCompress": COMPACTS,
        "SessionEnd": END,
    },
    "copilot": {
        "sessionStart": BEGIN,
        "userPromptSubmitted": PROMPT,
        "agentStop": ANSWER,
        "preCompact": COMPACTS,
        "sessionEnd": END,
    },
    "cursor": {
        "sessionStart": BEGIN,
        "beforeSubmitPrompt": PROMPT,
        "afterAgentResponse": ANSWER,
        "preCompact": COMPACTS,
        "sessionEnd": END,
    },
    "opencode": {
        "session.created": BEGIN,
        "chat.message": PROMPT,
        "session.idle": ANSWER,
        "experimental.session.compacting": COMPACTS,
        "session.compacted": COMPACTED,
        "session.deleted": END,
    },
}
"""Each assistant's events. opencode has no settings for hooks: ``opencode.js`` calls them."""


class Unusable(Exception):  # noqa: N818  # a reason for the log, not a fault of memd's
    """What came on stdin is nothing that memd understands; the text says why, never what came."""


def takes(source: str, action: str) -> bool:
    """Return whether *source* reads what a hook of *action* adds."""
    if action == PROMPT:
        return source != "cursor"  # its prompts can be stopped, not added to
    return action == BEGIN
