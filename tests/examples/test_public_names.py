"""The public names of the documents, as far as their rooms are built, with their parameters."""

from __future__ import annotations

import enum
import inspect

import pytest
from pydantic import BaseModel
from support.commands import run_python

import memd.api

PROTOCOLS = {
    "ArchivalStore": "archive search restore count",
    "CompletionProvider": "complete",
    "ConsolidationStrategy": "consolidate",
    "MemoryBackend": "connect disconnect health_check is_connected backend_name store retrieve get"
    " delete count",
    "MemoryCapabilities": "supported_categories supports_graph supports_temporal"
    " supports_vector_search supports_shared_access max_memories_per_agent",
    "SharedKnowledgeStore": "publish search_shared retract",
    "OrgMemoryBackend": "connect disconnect health_check is_connected backend_name query write"
    " list_policies count_policies",
    "FineTuningPipeline": "generate_training_data mine_hard_negatives fine_tune",
    "MemoryFilterStrategy": "strategy_name filter_for_injection",
    "MemoryInjectionStrategy": "strategy_name prepare_messages get_tool_definitions",
    "QueryReformulator": "reformulate",
    "SufficiencyChecker": "check_sufficiency",
    "TokenEstimator": "estimate_tokens",
    "PersistenceBackend": "connect disconnect health_check migrate is_connected backend_name tasks"
    " cost_records messages parked_contexts audit_entries agent_states settings artifacts projects"
    " custom_presets",
    "TaskRepository": "save get list_tasks delete",
    "CostRecordRepository": "save query aggregate",
    "MessageRepository": "save get_history",
    "AuditRepository": "save query",
    "ParkedContextRepository": "save get get_by_approval get_by_agent delete",
    "AgentStateRepository": "save get get_active delete",
    "SettingsRepository": "get get_namespace get_all set set_many delete delete_namespace",
    "ArtifactRepository": "save get list_artifacts delete",
    "ProjectRepository": "save get list_projects delete",
    "PersonalityPresetRepository": "save get list_all count delete",
}
MODELS = {
    "ArchivalEntry": "original_id agent_id content category metadata created_at archived_at"
    " archival_mode",
    "ArchivalIndexEntry": "original_id archival_id mode",
    "ArchivalModeAssignment": "original_id mode",
    "CompressedExperience": "id agent_id strategic_decisions applicable_contexts"
    " source_artifact_ids compression_ratio compressor_version metadata created_at",
    "ConsolidationResult": "removed_ids summary_ids archived_count mode_assignments archival_index",
    "DetailedExperience": "id agent_id prompt output verification_feedback reasoning_trace metadata"
    " created_at source_task_id",
    "LLMConsolidationConfig": "group_threshold temperature max_summary_tokens"
    " include_distillation_context max_trajectory_context_entries max_trajectory_chars_per_entry"
    " max_entry_input_chars max_total_user_content_chars fallback_truncate_length",
    "ChatMessage": "role content",
    "ToolDefinition": "name description parameters_schema category",
    "SelfEditingMemoryConfig": "core_memory_token_budget core_memory_tag allow_core_writes"
    " core_max_entries archival_search_limit archival_categories write_auto_tag",
    "MemoryMetadata": "source confidence tags",
    "MemoryStoreRequest": "category namespace content metadata expires_at",
    "MemoryEntry": "id agent_id namespace category content metadata created_at updated_at"
    " expires_at relevance_score",
    "MemoryQuery": "text namespaces categories tags min_relevance limit since until",
    "MemoryChunk": "id user_id session_id memory_type content importance token_count"
    " relevance_score compressed created_at updated_at",
    "RecallRequest": "query top_k token_budget include_compressed reranker_enabled",
    "RecallResult": "memories total_tokens budget_used prompt_block",
    "IngestRequest": "text session_id category",
    "Receipt": "stored pending merged turned_away preferences",
    "ScoredMemory": "entry relevance_score recency_score combined_score is_shared scoring_strategy",
    "CompanyMemoryConfig": "backend level storage options retrieval consolidation embedder"
    " composite",
    "MemoryStorageConfig": "data_dir vector_store history_store",
    "MemoryOptionsConfig": "retention_days max_memories_per_agent consolidation_interval"
    " shared_knowledge_base",
    "MemoryRetrievalConfig": "strategy relevance_weight recency_weight fusion_strategy rrf_k",
    "CompositeBackendConfig": "routes default",
    "MemoryConfig": "type retention_days retention_overrides",
    "ConsolidationConfig": "enabled interval max_memories_per_agent retention archival"
    " experience_compressor wiki_export",
    "RetentionConfig": "rules default_retention_days",
    "RetentionRule": "category retention_days",
    "ArchivalConfig": "enabled age_threshold_days dual_mode",
    "DualModeConfig": "enabled dense_threshold summarization_model max_summary_tokens max_facts"
    " anchor_length",
    "ExperienceCompressorConfig": "enabled model temperature max_tokens min_compression_ratio",
    "WikiExportConfig": "enabled export_root trigger include_raw_tier include_compressed_tier"
    " max_entries_per_view",
    "EmbedderOverrideConfig": "provider model dims",
    "CategoryWriteRule": "allowed_seniority human_allowed",
    "WriteAccessConfig": "rules",
    "ExtendedStoreConfig": "max_retrieved_per_query",
    "OrgMemoryConfig": "core_policies extended_store write_access",
    "OrgFact": "id content category tags author created_at",
    "OrgFactAuthor": "agent_id seniority autonomy_level is_human",
    "OrgFactWriteRequest": "content category tags",
    "OrgMemoryQuery": "context categories limit",
    "OperationLogEntry": "operation_id fact_id operation_type content category tags author_agent_id"
    " author_seniority author_is_human author_autonomy_level timestamp version",
    "OperationLogSnapshot": "fact_id content category tags created_at retracted_at version",
    "EmbeddingFineTuneConfig": "enabled checkpoint_path base_model training_data_dir",
}
FUNCTIONS = {
    "AbstractiveSummarizer": "provider model max_summary_tokens temperature",
    "DensityClassifier": "dense_threshold",
    "MemoryConsolidationService": "backend config strategy archival_store max_enforce_batch"
    " config_resolver",
    "RetentionEnforcer": "config backend",
    "cleanup_expired": "agent_id now agent_category_overrides agent_default_retention_days",
    "cleanup_retention": "agent_id agent_category_overrides agent_default_retention_days",
    "DualModeConsolidationStrategy": "backend classifier extractor summarizer group_threshold",
    "ExtractivePreserver": "max_facts anchor_length",
    "HighestRelevanceSelector": "group_threshold",
    "LLMConsolidationStrategy": "backend provider model config",
    "LLMSynthesisOp": "provider model config",
    "SimpleConsolidationStrategy": "backend group_threshold",
    "check_write_access": "config category author",
    "HierarchicalRetriever": "workers config supervisor reranker",
    "LLMSupervisor": "provider model config",
    "QuerySpecificReranker": "provider model cache",
    "RerankerCache": "ttl_seconds max_size",
    "ContextInjectionStrategy": "backend config shared_store token_estimator memory_filter"
    " hierarchical_retriever reranker",
    "ToolBasedInjectionStrategy": "backend config shared_store token_estimator memory_filter"
    " reformulator sufficiency_checker",
    "SelfEditingMemoryStrategy": "backend config token_estimator",
    "MemoryFragment": "source content relevance timestamp",
    "MemorySynthesizer": "max_tokens",
    "SearchMemoryTool": "strategy agent_id",
    "RecallMemoryTool": "strategy agent_id",
    "registry_with_memory_tools": "registry strategy agent_id",
    "format_memory_context_with_directive": "memories estimator token_budget injection_point",
    "untrusted_content_directive": "tags",
    "wrap_untrusted": "tag content",
    "retrieve_sparse": "backend agent_id query",
    "classify_batch": "entries",
    "create_org_memory_backend": "config",
    "require_write_access": "config category author",
    "create_memory_backend": "config embedder",
    "rank_memories": "entries config now shared_entries",
    "fuse_ranked_lists": "ranked_lists k max_results",
    "bigram_jaccard": "text_a text_b",
    "apply_diversity_penalty": "scored diversity_lambda similarity_fn",
    "compute_recency_score": "created_at now decay_rate",
    "compute_combined_score": "relevance recency relevance_weight recency_weight",
    "filter_for_injection": "memories memory_filter",
    "default_registry": "",
}
ENUMS = {
    "ArchivalMode": "abstractive extractive",
    "ConsolidationStrategyType": "simple dual_mode llm",
    "ContentDensity": "sparse dense",
    "MemoryCategory": "working episodic semantic procedural social",
    "MemoryType": "working episodic semantic procedural social",
    "MemoryLevel": "persistent project session none",
    "ConsolidationInterval": "hourly daily weekly never",
    "InjectionStrategy": "context tool_based self_editing",
    "InjectionPoint": "system user",
    "FusionStrategy": "linear rrf",
    "OperationType": "PUBLISH RETRACT",
    "OrgFactCategory": "core_policy adr procedure convention entity_definition",
    "SeniorityLevel": "junior mid senior lead principal director vp c_suite",
    "AutonomyLevel": "locked supervised semi full",
}
ERRORS = (
    "MemdMemoryError MemoryConnectionError MemoryStoreError MemoryRetrievalError"
    " MemoryNotFoundError MemoryConfigError MemoryCapabilityError IngestionError EmbeddingError"
)
ORG_ERRORS = (
    "OrgMemoryAccessDeniedError OrgMemoryConfigError OrgMemoryConnectionError OrgMemoryQueryError"
    " OrgMemoryWriteError"
)
CLASSES = {
    "HybridOrgMemoryBackend": PROTOCOLS["OrgMemoryBackend"],
    "MemorySynthesizer": "add_fragments synthesize",
    "MemoryConsolidationService": "run_maintenance run_consolidation enforce_max_memories"
    " cleanup_retention",
    "RetentionEnforcer": "cleanup_expired",
    "AbstractiveSummarizer": "summarize summarize_batch",
    "ConcatenationOp": "condense",
    "DensityClassifier": "classify classify_batch score",
    "DensityRoutingOp": "condense",
    "DualModeConsolidationStrategy": "consolidate",
    "ExtractivePreserver": "extract",
    "HighestRelevanceSelector": "select",
    "LLMConsolidationStrategy": "consolidate",
    "LLMSynthesisOp": "condense",
    "SimpleConsolidationStrategy": "consolidate",
    "ContextInjectionStrategy": "strategy_name prepare_messages get_tool_definitions",
    "ToolBasedInjectionStrategy": "strategy_name prepare_messages get_tool_definitions"
    " handle_tool_call",
    "SelfEditingMemoryStrategy": "strategy_name prepare_messages get_tool_definitions"
    " handle_tool_call",
    "SearchMemoryTool": "name description parameters_schema category execute",
    "RecallMemoryTool": "name description parameters_schema category execute",
    "MemoryBackendRegistry": "register create",
    "DefaultTokenEstimator": "estimate_tokens",
    "MemoryConsolidator": "should_consolidate consolidate estimate_tokens",
    "TagBasedMemoryFilter": "strategy_name filter_for_injection",
    "PassthroughMemoryFilter": "strategy_name filter_for_injection",
    "Client": "call ingest recall",
    "AsyncClient": f"{PROTOCOLS['MemoryBackend']} {PROTOCOLS['OrgMemoryBackend']}"
    f" {PROTOCOLS['SharedKnowledgeStore']} {PROTOCOLS['MemoryCapabilities']}"
    " retrieve_sparse archival_store ingest recall",
    "BM25Tokenizer": "tokenize encode",
    "BaseTool": "name description parameters_schema category execute",
}
CONSTANTS = {
    "NON_INFERABLE_TAG": "non-inferable",
    "TAG_MEMORY_ENTRY": "memory-entry",
    "MIN_CHUNK_TOKENS": 50,
    "MAX_CHUNK_TOKENS": 300,
}
SIGNATURES = {
    "ingest": "text user_id session_id memory_type_hint=None",
    "recall": "query user_id top_k=5 token_budget=2000 memory_types=None",
}

