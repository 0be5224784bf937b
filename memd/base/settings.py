"""The settings loader: one TOML or YAML file, then the environment, into one model.

The caller passes the model, so this package knows no setting. The environment overrides the
file, the file the model's defaults. Errors become one MemoryConfigError that names the key,
its value, its source and what is allowed.

A variable is a setting if its name has the prefix and two underscores between the parts:
``MEMD_MEMORY__LEVEL=persistent``; ``MEMD_HOME`` and the like are none. Values are text,
except that ``null`` or an empty value means None, and a value that begins with ``[`` or
``{`` is JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from memd.base.errors import MemoryConfigError
from memd.base.limits import SETTINGS_BYTES_MAX

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    M = TypeVar("M", bound=BaseModel)

PREFIX = "MEMD_"
SUFFIXES = (".toml", ".yaml", ".yml")
_NAME = re.compile(r"""\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^."']+""")
_KEY = re.compile(rf"(?:{_NAME.pattern})(?:\.(?:{_NAME.pattern}))*")
_BARE = re.compile(r"""[^."']+""")
_ERRORS_SHOWN = 5
_VALUE_CHARS_SHOWN = 80


class SettingsWarning(UserWarning):
    """A setting is accepted but overruled, or has no effect."""


def find(config_file: Path) -> Path | None:
    """Return the settings file, *config_file* or its YAML sibling, or None.

    Raises MemoryConfigError if there are several, since only one can count.
    """
    paths = [path for path in map(config_file.with_suffix, SUFFIXES) if path.is_file()]
    if len(paths) > 1:
        names = ", ".join(str(path) for path in paths)
        raise MemoryConfigError(f"there are several settings files: {names}", hint="keep one")
    return paths[0] if paths else None


def load(model: type[M], file: Path | None, environ: Mapping[str, str]) -> M:
    """Return *model* filled from *file* and *environ*. Raises MemoryConfigError.

    A given *file* must exist. Nothing is written or cached.
    """
    return load_tree(model, read(file) if file else {}, file, environ)


def load_tree(
    model: type[M], tree: dict[str, Any], file: Path | None, environ: Mapping[str, str]
) -> M:
    """Return *model* filled from *tree*, the content of *file*, and *environ*, like ``load``.

    *tree* is not changed.
    """
    tree = dict(tree)
    return validate(model, tree, file, _override(tree, environ))


