"""The error message for an unknown ``memory.backend``, with a corrected section.

The examples of the documents name backends and stores that memd does not have. The message
contains the section with memd's own, in the format of the settings file, ready to paste
(docs/decisions/0011).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

BACKENDS = ("sqlite", "inmemory", "composite")
_OURS = {"backend": BACKENDS[0], "vector_store": "sqlite-vec", "history_store": "sqlite"}
_CONTAINER_DIR = "/data/memory"


def unknown_backend(
    name: str,
    known: tuple[str, ...],
    tree: Mapping[str, Any] | None = None,
    *,
    toml: bool = False,
) -> str:
    """Return the message for the unknown backend *name*, with a corrected ``memory`` section.

    *known* are the backends that exist, *tree* is the section as written.
    """
    corrected = _correct({"backend": BACKENDS[0], **(tree or {})})
    lines = _as_toml(corrected) if toml else _as_yaml(corrected)
    return "\n".join(
        [
            f"backend {name!r} is none of {', '.join(known)}; "
            "memd keeps everything in one SQLite file, so write",
            *lines,
        ]
    )


def _correct(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return *tree* with memd's own stores, and without the data folder of the documents."""
    corrected: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            corrected[key] = _correct(value)
        elif (key, value) != ("data_dir", _CONTAINER_DIR):
            corrected[key] = _OURS.get(key, value)
    return corrected


def _as_yaml(tree: Mapping[str, Any], name: str = "memory", indent: str = "") -> Iterator[str]:
    yield f"{indent}{name}:" if tree else f"{indent}{name}: {{}}"
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _as_yaml(value, key, indent + "  ")
        else:
            yield f"{indent}  {key}: {json.dumps(value, default=str)}"


def _as_toml(tree: Mapping[str, Any], name: str = "memory") -> Iterator[str]:
    """Yield the lines of tables, plain values before subtables; TOML has no null."""
    yield f"[{name}]"
    for key, value in tree.items():
        if value is not None and not isinstance(value, Mapping):
            yield f"{key} = {_in_toml(value)}"
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _as_toml(value, f"{name}.{key}")


def _in_toml(value: Any) -> str:
    """Return one value as TOML.

    >>> _in_toml([{"category": "social", "retention_days": 7}])
    '[{category = "social", retention_days = 7}]'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {_in_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_in_toml, value)) + "]"
    return json.dumps(value, default=str)