# Every other name of the documents' code: in the order of the documents, by hand.
ELSEWHERE = (
    # 001: in the entry points
    "MemoryType MemoryChunk RecallResult"
    # 002: models, protocols, functions
    " MessageRole ToolCategory ConfigResolver CompletionProvider ScoredMemory MemoryFilterStrategy"
    " RetrievalQuery RetrievalCandidate RetrievalResult FinalRetrievalResult WorkerRouting"
    " RetrievalCorrection Retriever LLMSupervisor LLMConsolidationConfig ConsolidationStrategyType"
    # 003: the loop of an agent
    " build_messages MemoryConsolidator"
    # 004: what it calls by name in passing
    " AuditEntry ParkedContext CostRecord PersistenceConfig create_backend"
    " ToolRegistry registry_with_memory_tools SearchMemoryTool RecallMemoryTool BM25Tokenizer"
)
LATER = frozenset(
    # Rooms that are not built yet: procedural memory.
    """
    ExperienceCompressor FailureAnalysisPayload ProceduralMemoryConfig ProceduralMemoryProposer
    """.split()  # noqa: SIM905  # a list of names to read
)


def test_every_documented_name_is_there_unless_its_room_is_still_to_be_built() -> None:
    missing = [name for name in ELSEWHERE.split() if not hasattr(memd.api, name)]

    assert not missing
    assert not [name for name in LATER if hasattr(memd.api, name)], "take it off the list"


