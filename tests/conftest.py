"""What every test gets: a home of its own, no settings of the person who runs it, and the model.

A loaded machine fails no test: hypothesis has no deadline for one example, nor a limit on
how long inputs take to be made. Nor does luck: the gate draws the same examples
each time, the long tests others (``--hypothesis-profile=long``, decision 0091).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import itertools
import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import platformdirs
import pytest
from hypothesis.configuration import set_hypothesis_home_dir
from support.clocks import HeldClock

from memd.base import log
from memd.store.file import open_files
from memd.text.tokens import TOKENIZER_FILE, ModelTokens, model_tokens

for name, same in (("memd", True), ("long", False)):
    hypothesis.settings.register_profile(
        name,
        deadline=None,
        derandomize=same,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("memd")
# Its tables of characters take seconds to make: kept between clones, where the model is.
set_hypothesis_home_dir(platformdirs.user_cache_path("memd-tests") / "hypothesis")

# As memd sets it when it loads a model: a worker in which that happened later would fork nothing
# any more, because who wants another environment at the start of a process gets a new Python.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# As it was before any test, because the fixture below takes it away.
_MODEL_DIR = os.environ.get("MEMD_MODEL_DIR")
_HOMES = itertools.count()


LONGEST = (
    "tests/e2e/test_nobody_waits.py",
    "tests/unit/guard/test_detectors.py",
    "tests/crash/test_kill9.py",
    "tests/e2e/test_profiles_apart.py",
    "tests/e2e/test_plain_statements.py",
    "tests/store/test_brief.py",
    "tests/property/test_night_undo.py",
    "tests/e2e/test_bad_input.py",
    "tests/house/test_house.py",
    "tests/e2e/test_pages_run.py",
    "tests/e2e/test_import_sessions.py",
    "tests/e2e/test_cli_hints.py",
    "tests/property/test_filters.py",
    "tests/e2e/test_import.py",
    "tests/e2e/test_model.py",
    "tests/examples/test_x17_x18_x19_backend.py",
    "tests/e2e/test_sleep_commands.py",
    "tests/crash/test_kinds_powercut.py",
    "tests/e2e/test_terminal.py",
    "tests/poison/test_poison.py",
    "tests/e2e/test_llm_uses.py",
    "tests/e2e/test_hostile_everywhere.py",
    "tests/unit/cli/test_parser.py",
    "tests/e2e/test_cli.py",
    "tests/e2e/test_nothing_comes_back.py",
    "tests/unit/guard/test_secret_formats.py",
    "tests/e2e/test_socket_process.py",
    "tests/e2e/test_secrets_everywhere.py",
    "tests/e2e/test_profiles.py",
    "tests/store/test_model_switch.py",
    "tests/crash/test_powercut_asleep.py",
    "tests/property/test_looks_like_memd.py",
    "tests/e2e/test_ingest.py",
    "tests/e2e/test_file_life.py",
    "tests/store/test_tuning.py",
    "tests/property/test_connect_bytes.py",
    "tests/property/test_as_of_replay.py",
    "tests/e2e/test_demo.py",
    "tests/crash/test_model_change_kill.py",
    "tests/crash/test_forgotten_bytes.py",
    "tests/crash/test_model_change_steps.py",
    "tests/store/test_check.py",
    "tests/e2e/test_move.py",
    "tests/store/test_recall_after_a_night.py",
    "tests/e2e/test_human_authority.py",
    "tests/e2e/test_hostile_frames.py",
    "tests/store/test_dispatch.py",
    "tests/e2e/test_facts_in_prompts.py",
    "tests/e2e/test_config_set.py",
    "tests/property/test_graph_paths.py",
    "tests/store/test_records.py",
    "tests/e2e/test_reranker.py",
    "tests/crash/test_powercut.py",
    "tests/store/test_graph.py",
    "tests/store/test_nights_without_sessions.py",
    "tests/e2e/test_settings_keeping.py",
    "tests/e2e/test_forked.py",
    "tests/e2e/test_tuning.py",
    "tests/property/test_nap_rules.py",
    "tests/e2e/test_llm_jobs.py",
    "tests/e2e/test_import_databases.py",
    "tests/e2e/test_hooks.py",
    "tests/store/test_nap_replaces.py",
    "tests/e2e/test_mcp.py",
    "tests/property/test_org_log.py",
    "tests/e2e/test_turned_away.py",
    "tests/crash/test_disk_errors_kinds.py",
    "tests/store/test_repair.py",
    "tests/e2e/test_offline.py",
    "tests/e2e/test_notes_are_found.py",
    "tests/e2e/test_backup_restore.py",
    "tests/crash/test_disk_errors_asleep.py",
    "tests/e2e/test_cli_learn.py",
    "tests/e2e/test_preferences.py",
    "tests/e2e/test_file_tool.py",
    "tests/e2e/test_composed_memories.py",
    "tests/property/test_store_life.py",
    "tests/property/test_view_fuzz.py",
    "tests/e2e/test_profile_start.py",
    "tests/e2e/test_org.py",
    "tests/e2e/test_hook_bad_input.py",
    "tests/e2e/test_usage_file.py",
    "tests/e2e/test_mcp_sdk.py",
    "tests/e2e/test_connect.py",
    "tests/e2e/test_settings_prompts.py",
    "tests/e2e/test_llm_naps.py",
    "tests/e2e/test_doctor.py",
    "tests/store/test_inject_room.py",
    "tests/e2e/test_flagged.py",
    "tests/store/test_records_moved.py",
)
"""The files that take longest. They begin first: begun last, one core works while others rest."""


class OnlyWhereDoctestsAre:
    """A plugin, as this file's own hooks do not see what is collected in ``memd``."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Look for doctests in the files that have some."""
        collectors = yield
        if b">>>" in file_path.read_bytes():
            return collectors
        return [each for each in collectors if type(each).__name__ != "DoctestModule"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(OnlyWhereDoctestsAre())


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without looking for garbage: there is none, and all that is collected stays."""
    gc.disable()
    _import_tests(session)
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


def _import_tests(session: pytest.Session) -> None:
    """Let each worker begin to import at another module: what one compiles the others find.

    All collect the same tests in the same order; each would compile each module, at the same time.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    modules = [
        module for arg in session.config.args for module in sorted(Path(arg).rglob("test_*.py"))
    ]
    begin = len(modules) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for module in (*modules[begin:], *modules[:begin]):
        # What is wrong with a module is told when it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(module.with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files in front, then those with many tests.

    pytest-xdist would put the file with one test last, however long it takes: the gate says
    ``--no-loadscope-reorder``.
    """
    tests = Counter(item.nodeid.partition("::")[0] for item in items)
    longest = {file: place for place, file in enumerate(LONGEST)}

    def order(item: pytest.Item) -> tuple[int, int, str]:
        file = item.nodeid.partition("::")[0]
        return longest.get(file, len(LONGEST)), -tests[file], file

    items.sort(key=order)


@pytest.fixture
def log_output() -> Iterator[io.StringIO]:
    """Yield what memd's log writes during a test."""
    stream = io.StringIO()
    log.configure(stream=stream, environ={})
    yield stream
    log.configure()


@pytest.fixture(autouse=True)
def _own_home(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Point MEMD_HOME at a folder of the test's own and hide every other MEMD_ setting.

    It is its ``tmp_path`` where it has one. Otherwise it is not there yet: to make and to remove
    thousands of folders that nothing is written into takes longer than most unit tests.
    """
    for name in [name for name in os.environ if name.startswith("MEMD_")]:
        monkeypatch.delenv(name)
    if "tmp_path" in request.fixturenames:
        home = Path(request.getfixturevalue("tmp_path"))
    else:
        home = tmp_path_factory.getbasetemp() / f"home-{next(_HOMES)}"
    monkeypatch.setenv("MEMD_HOME", str(home))
    if _MODEL_DIR:
        monkeypatch.setenv("MEMD_MODEL_DIR", _MODEL_DIR)


@pytest.fixture(scope="session", autouse=True)
def _vocabulary() -> ModelTokens | None:
    """Keep the vocabulary that the stores of all tests count with: to read it takes 25 ms."""
    return model_tokens(Path(_MODEL_DIR) / TOKENIZER_FILE) if _MODEL_DIR else None


@pytest.fixture(autouse=True)
def _little_ballast(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a store set aside 16 KiB: a thousand stores of the tests would write 8 GB.

    Who tests what the room is for uses ``whole_ballast``.
    """
    if "whole_ballast" not in request.fixturenames:
        monkeypatch.setattr(open_files, "BALLAST_BYTES", 16_384)


@pytest.fixture
def clock() -> HeldClock:
    """Return a clock that stands until the test moves it."""
    return HeldClock()


@pytest.fixture
def whole_ballast() -> None:
    """Let the stores of a test set aside as much as those of users."""


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """Return a folder with the installed model: MEMD_MODEL_DIR, or a cache filled at first need.

    Skips, with the reason, only when no source of the model can be reached.
    """
    from memd.base.errors import DegradedError
    from memd.embedding.install import install
    from memd.embedding.model_files import status

    if _MODEL_DIR and status(Path(_MODEL_DIR)).installed:
        return Path(_MODEL_DIR)
    from memd.base.paths import MODEL_NAME

    folder = platformdirs.user_cache_path("memd-tests") / MODEL_NAME
    if status(folder).problem is not None:
        try:
            install(folder, source=None, progress=lambda _what, _share: None)
        except DegradedError as error:
            pytest.skip(error.message)
    return folder


@pytest.fixture(scope="session")
def reranker_dir() -> Path:
    """Return a folder with the optional re-ranker, kept apart from the model: most do without.

    Skips, with the reason, when it is not there and cannot be fetched.
    """
    from memd.base.errors import DegradedError
    from memd.base.paths import RERANKER_NAME
    from memd.embedding.install_reranker import install
    from memd.embedding.model_files import status

    folder = platformdirs.user_cache_path("memd-tests") / "re-ranked" / RERANKER_NAME
    if not status(folder).installed:
        try:
            install(folder, source=None, progress=lambda _what, _share: None)
        except DegradedError as error:
            pytest.skip(error.message)
    return folder
