"""``memd config set`` and ``unset``, and what a reload takes over while connections are open."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.commands import memd
from support.daemon import spawned, wait_until

from memd.base.errors import MemoryConfigError
from memd.base.settings import origins

TOML = """# mine
[daemon]
undo_days = 60 # keep

# at night
[memory.consolidation]
interval = "daily"
"""
YAML = """# mine
daemon:
  undo_days: 60   # keep
memory:
  consolidation: {interval: daily}  # at night
"""


def written(home: Path, text: str, name: str = "config.toml") -> Path:
    file = home / "config" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, "utf-8")
    return file


@pytest.mark.parametrize(("name", "text"), [("config.toml", TOML), ("config.yaml", YAML)])
def test_one_setting_is_written_and_every_other_byte_stays(
    tmp_path: Path, name: str, text: str
) -> None:
    file = written(tmp_path, text, name)

    done = memd(tmp_path, "config", "set", "daemon.undo_days", "90")

    assert (done.code, done.out) == (0, f"{file}\n")
    assert file.read_text("utf-8") == text.replace("60", "90")
    assert (file.parent / f"{name}.memd.bak").read_text("utf-8") == text


@pytest.mark.parametrize(("name", "text"), [("config.toml", TOML), ("config.yaml", YAML)])
def test_what_is_taken_out_has_its_default_again(tmp_path: Path, name: str, text: str) -> None:
    file = written(tmp_path, text, name)

    assert memd(tmp_path, "config", "unset", "daemon.undo_days").code == 0

    assert "undo_days" not in file.read_text("utf-8")
    shown = memd(tmp_path, "config", "show", "--json").json
    assert shown["settings"]["daemon"]["undo_days"] == 7
    assert shown["sources"] == {"memory.consolidation.interval": "file"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[daemon]\nundo_days = 60\n", ""),
        ("[daemon]\n# as Maria asked\nundo_days = 60\n", "[daemon]\n# as Maria asked\n"),
        ('[daemon]\nundo_days = 60\n[memory]\nlevel = "none"\n', '[memory]\nlevel = "none"\n'),
    ],
)
def test_a_section_that_says_nothing_any_more_goes_with_its_last_setting(
    tmp_path: Path, text: str, left: str
) -> None:
    file = written(tmp_path, text)
    assert memd(tmp_path, "config", "unset", "daemon.undo_days").code == 0
    assert file.read_text("utf-8") == left


def test_without_a_file_one_is_made_and_nobody_else_reads_it(tmp_path: Path) -> None:
    memd(tmp_path, "config", "set", "memory.agents", '{"kit": {"level": "session"}}')

    file = tmp_path / "config" / "config.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    shown = memd(tmp_path, "config", "show", "--json").json
    assert shown["settings"]["memory"]["agents"]["kit"]["type"] == "session"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("daemon.undo_days", "many"), "daemon.undo_days = 'many' must be a valid integer"),
        (("daemon.nothing", "1"), "daemon.nothing is no setting; there are log_level"),
        (("daemon", "1"), "daemon = 1 must"),
        (("daemon..undo_days", "1"), "is no setting"),
        (("usage.path", "windows"), "usage: path = 'windows' must be an absolute path"),
        (("usage.path", "~nobody-here/x"), "there is no user 'nobody-here' with a home"),
        (("usage.transcript_roots", '["/srv/x", "y"]'), "usage: transcript_roots = 'y' must be an"),
    ],
)
def test_what_would_be_no_settings_file_is_not_written(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    file = written(tmp_path, TOML)

    done = memd(tmp_path, "config", "set", *words)

    assert done.code != 0
    assert message in done.err
    assert file.read_text("utf-8") == TOML


WEIGHTS = "[memory.retrieval]\nrelevance_weight = 0.7\nrecency_weight = 0.3\n"


def test_a_setting_is_refused_that_the_environment_makes_wrong(tmp_path: Path) -> None:
    """SPEC 7.12: what is checked is what a start would have, file under environment."""
    file = written(tmp_path, WEIGHTS)
    change = ("memory.retrieval", '{"relevance_weight": 0.6, "recency_weight": 0.4}')

    wrong = memd(tmp_path, "config", "set", *change, MEMD_MEMORY__RETRIEVAL__RECENCY_WEIGHT="0.3")

    assert wrong.code == 78
    assert "relevance_weight and recency_weight must" in wrong.err
    assert file.read_text("utf-8") == WEIGHTS
    assert memd(tmp_path, "config", "set", *change).code == 0


@pytest.mark.parametrize("name", ["config.toml", "config.yaml"])
def test_settings_that_must_agree_are_changed_at_once(tmp_path: Path, name: str) -> None:
    yaml_text = "memory:\n  retrieval:\n    relevance_weight: 0.7\n    max_memories: 9\n"
    toml_text = "[memory.retrieval]\nrelevance_weight = 0.7\nmax_memories = 9\n"
    file = written(tmp_path, toml_text if name.endswith("toml") else yaml_text, name)
    keys = ("memory.retrieval.relevance_weight", "memory.retrieval.recency_weight")

    alone = memd(tmp_path, "config", "set", keys[0], "0.6")
    odd = memd(tmp_path, "config", "set", keys[0], "0.6", keys[1])
    both = memd(tmp_path, "config", "set", keys[0], "0.6", keys[1], "0.4")

    assert (alone.code, odd.code, both.code) == (78, 2, 0), both.err
    assert "set both at once" in alone.err
    shown = memd(tmp_path, "config", "show", "--json").json["settings"]["memory"]["retrieval"]
    assert [shown[each] for each in ("relevance_weight", "recency_weight", "max_memories")] == [
        0.6,
        0.4,
        9,
    ]
    assert file.read_text("utf-8").count("weight") == 2


def test_a_setting_that_only_the_environment_makes_right_is_written_and_told(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, "")
    key = "memory.retrieval.relevance_weight"

    alone = memd(tmp_path, "config", "set", key, "0.6")
    assert alone.code == 78
    done = memd(tmp_path, "config", "set", key, "0.6", MEMD_MEMORY__RETRIEVAL__RECENCY_WEIGHT="0.4")

    assert done.code == 0, done.err
    assert "0.6" in file.read_text("utf-8")
    assert "without this environment it would be refused: memory.retrieval" in done.err


def test_a_wrong_value_is_not_written_because_a_variable_hides_it(tmp_path: Path) -> None:
    file = written(tmp_path, TOML)

    done = memd(tmp_path, "config", "set", "daemon.undo_days", "many", MEMD_DAEMON__UNDO_DAYS="3")

    assert done.code == 78
    assert file.read_text("utf-8") == TOML


@pytest.mark.parametrize("runs", [False, True])
def test_a_reload_checks_the_file_under_the_daemon_s_own_environment(
    tmp_path: Path, *, runs: bool
) -> None:
    """A daemon's variables are not those of the terminal: its refusal takes the change back."""
    variable = {"MEMD_MEMORY__RETRIEVAL__RECENCY_WEIGHT": "0.3"} if runs else {}
    change = ("memory.retrieval", '{"relevance_weight": 0.6, "recency_weight": 0.4}')
    with spawned(tmp_path, variable):
        done = memd(tmp_path, "config", "set", *change)
        assert done.code == (78 if runs else 0)
        assert (tmp_path / "config" / "config.toml").exists() is not runs


