"""The settings of lessons from failures (SPEC 17.3)."""

from __future__ import annotations

from pydantic import Field

from memd.domain.values import NotBlankStr, SafePath, Share, Value


class ProceduralMemoryConfig(Value):
    """Lessons from reported failures, and their export as skills."""

    enabled: bool = True
    """Turn reported failures into lessons."""
    model: NotBlankStr = "example-small-001"
    """Placeholder of the documents; another model is used with `llm.uses.lessons`."""
    temperature: float = Field(default=0.3, ge=0.0, le=2.0)
    """Temperature of that model."""
    max_tokens: int = Field(default=1_500, ge=1)
    """Maximum tokens of its answer."""
    min_confidence: Share = 0.5
    """Lessons with a lower confidence are not stored."""
    skill_md_directory: SafePath | None = None
    """Folder in which lessons are written as skills, `<name>/SKILL.md`, such as
    `~/.claude/skills`; without it none are written.
    """
