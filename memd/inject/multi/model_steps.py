"""Build the steps of a prompt that a language model does, each with a rule as fallback."""

from __future__ import annotations

from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.inject.multi.supervisor import LLMSupervisor, RuleSupervisor
from memd.inject.reranker import QuerySpecificReranker, RerankerCache
from memd.inject.tools.calls import BY_RULE, SearchJudges
from memd.inject.tools.reformulation import LLMQueryReformulator, LLMSufficiencyChecker
from memd.llm.completion import PurposeProvider
from memd.llm.llm import LanguageModel
from memd.llm.provider import Purpose


def judges(model: LanguageModel) -> SearchJudges:
    """Return a reformulator and a sufficiency checker that use *model*."""
    provider = PurposeProvider(model, Purpose.REFORMULATION)
    return SearchJudges(
        LLMQueryReformulator(provider=provider, model=provider.name, fallback=BY_RULE.reformulator),
        LLMSufficiencyChecker(provider=provider, model=provider.name, fallback=BY_RULE.checker),
    )


def supervisor(model: LanguageModel, config: MemoryRetrievalConfig) -> LLMSupervisor:
    """Return a supervisor that uses *model*."""
    provider = PurposeProvider(model, Purpose.ROUTING)
    return LLMSupervisor(
        provider=provider,
        model=provider.name,
        config=config,
        fallback=RuleSupervisor(config),
    )


def reranker(model: LanguageModel, cache: RerankerCache) -> QuerySpecificReranker:
    """Return a re-ranker that uses *model*; if it fails, the order is unchanged."""
    provider = PurposeProvider(model, Purpose.RERANKING)
    return QuerySpecificReranker(provider=provider, model=provider.name, cache=cache)
