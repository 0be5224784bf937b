"""The plugin that runs hooks in opencode, which has no settings for hooks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

_PLACE = 'const COMMAND = ["memd", "hook", "opencode"]'


def plugin(command: Sequence[str] = ("memd",), client: str | None = None) -> str:
    """Return the text of ``plugins/memd.js``; *command* starts memd, *client* names the key.

    >>> '["/bin/memd","hook","opencode","--client","oc"]' in plugin(["/bin/memd"], "oc")
    True
    """
    text = (resources.files("memd.assist") / "opencode.js").read_text("utf-8")
    words = [*command, "hook", "opencode", *([] if client is None else ["--client", client])]
    assert _PLACE in text
    return text.replace(_PLACE, f"const COMMAND = {json.dumps(words, separators=(',', ':'))}")
