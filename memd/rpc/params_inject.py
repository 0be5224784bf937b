"""The params of ``inject.*``."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from memd.model.enums import InjectionStrategy
from memd.model.inject import BriefRequest, PrepareRequest
from memd.model.values import Name, ProjectId
from memd.rpc.params import Scoped, Writing


class Prepare(PrepareRequest, Scoped):
    """The question that a prompt is prepared for, and its budget."""


class Brief(BriefRequest, Scoped):
    """The session that is told what is worth knowing before it asks."""


class Tools(Scoped):
    """Whose tools: those of *strategy*, or of the one in the settings."""

    strategy: InjectionStrategy | None = None


class CallTool(Writing):
    """One tool call as a language model made it.

    Without a *strategy* the tool's name says whose it is. *arguments* are checked by
    the tool, whose answer says what is wrong with them.
    """

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    strategy: InjectionStrategy | None = None
    session_id: Name | None = None
    project_id: ProjectId | None = None