def test_a_file_that_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    for name, text in (("config.toml", "[daemon\n"), ("config.yaml", "a: [b\n")):
        file = written(tmp_path, text, name)
        done = memd(tmp_path, "config", "set", "daemon.undo_days", "3")
        assert done.code == 78
        assert file.read_text("utf-8") == text
        file.unlink()


def test_the_path_of_a_file_that_cannot_be_read_is_told_to_mend_it(tmp_path: Path) -> None:
    file = written(tmp_path, "[daemon\n")
    assert memd(tmp_path, "config", "path") == (0, f"{file}\n", "")
    assert memd(tmp_path, "config", "path", "--json").code == 78


def test_show_says_where_a_setting_was_written(tmp_path: Path) -> None:
    written(tmp_path, TOML)

    out = memd(tmp_path, "config", "show", MEMD_DAEMON__LOG_LEVEL="debug").out

    assert "  undo_days: 60  # file\n" in out
    assert "  log_level: debug  # MEMD_DAEMON__LOG_LEVEL\n" in out
    assert "  session_days: 365\n" in out


def test_a_running_daemon_takes_over_what_it_can_and_names_what_waits(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        now = memd(tmp_path, "config", "set", "daemon.log_level", "warning", "--json")
        later = memd(tmp_path, "config", "set", "daemon.undo_days", "90")

        assert json.loads(now.out)["daemon"] == {"taken": ["daemon.log_level"], "waiting": []}
        assert "takes effect when the daemon restarts" in later.err
        assert client.call("system.reload") == {
            "taken": ["daemon.log_level"],
            "waiting": ["daemon.undo_days"],
        }


def test_a_bad_file_changes_nothing_and_drops_no_connection(tmp_path: Path) -> None:
    def logged() -> str:
        return daemon.log.read_text("utf-8")

    with spawned(tmp_path) as daemon, daemon.client() as client:
        before: dict[str, Any] = client.call("system.hello")
        written(tmp_path, "[daemon]\nundo_days = 'many'\n")

        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "settings not read" in logged(), "the reload is refused")
        with pytest.raises(MemoryConfigError, match="undo_days = 'many' must be a valid integer"):
            client.call("system.reload")

        assert client.call("system.hello")["pid"] == before["pid"]
        written(tmp_path, "[daemon]\nundo_days = 9\n")
        assert client.call("system.reload")["waiting"] == ["daemon.undo_days"]


