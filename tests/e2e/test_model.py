"""The real model: it is the published one, it is offline, it costs nothing before it is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from math import inf
from pathlib import Path

import numpy as np
import pytest

from memd.base.errors import DegradedError, ModelError
from memd.domain.encoding import SentenceLogits
from memd.embedding.embed import EmbedderThread, Encoder, load_encoder
from memd.embedding.install import COSINE_MIN, export, install, parse_references, verify
from memd.embedding.model_files import FINGERPRINT, MANIFEST_FILE, read_manifest, status
from memd.text.tokens import counter_for

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.model
Vector = np.ndarray[tuple[int], np.dtype[np.float32]]
Embed = Callable[..., Awaitable[list[Vector]]]


def golden() -> list[tuple[str, Vector]]:
    raw = (ROOT / "tests" / "golden" / "reference_vectors.json").read_text("utf-8")
    return [(text, np.frombuffer(vector, dtype="<f4")) for text, vector in parse_references(raw)]


def run_python(code: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.fixture
def embed(model_dir: Path, encoder: Encoder) -> Embed:
    """Return what embeds texts in a thread of its own, which remembers no vector."""

    async def embedded(*texts: str) -> list[Vector]:
        thread = EmbedderThread(model_dir, loader=lambda _folder, _manifest: encoder)
        try:
            return [np.frombuffer(vector, "<f4") for vector in await thread.embed(texts)]
        finally:
            await thread.close()

    return embedded


async def test_the_vectors_are_those_of_another_implementation(embed: Embed) -> None:
    texts, vectors = zip(*golden(), strict=True)
    for text, own, other in zip(texts, await embed(*texts), vectors, strict=True):
        assert own.shape == (FINGERPRINT.dimension,)
        assert abs(float(np.linalg.norm(own)) - 1) < 1e-5
        assert float(own @ other) >= 0.99999, text


async def test_the_vector_of_a_text_does_not_depend_on_its_batch_mates(embed: Embed) -> None:
    texts = [text for text, _ in golden()]
    together = await embed(*texts)
    for text, other in zip(texts[:6], together, strict=False):
        (alone,) = await embed(text)
        assert float(alone @ other) >= 0.999999


async def test_the_end_of_a_long_text_is_not_lost(model_dir: Path, embed: Embed) -> None:
    filler = "The harvest report lists nothing but barley and oats. " * 60
    ends = ["The password rotation is every ninety days.", "The cat sleeps on the red sofa."]
    assert counter_for(model_dir).count(filler) > 2 * FINGERPRINT.window_tokens
    first, second, one, two = await embed(filler + ends[0], filler + ends[1], *ends)
    assert first @ one > second @ one
    assert second @ two > first @ two


def test_tokens_are_counted_as_the_model_cuts_them(model_dir: Path) -> None:
    counter = counter_for(model_dir)
    counts = {"": 0, "hello": 1, "embeddings": 4, "hello, world!": 4}
    assert {text: counter.count(text) for text in counts} == counts
    assert counter.count("word " * 1_000) == 1_000


def test_importing_the_embedder_loads_nothing_heavy() -> None:
    code = (
        "import sys, memd.embedding.embed, memd.text.tokens; "
        "print([m for m in ('numpy', 'fastembed', 'onnxruntime', 'onnx', 'tokenizers', "
        "'huggingface_hub', 'httpx') if m in sys.modules])"
    )
    assert run_python(code) == "[]"


def test_counting_tokens_does_not_load_the_model(model_dir: Path) -> None:
    code = (
        "import sys, pathlib; from memd.text.tokens import counter_for; "
        f"n = counter_for(pathlib.Path({str(model_dir)!r})).count('hello'); "
        "print(n, [m for m in ('numpy', 'fastembed', 'onnxruntime') if m in sys.modules])"
    )
    assert run_python(code) == "1 []"


def test_embedding_asks_no_network_and_leaves_nothing_behind(
    model_dir: Path, tmp_path: Path
) -> None:
    """Native code escapes the audit hook, so what it would need is looked for: files, threads.

    onnxruntime reports to its maker through a device id and a queue in the home
    folder, and a thread; as CI it would not, so the child must not look like CI.
    """
    code = f"""
