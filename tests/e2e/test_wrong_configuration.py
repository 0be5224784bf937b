"""A wrong configuration ends the daemon with 78; what changes nothing is warned of by name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from support import forked
from support.daemon import environment, spawned

from memd.daemon import EXIT_CONFIG

WRONG = [
    ("config.toml", '[memory]\nlevel = "forever"\n', ("memory.level", "forever", "persistent")),
    ("config.yaml", "memory:\n  level: forever\n", ("memory.level", "forever", "persistent")),
    ("config.toml", "[daemon]\nundo_days = -3\n", ("daemon.undo_days", "-3", "0")),
    ("config.yaml", "daemon:\n  undo_days: soon\n", ("daemon.undo_days", "soon", "integer")),
    (
        "config.toml",
        '[daemon]\nsecrets = "maybe"\n',
        ("daemon.secrets", "maybe", "redact", "refuse"),
    ),
    ("config.toml", "[deamon]\nundo_days = 3\n", ("deamon", "memory", "daemon")),
    ("config.yaml", "daemon:\n  undo: 3\n", ("daemon.undo", "undo_days")),
    ("config.yaml", "memory:\n  backend: mem0\n", ("mem0", "sqlite, inmemory, composite")),
    (
        "config.toml",
        "[memory.retrieval]\nrelevance_weight = 0.9\n",
        ("memory.retrieval", "relevance_weight", "sum to 1", "1.2"),
    ),
    (
        "config.yaml",
        "memory: {retrieval: {retriever: hierarchical, strategy: tool_based}}\n",
        ("memory.retrieval", "hierarchical", "context", "tool_based"),
    ),
    (
        "config.toml",
        "[memory.retrieval]\nquery_reformulation_enabled = true\n",
        ("memory.retrieval", "query_reformulation_enabled", "tool_based", "context"),
    ),
    (
        "config.toml",
        '[memory.retrieval]\ndiversity_penalty_enabled = true\nstrategy = "self_editing"\n',
        ("memory.retrieval", "diversity_penalty_enabled", "context", "self_editing"),
    ),
    (
        "config.toml",
        '[memory.retrieval]\nstrategy = "osmosis"\n',
        ("memory.retrieval.strategy", "osmosis", "tool_based"),
    ),
    (
        "config.toml",
        "[memory.self_editing]\ncore_max_entries = 201\n",
        ("memory.self_editing.core_max_entries", "201", "200"),
    ),
    (
        "config.yaml",
        "memory: {self_editing: {archival_categories: [working]}}\n",
        ("memory.self_editing", "archival_categories", "working"),
    ),
    ("config.toml", "[memory\n", ("TOML", "line 1")),
    ("config.yaml", "memory: [\n", ("YAML", "line 2")),
    ("config.yaml", "- memory\n", ("no settings",)),
    ("config.toml", b"\xff\xfe", ("UTF-8", "byte 0")),
]


def _serve(home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return forked.run(["serve"], env=environment(home, more))


@pytest.mark.parametrize(
    ("name", "text", "parts"), WRONG, ids=[f"{name}-{parts[0]}" for name, _, parts in WRONG]
)
def test_a_wrong_file_is_told_with_key_value_and_what_is_allowed(
    tmp_path: Path, name: str, text: str | bytes, parts: tuple[str, ...]
) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    done = _serve(tmp_path)

    assert done.returncode == EXIT_CONFIG == 78
    assert done.stderr.startswith("memd: ")
    assert all(part in done.stderr for part in (*parts, name)), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_two_files_are_one_too_many(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    for name in ("config.toml", "config.yaml"):
        (folder / name).touch()

    done = _serve(tmp_path)

    assert done.returncode == 78
    assert "config.toml" in done.stderr
    assert "config.yaml" in done.stderr


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    done = _serve(tmp_path, MEMD_DAEMON__UNDO_DAYS="never")

    assert done.returncode == 78
    assert "MEMD_DAEMON__UNDO_DAYS" in done.stderr
    assert "never" in done.stderr


SET_IN_VAIN = """\
memory:
  embedder: {provider: openai}
  retrieval: {default_relevance: 0.4}
  consolidation:
    strategy: llm
    llm: {temperature: 0.2, max_summary_tokens: 400}
    archival: {dual_mode: {summarization_model: small}}
    experience_compressor: {min_compression_ratio: 0.4}
"""


NAMED = (
    "memory.embedder",
    "memory.retrieval.default_relevance",
    "memory.consolidation.strategy",
    "memory.consolidation.llm.temperature",
    "memory.consolidation.llm.max_summary_tokens",
    "memory.consolidation.archival.dual_mode.summarization_model",
    "memory.consolidation.experience_compressor.min_compression_ratio",
)


def _shown(home: Path, *more: str) -> str:
    return forked.run(["config", "show", *more], env=environment(home), check=True).stdout


def test_what_changes_nothing_is_named_at_the_start_and_where_settings_are_shown(
    tmp_path: Path,
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text(SET_IN_VAIN, encoding="utf-8")

    with spawned(tmp_path) as daemon:
        log = daemon.log.read_text("utf-8")
    shown = _shown(tmp_path)
    warnings = json.loads(_shown(tmp_path, "--json"))["warnings"]

    for key in NAMED:
        assert key in log
        assert sum(key in warning for warning in warnings) == 1
        assert f"# warning: {key}" in shown
    assert yaml.safe_load(shown)["memory"]["consolidation"]["strategy"] == "llm"


def test_without_such_settings_nothing_is_warned_of(tmp_path: Path) -> None:
    assert json.loads(_shown(tmp_path, "--json"))["warnings"] == []
