"""Whose memory a connected assistant has: the person's, or its own when that is asked for."""

from __future__ import annotations

from pathlib import Path

from support import forked
from support.daemon import Spawned, environment, spawned
from support.mcp_process import pumped

SAID = "The release archives are uploaded to the Fjord bucket."
ADDED = "The nightly build runs on the host Skog."


def typed(daemon: Spawned, home: Path, *words: str, code: int = 0) -> None:
    environ = {**environment(daemon.home), "HOME": str(home)}
    done = forked.run(words, env=environ)
    assert done.returncode == code, done.stderr


def listed(daemon: Spawned, client: str) -> set[tuple[bool, str]]:
    """Return what *client* has, each with whether it is marked as an assistant's."""
    with pumped(daemon.home, "--client", client) as pump:
        items = pump.tool("memory_list")["structuredContent"]["memories"]
    lines = [one["text"].splitlines()[1] for one in items]
    return {(line.startswith("[assistant] "), line.partition(") ")[2]) for line in lines}


def test_what_a_person_or_one_assistant_adds_all_know_but_who_has_its_own(tmp_path: Path) -> None:
    home = tmp_path / "person"
    home.mkdir()
    (tmp_path / "memd").mkdir()
    with spawned(tmp_path / "memd") as daemon:
        typed(daemon, home, "connect", "codex", "--yes")
        typed(daemon, home, "connect", "gemini", "--yes")
        typed(daemon, home, "connect", "cursor", "--agent", "work", "--yes")
        typed(daemon, home, "add", SAID)
        with pumped(daemon.home, "--client", "codex") as pump:
            pump.tool("memory_add", text=ADDED)
        assert listed(daemon, "gemini") == {(False, SAID), (True, ADDED)}
        assert listed(daemon, "codex") == {(False, SAID), (True, ADDED)}
        assert listed(daemon, "cursor") == set()
        (daemon.paths.keys_dir / "cursor.key").unlink()
        typed(daemon, home, "doctor", "--fix", "--yes", code=4)  # Codex trusts no hook yet
        assert listed(daemon, "cursor") == set()


def test_another_agent_takes_effect_or_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "person"
    home.mkdir()
    (tmp_path / "memd").mkdir()
    with spawned(tmp_path / "memd") as daemon:
        typed(daemon, home, "connect", "codex", "--yes")
        typed(daemon, home, "add", SAID)
        typed(daemon, home, "connect", "codex", "--remove", "--yes")
        typed(daemon, home, "connect", "codex", "--agent", "work", "--yes", code=1)
        assert not (home / ".codex").exists()
        typed(daemon, home, "client", "revoke", "codex")
        for _ in range(2):
            typed(daemon, home, "connect", "codex", "--agent", "work", "--yes")
            assert listed(daemon, "codex") == set()
