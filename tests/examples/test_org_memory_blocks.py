"""The configuration of docs/org.md, and the three of seed 004 as they stand there, load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from memd.api import OrgFactCategory, OrgMemoryConfig
from memd.domain.settings.org import org_memory_config

ROOT = Path(__file__).resolve().parents[2]
SEEDS = ROOT.parent / "shared" / "design" / "seeds"


def test_the_configuration_in_the_documentation_loads() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/org.md").read_text("utf-8"), re.S)
    config = org_memory_config(yaml.safe_load(block)["org_memory"])
    assert isinstance(config, OrgMemoryConfig)
    assert config.core_policies == ("Use Litestar, not Flask",)
    assert list(config.read_access) == [OrgFactCategory.ADR]


GROUPS = {"extended_store:", "write_access:", "graph:", "temporal:"}


@pytest.mark.parametrize("backend", ["hybrid_prompt_retrieval", "graph_rag", "temporal_kg"])
def test_each_block_of_the_document_loads_word_for_word(backend: str) -> None:
    """The seed lost its indentation; nothing but that is given back."""
    found = next(iter(SEEDS.glob("004*")), None) if SEEDS.is_dir() else None
    if found is None:
        pytest.skip("the documents are not here")
    lines = found.read_text("utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f'backend: "{backend}"'))
    end = next(n for n in range(start, len(lines)) if lines[n].startswith("Strengths:"))
    block, depth = [], ""
    for line in lines[start:end]:
        if line.split("#")[0].strip() in GROUPS:
            block.append(line)
            depth = "  "
        else:
            block.append(f"{depth}{line}" if depth else line)
    config = org_memory_config(yaml.safe_load("\n".join(block)))
    assert config.backend == backend
    assert len(config.core_policies) == (3 if backend == "hybrid_prompt_retrieval" else 0)
