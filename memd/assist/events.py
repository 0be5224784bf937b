"""The events that ``memd hook SOURCE EVENT`` handles, by assistant, and the action of each.

Events have the names of the assistant's settings file. A hook that is called with any other
event does nothing.
"""

from __future__ import annotations

BEGIN = "begin"
"""A session begins, or its window was compacted: print a brief."""
PROMPT = "prompt"
"""A person's prompt: print memories for it, and ingest it."""
ANSWER = "answer"
"""The assistant's answer: ingest it."""
COMPACTS = "compacts"
"""The window is about to be compacted: nap."""
COMPACTED = "compacted"
"""The window was compacted."""
END = "end"
"""The session is over: nap."""

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
        "SessionEnd": END,
    },
    "qwen": {
        "SessionStart": BEGIN,
        "UserPromptSubmit": PROMPT,
        "Stop": ANSWER,
        "PreCompact": COMPACTS,
        "SessionEnd": END,
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
"""Each assistant's events. opencode has no hooks in its settings: ``opencode.js`` runs them."""


class Unusable(Exception):  # noqa: N818  # a reason for the log, not an error of memd
    """The input on stdin cannot be used; the message says why, without the input."""


def takes(source: str, action: str) -> bool:
    """Return whether *source* reads the output of a hook of *action*."""
    if action == PROMPT:
        return source != "cursor"  # its prompts can be stopped, not added to
    return action == BEGIN
