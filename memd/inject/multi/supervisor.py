"""Route a query to workers, and decide on a retry: by rule or by a language model (SPEC 14.3, D8).

The rules are the default. Every query goes to the semantic worker, which searches all categories.
Certain words add a specialised worker:

| the query has | workers |
|---|---|
| any words | semantic |
| words of procedures: *how do I*, *steps*, *set up*, *command* | also procedural |
| words of recent time: *today*, *yesterday*, *last time*, *recently*, *just now* | also episodic |

The list, in this order, is cut to ``max_workers_per_query``. Results are good enough if their mean
score reaches ``min_relevance``. Otherwise the query is retried without its function words.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, get_args

from memd.domain.backend import CompletionProvider
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.inject.isolation import json_reply
from memd.inject.multi.topology import (
    Alternative,
    RetrievalCorrection,
    RetrievalQuery,
    WorkerRouting,
)
from memd.inject.multi.workers import EPISODIC, PROCEDURAL, SEMANTIC, Candidates
from memd.inject.tools.reformulation import WordReformulator
from memd.sleep.strategies.ask import Model
from memd.view.view import untrusted_content_directive, wrap_stored

WORKERS = (SEMANTIC, PROCEDURAL, EPISODIC)
TASK_TAG = "task-data"
ALTERNATIVES = frozenset(get_args(Alternative))
SHOWN, SHOWN_CHARS = 5, 200
"""Candidates that a model reads for its evaluation, and characters of each."""
REPLY_TOKENS = 200

_HOW = re.compile(
    r"""\bhow\s+(?:do|does|did|can|should|would|to|must)\b(?!\s+you\s+feel\b)
    |\b(?:steps?|procedure|instructions?|guide|recipe|workflow|command|set\s?up|install|deploy
    |configure)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RECENT = re.compile(
    r"""\b(?:today|tonight|yesterday|recent(?:ly)?|lately|just\s+now|earlier|so\s+far|latest
    |this\s+(?:morning|afternoon|evening|week)|last\s+(?:night|time|session|conversation|few)
    |(?:an?\s+|\d+\s+)?(?:hours?|minutes?|days?)\s+ago)\b""",
    re.IGNORECASE | re.VERBOSE,
)

_ROUTE = (
    "You decide which parts of a store of memories are searched for a question. semantic: facts, "
    "names, decisions, anything. episodic: what happened in the last three days. procedural: how "
    'things are done. Answer with JSON alone: {"workers": ["semantic"], "reason": "..."}.'
)
_EVALUATE = (
    "You judge what a search in a store of memories has found for a question. Answer with JSON "
    'alone: {"retry": true or false, "corrected_query": "..." or null, "alternative_strategy": '
    '"semantic_only", "episodic_only", "skip" or null, "reason": "..."}. '
    "Retry only when other words, or another strategy, are likely to find more."
)


class RuleSupervisor:
    """Routes and evaluates by rule."""

    def __init__(self, config: MemoryRetrievalConfig | None = None) -> None:
        self._config = config or MemoryRetrievalConfig()
        self._reformulator = WordReformulator()

    async def route(self, query: RetrievalQuery) -> WorkerRouting:
        """Return the workers for the words of the query."""
        return route_by_words(query.text, self._config.max_workers_per_query)

    async def evaluate_for_retry(
        self, query: RetrievalQuery, candidates: Candidates
    ) -> RetrievalCorrection | None:
        """Return a correction to a shorter query if the results are poor, else None."""
        correction, is_decided = evaluate_by_score(candidates, self._config)
        if is_decided:
            return correction
        entries = tuple(candidate.entry for candidate in candidates)
        new_query = await self._reformulator.reformulate(query.text, entries)
        if new_query is None:
            return None
        return RetrievalCorrection(corrected_query=new_query, reason="in fewer words")