@pytest.mark.parametrize("owner", [memd.api, memd.api.AsyncClient])
@pytest.mark.parametrize("name", SIGNATURES)
def test_an_entry_point_has_exactly_the_documents_signature(owner: object, name: str) -> None:
    parameters = inspect.signature(getattr(owner, name)).parameters.values()

    signature = [
        each.name if each.default is each.empty else f"{each.name}={each.default}"
        for each in parameters
        if each.name != "self"
    ]
    assert signature == SIGNATURES[name].split()
    assert inspect.iscoroutinefunction(getattr(owner, name))


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_has_the_documents_value(name: str) -> None:
    assert getattr(memd.api, name) == CONSTANTS[name]


def test_the_memory_tools_are_tools_like_any_other() -> None:
    for name in ("SearchMemoryTool", "RecallMemoryTool"):
        assert issubclass(getattr(memd.api, name), memd.api.BaseTool)
    assert memd.api.ToolCategory.MEMORY.value == "memory"


def test_messages_stay_as_they_are_until_the_window_is_full() -> None:
    """Document 003: the step of an agent's loop that makes the next turn's messages."""
    few = [{"role": "user", "content": "hello"}]
    full = [{"role": "user", "content": f"decided: plan {n} " + "x" * 400} for n in range(20)]
    window = memd.api.MemoryConsolidator(max_tokens=1_000)
    events: list[tuple[int, int]] = []

    assert memd.api.build_messages(few, "be brief", consolidator=window) == few
    shorter = memd.api.build_messages(
        full, "be brief", consolidator=window, consolidated=lambda *event: events.append(event)
    )

    assert shorter[-4:] == full[-4:]
    assert len(shorter) == 5
    assert events == [(16, len(shorter[0]["content"].partition("\n\n")[2]))]


