"""Query reformulation and sufficiency, by rule or by a language model (SPEC 12.9-10).

By rule is the default (SPEC D8). A query loses its function words; without any, it gains the
names in the best results. Results are sufficient when one memory probably answers: relevance is
a calibrated probability.
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
ENTRIES_READ = 5  # memories from which words are added
WORDS_ADDED = 3
RESULTS_SHOWN = 10
RESULT_CHARS = 200
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
        """Return *original_query* without function words, or with names; None when neither helps.

        Added are the most frequent capitalized words of the best results.
        """
        words = WORD.findall(original_query)
        content_words = [word for word in words if word.casefold() not in ENGLISH_FUNCTION_WORDS]
        if content_words and len(content_words) < len(words):
            return " ".join(content_words)
        query_words = {word.casefold() for word in words}
        counts: Counter[str] = Counter()
        for entry in results[:ENTRIES_READ]:
            counts.update({word for word in _name_words(entry) if word not in query_words})
        added = [word for word, _ in counts.most_common(WORDS_ADDED)]
        return " ".join([*words, *added]) if added else None


class LikelySufficient:
    """Sufficient is one memory that answers with at least *probability*."""

    def __init__(self, probability: float = PROBABILITY_MIN) -> None:
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"probability must be from 0 to 1, not {probability}")
        self._probability = probability

    async def check_sufficiency(self, query: str, results: Entries) -> bool:
        """Return whether one of *results* is likely enough; an entry without a score is not."""
        del query
        return any(relevance(entry) >= self._probability for entry in results)


@dataclass(frozen=True, kw_only=True)
class LLMQueryReformulator:
    """Asks a language model for another query; *fallback* replaces one that does not answer."""

    provider: CompletionProvider
    model: str
    fallback: QueryReformulator | None = None

    async def reformulate(self, original_query: str, results: Entries) -> str | None:
        """Return the model's query on one line; None for a blank one, or without any answer."""
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
    """Asks a language model; *fallback* replaces one that does not answer.

    A model that fails without a fallback counts as sufficient, which ends the loop.
    """

    provider: CompletionProvider
    model: str
    fallback: SufficiencyChecker | None = None

    async def check_sufficiency(self, query: str, results: Entries) -> bool:
        """Return whether the model's last line begins with the word SUFFICIENT."""
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
            return says_enough(reply)
        if self.fallback is None:
            return True
        return await self.fallback.check_sufficiency(query, results)


def says_enough(reply: str) -> bool:
    """Return whether the first word of the last line that has one is SUFFICIENT.

    >>> [says_enough(reply) for reply in ("SUFFICIENT.", "NOT SUFFICIENT", "INSUFFICIENT", "")]
    [True, False, False, False]
    """
    words = [line.split() for line in reply.splitlines() if line.strip()]
    return bool(words) and words[-1][0].strip(_PUNCTUATION).casefold() == _ENOUGH


def _name_words(entry: MemoryEntry) -> Iterator[str]:
    """Yield the names in a memory, that is its capitalized words, in lower case."""
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
