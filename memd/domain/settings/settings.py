"""The settings: the two sections of the documents, memd's own, and those of single agents.

The keys of ``memory`` and ``org_memory``, and the defaults of ``CompanyMemoryConfig``, are
those of the documents (seeds 002 and 004). memd's shipped defaults differ in two places, see
``Settings``: memories persist, and there may be a million of them.

Some values can be set in two places, ``options.*`` and ``consolidation.*``. Reading either
place gives the same value. If both are set and differ, ``consolidation.*`` takes precedence
with a ``SettingsWarning`` (SPEC D25).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, TypeVar

from pydantic import AliasChoices, Field, ValidationInfo, model_validator

from memd.base.paths import expand_folder
from memd.domain.encoding import ChunkingConfig
from memd.domain.enums import ConsolidationInterval, MemoryLevel
from memd.domain.inject import SelfEditingMemoryConfig
from memd.domain.settings.backend import BACKENDS, unknown_backend
from memd.domain.settings.consolidation import (
    ConsolidationConfig,
    Days,
    ProceduralMemoryConfig,
    RetentionRules,
    warn,
)
from memd.domain.settings.daemon_checks import (
    find_ineffective,
    find_unused_model,
    find_unused_uses,
    refuse_unsupported,
)
from memd.domain.settings.llm import LlmSettings, find_unused
from memd.domain.settings.org import OrgMemoryConfig
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.trust import SecretsPolicy
from memd.domain.values import Name, NotBlankStr, PosixPath, SafePath, Share, Value

SHIPPED_MAX_MEMORIES = 1_000_000

# Values that can be set in two places: the name in options, the path in consolidation.
_MIRRORS = (
    ("retention_days", ("retention", "default_retention_days")),
    ("max_memories_per_agent", ("max_memories_per_agent",)),
    ("consolidation_interval", ("interval",)),
)

_V = TypeVar("_V", bound=Value)


class MemoryStorageConfig(Value):
    """The storage of memories, by default in the system's data folder (SPEC D18)."""

    data_dir: SafePath | None = None
    """Folder of the database; `~` is your home. Default: the system's data folder."""
    vector_store: Literal["sqlite-vec"] = "sqlite-vec"
    """Only this value is supported."""
    history_store: Literal["sqlite"] = "sqlite"
    """Only this value is supported."""


class MemoryOptionsConfig(Value):
    """General options. *retention_days* None keeps memories for ever."""

    retention_days: Days | None = None
    """Days after which memories move to the trash; `null`: never."""
    max_memories_per_agent: int = Field(default=10_000, ge=1)
    """Maximum number of memories per agent; nights archive the oldest beyond it."""
    consolidation_interval: ConsolidationInterval = ConsolidationInterval.DAILY
    """How often a night runs."""
    shared_knowledge_base: bool = True
    """Allow agents to share memories."""


class EmbedderOverrideConfig(Value):
    """The documents' choice of an embedding model, without effect. A *model* needs its *dims*."""

    provider: NotBlankStr | None = None
    """No effect: memd uses its installed embedding model."""
    model: NotBlankStr | None = None
    """No effect, as `provider`; needs `dims`."""
    dims: int | None = Field(default=None, ge=1)
    """No effect, as `provider`."""

    @model_validator(mode="after")
    def _require_dims(self) -> Self:
        if self.model is not None and self.dims is None:
            raise ValueError("dims is required when model is set")
        return self


class CompositeBackendConfig(Value):
    """The backend of each namespace; *default* is that of all others."""

    routes: dict[Name, Name] = Field(default_factory=dict)
    """Map from namespace to backend."""
    default: Name = "inmemory"
    """Backend of all other namespaces."""


SettingSource = Literal["file", "call", "default"]
"""The source of an agent's setting: the settings file, a call, or neither."""


class MemoryConfig(Value):
    """The settings of one agent (SPEC 7.14)."""

    type: MemoryLevel = Field(
        default=MemoryLevel.SESSION, validation_alias=AliasChoices("type", "level")
    )
    """How long its memories are kept, as `memory.level`; may also be written `level`."""
    retention_days: Days | None = None
    """Days after which its memories move to the trash."""
    retention_overrides: RetentionRules = ()
    """Other days for some categories."""

    @model_validator(mode="after")
    def _check_retention(self) -> Self:
        if self.type is MemoryLevel.NONE and (self.retention_days or self.retention_overrides):
            raise ValueError("an agent that keeps no memories (type none) has no retention")
        return self


