"""Shorten a single text, depending on its density (SPEC 16.8, 16.10).

A sparse text is summarised by a language model, or without one truncated to 200 characters. A dense
text, such as code or configuration, keeps its names, addresses and values verbatim, with its start,
middle and end as context.

Facts differ from the specification in four points. An address such as 192.168.1.100 contains no
version. The value of a key is on the same line. A line of prose, a time or an address is no
key-value pair. A fact is cut after 500 characters, so that a very long line does not make the
summary as long as the text.

Every pattern takes linear time, by possessive quantifiers (``++``).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence

from memd.base.errors import ProviderError
from memd.base.limits import FACT_CHARS_MAX
from memd.domain.backend import CompletionProvider
from memd.domain.memory import MemoryEntry
from memd.sleep.strategies.ask import ask, build_model, gather_limited
from memd.view.view import untrusted_content_directive, wrap_stored

SHORT_CHARS = 200
_TAG = "memory-entry"

_log = logging.getLogger(__name__)

_SYSTEM = (
    "You shorten one remembered text. Keep who, what, when and why, and every name, number and "
    "decision; leave out greetings, repetitions and asides. Answer with the shortened text alone. "
    + untrusted_content_directive((_TAG,))
)


class AbstractiveSummarizer:
    """Summarises texts with *provider*, or truncates them without one.

    Raises ValueError for a provider without a *model*, or a blank one.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider | None = None,
        model: str | None = None,
        max_summary_tokens: int = 200,
        temperature: float = 0.3,
    ) -> None:
        self._model = build_model(
            provider, model, temperature=temperature, max_tokens=max_summary_tokens
        )

    async def summarize(self, content: str, *, agent_id: str | None = None) -> str:
        """Return a summary of *content*, or its first 200 characters if no model answers.

        *agent_id* is ignored. Raises ProviderRefusedError for errors that the owner must fix.
        """
        del agent_id
        if self._model is None:
            return truncate(content)
        answer = await ask(self._model, wrap_stored(_TAG, content), system=_SYSTEM)
        return truncate(content) if answer is None else answer

    async def summarize_batch(self, entries: Sequence[MemoryEntry]) -> tuple[tuple[str, str], ...]:
        """Return the id and the summary of each of *entries*, in order.

        Requests run concurrently. An entry whose request fails is truncated to 200 characters.
        """
        summaries = await gather_limited(
            self._summarize_or_cut, [entry.content for entry in entries]
        )
        return tuple((entry.id, text) for entry, text in zip(entries, summaries, strict=True))

    async def _summarize_or_cut(self, content: str) -> str:
        try:
            return await self.summarize(content)
        except ProviderError as error:
            _log.warning("one text was cut instead of summarised: %s", error.kind)
            return truncate(content)


def truncate(content: str, chars: int = SHORT_CHARS) -> str:
    """Return the first *chars* characters of *content* and "..."; a short text unchanged.

    >>> truncate("abcdef", 4)
    'abcd...'
    """
    return content if len(content) <= chars else f"{content[:chars]}..."


HEADER = "[Extractive preservation]"

_URL = re.compile(r"\bhttps?://[^\s<>\"'`]++")
_UUID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE
)
_HEX = re.compile(r"\b[0-9a-f]{32,}+\b", re.IGNORECASE)

# "v1.2.3" or "v1.2.3.4", and "1.2.3" unless a fourth part follows, as in an IP address. It must not
# continue a longer number.
_VERSION = re.compile(
    r"(?<![\w.])(?:v\d++\.\d++\.\d++(?:\.\d++)?+|\d++\.\d++\.\d++(?!\.\d))", re.IGNORECASE
)

# "port: 5432" or "port = 5432". A key begins with a letter, which excludes times of day, and its
# value is on the same line. "//" after the colon excludes addresses.
_PAIR = re.compile(
    r"^[ \t]*+(?P<key>[A-Za-z_][\w.-]*+)[ \t]*+(?P<sign>[:=])(?!//)[ \t]*+(?P<value>\S[^\n]*+)$",
    re.MULTILINE,
)

# Words before a colon that begin prose: "Note: it rained".
_LABELS = frozenset((
    "answer", "caution", "edit", "example", "fyi", "hint", "idea", "important", "nb", "note", "ps",
    "question", "re", "remark", "reminder", "so", "summary", "tip", "todo", "update", "warning",
))  # fmt: skip
_SENTENCE_WORDS_MIN = 4
_VALUE_WORDS_MAX = 12


class ExtractivePreserver:
    """Extracts facts and anchors of dense texts.

    A result has at most *max_facts* facts, and anchors of *anchor_length* characters. Raises
    ValueError if either is less than 1.
    """

    def __init__(self, max_facts: int = 20, anchor_length: int = 150) -> None:
        for name, number in (("max_facts", max_facts), ("anchor_length", anchor_length)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1")
        self._max_facts = max_facts
        self._anchor_length = anchor_length

    def extract(self, content: str) -> str:
        """Return a block with a header, the facts of *content* if any, and its anchors."""
        facts = find_facts(content)[: self._max_facts]
        lines = [HEADER]
        if facts:
            lines += ["Key facts:", *(f"- {fact}" for fact in facts)]
        start, middle, end = anchors(content, self._anchor_length)
        lines.append(f"[START] {start}")
        if middle:
            lines.append(f"[MID] {middle}")
        if end:
            lines.append(f"[END] {end}")
        return "\n".join(lines)


def find_facts(content: str) -> tuple[str, ...]:
    """Return the facts of *content*, each once: URLs, identifiers, versions, key-value pairs.

    >>> find_facts("port: 5432")
    ('port: 5432',)
    """
    facts = (truncate(fact, FACT_CHARS_MAX) for fact in _iter_facts(content))
    return tuple(dict.fromkeys(facts))


def anchors(content: str, length: int) -> tuple[str, str, str]:
    """Return *length* characters of the start, the middle and the end of *content*.

    "..." marks each cut. A text of at most *length* characters is its own start. The pieces of a
    text shorter than three times *length* overlap.

    >>> anchors("abcdefghij", 4)
    ('abcd...', '...defg...', '...ghij')
    """
    if len(content) <= length:
        return content, "", ""
    first = (len(content) - length) // 2
    last = first + length
    middle = "..." * (first > 0) + content[first:last] + "..." * (last < len(content))
    return f"{content[:length]}...", middle, f"...{content[-length:]}"


def _iter_facts(content: str) -> Iterator[str]:
    for pattern in (_URL, _UUID, _HEX, _VERSION):
        yield from pattern.findall(content)
    for pair in _PAIR.finditer(content):
        if pair["sign"] == "=" or not _is_prose(pair["key"], pair["value"]):
            yield pair[0].strip()


def _is_prose(key: str, value: str) -> bool:
    """Return whether ``key: value`` is prose rather than a key-value pair."""
    if key.lower() in _LABELS:
        return True
    words = len(value.split(maxsplit=_VALUE_WORDS_MAX + 1))
    if words < _SENTENCE_WORDS_MIN:
        return False
    return key.istitle() or value.rstrip().endswith((".", "!", "?")) or words > _VALUE_WORDS_MAX
