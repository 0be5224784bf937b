"""The operation by which a night condenses groups, from the settings (SPEC 16.1, D8)."""

from __future__ import annotations

from memd.domain.backend import CompletionProvider
from memd.domain.settings.consolidation import ConsolidationConfig
from memd.domain.sleep.consolidation import ConsolidationStrategyType
from memd.sleep.strategies.abstractive import AbstractiveSummarizer
from memd.sleep.strategies.extractive import ExtractivePreserver
from memd.sleep.strategies.llm_synthesis import LLMSynthesisOp
from memd.sleep.strategies.operations import ConcatenationOp, ConsolidationOp, DensityRoutingOp
from memd.text.density import DensityClassifier


def build_operation(
    config: ConsolidationConfig,
    *,
    provider: CompletionProvider | None = None,
    model: str | None = None,
) -> ConsolidationOp:
    """Return the operation of ``config.strategy``, by rule alone without a *provider*.

    A *model* is needed for a strategy that uses the provider; ``dual_mode`` may name its
    own. Raises ValueError when none is named.
    """
    if config.strategy is ConsolidationStrategyType.LLM:
        return LLMSynthesisOp(provider=provider, model=model, config=config.llm)
    if config.strategy is ConsolidationStrategyType.DUAL_MODE:
        dual = config.archival.dual_mode
        return DensityRoutingOp(
            classifier=DensityClassifier(dual.dense_threshold),
            extractor=ExtractivePreserver(dual.max_facts, dual.anchor_length),
            summarizer=AbstractiveSummarizer(
                provider=provider,
                model=dual.summarization_model or model,
                max_summary_tokens=dual.max_summary_tokens,
            ),
        )
    return ConcatenationOp()
