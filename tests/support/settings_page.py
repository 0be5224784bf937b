"""Generate ``docs/settings.md`` from the models: the values, default and use of each key.

The text of a key is its docstring in the model; a key without one is an error.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from memd.domain.settings.settings import Settings

HEAD = """\
# The settings

Made from the code by `python -m tests.support.docs`.

The settings are one YAML or TOML file, which need not exist; `memd config path` prints its path,
`memd config show` the effective settings. `memd config set KEY VALUE` changes one setting, or with
further pairs several at once, keeps the comments of the file, and says whether a restart is needed.
A key can also be set in the daemon's environment, in capitals and with two underscores for each
dot: `MEMD_DAEMON__LOG_LEVEL=debug`. The daemon reads the settings when it starts; on SIGHUP it
reads those of the log and of nights again.

```yaml
memory:
  retrieval: {max_memories: 10}
daemon:
  undo_days: 30
```

With an unknown key or a value out of bounds the daemon does not start, and names the key. A key
without effect is named in the log and by `memd config show`. `null` means not set.
"""

ORG_ROLES = """\
Alternatively, lists of roles: `write_access: {adrs: [human, senior], conventions: [human, mid]}`,
with the groups `policies`, `adrs`, `procedures`, `conventions` and `entity_definitions`. A group
that is not listed keeps its default: people write everything, agents from senior on all but
policies.
"""
NOTES = {
    "memory.composite": "For programs that use memd as a library; a daemon refuses this section.\n",
    "org_memory.write_access.rules.<category>": ORG_ROLES,
}
DEFAULTS = {"memory.agents.<name>.type": "that of `memory.level`"}
"""Defaults that no model says: others are of what memd ships with, or of the model."""


class Key(NamedTuple):
    """One key: its section, dotted, its name, and three cells of the table."""

    section: str
    name: str
    values: str
    default: str
    text: str


def settings_page() -> str:
    """Return ``docs/settings.md``."""
    shipped = Settings().model_dump(mode="json")
    lines, section = [HEAD], ""
    for key in keys(Settings, "", shipped):
        if key.section != section:
            section = key.section
            lines += [""] * (len(lines) > 1) + [f"## {section}", ""]
            lines += [NOTES[section]] if section in NOTES else []
            lines += ["| key | values | default | what |", "|---|---|---|---|"]
        lines.append(f"| `{key.name}` | {key.values} | {key.default} | {key.text} |")
    return "\n".join(lines) + "\n"


def keys(model: type[BaseModel], place: str, shipped: Any) -> Iterator[Key]:
    """Yield the keys of *model*, its own before those of its sections; *shipped* are defaults."""
    schema = model.model_json_schema()
    defs, fields = schema.get("$defs", {}), schema["properties"]
    below = []
    for name, field in model.model_fields.items():
        dotted = f"{place}.{name}".lstrip(".")
        kind, step = _section(field.annotation)
        if kind is not None:
            inner = shipped.get(name) if isinstance(shipped, Mapping) and not step else None
            below.append((kind, dotted + step, inner))
            continue
        given = isinstance(shipped, Mapping) and name in shipped
        if field.is_required():
            default = "must be given"
        else:
            default = _shown(shipped[name] if given else fields[name].get("default"))
        values = " or ".join(dict.fromkeys(_values(fields[name], defs)))
        texts = _texts(model)
        assert name in texts, f"say below {model.__name__}.{name} what it does"
        yield Key(place, name, values, DEFAULTS.get(dotted, default), texts[name])
    for kind, dotted, inner in below:
        yield from keys(kind, dotted, inner)


def _section(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """Return the model below a key and how one of several is named: ``.<name>`` or ``[]``."""
    if isinstance(annotation, type):
        return (annotation, "") if issubclass(annotation, BaseModel) else (None, "")
    step = ""
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        step = ".<category>" if "Category" in str(get_args(annotation)[0]) else ".<name>"
    elif origin is tuple:
        step = "[]"
    for part in get_args(annotation):
        kind, inner = _section(part)
        if kind is not None:
            return kind, step + inner
    return None, ""


def _values(field: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words what a JSON schema allows."""
    if "$ref" in field:
        yield from _values(defs[field["$ref"].rpartition("/")[2]], defs)
    elif "anyOf" in field:
        for one in field["anyOf"]:
            yield from _values(one, defs)
    elif "const" in field or "enum" in field:
        yield ", ".join(f"`{one}`" for one in field.get("enum", [field.get("const")]))
    elif field["type"] in ("integer", "number"):
        yield _bounds(field)
    elif field["type"] == "array":
        yield "list of " + " or ".join(_values(field["items"], defs))
    else:
        yield {"boolean": "`true`, `false`", "null": "`null`", "object": "map"}.get(
            field["type"], "text"
        )


def _bounds(field: Mapping[str, Any]) -> str:
    whole = "" if field["type"] == "integer" else "number "
    least, most = field.get("minimum"), field.get("maximum")
    if "exclusiveMinimum" in field:
        least = f"above {field['exclusiveMinimum']:g}"
    if "exclusiveMaximum" in field:
        most = f"below {field['exclusiveMaximum']:g}"
    least, most = (f"{one:g}" if isinstance(one, float) else one for one in (least, most))
    if least is None and most is None:
        return whole.strip() or "whole number"
    return f"{whole}{least} to {most}" if most is not None else f"{whole}{least} or more"


def _shown(default: Any) -> str:
    if isinstance(default, list):
        default = sorted(default)
    elif isinstance(default, float):
        return f"`{default:g}`"
    return f"`{json.dumps(default, ensure_ascii=False)}`".replace('"', "")


@cache
def _texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring below each key of *model*."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(tree, ast.ClassDef)
    texts = {}
    for statement, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(after, ast.Expr):
            assert isinstance(statement.target, ast.Name)
            texts[statement.target.id] = " ".join(str(ast.literal_eval(after.value)).split())
    return texts
