"""The public names, each once: ``from memd.api import create_memory_backend``.

Names and parameters are those of the documents that define memd. They do not change, but the
modules that they come from may move. No other module re-exports names. The functions ``ingest``
and ``recall`` need no client: they call the daemon of the default profile.
"""

from __future__ import annotations

from memd.backends.org import HybridOrgMemoryBackend, create_org_memory_backend
from memd.backends.registry import (
    MemoryBackendRegistry,
    create_memory_backend,
    default_registry,
)
from memd.base.errors import (
    EmbeddingError,
    FineTuneCancelledError,
    FineTuneDependencyError,
    IngestionError,
    MemdError,
    MemdMemoryError,
    MemoryCapabilityError,
    MemoryConfigError,
    MemoryConnectionError,
    MemoryNotFoundError,
    MemoryRetrievalError,
    MemoryStoreError,
    OrgMemoryAccessDeniedError,
    OrgMemoryConfigError,
    OrgMemoryConnectionError,
    OrgMemoryError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
    ProviderBusyError,
    ProviderError,
    ProviderRefusedError,
)
from memd.client import AsyncClient, Client
from memd.domain.backend import (
    CompletionProvider,
    MemoryBackend,
    MemoryCapabilities,
    SharedKnowledgeStore,
)
from memd.domain.encoding import MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS
from memd.domain.enums import (
    AutonomyLevel,
    ConsolidationInterval,
    FusionStrategy,
    InjectionPoint,
    InjectionStrategy,
    MemoryCategory,
    MemoryLevel,
    MemoryState,
    MemoryType,
    OperationType,
    OrgFactCategory,
    SearchMode,
    SeniorityLevel,
)
from memd.domain.ingest import IngestManyRequest, IngestRequest, Receipt, ReceiptItem, Receipts
from memd.domain.inject import (
    ChatMessage,
    MemoryInjectionStrategy,
    MessageRole,
    QueryReformulator,
    Reranker,
    Retriever,
    SelfEditingMemoryConfig,
    SufficiencyChecker,
    TokenEstimator,
    ToolCategory,
    ToolDefinition,
)
from memd.domain.learn import FineTuningPipeline
from memd.domain.memory import (
    MemoryEntry,
    MemoryFilter,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
)
from memd.domain.org.org import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryBackend,
    OrgMemoryQuery,
)
from memd.domain.recall import MemoryChunk, RecallRequest, RecallResult
from memd.domain.settings.consolidation import (
    ArchivalConfig,
    ConsolidationConfig,
    DualModeConfig,
    ExperienceCompressorConfig,
    RetentionConfig,
    RetentionRule,
    WikiExportConfig,
)
from memd.domain.settings.org import (
    CategoryWriteRule,
    ExtendedStoreConfig,
    OrgMemoryConfig,
    WriteAccessConfig,
)
from memd.domain.settings.retrieval import NON_INFERABLE_TAG, MemoryRetrievalConfig, ScoredMemory
from memd.domain.settings.settings import (
    CompanyMemoryConfig,
    CompositeBackendConfig,
    EmbedderOverrideConfig,
    EmbeddingFineTuneConfig,
    MemoryConfig,
    MemoryOptionsConfig,
    MemoryStorageConfig,
)
from memd.domain.sleep.consolidation import (
    ArchivalEntry,
    ArchivalIndexEntry,
    ArchivalMode,
    ArchivalModeAssignment,
    ArchivalStore,
    CompressedExperience,
    ConsolidationResult,
    ConsolidationStrategy,
    ConsolidationStrategyType,
    ContentDensity,
    DetailedExperience,
    LLMConsolidationConfig,
)
from memd.inject.context import ContextInjectionStrategy, retrieve_sparse
from memd.inject.format import format_memory_context_with_directive
from memd.inject.multi.hierarchical import HierarchicalRetriever
from memd.inject.multi.supervisor import LLMSupervisor, RuleSupervisor
from memd.inject.multi.topology import (
    FinalRetrievalResult,
    RetrievalCandidate,
    RetrievalCorrection,
    RetrievalQuery,
    RetrievalResult,
    WorkerRouting,
)
from memd.inject.pipeline import (
    MemoryFilterStrategy,
    PassthroughMemoryFilter,
    TagBasedMemoryFilter,
    filter_for_injection,
)
from memd.inject.reranker import QuerySpecificReranker, RerankerCache
from memd.inject.synthesizer import MemoryFragment, MemorySynthesizer
from memd.inject.tools.self_editing import SelfEditingMemoryStrategy
from memd.inject.tools.tool_based import ToolBasedInjectionStrategy
from memd.inject.tools.tools import (
    BaseTool,
    RecallMemoryTool,
    SearchMemoryTool,
    ToolRegistry,
    registry_with_memory_tools,
)
from memd.org.access import check_write_access, require_write_access
from memd.recall.ranking.scored_memories import (
    apply_diversity_penalty,
    bigram_jaccard,
    compute_combined_score,
    compute_recency_score,
    fuse_ranked_lists,
    rank_memories,
)
from memd.records.config import PersistenceConfig, SQLiteConfig, create_backend
from memd.records.models import AuditEntry, CostRecord, Message, ParkedContext, Task, TaskStatus
from memd.records.protocols import (
    AgentStateRepository,
    ArtifactRepository,
    AuditRepository,
    CostRecordRepository,
    MessageRepository,
    ParkedContextRepository,
    PersistenceBackend,
    PersonalityPresetRepository,
    ProjectRepository,
    SettingsRepository,
    TaskRepository,
)
from memd.sleep.night.retention import RetentionEnforcer, cleanup_expired
from memd.sleep.strategies.operations import ConcatenationOp, DensityRoutingOp, LLMSynthesisOp
from memd.sleep.strategies.selection import HighestRelevanceSelector
from memd.sleep.strategies.service import (
    ConfigResolver,
    MemoryConsolidationService,
    cleanup_retention,
)
from memd.sleep.strategies.shorten import AbstractiveSummarizer, ExtractivePreserver
from memd.sleep.strategies.strategies import (
    DualModeConsolidationStrategy,
    LLMConsolidationStrategy,
    SimpleConsolidationStrategy,
)
from memd.sleep.transcript.consolidator import MemoryConsolidator, build_messages
from memd.text.density import DensityClassifier, classify_batch
from memd.text.tokens import DefaultTokenEstimator
from memd.text.words import BM25Tokenizer
from memd.view.view import ENTRY_TAG as TAG_MEMORY_ENTRY
from memd.view.view import untrusted_content_directive, wrap_untrusted

