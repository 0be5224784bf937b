"""X13, X20: the configuration blocks of the documents, and fine-tuning as S4 types it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from support.fakes import HashEmbedder

import memd.api
from memd.api import (
    CompanyMemoryConfig,
    ConsolidationInterval,
    EmbeddingFineTuneConfig,
    FineTuneDependencyError,
    FineTuningPipeline,
    MemoryConfigError,
    MemoryLevel,
)
from memd.base.settings import load
from memd.domain.settings.settings import Settings
from memd.learn.tuning.documents import AdapterPipeline

# The documents' two blocks differ in the order of their keys only.
LEVEL_FIRST = """
memory:
  level: "persistent"            # none | session | project | persistent
  backend: "sqlite"
  storage:
    data_dir: "/srv/memory"
    vector_store: "sqlite-vec"
    history_store: "sqlite"
  options:
    retention_days: null         # null = forever
    max_memories_per_agent: 10000
    consolidation_interval: "weekly"
    shared_knowledge_base: true
"""
BACKEND_FIRST = LEVEL_FIRST.replace('  level: "persistent"', "  #").replace(
    '  backend: "sqlite"', '  backend: "sqlite"\n  level: "persistent"'
)
IN_TOML = """
[memory]
level = "persistent"
backend = "sqlite"
[memory.storage]
data_dir = "/srv/memory"
vector_store = "sqlite-vec"
history_store = "sqlite"
[memory.options]
max_memories_per_agent = 10000
consolidation_interval = "weekly"
shared_knowledge_base = true
"""
ANOTHER_PRODUCT = """
memory:
  backend: "mem0"
  level: "persistent"
  storage:
    data_dir: "/data/memory"
    vector_store: "qdrant"
    history_store: "sqlite"
  options:
    retention_days: null
    consolidation_interval: "daily"
"""

# The two blocks of document 004, word for word.
DOCUMENT_LEVEL_FIRST = """\
memory:
  level: "persistent" # none | session | project | persistent (default: session)
  backend: "mem0" # mem0 | custom | cognee | graphiti (future)
  storage:
    data_dir: "/data/memory" # mounted Docker volume path
    vector_store: "qdrant" # hardcoded to embedded qdrant in Mem0 backend
    history_store: "sqlite" # hardcoded to sqlite in Mem0 backend
  options:
    retention_days: null # null = forever
    max_memories_per_agent: 10000
    consolidation_interval: "daily" # compress old memories
    shared_knowledge_base: true # agents can access shared facts
"""
DOCUMENT_BACKEND_FIRST = """\
memory:
  backend: "mem0"
  level: "persistent" # none, session, project, persistent (default: session)
  storage:
    data_dir: "/data/memory"
    vector_store: "qdrant" # hardcoded to embedded qdrant in Mem0 backend
    history_store: "sqlite" # hardcoded to sqlite in Mem0 backend
  options:
    retention_days: null # null = forever
    max_memories_per_agent: 10000
    consolidation_interval: "daily"
    shared_knowledge_base: true
