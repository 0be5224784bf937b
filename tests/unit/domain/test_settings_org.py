"""The documents' three configurations of organisational memory, and what is wrong with others."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from memd.base.errors import MemoryConfigError, OrgMemoryConfigError
from memd.base.settings import load
from memd.domain.enums import OrgFactCategory, SeniorityLevel
from memd.domain.settings.org import (
    CategoryWriteRule,
    OrgMemoryConfig,
    WriteAccessConfig,
    default_rules,
    org_memory_config,
)
from memd.domain.settings.settings import Settings

GRAPH = """
org_memory:
  backend: "graph_rag"
  graph:
    store: "sqlite"
    entity_extraction: "auto"
"""
TEMPORAL = """
org_memory:
  backend: "temporal_kg"
  temporal:
    track_changes: true
    history_retention_days: null
"""


def read(text: str, folder: Path) -> Settings:
    file = folder / "memd.yaml"
    file.write_text(text, "utf-8")
    return load(Settings, file, {})


def test_the_documents_configurations_load_as_they_stand(tmp_path: Path) -> None:
    org = read(GRAPH, tmp_path).org_memory
    assert (org.backend, org.graph.store) == ("graph_rag", "sqlite")
    assert org.graph.entity_extraction == "auto"
    org = read(TEMPORAL, tmp_path).org_memory
    assert (org.backend, org.temporal.track_changes) == ("temporal_kg", True)
    assert org.temporal.history_retention_days is None


def test_without_a_section_it_is_the_hybrid_backend_without_policies() -> None:
    org = Settings().org_memory
    assert org.backend == "hybrid_prompt_retrieval"
    assert org.core_policies == ()
    assert org.extended_store.max_retrieved_per_query == 5
    assert dict(org.write_access.rules) == default_rules()


def test_a_list_of_roles_allows_humans_if_named_and_the_lowest_role_and_above() -> None:
    """SPEC 15.3.5, D13: the documents leave out principal, director and vp."""
    access = org_memory_config(
        {"write_access": {"policies": ["human"], "adrs": ["c_suite", "senior"], "procedures": []}}
    ).write_access
    assert access.rules[OrgFactCategory.CORE_POLICY] == CategoryWriteRule()
    assert access.rules[OrgFactCategory.ADR] == CategoryWriteRule(
        allowed_seniority=SeniorityLevel.SENIOR, human_allowed=False
    )
    assert access.rules[OrgFactCategory.PROCEDURE] == CategoryWriteRule(human_allowed=False)
    assert access.rules[OrgFactCategory.CONVENTION] == default_rules()[OrgFactCategory.CONVENTION]


def test_rules_are_taken_as_they_are() -> None:
    access = org_memory_config(
        {"write_access": {"rules": {"adr": {"allowed_seniority": "lead"}}}}
    ).write_access
    assert set(access.rules) == {OrgFactCategory.ADR}
    assert access.rules[OrgFactCategory.ADR].human_allowed


def test_the_settings_survive_being_written_read_and_copied() -> None:
    settings = Settings(org_memory=OrgMemoryConfig(core_policies=("Be kind",)))
    raised = settings.org_memory.model_dump(mode="json")
    assert raised["write_access"]["rules"]["core_policy"]["human_allowed"]
    assert OrgMemoryConfig.model_validate(raised) == settings.org_memory
    assert copy.deepcopy(settings) == settings
    assert settings.model_copy(deep=True).org_memory == settings.org_memory


@pytest.mark.parametrize(
    ("tree", "key", "pattern"),
    [
        ({"backend": "mem0"}, "org_memory.backend", "temporal_kg"),
        ({"extended_store": {"backend": "postgresql"}}, "org_memory.extended_store.backend",
         "sqlite"),
        ({"extended_store": {"max_retrieved_per_query": 0}},
         "org_memory.extended_store.max_retrieved_per_query", "greater"),
        ({"extended_store": {"max_retrieved_per_query": 51}},
         "org_memory.extended_store.max_retrieved_per_query", "50"),
        ({"core_policies": [" "]}, "org_memory.core_policies.0", "blank"),
        ({"core_policies": "Be kind"}, "org_memory.core_policies", "tuple"),
        ({"graph": {"store": "neo4j"}}, "org_memory.graph.store", "sqlite"),
        ({"graph": {"entity_extraction": "llm"}}, "org_memory.graph.entity_extraction", "auto"),
        ({"temporal": {"history_retention_days": 0}}, "org_memory.temporal.history_retention_days",
         "greater"),
        ({"write_access": {"adrs": "human"}}, "org_memory.write_access", "list of roles"),
        ({"write_access": {"adrs": ["boss"]}}, "org_memory.write_access", "c_suite"),
        ({"write_access": {"adrs": ["human"], "gossip": ["human"]}}, "org_memory.write_access",
         "entity_definitions"),
        ({"write_access": {"rules": {"gossip": {}}}}, "org_memory.write_access.rules.gossip.[key]",
         "adr"),
        ({"policies": []}, "org_memory.policies", "not permitted"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_with_its_key_and_what_is_allowed(
    tree: dict[str, Any], key: str, pattern: str
) -> None:
    """SPEC 15.4.5-6."""
    with pytest.raises(OrgMemoryConfigError, match=pattern) as raised:
        org_memory_config(tree)
    assert raised.value.field == key
    assert key in raised.value.message
    with pytest.raises(ValidationError):
        OrgMemoryConfig.model_validate(tree)


def test_a_settings_file_with_a_wrong_value_names_the_key(tmp_path: Path) -> None:
    with pytest.raises(MemoryConfigError, match=r"org_memory\.backend = 'mem0' must"):
        read("org_memory: {backend: mem0}", tmp_path)


def test_an_access_config_of_no_mapping_is_refused() -> None:
    with pytest.raises(ValidationError):
        WriteAccessConfig.model_validate(["human"])
