"""Each setting of nights, of files and of the daemon has its effect, over a daemon's socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment, spawned
from support.sample_records import EXAMPLES
from support.setting_effects import Stage, a_stage, merged, shows, tree

from memd.backends import rooms as file_rooms
from memd.base.errors import InvalidStateError, MemdError, OrgMemoryAccessDeniedError
from memd.client import AsyncClient

NIGHT = "memory.consolidation."
DUAL = NIGHT + "archival.dual_mode."
LONG = "Then we talked for a long while about how everybody felt and went home late. " * 3
DENSE = (
    LONG,
    "Backups: https://wiki.example/backup, https://wiki.example/restore, https://a.example/x.",
    "The deploy of version 2.4.1 failed with exit code 137 on node n7, see /var/log/deploy.log.",
)


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    return monkeypatch


@asynccontextmanager
async def _stage(home: Path, patch: pytest.MonkeyPatch, *trees: Any) -> AsyncIterator[Stage]:
    home.mkdir(parents=True, exist_ok=True)
    async with a_stage(home, patch, merged(*trees)) as stage:
        yield stage


async def _slept(home: Path, patch: pytest.MonkeyPatch, *trees: Any) -> str:
    """Return what a night makes of one session's memories: the summary, "" for none."""
    async with _stage(home, patch, *trees) as stage:
        await stage.remember("The first.", *DENSE, category="episodic", session_id="s1")
        await stage.wait_for_vectors()
        stage.clock.advance(days=3)
        report = await stage.call("sleep.run")
        if not report["detail"]["summaries"]:
            return ""
        return str((await stage.call("memory.list"))["items"])


@shows(
    "memory.options.retention_days",
    "memory.consolidation.retention.default_retention_days",
    "memory.consolidation.retention.rules.category",
    "memory.consolidation.retention.rules.retention_days",
    "memory.agents.retention_days",
    "memory.agents.retention_overrides.category",
    "memory.agents.retention_overrides.retention_days",
)
@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, {"semantic", "social"}),
        (tree("memory.options.retention_days", 30), set()),
        (tree(NIGHT + "retention.default_retention_days", 30), set()),
        (tree("memory.agents", {"default": {"retention_days": 30}}), set()),
        (tree("memory.agents", {"eve": {"retention_days": 30}}), {"semantic", "social"}),
        (
            tree(
                "memory.agents.default.retention_overrides",
                [{"category": "semantic", "retention_days": 30}],
            ),
            {"social"},
        ),
        (
            tree(NIGHT + "retention.rules", [{"category": "social", "retention_days": 30}]),
            {"semantic"},
        ),
    ],
)
async def test_what_is_older_than_its_retention_goes(
    tmp_path: Path, patch: pytest.MonkeyPatch, settings: dict[str, Any], left: set[str]
) -> None:
    async with _stage(tmp_path, patch, settings) as stage:
        for category in ("semantic", "social"):
            await stage.remember("The boat lies at pier 7.", category=category)
        await stage.wait_for_vectors()
        stage.clock.advance(days=40)
        await stage.call("sleep.run")
        items = (await stage.call("memory.list"))["items"]
    assert {each["category"] for each in items} == left


@shows("memory.options.max_memories_per_agent", "memory.consolidation.max_memories_per_agent")
@pytest.mark.parametrize("place", ["memory.options.", NIGHT])
async def test_more_memories_than_the_bound_are_archived(
    tmp_path: Path, patch: pytest.MonkeyPatch, place: str
) -> None:
    async with _stage(tmp_path, patch, tree(place + "max_memories_per_agent", 2)) as stage:
        for category in ("semantic", "social", "procedural"):
            await stage.remember("The boat lies at pier 7.", category=category)
        await stage.wait_for_vectors()
        stage.clock.advance(days=3)
        await stage.call("sleep.run")
        assert (await stage.call("memory.count"), await stage.call("archive.count")) == (2, 1)


