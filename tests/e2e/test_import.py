"""Notes are imported, edited and imported again, by typing commands at a real daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment, spawned, wait_until
from support.notes_folder import Desk

from memd.base.limits import FRAME_BYTES_MAX

pytestmark = pytest.mark.model

BILLING = """\
---
title: Billing service
date: 2026-03-02
tags: [work, invoices]
---

# Billing service

## Status

It sends the invoices on the first of each month.

## Decision

We use PostgreSQL 16, because the ledger needs serialisable transactions.

## Owner

Ask Priya before a schema changes.
"""

GARDEN = """\
# Garden

## Roses

They are cut back in March, above an eye that looks outwards.

## Shed

The key hangs behind the water butt.
"""


RULES = """\
# Ferrybook

## Conventions

- Package manager: npm workspaces
- Prices are integers in cents
- Branches are named after the ticket
"""


@pytest.fixture
def desk(tmp_path: Path, model_dir: Path) -> Iterator[Desk]:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon:
        yield Desk(tmp_path, daemon)


def test_a_section_answers_with_its_headings_and_no_heading_is_a_memory(desk: Desk) -> None:
    desk.write("work/billing.md", BILLING)
    desk.write("garden.md", GARDEN)

    result = desk("import", ".", "--json")
    desk.settled()

    assert (result.code, result.json["new"], result.json["failed"]) == (0, 5, 0)
    best = desk.search("which database does the billing service use?")[0]
    assert "PostgreSQL 16" in best["content"]
    assert best["content"].startswith("Billing service > Decision\n")
    every = desk("list", "--json").json["items"]
    assert len(every) == 5
    assert all("\n" in item["content"] for item in every), "no bare heading"


def test_front_matter_dates_and_tags_and_is_no_memory(desk: Desk) -> None:
    desk.write("billing.md", BILLING)
    desk.write("2026-11-21.md", "Saw a heron at the lake.")
    desk.write("broken.md", "---\ntitle: a: b\n---\nThe well is deep.")

    result = desk("import", ".", "--tag", "notes")

    assert result.code == 0
    assert "broken.md: its front matter cannot be read (line 2" in result.err
    every = {item["content"]: item for item in desk("list", "--json").json["items"]}
    assert not any("---" in content or "tags:" in content for content in every)
    decision = next(item for content, item in every.items() if "PostgreSQL" in content)
    assert decision["metadata"]["tags"] == ["work", "invoices", "notes"]
    assert decision["occurred_at"].startswith("2026-03-02")
    heron = next(item for content, item in every.items() if "heron" in content)
    assert heron["occurred_at"].startswith("2026-11-21")


def test_what_its_owner_edits_by_hand_is_no_assistant_s(desk: Desk) -> None:
    desk.write("boat.md", "The dinghy is called Ida.")
    desk("import", "boat.md")
    [note] = desk("list", "--json").json["items"]
    edited = desk("edit", note["id"], "--text", "The dinghy is called Sigrid.", "--json")
    assert edited.json["memory"]["origin"] == "import"


def test_an_edited_note_replaces_its_older_version_and_says_so(desk: Desk) -> None:
    path = desk.write("billing.md", BILLING)
    desk("import", "billing.md")
    before = {item["content"]: item["id"] for item in desk("list", "--json").json["items"]}
    path.write_text(BILLING.replace("PostgreSQL 16", "MariaDB 11"), "utf-8")

    foretold = desk("import", "billing.md", "--dry-run")
    result = desk("import", "billing.md")
    desk.settled()

    summary = "billing.md: new 1, replaced 1, kept 2\n"
    assert result.out.startswith(summary)
    assert foretold.out.startswith(summary)
    assert "would be" in foretold.out
    after = {item["content"]: item["id"] for item in desk("list", "--json").json["items"]}
    assert len(after) == 3
    assert sum(before.get(content) == each for content, each in after.items()) == 2
    hits = desk.search("which database does the billing service use?")
    assert "MariaDB 11" in hits[0]["content"]
    assert not any("PostgreSQL" in item["content"] for item in hits)
    (old,) = desk("archive", "search", "PostgreSQL", "--json").json["items"]
    assert old["reason"] == "superseded"
    assert desk("archive", "restore", old["entry"]["id"]).code == 0


def test_a_statement_of_a_list_is_edited_and_corrected_without_the_others(desk: Desk) -> None:
    path = desk.write("rules.md", RULES)
    assert desk("import", "rules.md").out.startswith("rules.md: new 3\n")
    desk("add", "we moved to pnpm, npm is gone")
    desk.settled()

    first, second, *_ = desk.search("which package manager do we use?")
    assert first["content"] == "we moved to pnpm, npm is gone"
    assert second["content"] == "Ferrybook > Conventions\n- Package manager: npm workspaces"

    path.write_text(RULES.replace("npm workspaces", "pnpm"), "utf-8")
    assert desk("import", "rules.md").out.startswith("rules.md: new 1, replaced 1, kept 2\n")


def test_a_section_that_was_stored_as_one_gives_way_to_its_statements(desk: Desk) -> None:
    """Before decision 0383 a list was stored with its section."""
    path = desk.write("rules.md", RULES)
    text = RULES.partition("Conventions\n\n")[2].strip()
    item = {"text": text, "heading": "Ferrybook > Conventions", "origin": "import"}
    with desk.daemon.client() as client:
        client.call("memory.replace_source", {"source": str(path), "items": [item]})

    assert desk("import", "rules.md").out.startswith("rules.md: new 3, replaced 1\n")
    assert desk("import", "rules.md").out == "files 1, kept 3\n"
    assert len(desk.memories()) == 3
    (old,) = desk("archive", "search", "npm", "--json").json["items"]
    assert old["entry"]["content"] == f"Ferrybook > Conventions\n{text}"


def projects(desk: Desk) -> dict[str, str | None]:
    return {item["content"].split("\n")[-1]: item["project_id"] for item in desk.memories()}


def test_a_note_in_a_repository_is_of_its_project_and_others_of_none(desk: Desk) -> None:
    (desk.notes / "loden/.git").mkdir(parents=True)
    desk.write("loden/CLAUDE.md", "Deploy on Thursdays with make ship.")
    desk.write("loden/web/CLAUDE.md", "The dev server is on 5174.")
    desk.write("heron.md", "Saw a heron at the lake.")

    result = desk("import", ".")

    assert "loden/CLAUDE.md (loden): new 1\n" in result.out
    assert "heron.md: new 1\n" in result.out
    loden = str(desk.notes / "loden")
    assert projects(desk) == {
        "Deploy on Thursdays with make ship.": loden,
        "The dev server is on 5174.": loden,
        "Saw a heron at the lake.": None,
    }
    assert desk("import", ".").out.startswith("files 3, kept 3")


def test_a_rule_of_another_repository_does_not_precede_the_own_one(desk: Desk) -> None:
    rules = {
        "wool": "Release on Thursdays with make ship.",
        "loden": "Release on Mondays with npm.",
    }
    for name, rule in rules.items():
        (desk.notes / name / ".git").mkdir(parents=True)
        desk.write(f"{name}/CLAUDE.md", f"# Rules\n\n## Release\n\n{rule}\n")
    desk("import", ".")
    desk.settled()

    for name, rule in rules.items():
        done = desk("search", "on which day do we release?", "--json", cwd=desk.notes / name)
        assert rule in done.json["memories"][0]["content"]


def test_a_folder_in_which_an_assistant_has_worked_is_a_project_without_git(desk: Desk) -> None:
    desk(
        "add",
        "We sing on Tuesdays.",
        "--project",
        desk.write("choir/a.txt", "Alto").parent.as_posix(),
    )

    assert "choir/a.txt (choir): new 1\n" in desk("import", "choir").out


def test_the_project_of_a_note_is_given_or_none(desk: Desk) -> None:
    (desk.notes / ".git").mkdir()
    desk.write("a.md", "The lamp is red.")

    assert desk("import", "a.md", "--no-project").out.startswith("a.md: new 1\n")
    assert desk("import", "a.md", "--dry-run").out.startswith("a.md (notes): moved 1\n")
    assert desk("import", "a.md", "--project", "hives").out.startswith("a.md (hives): moved 1\n")
    assert projects(desk) == {"The lamp is red.": "hives"}
    refusal = desk("import", "a.md", "--project", "hives", "--no-project")
    assert (refusal.code, "exclude each other" in refusal.err) == (2, True)


def test_an_import_that_is_run_again_changes_nothing(desk: Desk) -> None:
    desk.write("billing.md", BILLING)
    first = desk("import", ".", "--json").json
    again = desk("import", str(desk.notes), "--json").json

    assert (again["new"], again["kept"], again["replaced"]) == (0, first["new"], 0)


def test_a_file_that_cannot_be_read_stops_no_other(desk: Desk) -> None:
    desk.write("a.md", GARDEN)
    (desk.notes / "b.md").write_bytes(b"caf\xe9\n")
    (desk.notes / "c.md").write_bytes(b"a\0b")
    (desk.notes / ".git").mkdir()
    desk.write("d.md", BILLING)
    desk.write("e.jsonl", '{"not": "ours"}\n[')

    result = desk("import", ".")

    assert result.code == 1
    assert "memd: b.md: not UTF-8 text (line 1)" in result.err
    assert "memd: e.jsonl" in result.err
    assert "files 4, new 5, failed 2; ignored: binary 1, hidden 1" in result.out
    assert desk("import", "no-such.md").code == 1


def test_a_file_larger_than_a_frame_is_all_there_and_all_visible(
    tmp_path: Path, model_dir: Path
) -> None:
    """In a daemon without the model: that all is stored and listed waits for no vector."""
    with spawned(tmp_path) as daemon:
        _larger_than_a_frame(Desk(tmp_path, daemon))


def _larger_than_a_frame(desk: Desk) -> None:
    paragraphs = [
        f"Entry {n}: on day {n} the {thing} was moved to shelf {n * 7 % 1_000}, "
        f"and {who} wrote down why it had to be so, at some length and with care. " * 6
        for n in range(1_600)
        for thing in ("kettle", "lamp", "map", "drum")[n % 4 : n % 4 + 1]
        for who in ("Ada", "Bo", "Cem")[n % 3 : n % 3 + 1]
    ]
    text = "# Store\n\n" + "\n\n".join(paragraphs)
    assert len(text) > FRAME_BYTES_MAX
    desk.write("store.md", text)

    report = desk("import", "store.md", "--json").json
    again = desk("import", "store.md", "--json").json

    assert report["new"] >= 1_200
    assert (again["new"], again["kept"]) == (0, report["new"])
    with desk.daemon.client() as client:
        assert client.call("memory.count") == report["new"]
        page = client.call("memory.list", {"limit": 1_000})
        contents = [item["content"] for item in page["items"]]
        while page.get("next"):
            page = client.call("memory.list", {"limit": 1_000, "after": page["next"]})
            contents += [item["content"] for item in page["items"]]
    joined = " ".join(contents)
    assert all(f"Entry {n}: " in joined for n in range(1_600))


def test_an_import_that_a_kill_ended_is_completed_by_the_next(tmp_path: Path) -> None:
    """A file of several requests: until then old and new stand beside each other."""
    path = tmp_path / "log.md"
    old = "\n\n".join(f"# Day {n}\nThe {n}th entry of the old log, {n * 7}." for n in range(400))
    new = "\n\n".join(f"# Day {n}\nThe {n}th entry of the new log, {n * 9}." for n in range(2_000))
    words = ["import", str(path), "--json"]
    with spawned(tmp_path) as daemon, daemon.client() as client:
        path.write_text(old, "utf-8")
        forked.run(words, env=environment(tmp_path), check=True)
        path.write_text(new, "utf-8")
        with Path(os.devnull).open("r+b") as nothing:
            streams = (nothing.fileno(),) * 3
            importing = forked.start(words, env=environment(tmp_path), streams=streams)
        wait_until(lambda: client.call("memory.count") > 600, "the import is under way")
        daemon.process.kill()
        assert importing.wait(60) != 0
    with spawned(tmp_path) as daemon, daemon.client() as client:
        assert 600 < client.call("memory.count") < 2_400
        again = forked.run(words, env=environment(tmp_path), check=True)
        report = json.loads(again.stdout)
        assert (report["new"] + report["kept"], report["replaced"]) == (2_000, 400)
        assert report["kept"] > 0
        assert client.call("memory.count") == 2_000


def test_notes_on_a_new_computer_are_those_that_were_moved(tmp_path: Path) -> None:
    """In daemons without the model: what a file brought before is told by its text alone."""
    everything = str(tmp_path / "everything.jsonl")
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    with spawned(tmp_path / "old", {"HOME": str(tmp_path / "old")}) as daemon:
        desk = Desk(tmp_path / "old", daemon)
        desk.write("billing.md", BILLING)
        desk.write("garden.md", GARDEN)
        desk("import", ".")
        assert desk("export", everything).code == 0
    with spawned(tmp_path / "new", {"HOME": str(tmp_path / "new")}) as daemon:
        desk = Desk(tmp_path / "new", daemon)
        assert desk("import", everything).code == 0
        desk.write("billing.md", BILLING.replace("16", "17"))
        desk.write("garden.md", GARDEN)

        result = desk("import", ".")

        assert "billing.md: new 1, replaced 1, moved 2\n" in result.out
        assert "garden.md: moved 2\n" in result.out
        assert desk("import", ".").out == "files 2, kept 5\n"
        assert len(desk.memories()) == 5
        assert desk("forget", "--source", ".", "--yes").out == "erased 6 memories\n"


def test_an_export_of_one_agent_is_given_to_another(desk: Desk) -> None:
    desk("add", "The lamp is red.", "--agent", "ada", "--tag", "hall")
    desk("export", "ada.jsonl", "--agent", "ada")
    desk("export", "everything.jsonl")

    placement = ("--agent", "bo", "--tag", "old", "--namespace", "home", "--project", "hives")
    result = desk("import", "ada.jsonl", *placement)

    assert result.out.startswith("ada.jsonl: new 1\n")
    [lamp] = desk("list", "--agent", "bo", "--json").json["items"]
    assert (lamp["namespace"], lamp["project_id"]) == ("home", "hives")
    assert lamp["metadata"]["tags"] == ["hall", "old"]
    assert desk("import", "ada.jsonl", *placement).out == "files 1, kept 1\n"
    refusal = desk("import", "everything.jsonl", "--agent", "bo")
    assert refusal.code == 1
    assert "all agents: --agent, --tag, --namespace and --project do not apply" in refusal.err


def test_what_a_file_brought_is_forgotten_by_its_name(desk: Desk) -> None:
    desk.write("billing.md", BILLING)
    desk("import", ".")

    assert desk("forget", "--source", "../notes/billing.md", "--yes").out == "erased 3 memories\n"


def test_what_a_moved_folder_brought_is_forgotten_by_its_name(desk: Desk) -> None:
    for name in ("old/taxes/billing.md", "old/boat.md", "older.md"):
        desk.write(name, f"# Note\n\nThis is {name}.\n")
    desk("import", ".")

    assert desk("forget", "--source", "old/", "--yes").out == "erased 2 memories\n"
    assert "older.md" in desk("list").out


def test_a_secret_in_a_note_is_replaced_and_that_is_said(desk: Desk) -> None:
    desk.write("keys.md", "The hub's key is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8.")
    assert "keys.md: secrets were replaced" in desk("import", ".").err