class CompanyMemoryConfig(Value):
    """The ``memory`` settings of the documents.

    A caller's own registered backend is accepted with
    ``CompanyMemoryConfig.model_validate(tree, context={"backends": names})``.
    """

    backend: NotBlankStr = "sqlite"
    """Storage backend; a daemon accepts only `sqlite`."""
    level: MemoryLevel = MemoryLevel.SESSION
    """How long memories are kept: permanently, for their project or session, or not at all."""
    storage: MemoryStorageConfig = MemoryStorageConfig()
    options: MemoryOptionsConfig = MemoryOptionsConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    retrieval: MemoryRetrievalConfig = MemoryRetrievalConfig()
    self_editing: SelfEditingMemoryConfig = SelfEditingMemoryConfig()
    consolidation: ConsolidationConfig = ConsolidationConfig()
    procedural: ProceduralMemoryConfig = ProceduralMemoryConfig()
    embedder: EmbedderOverrideConfig | None = None
    composite: CompositeBackendConfig | None = None
    agents: dict[Name, MemoryConfig] = Field(default_factory=dict)
    """Settings of single agents; a call cannot change an agent's setting that is given here
    (decision 0073).
    """

    @model_validator(mode="before")
    @classmethod
    def _refuse_foreign_backend(cls, tree: Any, info: ValidationInfo) -> Any:
        """Raise an error with a corrected section for the backend of another product."""
        if isinstance(tree, Mapping):
            context = info.context or {}
            known = tuple(context.get("backends", BACKENDS))
            backend = tree.get("backend", BACKENDS[0])
            if isinstance(backend, str) and backend not in known:
                toml = context.get("suffix") == ".toml"
                raise ValueError(unknown_backend(backend, known, tree, toml=toml))
        return tree

    @model_validator(mode="after")
    def _check_composite(self) -> Self:
        if (self.backend == "composite") != (self.composite is not None):
            raise ValueError("backend composite and a composite section need each other")
        return self

    @model_validator(mode="after")
    def _warn_of_embedder(self) -> Self:
        if self.embedder is not None and self.embedder.model_fields_set:
            warn("memory.embedder has no effect: memd embeds with the model it has installed")
        return self

    @model_validator(mode="after")
    def _resolve_mirrors(self) -> Self:
        options, consolidation = self.options, self.consolidation
        for name, place in _MIRRORS:
            value = _resolve(
                _value_at(options, (name,)), _value_at(consolidation, place), name, place
            )
            options = _with_value(options, (name,), value)
            consolidation = _with_value(consolidation, place, value)
        # The model is frozen, so its validator sets the fields through __dict__.
        self.__dict__.update(options=options, consolidation=consolidation)
        return self


class EmbeddingFineTuneConfig(Value):
    """A fine-tuned embedding model in place of the installed one (SPEC 18.2.1)."""

    enabled: bool = False
    checkpoint_path: PosixPath | None = None
    base_model: NotBlankStr | None = None
    training_data_dir: PosixPath | None = None

    @model_validator(mode="after")
    def _require_paths(self) -> Self:
        if self.enabled and (self.checkpoint_path is None or self.base_model is None):
            raise ValueError("enabled needs checkpoint_path and base_model")
        return self


KeptRecords = Literal[
    "cost_records",
    "messages",
    "lifecycle_events",
    "task_metrics",
    "collaboration_metrics",
    "audit_entries",
]
"""The entities whose records have a time, by which they can expire."""


class DaemonSettings(Value):
    """Settings of the daemon itself."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum level that is logged."""
    log_file: SafePath | None = None
    """Log file, absolute or below your home (`~`); default: stderr, which goes to the journal of a
    service.
    """
    log_file_bytes: int = Field(default=10_000_000, ge=10_000, le=10**12)
    """Size at which a log file is rotated (`.1`, `.2` ...)."""
    log_files_kept: int = Field(default=5, ge=1, le=1_000)
    """Number of rotated log files to keep."""
    count_use: bool = True
    """Count which memories of a prompt its answer used; no text is kept."""
    secrets: SecretsPolicy = "redact"
    """Replace keys and passwords, refuse the text, or keep it; answers never show them."""
    undo_days: int = Field(default=7, ge=0, le=3650)
    """Days that the trash keeps deleted memories; 0 erases at once."""
    session_days: int = Field(default=365, ge=0, le=36_500)
    """Days after which the text of an inactive session is dropped; memories stay. 0: never."""
    mmap_vectors: bool = True
    """Map vectors into memory; turn it off on a network file system, where that can crash."""
    model_idle_minutes: int = Field(default=15, ge=1, le=1440)
    """Idle minutes after which the embedding model is unloaded."""


class RecordsSettings(Value):
    """The retention of operational records; entities that are not named are kept for ever."""

    retention_days: dict[KeptRecords, Days] = Field(default_factory=dict)
    """Days per entity after which nights delete its records permanently, whoever wrote them:
    `cost_records`, `messages`, `lifecycle_events`, `task_metrics`, `collaboration_metrics`,
    `audit_entries`. memd's own records are kept for 90 days.
    """


