"""Combine fragments of several sources into one block, scored and deduplicated (SPEC 5). Pure.

Fragments of learnings, playbook, conversation and summaries compete for one budget, by the
rule of the defining documents. Each fragment is escaped like every text in a prompt, so it cannot
end a fence. An untrusted fragment has its own fence (SPEC 5.16).
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from memd.view.view import ENTRY_TAG, OURS, view, wrap_stored

MAX_TOKENS = 4500
"""15 % of the window of 30,000 tokens in the defining documents."""
ALIKE = 0.8
"""Jaccard similarity of the words above which two texts are near-duplicates."""
BASE_RELEVANCE: Mapping[str, float] = MappingProxyType(
    {
        "learnings": 0.7,
        "facts": 0.7,
        "graph": 0.65,
        "playbook": 0.6,
        "conversation": 0.5,
        "summaries": 0.4,
    }
)
"""The base relevance of each source, for :meth:`MemorySynthesizer.add_fragments` (SPEC 5.4).

Organisational facts count like learnings.
"""

_CHARS_PER_TOKEN = 4
_NO_WORDS = frozenset(("",))  # two texts without words are near-duplicates


@dataclass(frozen=True, slots=True)
class MemoryFragment:
    """One text of one source.

    *timestamp* is for readers and does not affect the ranking. An *untrusted* fragment is fenced,
    and *mark* names its origin. Raises ValueError for a *relevance* outside of 0 to 1.
    """

    source: str
    content: str
    relevance: float = 0.5
    timestamp: str = ""
    untrusted: bool = False
    mark: str = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.relevance <= 1.0:
            raise ValueError(f"a relevance is a number from 0 to 1, not {self.relevance}")


class MemorySynthesizer:
    """Collects the fragments of one request and combines them into one block.

    >>> synth = MemorySynthesizer()
    >>> synth.add_fragments("learnings", ["check ports first"], base_relevance=0.7)
    >>> synth.add_fragments("summaries", ["talked about Docker networking"], base_relevance=0.4)
    >>> print(synth.synthesize("Docker networking?"))
    [summaries] talked about Docker networking
    [learnings] check ports first
    """

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self.max_tokens = max_tokens
        self._fragments: list[MemoryFragment] = []

    def add_fragments(self, source: str, items: Iterable[str], base_relevance: float = 0.5) -> None:
        """Append the texts of one source (SPEC 5.3)."""
        self._fragments += [MemoryFragment(source, item, base_relevance) for item in items]

    def add(self, fragments: Iterable[MemoryFragment]) -> None:
        """Append fragments."""
        self._fragments += fragments

    def synthesize(self, query: str) -> str:
        """Return the block for *query*, "" if nothing fits; may be called again (SPEC 5.13)."""
        return "\n".join(map(render_line, self.select(query)))

    def select(self, query: str) -> list[MemoryFragment]:
        """Return the block's fragments, best first, each with its score as *relevance*.

        The block ends before the first fragment that does not fit, even if a later one would
        (SPEC 5.12).
        """
        query_words = _words_of(query)
        scored = [
            replace(fragment, relevance=_score(fragment, query_words))
            for fragment in self._fragments
        ]
        ranked = sorted(deduplicate(scored), key=lambda fragment: fragment.relevance, reverse=True)
        used = itertools.accumulate(tokens_of(render_line(fragment)) for fragment in ranked)
        return [
            fragment for fragment, cost in zip(ranked, used, strict=True) if cost <= self.max_tokens
        ]


def score(fragment: MemoryFragment, query: str) -> float:
    """Return the mean of the base relevance and the share of query words in the text (SPEC 5.5).

    For a query without words, return the base relevance.
    """
    return _score(fragment, _words_of(query))


def _score(fragment: MemoryFragment, query_words: frozenset[str]) -> float:
    if not query_words:
        return fragment.relevance
    overlap = len(query_words & _words_of(fragment.content)) / len(query_words)
    return 0.5 * fragment.relevance + 0.5 * overlap


def deduplicate(
    fragments: Sequence[MemoryFragment], threshold: float = ALIKE
) -> list[MemoryFragment]:
    """Return *fragments* without near-duplicates; of two, the more relevant stays (SPEC 5.7-5.9).

    Near-duplicates have a Jaccard similarity above *threshold*, from 0 on. Of equally relevant ones
    the earlier stays. A more relevant one replaces only its first near-duplicate, and is moved to
    the end.
    """
    unique: dict[int, tuple[MemoryFragment, frozenset[str]]] = {}
    # Only texts with a common word are compared: a request may have a thousand fragments.
    numbers_by_word: defaultdict[str, set[int]] = defaultdict(set)
    for number, fragment in enumerate(fragments):
        words = _words_of(fragment.content) or _NO_WORDS
        shared = Counter(itertools.chain.from_iterable(numbers_by_word[word] for word in words))
        alike = (
            other
            for other, count in shared.items()
            if count / (len(words) + len(unique[other][1]) - count) > threshold
        )
        duplicate = min(alike, default=None)
        if duplicate is not None:
            if fragment.relevance <= unique[duplicate][0].relevance:
                continue
            for word in unique.pop(duplicate)[1]:
                numbers_by_word[word].remove(duplicate)
        unique[number] = fragment, words
        for word in words:
            numbers_by_word[word].add(number)
    return [fragment for fragment, _ in unique.values()]


def render_line(fragment: MemoryFragment) -> str:
    """Return the line of a fragment in the block, fenced if untrusted (SPEC 5.13).

    Line breaks are escaped, so that no text can imitate the line of another source.
    """
    source = view(fragment.source, one_line=True, tags=OURS)
    text = f"[{source}] {fragment.mark}{view(fragment.content, one_line=True, tags=OURS)}"
    return wrap_stored(ENTRY_TAG, text) if fragment.untrusted else text


def tokens_of(text: str) -> int:
    """Return the tokens of a line: a quarter of its characters, and at least 1 (SPEC 5.11)."""
    return max(1, len(text) // _CHARS_PER_TOKEN)


def _words_of(text: str) -> frozenset[str]:
    """Return the words in lower case, split at white space like in the defining documents."""
    return frozenset(text.lower().split())