def validate(
    model: type[M],
    tree: dict[str, Any],
    file: Path | None,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> M:
    """Return *model* filled from *tree*, the content of *file*. Raises MemoryConfigError.

    *sources* maps dotted keys to the variables that set them.
    """
    from pydantic import ValidationError

    try:
        # Corrections in errors are written in the file's own format.
        return model.model_validate(tree, context={"suffix": file.suffix if file else ""})
    except ValidationError as error:
        details = error.errors(include_url=False)
    problems = [_explain(model, detail, sources, file) for detail in details[:_ERRORS_SHOWN]]
    if len(details) > len(problems):
        problems.append(f"and {len(details) - len(problems)} more")
    problems.sort(key=lambda problem: "\n" in problem)  # a block to paste comes last
    key = join_key([str(step) for step in details[0]["loc"]]) or None
    # `from None`: pydantic's own text would repeat the whole tree.
    raise MemoryConfigError("\n".join(problems), field=key) from None


def peek(file: Path | None, environ: Mapping[str, str], path: tuple[str, ...]) -> Any:
    """Return the setting at *path* as written, None if it is not set.

    It is not validated; ``load`` does that.
    """
    tree: Any = read(file) if file else {}
    _override(tree, environ)
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def origins(file: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the source of each setting that is set, its variable or ``file``, by dotted key."""
    tree = read(file) if file else {}
    variables = _override({}, environ)
    return dict.fromkeys(_leaves(tree), "file") | variables


def _leaves(tree: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[str]:
    for name, value in tree.items():
        path = (*above, str(name))
        if isinstance(value, dict):
            yield from _leaves(value, path)
        else:
            yield join_key(path)


def join_key(path: Sequence[str]) -> str:
    """Return *path* as a dotted TOML key: a name with a dot is quoted.

    >>> join_key(("memory", "agents", "a.b"))
    'memory.agents."a.b"'
    """
    return ".".join(name if _BARE.fullmatch(name) else json.dumps(name) for name in path)


def split_key(key: str) -> tuple[str, ...]:
    """Return the path of the dotted *key*. Raises MemoryConfigError for an invalid key.

    >>> split_key('memory.agents."a.b".level'), split_key("'a.b'")
    (('memory', 'agents', 'a.b', 'level'), ('a.b',))
    """
    if _KEY.fullmatch(key) is None:
        raise MemoryConfigError(
            f"{key!r} is no setting", field="key", hint='a name that has a dot is quoted: "a.b"'
        )
    try:
        return tuple(_unquote(match.group()) for match in _NAME.finditer(key))
    except ValueError:
        raise MemoryConfigError(f"{key!r} is quoted wrongly", field="key") from None


def _unquote(name: str) -> str:
    if name[0] == "'":
        return name[1:-1]
    return str(json.loads(name)) if name[0] == '"' else name


def read(file: Path) -> dict[str, Any]:
    """Return the tree in *file*. Raises MemoryConfigError if it cannot be parsed."""
    text = _text(file)
    tree = _toml(text, file) if file.suffix == ".toml" else _yaml(text, file)
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise MemoryConfigError(f"{file} holds no settings", hint="write sections, such as memory:")
    return tree


def _text(file: Path) -> str:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise MemoryConfigError(f"{file} cannot be read: {error.strerror}") from error
    if len(raw) > SETTINGS_BYTES_MAX:
        raise MemoryConfigError(f"{file} is larger than {SETTINGS_BYTES_MAX} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MemoryConfigError(f"{file} is not UTF-8 text, at byte {error.start}") from None


def _toml(text: str, file: Path) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MemoryConfigError(f"{file} is not TOML: {error}") from None


def _yaml(text: str, file: Path) -> Any:
    import yaml

    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            _check_duplicates(root, file)
            return loader.construct_document(root) if root else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise MemoryConfigError(f"{file} is not YAML, line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise MemoryConfigError(f"{file} is not YAML: {error}") from None


def _check_duplicates(root: Any, file: Path) -> None:
    """Raise MemoryConfigError for a duplicate key, of which YAML would take the last."""
    import yaml

    pending: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    seen: set[int] = set()  # a node with an anchor is visited once
    while pending:
        node, above = pending.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += [(child, above) for child in node.value]
            continue
        lines: dict[tuple[str, str], int] = {}
        for name, value in node.value:
            pair, line = (name.tag, str(name.value)), name.start_mark.line + 1
            path = (*above, str(name.value))
            if pair in lines:
                key = join_key(path)
                raise MemoryConfigError(
                    f"{file} has {key} twice, in lines {lines[pair]} and {line}",
                    field=key,
                    hint="keep one",
                )
            lines[pair] = line
            pending.append((value, path))


def _override(tree: dict[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Set the environment's settings in *tree*; return the variables by dotted key."""
    sources: dict[str, str] = {}
    for variable in sorted(environ):
        path = variable.removeprefix(PREFIX).lower().split("__")
        if not variable.startswith(PREFIX) or len(path) == 1:
            continue
        if not all(path):
            raise MemoryConfigError(f"{variable} names no setting", hint=f"{PREFIX}SECTION__KEY")
        section = tree
        for step in path[:-1]:
            inner = section.get(step)
            section[step] = section = dict(inner) if isinstance(inner, dict) else {}
        section[path[-1]] = _value(variable, environ[variable])
        sources[join_key(path)] = variable
    return sources


def _value(variable: str, text: str) -> Any:
    if text in {"", "null"}:
        return None
    if text[0] not in "[{":
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise MemoryConfigError(f"{variable} is not JSON: {error}", field=variable) from None


def _explain(
    model: type[BaseModel], detail: ErrorDetails, sources: Mapping[str, str], file: Path | None
) -> str:
    """Return a line about one error: key, value, what is allowed, and its source."""
    key = join_key([str(step) for step in detail["loc"]])
    if not key and detail["type"] == "value_error":
        # The message of a rule over the whole tree begins with its key.
        key, message = str(detail["ctx"]["error"]).partition(" ")[::2]
        return f"{key} {message} (in {_source_of(key, sources) or file or 'the settings'})"
    key = key or "settings"
    where = _source_of(key, sources) or file or "the settings"
    if detail["type"] == "extra_forbidden":
        allowed = ", ".join(_names_at(model, detail["loc"][:-1]))
        return f"{key} is no setting; there are {allowed} (in {where})"
    if detail["type"] == "missing":
        return f"{key} is missing (in {where})"
    if detail["type"] == "value_error":
        # The lines after the first are a block to paste.
        message, *block = str(detail["ctx"]["error"]).split("\n")
        return "\n".join([f"{key}: {message} (in {where}){':' if block else ''}", *block])
    value = repr(detail["input"])[:_VALUE_CHARS_SHOWN]
    rule = detail["msg"].removeprefix("Input should").strip()
    return f"{key} = {value} must {rule} (in {where})"


def _source_of(key: str, sources: Mapping[str, str]) -> str | None:
    """Return the variable that set *key*, a part of it, or its section."""
    for path, variable in sources.items():
        if f"{path}.".startswith(f"{key}.") or key.startswith(f"{path}."):
            return variable
    return None


def _names_at(model: type[BaseModel], place: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the names of the settings at *place* in *model*."""
    for step in place:
        field = model.model_fields.get(str(step))
        models = _models_in(field.annotation) if field else []
        if models:
            model = models[0]
    yield from model.model_fields


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models in *annotation*, as in ``Section | None``."""
    from typing import get_args

    from pydantic import BaseModel

    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [kind for part in get_args(annotation) for kind in _models_in(part)]