def test_what_a_running_daemon_refuses_is_taken_back(tmp_path: Path) -> None:
    with spawned(tmp_path):
        done = memd(tmp_path, "config", "set", "daemon.log_file", "/proc/nope/x.log")
        assert done.code == 78
        assert not (tmp_path / "config" / "config.toml").exists()
        file = written(tmp_path, TOML)
        assert memd(tmp_path, "config", "set", "daemon.log_file", "/proc/no/x.log").code == 78
        assert file.read_text("utf-8") == TOML


def test_a_log_file_that_cannot_be_written_is_refused_while_no_daemon_runs(tmp_path: Path) -> None:
    file = written(tmp_path, TOML)
    for log in ("/proc/no/x.log", "memd.log", str(tmp_path)):
        done = memd(tmp_path, "config", "set", "daemon.log_file", log)
        assert done.code == 78
        assert f"daemon.log_file = {log!r} cannot be used" in done.err
        assert file.read_text("utf-8") == TOML

    good = tmp_path / "memd.log"
    assert memd(tmp_path, "config", "set", "daemon.log_file", str(good)).code == 0
    assert not good.exists()


@pytest.mark.parametrize("name", ["config.toml", "config.yaml"])
@pytest.mark.parametrize("key", ['memory.agents."a.b".level', "memory.agents.'a.b'.level"])
def test_a_name_with_a_dot_is_quoted_and_shown_so(tmp_path: Path, name: str, key: str) -> None:
    file = written(tmp_path, TOML if name == "config.toml" else YAML, name)
    before = file.read_text("utf-8")

    done = memd(tmp_path, "config", "set", key, "session")

    assert done.code == 0, done.err
    shown = memd(tmp_path, "config", "show", "--json").json
    assert shown["settings"]["memory"]["agents"]["a.b"]["type"] == "session"
    assert shown["sources"]['memory.agents."a.b".level'] == "file"
    printed = yaml.safe_load(memd(tmp_path, "config", "show").out)
    assert printed["memory"] == shown["settings"]["memory"]
    assert memd(tmp_path, "config", "unset", key).code == 0
    assert origins(file, {}) == {
        "memory.consolidation.interval": "file",
        "daemon.undo_days": "file",
    }
    assert "# at night" in file.read_text("utf-8")
    assert before == file.read_text("utf-8") or name == "config.toml"


@pytest.mark.parametrize("key", ['memory.agents."a.b', 'a"b"', "", ".", "a.", '"\\x"', "'a'b"])
def test_a_key_that_is_quoted_wrongly_is_refused(tmp_path: Path, key: str) -> None:
    done = memd(tmp_path, "config", "set", key, "1")

    assert done.code != 0
    assert repr(key) in done.err
    assert not (tmp_path / "config" / "config.toml").exists()


def test_of_two_changes_at_once_neither_is_lost(tmp_path: Path) -> None:
    for turn in range(3):
        changes = {"daemon.undo_days": turn + 3, "daemon.session_days": turn + 30}
        with ThreadPoolExecutor() as threads:
            done = threads.map(
                lambda each: memd(tmp_path, "config", "set", each[0], str(each[1])), changes.items()
            )
        assert [each.code for each in done] == [0, 0]
        shown = memd(tmp_path, "config", "show", "--json").json["settings"]["daemon"]
        assert {f"daemon.{name}": shown[name] for name in ("undo_days", "session_days")} == changes


def test_what_a_client_may_not_change_stays_as_it_was(tmp_path: Path) -> None:
    file = written(tmp_path, TOML)
    with spawned(tmp_path):
        key = memd(tmp_path, "client", "add", "ro", "--scopes", "read").out.strip()
        done = memd(tmp_path, "config", "set", "daemon.undo_days", "90", MEMD_CLIENT_KEY_FILE=key)
    assert done.code != 0
    assert file.read_text("utf-8") == TOML


def test_the_paths_of_a_profile_are_those_that_its_settings_name(tmp_path: Path) -> None:
    default = json.loads(memd(tmp_path, "config", "path", "--json").out)
    folder = tmp_path / "windows"
    written(tmp_path, f'[usage]\npath = "{folder}"\n')
    assert json.loads(memd(tmp_path, "config", "path", "--json").out) == {
        **default,
        "usage_dir": str(folder),
    }
    memd(tmp_path, "config", "set", "usage.path", "~/windows")
    below_home = json.loads(memd(tmp_path, "config", "path", "--json").out)["usage_dir"]
    assert (below_home[0], Path(below_home).name) == ("/", "windows")