__all__ = [
    "MAX_CHUNK_TOKENS", "MIN_CHUNK_TOKENS", "NON_INFERABLE_TAG", "TAG_MEMORY_ENTRY",
    "AbstractiveSummarizer", "AgentStateRepository", "ArchivalConfig", "ArchivalEntry",
    "ArchivalIndexEntry", "ArchivalMode", "ArchivalModeAssignment", "ArchivalStore",
    "ArtifactRepository", "AsyncClient", "AuditEntry", "AuditRepository", "AutonomyLevel",
    "BM25Tokenizer", "BaseTool", "CategoryWriteRule", "ChatMessage", "Client",
    "CompanyMemoryConfig", "CompletionProvider", "CompositeBackendConfig", "CompressedExperience",
    "ConcatenationOp", "ConfigResolver", "ConsolidationConfig", "ConsolidationInterval",
    "ConsolidationResult", "ConsolidationStrategy", "ConsolidationStrategyType", "ContentDensity",
    "ContextInjectionStrategy", "CostRecord", "CostRecordRepository", "DefaultTokenEstimator",
    "DensityClassifier", "DensityRoutingOp", "DetailedExperience", "DualModeConfig",
    "DualModeConsolidationStrategy", "EmbedderOverrideConfig", "EmbeddingError",
    "EmbeddingFineTuneConfig", "ExperienceCompressorConfig", "ExtendedStoreConfig",
    "ExtractivePreserver", "FinalRetrievalResult", "FineTuneCancelledError",
    "FineTuneDependencyError", "FineTuningPipeline", "FusionStrategy", "HierarchicalRetriever",
    "HighestRelevanceSelector", "HybridOrgMemoryBackend", "IngestManyRequest", "IngestRequest",
    "IngestionError", "InjectionPoint", "InjectionStrategy", "LLMConsolidationConfig",
    "LLMConsolidationStrategy", "LLMSupervisor", "LLMSynthesisOp", "MemdError", "MemdMemoryError",
    "MemoryBackend", "MemoryBackendRegistry", "MemoryCapabilities", "MemoryCapabilityError",
    "MemoryCategory", "MemoryChunk", "MemoryConfig", "MemoryConfigError", "MemoryConnectionError",
    "MemoryConsolidationService", "MemoryConsolidator", "MemoryEntry", "MemoryFilter",
    "MemoryFilterStrategy", "MemoryFragment", "MemoryInjectionStrategy", "MemoryLevel",
    "MemoryMetadata", "MemoryNotFoundError", "MemoryOptionsConfig", "MemoryQuery",
    "MemoryRetrievalConfig", "MemoryRetrievalError", "MemoryState", "MemoryStorageConfig",
    "MemoryStoreError", "MemoryStoreRequest", "MemorySynthesizer", "MemoryType", "MemoryUpdate",
    "Message", "MessageRepository", "MessageRole", "OperationLogEntry", "OperationLogSnapshot",
    "OperationType", "OrgFact", "OrgFactAuthor", "OrgFactCategory", "OrgFactWriteRequest",
    "OrgMemoryAccessDeniedError", "OrgMemoryBackend", "OrgMemoryConfig", "OrgMemoryConfigError",
    "OrgMemoryConnectionError", "OrgMemoryError", "OrgMemoryQuery", "OrgMemoryQueryError",
    "OrgMemoryWriteError", "ParkedContext", "ParkedContextRepository", "PassthroughMemoryFilter",
    "PersistenceBackend", "PersistenceConfig", "PersonalityPresetRepository", "ProjectRepository",
    "ProviderBusyError", "ProviderError", "ProviderRefusedError", "QueryReformulator",
    "QuerySpecificReranker", "RecallMemoryTool", "RecallRequest", "RecallResult", "Receipt",
    "ReceiptItem", "Receipts", "Reranker", "RerankerCache", "RetentionConfig", "RetentionEnforcer",
    "RetentionRule", "RetrievalCandidate", "RetrievalCorrection", "RetrievalQuery",
    "RetrievalResult", "Retriever", "RuleSupervisor", "SQLiteConfig", "ScoredMemory",
    "SearchMemoryTool", "SearchMode", "SelfEditingMemoryConfig", "SelfEditingMemoryStrategy",
    "SeniorityLevel", "SettingsRepository", "SharedKnowledgeStore", "SimpleConsolidationStrategy",
    "SufficiencyChecker", "TagBasedMemoryFilter", "Task", "TaskRepository", "TaskStatus",
    "TokenEstimator", "ToolBasedInjectionStrategy", "ToolCategory", "ToolDefinition",
    "ToolRegistry", "WikiExportConfig", "WorkerRouting", "WriteAccessConfig",
    "apply_diversity_penalty", "bigram_jaccard", "build_messages", "check_write_access",
    "classify_batch", "cleanup_expired", "cleanup_retention", "compute_combined_score",
    "compute_recency_score", "create_backend", "create_memory_backend",
    "create_org_memory_backend", "default_registry", "filter_for_injection",
    "format_memory_context_with_directive", "fuse_ranked_lists", "ingest", "rank_memories",
    "recall", "registry_with_memory_tools", "require_write_access", "retrieve_sparse",
    "untrusted_content_directive", "wrap_untrusted",
]  # fmt: skip


async def ingest(
    text: str, user_id: str, session_id: str, memory_type_hint: MemoryType | None = None
) -> list[MemoryChunk]:
    """Store *text* as memories of *user_id*, with the default profile's daemon (SPEC 1.1).

    Like ``AsyncClient.ingest``, on a connection of its own.
    """
    async with AsyncClient() as client:
        return await client.ingest(text, user_id, session_id, memory_type_hint)


async def recall(
    query: str,
    user_id: str,
    top_k: int = 5,
    token_budget: int = 2000,
    memory_types: list[MemoryType] | None = None,
) -> RecallResult:
    """Recall memories of *user_id* for *query*, with the default profile's daemon (SPEC 2.1)."""
    async with AsyncClient() as client:
        return await client.recall(query, user_id, top_k, token_budget, memory_types)
