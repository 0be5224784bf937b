"""A language model may add statements; it never replaces evidence (SPEC D8). Off by default.

The text goes into the prompt inside a fence. What comes back counts only as far as it
can be checked: a triple must quote words that stand in the text exactly as they are,
both its things must be named in that quote, and its relation must be one of memd's.
Everything else is dropped, and what rules found stands whatever the model says.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

from memd.base import log
from memd.base.errors import ProviderError
from memd.base.limits import PROVIDER_ANSWER_MS_MAX
from memd.encode.outgoing import outgoing
from memd.encode.verbs import RELATIONS
from memd.model.graph import Said, folded
from memd.model.provider import CompletionProvider
from memd.org.shown import NAME_CHARS_MAX
from memd.view.view import untrusted_content_directive, wrap_untrusted

SUGGESTED_MAX = 20
TEXT_CHARS_MAX = 8_000
_ANSWER_TOKENS = 800
_TAG = "memory-entry"
_LIST = re.compile(r"\[.*\]", re.DOTALL)

_SYSTEM = (
    "You read one remembered text and list what it says about named things, as a JSON list of "
    'objects {"subject": ..., "relation": ..., "object": ..., "quote": ...}. The relation is one '
    f"of {', '.join(sorted(RELATIONS - {'related_to'}))}. The quote is copied from the text letter "
    "by letter and names both things. List only what the text itself states; an empty list is a "
    "good answer. Answer with the JSON alone. " + untrusted_content_directive((_TAG,))
)


class Suggestions:
    """What a language model adds to the statements of a text; the hook of ``Learning.suggest``."""

    def __init__(self, provider: CompletionProvider, model: str) -> None:
        self._provider = provider
        self._model = model

    async def __call__(self, text: str, known: tuple[Said, ...]) -> tuple[Said, ...]:
        """Return statements that *known* lacks, each with its words in *text*.

        Nothing where the model does not answer in time, or answers something else.
        """
        shown = outgoing(text[:TEXT_CHARS_MAX])
        try:
            async with asyncio.timeout(PROVIDER_ANSWER_MS_MAX / 1_000):
                answer = await self._provider.complete(
                    wrap_untrusted(_TAG, shown),
                    model=self._model,
                    system=_SYSTEM,
                    temperature=0.0,
                    max_tokens=_ANSWER_TOKENS,
                )
        except (ProviderError, TimeoutError) as error:
            log.warning("no statements suggested", kind=getattr(error, "kind", "timeout"))
            return ()
        said = {_sense(one) for one in known}
        found: dict[tuple[str, str, str], Said] = {}
        for one in suggested(shown, answer):
            if _sense(one) not in said:
                found.setdefault(_sense(one), one)
        return tuple(found.values())[:SUGGESTED_MAX]


def suggested(text: str, answer: str) -> Iterator[Said]:
    """Yield what *answer* says and *text* bears out, in its order."""
    match = _LIST.search(answer)
    try:
        listed = json.loads(match.group()) if match else []
    except (ValueError, RecursionError):
        return
    for one in listed if isinstance(listed, list) else []:
        said = _borne_out(text, one)
        if said is not None:
            yield said


def _borne_out(text: str, one: Any) -> Said | None:
    if not isinstance(one, dict):
        return None
    parts = [one.get(name) for name in ("subject", "relation", "object", "quote")]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        return None
    subject, relation, other, quote = (str(part).strip() for part in parts)
    start = text.find(quote)
    if start < 0 or relation not in RELATIONS - {"related_to"}:
        return None
    names = (folded(subject), folded(other))
    named = folded_words(quote)
    if not all(names) or names[0] == names[1] or max(map(len, names)) > NAME_CHARS_MAX:
        return None
    if not all(f" {name} " in named for name in names):
        return None
    return Said(subject, relation, other, start, start + len(quote))


def folded_words(quote: str) -> str:
    """Return *quote* such that a name can be looked for between its words."""
    words = re.sub(r"[^\w+#./-]+", " ", quote.casefold())
    return f" {' '.join(word.strip('.') for word in words.split())} "


def _sense(one: Said) -> tuple[str, str, str]:
    return folded(one.subject), one.relation, folded(one.object)