def test_a_sparse_vector_counts_the_terms_of_a_text() -> None:
    tokenizer = memd.api.BM25Tokenizer()

    assert tokenizer.tokenize("The boat, the BOAT and pier_7!") == ["boat", "boat", "pier", "7"]
    assert sorted(tokenizer.encode("the boat, a BOAT at pier 7").values()) == [1, 1, 2]
    assert tokenizer.encode("boat") == tokenizer.encode("Boat")
    assert tokenizer.encode("of the") == {}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_can_be_checked_at_run_time(name: str) -> None:
    protocol = getattr(memd.api, name)
    members = {member: lambda *_, **__: None for member in PROTOCOLS[name].split()}

    assert isinstance(type("Complete", (), members)(), protocol)
    for missing in members:
        less = {member: call for member, call in members.items() if member != missing}
        assert not isinstance(type("Incomplete", (), less)(), protocol), missing


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_documents_fields_is_frozen_and_knows_no_others(name: str) -> None:
    model = getattr(memd.api, name)

    assert issubclass(model, BaseModel)
    assert set(MODELS[name].split()) <= set(model.model_fields)
    assert model.model_config["frozen"]
    assert model.model_config["extra"] == "forbid"
    assert model.model_config["allow_inf_nan"] is False


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_documents_parameters(name: str) -> None:
    parameters = inspect.signature(getattr(memd.api, name)).parameters

    assert set(FUNCTIONS[name].split()) <= set(parameters)


@pytest.mark.parametrize("name", ENUMS)
def test_an_enumeration_has_exactly_the_documents_values(name: str) -> None:
    values = getattr(memd.api, name)

    assert issubclass(values, enum.StrEnum)
    assert {value.value for value in values} == set(ENUMS[name].split())


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_the_documents_methods(name: str) -> None:
    assert not [
        what for what in CLASSES[name].split() if not hasattr(getattr(memd.api, name), what)
    ]


def test_the_errors_are_one_family() -> None:
    for name in ERRORS.split():
        assert issubclass(getattr(memd.api, name), memd.api.MemdMemoryError)


def test_the_errors_of_organisational_memory_are_one_family() -> None:
    for name in ORG_ERRORS.split():
        assert issubclass(getattr(memd.api, name), memd.api.OrgMemoryError)


def test_importing_the_names_loads_no_heavy_library() -> None:
    heavy = "apsw numpy onnxruntime fastembed tokenizers"
    code = f"import sys, memd.api; print([m for m in {heavy.split()} if m in sys.modules])"

    assert run_python(code).strip() == "[]"
