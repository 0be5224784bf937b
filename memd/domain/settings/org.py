"""The ``org_memory`` settings: policies, write access, backends (seed 004, SPEC 15).

The three documented backends all use one log in memd's own file, so the keys of all three are
accepted whichever is chosen. Write access has two forms: *rules* with a minimum seniority, or
the documents' lists of roles for each group of facts, which are converted to rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_serializer, model_validator

from memd.base.errors import OrgMemoryConfigError
from memd.base.limits import CORE_POLICIES_MAX
from memd.base.settings import SettingsWarning
from memd.domain.enums import OrgFactCategory, SeniorityLevel
from memd.domain.inject import PREPARE_TOKENS, policies_tokens
from memd.domain.settings.consolidation import Days
from memd.domain.values import Text, Value

HUMAN = "human"

GROUPS: Mapping[str, OrgFactCategory] = MappingProxyType(
    {
        "policies": OrgFactCategory.CORE_POLICY,
        "adrs": OrgFactCategory.ADR,
        "procedures": OrgFactCategory.PROCEDURE,
        "conventions": OrgFactCategory.CONVENTION,
        "entity_definitions": OrgFactCategory.ENTITY_DEFINITION,
    }
)
"""The categories by the documents' names of groups, which lists of roles use."""

_ROLES = (HUMAN, *SeniorityLevel)


class CategoryWriteRule(Value):
    """Write access to one category: agents of *allowed_seniority* and above, none without it."""

    allowed_seniority: SeniorityLevel | None = None
    """Minimum seniority of an agent to write this category; without it, no agent may."""
    human_allowed: bool = True
    """Allow people to write it, with the owner's signature."""


def default_rules() -> dict[OrgFactCategory, CategoryWriteRule]:
    """Return the default rules: humans write everything, seniors all but policies (SPEC 15.3)."""
    senior = CategoryWriteRule(allowed_seniority=SeniorityLevel.SENIOR)
    rules = dict.fromkeys(OrgFactCategory, senior)
    rules[OrgFactCategory.CORE_POLICY] = CategoryWriteRule()
    return rules


class WriteAccessConfig(Value):
    """Write access by category; nobody may write a category without a rule (SPEC 15.3.2).

    In the documents' form, such as ``adrs: [human, senior, lead]``, "human" allows humans and
    the lowest role is the minimum seniority of agents. A group that is not listed keeps its
    default rule.
    """

    rules: Mapping[OrgFactCategory, CategoryWriteRule] = Field(default_factory=default_rules)

    @model_validator(mode="before")
    @classmethod
    def _parse_roles(cls, tree: Any) -> Any:
        if not isinstance(tree, Mapping) or "rules" in tree or not tree.keys() & GROUPS.keys():
            return tree
        unknown = sorted(str(group) for group in tree.keys() - GROUPS.keys())
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no group of facts; there are {', '.join(GROUPS)}")
        rules = {GROUPS[group]: _rule(group, roles) for group, roles in tree.items()}
        return {"rules": {**default_rules(), **rules}}

    @model_validator(mode="after")
    def _freeze_rules(self) -> Self:
        self.__dict__["rules"] = MappingProxyType(dict(self.rules))
        return self

    @field_serializer("rules")
    def _as_dict(
        self, rules: Mapping[OrgFactCategory, CategoryWriteRule]
    ) -> dict[OrgFactCategory, CategoryWriteRule]:
        return dict(rules)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return self, which is immutable: a mapping proxy cannot be copied."""
        return self


class ExtendedStoreConfig(Value):
    """The storage of facts that are not policies, and the maximum number per query."""

    backend: Literal["sqlite"] = "sqlite"
    """Only this value is supported."""
    max_retrieved_per_query: int = Field(default=5, ge=1, le=50)
    """Maximum number of facts per query."""


class GraphConfig(Value):
    """Storage and extraction of entities and relations (backend graph_rag)."""

    store: Literal["sqlite"] = "sqlite"
    """Only this value is supported."""
    entity_extraction: Literal["auto"] = "auto"
    """Extraction is by rule; there is no other way."""


class TemporalConfig(Value):
    """How much history queries return (backend temporal_kg); the log itself is never shortened.

    *history_retention_days*: facts superseded longer ago are not returned; None returns all.
    Without *track_changes* only current facts are returned.
    """

    track_changes: bool = True
    """`false`: return only what is currently valid; the log keeps everything."""
    history_retention_days: Days | None = None
    """Days for which superseded facts are returned; default: always."""


class OrgRules(Value):
    """The access rules by category, recorded whenever they change."""

    write: WriteAccessConfig = Field(default_factory=WriteAccessConfig)
    read: dict[OrgFactCategory, SeniorityLevel] = Field(default_factory=dict)


class OrgMemoryConfig(Value):
    """The ``org_memory`` settings of the documents."""

    backend: Literal["hybrid_prompt_retrieval", "temporal_kg", "graph_rag"] = (
        "hybrid_prompt_retrieval"
    )
    """What queries use: words; also history (`temporal_kg`); also the graph (`graph_rag`)."""
    core_policies: Annotated[tuple[Text, ...], Field(max_length=CORE_POLICIES_MAX)] = ()
    """Policies that every prompt contains."""
    extended_store: ExtendedStoreConfig = ExtendedStoreConfig()
    write_access: WriteAccessConfig = Field(default_factory=WriteAccessConfig)
    read_access: dict[OrgFactCategory, SeniorityLevel] = Field(default_factory=dict)
    """Minimum seniority to read a category; without a rule, everyone may."""

    graph: GraphConfig = GraphConfig()
    temporal: TemporalConfig = TemporalConfig()

    @model_validator(mode="after")
    def _warn_of_long_policies(self) -> Self:
        tokens = policies_tokens(self.core_policies)
        if tokens > PREPARE_TOKENS:
            warnings.warn(
                f"org_memory.core_policies take {tokens:,} tokens: a prompt of "
                f"{PREPARE_TOKENS:,}, the default, leaves some out",
                SettingsWarning,
                stacklevel=2,
            )
        return self


def org_memory_config(tree: Mapping[str, Any]) -> OrgMemoryConfig:
    """Return the settings in *tree*. Raises OrgMemoryConfigError: key, value, what is allowed."""
    try:
        return OrgMemoryConfig.model_validate(tree)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
    key = ".".join(["org_memory", *map(str, detail["loc"])])
    if detail["type"] == "value_error":
        text = f"{key}: {detail['ctx']['error']}"
    else:
        text = f"{key}: {repr(detail['input'])[:_VALUE_CHARS_SHOWN]}: {detail['msg']}"
    # `from None`: pydantic's own text would repeat the whole tree.
    raise OrgMemoryConfigError(text, field=key) from None


_VALUE_CHARS_SHOWN = 80


def _rule(group: str, roles: Any) -> CategoryWriteRule:
    """Return the rule for a list of *roles*; an empty list allows nobody."""
    if not isinstance(roles, (list, tuple, set, frozenset)):
        raise ValueError(  # noqa: TRY004  # pydantic turns a ValueError into a ValidationError
            f"{group} must be a list of roles, such as [human, senior]"
        )
    for role in roles:
        if role not in _ROLES:
            raise ValueError(f"{group}: {role!r} is no role; there are {', '.join(_ROLES)}")
    levels = [SeniorityLevel(role) for role in roles if role != HUMAN]
    return CategoryWriteRule(
        allowed_seniority=min(levels, key=lambda level: level.rank, default=None),
        human_allowed=HUMAN in roles,
    )
