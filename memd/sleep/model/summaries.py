"""Who writes the summaries of nights where the settings give them to a language model."""

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

OF_NIGHTS = (Purpose.SUMMARY, Purpose.COMPRESSION, Purpose.EXPERIENCE)


def purposes_of(settings: Settings) -> frozenset[Purpose]:
    """Return the purposes that the settings of nights give to a language model."""
    learns = settings.memory.consolidation.experience_compressor.enabled
    return frozenset(
        ({Purpose.SUMMARY} if _sums_up(settings) else set())
        | ({Purpose.EXPERIENCE} if learns else set())
    )


def night_providers(settings: Settings, model: LanguageModel) -> NightProviders | None:
    """Return who writes summaries in nights, None where it is done by rule."""
    if settings.llm.night_tokens == 0:
        return None
    return NightProviders(
        PurposeProvider(model, Purpose.SUMMARY) if _sums_up(settings) else None,
        PurposeProvider(model, Purpose.COMPRESSION) if settings.llm.uses.compression else None,
        settings.llm.model or settings.llm.provider,
        lambda: model.asked(OF_NIGHTS),
        _experiences(settings, model),
    )


def _experiences(
    settings: Settings, model: LanguageModel
) -> Callable[[Assembly], NightTask] | None:
    config = settings.memory.consolidation.experience_compressor
    if not config.enabled:
        return None

    def made(house: Assembly) -> NightTask:
        from memd.sleep.model.experiences import Experiences

        provider = PurposeProvider(model, Purpose.EXPERIENCE)
        name = config.model or provider.name
        return Experiences(house.db, house.ids, house.counter, provider, name, config)

    return made


def _sums_up(settings: Settings) -> bool:
    """Return whether summaries of memories are a language model's: strategy llm, or named."""
    config = settings.memory.consolidation
    named = config.archival.dual_mode.summarization_model is not None
    return config.strategy == "llm" or (config.strategy == "dual_mode" and named)
