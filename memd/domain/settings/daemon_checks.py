"""Checks of settings that a daemon does not support, or that have no effect there.

A program in one process may keep memories in RAM or bring its own language model; the daemon
has one SQLite file. A setting that would be ignored is refused if ignoring it does harm, and
warned of by name if something else is done instead (docs/decisions/0070, 0071, 0074).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memd.base.paths import expand_data_dir

if TYPE_CHECKING:
    from memd.domain.settings.llm import LlmSettings
    from memd.domain.settings.settings import CompanyMemoryConfig
    from memd.domain.values import Value

_OF_COMPRESSION = frozenset(
    ("temperature", "max_summary_tokens", "max_entry_input_chars", "max_total_user_content_chars")
)
"""The bounds of strategy llm that apply to session summaries too."""
INTERACTIVE_USES = frozenset(("reformulation", "routing", "reranking"))
"""The uses of a language model in interactive calls."""


def refuse_unsupported(memory: CompanyMemoryConfig) -> None:
    """Raise ValueError, beginning with the key, for an unsupported *memory* setting."""
    if memory.backend != "sqlite":
        raise ValueError(
            f"memory.backend = {memory.backend!r}: a daemon keeps everything in one SQLite file; "
            "leave the key away, or use memd.api.create_memory_backend in a program of your own"
        )
    if memory.storage.data_dir is not None:
        expand_data_dir(memory.storage.data_dir)


def find_ineffective(memory: CompanyMemoryConfig, llm: LlmSettings) -> Iterator[str]:
    """Yield a sentence for each setting in *memory* that has no effect."""
    if "default_relevance" in memory.retrieval.model_fields_set:
        yield "memory.retrieval.default_relevance has no effect: a daemon scores all that it finds"
    config = memory.consolidation
    dual, by_llm = config.archival.dual_mode, config.strategy == "llm"
    why = _why_no_model(llm)
    if by_llm and why:
        yield f"memory.consolidation.strategy = llm: {why}, summaries are made by rule"
    yield from _given_keys(
        config.llm,
        "consolidation.llm",
        why or ("" if by_llm else "it needs strategy llm"),
        exempt=_OF_COMPRESSION if llm.uses.compression and not why else frozenset(),
    )
    named = dual.summarization_model is not None and config.strategy == "dual_mode"
    yield from _given_keys(
        dual,
        "consolidation.archival.dual_mode",
        why or ("" if named else "it needs strategy dual_mode and summarization_model"),
        keys=("summarization_model", "max_summary_tokens"),
    )
    learns = config.experience_compressor.enabled
    yield from _given_keys(
        config.experience_compressor,
        "consolidation.experience_compressor",
        f"{why}, experiences stay as they are" if why else "" if learns else "it is not enabled",
        exempt=frozenset() if why else frozenset({"enabled"}),
    )


def find_unused_uses(memory: CompanyMemoryConfig, llm: LlmSettings) -> Iterator[str]:
    """Yield a sentence for each of ``llm.uses`` that another setting disables."""
    retrieval = memory.retrieval
    needs = (
        ("reformulation", retrieval.query_reformulation_enabled, "query_reformulation_enabled"),
        ("routing", retrieval.retriever == "hierarchical", "retriever = hierarchical"),
        ("reranking", retrieval.query_specific_rerank_enabled, "query_specific_rerank_enabled"),
    )
    for name, is_met, needed in needs:
        if llm.provider != "none" and getattr(llm.uses, name) and not is_met:
            yield f"llm.uses.{name} has no effect without memory.retrieval.{needed}"


def find_unused_model(memory: CompanyMemoryConfig, llm: LlmSettings) -> Iterator[str]:
    """Yield a sentence for each setting of a language model that nothing uses."""
    if llm.provider == "none":
        return
    interactive = {name for name in INTERACTIVE_USES if getattr(llm.uses, name)}
    config = memory.consolidation
    others = (
        {name for name in type(llm.uses).model_fields if getattr(llm.uses, name)} - INTERACTIVE_USES
        or config.strategy == "llm"
        or config.archival.dual_mode.summarization_model is not None
        or config.experience_compressor.enabled
    )
    if not interactive and not others:
        yield f"llm.provider = {llm.provider} has no effect: no use is enabled (llm.uses)"
    elif not interactive and "wait_seconds" in llm.model_fields_set:
        yield "llm.wait_seconds has no effect: no interactive use is enabled"
    elif not others and "night_tokens" in llm.model_fields_set:
        yield "llm.night_tokens has no effect: only interactive uses are enabled"


def _why_no_model(llm: LlmSettings) -> str:
    if llm.provider == "none":
        return "no language model is connected"
    return "llm.night_tokens is 0" if llm.night_tokens == 0 else ""


def _given_keys(
    section: Value,
    place: str,
    why: str,
    *,
    keys: tuple[str, ...] = (),
    exempt: frozenset[str] = frozenset(),
) -> Iterator[str]:
    given = section.model_fields_set & set(keys or type(section).model_fields)
    if why:
        for key in sorted(given - exempt):
            yield f"memory.{place}.{key} has no effect: {why}"
