"""The test beds and what is found in them: ``python -m tests.bench.beds --transcripts DIR``.

``coding`` are recorded coding sessions of eight teams (``bench.coding_questions``,
``bench.team_sessions``), what naps compose of one team's (kind C) and questions about other teams'
code; ``everyday`` are notes of six households in several languages (``bench.household``);
``dialogues``, with ``--dialogues FILE``, is what the ranker was fitted on first; ``scenes``,
``committees``, ``chats`` and ``channel`` are public conversations (``bench.public_dialogues``).
``--public DIR`` has the checkouts of these and of the other teams. Prints for each what the product
ranks first, its gate left open, beside plain cosine and BM25 over the same candidates; what its
gate costs, which share of foreign questions it answers, and what a default prompt holds.

With ``--cache DIR`` encodings are kept between runs, and for ``bench.fit_ranker`` also the samples,
until a module that they depend on changes.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import bench
import memd
from bench import bed_samples, locomo, public_dialogues, team_sessions
from bench.bench_daemon import installed_model, model_dir
from bench.nap_retrieval import TEAM
from bench.samples import Remembered, Sample, collect
from memd.domain.encoding import Encoding
from memd.domain.enums import SearchMode
from memd.embedding.embed import EmbedderThread
from memd.recall.ranking.rankings import rank, rank_with_gate
from memd.recall.ranking.weights import HYBRID

BEDS = ("dialogues", "coding", "everyday", *public_dialogues.SOURCES)
NEEDED = {"dialogues": "--dialogues FILE", "coding": "--transcripts DIR --public DIR"}
HONEST = ("H", "G", "C")
CUTS = (5, 10)
UNMEASURED = frozenset(
    {"weights.py", "rankings.py", "select.py", "answer.py", "apart.py"}
    | {"fit.py", "fitting.py", "beds.py"}
)
"""Modules of ``memd.recall`` that rank what is measured already, and those that use it here."""


@dataclass(frozen=True)
class Sources:
    """Where the beds' texts are, and where to keep what was worked out."""

    dialogues: Path | None
    transcripts: Path | None
    cache: Path | None
    public: Path | None = None

    def of(self, bed: str) -> Path | None:
        """Return where the texts of *bed* are; the household's are in the repository."""
        folders = {"dialogues": self.dialogues, "coding": self.transcripts}
        return folders.get(bed, self.public if bed in public_dialogues.SOURCES else None)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.beds", description=__doc__)
    parser.add_argument("--dialogues", type=Path, metavar="FILE")
    add_sources(parser)
    parser.add_argument("--beds", nargs="+", choices=BEDS, default=["coding", "everyday"])
    options = parser.parse_args(argv)
    sources = Sources(options.dialogues, options.transcripts, options.cache, options.public)
    for bed in options.beds:
        print("\n".join(table(bed, samples(bed, sources, prompts=bed != "dialogues"))))


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where the texts beside the dialogues are."""
    parser.add_argument("--transcripts", type=Path, metavar="DIR")
    parser.add_argument("--public", type=Path, metavar="DIR")
    parser.add_argument("--cache", type=Path, metavar="DIR")


def samples(bed: str, sources: Sources, *, prompts: bool = False) -> list[Sample]:
    """Return the samples of a bed, those of a cache if they are still what would be collected.

    With *prompts* they are collected anew: what a prompt holds depends on the whole product.
    """
    if sources.cache is None:
        return asyncio.run(_collected(bed, sources, {}, prompts=prompts))
    sources.cache.mkdir(parents=True, exist_ok=True)
    path = sources.cache / f"{bed}-{_state(bed, sources)}.pickle"
    if path.exists() and not prompts:
        loaded: list[Sample] = pickle.loads(path.read_bytes())  # noqa: S301  # written below
        return loaded
    kept_path = sources.cache / f"encodings-{bed}.pickle"
    kept: dict[str, Encoding] = pickle.loads(kept_path.read_bytes()) if kept_path.exists() else {}  # noqa: S301  # the same
    try:
        collected = asyncio.run(_collected(bed, sources, kept, prompts=prompts))
    finally:
        _write(kept_path, kept)
    _write(path, collected)
    return collected


def _write(path: Path, value: object) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(pickle.dumps(value))
    new.replace(path)


async def _collected(
    bed: str, sources: Sources, kept: dict[str, Encoding], *, prompts: bool
) -> list[Sample]:
    folder = sources.of(bed)
    if (folder is None and bed != "everyday") or (bed == "coding" and sources.public is None):
        raise SystemExit(f"the bed {bed} needs {NEEDED.get(bed, '--public DIR')}")
    if bed == "dialogues":
        assert folder is not None
        return await collect(locomo.read(folder), kept)
    embedder = Remembered(EmbedderThread(installed_model()), kept)
    try:
        if bed == "everyday":
            return await bed_samples.everyday(embedder, prompts=prompts)
        assert folder is not None
        if bed in public_dialogues.SOURCES:
            stores = public_dialogues.stores(bed, folder)
            return await bed_samples.public_talk(embedder, bed, stores, prompts=prompts)
        collected = await bed_samples.coding_sessions(embedder, folder, prompts=prompts)
        assert sources.public is not None
        others = bed_samples.other_teams(embedder, sources.public, prompts=prompts)
        collected += [each async for each in others]
        return collected + [each async for each in bed_samples.composed(folder, prompts=prompts)]
    finally:
        await embedder.close()


def _state(bed: str, sources: Sources) -> str:
    """Return a digest of what the samples depend on: texts, modules, the model."""
    product, benches = Path(memd.__path__[0]), Path(bench.__path__[0])
    folders = ("text", "guard", "extract", "ingest", "recall", "store", "sleep/nap", "sleep/distil")
    modules = [p for name in folders for p in sorted((product / name).rglob("*.*"))]
    modules += [
        *sorted(benches.glob("*.py")),
        *sorted(benches.glob("*.txt")),
        team_sessions.QUESTIONS,
    ]
    digest = hashlib.sha256(f"{model_dir()} {sources.of(bed)} {bed}".encode())
    for path in modules:
        if path.suffix in {".py", ".sql", ".txt", ".jsonl"} and path.name not in UNMEASURED:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def table(bed: str, samples: Sequence[Sample]) -> list[str]:
    """Return the bed's figures, a line each."""
    kinds = Counter(sample.kind for sample in samples)
    names = Counter(f"{s.kind} {s.name}" for s in samples if s.name and s.kind != "S")
    lines = [f"# {bed}: {dict(kinds)}", f"  {dict(names)}"]
    honest = [sample for sample in samples if sample.kind in HONEST and sample.gold]
    groups: dict[str, list[Sample]] = {}
    for sample in honest:
        groups.setdefault(f"{sample.kind}", []).append(sample)
        if sample.name:
            groups.setdefault(f"{sample.kind} {sample.name}", []).append(sample)
    for name, each in groups.items():
        lines.append(f"  {name}, {len(each)} questions")
        lines += [f"    {row}" for row in _rows(each)]
    for kind in sorted(set(kinds) - {*HONEST, "S"}):
        strange = [sample for sample in samples if sample.kind == kind]
        passed = [float(bool(sample.candidates) and _passes(sample)) for sample in strange]
        lines.append(f"  {kind}: answered {100 * np.mean(passed):.1f} %{_entries(strange)}")
    return lines


