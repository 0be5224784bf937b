"""Forgotten over the socket, gone from every file of the profile (P8)."""

from __future__ import annotations

from pathlib import Path

from support.daemon import spawned

from memd.signals.usage import CONSOLIDATED_SUFFIX

WORD = "Xylophanes"


def holding(home: Path, word: str) -> list[str]:
    """Return the files under *home* that hold *word*, in whatever case."""
    return [
        path.name
        for path in sorted(home.rglob("*"))
        if path.is_file() and word.lower().encode() in path.read_bytes().lower()
    ]


def test_a_word_that_is_forgotten_is_in_no_file_though_the_daemon_runs_on(tmp_path: Path) -> None:
    home = tmp_path / "h"
    home.mkdir()
    with spawned(home) as daemon, daemon.client() as client:
        kept = client.add("Ann keeps bees.", session_id="s")
        doomed = [
            client.add(f"The safe opens with {WORD}.", session_id="s"),
            client.add(f"{WORD} is what the parrot says.", session_id="s", namespace="pets"),
        ]
        client.call("memory.update", {"id": doomed[0], "content": f"It was {WORD} once."})
        client.call("memory.delete", {"id": doomed[1]})
        assert holding(home, WORD)
        beside = daemon.paths.usage_dir / f"shop-1{CONSOLIDATED_SUFFIX}"  # as a nap writes it
        beside.parent.mkdir(exist_ok=True)
        beside.write_text(f"The safe opens with {WORD}.")
        interrupted = beside.with_name(f".{beside.name}.tmp")  # as a nap that is killed leaves it
        interrupted.write_text(f"The safe opens with {WORD}.")
        answer = client.call("memory.forget", {"ids": doomed})
        assert answer["count"] == 2
        assert holding(home, WORD[:8]) == []  # its stem is gone from the index, too
        assert client.call("memory.get", {"id": kept})["content"] == "Ann keeps bees."
        assert client.call("store.check")["ok"]
        assert daemon.stop() == 0
    assert holding(home, WORD[:8]) == []
