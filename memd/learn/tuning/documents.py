"""The documented fine-tuning pipeline (S4) over a folder of texts: pairs, triples, a checkpoint.

It trains a matrix for the question vectors of the installed model, without torch; the checkpoint
is ``adapter.npy``. It cannot train an encoder. Its files contain texts of the folder, so only
their owner can read them.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memd.base.errors import DegradedError, FineTuneDependencyError, InvalidError
from memd.base.work import Work
from memd.domain.encoding import Embedder
from memd.domain.learn import TuneRequest
from memd.learn.tuning.evaluation import compare_ranks, first_sentence

SUFFIXES = frozenset({".txt", ".md", ".rst"})
CHUNK_WORDS = 512
PAIRS_MIN = 2
"""The documented minimum; a useful result needs more pairs."""
TRAINING, VALIDATION = "training.jsonl", "validation.jsonl"
TRIPLES, METRICS = "training_triples.jsonl", "eval_metrics.json"
CHECKPOINT = "adapter.npy"

Row = dict[str, Any]


@dataclass(frozen=True)
class AdapterPipeline:
    """A ``FineTuningPipeline`` that writes its files into *output_dir*."""

    embedder: Embedder
    output_dir: Path
    request: TuneRequest = field(default_factory=TuneRequest)
    work: Work = field(default_factory=lambda: Work("memd-tuning"))

    async def generate_training_data(self, source_dir: str) -> Path:
        """Write a pair of each chunk of the texts below *source_dir* (SPEC 18.2.4).

        Returns the file of the training pairs, in the order of the files' paths; the last pairs
        are in the validation file. Texts that are not UTF-8 are skipped. Raises InvalidError, a
        ValueError, for a folder without texts and for fewer than PAIRS_MIN pairs.
        """
        pairs = await self.work.run(_pairs_below, Path(source_dir))
        cut = len(pairs) - round(self.request.validation_split * len(pairs))
        cut = min(max(cut, 1), len(pairs) - 1)
        self._write(VALIDATION, pairs[cut:])
        return self._write(TRAINING, pairs[:cut])

    async def mine_hard_negatives(self, training_data: Path) -> Path:
        """Add hard negatives to each pair: similar passages of other pairs (SPEC 18.2.5)."""
        from memd.learn.tuning import adapter

        rows = _read(training_data)
        vectors = await self._embed([row["positive"] for row in rows])
        questions = await self._embed([row["query"] for row in rows])
        places = await self.work.run(adapter.mine_rows, questions, vectors, self.request.top_k)
        texts = [row["positive"] for row in rows]
        triples = [
            {**row, "negatives": [texts[at] for at in places_of]}
            for row, places_of in zip(rows, places, strict=True)
        ]
        return self._write(TRIPLES, triples)

    async def fine_tune(self, training_data: Path, base_model: str) -> Path:
        """Train a matrix on the triples for the installed model; return the checkpoint.

        Raises FineTuneDependencyError for another model, which would need a trained encoder.
        """
        from memd.learn.tuning import adapter

        installed = self.embedder.fingerprint
        if installed is None:
            raise DegradedError("no embedding model is installed", hint="memd model install")
        if base_model.rpartition("/")[2] != installed.name.rpartition("/")[2]:
            raise FineTuneDependencyError(
                f"training the encoder of {base_model} needs torch, which memd does not use",
                hint=f"for {installed.name} a matrix is trained without it",
            )
        rows = _read(training_data)
        positives = [row["positive"] for row in rows]
        negatives = [text for row in rows for text in row["negatives"]]
        texts = list(dict.fromkeys([*positives, *negatives]))
        vectors = await self._embed(texts)
        questions = await self._embed([row["query"] for row in rows])
        index = {text: place for place, text in enumerate(texts)}
        places = [
            (index[row["positive"]], [index[text] for text in row["negatives"]]) for row in rows
        ]
        checkpoint = await self.work.run(
            adapter.train_matrix, questions, vectors, places, self.request
        )
        await self._evaluate(checkpoint)
        return self._put(CHECKPOINT, checkpoint)

    async def _evaluate(self, checkpoint: bytes) -> None:
        """Write the metrics of the validation pairs with and without the matrix (SPEC 18.2.7)."""
        from memd.learn.tuning import adapter

        validation = self.output_dir / VALIDATION
        if not validation.is_file():
            return
        rows = _read(validation)
        questions = await self._embed([row["query"] for row in rows])
        vectors = await self._embed([row["positive"] for row in rows])
        ranks = await self.work.run(adapter.compute_ranks, questions, vectors, checkpoint)
        report = compare_ranks(*ranks).model_dump(mode="json")
        self._put(METRICS, json.dumps(report, indent=1).encode())

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        return await self.embedder.embed(texts, bulk=True)

    def _write(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return self._put(name, lines.encode())

    def _put(self, name: str, content: bytes) -> Path:
        """Write a file atomically, readable by its owner only."""
        self.output_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.output_dir / name
        new = path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with io.FileIO(descriptor, "w") as stream:
            stream.write(content)
        new.replace(path)
        return path


def _pairs_below(folder: Path) -> list[Row]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    texts = [text for path in paths if (text := _text(path))]
    if not texts:
        raise InvalidError(
            "there are no texts to make pairs of", field="source_dir", hint="*.txt, *.md, *.rst"
        )
    chunks = [chunk for text in texts for chunk in _chunks(text)]
    if len(chunks) < PAIRS_MIN:
        raise InvalidError(
            f"{len(chunks)} pair is too few, {PAIRS_MIN} is the least", field="source_dir"
        )
    return [{"query": first_sentence(chunk), "positive": chunk} for chunk in chunks]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (UnicodeDecodeError, OSError):
        return ""


def _chunks(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + CHUNK_WORDS]) for at in range(0, len(words), CHUNK_WORDS)]


def _read(path: Path) -> list[Row]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
    if not rows:
        raise InvalidError("the file has no pairs", field="training_data")
    return rows
