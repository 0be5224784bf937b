"""Lessons and skills, put together over one open file; neither is loaded before it is used."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base.later import later

if TYPE_CHECKING:
    from memd.backends.assembly import Assembly
    from memd.base.paths import Paths
    from memd.domain.settings.settings import Settings
    from memd.learn.lessons import Lessons
    from memd.learn.skills import Skills
    from memd.llm.llm import LanguageModel


class Teaching(NamedTuple):
    """The rooms of what failures teach, and what keeps the folder of skills, if one is set."""

    lessons: Lessons
    skills: Skills
    background: tuple[Callable[[], Coroutine[Any, Any, None]], ...]


def teaching(
    house: Assembly, settings: Settings, paths: Paths, llm: LanguageModel | None
) -> Teaching:
    """Build both over *house*; a folder that is not absolute lies beside the memories."""
    config = settings.memory.procedural
    said = config.skill_md_directory

    def make_skills() -> Skills:
        from memd.learn.skills import Skills

        root = None if said is None else paths.data_dir / Path(said).expanduser()
        return Skills(house.db, house.clock, str(paths.database), root, house.work, config)

    skills = later(make_skills)

    def make_lessons() -> Lessons:
        from memd.learn.lessons import Lessons

        return Lessons(
            db=house.db,
            clock=house.clock,
            ids=house.ids,
            ingest=house.ingest,
            skills=skills,
            config=config,
            secrets=settings.daemon.secrets,
            work=house.work,
            llm=llm,
        )

    async def follow() -> None:
        await skills.run()

    return Teaching(later(make_lessons), skills, () if said is None else (follow,))
