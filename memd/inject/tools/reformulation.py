"""Reformulate queries and check results, by rule or by a language model (SPEC 12.9-10).

The rules are the default (SPEC D8). A query loses its function words; a query without function
words gets names from the best results. Results are sufficient if one memory probably answers:
relevance is a calibrated probability.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memd.domain.backend import CompletionProvider
from memd.domain.inject import QueryReformulator, SufficiencyChecker
from memd.domain.memory import MemoryEntry
from memd.guard.redaction import redact
from memd.inject.format import directive, fence
from memd.inject.isolation import isolate
from memd.inject.pipeline import Entries, relevance
from memd.text.words import ENGLISH_FUNCTION_WORDS, WORD
from memd.view.view import untrusted_content_directive, wrap_stored

PROBABILITY_MIN = 0.5
"""Relevance from which a memory is sufficient."""
ENTRIES_READ, WORDS_ADDED = 5, 3
"""Results from which names are taken, and names that are added to a query."""
RESULTS_SHOWN, RESULT_CHARS = 10, 200
"""Results that a model reads, and characters of each."""
QUERY_TAG = "task-data"

_REFORMULATE = (
    "You help to search a store of memories. Below are a query and what it has found so far. "
    "Write one other query that is likelier to find what is missing. "
    "Answer with the query alone, on one line; answer with nothing when there is no better one."
)
_CHECK = (
    "You judge a search in a store of memories. Below are a query and what it has found so far. "
    "Think briefly, then answer on the last line with one word: SUFFICIENT when the memories "
    "answer the query, INSUFFICIENT when they do not."
)
_ENOUGH = "sufficient"
_PUNCTUATION = ".,:;!?*_`'\"()[]{}<>-"


class WordReformulator:
    """Drops function words from a query, or else adds names from the results."""

    async def reformulate(self, original_query: str, results: Entries) -> str | None:
        """Return *original_query* without function words, or else with names from the results.

        The names are the most frequent capitalized words. Return None if neither changes the query.
        """
        words = WORD.findall(original_query)
        content_words = [word for word in words if word.casefold() not in ENGLISH_FUNCTION_WORDS]
        if content_words and len(content_words) < len(words):
            return " ".join(content_words)
        query_words = {word.casefold() for word in words}
        counts: Counter[str] = Counter()
        for entry in results[:ENTRIES_READ]:
            counts.update({word for word in _name_words(entry) if word not in query_words})
        names = [word for word, _ in counts.most_common(WORDS_ADDED)]
        return " ".join([*words, *names]) if names else None


class LikelySufficient:
    """Results are sufficient if one memory has a relevance of at least *probability*."""

    def __init__(self, probability: float = PROBABILITY_MIN) -> None:
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"probability must be from 0 to 1, not {probability}")
        self._probability = probability

    async def check_sufficiency(self, query: str, results: Entries) -> bool:
        """Return whether one of *results* is relevant enough; an entry without a score is not."""
        del query
        return any(relevance(entry) >= self._probability for entry in results)


@dataclass(frozen=True, kw_only=True)
class LLMQueryReformulator:
    """Asks a language model for another query; *fallback* is used if it does not answer."""

    provider: CompletionProvider
    model: str
    fallback: QueryReformulator | None = None

    async def reformulate(self, original_query: str, results: Entries) -> str | None:
        """Return the model's query on one line; None for a blank answer, or without any."""
        reply = await isolate(
            self.provider.complete(
                redact(_render_search(original_query, results)),
                model=self.model,
                system=_system(_REFORMULATE),
                temperature=0.0,
                max_tokens=100,
            ),
            None,
            "reformulation by a model",
        )
        if reply is not None:
            return " ".join(reply.split()) or None
        if self.fallback is None:
            return None
        return await self.fallback.reformulate(original_query, results)


@dataclass(frozen=True, kw_only=True)
class LLMSufficiencyChecker:
    """Asks a language model whether results suffice; *fallback* is used if it does not answer.

    Without a fallback, results then count as sufficient, which ends the search.
    """

    provider: CompletionProvider
    model: str
    fallback: SufficiencyChecker | None = None

    async def check_sufficiency(self, query: str, results: Entries) -> bool:
        """Return whether the last line of the model's answer begins with SUFFICIENT."""
        reply = await isolate(
            self.provider.complete(
                redact(_render_search(query, results)),
                model=self.model,
                system=_system(_CHECK),
                temperature=0.0,
                max_tokens=200,
            ),
            None,
            "sufficiency by a model",
        )
        if reply is not None:
            return is_sufficient_reply(reply)
        if self.fallback is None:
            return True
        return await self.fallback.check_sufficiency(query, results)


def is_sufficient_reply(reply: str) -> bool:
    """Return whether the first word of the last line that is not blank is SUFFICIENT.

    >>> [is_sufficient_reply(reply) for reply in ("SUFFICIENT.", "NOT SUFFICIENT", "")]
    [True, False, False]
    """
    words = [line.split() for line in reply.splitlines() if line.strip()]
    return bool(words) and words[-1][0].strip(_PUNCTUATION).casefold() == _ENOUGH


def _name_words(entry: MemoryEntry) -> Iterator[str]:
    """Yield the capitalized words of a memory, which are likely names, in lower case."""
    for match in WORD.finditer(entry.content):
        word = match.group()
        folded = word.casefold()
        if word[0].isupper() and folded not in ENGLISH_FUNCTION_WORDS and len(word) > 1:
            yield folded


def _system(task: str) -> str:
    return f"{task}\n\n{directive()} {untrusted_content_directive((QUERY_TAG,))}"


def _render_search(query: str, results: Iterable[MemoryEntry]) -> str:
    entries = tuple(results)
    shown = [fence(entry.content[:RESULT_CHARS]) for entry in entries[:RESULTS_SHOWN]]
    return "\n".join(
        [wrap_stored(QUERY_TAG, query), f"{len(entries)} memories were found:", *shown]
    )
