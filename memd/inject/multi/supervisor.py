"""Who looks, and whether to look again: by rule, or by a language model (SPEC 14.3, D8).

By rule is the default. Everything goes to the semantic worker, which looks in all
categories, so that a word misread costs nothing; what the words say on top adds a
worker that looks closer:

| the question has | goes to |
|---|---|
| anything: names, facts, why | semantic |
| how to, steps, a procedure: *how do I*, *steps*, *set up*, *command* | procedural as well |
| words of recent time: *today*, *yesterday*, *last*, *recently*, *just now* | episodic as well |

In this order, cut to ``max_workers_per_query``. What was found is good enough when
its mean score reaches ``min_relevance``; when it is not, the same question is asked
once more without its function words.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, get_args

from memd.domain.backend import CompletionProvider
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.settings.topology import (
    Alternative,
    RetrievalCorrection,
    RetrievalQuery,
    WorkerRouting,
)
from memd.inject.isolated import json_reply
from memd.inject.multi.workers import EPISODIC, PROCEDURAL, SEMANTIC, Candidates
from memd.inject.reformulation import WordReformulator
from memd.sleep.strategies.ask import Model
from memd.view.view import untrusted_content_directive, wrapped

WORKERS = (SEMANTIC, PROCEDURAL, EPISODIC)
TASK_TAG = "task-data"
ALTERNATIVES = frozenset(get_args(Alternative))
SHOWN = 5  # candidates that a model is shown when it judges them
SHOWN_CHARS = 200
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
    """Routes and evaluates by the rules of the module; no model, no surprise."""

    def __init__(self, config: MemoryRetrievalConfig | None = None) -> None:
        self._config = config or MemoryRetrievalConfig()
        self._reformulator = WordReformulator()

    async def route(self, query: RetrievalQuery) -> WorkerRouting:
        """Return the workers that the words of the question call for."""
        return routed(query.text, self._config.max_workers_per_query)

    async def evaluate_for_retry(
        self, query: RetrievalQuery, candidates: Candidates
    ) -> RetrievalCorrection | None:
        """Return the question in fewer words when what was found is poor."""
        early, decided = evaluated(candidates, self._config)
        if decided:
            return early
        entries = tuple(candidate.entry for candidate in candidates)
        other = await self._reformulator.reformulate(query.text, entries)
        if other is None:
            return None
        return RetrievalCorrection(corrected_query=other, reason="in fewer words")


class LLMSupervisor:
    """Asks a small language model; where it fails, only the semantic worker looks, once.

    With *otherwise*, that one decides where the model does not answer.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider,
        model: str,
        config: MemoryRetrievalConfig | None = None,
        otherwise: RuleSupervisor | None = None,
    ) -> None:
        self._otherwise = otherwise
        self._model = Model(provider, model, 0.0, REPLY_TOKENS)
        self._config = config or MemoryRetrievalConfig()

    async def route(self, query: RetrievalQuery) -> WorkerRouting:
        """Return the workers that the model names; the semantic one when it names none."""
        reply = await json_reply(
            self._model, _fenced(query.text), system=_system(_ROUTE), what="routing by a model"
        )
        if reply is None or not isinstance(reply.get("workers"), list):
            if self._otherwise is not None:
                return await self._otherwise.route(query)
            return WorkerRouting(workers=(SEMANTIC,), reason="fallback: the model did not answer")
        named = known_names(reply["workers"], WORKERS)[: self._config.max_workers_per_query]
        return WorkerRouting(workers=named or (SEMANTIC,), reason=_reason(reply))

    async def evaluate_for_retry(
        self, query: RetrievalQuery, candidates: Candidates
    ) -> RetrievalCorrection | None:
        """Return the model's correction, less what is not valid in it; None without one."""
        early, decided = evaluated(candidates, self._config)
        if decided:
            return early
        shown = [_fenced(each.entry.content[:SHOWN_CHARS]) for each in candidates[:SHOWN]]
        prompt = "\n".join([_fenced(query.text), f"{len(candidates)} memories were found:", *shown])
        reply = await json_reply(
            self._model, prompt, system=_system(_EVALUATE), what="evaluation by a model"
        )
        if reply is None and self._otherwise is not None:
            return await self._otherwise.evaluate_for_retry(query, candidates)
        return None if reply is None else correction(reply)


def routed(text: str, workers_max: int) -> WorkerRouting:
    """Return the workers that the words of *text* call for, by the table above.

    >>> routed("What did we decide yesterday?", 2).workers
    ('semantic', 'episodic')
    >>> routed("How do I deploy the site?", 2).workers
    ('semantic', 'procedural')
    """
    cues = ((PROCEDURAL, _HOW, "how something is done"), (EPISODIC, _RECENT, "recent time"))
    met = [(worker, why) for worker, pattern, why in cues if pattern.search(text)]
    workers = (SEMANTIC, *(worker for worker, _ in met))[:workers_max]
    return WorkerRouting(workers=workers, reason=", ".join(why for _, why in met) or "facts")


def evaluated(
    candidates: Candidates, config: MemoryRetrievalConfig
) -> tuple[RetrievalCorrection | None, bool]:
    """Return what is decided without looking closer, and whether anything is (SPEC 14.3.2).

    Nothing found: the semantic worker alone. Good enough, or switched off: no more.
    """
    if not config.reflective_retry_enabled:
        return None, True
    if not candidates:
        only = RetrievalCorrection(alternative_strategy="semantic_only", reason="nothing found")
        return only, True
    mean = sum(each.combined_score for each in candidates) / len(candidates)
    return None, mean >= config.min_relevance


def correction(reply: dict[str, Any]) -> RetrievalCorrection | None:
    """Return what a model's *reply* asks for, without what is not valid; None: no retry."""
    if reply.get("retry") is not True:
        return None
    text, other = reply.get("corrected_query"), reply.get("alternative_strategy")
    valid_text = isinstance(text, str) and bool(text.strip()) and "\x00" not in text
    valid_other = isinstance(other, str) and other in ALTERNATIVES
    return RetrievalCorrection.model_validate(
        {
            "corrected_query": " ".join(str(text).split()) if valid_text else None,
            "alternative_strategy": other if valid_other else None,
            "reason": _reason(reply),
        }
    )


def known_names(names: Collection[object], workers: Collection[str]) -> tuple[str, ...]:
    """Return those of *names* that are among *workers*, each once, in order."""
    return tuple(dict.fromkeys(str(name) for name in names if name in workers))


def _reason(reply: dict[str, Any]) -> str:
    return str(reply.get("reason") or "")[:SHOWN_CHARS]


def _fenced(text: str) -> str:
    return wrapped(TASK_TAG, text)


def _system(task: str) -> str:
    return f"{task}\n\n{untrusted_content_directive((TASK_TAG,))}"
