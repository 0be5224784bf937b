"""Build the language model from the settings; nothing is opened before its first use."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from memd.base.clock import Clock
from memd.base.errors import MemoryConfigError
from memd.domain.settings.llm import LlmSettings, host_of
from memd.llm.job_files import JobFiles
from memd.llm.llm import Accounts, LanguageModel, ModelLimits, ProviderIdentity
from memd.llm.provider import Provider, Purpose

USES = {
    "naps": Purpose.NAP,
    "lessons": Purpose.LESSON,
    "compression": Purpose.COMPRESSION,
    "triples": Purpose.TRIPLES,
    "reformulation": Purpose.REFORMULATION,
    "routing": Purpose.ROUTING,
    "reranking": Purpose.RERANKING,
}
"""The purpose that each setting of ``llm.uses`` enables."""


def language_model(
    settings: LlmSettings,
    clock: Clock,
    *,
    extra_purposes: frozenset[Purpose] = frozenset(),
    accounts: Accounts | None = None,
    jobs: JobFiles | None = None,
    erasures: Callable[[], int] = int,
) -> LanguageModel:
    """Return the language model of *settings*, which must name a provider.

    *extra_purposes* are enabled by other settings than ``llm.uses``; *jobs* are the files of
    provider `jobs`; *erasures* returns the count of erasures.
    """
    enabled = {purpose for name, purpose in USES.items() if getattr(settings.uses, name)}
    provider, identity = _provider(settings, jobs)
    return LanguageModel(
        provider,
        identity,
        clock,
        purposes=enabled | extra_purposes,
        limits=ModelLimits(settings.night_tokens, settings.wait_seconds * 1_000, erasures),
        accounts=accounts,
    )


def _provider(settings: LlmSettings, jobs: JobFiles | None) -> tuple[Provider, ProviderIdentity]:
    timeout_ms = settings.timeout_seconds * 1_000
    if settings.provider == "openai_compatible":
        from memd.llm.openai_compatible import OpenAICompatible

        assert settings.model is not None
        endpoint = OpenAICompatible(
            settings.url,
            settings.model,
            timeout_ms=timeout_ms,
            api_key_file=settings.api_key_file,
        )
        host = host_of(settings.url)
        return endpoint, ProviderIdentity(settings.provider, settings.model, lambda: host)
    if settings.provider == "assistant":
        from memd.llm.assistant import ConnectedAssistant

        assistants = ConnectedAssistant(timeout_ms=timeout_ms)
        return assistants, ProviderIdentity(
            settings.provider, settings.model, lambda: next(iter(assistants.names), None)
        )
    if settings.provider == "jobs" and jobs is not None:
        from memd.llm.jobs import JobCommand

        command = JobCommand(
            settings.command, jobs, timeout_ms=timeout_ms, answer_bytes=settings.answer_bytes
        )
        command_line = shlex.join(settings.command)
        return command, ProviderIdentity(settings.provider, None, lambda: command_line)
    raise MemoryConfigError(f"llm.provider = {settings.provider}", field="llm.provider")
