"""What is learnt, and one block of it, from rooms that know nothing."""

from __future__ import annotations

from memd.domain.caller import Caller
from memd.domain.enums import LearningOutcome
from memd.domain.learn import (
    FailureAnalysisPayload,
    Learning,
    LessonOutcome,
    PlaybookEntry,
    PlaybookQuery,
    ProceduralMemoryProposal,
    Skill,
    SkillExport,
    SkillPage,
    SuccessReport,
    TaskReport,
    TuneRequest,
    TuneRun,
    TuneStage,
    TuneStatus,
)
from memd.domain.memory import MemoryEntry
from memd.domain.recall import SynthesisRequest, Synthesized


class FakeLearn:
    """Answers every report, and keeps none."""

    async def outcome(self, caller: Caller, task: TaskReport) -> Learning:
        del caller
        return Learning(
            id="l000000",
            task_type="chat",
            approach=task.tools,
            outcome=LearningOutcome.PARTIAL,
            lesson="a",
            timestamp="2026-01-01T12:00:00Z",
        )

    async def success(self, caller: Caller, report: SuccessReport) -> PlaybookEntry:
        del caller
        return PlaybookEntry(
            pattern_id="p000000",
            task_type="chat",
            description=report.description,
            tool_sequence=report.tools,
            created_at="2026-01-01T12:00:00Z",
            updated_at="2026-01-01T12:00:00Z",
        )

    async def latest(self, caller: Caller, limit: int = 0) -> tuple[Learning, ...]:
        del caller, limit
        return ()

    async def playbook(self, caller: Caller, wanted: PlaybookQuery) -> tuple[PlaybookEntry, ...]:
        del caller, wanted
        return ()


class FakeSynthesis:
    """Knows nothing."""

    async def block(self, caller: Caller, request: SynthesisRequest) -> Synthesized:
        del caller, request
        return Synthesized(block="")


class FakeTuning:
    """Never gets beyond its first stage."""

    async def start(
        self, caller: Caller, request: TuneRequest | None = None, *, resume: bool = False
    ) -> TuneRun:
        del caller, request, resume
        stage = TuneStage.GENERATING_DATA
        return TuneRun(run_id="t000000", stage=stage, started_at="2026-01-01T12:00:00Z")

    async def status(self) -> TuneStatus:
        return TuneStatus(stage=TuneStage.IDLE)

    async def cancel(self) -> TuneStatus:
        return await self.status()

    async def activate(self, caller: Caller, run_id: str) -> TuneStatus:
        del caller, run_id
        return await self.status()

    async def rollback(self, caller: Caller) -> TuneStatus:
        del caller
        return await self.status()


class FakeLessons:
    """Learns nothing from any failure."""

    async def failure(self, caller: Caller, payload: FailureAnalysisPayload) -> LessonOutcome:
        del caller, payload
        return LessonOutcome(why_not="it learns nothing")

    async def prune(self, caller: Caller, *, dry_run: bool) -> tuple[str, ...]:
        del caller, dry_run
        return ()

    async def whole(self, caller: Caller, entry: MemoryEntry) -> MemoryEntry:
        del caller
        return entry


class FakeSkills:
    """Has one skill, and no folder."""

    async def listed(self, caller: Caller) -> tuple[Skill, ...]:
        del caller
        at = "2026-01-01T12:00:00Z"
        return (Skill(id="l000000", name="a", discovery="a", confidence=0.5, created_at=at),)

    async def show(self, caller: Caller, memory_id: str) -> SkillPage:
        (skill,) = await self.listed(caller)
        assert memory_id == skill.id
        told = ProceduralMemoryProposal(
            discovery="a", condition="b", action="c", rationale="d", confidence=0.5
        )
        return SkillPage(skill=skill, proposal=told, skill_md="---")

    async def export(self, caller: Caller, target: str | None) -> SkillExport:
        del caller
        return SkillExport(path=target or "nowhere", written=1)

    async def forgotten(self, caller: Caller) -> str | None:
        del caller
        return None
