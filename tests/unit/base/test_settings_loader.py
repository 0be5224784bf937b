"""SPEC D25: one TOML or YAML file, then the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.base.errors import MemoryConfigError
from memd.base.limits import SETTINGS_BYTES_MAX
from memd.base.settings import find, load
from memd.domain.enums import MemoryLevel
from memd.domain.settings.settings import Settings


def _file(folder: Path, text: str, name: str = "config.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _refusal(file: Path | None = None, **environ: str) -> MemoryConfigError:
    with pytest.raises(MemoryConfigError) as caught:
        load(Settings, file, environ)
    return caught.value


def test_without_file_and_environment_it_is_what_memd_ships_with() -> None:
    assert load(Settings, None, {}) == Settings()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.toml", '[memory]\nlevel = "project"\n[memory.options]\nretention_days = 9\n'),
        ("config.yaml", "memory:\n  level: project\n  options:\n    retention_days: 9\n"),
        ("config.yml", "memory: {level: project, options: {retention_days: 9}}"),
    ],
)
def test_toml_and_yaml_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    settings = load(Settings, _file(tmp_path, text, name), {})

    assert settings.memory.level is MemoryLevel.PROJECT
    assert settings.memory.consolidation.retention.default_retention_days == 9


@pytest.mark.parametrize(("name", "text"), [("c.toml", ""), ("c.yaml", ""), ("c.yaml", "# none")])
def test_an_empty_file_says_nothing(tmp_path: Path, name: str, text: str) -> None:
    assert load(Settings, _file(tmp_path, text, name), {}) == Settings()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = _file(tmp_path, '[memory]\nlevel = "project"\nbackend = "sqlite"\n')

    settings = load(Settings, file, {"MEMD_MEMORY__LEVEL": "none"})

    assert settings.memory.level is MemoryLevel.NONE
    assert settings.memory.backend == "sqlite"


def test_the_environment_reaches_every_kind_of_value() -> None:
    environ = {
        "MEMD_MEMORY__OPTIONS__RETENTION_DAYS": "null",
        "MEMD_MEMORY__RETRIEVAL__MIN_RELEVANCE": "0.25",
        "MEMD_MEMORY__RETRIEVAL__INCLUDE_SHARED": "false",
        "MEMD_MEMORY__CONSOLIDATION__RETENTION__RULES": (
            '[{"category": "social", "retention_days": 3}]'
        ),
        "MEMD_DAEMON__UNDO_DAYS": "0",
    }

    settings = load(Settings, None, environ)

    assert settings.memory.options.retention_days is None
    assert settings.memory.retrieval.min_relevance == 0.25
    assert not settings.memory.retrieval.include_shared
    assert settings.memory.consolidation.retention.rules[0].retention_days == 3
    assert settings.daemon.undo_days == 0


def test_variables_that_are_no_settings_are_left_alone() -> None:
    environ = {"MEMD_HOME": "/x", "MEMD_PROFILE": "p", "PATH": "/bin", "OTHER__LEVEL": "x"}

    assert load(Settings, None, environ) == Settings()


def test_a_wrong_value_is_named_with_its_key_its_place_and_what_is_allowed(tmp_path: Path) -> None:
    error = _refusal(file := _file(tmp_path, '[memory]\nlevel = "forever"\n'))

    assert error.field == "memory.level"
    assert error.message == (
        f"memory.level = 'forever' must be 'persistent', 'project', 'session' or 'none' (in {file})"
    )


def test_a_wrong_variable_is_named_itself() -> None:
    error = _refusal(MEMD_DAEMON__UNDO_DAYS="-1")

    assert error.message == (
        "daemon.undo_days = '-1' must be greater than or equal to 0 (in MEMD_DAEMON__UNDO_DAYS)"
    )


def test_an_unknown_key_is_answered_with_the_known_ones() -> None:
    error = _refusal(MEMD_MEMORY__STORAGE__VECTOR="x")

    assert error.message == (
        "memory.storage.vector is no setting; there are data_dir, vector_store, history_store "
        "(in MEMD_MEMORY__STORAGE__VECTOR)"
    )
    assert "memroy is no setting; there are memory, " in _refusal(MEMD_MEMROY__LEVEL="none").message


def test_a_key_inside_a_list_is_named_by_its_place() -> None:
    error = _refusal(
        MEMD_MEMORY__CONSOLIDATION__RETENTION__RULES='[{"category": "social", "d": 1}]'
    )

    key = "memory.consolidation.retention.rules.0"
    assert f"{key}.retention_days is missing" in error.message
    assert f"{key}.d is no setting; there are category, retention_days" in error.message


def test_keys_that_contradict_each_other_are_told_at_their_section() -> None:
    error = _refusal(MEMD_MEMORY__RETRIEVAL__RELEVANCE_WEIGHT="0.9")

    assert error.message.startswith("memory.retrieval: relevance_weight and recency_weight must")
    assert "pydantic" not in error.message


def test_everything_that_is_wrong_is_told_at_once_up_to_five(tmp_path: Path) -> None:
    keys = "\n".join(f"k{n} = {n}" for n in range(7))

    message = _refusal(_file(tmp_path, f"[daemon]\n{keys}\n")).message

    assert message.count("is no setting") == 5
    assert message.endswith("and 2 more")


def test_a_long_value_is_cut(tmp_path: Path) -> None:
    assert len(_refusal(MEMD_MEMORY__LEVEL="x" * 10_000).message) < 250


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("c.toml", "[memory\n", "is not TOML"),
        ("c.yaml", "memory:\n  level: [\n", "is not YAML, line"),
        ("c.yaml", "- memory\n", "holds no settings"),
        ("c.yaml", "text", "holds no settings"),
        ("c.yaml", "a: !!python/object:os.system {}", "is not YAML"),
        ("c.toml", "#" * (SETTINGS_BYTES_MAX + 1), "is larger than"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    file = _file(tmp_path, text, name)

    message = _refusal(file).message

    assert str(file) in message
    assert expected in message


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path: Path) -> None:
    assert "cannot be read" in _refusal(tmp_path / "none.toml").message
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text, at byte 0" in _refusal(tmp_path / "binary.toml").message


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("MEMD_MEMORY__", "x", "names no setting"),
        ("MEMD_MEMORY____LEVEL", "x", "names no setting"),
        ("MEMD_MEMORY__CONSOLIDATION__RETENTION__RULES", "[1", "is not JSON"),
    ],
)
def test_a_variable_that_cannot_be_read_is_named(variable: str, value: str, expected: str) -> None:
    message = _refusal(None, **{variable: value}).message

    assert variable in message
    assert expected in message


def test_the_yaml_sibling_of_the_settings_file_is_found(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"

    assert find(config) is None
    sibling = _file(tmp_path, "", "config.yaml")
    assert find(config) == sibling
    config.touch()
    with pytest.raises(MemoryConfigError, match="several settings files"):
        find(config)


@pytest.mark.parametrize(
    ("text", "key", "lines"),
    [
        ("memory:\n  level: none\ndaemon: {}\nmemory: {}\n", "memory", (1, 4)),
        ('daemon:\n  undo_days: 3\n  "undo_days": 4\n', "daemon.undo_days", (2, 3)),
        ("daemon: {undo_days: 3, undo_days: 3}\n", "daemon.undo_days", (1, 1)),
        ("a:\n- b: 1\n  b: 2\n", "a.b", (2, 3)),
    ],
)
def test_a_key_that_stands_twice_in_yaml_is_refused_with_both_lines(
    tmp_path: Path, text: str, key: str, lines: tuple[int, int]
) -> None:
    """SPEC 7.12: TOML itself refuses it; YAML would take the last one in silence."""
    error = _refusal(_file(tmp_path, text, "config.yaml"))

    assert error.field == key
    assert f"has {key} twice, in lines {lines[0]} and {lines[1]}" in error.message


def test_an_anchor_that_is_named_twice_is_no_key_that_stands_twice(tmp_path: Path) -> None:
    nested = "".join(f"x{n}: &x{n} [*x{n - 1}, *x{n - 1}]\n" for n in range(1, 60))
    expected = _refusal(_file(tmp_path, f"x0: &x0 {{a: 1}}\n{nested}", "config.yaml")).message

    assert "x0 is no setting" in expected