def _rows(honest: Sequence[Sample]) -> list[str]:
    orders = {
        "ranker": [_product(sample, gated=False) for sample in honest],
        "behind its gate": [_product(sample, gated=True) for sample in honest],
        "cosine": [_by(sample, SearchMode.DENSE) for sample in honest],
        "BM25": [_by(sample, SearchMode.WORDS) for sample in honest],
        "candidates": [sorted(sample.right, reverse=True) for sample in honest],
    }
    rows = []
    for name, order in orders.items():
        recalls = [
            100 * np.mean([sum(r[:cut]) / s.gold for r, s in zip(order, honest, strict=True)])
            for cut in CUTS
        ]
        first = [next((1 / at for at, right in enumerate(r, 1) if right), 0.0) for r in order]
        row = "  ".join(f"R@{c} {r:.1f}" for c, r in zip(CUTS, recalls, strict=True))
        rows.append(f"{name:16} {row}  MRR {100 * np.mean(first):.1f}")
    return rows + ([f"prompt{_entries(honest)}"] if honest[0].prompt is not None else [])


def _entries(rows: Sequence[Sample]) -> str:
    prompts = [sample.prompt for sample in rows if sample.prompt is not None]
    if not prompts:
        return ""
    entries, useful = sum(map(len, prompts)), sum(map(sum, prompts))
    gold = sum(sample.gold for sample in rows)
    share = f", {100 * useful / max(entries, 1):.1f} % useful" if gold else ""
    held = np.mean([sum(s.prompt) / s.gold for s in rows if s.gold and s.prompt is not None] or [0])
    evidence = f", of the evidence {100 * held:.1f} %" if gold else ""
    return f": {entries / len(prompts):.1f} entries{share}{evidence}"


def _product(sample: Sample, *, gated: bool) -> list[bool]:
    right = {id(item): good for item, good in zip(sample.candidates, sample.right, strict=True)}
    items, _ = rank_with_gate(sample.candidates, HYBRID, project_id=_project(sample))
    return [right[id(item.measured)] for item in items if item.passes or not gated]


def _by(sample: Sample, mode: SearchMode) -> list[bool]:
    right = {id(item): good for item, good in zip(sample.candidates, sample.right, strict=True)}
    return [right[id(item.measured)] for item in rank(sample.candidates, HYBRID, mode)]


def _passes(sample: Sample) -> bool:
    items, _ = rank_with_gate(sample.candidates, HYBRID, project_id=_project(sample))
    return any(item.passes for item in items)


def _project(sample: Sample) -> str | None:
    """Return the project that asks: what naps composed is asked for from within it."""
    return TEAM if sample.kind.startswith("C") else None


if __name__ == "__main__":
    main()
