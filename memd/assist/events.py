"""The events that ``memd hook SOURCE EVENT`` handles, by assistant, and the action of each.

Events are named as in the assistant's settings file. A hook that is called with another event
does nothing.
"""

from __future__ import annotations

BEGIN = "begin"
"""A session begins, or its window was compacted: print a brief."""
PROMPT = "prompt"
"""The user sent a prompt: print memories for it, and ingest it."""
ANSWER = "answer"
"""The assistant has answered: ingest the answer."""
COMPACTS = "compacts"
"""The window is about to be compacted: nap."""
COMPACTED = "compacted"
"""The window was compacted: report it."""
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
"""The action of each event, by assistant. opencode runs hooks from the plugin ``opencode.js``."""


class Unusable(Exception):  # noqa: N818  # a reason for the log, not an error of memd
    """The input on stdin cannot be used; the message says why, without the input."""


def reads_output(source: str, action: str) -> bool:
    """Return whether *source* adds the output of a hook for *action* to its window."""
    if action == PROMPT:
        return source != "cursor"  # a hook of Cursor can stop a prompt, but not add to it
    return action == BEGIN
