"""What SIGHUP takes over has its effect at once, and no connection is dropped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.daemon import Spawned, spawned, wait_until
from support.setting_effects import merged, tree

from memd.client import Client
from memd.domain.settings.reload import RELOADABLE


@dataclass
class Desk:
    """A daemon with a log file, a client that stays connected, and the settings file."""

    home: Path
    daemon: Spawned
    client: Client

    @property
    def logs(self) -> dict[str, int]:
        """The files of the log and their sizes."""
        return {file.name: file.stat().st_size for file in self.home.glob("log/*")}

    def says(self, name: str = "memd.log") -> str:
        file = self.home / "log" / name
        return file.read_text("utf-8") if file.exists() else ""

    def talk(self, turns: int = 40) -> None:
        for _ in range(turns):
            self.client.call("memory.count")

    def reload(self, *trees: dict[str, Any]) -> None:
        """Write the settings, and send the signal; returns when they are read."""
        before = self._reloads()
        _write(self.home, *trees)
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self._reloads() > before, "the settings are read again")

    def _reloads(self) -> int:
        everything = [file.read_text("utf-8") for file in self.home.glob("log/*")]
        return "".join(everything).count("settings read again")


def _write(home: Path, *trees: dict[str, Any]) -> None:
    log = tree("daemon", {"log_level": "debug", "log_file": str(home / "log" / "memd.log")})
    file = home / "config" / "config.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(merged(log, *trees)), "utf-8")


@contextmanager
def a_desk(home: Path, *trees: dict[str, Any]) -> Iterator[Desk]:
    (home / "log").mkdir()
    _write(home, *trees)
    with spawned(home) as daemon, daemon.client() as client:
        yield Desk(home, daemon, client)


def _level(desk: Desk) -> None:
    desk.talk(1)
    desk.reload(tree("daemon.log_level", "info"))
    log = desk.says()
    assert "method=memory.count" in log
    desk.talk()
    assert desk.says() == log


def _file(desk: Desk) -> None:
    desk.reload(tree("daemon.log_file", str(desk.home / "log" / "other.log")))
    log = desk.says()
    desk.talk()
    assert desk.says() == log
    assert desk.says("other.log").count("method=memory.count") == 40


def _bytes(desk: Desk) -> None:
    desk.talk(200)
    assert desk.logs.keys() == {"memd.log"}
    desk.reload(tree("daemon.log_file_bytes", 10_000))
    desk.talk(200)
    assert desk.logs.keys() > {"memd.log"}
    assert all(size <= 10_000 for name, size in desk.logs.items() if name == "memd.log")


def _kept(desk: Desk) -> None:
    small = tree("daemon.log_file_bytes", 10_000)
    desk.reload(small, tree("daemon.log_files_kept", 1))
    desk.talk(400)
    assert desk.logs.keys() == {"memd.log", "memd.log.1"}
    desk.reload(small, tree("daemon.log_files_kept", 3))
    desk.talk(400)
    assert desk.logs.keys() == {"memd.log", "memd.log.1", "memd.log.2", "memd.log.3"}


def _enabled(desk: Desk) -> None:
    """Off: no night comes, and none is run by hand. On again: both."""
    runs = len(desk.client.call("sleep.report")["items"])
    for enabled in (False, True):
        desk.reload(tree("memory.consolidation.enabled", enabled))
        status = desk.client.call("sleep.status")
        assert status["enabled"] is enabled
        assert enabled or status["next_at"] is None
        desk.client.call("sleep.run")
        assert len(desk.client.call("sleep.report")["items"]) == runs + enabled


EFFECTS: dict[str, Callable[[Desk], None]] = {
    "daemon.log_level": _level,
    "daemon.log_file": _file,
    "daemon.log_file_bytes": _bytes,
    "daemon.log_files_kept": _kept,
    "memory.consolidation.enabled": _enabled,
}


@pytest.mark.parametrize("key", RELOADABLE)
def test_what_a_reload_takes_over_has_its_effect_and_nobody_is_disconnected(
    tmp_path: Path, key: str
) -> None:
    with a_desk(tmp_path) as desk:
        pid = desk.client.call("system.hello")["pid"]
        EFFECTS[key](desk)

        assert desk.client.call("system.hello")["pid"] == pid
        metrics = desk.client.call("system.metrics")
        assert (metrics["dropped"], key in desk.client.call("system.reload")["waiting"]) == (
            {},
            False,
        )


def test_nights_that_were_off_at_the_start_come_when_the_file_is_read_again(tmp_path: Path) -> None:
    with a_desk(tmp_path, tree("memory.consolidation.enabled", False)) as desk:
        assert desk.client.call("sleep.status")["enabled"] is False
        desk.reload()
        assert desk.client.call("sleep.status")["enabled"] is True
