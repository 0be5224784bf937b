"""Loading settings from one TOML or YAML file and the environment into a pydantic model.

The caller passes the model. The environment overrides the file, and the file overrides the
model's defaults. All errors become one MemoryConfigError that names the key, its value, where
it was set, and what is allowed.

An environment variable is a setting if its name begins with ``MEMD_`` and has two underscores
between the parts of the key: ``MEMD_MEMORY__LEVEL=persistent``. Variables such as
``MEMD_HOME`` are not settings. A value is text; ``null`` and an empty value mean None, and a
value that begins with ``[`` or ``{`` is JSON.
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
_NAME = re.compile(r"""\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^."']+""")  # "a.b", 'a.b' or level
_KEY = re.compile(rf"(?:{_NAME.pattern})(?:\.(?:{_NAME.pattern}))*")  # memory."a.b".level
_BARE = re.compile(r"""[^."']+""")  # a name that needs no quotes
_ERRORS_SHOWN = 5
_VALUE_CHARS_SHOWN = 80


class SettingsWarning(UserWarning):
    """A setting is valid, but another one overrules it or it has no effect."""


def find(config_file: Path) -> Path | None:
    """Return the existing file among *config_file* and its YAML variants, None without one.

    Raises MemoryConfigError if there are several.
    """
    paths = [path for path in map(config_file.with_suffix, SUFFIXES) if path.is_file()]
    if len(paths) > 1:
        names = ", ".join(str(path) for path in paths)
        raise MemoryConfigError(f"there are several settings files: {names}", hint="keep one")
    return paths[0] if paths else None


def load(model: type[M], file: Path | None, environ: Mapping[str, str]) -> M:
    """Return *model* filled from *file*, if given, and *environ*.

    Raises MemoryConfigError, also if *file* does not exist.
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
        # The suffix lets a message show a corrected section in the file's own format.
        return model.model_validate(tree, context={"suffix": file.suffix if file else ""})
    except ValidationError as error:
        details = error.errors(include_url=False)
    problems = [_explain(model, detail, sources, file) for detail in details[:_ERRORS_SHOWN]]
    if len(details) > len(problems):
        problems.append(f"and {len(details) - len(problems)} more")
    problems.sort(key=lambda problem: "\n" in problem)  # messages of several lines come last
    key = join_key([str(step) for step in details[0]["loc"]]) or None
    # `from None`: pydantic's own text would repeat the whole tree.
    raise MemoryConfigError("\n".join(problems), field=key) from None


def peek(file: Path | None, environ: Mapping[str, str], path: tuple[str, ...]) -> Any:
    """Return the setting at *path* as it is written, without validation; None if it is not set."""
    tree: Any = read(file) if file else {}
    _override(tree, environ)
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def origins(file: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return where each setting is set, by dotted key: ``file``, or the name of its variable."""
    tree = read(file) if file else {}
    variables = _override({}, environ)
    return dict.fromkeys(leaves(tree), "file") | variables


def leaves(tree: Mapping[str, Any], parents: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the values of nested sections by dotted key.

    >>> leaves({"daemon": {"undo_days": 3}})
    {'daemon.undo_days': 3}
    """
    result: dict[str, Any] = {}
    for name, value in tree.items():
        path = (*parents, str(name))
        result |= leaves(value, path) if isinstance(value, dict) else {join_key(path): value}
    return result


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
    """Return the settings in *file* as nested dicts, {} for an empty file.

    Raises MemoryConfigError if it cannot be read or parsed.
    """
    text = _read_text(file)
    tree = _parse_toml(text, file) if file.suffix == ".toml" else _parse_yaml(text, file)
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise MemoryConfigError(f"{file} holds no settings", hint="write sections, such as memory:")
    return tree


def _read_text(file: Path) -> str:
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


def _parse_toml(text: str, file: Path) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MemoryConfigError(f"{file} is not TOML: {error}") from None


def _parse_yaml(text: str, file: Path) -> Any:
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
    """Raise MemoryConfigError if a key is given twice; PyYAML would silently use the last."""
    import yaml

    pending: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    visited: set[int] = set()  # ids of nodes: one with an anchor may be reached several times
    while pending:
        node, parents = pending.pop()
        if id(node) in visited or not isinstance(node, yaml.CollectionNode):
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += [(child, parents) for child in node.value]
            continue
        lines: dict[tuple[str, str], int] = {}
        for name, value in node.value:
            pair, line = (name.tag, str(name.value)), name.start_mark.line + 1
            path = (*parents, str(name.value))
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
    """Set the settings of *environ* in *tree*; return the variables' names by dotted key."""
    sources: dict[str, str] = {}
    for variable in sorted(environ):
        path = variable.removeprefix(PREFIX).lower().split("__")
        if not variable.startswith(PREFIX) or len(path) == 1:
            continue
        if not all(path):
            raise MemoryConfigError(f"{variable} names no setting", hint=f"{PREFIX}SECTION__KEY")
        section = tree
        for name in path[:-1]:
            inner = section.get(name)
            # A copy, because load_tree must not change its caller's sections.
            section[name] = section = dict(inner) if isinstance(inner, dict) else {}
        section[path[-1]] = _parse_value(variable, environ[variable])
        sources[join_key(path)] = variable
    return sources


def _parse_value(variable: str, text: str) -> Any:
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
    """Return the message for one error: key, value, what is allowed, and where it was set."""
    key = join_key([str(step) for step in detail["loc"]])
    if not key and detail["type"] == "value_error":
        # A validator of the whole tree begins its message with the key.
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
        # Lines after the first are a corrected section, to be pasted into the file.
        message, *block = str(detail["ctx"]["error"]).split("\n")
        return "\n".join([f"{key}: {message} (in {where}){':' if block else ''}", *block])
    value = repr(detail["input"])[:_VALUE_CHARS_SHOWN]
    rule = detail["msg"].removeprefix("Input should").strip()
    return f"{key} = {value} must {rule} (in {where})"


def _source_of(key: str, sources: Mapping[str, str]) -> str | None:
    """Return the variable that set *key*, a key below it, or a section that contains it."""
    for path, variable in sources.items():
        if f"{path}.".startswith(f"{key}.") or key.startswith(f"{path}."):
            return variable
    return None


def _names_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the names of the settings in the section of *model* at *loc*, a path of pydantic."""
    for step in loc:
        field = model.model_fields.get(str(step))
        models = _models_in(field.annotation) if field else []
        if models:
            model = models[0]
    yield from model.model_fields


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that *annotation* mentions; for ``Section | None`` it is ``[Section]``."""
    from typing import get_args

    from pydantic import BaseModel

    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [kind for part in get_args(annotation) for kind in _models_in(part)]
