"""The embedding model itself is trained, judged, put to use and taken back (SPEC 18.2, D17).

Without torch only that it is asked for in vain is shown: ``pip install -e '.[dev,torch]'``,
then ``python -m tests.check torch``.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import forked
from support.daemon import Spawned, environment, spawned, wait_until
from support.tuning_data import ingest_all

from memd.base.errors import FineTuneCancelledError, FineTuneDependencyError
from memd.domain.learn import TuneRequest
from memd.embedding.embed import load_encoder
from memd.embedding.install import references
from memd.embedding.model_files import read_manifest, status
from memd.learn.tuning import encoder
from memd.learn.tuning.encoder import Triple

pytestmark = pytest.mark.model

# fmt: off
WORDS = ["zorble", "flimm", "quanx", "trabb", "wonkel", "sprith", "glomp", "vexil", "drimble",
         "oofta"]
THINGS = ["kettle", "ladder", "lantern", "anvil", "saddle", "bucket", "candle", "hammer", "basket",
          "mirror"]
# fmt: on
with_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed: pip install -e '.[dev,torch]'"
)
SECONDS_MAX = 300.0


def _sayings() -> list[dict[str, Any]]:
    """Return a hundred questions in words that nobody else uses, and answers in other words."""
    items: list[dict[str, Any]] = []
    for at in range(100):
        word, thing = at % len(WORDS), at // len(WORDS) % len(WORDS)
        place = {"session_id": f"s{at // 10}"}
        asked = f"Where did you put the {WORDS[word]} {WORDS[thing]}?"
        text = f"The {THINGS[word]} with the {THINGS[thing]} lies on shelf {at} of the store."
        items.append({"text": asked, "speaker": "Bo", "order": 2 * at, **place})
        items.append({"text": text, "speaker": "Al", "order": 2 * at + 1, **place})
    return items


SAYINGS = _sayings()
TRIPLES = [Triple(SAYINGS[2 * at]["text"], SAYINGS[2 * at + 1]["text"]) for at in range(40)]


@with_torch
def test_what_is_trained_is_the_model_and_what_is_written_is_what_was_trained(
    model_dir: Path, tmp_path: Path
) -> None:
    import torch

    texts = [each.text[:300] for each in references()]
    weights, tokens = encoder._read(model_dir), encoder._tokenizer(model_dir)
    with torch.no_grad():
        ours = encoder.vectors(weights, tokens, texts[:20]).numpy()
    manifest = read_manifest(model_dir)
    assert manifest is not None
    known = load_encoder(model_dir, manifest).encode(texts[:20]).vectors
    assert (ours * known).sum(axis=1).min() > 0.9999

    heard: list[float] = []
    quick = TuneRequest(epochs=1, learning_rate=1e-4)
    encoder.train(model_dir, tmp_path / "tuned", TRIPLES, quick, heard.append)
    assert heard[-1] == 1.0
    assert status(tmp_path / "tuned").installed
    made = read_manifest(tmp_path / "tuned")
    assert made is not None
    after = load_encoder(tmp_path / "tuned", made).encode(texts[:20]).vectors
    nearness = (after * known).sum(axis=1)
    assert 0.5 < nearness.mean() < 0.9999

    def near(folder: Path) -> float:
        manifest = read_manifest(folder)
        assert manifest is not None
        model = load_encoder(folder, manifest)
        asked = model.encode([each.question for each in TRIPLES]).vectors
        right = model.encode([each.passage for each in TRIPLES]).vectors
        return float(np.mean((asked @ right.T).argmax(axis=1) == np.arange(len(TRIPLES))))

    assert near(tmp_path / "tuned") > near(model_dir)


@with_torch
def test_a_training_that_is_stopped_writes_nothing(model_dir: Path, tmp_path: Path) -> None:
    def stop(_share: float) -> None:
        raise FineTuneCancelledError("stopped")

    with pytest.raises(FineTuneCancelledError):
        encoder.train(model_dir, tmp_path / "tuned", TRIPLES, TuneRequest(), stop)
    assert list(tmp_path.iterdir()) == []


@with_torch
def test_another_kind_of_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FineTuneDependencyError, match="cannot train"):
        encoder.train(tmp_path, tmp_path / "tuned", TRIPLES, TuneRequest(), lambda _share: None)


@pytest.fixture
def more(tmp_path: Path, model_dir: Path) -> dict[str, str]:
    own = tmp_path / "models" / model_dir.name
    shutil.copytree(model_dir, own)
    return {"MEMD_MODEL_DIR": str(own)}


@pytest.fixture
def daemon(tmp_path: Path, more: dict[str, str]) -> Iterator[Spawned]:
    with spawned(tmp_path, more) as daemon:
        yield daemon


def the_run(daemon: Spawned) -> dict[str, Any]:
    with daemon.client() as client:
        (run,) = client.call("tune.status")["runs"]
        return dict(run)


def test_without_torch_it_says_what_to_install(
    daemon: Spawned, tmp_path: Path, more: dict[str, str]
) -> None:
    if find_spec("torch") is not None:
        pytest.skip("torch is installed")
    done = forked.run(["tune", "run", "--encoder"], env=environment(tmp_path, more))
    assert done.returncode != 0
    assert "pip install 'memd[torch]'" in done.stderr


@with_torch
def test_a_better_encoder_is_put_to_use_and_taken_back(
    daemon: Spawned, tmp_path: Path, more: dict[str, str]
) -> None:
    with daemon.client() as client:
        ingest_all(client, SAYINGS)
        client.call("tune.start", {"encoder": True, "learning_rate": 3e-4, "epochs": 4})
        wait_until(lambda: the_run(daemon)["completed_at"] is not None, "it is over", SECONDS_MAX)
        run = the_run(daemon)
        assert (run["stage"], run["error"], run["trained"]) == ("complete", None, "encoder")
        assert run["verdict"]["better"], run["verdict"]
        assert run["model"].startswith("tuned-")
        wait_until(lambda: client.call("model.status")["in_use"] == run["model"], "it is used")
        client.call("model.undo")
        wait_until(lambda: client.call("model.status")["in_use"] != run["model"], "it is not")
    shown = forked.run(["tune", "status"], env=environment(tmp_path, more), check=True).stdout
    assert f"better: {run['model']}" in shown


@with_torch
def test_a_worse_encoder_is_not_put_to_use_and_leaves_nothing(
    daemon: Spawned, more: dict[str, str]
) -> None:
    with daemon.client() as client:
        ingest_all(client, SAYINGS)
        client.call("tune.start", {"encoder": True, "learning_rate": 0.5, "epochs": 1})
        wait_until(lambda: the_run(daemon)["completed_at"] is not None, "it is over", SECONDS_MAX)
        assert not the_run(daemon)["deployed"], the_run(daemon)
        assert client.call("model.status")["coming"] is None
    models = Path(more["MEMD_MODEL_DIR"]).parent
    assert [each.name for each in models.iterdir()] == [Path(more["MEMD_MODEL_DIR"]).name]


@with_torch
def test_a_killed_training_is_gone_on_with(tmp_path: Path, more: dict[str, str]) -> None:
    with spawned(tmp_path, more) as daemon:
        with daemon.client() as client:
            ingest_all(client, SAYINGS)
            client.call("tune.start", {"encoder": True})
        wait_until(lambda: (the_run(daemon)["progress"] or 0) > 0.1, "it trains", SECONDS_MAX)
        daemon.stop(signal.SIGKILL)
    with spawned(tmp_path, more) as daemon:
        assert "interrupted" in the_run(daemon)["error"]
        with daemon.client() as client:
            assert client.call("tune.start", {"resume": True})["stage"] == "training"
            with suppress(Exception):
                client.call("tune.cancel")
        assert the_run(daemon)["error"] == "cancelled by user"
