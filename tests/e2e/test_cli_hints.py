"""What a command says beside its answer: what a text is for, what is too long, which model."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import commands
from support.commands import Memd
from support.daemon import Spawned, environment, spawned

from memd import __version__
from memd.base import errors
from memd.cli import cli, connection
from memd.cli.project import LISTED_MAX
from memd.client import Client

LONG = "The keeper counts the frames of the hive before noon. " * 300
GERMAN = "Unser Zahnarzt ist Dr. Weber und er wohnt in der Lindenstraße."
ENGLISH_ONLY = "reads English only"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home"), {"MEMD_MODEL_DIR": str(model_dir)}) as daemon:
        yield daemon


def test_a_preference_is_said_to_be_in_every_prompt(memd: Memd) -> None:
    assert "every prompt has it" in memd("add", "I prefer rye bread.").err
    assert memd("add", "The bakery opens at six.").err == ""


def test_a_directive_behind_a_statement_is_said_to_be_no_preference(memd: Memd) -> None:
    text = "In this repo SQL keywords are lower case, and never select *"
    for each in (text, "Eggs are brown. Never wash one.", "Es regnet und antworte auf Deutsch."):
        assert "stored as a fact" in memd("add", each).err
    assert memd("add", text, "--category", "semantic", "--tag", "sql").err == ""
    assert memd("add", text, "--speaker", "Ann").err == ""
    alone = memd("add", "In this repo never select *", "--project", "/home/ada/shop")
    assert "every prompt of /home/ada/shop has it" in alone.err


def test_who_adds_one_in_a_project_is_told_how_it_holds_there_alone(memd: Memd) -> None:
    added = memd("add", "Always weigh the flour.", "--project", "/home/ada/bakery")
    assert 'one for this project alone begins with "In this project"' in added.err
    alone = memd("add", "In this project always weigh the salt.", "--project", "/home/ada/bakery")
    assert "every prompt of /home/ada/bakery has it" in alone.err


@pytest.mark.parametrize(
    ("wrong_id", "hint"),
    [
        ("preference_bfe9e2381b08", "it is a preference: memd preference get"),
        ("31c41", "type the whole id, or six or more characters of its end"),
        (
            "01a22454-b13e-7000-8000-000000000000",
            "another agent may have it: memd agent list, then add --agent NAME",
        ),
        ("01a22454-b13e", "type the whole id, or six or more characters of its end"),
        ("the bakery", "ids are printed by: memd search the bakery"),
        ("31c", "type the whole id"),
    ],
)
def test_who_names_no_memory_is_told_what_it_may_be(
    memd: Memd, wrong_id: str, hint: str | None
) -> None:
    for command in ("why", "get", "delete", "forget"):
        answer = memd(command, wrong_id)
        assert answer.code != 0
        assert (hint or "no memory has the id") in answer.err
        assert ("      " in answer.err) == (hint is not None)


def test_a_text_that_no_prompt_has_room_for_is_said_to_be_long(memd: Memd) -> None:
    added = memd("add", LONG)
    assert added.code == 0
    assert "memd import FILE stores a long text in pieces" in added.err
    answer = memd("search", "who counts the frames of the hive?")
    assert answer.out == ""
    assert "too long for an answer" in answer.err
    assert "nothing found" not in answer.err


def test_who_asks_an_agent_without_memories_is_told_that_others_have_some(
    tmp_path: Path,
) -> None:
    hint = "the memories here are of other agents: memd agent list, then add --agent NAME"
    with spawned(tmp_path, {}) as daemon:
        assert hint not in commands.memd(daemon.home, "list").err
        commands.memd(daemon.home, "add", "The lake is cold.", "--agent", "tom")
        for words in (("list",), ("search", "how cold is the lake")):
            assert hint in commands.memd(daemon.home, *words).err
            assert hint not in commands.memd(daemon.home, *words, "--agent", "tom").err
        commands.memd(daemon.home, "add", "The hive has ten frames.")
        assert hint not in commands.memd(daemon.home, "list", "--category", "decision").err


def test_who_writes_another_language_is_told_that_the_model_reads_english(
    memd: Memd, daemon: Spawned
) -> None:
    _drop_marks(daemon)
    added = memd("add", GERMAN, "--json")
    assert ENGLISH_ONLY in added.err
    assert set(added.json) == {"id"}
    for mode, has_hint in (("hybrid", True), ("dense", True), ("words", False)):
        _drop_marks(daemon)
        answer = memd("search", "Wer ist unser Zahnarzt?", "--mode", mode)
        assert (ENGLISH_ONLY in answer.err) == has_hint
    _drop_marks(daemon)
    assert ENGLISH_ONLY not in memd("search", "who is our dentist?").err


def test_the_hint_about_the_model_is_given_once_a_day(memd: Memd, daemon: Spawned) -> None:
    _drop_marks(daemon)
    assert ENGLISH_ONLY in memd("add", f"{GERMAN} Er ist nett.").err
    assert ENGLISH_ONLY not in memd("add", f"{GERMAN} Er ist alt.").err
    assert ENGLISH_ONLY not in memd("search", "Wer ist unser Zahnarzt?").err


def _drop_marks(daemon: Spawned) -> None:
    """Forget which hints were given today."""
    shutil.rmtree(daemon.paths.runtime_dir / "hooks", ignore_errors=True)


def test_a_preference_is_deleted_by_its_text(memd: Memd) -> None:
    memd("add", "Bitte keine Emojis")
    assert "Bitte keine Emojis" in memd("preference", "get", "bitte keine Emojis.").out
    assert memd("preference", "delete", "Bitte keine Emojis").code == 0
    assert "Bitte keine Emojis" not in memd("preference", "list").out
    memd("preference", "set", "a", "Tea, please")
    memd("preference", "set", "b", "Tea, please")
    answer = memd("preference", "delete", "tea, please")
    assert "give one of the names" in answer.err
    assert answer.code != 0


def test_an_unknown_command_names_what_is_meant(memd: Memd) -> None:
    assert "(similar: sleep, usage)" in memd("nap").err
    assert "(similar: trash, archive, sleep)" in memd("undo").err


def test_status_names_the_model_where_memories_are_in_other_languages(
    tmp_path: Path, model_dir: Path
) -> None:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon:

        def told_by(command: str) -> str:
            return commands.memd(daemon.home, command).err

        for text in ("The bakery opens at six.", "npm test", "Jörg Müller, Zürich", GERMAN):
            assert commands.memd(daemon.home, "add", text).code == 0
        assert ENGLISH_ONLY not in told_by("status")
        for text in ("Der Schlüssel liegt unter der Matte.", "Am Montag kommt die Müllabfuhr."):
            commands.memd(daemon.home, "add", text)
        assert ENGLISH_ONLY in told_by("status")
        assert ENGLISH_ONLY in told_by("doctor")


def test_what_is_typed_in_a_project_is_of_it(daemon: Spawned, memd: Memd, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    added = commands.memd(daemon.home, "add", "The hive has ten frames.", cwd=tmp_path)
    entry = memd("get", added.out.strip(), "--json").json["memory"]
    assert entry["project_id"] == str(tmp_path)
    added = commands.memd(daemon.home, "add", "The lake is cold.", cwd=daemon.home)
    elsewhere = memd("get", added.out.strip(), "--json").json
    assert elsewhere["memory"]["project_id"] is None


def test_facts_are_asked_for_without_quotes_and_named_where_no_memory_answers(
    daemon: Spawned, memd: Memd
) -> None:
    asked = ("which", "web", "framework", "do", "we", "use")
    assert memd("org", "query", *asked).err == "no fact matches\n"
    assert "memd org query" not in memd("search", *asked).err
    with daemon.client() as client:
        params = {"name": "ada", "agent_id": "ada", "seniority": "senior"}
        key = Path(client.call("client.add", params)["key_file"])
    with Client(daemon.paths.socket, key=key) as ada:
        ada.call(
            "org.write", {"content": "The web framework is Litestar.", "category": "convention"}
        )
    assert "Litestar" in memd("org", "query", *asked).out
    assert "memd org query searches the facts of the organisation" in memd("search", *asked).err
    with Client(daemon.paths.socket, key=key) as ada:
        for number in range(7):
            fact = f"The web framework of service {number} is Flask."
            ada.call("org.write", {"content": fact, "category": "convention"})
    most = memd("org", "query", "framework", "-n", "50")
    assert len(most.out.splitlines()) == 5
    assert most.err == (
        "the first 5; org_memory.extended_store.max_retrieved_per_query allows no more\n"
    )
    few = memd("org", "query", "framework", "-n", "2")
    assert few.err == "the first 2; a higher --limit shows more\n"


def test_a_project_is_named_by_its_folder_or_a_path_in_it(
    daemon: Spawned, memd: Memd, tmp_path: Path
) -> None:
    trees = [tmp_path / "ada" / "hives", tmp_path / "ada" / "lake", tmp_path / "bob" / "lake"]
    for tree in trees:
        (tree / ".git").mkdir(parents=True)
        (tree / "src").mkdir()
        commands.memd(daemon.home, "add", f"Of {tree.parent.name}.", "--agent", "tom", cwd=tree)

    def of(project: str, cwd: Path = daemon.home) -> str:
        words = ("list", "--agent", "tom", "--project", project)
        page = commands.memd(daemon.home, *words, cwd=cwd)
        return page.out.partition("\n")[0].rpartition("\t")[2] or page.err

    assert of(str(trees[0])) == of("hives") == of("hives/", tmp_path / "ada") == "Of ada."
    assert of("./src", trees[2]) == of(".", trees[2] / "src") == of("..", trees[2] / "src")
    assert of(".", trees[2]) == of("lake", tmp_path / "bob") == "Of bob."
    assert of("lake").startswith("memd: several projects are called lake\n")
    assert f"type the path of one: {trees[1]}, {trees[2]}" in of("lake")


def test_the_projects_of_an_agent_are_listed(memd: Memd) -> None:
    of_eve = ("--agent", "eve")
    assert memd("project", "list", *of_eve) == (0, "", "no session or memory is of a project\n")
    for number in range(LISTED_MAX + 1):
        memd("add", f"Hive {number} is green.", *of_eve, "--project", f"/srv/hive {number}")
    ids = [f"/srv/hive {number}" for number in range(LISTED_MAX + 1)]
    assert memd("project", "list", *of_eve).out.splitlines() == [f"{each}\tgone" for each in ids]
    assert memd("project", "list", *of_eve, "--json").json == {"items": ids, "gone": ids}
    for project_id in ids:
        assert len(memd("list", *of_eve, "--project", project_id).out.splitlines()) == 1
    unknown = memd("list", *of_eve, "--project", "lake").err
    assert f"{len(ids)} projects are known: memd project list --agent eve\n" in unknown


def test_a_project_without_memories_is_said_to_have_none(
    daemon: Spawned, memd: Memd, tmp_path: Path
) -> None:
    assert memd("list", "--agent", "una", "--project", "hive").err == (
        "memd: no memory is of a project hive\nno memories\n"
    )
    new = tmp_path / "new"
    (new / "src").mkdir(parents=True)
    words = ("add", "The hive is green.", "--agent", "una", "--project")
    assert "memd: the first memory of a project ./new" in commands.memd(
        daemon.home, *words, "./new", cwd=tmp_path
    ).err  # fmt: skip
    assert memd(*words, "hives").err == (
        f"memd: the first memory of a project hives\n      known projects: {new}\n"
    )
    unknown = memd("search", "hive", "--agent", "una", "--project", "hive")
    assert unknown.err.startswith(
        f"memd: no memory is of a project hive (similar: hives)\n      known projects: {new}, hives"
    )
    assert "The hive is green." in unknown.out, "a project ranks higher, it does not filter"
    assert " of hives · " in unknown.out
    known = memd("search", "hive", "--agent", "una", "--project", "hives")
    assert "The hive is green." in known.out
    assert " of hives" not in known.out
    commands.memd(daemon.home, "add", "The kettle is blue.", "--agent", "una", cwd=tmp_path)
    of_none = memd("list", "--agent", "una", "--no-project", "--json").json["items"]
    assert [item["content"] for item in of_none] == ["The kettle is blue."]
    assert memd("list", "--no-project", "--project", "hives").code == 2
    listed = memd("list", "--agent", "una", "--project", "hives", "--json").json["items"]
    assert [item["project_id"] for item in listed] == ["hives"]


def test_memories_follow_a_folder_that_was_moved(daemon: Spawned, tmp_path: Path) -> None:
    def memd(*words: str) -> commands.Output:
        return commands.memd(daemon.home, *words, "--agent", "ivy", cwd=new)

    old, new = tmp_path / "old" / "hives", tmp_path / "new" / "hives"
    (new / ".git").mkdir(parents=True)
    memd("add", "In this repo we indent with tabs.", "--project", str(old))
    command = f"memd project move --agent ivy {old} {new}"
    assert f"memories of {old} are not here; if it has moved: {command}\n" in memd("brief").err
    nowhere = memd("project", "move", "hives", str(tmp_path / "nwe"))
    assert "is no folder below your home, nor a known project\n" in nowhere.err
    mistyped = memd("project", "move", f"{old}/src")
    assert "no session or memory is of a project" in mistyped.err
    moved = memd("project", "move", "hives").out
    assert moved == f"1 memory and 0 sessions of {old} are of {new} now\n"
    assert "In this repo we indent with tabs." in memd("brief").out
    assert memd("project", "list").out == f"{new}\texists\n"
    nothing = memd("project", "move", "lake")
    assert nothing.code != 0
    assert "no session or memory is of a project lake\n" in nothing.err


def test_a_folder_that_was_renamed_is_told_wherever_a_person_looks(
    daemon: Spawned, tmp_path: Path
) -> None:
    old, new = tmp_path / "recon-jobs", tmp_path / "recon-pipelines"
    (old / ".git").mkdir(parents=True)

    def memd(*words: str) -> commands.Output:
        return commands.memd(daemon.home, *words, "--agent", "kim", cwd=new)

    commands.memd(daemon.home, "add", "Amounts are minor units.", "--agent", "kim", cwd=old)
    old.rename(new)
    command = "memd project move --agent kim"
    assert f"memories of {old} are not here; if it has moved: {command} {old} {new}\n" in (
        memd("brief").err
    )
    listed = memd("project", "list")
    assert listed.out == f"{old}\tgone\n"
    assert f"the folder of {old} is gone; if it was moved or renamed: {command} {old} NEW\n" in (
        listed.err
    )
    assert memd("project", "move", str(old)).code == 0
    assert memd("project", "list") == (0, f"{new}\texists\n", "")


def test_memories_of_no_project_are_moved_by_a_flag_in_place_of_its_name(
    daemon: Spawned, tmp_path: Path
) -> None:
    def memd(*words: str) -> commands.Output:
        return commands.memd(daemon.home, *words, "--agent", "zoe", cwd=hives)

    hives = tmp_path / "hives"
    (hives / ".git").mkdir(parents=True)
    commands.memd(daemon.home, "add", "The kettle is blue.", "--agent", "zoe", cwd=tmp_path)
    moved = f"1 memory and 0 sessions of no project are of {hives} now\n"
    assert memd("project", "move", "--from-no-project").out == moved
    back = f"1 memory and 0 sessions of {hives} are of no project now\n"
    assert memd("project", "move", "hives", "--to-no-project").out == back
    assert memd("project", "move", "--from-no-project", str(hives)).out == moved
    for words in ((), ("a", "b", "--to-no-project"), ("--from-no-project", "--to-no-project")):
        assert memd("project", "move", *words).code == 2


def test_who_imports_notes_in_another_language_is_told(tmp_path: Path, model_dir: Path) -> None:
    english = "\n\n".join(f"# Hive {number}\n\nIt has ten frames." for number in range(6))
    german = "\n\n".join(f"# Stock {n}\n\nDer Imker hat ihn für uns geöffnet." for n in range(6))
    (tmp_path / "en.md").write_text(english)
    (tmp_path / "de.md").write_text(german)
    (tmp_path / "home").mkdir()
    with spawned(tmp_path / "home", {"MEMD_MODEL_DIR": str(model_dir)}) as daemon:
        assert ENGLISH_ONLY not in commands.memd(daemon.home, "import", f"{tmp_path}/en.md").err
        assert ENGLISH_ONLY in commands.memd(daemon.home, "import", f"{tmp_path}/de.md").err


def test_an_empty_brief_says_of_which_project_it_is(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon:
        lake = commands.memd(daemon.home, "brief", "--project", "/srv/lake").err
        outside = commands.memd(daemon.home, "brief", cwd=daemon.home).err
    assert "nothing to tell yet of /srv/lake; the known projects: memd project list\n" in lake
    assert outside == "nothing to tell yet\n0 of 1,200 tokens\n"


def test_a_command_says_that_the_daemon_is_of_another_version(
    daemon: Spawned, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after an upgrade, until it is restarted: then a call may fail in odd ways."""
    for name, value in environment(daemon.home).items():
        monkeypatch.setenv(name, value)
    assert cli.run(["list"]) == 0
    assert "restart" not in capsys.readouterr().err
    monkeypatch.setattr(connection, "__version__", "9.9.9")
    assert cli.run(["project", "move", "nowhere"]) == 2
    note = f"memd: the daemon that runs is {__version__}, this command 9.9.9: restart it\n"
    assert capsys.readouterr().err.count(note) == 1


def test_a_daemon_that_does_not_answer_is_said_to_run(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        with (
            Client(tmp_path / "s", timeout=0.1) as client,  # the end of patience is tested
            pytest.raises(errors.TimeoutError) as raised,
        ):
            client.call("system.hello")
    assert raised.value.message == "no answer to system.hello in 0.1 s"
    assert raised.value.hint == "memd runs, but is very busy or stopped: try again, or restart it"
