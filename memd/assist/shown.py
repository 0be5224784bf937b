"""What a hook prints: memd's messages as one text, in the form that each assistant reads. Pure.

Nothing to say is nothing printed, which every assistant takes well.
"""

from __future__ import annotations

from memd.assist import quick_json

TEXT_CHARS_MAX = 9_500
"""Claude Code shows a model 9,900 characters whole, of 10,100 only the beginning."""


def text_of(result: dict[str, object]) -> str:
    r"""Return the messages of a brief or a prompt as one text; what does not fit stays out whole.

    >>> text_of({"messages": [{"role": "system", "content": "one"}, {"content": "two"}]})
    'one\n\ntwo'
    """
    text = ""
    messages = result.get("messages")
    for message in messages if isinstance(messages, list) else []:
        said = message.get("content") if isinstance(message, dict) else None
        if not isinstance(said, str) or len(text) + len(said) + 2 > TEXT_CHARS_MAX:
            continue
        text = f"{text}\n\n{said}" if text else said
    return text


def printed(source: str, event: str, text: str) -> str:
    """Return what is printed for *text*; of nothing, nothing."""
    if not text:
        return ""
    if source in ("copilot", "opencode"):
        found: dict[str, object] = {"additionalContext": text}
    elif source == "cursor":
        found = {"additional_context": text}
    else:
        found = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return quick_json.dumps(found)
