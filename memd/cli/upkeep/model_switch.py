"""``memd model list``, ``add``, ``use``, ``undo`` and ``bench``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from memd.base.errors import MemdError, ModelError, NotRunningError
from memd.base.paths import MODEL_NAME, RERANKER_NAME, Paths
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, call, daemon
from memd.cli.progress import Progress
from memd.cli.tables import table, text_column, word_column

POLL_SECONDS = 0.5
"""Time between two polls of a switch."""

Wait = Annotated[bool, "--wait", "Wait until the switch is complete."]


@options.examples("memd model list", "memd model list --json")
def list_() -> None:
    """List embedding models with their state and LMEB score."""
    from memd.embedding.lmeb import RANKINGS, Tier, find_row, select

    models = list_models(find_serving())
    try:
        rule: str | None = select([model["name"] for model in models], Tier.CPU)
    except MemdError:
        rule = None
    for model in models:
        row = find_row(model["name"])
        model["lmeb"] = row._asdict() if row else None
    if console.is_json():
        table_rows = [row._asdict() for row in RANKINGS]
        console.print_json({"models": models, "selected_by_lmeb": rule, "lmeb": table_rows})
        return
    columns = (
        word_column("MODEL", "name", whole=True),
        word_column("DIM", lambda model: model["dimension"] or "-"),
        word_column(
            "LMEB", lambda model: model["lmeb"]["overall"] if model["lmeb"] else "not ranked"
        ),
        word_column("STATE", "state"),
        text_column("PROBLEM", "problem"),
    )
    table(columns, models)
    if rule is None:
        console.note("LMEB ranks none of these; measure them on your memories: memd model bench")
    else:
        console.note(f"recommended by LMEB for a computer without a GPU: {rule}")


@options.examples(
    "memd model add ~/models/multilingual-e5-small", "memd model add ./mine --name e5"
)
def add(
    source: Annotated[Path, "SOURCE", "Folder with an ONNX model."],
    name: Annotated[str | None, "--name", "Name for the model; default: its folder's name."] = None,
) -> None:
    """Copy an embedding model into the models folder. "memd model use" switches to it."""
    from memd.embedding.add import add as put

    folder = put(Paths.resolve().model_dir, source.absolute(), name)
    if not console.print_if_json({"folder": str(folder), "name": folder.name}):
        console.out(str(folder))
        console.note(f"to use it: memd model use {folder.name}")


@options.examples("memd model use multilingual-e5-small", "memd model use all-MiniLM-L6-v2 --wait")
def use(
    name: Annotated[str, "NAME", "Name, as printed by memd model list."],
    wait: Wait = False,
) -> None:
    """Switch to another embedding model, in the background.

    All memories are embedded again; until that is done, the current model stays in use.
    """
    _report(call("model.use", name=name), wait)


@options.examples("memd model undo", "memd model undo --wait")
def undo(wait: Wait = False) -> None:
    """Cancel the switch of models, or switch back to the previous one."""
    _report(call("model.undo"), wait)


@options.examples("memd model bench", "memd model bench all-MiniLM-L6-v2 some-model --json")
def bench(
    names: Annotated[list[str] | None, "NAMES", "Models; default: all installed."] = None,
) -> None:
    """Measure how well models find your own memories by meaning. Changes nothing.

    The test questions are those asked in your conversations, each with the turn that answered it.
    Each model embeds the latest 500 memories, which takes about a minute.
    """
    models = names or [model["name"] for model in list_models({}) if model["installed"]]
    with daemon(seconds_max=LONG_SECONDS_MAX) as client:
        answer: dict[str, Any] = client.call("model.bench", {"names": models})
    if console.print_if_json(answer):
        return
    if not answer["pairs"]:
        console.out(f"{console.count(answer['memories'], 'memory')}: too few for test questions")
        return
    columns = (
        word_column("MODEL", "name", whole=True),
        word_column("RECALL@10", lambda model: f"{model['recall_10']:.3f}"),
        word_column("NDCG@10", lambda model: f"{model['ndcg_10']:.3f}"),
    )
    table(columns, answer["models"])
    memories = console.count(answer["memories"], "memory")
    console.note(f"{console.count(answer['pairs'], 'question')} over {memories}")


def _report(status: dict[str, Any], wait: bool) -> None:
    if wait and status["coming"]:
        status = _wait(status)
    if console.is_json():
        console.print_json(status)
    elif status["coming"]:
        target = status["coming"]
        console.out(f"switching from {status['in_use']} to {target['name']}: {_share(target)}")
        console.note("until then the current model stays in use; progress: memd status")
    else:
        console.out(f"in use: {status['in_use']}")


def _wait(answer: dict[str, Any]) -> dict[str, Any]:
    """Show the progress of a switch until it is complete. A problem ends the command."""
    with Progress(f"switching to {answer['coming']['name']}") as progress:
        while target := answer["coming"]:
            if target["problem"]:
                raise ModelError(console.line(target["problem"]), hint="memd retries every minute")
            progress.at(target["done"], target["total"])
            time.sleep(POLL_SECONDS)
            answer = call("model.status")
    return answer


def _share(target: dict[str, Any]) -> str:
    return f"{target['done']:,} of {console.count(target['total'], 'memory')}"


def find_serving() -> dict[str, Any]:
    """Return the daemon's ``model.status``: the model in use, and a switch; {} without a daemon."""
    try:
        serving: dict[str, Any] = call("model.status")
    except NotRunningError:
        return {}
    return serving


def list_models(serving: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the installed models and the default one, with their states according to *serving*.

    *serving* is the result of :func:`find_serving`.
    """
    from memd.embedding.model_files import status as look

    paths = Paths.resolve()
    home = paths.model_dir.parent
    names = {paths.model_dir.name or MODEL_NAME}
    if home.is_dir():
        names |= {at.name for at in home.iterdir() if at.is_dir() and not at.name.startswith(".")}
    entries = []
    for name in sorted(names - {RERANKER_NAME}):
        state = look(home / name)
        if not state.files and name != paths.model_dir.name:
            continue  # some other folder
        model = state.fingerprint
        entries.append(
            {
                "name": name,
                "installed": state.installed,
                "dimension": model.dimension if model else None,
                "fingerprint": str(model) if model else None,
                "state": _state(name, serving, installed=state.installed),
                "problem": state.problem,
            }
        )
    return entries


def _state(name: str, serving: dict[str, Any], *, installed: bool) -> str:
    target = serving.get("coming")
    if name == serving.get("in_use"):
        return "in use"
    if target and target["name"] == name:
        return f"switching, {_share(target)}"
    return "installed" if installed else "not installed"
