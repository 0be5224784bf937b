"""What of prompts a language model does where the settings say so, each with its rule behind it."""

from __future__ import annotations

from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.inject.multi.supervisor import LLMSupervisor, RuleSupervisor
from memd.inject.reformulation import LLMQueryReformulator, LLMSufficiencyChecker
from memd.inject.reranker import QuerySpecificReranker, RerankerCache
from memd.inject.tools.calls import BY_RULE, SearchJudges
from memd.llm.completion import PurposeProvider
from memd.llm.llm import LanguageModel
from memd.llm.purposes import Purpose


def judges(model: LanguageModel) -> SearchJudges:
    """Return who asks in other words: the model, and by rule where it does not answer."""
    provider = PurposeProvider(model, Purpose.REFORMULATION)
    return SearchJudges(
        LLMQueryReformulator(
            provider=provider, model=provider.name, otherwise=BY_RULE.reformulator
        ),
        LLMSufficiencyChecker(provider=provider, model=provider.name, otherwise=BY_RULE.checker),
    )


def supervisor(model: LanguageModel, config: MemoryRetrievalConfig) -> LLMSupervisor:
    """Return who says which workers look: the model, and by rule where it does not answer."""
    provider = PurposeProvider(model, Purpose.ROUTING)
    return LLMSupervisor(
        provider=provider,
        model=provider.name,
        config=config,
        otherwise=RuleSupervisor(config),
    )


def reranker(model: LanguageModel, cache: RerankerCache) -> QuerySpecificReranker:
    """Return who orders what was found: the model; the order stays where it does not answer."""
    provider = PurposeProvider(model, Purpose.RERANKING)
    return QuerySpecificReranker(provider=provider, model=provider.name, cache=cache)
