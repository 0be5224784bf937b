"""Windows of assistants outlive a restart, and a session that falls quiet gets a nap."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import apsw
import pytest
from support.clocks import HeldClock
from support.store import ADA, a_house, a_writer

from memd.backends.rooms import Rooms
from memd.base.errors import DegradedError
from memd.domain.caller import Caller
from memd.domain.ingest import IngestRequest
from memd.domain.settings.settings import Settings
from memd.signals.usage import Usage
from memd.sleep.nap.naps import Naps
from memd.sleep.window.other_sessions import NAPS_PER_CHECK, QuietSessions
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.session import windows
from memd.store.session.windows import WindowRow

if TYPE_CHECKING:
    from memd.sleep.nap.nap import Nap
    from memd.sleep.nap.source import NapRequest

CLAUDE = WindowRow(
    agent_id="ada",
    source="claude-code",
    session_id="7",
    used_tokens=162_000,
    window_tokens=200_000,
    compact_at_tokens=167_000,
    used_percent=81.0,
    model="m",
    cwd="/w",
    transcript_path="/t.jsonl",
    event="statusline",
    armed=False,
    seen_at_us=1_000,
    napped_at_us=900,
)


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Writing]:
    with a_writer(tmp_path / "memd.db") as conn:
        yield conn


def keep(conn: Writing, row: WindowRow) -> None:
    windows.put(conn, names.ensure_agent(conn, row.agent_id, 1), row)


def test_what_was_kept_is_what_is_found(conn: Writing) -> None:
    assert windows.get(conn, "ada", "claude-code", "7") is None
    keep(conn, CLAUDE)
    assert windows.get(conn, "ada", "claude-code", "7") == CLAUDE


def test_numbers_are_replaced_and_what_is_not_said_stays(conn: Writing) -> None:
    keep(conn, CLAUDE)
    keep(
        conn,
        CLAUDE._replace(
            used_tokens=None,
            event=None,
            armed=True,
            model=None,
            cwd=None,
            transcript_path=None,
            napped_at_us=None,
            seen_at_us=2_000,
        ),
    )
    assert windows.get(conn, "ada", "claude-code", "7") == CLAUDE._replace(
        used_tokens=None, event=None, armed=True, seen_at_us=2_000
    )


def test_two_sessions_and_two_assistants_do_not_disturb_each_other(conn: Writing) -> None:
    rows = [
        CLAUDE,
        CLAUDE._replace(session_id="8", seen_at_us=1_001),
        CLAUDE._replace(source="codex", agent_id="bob", seen_at_us=1_002, armed=True),
    ]
    for row in rows:
        keep(conn, row)
    assert windows.list_windows(conn) == rows[::-1]
    assert windows.list_windows(conn, "bob") == rows[2:]
    assert windows.list_windows(conn, since_us=1_001, limit=1) == rows[2:]


def test_the_same_session_of_another_agent_is_another_window(conn: Writing) -> None:
    """Nothing that is not said, above all no transcript, comes from somebody else's window."""
    theirs = CLAUDE._replace(agent_id="bob", model=None, cwd=None, transcript_path=None)
    keep(conn, CLAUDE)
    keep(conn, theirs)
    assert windows.get(conn, "ada", "claude-code", "7") == CLAUDE
    assert windows.get(conn, "bob", "claude-code", "7") == theirs
    assert windows.list_windows(conn) == [CLAUDE, theirs]


def test_a_nap_is_noted_in_its_own_window_only(conn: Writing) -> None:
    keep(conn, CLAUDE)
    keep(conn, CLAUDE._replace(agent_id="bob"))
    keep(conn, CLAUDE._replace(source="codex"))
    windows.set_napped(conn, CLAUDE._replace(source="codex"), 5_000)
    assert windows.get(conn, "ada", "claude-code", "7") == CLAUDE
    assert windows.get(conn, "bob", "claude-code", "7") == CLAUDE._replace(agent_id="bob")
    assert windows.get(conn, "ada", "codex", "7") == CLAUDE._replace(
        source="codex", napped_at_us=5_000
    )


def test_windows_of_long_ago_are_dropped(conn: Writing) -> None:
    keep(conn, CLAUDE)
    keep(conn, CLAUDE._replace(session_id="8", seen_at_us=1_001))
    assert windows.delete_idle(conn, 1_001) == 1
    assert [row.session_id for row in windows.list_windows(conn)] == ["8"]


def test_a_window_goes_with_its_agent(conn: Writing) -> None:
    keep(conn, CLAUDE)
    conn.execute("DELETE FROM agent")
    assert windows.list_windows(conn) == []