import asyncio, os, pathlib, sys, threading
for name in ("CI", "TF_BUILD", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS"):
    os.environ.pop(name, None)
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg"):
        raise OSError(f"{{event}}: {{args}}")
sys.addaudithook(refuse)
from memd.embedding.embed import EmbedderThread
async def main():
    thread = EmbedderThread(pathlib.Path({str(model_dir)!r}))
    [vector] = await thread.embed(["text"])
    tasks = pathlib.Path("/proc/self/task")
    foreign = len(list(tasks.iterdir())) - threading.active_count() if tasks.exists() else 0
    await thread.close()
    print(len(vector), foreign)
asyncio.run(main())
"""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    out = run_python(
        code,
        HF_ENDPOINT="http://127.0.0.1:9",
        HOME=str(home),
        XDG_CACHE_HOME=str(home),
        TMPDIR=str(temporary),
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert out == f"{4 * FINGERPRINT.dimension} 0"
    assert list(home.rglob("*")) == []
    assert list(temporary.iterdir()) == []


def test_a_thread_that_nobody_closed_does_not_keep_the_process(model_dir: Path) -> None:
    code = f"""
import asyncio, pathlib
from memd.embedding.embed import EmbedderThread
thread = EmbedderThread(pathlib.Path({str(model_dir)!r}))
asyncio.run(thread.embed(["text"]))
print("end")
"""
    assert run_python(code) == "end"


def test_an_exported_model_installs_on_the_next_computer(model_dir: Path, tmp_path: Path) -> None:
    carried = export(model_dir, tmp_path / "model.zip")
    installed = install(
        tmp_path / "next" / "model", source=carried, progress=lambda _what, _share: None
    )
    assert installed.installed
    assert installed.files == status(model_dir).files


def test_a_model_with_other_numbers_is_refused_even_when_its_hashes_agree(
    model_dir: Path, tmp_path: Path
) -> None:
    import onnx

    from memd.embedding.model_files import write_manifest

    folder = tmp_path / "model"
    shutil.copytree(model_dir, folder)
    model = onnx.load(str(folder / "model.onnx"))
    for tensor in model.graph.initializer:
        if tensor.name == "encoder.layer.3.output.dense.weight":
            tensor.raw_data = bytes(len(tensor.raw_data))
    onnx.save(model, str(folder / "model.onnx"))
    manifest = write_manifest(folder)
    with pytest.raises(ModelError, match="reference vectors"):
        verify(folder, manifest)
    assert COSINE_MIN > 0.999


def test_a_flipped_bit_in_the_weights_is_found_before_they_are_used(
    model_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_dir, folder)
    with (folder / "model.onnx").open("r+b") as file:
        file.seek(45_000_000)
        byte = file.read(1)[0]
        file.seek(45_000_000)
        file.write(bytes([byte ^ 1]))
    manifest = read_manifest(folder)
    assert manifest is not None
    with pytest.raises(ModelError, match=r"model\.onnx is damaged"):
        load_encoder(folder, manifest)
    assert "model.onnx is damaged" in str(status(folder).problem)


LASTING = "Every endpoint of this project lives in a module of its own."
MOMENT = "Now run it again and tell me what it prints."


async def judged(model_dir: Path, *messages: list[str]) -> list[list[SentenceLogits]]:
    thread = EmbedderThread(model_dir)
    try:
        return await thread.classify(messages)
    finally:
        await thread.close()


async def test_the_model_tells_what_lasts_from_an_order_of_the_moment(model_dir: Path) -> None:
    [[lasting], [moment]] = await judged(model_dir, [LASTING], [MOMENT])
    assert lasting.worth > moment.worth + 1.0


async def test_the_same_words_of_an_agent_are_judged_apart(model_dir: Path) -> None:
    thread = EmbedderThread(model_dir)
    try:
        [[own], [of_agent]] = await thread.classify([[LASTING], [LASTING]], agents={1})
    finally:
        await thread.close()
    assert own.plain > of_agent.plain == -inf
    assert own.statement == pytest.approx(of_agent.statement, abs=1e-4)


async def test_what_is_told_of_a_message_does_not_depend_on_its_batch_mates(
    model_dir: Path,
) -> None:
    alone = await judged(model_dir, [LASTING, MOMENT])
    long = [f"Sentence number {at} speaks of something else altogether." for at in range(40)]
    pasted = ["w" * 70_000, "another text"]  # more than is cut into pieces at a time
    _, among, empty, _ = await judged(model_dir, long, [LASTING, MOMENT], [], pasted)
    for one, other in zip(alone[0], among, strict=True):
        assert one.worth == pytest.approx(other.worth, abs=1e-3)
        assert one.kinds == pytest.approx(other.kinds, abs=1e-3)
        assert one.statement == pytest.approx(other.statement, abs=1e-3)
    assert empty == []


async def test_a_model_that_an_earlier_memd_installed_embeds_and_judges_nothing(
    model_dir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_dir, folder)
    manifest = folder / MANIFEST_FILE
    manifest.write_text(manifest.read_text().replace('"version": 2', '"version": 1'))
    state = status(folder)
    assert state.installed
    assert state.problem is not None
    assert "rules alone" in state.problem
    with pytest.raises(DegradedError, match="judges no sentences"):
        await judged(folder, [LASTING])


async def test_a_message_is_judged_once(model_dir: Path) -> None:
    thread = EmbedderThread(model_dir)
    try:
        [first] = await thread.classify([[LASTING]])
        again, other = await thread.classify([[LASTING], [MOMENT]])
    finally:
        await thread.close()
    assert again is first
    assert len(other) == 1
