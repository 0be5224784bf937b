"""The language model that the settings name, handed what it needs of the house."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from memd.base.lazy import lazy
from memd.base.paths import Paths
from memd.llm.job_files import JobFiles

if TYPE_CHECKING:
    from memd.backends.assembly import Assembly
    from memd.llm.llm import LanguageModel


def answering(house: Assembly, paths: Paths, stack: AsyncExitStack) -> LanguageModel | None:
    """Return the language model, made when it is first asked; None where none is named.

    Job files of before are mended or erased whoever answers now.
    """
    settings = house.settings
    jobs = JobFiles(paths.jobs_dir, house.clock, settings.llm.job_days)
    jobs.recover()
    house.db.files.erasers.append(jobs.erase)
    if settings.llm.provider == "none":
        return None

    def make() -> LanguageModel:
        from memd.llm.build import language_model
        from memd.records.spending import Spending
        from memd.sleep.model.summaries import purposes_of

        made = language_model(
            settings.llm,
            house.clock,
            also=purposes_of(settings),
            accounts=Spending(house.records, house.ids, house.clock, settings.llm.provider),
            jobs=jobs,
            erasures=lambda: house.db.files.erasure_count,
        )
        stack.push_async_callback(made.close)
        return made

    return lazy(make)