def test_the_store_itself_refuses_a_window_of_nobody(conn: Writing) -> None:
    with pytest.raises(apsw.ConstraintError):
        windows.put(conn, 99, CLAUDE)


def test_a_window_that_cannot_be_read_keeps_no_quiet_session_from_its_nap(conn: Writing) -> None:
    keep(conn, CLAUDE)
    keep(conn, CLAUDE._replace(session_id="8", napped_at_us=None))
    conn.execute("UPDATE usage_window SET cwd = CAST(x'ef' AS TEXT) WHERE session_id = '7'")
    assert [row.session_id for row in windows.list_quiet(conn, 1_000, 5)] == ["8"]
    assert [row.session_id for row in windows.list_windows(conn)] == ["8"]


def test_a_window_that_was_reported_during_a_nap_waits_for_the_next(conn: Writing) -> None:
    row = CLAUDE._replace(napped_at_us=None)
    keep(conn, row)
    keep(conn, row._replace(seen_at_us=1_005))
    windows.set_napped(conn, row, 1_010)
    (waiting,) = windows.list_quiet(conn, 2_000, 5)
    windows.set_napped(conn, waiting, 2_000)
    assert windows.list_quiet(conn, 2_000, 5) == []
    kept = windows.get(conn, *row.key)
    assert kept is not None
    assert kept.napped_at_us == 2_000


RULE = "From now on always run the linter before each commit of the heron service."


@dataclass
class Stage:
    clock: HeldClock
    naps: Naps
    quiet: QuietSessions
    home: Path
    house: Rooms

    async def say(self, path: str | None = None) -> None:
        usage = Usage(source="codex", session_id="s", event="Stop", transcript_path=path)
        await self.naps.watcher.report(ADA, usage)

    async def ingest(self, text: str) -> None:
        await self.house.ingest.ingest(ADA, IngestRequest(text=text, session_id="s"))

    def transcript(self) -> str:
        path = self.home / ".codex" / "sessions" / "s.jsonl"
        path.parent.mkdir(parents=True)
        content = [{"type": "input_text", "text": RULE}]
        params = {"type": "message", "role": "user", "content": content}
        lines = [
            {"type": "session_meta", "payload": {"id": "s"}},
            {"type": "response_item", "payload": params},
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return str(path)


@pytest.fixture
async def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setenv("HOME", str(tmp_path))
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        naps = Naps(house, Settings(), tmp_path / "usage", environ={})
        yield Stage(clock, naps, QuietSessions(house.db, clock, naps.nap), tmp_path, house)


async def contents(stage: Stage) -> list[str]:
    rows = await stage.quiet.db.read(
        lambda conn: conn.execute("SELECT content FROM memory ORDER BY memory_key").fetchall()
    )
    return [str(content) for (content,) in rows]


async def test_nothing_happens_before_an_hour_is_over(stage: Stage) -> None:
    await stage.say(stage.transcript())
    stage.clock.advance(minutes=59)
    assert await stage.quiet.nap_over_quiet() == 0
    assert await contents(stage) == []


async def test_it_is_napped_over_once_by_its_transcript_and_again_when_it_went_on(
    stage: Stage,
) -> None:
    await stage.say(stage.transcript())
    stage.clock.advance(hours=1)
    assert await stage.quiet.nap_over_quiet() == 1
    made = await contents(stage)
    assert any(RULE in text for text in made)
    assert await stage.quiet.nap_over_quiet() == 0
    stage.clock.advance(minutes=1)
    await stage.say()
    stage.clock.advance(hours=2)
    assert await stage.quiet.nap_over_quiet() == 1
    assert await contents(stage) == made


async def test_one_without_a_transcript_or_a_word_is_looked_at_once(stage: Stage) -> None:
    await stage.say(str(stage.home / "elsewhere.jsonl"))
    stage.clock.advance(hours=1)
    assert [await stage.quiet.nap_over_quiet(), await stage.quiet.nap_over_quiet()] == [1, 0]
    assert await contents(stage) == []


def turn(number: int, command: str, output: str, code: int) -> list[dict[str, Any]]:
    """One call of a shell and its result, as an assistant without a transcript adds them."""
    at = f"2026-01-01T10:{number:02}:00+00:00"
    call = {"id": f"c{number}", "function": {"name": "bash", "arguments": {"command": command}}}
    result = {"role": "tool", "tool_call_id": f"c{number}", "content": output, "exit_code": code}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call], "timestamp": at},
        {**result, "timestamp": at},
    ]


