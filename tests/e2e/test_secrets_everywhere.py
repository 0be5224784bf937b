"""A secret in every field of every writing method, and not a byte of it anywhere (P16, H61-H68).

Over the real daemon; the methods and their fields are found in the table, none is named here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.canaries import asking, bytes_below, outcome, planted, writing
from support.daemon import spawned

from memd.base.errors import MemdError
from memd.client import Client

# Put together here, so that this file holds none.
MARKS = {
    "AKIA" + "QZ7XJ4WKPM2LVN3T": "{}",
    "ghp_" + "n7Kq2ZxW9rTb4LmVs8YcJd3Hf6PgQaEuXo1i": "{}",
    "sk-ant-" + "api03-q8Zr2LmVs8YcJd3Hf6PgQaEuXo1": "{}",
    "xoxb-" + "738291047712-kqZrLmVsYcJd": "{}",
    "AIza" + "SyQ8zR2LmVs8YcJd3Hf6PgQaEuXo1iKw7": "{}",
    "hunter2-" + "Zq9wKx": "postgres://ann:{}@db.example/x",
}
AWS = next(iter(MARKS))
ALL = " ".join(form.format(mark) for mark, form in MARKS.items())
TOOK_IT = (
    "agent.set", "client.add", "graph.add", "inject.call", "inject.file", "learn.outcome",
    "learn.success", "memory.ingest", "memory.ingest_many", "memory.store", "memory.update",
    "org.propose", "preference.set", "session.start", "shared.publish", "sleep.consolidate",
    "store.import", "usage.report",
)  # fmt: skip
"""Methods of which at least one call with a secret in it goes through when it is replaced."""


@pytest.mark.parametrize("policy", ["redact", "refuse"])
def test_no_byte_of_a_listed_form_is_at_rest(tmp_path: Path, policy: str) -> None:
    """In the database, its log, the audit, wiki, copies, the daemon's own log."""
    home = tmp_path / "home"
    home.mkdir()
    more = {"MEMD_DAEMON__SECRETS": policy, "MEMD_DAEMON__LOG_LEVEL": "debug"}
    became: dict[str, list[str]] = {}
    with spawned(home, more) as daemon:
        with daemon.client(timeout=60.0) as client:
            for text in (ALL, AWS):
                for name, kinds in _planted(client, tmp_path, text).items():
                    became[name] = became.get(name, []) + kinds
                for method, params in asking(lambda _, text=text: text):  # type: ignore[misc]  # bound now
                    outcome(client, method, params)
            with daemon.client() as stranger:
                outcome(stranger, "system.hello", {"client": ALL, "client_key": ALL})
            for method in ("sleep.run", "store.backup", "wiki.export"):
                assert outcome(client, method, {}) == "done"
            assert _holding(tmp_path) == []
        assert daemon.stop() == 0
    assert _holding(tmp_path) == []
    assert set(became) == set(writing())
    assert all(became.values())
    if policy == "redact":
        assert {name: became[name] for name in TOOK_IT if "done" not in became[name]} == {}
    else:
        assert "secret_refused" in {kind for kinds in became.values() for kind in kinds}
        assert "done" not in became["memory.store"] + became["preference.set"]


def test_what_is_kept_is_found_and_no_answer_has_it(tmp_path: Path) -> None:
    """``keep``: the store holds it; recall, prompt, file, page and every list replace it."""
    home = tmp_path / "home"
    home.mkdir()
    with spawned(home, {"MEMD_DAEMON__SECRETS": "keep"}) as daemon:
        with daemon.client(timeout=60.0) as client:
            became = _planted(client, tmp_path, ALL)
            assert "done" in became["memory.store"]
            client.call("memory.store", {"content": f"The bees' key is {ALL}.",
                                         "category": "semantic"})  # fmt: skip
            client.call("learn.success", {"description": f"Use {ALL}", "tools": ["bees"]})
            client.call("wiki.export", {"agent_id": "default"})
            answers = "".join(
                json.dumps(_asked(client, method, params))
                for text in ("the key of the bees", ALL, "AKIA")
                for method, params in asking(lambda _, text=text: text)  # type: ignore[misc]  # bound now
            )
        pages = b"".join(held for path, held in bytes_below(home) if path.suffix == ".md")
        assert daemon.stop() == 0
    assert [mark for mark in MARKS if mark in answers] == []
    assert [mark for mark in MARKS if mark.encode() in pages] == []
    assert "[secret:aws-key#1]" in answers
    assert b"[secret:aws-key#1]" in pages
    assert AWS in _holding(home)


def _planted(client: Client, tmp_path: Path, text: str) -> dict[str, list[str]]:
    memory_id = client.call("memory.store", {"content": "Ann sails.", "category": "semantic"})
    return planted(client, lambda _: text, {"memory": memory_id, "folder": str(tmp_path)})


def _asked(client: Client, method: str, params: dict[str, Any]) -> Any:

    try:
        return client.call(method, params)
    except MemdError as error:
        return f"{error.message} {error.hint}"


def _holding(folder: Path) -> list[str]:
    """Return the marks that any file below *folder* has, as they are or as words are kept."""
    return sorted(
        {
            mark
            for _, held in bytes_below(folder)
            for mark in MARKS
            if mark.encode() in held or mark.lower().encode() in held
        }
    )
