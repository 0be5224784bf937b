"""The providers of nights' summaries, where the settings assign them to a language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memd.domain.settings.settings import Settings
from memd.llm.completion import PurposeProvider
from memd.llm.llm import LanguageModel
from memd.llm.purposes import Purpose
from memd.sleep.sleep import NightProviders

if TYPE_CHECKING:
    from memd.backends.assembly import Assembly
    from memd.sleep.night.task import NightTask

NIGHT_PURPOSES = (Purpose.SUMMARY, Purpose.COMPRESSION, Purpose.EXPERIENCE)


def night_purposes(settings: Settings) -> frozenset[Purpose]:
    """Return the purposes for which nights use a language model, by the settings."""
    compresses_experiences = settings.memory.consolidation.experience_compressor.enabled
    return frozenset(
        ({Purpose.SUMMARY} if _model_summarises(settings) else set())
        | ({Purpose.EXPERIENCE} if compresses_experiences else set())
    )


def night_providers(settings: Settings, model: LanguageModel) -> NightProviders | None:
    """Return the providers that write summaries in nights, None where rules do."""
    if settings.llm.night_tokens == 0:
        return None
    return NightProviders(
        PurposeProvider(model, Purpose.SUMMARY) if _model_summarises(settings) else None,
        PurposeProvider(model, Purpose.COMPRESSION) if settings.llm.uses.compression else None,
        settings.llm.model or settings.llm.provider,
        lambda: model.call_counts(NIGHT_PURPOSES),
        _experience_task(settings, model),
    )


def _experience_task(
    settings: Settings, model: LanguageModel
) -> Callable[[Assembly], NightTask] | None:
    config = settings.memory.consolidation.experience_compressor
    if not config.enabled:
        return None

    def build(assembly: Assembly) -> NightTask:
        from memd.sleep.model.experiences import Experiences

        provider = PurposeProvider(model, Purpose.EXPERIENCE)
        name = config.model or provider.name
        return Experiences(assembly.db, assembly.ids, assembly.counter, provider, name, config)

    return build


def _model_summarises(settings: Settings) -> bool:
    """Return whether a model summarises memories: by strategy llm, or a named one of dual_mode."""
    config = settings.memory.consolidation
    named = config.archival.dual_mode.summarization_model is not None
    return config.strategy == "llm" or (config.strategy == "dual_mode" and named)
