"""The kill switch (SPEC 16.2)."""

from __future__ import annotations

from pathlib import Path

import yaml

from memd.base.settings import load
from memd.domain.settings.settings import Settings
from memd.sleep.sleep import KillSwitch

OFF = "memory:\n  consolidation:\n    enabled: false\n"


def a_switch(folder: Path, settings: Settings | None = None) -> KillSwitch:
    return KillSwitch(settings or Settings(), folder / "config.toml", {})


def test_without_a_file_nights_come(tmp_path: Path) -> None:
    assert a_switch(tmp_path)() is True


def test_what_the_file_says_now_counts(tmp_path: Path) -> None:
    switch, file = a_switch(tmp_path), tmp_path / "config.yaml"
    assert switch() is True
    file.write_text(OFF, "utf-8")
    assert switch() is False
    file.write_text(OFF.replace("false", "true"), "utf-8")
    assert switch() is True


def test_a_file_that_cannot_be_read_switches_nothing_off(tmp_path: Path) -> None:
    switch, file = a_switch(tmp_path), tmp_path / "config.yaml"
    file.write_text(OFF, "utf-8")
    assert switch() is False
    file.write_text("memory: [", "utf-8")
    assert switch() is True
    (tmp_path / "config.toml").write_text("", "utf-8")  # two files: neither counts
    assert switch() is True


def test_a_daemon_that_was_started_with_nights_off_has_none(tmp_path: Path) -> None:
    off = Settings.model_validate({"memory": {"consolidation": {"enabled": False}}})
    assert a_switch(tmp_path, off)() is False


def test_what_was_off_at_the_start_is_on_when_the_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(OFF, "utf-8")
    switch = a_switch(tmp_path, Settings.model_validate(yaml.safe_load(OFF)))
    assert switch() is False
    file.write_text(OFF.replace("false", "true"), "utf-8")
    assert switch() is True
    file.write_text("memory: [", "utf-8")  # then it is as it was at the start
    assert switch() is False


def test_the_environment_counts_as_it_does_for_every_setting(tmp_path: Path) -> None:
    environ = {"MEMD_MEMORY__CONSOLIDATION__ENABLED": "false"}
    off = load(Settings, None, environ)
    switch = KillSwitch(off, tmp_path / "config.toml", environ)
    assert switch() is False
    (tmp_path / "config.yaml").write_text(OFF.replace("false", "true"), "utf-8")
    assert switch() is False
