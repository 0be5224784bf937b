"""Checks for settings that the daemon does not support or that have no effect.

memd as a library may keep memories in RAM or use the program's own language model; the daemon
has one SQLite file. A setting that the daemon would ignore is an error if ignoring it does
harm, and a warning otherwise (docs/decisions/0070, 0071, 0074).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memd.base.paths import DATA_DIR, expand_folder

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
            "remove the setting, or use memd.api.create_memory_backend in a program of your own"
        )
    if memory.storage.data_dir is not None:
        expand_folder(".".join(DATA_DIR), memory.storage.data_dir)


def find_ineffective(memory: CompanyMemoryConfig, llm: LlmSettings) -> Iterator[str]:
    """Yield a sentence for each setting in *memory* that has no effect."""
    if "default_relevance" in memory.retrieval.model_fields_set:
        yield "memory.retrieval.default_relevance has no effect: a daemon scores all candidates"
    config = memory.consolidation
    dual, by_llm = config.archival.dual_mode, config.strategy == "llm"
    no_model = _why_no_model(llm)
    if by_llm and no_model:
        yield f"memory.consolidation.strategy = llm: {no_model}, summaries are made by rule"
    yield from _warn_of_keys(
        config.llm,
        "consolidation.llm",
        no_model or ("" if by_llm else "it needs strategy llm"),
        exempt=_OF_COMPRESSION if llm.uses.compression and not no_model else frozenset(),
    )
    summarizes = dual.summarization_model is not None and config.strategy == "dual_mode"
    yield from _warn_of_keys(
        dual,
        "consolidation.archival.dual_mode",
        no_model or ("" if summarizes else "it needs strategy dual_mode and summarization_model"),
        keys=("summarization_model", "max_summary_tokens"),
    )
    if no_model:
        why, exempt = f"{no_model}, experiences stay as they are", frozenset[str]()
    else:
        enabled = config.experience_compressor.enabled
        why, exempt = "" if enabled else "it is not enabled", frozenset({"enabled"})
    place = "consolidation.experience_compressor"
    yield from _warn_of_keys(config.experience_compressor, place, why, exempt=exempt)


def find_unused_uses(memory: CompanyMemoryConfig, llm: LlmSettings) -> Iterator[str]:
    """Yield a sentence for each of ``llm.uses`` that another setting disables."""
    retrieval = memory.retrieval
    requirements = (
        ("reformulation", retrieval.query_reformulation_enabled, "query_reformulation_enabled"),
        ("routing", retrieval.retriever == "hierarchical", "retriever = hierarchical"),
        ("reranking", retrieval.query_specific_rerank_enabled, "query_specific_rerank_enabled"),
    )
    for name, is_met, needed in requirements:
        if llm.provider != "none" and getattr(llm.uses, name) and not is_met:
            yield f"llm.uses.{name} has no effect without memory.retrieval.{needed}"


def find_unused_model(memory: CompanyMemoryConfig, llm: LlmSettings) -> Iterator[str]:
    """Yield a sentence for each setting of a language model that nothing uses."""
    if llm.provider == "none":
        return
    enabled = {name for name in type(llm.uses).model_fields if getattr(llm.uses, name)}
    config = memory.consolidation
    interactive = bool(enabled & INTERACTIVE_USES)
    background = (
        bool(enabled - INTERACTIVE_USES)
        or config.strategy == "llm"
        or config.archival.dual_mode.summarization_model is not None
        or config.experience_compressor.enabled
    )
    if not interactive and not background:
        yield f"llm.provider = {llm.provider} has no effect: no use is enabled (llm.uses)"
    elif not interactive and "wait_seconds" in llm.model_fields_set:
        yield "llm.wait_seconds has no effect: no interactive use is enabled"
    elif not background and "night_tokens" in llm.model_fields_set:
        yield "llm.night_tokens has no effect: only interactive uses are enabled"


def _why_no_model(llm: LlmSettings) -> str:
    """Return why nights have no language model, "" if they have one."""
    if llm.provider == "none":
        return "no language model is connected"
    return "llm.night_tokens is 0" if llm.night_tokens == 0 else ""


def _warn_of_keys(
    section: Value,
    place: str,
    why: str,
    *,
    keys: tuple[str, ...] = (),
    exempt: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """Yield a sentence for each key that is set in *section*, unless *why* is empty.

    *place* is the section's key below ``memory``. *keys* limits the keys, by default all;
    *exempt* are left out.
    """
    present = section.model_fields_set & set(keys or type(section).model_fields)
    if why:
        for key in sorted(present - exempt):
            yield f"memory.{place}.{key} has no effect: {why}"
