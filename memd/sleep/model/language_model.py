"""The language model that the settings name, assembled from the rooms it needs."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from memd.base.lazy import lazy
from memd.base.paths import Paths
from memd.llm.job_files import JobFiles

if TYPE_CHECKING:
    from memd.backends.assembly import Assembly
    from memd.llm.llm import LanguageModel


def build_language_model(
    assembly: Assembly, paths: Paths, stack: AsyncExitStack
) -> LanguageModel | None:
    """Return the language model, created on first use; None where the settings name none.

    Job files of an earlier provider are recovered or erased in any case.
    """
    settings = assembly.settings
    jobs = JobFiles(paths.jobs_dir, assembly.clock, settings.llm.job_days)
    jobs.recover()
    assembly.db.files.erasers.append(jobs.erase)
    if settings.llm.provider == "none":
        return None

    def build() -> LanguageModel:
        from memd.llm.build import language_model
        from memd.records.spending import Spending
        from memd.sleep.model.summaries import night_purposes

        model = language_model(
            settings.llm,
            assembly.clock,
            extra_purposes=night_purposes(settings),
            accounts=Spending(
                assembly.records, assembly.ids, assembly.clock, settings.llm.provider
            ),
            jobs=jobs,
            erasures=lambda: assembly.db.files.erasure_count,
        )
        stack.push_async_callback(model.close)
        return model

    return lazy(build)
