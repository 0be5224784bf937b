"""SPEC 7.12, 7.14, 16.1, 18.2.1, D25: the settings tree."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from memd.base.settings import SettingsWarning
from memd.domain.enums import ConsolidationInterval, MemoryCategory, MemoryLevel
from memd.domain.settings.consolidation import (
    ArchivalConfig,
    DualModeConfig,
    RetentionConfig,
    RetentionRule,
)
from memd.domain.settings.settings import (
    CompanyMemoryConfig,
    CompositeBackendConfig,
    EmbedderOverrideConfig,
    MemoryConfig,
    MemoryOptionsConfig,
    MemoryStorageConfig,
    Settings,
)

RULE = RetentionRule(category=MemoryCategory.EPISODIC, retention_days=30)


def _limits(config: CompanyMemoryConfig) -> tuple[int, int]:
    return config.options.max_memories_per_agent, config.consolidation.max_memories_per_agent


def test_the_documents_defaults_stand_on_the_config() -> None:
    config = CompanyMemoryConfig()

    assert config.backend == "sqlite"
    assert config.level is MemoryLevel.SESSION
    assert config.storage.data_dir is None
    assert config.options.retention_days is None
    assert config.options.shared_knowledge_base
    assert config.consolidation.enabled
    assert config.consolidation.interval is ConsolidationInterval.DAILY
    assert config.consolidation.archival.age_threshold_days == 90
    assert _limits(config) == (10_000, 10_000)


def test_memd_ships_with_memories_that_persist_and_a_million_of_them() -> None:
    shipped = Settings()

    assert shipped.memory.level is MemoryLevel.PERSISTENT
    assert _limits(shipped.memory) == (1_000_000, 1_000_000)
    assert shipped.daemon.undo_days == 7
    assert shipped.daemon.secrets == "redact"


@pytest.mark.parametrize(
    "section",
    [
        {"options": {"max_memories_per_agent": 5}},
        {"consolidation": {"max_memories_per_agent": 5}},
        {"consolidation": {"max_memories_per_agent": 5}, "options": {"retention_days": 9}},
    ],
)
def test_a_limit_in_the_file_beats_the_shipped_one_wherever_it_stands(
    section: dict[str, Any],
) -> None:
    settings = Settings.model_validate({"memory": section})

    assert _limits(settings.memory) == (5, 5)
    assert settings.memory.level is MemoryLevel.PERSISTENT


def test_an_empty_memory_section_is_the_shipped_one() -> None:
    assert Settings.model_validate({"memory": None}) == Settings()


def test_a_config_made_in_code_keeps_what_it_says() -> None:
    config = CompanyMemoryConfig(level=MemoryLevel.PROJECT)

    assert Settings(memory=config).memory == config


@pytest.mark.parametrize(
    ("option", "elsewhere"),
    [
        ({"retention_days": 30}, {"retention": {"default_retention_days": 30}}),
        ({"max_memories_per_agent": 7}, {"max_memories_per_agent": 7}),
        ({"consolidation_interval": "weekly"}, {"interval": "weekly"}),
    ],
)
def test_a_value_set_in_either_place_is_found_in_both(
    option: dict[str, Any], elsewhere: dict[str, Any]
) -> None:
    one = CompanyMemoryConfig.model_validate({"options": option})
    other = CompanyMemoryConfig.model_validate({"consolidation": elsewhere})
    both = CompanyMemoryConfig.model_validate({"options": option, "consolidation": elsewhere})

    assert one == other == both
    assert one != CompanyMemoryConfig()


def test_when_both_places_differ_consolidation_wins_with_a_warning() -> None:
    with pytest.warns(SettingsWarning, match=r"options\.consolidation_interval .* overruled"):
        config = CompanyMemoryConfig.model_validate(
            {
                "options": {"consolidation_interval": "weekly"},
                "consolidation": {"interval": "hourly"},
            }
        )

    assert config.consolidation.interval is ConsolidationInterval.HOURLY
    assert config.options.consolidation_interval is ConsolidationInterval.HOURLY


def test_an_explicit_default_beats_nothing_said() -> None:
    with pytest.warns(SettingsWarning, match="overruled"):
        config = CompanyMemoryConfig.model_validate(
            {
                "options": {"max_memories_per_agent": 5},
                "consolidation": {"max_memories_per_agent": 10_000},
            }
        )

    assert _limits(config) == (10_000, 10_000)


def test_completing_one_config_leaves_the_defaults_of_the_next_alone() -> None:
    options = MemoryOptionsConfig(retention_days=3)

    config = CompanyMemoryConfig(options=options)

    assert config.consolidation.retention.default_retention_days == 3
    assert CompanyMemoryConfig().consolidation.retention.default_retention_days is None


def test_the_composite_backend_and_its_section_need_each_other() -> None:
    plan = CompositeBackendConfig(routes={"memories": "sqlite"})

    assert CompanyMemoryConfig(backend="composite", composite=plan).composite == plan
    for wrong in ({"backend": "composite"}, {"composite": plan}):
        with pytest.raises(ValidationError, match="need each other"):
            CompanyMemoryConfig.model_validate(wrong)


def test_an_unknown_backend_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="sqlite, inmemory, composite"):
        CompanyMemoryConfig(backend="redis")
    with pytest.raises(ValidationError):
        CompanyMemoryConfig(backend=" ")


@pytest.mark.parametrize("path", ["..", "a/../b", "a\\..\\b", "/data/.."])
def test_a_step_upwards_in_the_data_dir_is_refused_by_posix_and_windows_rules(path: str) -> None:
    with pytest.raises(ValidationError, match=r"'\.\.'"):
        MemoryStorageConfig(data_dir=path)


def test_a_name_with_two_dots_in_it_is_a_name() -> None:
    assert MemoryStorageConfig(data_dir="/srv/a..b").data_dir == "/srv/a..b"


@pytest.mark.parametrize("alone", [{}, {"provider": "p"}, {"dims": 768}])
def test_every_field_of_an_embedder_is_optional(alone: dict[str, Any]) -> None:
    assert EmbedderOverrideConfig.model_validate(alone).model is None


def test_an_embedders_model_requires_its_dimension() -> None:
    assert EmbedderOverrideConfig(model="m", dims=384).dims == 384
    with pytest.raises(ValidationError, match="dims is required when model is set"):
        EmbedderOverrideConfig(model="m")
    with pytest.raises(ValidationError):
        EmbedderOverrideConfig(model="m", dims=0)


def test_a_category_has_one_retention_rule() -> None:
    assert RetentionConfig(rules=(RULE,)).rules == (RULE,)
    with pytest.raises(ValidationError, match="episodic has several"):
        RetentionConfig(rules=(RULE, RULE))
    with pytest.raises(ValidationError):
        RetentionRule(category=MemoryCategory.SOCIAL, retention_days=0)


def test_archiving_cannot_be_switched_off_silently() -> None:
    with pytest.warns(SettingsWarning, match="never drops an original"):
        ArchivalConfig(enabled=False)


def test_dual_mode_needs_no_language_model() -> None:
    assert DualModeConfig(enabled=True).summarization_model is None


@pytest.mark.parametrize(
    "outside",
    [
        {"dense_threshold": 1.1},
        {"max_summary_tokens": 49},
        {"max_facts": 101},
        {"anchor_length": 501},
    ],
)
def test_dual_mode_has_its_bounds(outside: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DualModeConfig.model_validate(outside)


def test_an_agent_says_how_long_its_memories_are_kept() -> None:
    assert MemoryConfig().type is MemoryLevel.SESSION
    assert MemoryConfig.model_validate({"level": "project"}).type is MemoryLevel.PROJECT
    assert MemoryConfig(type=MemoryLevel.NONE).retention_overrides == ()
    with pytest.raises(ValidationError, match="episodic has several"):
        MemoryConfig(retention_overrides=(RULE, RULE))


@pytest.mark.parametrize("retention", [{"retention_days": 1}, {"retention_overrides": (RULE,)}])
def test_an_agent_that_keeps_nothing_has_no_retention(retention: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="no retention"):
        MemoryConfig.model_validate({"type": "none", **retention})


def test_another_embedding_model_is_accepted_with_a_warning() -> None:
    other = EmbedderOverrideConfig(model="other", dims=1536)

    with pytest.warns(SettingsWarning, match="has no effect"):
        CompanyMemoryConfig(embedder=other)