class UsageSettings(Value):
    """Usage files of assistants, and the fill at which a session naps.

    A nap starts at *threshold_pct* of the window, or of the size at which the assistant
    compacts by itself, whichever is smaller; *max_tokens* is used if no window is reported. A
    crossing naps once: the next one counts after the window has been below *rearm_pct*, and a
    drop of more than *drop_pct* between two reports means that the assistant has compacted.
    """

    path: SafePath | None = None
    """File or folder in which assistants report their windows; default: `usage` in the profile's
    runtime folder.
    """
    threshold_pct: Share = Field(default=0.8, gt=0.0)
    """Fill at which a session naps; a window ends where the assistant compacts by itself."""
    rearm_pct: Share = 0.6
    """Fill below which the next crossing counts again; less than `threshold_pct`."""
    drop_pct: Share = Field(default=0.25, gt=0.0)
    """A larger drop between two reports means that the assistant has compacted."""
    max_tokens: int = Field(default=30_000, ge=1)
    """Window size in tokens when none is reported."""
    transcript_roots: tuple[SafePath, ...] = ()
    """Folders to read transcripts from, besides those of the known assistants."""

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        if self.path is not None:
            expand_folder("path", self.path)
        for root in self.transcript_roots:
            expand_folder("transcript_roots", root)
        return self

    @model_validator(mode="after")
    def _check_rearm(self) -> Self:
        if self.rearm_pct >= self.threshold_pct:
            raise ValueError(
                f"rearm_pct = {self.rearm_pct} must be below threshold_pct = {self.threshold_pct}"
            )
        return self


class Settings(Value):
    """All of memd's settings: one file, one tree.

    A ``memory`` section starts from memd's shipped defaults, not from the documents': level
    persistent, a million memories.
    """

    memory: CompanyMemoryConfig = Field(default_factory=dict, validate_default=True)
    org_memory: OrgMemoryConfig = Field(default_factory=OrgMemoryConfig)
    usage: UsageSettings = UsageSettings()
    daemon: DaemonSettings = DaemonSettings()
    records: RecordsSettings = RecordsSettings()
    llm: LlmSettings = LlmSettings()

    @model_validator(mode="before")
    @classmethod
    def _add_shipped_defaults(cls, tree: Any) -> Any:
        if not isinstance(tree, Mapping):
            return tree
        memory = tree.get("memory")
        if memory is None:
            memory = {}
        return {
            **tree,
            "memory": _with_shipped_defaults(memory) if isinstance(memory, Mapping) else memory,
        }

    @model_validator(mode="after")
    def _check_for_daemon(self) -> Self:
        refuse_unsupported(self.memory)
        llm, memory = self.llm, self.memory
        for sentence in (
            *find_ineffective(memory, llm),
            *find_unused(llm),
            *find_unused_uses(memory, llm),
            *find_unused_model(memory, llm),
        ):
            warn(sentence)
        return self


def _with_shipped_defaults(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return *memory* with memd's shipped defaults for the keys that are not set."""
    if memory.get("backend", BACKENDS[0]) not in BACKENDS:
        return dict(memory)  # it will be refused, with an error that shows it as written
    shipped: dict[str, Any] = {"level": MemoryLevel.PERSISTENT, **memory}
    name = "max_memories_per_agent"
    options, consolidation = shipped.get("options", {}), shipped.get("consolidation", {})
    if not isinstance(options, Mapping) or not isinstance(consolidation, Mapping):
        return shipped  # models built by a program, or invalid values: add no default
    if name not in options and name not in consolidation:
        shipped["options"] = {**options, name: SHIPPED_MAX_MEMORIES}
    return shipped


def _value_at(model: Value, place: tuple[str, ...]) -> tuple[Any, bool]:
    """Return the value at *place* in *model*, and whether it was set."""
    *sections, name = place
    for section in sections:
        model = getattr(model, section)
    return getattr(model, name), name in model.model_fields_set


def _resolve(
    option: tuple[Any, bool], consolidation: tuple[Any, bool], name: str, place: tuple[str, ...]
) -> Any:
    """Return the value that takes precedence; warn if both are set and differ.

    *option* and *consolidation* are pairs of a value and whether it was set, see _value_at.
    """
    option_value, is_option_set = option
    value, is_set = consolidation
    if is_option_set and is_set and option_value != value:
        warn(
            f"memory.options.{name} = {option_value} is overruled by "
            f"memory.consolidation.{'.'.join(place)} = {value}"
        )
    return option_value if is_option_set and not is_set else value


def _with_value(model: _V, place: tuple[str, ...], value: Any) -> _V:
    """Return *model* with *value* at *place*; return *model* itself if it has this value."""
    name, *path_below = place
    current = getattr(model, name)
    new = _with_value(current, tuple(path_below), value) if path_below else value
    return model if new is current or new == current else model.model_copy(update={name: new})