"""
DOCUMENT_IN_TOML = """\
[memory]
level = "persistent"
backend = "mem0"
[memory.storage]
data_dir = "/data/memory"
vector_store = "qdrant"
history_store = "sqlite"
[memory.options]
max_memories_per_agent = 10000
consolidation_interval = "daily"
shared_knowledge_base = true
"""


def _loaded(folder: Path, text: str, name: str = "config.yaml") -> CompanyMemoryConfig:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return load(Settings, file, {}).memory


@pytest.mark.parametrize(
    ("text", "name"),
    [(LEVEL_FIRST, "config.yaml"), (BACKEND_FIRST, "config.yml"), (IN_TOML, "config.toml")],
)
def test_x13_the_memory_block_loads(tmp_path: Path, text: str, name: str) -> None:
    memory = _loaded(tmp_path, text, name)

    assert memory.level is MemoryLevel.PERSISTENT
    assert memory.storage.data_dir == "/srv/memory"
    assert memory.options.retention_days is None
    assert memory.options.max_memories_per_agent == 10_000
    assert memory.consolidation.interval is ConsolidationInterval.WEEKLY


def test_x13_the_block_is_a_company_memory_config_in_code_too() -> None:
    config = CompanyMemoryConfig.model_validate(yaml.safe_load(LEVEL_FIRST)["memory"])

    assert config.consolidation.max_memories_per_agent == 10_000


def test_x13_another_products_backend_is_answered_with_memds(tmp_path: Path) -> None:
    with pytest.raises(MemoryConfigError) as caught:
        _loaded(tmp_path, ANOTHER_PRODUCT)

    message = caught.value.message
    assert message.count("mem0") == 1
    assert "sqlite, inmemory, composite" in message
    assert "config.yaml" in message


@pytest.mark.parametrize("name", ["config.yaml", "config.toml"])
@pytest.mark.parametrize("block", [DOCUMENT_LEVEL_FIRST, DOCUMENT_BACKEND_FIRST])
def test_x13_the_documents_block_loads_or_the_correction_does_as_it_is_printed(
    tmp_path: Path, block: str, name: str
) -> None:
    if name == "config.toml":
        block = DOCUMENT_IN_TOML
    with pytest.raises(MemoryConfigError) as caught:
        _loaded(tmp_path, block, name)
    summary, *printed = caught.value.message.splitlines()

    memory = _loaded(tmp_path, "\n".join(printed), name)

    assert summary.endswith(f"(in {tmp_path / name}):")
    assert memory.backend == "sqlite"
    assert memory.storage.vector_store == "sqlite-vec"
    assert memory.storage.data_dir is None
    assert memory.level is MemoryLevel.PERSISTENT
    assert memory.options.max_memories_per_agent == 10_000
    assert memory.options.retention_days is None


def test_x13_what_else_is_wrong_stands_before_the_correction(tmp_path: Path) -> None:
    with pytest.raises(MemoryConfigError) as caught:
        _loaded(tmp_path, DOCUMENT_LEVEL_FIRST + "usage:\n  max_tokens: 0\n")
    lines = caught.value.message.splitlines()

    assert lines[0].startswith("usage.max_tokens")
    _loaded(tmp_path, "\n".join(lines[2:]))


def test_x13_a_correction_keeps_rules_and_lists(tmp_path: Path) -> None:
    rules = '[memory.consolidation.retention]\nrules = [{category="social", retention_days=3}]\n'
    with pytest.raises(MemoryConfigError) as caught:
        _loaded(tmp_path, '[memory]\nbackend = "mem0"\n' + rules, "config.toml")

    memory = _loaded(tmp_path, caught.value.message.partition("\n")[2], "config.toml")

    assert [rule.retention_days for rule in memory.consolidation.retention.rules] == [3]


def test_x20_fine_tuning_is_off_by_default() -> None:
    config = EmbeddingFineTuneConfig()

    assert not config.enabled
    assert config.checkpoint_path is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"enabled": True},
        {"enabled": True, "checkpoint_path": "x"},
        {"checkpoint_path": "../x"},
        {"checkpoint_path": "C:\\x"},
        {"checkpoint_path": "C:x"},
        {"checkpoint_path": " "},
        {"training_data_dir": "a/../x"},
        {"epochs": 3},
    ],
)
def test_x20_a_wrong_fine_tuning_config_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        EmbeddingFineTuneConfig.model_validate(wrong)


def test_x20_a_complete_config_is_accepted_and_frozen() -> None:
    config = EmbeddingFineTuneConfig(enabled=True, checkpoint_path="/srv/x", base_model="mini")

    with pytest.raises(ValidationError, match="frozen"):
        config.enabled = False  # type: ignore[misc]  # the assignment is what must fail


PAGES = [f"Rule {n} of the {name}. It is kept by team {n}." for n in range(8) for name in "ABC"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, page in enumerate(PAGES):
        (folder / f"{number:02}.md").write_text(page, "utf-8")
    (folder / "picture.md").write_bytes(b"\xff\xfe\x00")
    (folder / "code.py").write_text("print()", "utf-8")
    return folder


async def test_the_stages_lead_from_a_folder_to_a_checkpoint(tmp_path: Path, source: Path) -> None:
    pipeline: FineTuningPipeline = AdapterPipeline(HashEmbedder("mini"), tmp_path / "out")
    assert isinstance(pipeline, FineTuningPipeline)

    training_data: Path = await pipeline.generate_training_data(str(source))
    triples: Path = await pipeline.mine_hard_negatives(training_data)
    checkpoint: Path = await pipeline.fine_tune(triples, "mini")

    rows = [json.loads(line) for line in training_data.read_text("utf-8").splitlines()]
    held = (tmp_path / "out" / "validation.jsonl").read_text("utf-8").splitlines()
    assert (len(rows), len(held)) == (22, 2)
    assert rows[0]["query"] == "What is known about this: Rule 0 of the A."
    assert rows[0]["positive"] == PAGES[0]
    for line in triples.read_text("utf-8").splitlines():
        row = json.loads(line)
        assert row["positive"] not in row["negatives"]
        assert len(row["negatives"]) <= 4
    metrics = json.loads((tmp_path / "out" / "eval_metrics.json").read_text("utf-8"))
    assert metrics["questions"] == 2
    assert stat.S_IMODE(checkpoint.stat().st_mode) == 0o600


async def test_a_folder_without_texts_and_a_single_pair_are_value_errors(tmp_path: Path) -> None:
    pipeline = AdapterPipeline(HashEmbedder("mini"), tmp_path / "out")
    with pytest.raises(ValueError, match="no texts"):
        await pipeline.generate_training_data(str(tmp_path))
    (tmp_path / "one.txt").write_text("One text.", "utf-8")
    with pytest.raises(ValueError, match="too few"):
        await pipeline.generate_training_data(str(tmp_path))


async def test_the_encoder_of_another_model_is_not_trained_in_silence(
    tmp_path: Path, source: Path
) -> None:
    pipeline = AdapterPipeline(HashEmbedder("mini"), tmp_path / "out")
    triples = await pipeline.mine_hard_negatives(await pipeline.generate_training_data(str(source)))

    with pytest.raises(FineTuneDependencyError, match="torch"):
        await pipeline.fine_tune(triples, "BAAI/bge-large")

    assert issubclass(FineTuneDependencyError, memd.api.MemdMemoryError)
