"""What a daemon makes of its settings: what it refuses, and what it cannot do yet.

A program in one process may have its memories in RAM or bring a language model; the
daemon has one SQLite file and none. A value that would be ignored is refused where
the person would lose by it, and warned of by name where something else is done
instead (docs/decisions/0070, 0071, 0074).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memd.base.paths import folder_of

if TYPE_CHECKING:
    from memd.domain.settings.settings import CompanyMemoryConfig
    from memd.domain.values import Value

_NEEDS_A_MODEL = "no language model is connected"

# The section, its keys (none: all of them), and what happens instead.
_BY_RULE = (
    (
        "consolidation.archival.dual_mode",
        ("summarization_model", "max_summary_tokens"),
        "summaries are made by rule",
    ),
    ("consolidation.llm", (), "summaries are made by rule"),
    ("consolidation.experience_compressor", (), "experiences stay as they are"),
)


def refuse_what_no_daemon_does(memory: CompanyMemoryConfig) -> None:
    """Raise ValueError, beginning with the key, for a *memory* tree that would be ignored."""
    if memory.backend != "sqlite":
        raise ValueError(
            f"memory.backend = {memory.backend!r}: a daemon keeps everything in one SQLite file; "
            "leave the key away, or use memd.api.create_memory_backend in a program of your own"
        )
    if memory.storage.data_dir is not None:
        folder_of(memory.storage.data_dir)


def without_effect(memory: CompanyMemoryConfig) -> Iterator[str]:
    """Yield one sentence for each setting of *memory* that was given and changes nothing."""
    if "default_relevance" in memory.retrieval.model_fields_set:
        yield "memory.retrieval.default_relevance has no effect: a daemon scores all that it finds"
    if memory.consolidation.strategy == "llm":
        yield f"memory.consolidation.strategy = llm: {_NEEDS_A_MODEL}, summaries are made by rule"
    for place, keys, instead in _BY_RULE:
        section: Value = memory
        for step in place.split("."):
            section = getattr(section, step)
        given = section.model_fields_set & set(keys) if keys else section.model_fields_set
        for key in sorted(given):
            yield f"memory.{place}.{key} has no effect: {_NEEDS_A_MODEL}, {instead}"