class LLMSupervisor:
    """Routes and evaluates with a small language model; *fallback* decides if it does not answer.

    Without a fallback, only the semantic worker searches then, without a retry.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider,
        model: str,
        config: MemoryRetrievalConfig | None = None,
        fallback: RuleSupervisor | None = None,
    ) -> None:
        self._fallback = fallback
        self._model = Model(provider, model, 0.0, REPLY_TOKENS)
        self._config = config or MemoryRetrievalConfig()

    async def route(self, query: RetrievalQuery) -> WorkerRouting:
        """Return the workers that the model names; the semantic worker if it names none."""
        reply = await json_reply(
            self._model, _fence(query.text), system=_system(_ROUTE), what="routing by a model"
        )
        if reply is None or not isinstance(reply.get("workers"), list):
            if self._fallback is not None:
                return await self._fallback.route(query)
            return WorkerRouting(workers=(SEMANTIC,), reason="fallback: the model did not answer")
        named = select_names(reply["workers"], WORKERS)[: self._config.max_workers_per_query]
        return WorkerRouting(workers=named or (SEMANTIC,), reason=_reason(reply))

    async def evaluate_for_retry(
        self, query: RetrievalQuery, candidates: Candidates
    ) -> RetrievalCorrection | None:
        """Return the model's correction without invalid parts; None for no retry."""
        correction, is_decided = evaluate_by_score(candidates, self._config)
        if is_decided:
            return correction
        shown = [_fence(candidate.entry.content[:SHOWN_CHARS]) for candidate in candidates[:SHOWN]]
        prompt = "\n".join([_fence(query.text), f"{len(candidates)} memories were found:", *shown])
        reply = await json_reply(
            self._model, prompt, system=_system(_EVALUATE), what="evaluation by a model"
        )
        if reply is None and self._fallback is not None:
            return await self._fallback.evaluate_for_retry(query, candidates)
        return None if reply is None else parse_correction(reply)


def route_by_words(text: str, workers_max: int) -> WorkerRouting:
    """Return the workers for the words of *text*, by the table in the module's docstring.

    >>> route_by_words("What did we decide yesterday?", 2).workers
    ('semantic', 'episodic')
    >>> route_by_words("How do I deploy the site?", 2).workers
    ('semantic', 'procedural')
    """
    cues = ((PROCEDURAL, _HOW, "how something is done"), (EPISODIC, _RECENT, "recent time"))
    matches = [(worker, reason) for worker, pattern, reason in cues if pattern.search(text)]
    workers = (SEMANTIC, *(worker for worker, _ in matches))[:workers_max]
    reasons = ", ".join(reason for _, reason in matches)
    return WorkerRouting(workers=workers, reason=reasons or "facts")


def evaluate_by_score(
    candidates: Candidates, config: MemoryRetrievalConfig
) -> tuple[RetrievalCorrection | None, bool]:
    """Return a correction or None, and whether that is decided by the scores (SPEC 14.3.2).

    No retry if it is switched off in the settings, or if the results are good enough. Without
    candidates, the correction is to use only the semantic worker. Poor results are not decided.
    """
    if not config.reflective_retry_enabled:
        return None, True
    if not candidates:
        correction = RetrievalCorrection(
            alternative_strategy="semantic_only", reason="nothing found"
        )
        return correction, True
    mean = sum(candidate.combined_score for candidate in candidates) / len(candidates)
    return None, mean >= config.min_relevance


def parse_correction(reply: dict[str, Any]) -> RetrievalCorrection | None:
    """Return the correction in a model's *reply*, without invalid parts; None for no retry."""
    if reply.get("retry") is not True:
        return None
    text, alternative = reply.get("corrected_query"), reply.get("alternative_strategy")
    is_valid_text = isinstance(text, str) and bool(text.strip()) and "\x00" not in text
    is_valid_alternative = isinstance(alternative, str) and alternative in ALTERNATIVES
    return RetrievalCorrection.model_validate(
        {
            "corrected_query": " ".join(str(text).split()) if is_valid_text else None,
            "alternative_strategy": alternative if is_valid_alternative else None,
            "reason": _reason(reply),
        }
    )


def select_names(names: Collection[object], workers: Collection[str]) -> tuple[str, ...]:
    """Return those of *names* that are in *workers*, each once, in order."""
    return tuple(dict.fromkeys(str(name) for name in names if name in workers))


def _reason(reply: dict[str, Any]) -> str:
    return str(reply.get("reason") or "")[:SHOWN_CHARS]


def _fence(text: str) -> str:
    return wrap_stored(TASK_TAG, text)


def _system(task: str) -> str:
    return f"{task}\n\n{untrusted_content_directive((TASK_TAG,))}"
