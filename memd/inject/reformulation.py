"""Whether enough was found, and how else to ask: by rule, or by a language model (SPEC 12.9-10).

By rule is the default (SPEC D8). A question loses its function words, which say
nothing about what is meant; when it has none left, it gains the words that the
best of what was found agrees on. Enough is found when one memory probably
answers: relevance is a calibrated probability, so the bound means what it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from memd.domain.backend import CompletionProvider
from memd.domain.inject import QueryReformulator, SufficiencyChecker
from memd.domain.memory import MemoryEntry
from memd.guard.outgoing import outgoing
from memd.inject.format import directive, fenced
from memd.inject.isolated import isolated
from memd.inject.pipeline import Entries
from memd.recall.question import WORD
from memd.text.function_words import FUNCTION_WORDS
from memd.view.view import untrusted_content_directive, wrapped

LIKELY = 0.5
LOOKED_AT = 5  # memories that other words are taken from
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
    """Asks with fewer words, then with words of what was found."""

    async def reformulate(self, original_query: str, results: Entries) -> str | None:
        """Return other words for *original_query*; None when there are none.

        A word is taken from the results when the two best agree on it, or when it is
        written like a name.
        """
        words = WORD.findall(original_query)
        meant = [word for word in words if word.casefold() not in FUNCTION_WORDS]
        if meant and len(meant) < len(words):
            return " ".join(meant)
        known = {word.casefold() for word in words}
        counts: Counter[str] = Counter()
        for entry in results[:LOOKED_AT]:
            counts.update({word for word in _telling(entry) if word not in known})
        added = [word for word, _ in counts.most_common(WORDS_ADDED)]
        return " ".join([*words, *added]) if added else None


class LikelySufficient:
    """Is content when one memory answers the query with at least *probability*."""

    def __init__(self, probability: float = LIKELY) -> None:
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"probability must be from 0 to 1, not {probability}")
        self._probability = probability

    async def check_sufficiency(self, query: str, results: Entries) -> bool:
        """Return whether one of *results* is likely enough; one without a score is not."""
        del query
        return any((entry.relevance_score or 0.0) >= self._probability for entry in results)


class LLMQueryReformulator:
    """Asks a language model for another query; without an answer there is none.

    With *otherwise*, that one is asked in place of a model that does not answer.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider,
        model: str,
        otherwise: QueryReformulator | None = None,
    ) -> None:
        self._provider = provider
        self._model = model
        self._otherwise = otherwise

    async def reformulate(self, original_query: str, results: Entries) -> str | None:
        """Return the model's query on one line; None when it fails or says nothing."""
        reply = await isolated(
            self._provider.complete(
                outgoing(_asked(original_query, results)),
                model=self._model,
                system=_system(_REFORMULATE),
                temperature=0.0,
                max_tokens=100,
            ),
            None,
            "reformulation by a model",
        )
        if reply is None:
            then = self._otherwise
            return None if then is None else await then.reformulate(original_query, results)
        return " ".join(reply.split()) or None


class LLMSufficiencyChecker:
    """Asks a language model; a model that fails is content, so that no loop goes on for ever.

    With *otherwise*, that one is asked in place of a model that does not answer.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider,
        model: str,
        otherwise: SufficiencyChecker | None = None,
    ) -> None:
        self._provider = provider
        self._model = model
        self._otherwise = otherwise

    async def check_sufficiency(self, query: str, results: Entries) -> bool:
        """Return whether the model's last line begins with the word SUFFICIENT."""
        reply = await isolated(
            self._provider.complete(
                outgoing(_asked(query, results)),
                model=self._model,
                system=_system(_CHECK),
                temperature=0.0,
                max_tokens=200,
            ),
            None,
            "sufficiency by a model",
        )
        if reply is not None:
            return says_enough(reply)
        then = self._otherwise
        return True if then is None else await then.check_sufficiency(query, results)


def says_enough(reply: str) -> bool:
    """Return whether the first word of the last line that has one is SUFFICIENT.

    >>> [says_enough(reply) for reply in ("SUFFICIENT.", "NOT SUFFICIENT", "INSUFFICIENT", "")]
    [True, False, False, False]
    """
    words = [line.split() for line in reply.splitlines() if line.strip()]
    return bool(words) and words[-1][0].strip(_PUNCTUATION).casefold() == _ENOUGH


def _telling(entry: MemoryEntry) -> Iterator[str]:
    """Yield the words of a memory that are worth searching for: names, in small letters."""
    for match in WORD.finditer(entry.content):
        word = match.group()
        folded = word.casefold()
        if word[0].isupper() and folded not in FUNCTION_WORDS and len(word) > 1:
            yield folded


def _system(task: str) -> str:
    return f"{task}\n\n{directive()} {untrusted_content_directive((QUERY_TAG,))}"


def _asked(query: str, results: Iterable[MemoryEntry]) -> str:
    questions = tuple(results)
    shown = [fenced(entry.content[:RESULT_CHARS]) for entry in questions[:RESULTS_SHOWN]]
    return "\n".join([wrapped(QUERY_TAG, query), f"{len(questions)} memories were found:", *shown])
