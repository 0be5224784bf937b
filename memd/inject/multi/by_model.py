"""Steps of a prompt that the settings give to a language model, each with a rule as fallback."""

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
    """Return reformulator and checker by the model, with the rules as fallback."""
    provider = PurposeProvider(model, Purpose.REFORMULATION)
    return SearchJudges(
        LLMQueryReformulator(provider=provider, model=provider.name, fallback=BY_RULE.reformulator),
        LLMSufficiencyChecker(provider=provider, model=provider.name, fallback=BY_RULE.checker),
    )


def supervisor(model: LanguageModel, config: MemoryRetrievalConfig) -> LLMSupervisor:
    """Return the supervisor by the model, with the rules as fallback."""
    provider = PurposeProvider(model, Purpose.ROUTING)
    return LLMSupervisor(
        provider=provider,
        model=provider.name,
        config=config,
        fallback=RuleSupervisor(config),
    )


def reranker(model: LanguageModel, cache: RerankerCache) -> QuerySpecificReranker:
    """Return the re-ranker by the model; the order stays when that does not answer."""
    provider = PurposeProvider(model, Purpose.RERANKING)
    return QuerySpecificReranker(provider=provider, model=provider.name, cache=cache)
