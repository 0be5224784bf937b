"""SPEC 3, 6.2, 16.1, D25: what can be set of nights, naps and what they leave behind."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from memd.base.errors import MemoryConfigError
from memd.base.settings import SettingsWarning, load
from memd.domain.settings.consolidation import (
    ArchivalConfig,
    ConsolidationConfig,
    DualModeConfig,
    ExperienceCompressorConfig,
    WikiExportConfig,
)
from memd.domain.settings.settings import Settings, UsageSettings
from memd.domain.sleep.consolidation import ConsolidationStrategyType

SIMPLE, DUAL, LLM = ConsolidationStrategyType
Wrong = tuple[dict[str, Any], list[str]]
"""A section, and what the error names: the key, the value, what is allowed."""

EVERY_KEY: dict[str, Any] = {
    "memory": {
        "consolidation": {
            "enabled": False,
            "interval": "weekly",
            "strategy": "llm",
            "group_threshold": 4,
            "compression_threshold": 12,
            "compression_sessions": 3,
            "max_memories_per_agent": 7,
            "llm": {"group_threshold": 5, "temperature": 0.5, "max_summary_tokens": 60},
            "experience_compressor": {
                "enabled": False,
                "model": "small",
                "temperature": 0.1,
                "max_tokens": 200,
                "min_compression_ratio": 0.2,
            },
            "wiki_export": {
                "enabled": True,
                "export_root": "/srv/wiki",
                "trigger": "on_consolidation",
                "include_raw_tier": False,
                "include_compressed_tier": False,
                "max_entries_per_view": 10,
            },
        }
    },
    "usage": {
        "path": "/srv/usage",
        "threshold_pct": 0.7,
        "rearm_pct": 0.5,
        "drop_pct": 0.3,
        "max_tokens": 200_000,
        "transcript_roots": ["/srv/a", "/srv/b"],
    },
}


def as_toml(tree: dict[str, Any], place: tuple[str, ...] = ()) -> str:
    """Write a tree of sections as TOML; JSON's scalars and lists are TOML's."""
    own = [f"{k} = {json.dumps(v)}" for k, v in tree.items() if not isinstance(v, dict)]
    head = [f"[{'.'.join(place)}]"] if place else []
    below = [as_toml(v, (*place, k)) for k, v in tree.items() if isinstance(v, dict)]
    return "\n".join((*head, *own, *below))


def written(file: Path, tree: dict[str, Any]) -> Path:
    """Write *tree* as TOML or as YAML, which JSON is."""
    file.write_text(as_toml(tree) if file.suffix == ".toml" else json.dumps(tree), "utf-8")
    return file


def test_the_defaults_are_the_documents() -> None:
    config = ConsolidationConfig()

    assert config.strategy is SIMPLE
    assert (config.group_threshold, config.compression_threshold) == (3, 10)
    assert config.compression_sessions is None
    assert ExperienceCompressorConfig() == ExperienceCompressorConfig(
        enabled=False, model=None, temperature=0.3, max_tokens=1000, min_compression_ratio=0.0
    )
    assert WikiExportConfig().trigger == "manual"
    assert WikiExportConfig().export_root is None
    assert UsageSettings().threshold_pct == 0.8
    assert UsageSettings().max_tokens == 30_000


@pytest.mark.parametrize("name", ["config.toml", "config.yaml"])
def test_every_key_is_read_from_toml_and_from_yaml(tmp_path: Path, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SettingsWarning)  # what waits for a language model
        settings = load(Settings, written(tmp_path / name, EVERY_KEY), {})

    consolidation = settings.memory.consolidation.model_dump(mode="json", exclude_unset=True)
    for key, value in EVERY_KEY["memory"]["consolidation"].items():
        assert consolidation[key] == value, key
    assert settings.usage.model_dump(mode="json") == EVERY_KEY["usage"]


WRONG_OF_NIGHTS: tuple[Wrong, ...] = (
    ({"strategy": "clever"}, ["memory.consolidation.strategy", "clever", "dual_mode"]),
    ({"group_threshold": 1}, ["memory.consolidation.group_threshold", "1", "2"]),
    ({"compression_threshold": 0}, ["compression_threshold", "0", "1"]),
    ({"compression_sessions": 0}, ["compression_sessions", "0", "1"]),
    ({"llm": {"group_threshold": 2}}, ["llm.group_threshold", "2", "3"]),
    ({"experience_compressor": {"max_tokens": 99}}, ["max_tokens", "99", "100"]),
    ({"experience_compressor": {"min_compression_ratio": 1}}, ["min_compression_ratio", "1"]),
    ({"wiki_export": {"export_root": "a/../b"}}, ["wiki_export.export_root", "'..'"]),
    ({"wiki_export": {"trigger": "sometimes"}}, ["trigger", "sometimes", "manual"]),
    ({"wiki_export": {"max_entries_per_view": 1001}}, ["max_entries_per_view", "1001", "1000"]),
    ({"wiki": {}}, ["memory.consolidation.wiki", "wiki_export"]),
)
WRONG_OF_USAGE: tuple[Wrong, ...] = (
    ({"threshold_pct": 0}, ["usage.threshold_pct", "0"]),
    ({"threshold_pct": 1.2}, ["usage.threshold_pct", "1.2", "1"]),
    ({"threshold_pct": 0.5}, ["rearm_pct = 0.6", "below threshold_pct = 0.5"]),
    ({"rearm_pct": 0.8}, ["rearm_pct = 0.8", "below threshold_pct = 0.8"]),
    ({"max_tokens": 0}, ["usage.max_tokens", "0", "1"]),
    ({"path": "../x"}, ["usage.path", "'..'"]),
    ({"transcript_roots": ["a", "../x"]}, ["usage.transcript_roots.1", "'..'"]),
    ({"treshold": 1}, ["usage.treshold", "threshold_pct"]),
)


@pytest.mark.parametrize("name", ["config.toml", "config.yaml"])
@pytest.mark.parametrize(
    ("tree", "parts"),
    [
        *(({"memory": {"consolidation": wrong}}, parts) for wrong, parts in WRONG_OF_NIGHTS),
        *(({"usage": wrong}, parts) for wrong, parts in WRONG_OF_USAGE),
    ],
)
def test_what_is_wrong_is_answered_with_key_value_and_what_is_allowed(
    tmp_path: Path, name: str, tree: dict[str, Any], parts: list[str]
) -> None:
    with pytest.raises(MemoryConfigError) as error:
        load(Settings, written(tmp_path / name, tree), {})

    for part in (*parts, name):
        assert part in error.value.message


def test_the_environment_sets_a_usage_path_and_a_strategy() -> None:
    settings = load(
        Settings,
        None,
        {"MEMD_USAGE__PATH": "/srv/u", "MEMD_MEMORY__CONSOLIDATION__STRATEGY": "dual_mode"},
    )

    assert settings.usage.path == "/srv/u"
    assert settings.memory.consolidation.strategy is DUAL


def test_dual_mode_that_is_switched_on_is_the_strategy() -> None:
    on = ArchivalConfig(dual_mode=DualModeConfig(enabled=True))

    assert ConsolidationConfig(archival=on).strategy is DUAL
    assert ConsolidationConfig().strategy is SIMPLE


def test_a_strategy_that_is_named_beats_dual_mode_with_a_warning() -> None:
    on = ArchivalConfig(dual_mode=DualModeConfig(enabled=True))

    with pytest.warns(SettingsWarning, match=r"dual_mode\.enabled = true is overruled"):
        assert ConsolidationConfig(strategy=LLM, archival=on).strategy is LLM
    assert ConsolidationConfig(strategy=DUAL, archival=on).strategy is DUAL


def test_the_whole_text_shown_to_a_language_model_holds_at_least_one_memory() -> None:
    with pytest.raises(ValidationError, match="max_entry_input_chars"):
        ConsolidationConfig.model_validate(
            {"llm": {"max_entry_input_chars": 2_000, "max_total_user_content_chars": 1_000}}
        )