ASKED_FIRST = {
    "role": "user",
    "content": "Make the tests pass.",
    "timestamp": "2026-01-01T10:00:00Z",
}
MADE: list[dict[str, Any]] = [
    ASKED_FIRST,
    *turn(1, "uv run pytest", "collected 9 items\nKeyError: 'minor'", 1),
    *turn(2, "sed -i s/minor/units/ recon/load.py", "", 0),
    *turn(3, "uv run pytest", "collected 9 items\n9 passed", 0),
]


async def add(stage: Stage, messages: list[dict[str, Any]]) -> int:
    return await stage.naps.message_log.add(ADA, "s", messages)


async def test_messages_that_were_added_are_napped_over_with_what_their_tools_did(
    stage: Stage,
) -> None:
    assert await add(stage, MADE[:3]) == 3
    assert await add(stage, MADE) == len(MADE) - 3
    await stage.say()
    stage.clock.advance(hours=1)
    assert await stage.quiet.nap_over_quiet() == 1
    made = await contents(stage)
    assert any("Went wrong: uv run pytest failed (passes now)" in text for text in made), made
    assert "To run the tests here: uv run pytest" in made
    stored = await stage.quiet.db.read(
        lambda conn: conn.get_count("SELECT count(*) FROM session_message")
    )
    assert stored == len(MADE)  # a nap stores none of them again


async def test_a_turn_is_napped_over_once_with_the_messages_or_after_them(stage: Stage) -> None:
    wish = "From now on always run the linter before each commit of the heron service."
    later = "Never touch the migrations of the gateway, Karolina owns them."
    sessions = stage.house.sessions
    await stage.ingest("Make the tests pass.")
    stage.clock.advance(minutes=1)
    await add(stage, [*MADE, {"role": "user", "content": wish}])
    stage.clock.advance(minutes=1)
    await stage.ingest(wish)
    await stage.ingest(later)
    await stage.say()
    stage.clock.advance(hours=1)
    assert await stage.quiet.nap_over_quiet() == 1
    items, _ = await sessions.messages(ADA, "s", None, 100)
    assert [item.text for item in items][len(MADE) :] == [wish, later]


async def test_a_message_that_is_said_again_is_added_again(stage: Stage) -> None:
    again = [{**each, "timestamp": "2026-01-01T11:00:00Z"} for each in MADE[:3]]
    new = [await add(stage, messages) for messages in (MADE[:3], again, again)]
    assert new == [3, 3, 0]


NAPPED_US = 4_000_000_000_000_000


@dataclass
class FailingNap:
    """Raises *error* over sessions called "bad..." and notes the sessions of all calls."""

    db: Database
    error: Exception
    sessions: list[str | None] = field(default_factory=list)

    async def nap(self, caller: Caller, request: NapRequest) -> None:
        self.sessions.append(caller.session_id)
        if (caller.session_id or "").startswith("bad"):
            raise self.error
        on_write = request.on_write
        assert on_write is not None
        await self.db.write(caller, lambda conn: on_write(conn, NAPPED_US))


@pytest.mark.parametrize(
    ("error", "again"), [(ValueError("a bug"), []), (DegradedError("no model"), ["bad"])]
)
async def test_a_nap_that_fails_does_not_stop_the_naps_over_other_quiet_sessions(
    stage: Stage, error: Exception, again: list[str]
) -> None:
    failing = FailingNap(stage.quiet.db, error)
    quiet = replace(stage.quiet, nap=cast("Nap", failing))
    for session_id in ("good", "bad"):
        usage = Usage(source="codex", session_id=session_id, event="Stop")
        await stage.naps.watcher.report(ADA, usage)
        stage.clock.advance(minutes=1)
    stage.clock.advance(hours=1)
    await quiet.nap_over_quiet()
    assert failing.sessions == ["bad", "good"]
    failing.sessions.clear()
    await quiet.nap_over_quiet()
    assert failing.sessions == again


async def test_naps_that_fail_leave_their_places_to_other_quiet_sessions(stage: Stage) -> None:
    failing = FailingNap(stage.quiet.db, DegradedError("no model"))
    quiet = replace(stage.quiet, nap=cast("Nap", failing))
    bad = [f"bad {number}" for number in range(NAPS_PER_CHECK)]
    for session_id in ("good", *bad):
        usage = Usage(source="codex", session_id=session_id, event="Stop")
        await stage.naps.watcher.report(ADA, usage)
        stage.clock.advance(minutes=1)
    stage.clock.advance(hours=1)
    assert [await quiet.nap_over_quiet() for _ in range(3)] == [NAPS_PER_CHECK, 1, NAPS_PER_CHECK]
    assert failing.sessions == [*bad[::-1], "good", *bad[::-1]]
