"""Keep a folder of skills, which assistants read, in step with the lessons (SPEC 17.5, D16).

Each is ``<folder>/<name>/SKILL.md``, written atomically and never over a file that is not
memd's. A forgotten memory has no file any more when ``forget`` returns; after other changes the
folder is updated within LOOK_SECONDS.
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
from memd.domain.settings.consolidation import ProceduralMemoryConfig
from memd.guard.redaction import redact
from memd.learn import skill_files
from memd.learn.lessons import list_visible
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
    """Owns memd's files below *root*; with None only :meth:`export` writes.

    *store* identifies the database file.
    """

    db: Database
    clock: Clock
    store: str
    root: Path | None = None
    work: Work = field(default_factory=Work)
    config: ProceduralMemoryConfig = field(default_factory=ProceduralMemoryConfig)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _seen: changes.Head | None = None

    async def list_skills(self, caller: Caller) -> tuple[Skill, ...]:
        """Return the caller's skills, newest first."""
        return tuple(skill.skill for skill in await self._read_sources(caller))

    async def show(self, caller: Caller, memory_id: str) -> SkillPage:
        """Return a skill with all its tiers; raises MemoryNotFoundError."""
        skill = next(
            (each for each in await self._read_sources(caller) if each.skill.id == memory_id), None
        )
        if skill is None:
            raise MemoryNotFoundError("no such skill", field="id", hint="memd skill list")
        text = _render(skill, self._owner(caller.agent_id))
        return SkillPage(skill=skill.skill, proposal=skill.proposal, skill_md=text)

    async def export(self, caller: Caller, target: str | None) -> SkillExport:
        """Write the caller's skills below *target*, by default the folder of the settings.

        Raises InvalidError without an absolute folder, and what writing raises.
        """
        root = self.root if target is None else Path(target)
        if root is None or not root.is_absolute():
            raise InvalidError(
                "target must be an absolute path",
                field="target",
                hint="or set memory.procedural.skill_md_directory",
            )
        return await self._write(root, {caller.agent_id: await self._read_sources(caller)})

    async def update_skill(self, caller: Caller, memory_id: str) -> str | None:
        """Update the folder and return the file of a lesson; a failure is only logged."""
        if self.root is None or not await self.update():
            return None
        skill = next(
            (each for each in await self._read_sources(caller) if each.skill.id == memory_id), None
        )
        path = None if skill is None else self.root / skill.skill.name / skill_files.FILE
        return str(path) if path is not None and path.is_file() else None

    async def update(self) -> bool:
        """Write the current lessons of all agents to the folder; return False on a failure."""
        if self.root is None:
            return True
        try:
            head = await self.db.read(changes.last_link)
            agents = await self.db.read(lessons.agents_with_lessons)
            rows_by = {
                agent: await self._read_sources(Caller(agent_id=agent)) if may_have else []
                for agent, may_have in agents.items()
            }
            export = await self._write(self.root, rows_by)
        except MemdError as error:
            log.warning("skills not written", kind=error.kind)
            return False
        self._seen = head
        return not export.failed

    async def remove_forgotten(self, caller: Caller) -> str | None:
        """Remove forgotten lessons from the folder; return its path if that failed."""
        del caller  # the folder has the skills of all agents
        return None if await self.update() else str(self.root)

    async def run(self) -> None:
        """Update the folder whenever memories change. Returns at once without a folder."""
        while self.root is not None:
            try:
                if await self.db.read(changes.last_link) != self._seen:
                    await self.update()
            except MemdError as error:
                log.warning("skills not written", kind=error.kind)
            await asyncio.sleep(LOOK_SECONDS)

    async def _read_sources(self, caller: Caller) -> list[_SkillSource]:
        rows = await self.db.read(list_visible, caller, self.config, self.clock.now_us())
        ids = [row.memory_key for row in rows]
        tags = {
            key: row.entry() for key, row in (await self.db.read(memories.by_keys, ids)).items()
        }
        return [skill for row in rows if (skill := _skill(row, tags[row.memory_key].metadata.tags))]

    async def _write(self, root: Path, groups: Mapping[str, list[_SkillSource]]) -> SkillExport:
        files = {
            each.skill.name: _render(each, self._owner(agent_id))
            for agent_id, skills in groups.items()
            for each in skills
        }
        owners = {self._owner(agent_id) for agent_id in groups}
        async with self._writing:
            result = await self.work.run(skill_files.update, root, files, frozenset(owners))
        return SkillExport(
            path=str(root), written=result.written, removed=result.removed, failed=result.failed
        )

    def _owner(self, agent_id: str) -> str:
        """Return a hash of store and agent, so that the file has no agent's name."""
        return hashlib.sha256(f"{self.store}\n{agent_id}".encode()).hexdigest()[:16]


def _skill(row: LessonRow, tags: tuple[str, ...]) -> _SkillSource | None:
    tiers = tiers_of(redact(row.text))
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


def _render(source: _SkillSource, owner: str) -> str:
    return skill_md(
        source.skill.name,
        source.proposal,
        owner=owner,
        source=source.skill.source or "",
        memory_id=source.skill.id,
    )
