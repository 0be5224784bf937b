"""What a person types, against the real daemon with the real model."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from support import commands
from support.commands import Memd
from support.daemon import ROOT, Spawned, environment
from support.desk import served

from memd.client import Client

pytestmark = pytest.mark.model


@pytest.fixture
def memd(daemon: Spawned, model_dir: Path) -> Memd:
    return partial(commands.memd, daemon.home, MEMD_MODEL_DIR=str(model_dir))


def test_what_was_added_is_found_and_can_be_looked_at(memd: Memd) -> None:
    added = memd(
        "add", "The staging server is called heron and stands in Frankfurt", "--tag", "ops"
    )
    assert added.code == 0
    memory_id = added.out.strip()
    answer = memd("search", "where does the staging server stand?", "--json").json
    assert answer["memories"][0]["id"] == memory_id
    plain = memd("search", "where does the staging server stand?")
    assert re.match(r"likely +The staging server", plain.out)
    got = memd("get", memory_id)
    assert got.out == "The staging server is called heron and stands in Frankfurt\n"
    assert "tags:" in got.err
    assert memd("get", memory_id, "--json").json["memory"]["metadata"]["tags"] == ["ops"]


def test_recall_prints_the_block_for_a_prompt(memd: Memd) -> None:
    memd("add", "Invoices are sent on the first Monday of a month")
    shown = memd("recall", "when are invoices sent?").out
    assert shown.startswith("<memory>\n")
    assert shown.endswith("</memory>\n")
    assert "first Monday" in shown


def test_a_text_may_come_from_standard_input(memd: Memd) -> None:
    memory_id = memd("add", "-", text="The build takes\nnine minutes\n").out.strip()
    assert memd("get", memory_id).out == "The build takes\nnine minutes\n"


def test_a_remembered_escape_sequence_never_reaches_the_terminal(memd: Memd) -> None:
    memory_id = memd("add", "red \x1b[31malert\x1b[0m about the harbour crane").out.strip()
    assert "\x1b" not in memd("get", memory_id).out
    assert "\x1b" not in memd("search", "alert about the harbour crane").out
    assert "\x1b[31m" in memd("get", memory_id, "--json").json["memory"]["content"]


def test_a_list_and_a_search_are_narrowed_by_words_of_time(memd: Memd) -> None:
    memd("add", "The heron nests by the weir", "--agent", "birds")

    def hers(*words: str) -> bool:
        return "heron" in memd(*words, "--agent", "birds").out

    assert hers("list", "--since", "yesterday")
    assert not hers("list", "--until", "gestern")
    for command in ("search", "recall"):
        assert hers(command, "Where does the heron nest?", "--since", "3 days ago")
        assert not hers(command, "Where does the heron nest?", "--until", "la semaine dernière")

    refused = memd("list", "--since", "a while")
    assert refused.code == 2
    assert "--since must be a time" in refused.err
    assert "last week" in refused.err
    crossed = memd("list", "--since", "yesterday", "--until", "last year")
    assert "--since must be before --until" in crossed.err


def test_what_is_deleted_waits_in_the_trash_and_comes_back(memd: Memd) -> None:
    memory_id = memd("add", "The printer on the second floor jams").out.strip()
    assert memd("delete", memory_id).out == f"{memory_id}\n"
    assert memd("get", memory_id).code == 1
    assert memory_id in memd("trash", "list").out
    assert memd("trash", "restore", memory_id).code == 0
    assert memd("get", memory_id).code == 0
    assert memd("trash", "restore", memory_id).code == 1


def test_nothing_is_forgotten_without_a_yes(memd: Memd) -> None:
    memory_id = memd("add", "The cellar key hangs behind the clock").out.strip()
    refused = memd("forget", memory_id)
    assert (refused.code, refused.out) == (2, "")
    assert "--yes" in refused.err
    assert memd("forget", memory_id, "--dry-run").out == "would erase 1 memory\n"
    assert memd("get", memory_id).code == 0
    assert memd("forget", memory_id, "--yes").out == "erased 1 memory\n"
    assert memd("get", memory_id).code == 1
    assert memory_id not in memd("trash", "list").out


def test_a_text_that_is_added_again_is_one_memory(memd: Memd) -> None:
    for text in ("The bin is emptied on Mondays", "In this repo always rebase", "I prefer Vim"):
        first = memd("add", text, "--project", "/home/ada/bins")
        again = memd("add", text, "--project", "/home/ada/bins")
        assert (again.out, again.err) == (first.out, "known already\n")
    others = [["--project", "/home/ada/else"], ["--tag", "home"], ["--speaker", "Ann"]]
    ids = {memd("add", "The bin is emptied on Mondays", *other).out for other in others}
    assert len(ids) == len(others)
    assert memd("add", "The bin is emptied on Mondays", "--json").json["id"] not in ids


def test_a_text_that_two_add_at_once_is_one_memory(memd: Memd, client: Client) -> None:
    for number in range(8):
        text = f"Bin {number} is emptied on Fridays"
        with ThreadPoolExecutor(2) as both:
            first, second = both.map(memd, ("add", "add"), (text, text))
        assert first.out == second.out
        assert "known already\n" in {first.err, second.err}
        assert [m["content"] for m in client.search(text) if m["content"] == text] == [text]


def test_forget_wants_to_know_what(memd: Memd) -> None:
    assert memd("forget", "--yes").code == 2


def test_an_export_can_be_imported_elsewhere_and_here_it_is_known(
    memd: Memd, tmp_path: Path, model_dir: Path
) -> None:
    memd("add", "The archive is on the blue disk")
    file = tmp_path / "all.jsonl"
    assert memd("export", str(file), "--agent", "default").code == 0
    assert file.stat().st_mode & 0o077 == 0
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert lines[0] == {"memd": "export", "v": 1}
    here = memd("import", str(file), "--json").json
    assert (here["new"], here["kept"]) == (0, len(lines) - 1)
    with served(tmp_path, model_dir):
        there = partial(commands.memd, tmp_path)
        assert there("import", str(file), "--json").json["new"] == len(lines) - 1
        copy = [json.loads(line) for line in there("export", "--agent", "default").out.splitlines()]
        contents = [{line["content"] for line in each[1:]} for each in (lines, copy)]
        assert contents[0] == contents[1]


def test_an_import_tells_what_it_skipped_and_reads_every_line_end_that_a_text_holds(
    memd: Memd, tmp_path: Path
) -> None:
    text = "Chapter one\u2028chapter two\x85and the end"
    memd("add", "The index is on the red disk")
    entry = {"content": text, "category": "semantic"}
    memd("export", str(tmp_path / "all.jsonl"), "--agent", "default")
    exported = (tmp_path / "all.jsonl").read_text("utf-8").split("\n")
    known = json.loads(next(line for line in exported if "red disk" in line))
    lines = [{"memd": "export", "v": 1}, known, {**known, **entry, "id": "0" * 36}]
    file = tmp_path / "some.jsonl"
    file.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in lines), "utf-8")
    memd("forget", str(known["id"]), "--yes")
    answer = memd("import", str(file), "--json").json
    assert (answer["new"], answer["skipped"]) == (1, 1)
    assert "files 1, kept 1, skipped 1\n" in memd("import", str(file)).out


def test_a_list_begins_with_the_newest_to_the_second_also_within_one_answer(memd: Memd) -> None:
    for text in ("The heron nests in March.", "The egret nests in April."):
        memd("add", text, "--tag", "nests")
    lines = [line.split("\t") for line in memd("list", "--tag", "nests").out.splitlines()]
    assert [line[3] for line in lines] == ["The egret nests in April.", "The heron nests in March."]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line[1]) for line in lines)


def test_a_list_says_how_to_go_on(memd: Memd) -> None:
    for number in range(4):
        memd("add", f"Entry number {number} of the book", "--agent", "guests", "--tag", "a book")
        memd("add", f"Entry number {number} of the ledger", "--agent", "guests")
    words = ["list", "-n", "2", "--agent", "guests", "-t", "a book", "--since", "3 days ago"]
    contents = []
    for _ in range(2):
        page = memd(*words)
        contents += [line.split("\t")[3] for line in page.out.splitlines()]
        words = shlex.split(page.err.strip().removeprefix("next page: memd "))
    assert contents == [f"Entry number {number} of the book" for number in (3, 2, 1, 0)]


def test_the_next_page_of_a_list_has_the_same_times(memd: Memd) -> None:
    """A time that is relative to now would be another one by then."""
    for number in range(2):
        memd("add", f"Entry number {number} of the diary", "--agent", "diarist")
    times = ("--since", "3 days ago", "--until", "tomorrow")
    page = memd("list", "-n", "1", "--agent", "diarist", *times)
    words = shlex.split(page.err.strip().removeprefix("next page: memd "))
    since, until = (datetime.fromisoformat(words[words.index(name) + 1]) for name in times[::2])
    assert timedelta(days=2) < until - since < timedelta(days=5)
    assert "Entry number 0" in memd(*words).out


def test_the_audit_says_how_to_go_on(memd: Memd) -> None:
    for number in range(3):
        memd("add", f"The lock turns {number} times", "--agent", "keeper")
    page = memd("audit", "show", "--method", "memory.store", "-n", "2")
    words = shlex.split(page.err.strip().removeprefix("next page: memd "))
    following = memd(*words, "--json").json["items"]
    assert {item["method"] for item in following} == {"memory.store"}
    assert len(following) <= 2


def test_the_file_is_checked_mended_and_copied(memd: Memd, tmp_path: Path) -> None:
    memd("add", "The file is looked after")
    assert memd("check", "--json").json["ok"] is True
    assert memd("rebuild").code == 0
    target = tmp_path / "copy.db"
    assert memd("backup", str(target)).out == f"{target}\n"
    assert target.stat().st_size > 0
    assert Path(memd("backup").out.strip()).is_file()


def test_status_is_ok_and_says_the_version(memd: Memd) -> None:
    status = memd("status", "--json").json
    assert status["status"] == "ok"
    assert memd("version").out == f"memd {status['version']}\n"
    assert memd("status").code == 0


def test_the_status_is_told_in_words_with_units(memd: Memd) -> None:
    lines = memd("status").out.splitlines()
    names = [line.partition(":")[0] for line in lines]
    assert names.index("memories") < names.index("pid")
    assert "fingerprint" not in "".join(names)
    values = {line.partition(":")[0]: line.partition(":")[2].split() for line in lines}
    assert values["status"] == ["ok"]
    assert values["rss"][1] == "MB"
    assert values["uptime"][1] == "s"
    assert Path(values["database"][0]).name == "memd.db"
    assert "why" not in values  # it is ok
    assert values["  installed"] == ["yes"]
    assert values["check"][:2] == ["no", "damage;"]
    assert values["memories"][1:] == ["in", "all", "states"]
    assert all(values[name] or name in {"model", "  reranker", "records"} for name in values)


def test_the_audit_is_told_in_words(memd: Memd) -> None:
    memd("add", "The audit sees this.")
    shown = memd("audit", "show", "--method", "memory.store", "-n", "1")
    seq, _, client, method, outcome, rows = shown.out.splitlines()[0].split("\t")
    assert int(seq) > 0
    assert (client, method, outcome) == ("operator", "memory.store", "done")
    assert int(rows) > 0

    values = dict(line.split(":", 1) for line in memd("audit", "verify").out.splitlines())
    assert list(values) == ["rows", "head", "notes", "problems"]
    assert int(values["rows"].replace(",", "")) >= int(seq)
    assert values["problems"].strip() == "none"


def test_the_settings_that_hold_are_shown(memd: Memd) -> None:
    assert memd("config", "show", "--json").json["settings"]["memory"]["level"] == "persistent"
    places = memd("config", "path", "--json").json
    assert places["socket"].endswith("memd.sock")
    assert memd("config", "path").out.strip() == places["config_file"]


def test_the_model_is_reported(memd: Memd) -> None:
    assert memd("model", "status", "--json").json["installed"] is True
    assert memd("model", "install").code == 0


def test_columns_and_colours_are_for_a_terminal_only(daemon: Spawned, memd: Memd) -> None:
    memd("add", "Colours are for people who look")
    assert "\x1b" not in memd("search", "colours for people who look").out
    environ = environment(daemon.home, {"TERM": "xterm"})
    assert "\x1b[1m" in on_a_terminal(environ, "search", "colours for people who look")
    environ["NO_COLOR"] = "1"
    assert "\x1b" not in on_a_terminal(environ, "search", "colours for people who look")


def on_a_terminal(environ: Mapping[str, str], *words: str) -> str:
    """Return what a command shows on a pseudo-terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as shown:
        process = subprocess.Popen(
            [sys.executable, "-m", "memd", *words],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
        )
        os.close(theirs)
        process.communicate(timeout=60)
        return shown.read(65_536).decode()


def test_a_reader_that_has_seen_enough_is_no_error(daemon: Spawned) -> None:
    line = f"{sys.executable} -m memd list --json | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        env=environment(daemon.home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