@shows(
    "memory.options.consolidation_interval",
    "memory.consolidation.interval",
    "memory.consolidation.enabled",
)
async def test_nights_come_at_their_interval_or_not_at_all(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    for key in ("memory.options.consolidation_interval", NIGHT + "interval"):
        async with _stage(tmp_path / key, patch, tree(key, "weekly")) as stage:
            assert (await stage.call("sleep.status"))["interval"] == "weekly"
    async with _stage(tmp_path / "off", patch, tree(NIGHT + "enabled", False)) as stage:
        assert (await stage.call("sleep.status"))["enabled"] is False


@shows("memory.consolidation.group_threshold")
async def test_fewer_memories_than_a_group_are_left_alone(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    assert await _slept(tmp_path / "3", patch)
    assert not await _slept(tmp_path / "9", patch, tree(NIGHT + "group_threshold", 9))


@shows(
    "memory.consolidation.strategy",
    "memory.consolidation.archival.dual_mode.enabled",
    "memory.consolidation.archival.dual_mode.dense_threshold",
    "memory.consolidation.archival.dual_mode.max_facts",
    "memory.consolidation.archival.dual_mode.anchor_length",
)
async def test_two_modes_shorten_as_they_are_told(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    simple = await _slept(tmp_path / "simple", patch)
    one = await _slept(tmp_path / "one", patch, tree(NIGHT + "strategy", "dual_mode"))
    other = await _slept(tmp_path / "other", patch, tree(DUAL + "enabled", True))
    assert "Consolidated episodic memories" in simple
    assert "---" in one
    assert "---" in other

    dense = (tree(DUAL + "enabled", True), tree(DUAL + "dense_threshold", 0.0))
    sparse = (tree(DUAL + "enabled", True), tree(DUAL + "dense_threshold", 1.0))
    extracted = await _slept(tmp_path / "dense", patch, *dense)
    assert "[Extractive preservation]" in extracted
    assert "[Extractive preservation]" not in await _slept(tmp_path / "sparse", patch, *sparse)
    few = await _slept(tmp_path / "few", patch, *dense, tree(DUAL + "max_facts", 1))
    short = await _slept(tmp_path / "short", patch, *dense, tree(DUAL + "anchor_length", 50))
    assert few.count("\\n- ") < extracted.count("\\n- ")
    assert "[MID]" in short
    assert short.count("[MID]") > extracted.count("[MID]")


@shows("memory.consolidation.archival.age_threshold_days")
async def test_what_was_consolidated_is_archived_for_good_when_it_is_old(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    steps = {}
    for days in (10, 90):
        settings = tree(NIGHT + "archival.age_threshold_days", days)
        async with _stage(tmp_path / str(days), patch, settings) as stage:
            await stage.remember("The first.", *DENSE, category="episodic", session_id="s1")
            await stage.wait_for_vectors()
            stage.clock.advance(days=3)
            await stage.call("sleep.run")
            await stage.wait_for_vectors()
            stage.clock.advance(days=11)
            report = await stage.call("sleep.run")
            steps[days] = [each["name"] for each in report["steps"] if each["rows"]]
    assert "ageing" in steps[10]
    assert "ageing" not in steps[90]


@shows("memory.consolidation.compression_threshold", "memory.consolidation.compression_sessions")
async def test_the_oldest_sessions_are_compressed_when_there_are_many(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    async def compressed(**config: int) -> int:
        home = tmp_path / "-".join(map(str, [*config.values(), "x"]))
        trees = [tree(NIGHT + key, value) for key, value in config.items()]
        async with _stage(home, patch, *trees) as stage:
            for number in range(4):
                for text in ("went well", "was slow"):
                    sentence = f"The deploy {number} {text}."
                    await stage.remember(sentence, category="episodic", session_id=f"s{number}")
                stage.clock.advance(days=1)
            await stage.wait_for_vectors()
            stage.clock.advance(days=3)
            await stage.call("sleep.compress")
            return int(await stage.call("archive.count"))

    assert await compressed(compression_threshold=10) == 0
    assert await compressed(compression_threshold=2) > 0
    one = await compressed(compression_threshold=3, compression_sessions=1)
    three = await compressed(compression_threshold=3, compression_sessions=3)
    assert 0 < one < three


@shows(
    "memory.consolidation.wiki_export.export_root",
    "memory.consolidation.wiki_export.include_raw_tier",
    "memory.consolidation.wiki_export.include_compressed_tier",
    "memory.consolidation.wiki_export.max_entries_per_view",
    "memory.consolidation.wiki_export.enabled",
)
async def test_the_wiki_has_the_tiers_and_the_place_it_is_given(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    async def written(name: str, **config: Any) -> list[str]:
        root = tmp_path / f"{name} wiki"
        settings = [tree(NIGHT + "wiki_export." + key, value) for key, value in config.items()]
        where = tree(NIGHT + "wiki_export.export_root", str(root))
        async with _stage(tmp_path / name, patch, where, *settings) as stage:
            await stage.remember("The first.", *DENSE, category="episodic", session_id="s1")
            await stage.wait_for_vectors()
            stage.clock.advance(days=3)
            await stage.call("sleep.run")
            if config.get("enabled") is False:
                with pytest.raises(InvalidStateError, match="enabled is false"):
                    await stage.call("wiki.export")
            else:
                await stage.call("wiki.export")
        return [str(path.relative_to(root)) for path in root.rglob("*.md")]

    def tier(files: list[str], name: str) -> int:
        return sum(f"{name}/" in file for file in files)

    whole = await written("whole")
    assert tier(whole, "raw") > 1
    assert tier(whole, "wiki") >= 1
    assert tier(await written("no raw", include_raw_tier=False), "raw") == 0
    assert tier(await written("no wiki", include_compressed_tier=False), "wiki") == 0
    assert tier(await written("one", max_entries_per_view=1), "raw") == 1
    assert await written("off", enabled=False) == []


@shows("memory.consolidation.wiki_export.trigger")
async def test_the_wiki_is_written_after_a_night_when_it_is_to_be(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    for trigger in ("manual", "on_consolidation"):
        root = tmp_path / trigger
        wiki = {"enabled": True, "trigger": trigger, "export_root": str(root)}
        async with _stage(
            tmp_path / f"home {trigger}", patch, tree(NIGHT + "wiki_export", wiki)
        ) as (stage):
            await stage.remember("The first.", *DENSE, category="episodic", session_id="s1")
            await stage.wait_for_vectors()
            stage.clock.advance(days=3)
            await stage.call("sleep.run")
            for _ in range(400):
                if root.exists():
                    break
                await asyncio.sleep(0.005 if trigger == "on_consolidation" else 0)
        assert root.exists() is (trigger == "on_consolidation")


@shows("org_memory.core_policies", "org_memory.extended_store.max_retrieved_per_query")
async def test_policies_and_the_number_of_facts_are_those_of_the_settings(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    settings = tree("org_memory.core_policies", ["Every change is reviewed."])
    bound = tree("org_memory.extended_store.max_retrieved_per_query", 2)
    async with _stage(tmp_path, patch, settings, bound) as stage:
        policies = await stage.call("org.policies")
        added = await stage.call(
            "client.add", name="lead", agent_id="lead", seniority="lead", scopes=["read", "write"]
        )
        async with AsyncClient(stage.paths.socket, key=Path(added["key_file"])) as lead:
            for number in range(4):
                text = f"We deploy service {number} with blue and green."
                await lead.call("org.write", {"content": text, "category": "adr"})
            facts = await lead.call("org.query", {"context": "how do we deploy"})
    assert [each["content"] for each in policies] == ["Every change is reviewed."]
    assert len(facts) == 2


@shows("org_memory.write_access.rules.allowed_seniority", "org_memory.read_access")
async def test_who_may_write_and_read_which_facts_is_for_the_settings_to_say(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    rules = {
        "adr": {"allowed_seniority": "junior"},
        "convention": {"allowed_seniority": "junior", "human_allowed": False},
        "procedure": {"allowed_seniority": "vp"},
    }
    written = tree("org_memory.write_access.rules", rules)
    read = tree("org_memory.read_access", {"adr": "lead"})
    async with _stage(tmp_path, patch, written, read) as stage:
        added = await stage.call(
            "client.add", name="j", agent_id="j", seniority="junior", scopes=["read", "write"]
        )
        async with AsyncClient(stage.paths.socket, key=Path(added["key_file"])) as junior:
            fact = {"content": "We deploy with blue and green.", "category": "adr"}
            fact_id = await junior.call("org.write", fact)
            with pytest.raises(OrgMemoryAccessDeniedError):
                await junior.call("org.write", {**fact, "category": "procedure"})
            assert await junior.call("org.get", {"fact_id": fact_id}) is None


@shows("usage.threshold_pct", "usage.max_tokens")
async def test_a_window_is_full_when_the_settings_say_so(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    async def fill(**config: Any) -> Any:
        trees = [tree("usage." + key, value) for key, value in config.items()]
        home = tmp_path / "-".join(map(str, config.values()))
        async with _stage(home, patch, *trees) as stage:
            full = await stage.call("sleep.should_consolidate", current_tokens=6_000)
            window = await stage.call(
                "usage.report", source="codex", session_id="s", used_tokens=6_000
            )
            return full, window

    assert (await fill(max_tokens=30_000))[0] is False
    assert (await fill(max_tokens=7_000))[0] is True
    assert (await fill(max_tokens=7_001, threshold_pct=0.9))[0] is False


@shows("usage.path")
async def test_usage_is_read_where_the_settings_say(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "usages"
    folder.mkdir()
    async with _stage(tmp_path / "home", patch, tree("usage.path", str(folder))) as stage:
        usage = {"source": "codex", "session_id": "s1", "used_tokens": 7, "window_tokens": 30_000}
        (folder / "s1.json").write_text(json.dumps(usage), encoding="utf-8")
        items: list[Any] = []
        for _ in range(2_000):
            items = (await stage.call("usage.list"))["items"]
            if items:
                break
            await asyncio.sleep(0.005)
    assert [each["used_tokens"] for each in items] == [7]


@shows("daemon.secrets")
async def test_a_secret_is_replaced_or_refused_or_kept(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    text = "The token is ghp_" + "a1B2c3D4e5" * 3 + "abcdef."
    for policy in ("redact", "refuse"):
        async with _stage(tmp_path / policy, patch, tree("daemon.secrets", policy)) as stage:
            if policy == "refuse":
                with pytest.raises(MemdError):
                    await stage.remember(text)
            else:
                await stage.remember(text)
            count = await stage.call("memory.count")
        assert count == (policy == "redact")


@shows("daemon.undo_days")
async def test_the_trash_keeps_as_long_as_the_settings_say(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    for days, kept in ((7, 1), (0, 0)):
        async with _stage(tmp_path / str(days), patch, tree("daemon.undo_days", days)) as stage:
            [memory_id] = await stage.remember("The boat lies at pier 7.")
            await stage.call("memory.delete", id=memory_id)
            assert len((await stage.call("trash.list"))["items"]) == kept


@shows("daemon.session_days")
async def test_the_text_of_a_session_is_kept_as_long_as_the_settings_say(
    tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    patch.setattr(file_rooms, "RHYTHM_SECONDS", 0.01)
    messages = [{"role": "user", "content": "The lamp is green."}]
    for days, kept in ((30, 0), (0, 1), (365, 1)):
        setting = tree("daemon.session_days", days)
        async with _stage(tmp_path / str(days), patch, setting) as stage:
            await stage.call("sleep.consolidate", messages=messages, session_id="old")
            stage.clock.advance(days=31)
            await stage.call("sleep.consolidate", messages=messages, session_id="new")
            items: list[Any] = []
            for _ in range(2_000):
                items = (await stage.call("session.messages", session_id="old"))["items"]
                if len(items) == kept:
                    break
                await asyncio.sleep(0.005)
            assert len(items) == kept
            hits = (await stage.call("session.search", query="green lamp"))["items"]
            assert [each["session_id"] for each in hits] == ["new"]


@shows("daemon.log_level")
def test_the_log_holds_what_its_level_lets_through(tmp_path: Path) -> None:
    for level, says in (("info", True), ("error", False)):
        home = tmp_path / level
        home.mkdir()
        with spawned(home, {"MEMD_DAEMON__LOG_LEVEL": level}) as daemon:
            daemon.stop()
        assert ("ready" in daemon.log.read_text("utf-8")) is says


@shows("daemon.log_file", "daemon.log_file_bytes", "daemon.log_files_kept")
def test_a_log_file_is_cut_off_and_holds_no_text_of_a_memory(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    variables = {
        "MEMD_DAEMON__LOG_LEVEL": "debug",
        "MEMD_DAEMON__LOG_FILE": str(folder / "memd.log"),
        "MEMD_DAEMON__LOG_FILE_BYTES": "10000",
        "MEMD_DAEMON__LOG_FILES_KEPT": "2",
    }
    home = tmp_path / "home"
    home.mkdir()
    sentence = "The zebrafish Ferdinand must always be fed at noon."
    with spawned(home, variables) as daemon:
        with daemon.client() as client:
            memory_id = client.add(sentence)
            client.ingest(sentence, speaker="user", session_id="s")
            client.recall("When is Ferdinand fed?")
            client.call(
                "inject.prepare", {"query": sentence, "token_budget": 500, "session_id": "s"}
            )
            messages = [{"role": "user", "content": f"{sentence} {n}"} for n in range(6)]
            client.call("sleep.consolidate", {"messages": messages, "session_id": "s"})
            client.call("sleep.run")
            client.call("session.end", {"session_id": "s"})
            client.call("memory.update", {"id": memory_id, "content": sentence + " Twice."})
            client.call("memory.forget", {"ids": [memory_id]})
            with pytest.raises(MemdError):
                client.call("memory.update", {"id": sentence, "content": sentence})
            for _ in range(200):
                client.call("memory.count")
        daemon.stop()
    written = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert written.keys() == {"memd.log", "memd.log.1", "memd.log.2"}
    assert all(len(text) <= 10_000 for text in written.values())
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    assert "method=memory.count" in written["memd.log"]
    assert "event=ready" not in daemon.log.read_text("utf-8")
    everything = "".join(written.values()) + daemon.log.read_text("utf-8")
    assert not [word for word in ("Ferdinand", "zebrafish", "noon") if word in everything]


def test_a_log_file_that_cannot_be_written_is_told_and_nothing_starts(tmp_path: Path) -> None:
    for file in (str(tmp_path / "nowhere" / "memd.log"), "memd.log"):
        done = forked.run(["serve"], env=environment(tmp_path) | {"MEMD_DAEMON__LOG_FILE": file})
        assert done.returncode == 78
        assert f"daemon.log_file = {file!r} cannot be used" in done.stderr


@shows("records.retention_days")
@pytest.mark.parametrize(("days", "left"), [({}, 1), ({"messages": 60}, 1), ({"messages": 30}, 0)])
async def test_records_are_kept_for_so_many_days(
    tmp_path: Path, patch: pytest.MonkeyPatch, days: dict[str, int], left: int
) -> None:
    async with _stage(tmp_path, patch, tree("records.retention_days", days)) as stage:
        moment = stage.clock.now.isoformat()
        message = {**EXAMPLES["messages"], "timestamp": moment}
        await stage.call("records.messages.save", record=message)
        stage.clock.advance(days=45)
        await stage.call("sleep.run")
        assert await stage.call("records.messages.count") == {"count": left}
