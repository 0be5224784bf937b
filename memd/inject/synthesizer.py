"""One block out of many sources: scored against the query, each fact once (SPEC 5).

Learnings, playbook, conversation and summaries used to fill a prompt side by
side, the same fact twice and the best of one source behind the worst of
another. Here they compete for one budget. The rule is the documents', pure and
exact: no file, no clock, no model.

What a fragment says is seen through the one view, as every text in a prompt is,
so that it cannot end a fence; benign text comes out as it went in. What comes
from a place that nobody vouches for stands in a fence of its own (SPEC 5.16).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from memd.view.view import ENTRY_TAG, MEMORY_TAG, view, wrapped

MAX_TOKENS = 4500
"""15 % of the documents' window of 30,000."""
ALIKE = 0.8
"""The share of common words above which two texts say the same."""
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
"""What the callers of :meth:`MemorySynthesizer.add_fragments` give each source (SPEC 5.4).

Facts of the organisation count like learnings; their lines name their kind.
"""

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class MemoryFragment:
    """One text of one source. *timestamp* is for the reader, not for the ranking.

    *untrusted* puts its line into a fence, *mark* says there whose word it is. Raises
    ValueError for a *relevance* outside of 0 to 1.
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
    """Owns the fragments of one request, and makes one block of them.

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
        """Add the texts of one source behind those that are there (SPEC 5.3)."""
        self._fragments += [MemoryFragment(source, item, base_relevance) for item in items]

    def add(self, fragments: Iterable[MemoryFragment]) -> None:
        """Add fragments that were made elsewhere."""
        self._fragments += fragments

    def synthesize(self, query: str) -> str:
        """Return the block for *query*, "" when nothing fits; it may be asked again (SPEC 5.13)."""
        return "\n".join(map(line, self.chosen(query)))

    def chosen(self, query: str) -> list[MemoryFragment]:
        """Return what the block is made of, best first, each with its score as *relevance*.

        It ends before the first that does not fit: smaller ones behind it wait (SPEC 5.12).
        """
        asked = _words_of(query)  # once: a question may be long
        scored = [replace(each, relevance=_score(each, asked)) for each in self._fragments]
        ranked = sorted(deduplicated(scored), key=lambda each: each.relevance, reverse=True)
        used = itertools.accumulate(tokens_of(line(each)) for each in ranked)
        return [each for each, cost in zip(ranked, used, strict=True) if cost <= self.max_tokens]


def score(fragment: MemoryFragment, query: str) -> float:
    """Return half of the base relevance and half of the share of query words held (SPEC 5.5).

    A query without words leaves the base relevance as it is.
    """
    return _score(fragment, _words_of(query))


def _score(fragment: MemoryFragment, asked: frozenset[str]) -> float:
    if not asked:
        return fragment.relevance
    overlap = len(asked & _words_of(fragment.content)) / len(asked)
    return 0.5 * fragment.relevance + 0.5 * overlap


def deduplicated(
    fragments: Sequence[MemoryFragment], threshold: float = ALIKE
) -> list[MemoryFragment]:
    """Return *fragments* without near-duplicates; of two the better stays (SPEC 5.7-5.9).

    Near-duplicates are those whose share of common words exceeds *threshold*. Of
    equals the earlier one stays. The better one takes its place at the end; only
    the first that is alike is looked at.
    """
    kept: list[tuple[MemoryFragment, frozenset[str]]] = []
    for fragment in fragments:
        words = _words_of(fragment.content)
        alike = next(
            (i for i, (_, known) in enumerate(kept) if _jaccard(words, known) > threshold), None
        )
        if alike is None:
            kept.append((fragment, words))
        elif fragment.relevance > kept[alike][0].relevance:
            del kept[alike]
            kept.append((fragment, words))
    return [fragment for fragment, _ in kept]


def line(fragment: MemoryFragment) -> str:
    """Return a fragment as it stands in the block (SPEC 5.13): one line, or one in a fence.

    So a text of several lines cannot draw a line with a label of another source.
    """
    source = view(fragment.source, one_line=True, tags=_TAGS)
    text = f"[{source}] {fragment.mark}{view(fragment.content, one_line=True, tags=_TAGS)}"
    return wrapped(ENTRY_TAG, text) if fragment.untrusted else text


def tokens_of(text: str) -> int:
    """Return the cost of a line by the rule of four characters, at least 1 (SPEC 5.11)."""
    return max(1, len(text) // _CHARS_PER_TOKEN)


_TAGS = (ENTRY_TAG, MEMORY_TAG)


def _words_of(text: str) -> frozenset[str]:
    """Return the words by which the documents compare texts: lower case, cut at white space."""
    return frozenset(text.lower().split())


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    either = len(one | other)
    return len(one & other) / either if either else 1.0
