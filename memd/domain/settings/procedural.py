"""The settings of lessons from failures (SPEC 17.3)."""

from __future__ import annotations

from pydantic import Field

from memd.domain.values import NotBlankStr, SafePath, Share, Value


class ProceduralMemoryConfig(Value):
    """What failures teach, and where it is written as skills."""

    enabled: bool = True
    """Whether a reported failure becomes a lesson."""
    model: NotBlankStr = "example-small-001"
    """The documents' placeholder; another one is asked for with `llm.uses.lessons`."""
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    """The temperature of that model."""
    max_tokens: int = Field(default=1_500, ge=1)
    """How long its answer may be."""
    min_confidence: Share = 0.5
    """A lesson that is less sure is not kept."""
    skill_md_directory: SafePath | None = None
    """A folder of skills that assistants read, as `~/.claude/skills`; lessons are kept there as
    `<name>/SKILL.md`. Without it none are written.
    """
