"""Lessons as a folder of skills that assistants read, kept as the lessons are (SPEC 17.5, D16).

``<folder>/<name>/SKILL.md``, whole or not at all, and never over a file that is not memd's.
What was forgotten, deleted or superseded has no file any more: by the answer of a forgetting,
and a moment later for whatever else changes memories.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import InvalidError, MemdError, MemoryNotFoundError
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.learn import ProceduralMemoryProposal, Skill, SkillExport, SkillPage
from memd.domain.settings.procedural import ProceduralMemoryConfig
from memd.guard.outgoing import outgoing
from memd.learn import lessons as kept
from memd.learn import skill_files
from memd.learn.skill_files import skill_md, skill_name
from memd.learn.tiers import tiers_of
from memd.store.access import changes
from memd.store.file.database import Database
from memd.store.learn import lessons
from memd.store.learn.lessons import LessonRow
from memd.store.memory import memories

LOOK_SECONDS = 2.0


class _SkillSource(NamedTuple):
    skill: Skill
    proposal: ProceduralMemoryProposal


@dataclass
class Skills:
    """Owns what memd wrote below *root*; None writes nothing by itself. *store* names the file."""

    db: Database
    clock: Clock
    store: str
    root: Path | None = None
    work: Work = field(default_factory=Work)
    config: ProceduralMemoryConfig = field(default_factory=ProceduralMemoryConfig)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _seen: bytes | None = None

    async def listed(self, caller: Caller) -> tuple[Skill, ...]:
        """Return the caller's skills by their discovery tier, newest first."""
        return tuple(skill.skill for skill in await self._all(caller))

    async def show(self, caller: Caller, memory_id: str) -> SkillPage:
        """Return a skill with all of its tiers; MemoryNotFoundError where there is none."""
        skill = next((each for each in await self._all(caller) if each.skill.id == memory_id), None)
        if skill is None:
            raise MemoryNotFoundError("no such skill", field="id", hint="memd skill list")
        text = _text(skill, self._owner(caller.agent_id))
        return SkillPage(skill=skill.skill, proposal=skill.proposal, skill_md=text)

    async def export(self, caller: Caller, target: str | None) -> SkillExport:
        """Write the caller's skills below *target*, by default the folder of the settings.

        Raises InvalidError for no folder or one that is not absolute, and what writing raises.
        """
        root = self.root if target is None else Path(target)
        if root is None or not root.is_absolute():
            raise InvalidError(
                "target must be an absolute path",
                field="target",
                hint="or set memory.procedural.skill_md_directory",
            )
        return await self._written(root, {caller.agent_id: await self._all(caller)})

    async def written(self, caller: Caller, memory_id: str) -> str | None:
        """Bring the folder up to date and return the file of a lesson; a failure only warns."""
        if self.root is None or not await self.follow():
            return None
        skill = next((each for each in await self._all(caller) if each.skill.id == memory_id), None)
        path = None if skill is None else self.root / skill.skill.name / skill_files.FILE
        return str(path) if path is not None and path.is_file() else None

    async def follow(self) -> bool:
        """Make the folder what the lessons of all agents are now; False where that failed."""
        if self.root is None:
            return True
        try:
            seen = await self.db.read(changes.head)
            agents = await self.db.read(lessons.agents_with_lessons)
            rows_by = {
                agent: await self._all(Caller(agent_id=agent)) if may_have else []
                for agent, may_have in agents.items()
            }
            done = await self._written(self.root, rows_by)
        except MemdError as error:
            log.warning("skills not written", kind=error.kind)
            return False
        self._seen = seen
        return not done.failed

    async def forgotten(self, caller: Caller) -> str | None:
        """Take what was forgotten out of the folder; return its path if that failed."""
        del caller  # the folder has the skills of all agents
        return None if await self.follow() else str(self.root)

    async def run(self) -> None:
        """Follow whatever changes memories. Ends at once where no folder is set."""
        while self.root is not None:
            try:
                if await self.db.read(changes.head) != self._seen:
                    await self.follow()
            except MemdError as error:
                log.warning("skills not written", kind=error.kind)
            await asyncio.sleep(LOOK_SECONDS)

    async def _all(self, caller: Caller) -> list[_SkillSource]:
        rows = await self.db.read(kept.visible, caller, self.config, self.clock.now_us())
        ids = [row.memory_key for row in rows]
        tags = {
            key: row.entry() for key, row in (await self.db.read(memories.by_keys, ids)).items()
        }
        return [skill for row in rows if (skill := _skill(row, tags[row.memory_key].metadata.tags))]

    async def _written(self, root: Path, groups: Mapping[str, list[_SkillSource]]) -> SkillExport:
        files = {
            each.skill.name: _text(each, self._owner(agent_id))
            for agent_id, skills in groups.items()
            for each in skills
        }
        owners = {self._owner(agent_id) for agent_id in groups}
        async with self._one_at_a_time:
            done = await self.work.run(skill_files.update, root, files, frozenset(owners))
        return SkillExport(
            path=str(root), written=done.written, removed=done.removed, failed=done.failed
        )

    def _owner(self, agent_id: str) -> str:
        """Return whose skill it is: of which store and agent; no name stands in the file."""
        return hashlib.sha256(f"{self.store}\n{agent_id}".encode()).hexdigest()[:16]


def _skill(row: LessonRow, tags: tuple[str, ...]) -> _SkillSource | None:
    tiers = tiers_of(outgoing(row.text))
    if tiers is None:
        return None
    proposal = ProceduralMemoryProposal(
        discovery=tiers.discovery,
        condition=tiers.condition,
        action=tiers.action,
        rationale=tiers.rationale,
        execution_steps=tiers.steps,
        confidence=row.confidence,
        tags=tags,
    )
    skill = Skill(
        id=row.memory_id,
        name=skill_name(tiers.discovery, row.memory_id),
        discovery=tiers.discovery,
        source=row.source,
        confidence=row.confidence,
        tags=tags,
        created_at=from_us(row.created_at_us),
    )
    return _SkillSource(skill, proposal)


def _text(written: _SkillSource, owner: str) -> str:
    return skill_md(
        written.skill.name,
        written.proposal,
        owner=owner,
        source=written.skill.source or "",
        memory_id=written.skill.id,
    )
