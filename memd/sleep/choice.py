"""Which operation a night condenses with: what the settings say (SPEC 16.1, D8)."""

from __future__ import annotations

from memd.encode.density import DensityClassifier
from memd.model.consolidation import ConsolidationStrategyType
from memd.model.provider import CompletionProvider
from memd.model.settings_consolidation import ConsolidationConfig
from memd.sleep.abstractive import AbstractiveSummarizer
from memd.sleep.extractive import ExtractivePreserver
from memd.sleep.llm_synthesis import LLMSynthesisOp
from memd.sleep.operations import ConcatenationOp, ConsolidationOp, DensityRoutingOp


def operation_of(
    config: ConsolidationConfig,
    *,
    provider: CompletionProvider | None = None,
    model: str | None = None,
) -> ConsolidationOp:
    """Return the operation of ``config.strategy``. Without a *provider* all of it is by rule.

    With one a *model* is needed where the strategy asks it; ``dual_mode`` may name its
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
