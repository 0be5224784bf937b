"""What changes nothing is warned of by name, at the start and in ``config show``."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from support import forked
from support.daemon import environment, spawned

SET_IN_VAIN = """\
memory:
  embedder: {provider: openai}
  retrieval: {default_relevance: 0.4}
  consolidation:
    strategy: llm
    llm: {temperature: 0.2, max_summary_tokens: 400}
    archival: {dual_mode: {summarization_model: small}}
    experience_compressor: {min_compression_ratio: 0.4}
"""
NAMED = (
    "memory.embedder",
    "memory.retrieval.default_relevance",
    "memory.consolidation.strategy",
    "memory.consolidation.llm.temperature",
    "memory.consolidation.llm.max_summary_tokens",
    "memory.consolidation.archival.dual_mode.summarization_model",
    "memory.consolidation.experience_compressor.min_compression_ratio",
)


def _shown(home: Path, *more: str) -> str:
    return forked.run(["config", "show", *more], env=environment(home), check=True).stdout


def test_what_changes_nothing_is_named_at_the_start_and_where_settings_are_shown(
    tmp_path: Path,
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text(SET_IN_VAIN, encoding="utf-8")

    with spawned(tmp_path) as daemon:
        log = daemon.log.read_text("utf-8")
    shown = _shown(tmp_path)
    warnings = json.loads(_shown(tmp_path, "--json"))["warnings"]

    for key in NAMED:
        assert key in log
        assert sum(key in warning for warning in warnings) == 1
        assert f"# warning: {key}" in shown
    assert yaml.safe_load(shown)["memory"]["consolidation"]["strategy"] == "llm"


def test_without_such_settings_nothing_is_warned_of(tmp_path: Path) -> None:
    assert json.loads(_shown(tmp_path, "--json"))["warnings"] == []
