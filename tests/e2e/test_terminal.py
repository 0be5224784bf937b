"""What a person sees on a terminal of 80 columns, and what a pipe gets."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Sequence
from pathlib import Path
from socket import socket

import pytest
from support import forked
from support.commands import Output, run
from support.daemon import Spawned, environment, wait_until
from support.desk import pending, served

from memd.cli import connection
from memd.client import Client
from memd.view.cells import width

_COLOUR = re.compile(r"\x1b\[[012]m")


class Terminal:
    """Types commands for one home."""

    def __init__(self, home: Path) -> None:
        self.environ = environment(home, {"TERM": "xterm", "TZ": "Asia/Tokyo"})

    def __call__(self, *words: str) -> Output:
        """Return what *words* show on a pseudo-terminal; stderr stands apart."""
        return self._shown(words, keyboard=False)

    def at_a_keyboard(self, *words: str) -> Output:
        """Return the same of a command that may ask, of somebody who types nothing."""
        return self._shown(words, keyboard=True)

    def _shown(self, words: Sequence[str], *, keyboard: bool) -> Output:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        with (
            os.fdopen(ours, "rb", buffering=0) as shown,
            Path(os.devnull).open("rb") as nothing,
            tempfile.TemporaryFile() as errors,
        ):
            given = theirs if keyboard else nothing.fileno()
            streams = (given, theirs, errors.fileno())
            process = forked.start(words, env=self.environ, streams=streams)
            os.close(theirs)
            written = b""
            with contextlib.suppress(OSError):  # how a closed terminal says its end
                while part := shown.read(65_536):
                    written += part
            code = process.wait(forked.TIMEOUT_S)
            errors.seek(0)
            err = errors.read().decode()
        text = _COLOUR.sub("", written.decode()).replace("\r\n", "\n")
        return Output(code, text, err)

    def piped(self, *words: str, text: str = "") -> Output:
        """Return what *words* write into a pipe, with *text* on stdin."""
        return run(words, self.environ, text)


TOKYO = "東京のサーバーは毎週月曜日に再起動されます。開発チームは金曜日にデプロイしません。" * 2


@pytest.fixture
def memd(daemon: Spawned) -> Terminal:
    return Terminal(daemon.home)


def kept(daemon: Spawned, text: str) -> str:
    with daemon.client() as client:
        return client.add(text)


@pytest.mark.parametrize(
    "line",
    ["list", "search 東京のサーバー", "trash list", "archive search", "flagged list --all",
     "org query", "org policies", "shared search", "audit show", "client list", "usage",
     "sleep --report"],
)  # fmt: skip
def test_no_list_is_wider_than_the_terminal(line: str, daemon: Spawned, memd: Terminal) -> None:
    with daemon.client() as client:
        client.add(TOKYO)
        client.call("memory.delete", {"id": client.add(f"Thrown away: {TOKYO}")})
        client.call("memory.quarantine", {"id": client.add(f"Suspicious: {TOKYO}")})
        client.call("shared.publish", {"content": TOKYO, "category": "semantic"})
        window = {"source": "claude-code", "session_id": "0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11"}
        client.call("usage.report", {**window, "used_tokens": 160_000, "window_tokens": 200_000})
    shown = memd(*line.split())
    assert shown.code == 0, shown.err
    assert all(width(each) <= 80 for each in shown.out.splitlines()), shown.out


@pytest.mark.parametrize("line", ["list", "trash list", "flagged list", "shared search"])
def test_a_list_begins_with_words_that_a_person_knows(
    line: str, daemon: Spawned, memd: Terminal
) -> None:
    with daemon.client() as client:
        client.add("The server is called heron")
        client.call("memory.delete", {"id": client.add("The server was called stork")})
        client.call("memory.quarantine", {"id": client.add("The server is called ibis")})
        client.call("shared.publish", {"content": "The server is ours", "category": "semantic"})
    shown = memd(*line.split())
    assert re.search(r"^│ The server (is|was) \S+", shown.out, re.MULTILINE), shown.out


def test_the_end_of_an_id_that_a_list_shows_is_what_every_command_takes(
    daemon: Spawned, memd: Terminal
) -> None:
    memory_id = kept(daemon, "Kingfishers nest by the weir")
    (line,) = (each for each in memd("list").out.splitlines() if "Kingfishers" in each)
    short = line.split()[6]
    assert memory_id.endswith(short)
    assert memd("get", short).out == "│ Kingfishers nest by the weir\n"
    assert memd("delete", short).code == 0
    assert memd("trash", "restore", short).code == 0


def test_a_person_reads_local_times_and_a_pipe_gets_utc(daemon: Spawned, memd: Terminal) -> None:
    memory_id = kept(daemon, "Swifts arrive in May")
    with daemon.client() as client:
        created = client.call("memory.get", {"id": memory_id})["created_at"]
    (piped,) = (each for each in memd.piped("list").out.splitlines() if memory_id in each)
    to_the_second = f"{created[:19]}Z"
    assert piped.split("\t") == [memory_id, to_the_second, "semantic", "Swifts arrive in May"]
    assert re.search(r"created_at: +\d{4}-\d\d-\d\d \d\d:\d\d JST", memd("get", memory_id).err)


# A search.


def test_a_search_shows_a_preference_only_where_it_answers(daemon: Spawned, memd: Terminal) -> None:
    kept(daemon, "The roses are cut in March")
    assert memd.piped("preference", "set", "editor", "I", "use", "Neovim").code == 0
    assert "Neovim" not in memd("search", "when", "are", "the", "roses", "cut").out
    assert "Neovim" in memd("search", "which", "editor").out
    assert "Neovim" in memd("recall", "when are the roses cut?").out


def test_a_search_shows_enough_of_a_text_to_answer(daemon: Spawned, memd: Terminal) -> None:
    answer = "User: no, the blob stays as it is, another program has begun to read it."
    asked = "In answer to: My recommendation is to drop the blob from the upload and the storage."
    kept(daemon, f"{answer}\n{asked}")
    shown = memd("search", "do we drop the blob from the upload?").out
    lines = [line.partition("│ ")[2] for line in shown.splitlines() if "│ " in line]
    assert " ".join(lines) == f"{answer} · {asked}", shown
    kept(daemon, f"{answer} {'The upload of the blob goes on and on. ' * 40}")
    shown = memd("search", "do we drop the blob from the upload?").out
    assert all(width(line) <= 80 for line in shown.splitlines())
    assert re.findall(r"^\w+ +│ ", shown, re.MULTILINE), shown
    assert not re.search(r"(^ +│ .*\n){3}", shown, re.MULTILINE), shown


def test_a_search_prints_the_likeliest_and_says_how_to_see_the_rest(
    daemon: Spawned, memd: Terminal
) -> None:
    for number in range(12):
        kept(daemon, f"The hives of the apiary {number} are painted in colour {number}")
    question = ("search", "which", "colour", "are", "the", "hives", "of", "the", "apiary")
    known = len(memd.piped(*question, "--json").json["memories"])
    shown = memd(*question)
    assert known > 8
    assert len(re.findall("^[a-z]+ +│ ", shown.out, re.MULTILINE)) == 8
    assert f"and {known - 8} less likely: --top {known} shows them" in shown.err
    more = memd(*question, "--top", str(known))
    assert len(re.findall("^[a-z]+ +│ ", more.out, re.MULTILINE)) == known


def test_a_search_that_finds_nothing_says_so(memd: Terminal) -> None:
    memd.piped("preference", "set", "editor", "I use Neovim")
    done = memd.piped("search", "zeppelin", "xylophone", "quokka")
    assert (done.code, done.out, done.err.splitlines()[0]) == (0, "", "nothing found")
    assert memd.piped("search", "zeppelin", "quokka", "--json").json["memories"] == []


def test_a_text_needs_no_quotes(memd: Terminal) -> None:
    memory_id = memd.piped("add", "The", "ferry", "leaves", "at", "nine", "--tag", "trip")
    assert memd.piped("get", memory_id.out.strip()).out == "The ferry leaves at nine\n"
    assert "The ferry leaves" in memd.piped("search", "when", "does", "the", "ferry", "leave").out
    assert "The ferry leaves" in memd.piped("recall", "when", "does", "the", "ferry", "leave").out
    assert "The ferry leaves" in memd.piped("inject", "when", "does", "the", "ferry", "leave").out


# What is erased is shown.


def test_who_is_asked_whether_to_erase_sees_what(daemon: Spawned, memd: Terminal) -> None:
    for number in range(7):
        with daemon.client() as client:
            client.ingest(f"Line {number} of the old diary says nothing", source="diary.txt")
    done = memd.piped("forget", "--source", "diary.txt", "--dry-run")
    assert done.out == "would erase 7 memories\n"
    assert [line.strip() for line in done.err.splitlines()] == [
        *(f"Line {number} of the old diary says nothing" for number in range(5)),
        "and 2 more",
    ]
    asked = memd.piped("forget", "--source", "diary.txt")
    assert asked.code == 2
    assert "Line 0 of the old diary" in asked.err
    assert "Erase 7 memories permanently?" in asked.err


def test_all_of_a_session_is_shown_and_erased_with_its_messages(
    daemon: Spawned, memd: Terminal
) -> None:
    with daemon.client() as client:
        client.ingest("The diving bell is rusty and needs paint", session_id="dive")
        messages = [{"role": "user", "content": f"The bell has seal number {n}."} for n in range(6)]
        client.call("sleep.consolidate", {"session_id": "dive", "messages": messages})
        client.ingest("The diving suit is in the shed", session_id="other")
    done = memd.piped("forget", "--session", "dive", "--dry-run")
    assert done.out == "would erase 3 memories and 6 messages of its session\n"
    assert "The diving bell is rusty" in done.err
    assert memd.piped("forget", "--session", "dive", "--yes").out.startswith("erased 3 memories")
    left = memd.piped("list").out
    assert ("diving bell" in left, "seal number" in left, "diving suit" in left) == (0, 0, 1)
    again = memd.piped("forget", "--session", "dive", "--yes")
    assert (again.code, again.err) == (1, "memd: nothing is stored of session dive\n")
    both = memd.piped("forget", "--session", "dive", "--source", "a.txt")
    assert (both.code, "exclude each other" in both.err) == (2, True)


def test_what_is_not_there_is_not_asked_about(memd: Terminal) -> None:
    missing = (
        "memd: no memory has the id nonsense\n      ids are printed by: memd search nonsense\n"
    )
    asked = memd.piped("forget", "nonsense")
    assert (asked.code, asked.err) == (1, missing)
    assert (
        memd.piped("forget", "--source", "no/such.md").err
        == "memd: no memory has the source no/such.md\n"
        "to erase an imported session: memd forget --session ID\n"
    )
    assert memd.piped("delete", "nonsense").err == missing
    for command in ("delete", "get"):
        refusal = memd.piped(command, "proc_editor").err
        assert refusal.endswith(
            "it is a preference: memd preference get editor, or delete, or set\n"
        )
    assert memd.piped("edit", "nonsense", "--text", "x").err == missing


def test_of_several_ids_the_one_that_is_unknown_is_named(daemon: Spawned, memd: Terminal) -> None:
    memory_id = kept(daemon, "The old shed is blue")
    done = memd.piped("forget", memory_id[-8:], "nonsense", "--dry-run")
    assert done.out == "would erase 1 memory\n"
    assert "no memory has the id nonsense" in done.err


# Messages speak the words of the command line.


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("search x --top 0", "--top must be at least 1"),
        ("search x --category chair", "--category must be working,"),
        ("list --category decisions", "--category must be working,"),
        ("--json status", "options follow the command: --json"),
        ("recall x --budget 0", "--budget must be at least 1, not 0"),
        ("list --limit 0", "--limit must be at least 1"),
        ("add x --category chair", "--category must be working,"),
        ("inject x --strategy magic", "--strategy must be context, tool_based or self_editing"),
        ("agent set x --level some", "--level must be persistent, project, session or none"),
        ("agent set x --retain chair=3", "--retain must be working,"),
        ("agent set x --retain 3", "--retain must be CATEGORY=DAYS, not 3"),
        ("agent set x --retention-days 0", "--retention-days must be a number of days or forever"),
        ("audit verify --anchor 3", "--anchor must be a number, a colon and 64 hex digits"),
        ("compress --sessions 0", "--sessions must be at least 1"),
        ("graph path a b --hops 9", "--hops must be at most 6"),
        ("list --after zzz", "--after is not a place in this list"),
        ("records tasks list --where colour=1", "--where colour: is unknown"),
        ("records tasks list --where colour", "--where must be FIELD=VALUE, not colour"),
        ("stats --days 0", "--days must be at least 1"),
    ],
)
def test_an_error_names_the_option_that_was_typed(line: str, message: str, memd: Terminal) -> None:
    done = memd.piped(*line.split())
    assert done.code == 2
    assert done.err.startswith(f"memd: {message}"), done.err


def test_a_secret_that_was_replaced_is_mentioned(memd: Terminal) -> None:
    key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    added = memd.piped("add", f"deploy with {key}")
    assert added.err == "1 secret was replaced by [secret:github-token#1]\n"
    edited = memd.piped("edit", added.out.strip(), "--text", f"deploy with {key} again")
    assert edited.err == "1 secret was replaced by [secret:github-token#1]\n"
    done = memd.piped("preference", "set", "token", f"use {key}")
    assert done.err.endswith("\n1 secret was replaced by [secret:github-token#1]\n")
    assert memd.piped("add", "nothing secret").err == ""


# Preferences, edit, completion.


def test_a_preference_is_set_shown_listed_and_deleted(memd: Terminal) -> None:
    done = memd.piped("preference", "set", "answers", "I", "prefer", "short", "ones")
    assert (done.code, done.err) == (0, "set answers: every prompt has it, of all projects\n")
    assert memd.piped("preference", "get", "answers").out == "I prefer short ones\n"
    rows = [line.split("\t") for line in memd.piped("preference", "list").out.splitlines()]
    assert ("I prefer short ones", "answers") in {(row[0], row[3]) for row in rows}
    done = memd.piped("preference", "delete", "answers")
    assert done.err == "deleted answers; memories that state it are in the archive\n"
    gone = memd.piped("preference", "get", "answers")
    assert (gone.code, gone.out) == (1, "")
    assert "no preference is called answers" in gone.err


def test_an_edit_keeps_the_id_and_what_was_said_before(daemon: Spawned, memd: Terminal) -> None:
    memory_id = kept(daemon, "We deploy on Tuesdays")
    done = memd.piped("edit", memory_id[-8:], "--text", "-", text="We deploy on Thursdays\n")
    assert done.code == 0
    assert memd.piped("get", memory_id).out == "We deploy on Thursdays\n"
    again = memd.piped("edit", memory_id, "--text", "We deploy on Thursdays")
    assert again.err == "nothing was changed\n"


def test_an_editor_changes_a_memory(daemon: Spawned, memd: Terminal, tmp_path: Path) -> None:
    memory_id = kept(daemon, "We deploy on Tuesdays, always")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Tuesdays/Fridays/ "$2"\nstat -c %a "$2" > "$1"\n')
    editor.chmod(0o700)
    memd.environ["EDITOR"] = f"'{editor}' {tmp_path / 'mode'}"
    done = memd.at_a_keyboard("edit", memory_id)
    assert done.code == 0, done.err
    assert memd.piped("get", memory_id).out == "We deploy on Fridays, always\n"
    assert (tmp_path / "mode").read_text() == "600\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_without_a_daemon(shell: str, tmp_path: Path) -> None:
    memd = Terminal(tmp_path)
    script = memd.piped("completion", shell)
    assert script.code == 0
    assert "_MEMD_COMPLETE" in script.out
    memd.environ["_MEMD_COMPLETE"] = "memd preference "
    offered = memd.piped()
    assert offered.code == 0
    words = [line.partition("\t")[0] for line in offered.out.splitlines()]
    assert words == ["set", "list", "get", "confirm", "delete"]
    memd.environ["_MEMD_COMPLETE"] = "memd search dentist --t"
    words = [line.partition("\t")[0] for line in memd.piped().out.splitlines()]
    assert words == ["--top", "--tag", "--turns"]


def test_bash_takes_the_script_and_completes_a_command(tmp_path: Path) -> None:
    memd = Terminal(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "memd").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memd "$@"\n')
    (folder / "memd").chmod(0o700)
    line = (
        'eval "$(memd completion bash)"; COMP_WORDS=(memd pref); COMP_CWORD=1; '
        '_memd_completion memd; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", line],
        env={**memd.environ, "PATH": f"{folder}:{memd.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("preference\n", "")


# Long work is waited for.


def test_a_client_without_a_timeout_waits_for_as_long_as_the_daemon_works(daemon: Spawned) -> None:
    with Client(daemon.paths.socket, timeout=None) as client:
        assert client.call("system.hello")
    assert connection.LONG_SECONDS_MAX is None


def test_who_interrupts_a_command_cancels_what_it_asked_for(
    daemon: Spawned, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    with daemon.client() as client:
        client.call("system.hello")
        assert client._sock is not None
        sock: socket = client._sock

        class Interrupted:
            """The connection of somebody who presses Ctrl-C while he waits."""

            def sendall(self, frame: bytes) -> None:
                heard.append(frame)
                sock.sendall(frame)

            def recv(self, _: int) -> bytes:
                raise KeyboardInterrupt

            def __getattr__(self, name: str) -> object:
                return getattr(sock, name)

        monkeypatch.setattr(client, "_sock", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            client.call("store.check")
    asked, cancelled = (json.loads(frame) for frame in heard)
    assert cancelled["method"] == "$/cancelRequest"
    assert cancelled["params"] == {"id": asked["id"]}


# A night can be seen on the first day.


@pytest.mark.model
def test_a_night_of_later_is_rehearsed_on_the_first_day_and_changes_nothing(
    tmp_path: Path, model_dir: Path
) -> None:
    with served(tmp_path, model_dir) as daemon, daemon.client() as client:
        memd = Terminal(tmp_path)
        for number in range(40):
            client.add(f"On day {number} we spoke of the harbour crane and of its {number} ropes")
        wait_until(lambda: pending(client) == 0, "every memory has its vector")
        today = memd.piped("sleep", "--dry-run")
        assert "left alone are memories younger than a day" in today.out
        assert "memd sleep --dry-run --in 30" in today.err
        later = memd.piped("sleep", "--dry-run", "--in", "30", "--json").json
        assert [step["name"] for step in later["steps"]] == ["consolidation"]
        assert later["steps"][0]["rows"] > 0
        assert client.call("memory.count") == 40
        assert memd.piped("sleep", "--now", "--in", "3").code == 2
