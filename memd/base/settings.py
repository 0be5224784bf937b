"""The settings loader: one TOML or YAML file, then the environment, into one model.

It knows no setting: the caller hands in the model, so this floor needs nothing
from the rooms above. What the environment says wins over the file, the file
over the model's defaults. What is wrong comes back as one MemoryConfigError
that names the key, its value, where it was written and what is allowed.

A variable is a setting when its name has the prefix and two underscores
between the parts: ``MEMD_MEMORY__LEVEL=persistent``. ``MEMD_HOME`` and the
like are none. Values are read as text, except that ``null`` or nothing means
None and what begins with ``[`` or ``{`` is JSON.
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
    """Return the settings file: *config_file* or its YAML sibling, or None when there is none.

    Raises MemoryConfigError when there are two, since only one could count.
    """
    paths = [path for path in map(config_file.with_suffix, SUFFIXES) if path.is_file()]
    if len(paths) > 1:
        names = ", ".join(str(path) for path in paths)
        raise MemoryConfigError(f"there are several settings files: {names}", hint="keep one")
    return paths[0] if paths else None


def load(model: type[M], file: Path | None, environ: Mapping[str, str]) -> M:
    """Return *model* filled from *file* and *environ*; raises MemoryConfigError.

    A *file* that is given must be there. Nothing is written or remembered.
    """
    return merged(model, read(file) if file else {}, file, environ)


def merged(
    model: type[M], tree: dict[str, Any], file: Path | None, environ: Mapping[str, str]
) -> M:
    """Return *model* filled from *tree*, which *file* has or will have, and *environ*; as ``load``.

    *tree* stays as it is.
    """
    tree = dict(tree)
    return checked(model, tree, file, _override(tree, environ))


def checked(
    model: type[M],
    tree: dict[str, Any],
    file: Path | None,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> M:
    """Return *model* filled from *tree*, as *file* has it or will have it; raises as ``load``.

    *sources*: which variable set which dotted key.
    """
    from pydantic import ValidationError

    try:
        # What is printed as a correction is in the file's own language.
        return model.model_validate(tree, context={"suffix": file.suffix if file else ""})
    except ValidationError as error:
        details = error.errors(include_url=False)
    shown = [_explain(model, detail, sources, file) for detail in details[:_ERRORS_SHOWN]]
    if len(details) > len(shown):
        shown.append(f"and {len(details) - len(shown)} more")
    shown.sort(key=lambda problem: "\n" in problem)  # a block to be pasted stands last
    key = dotted([str(step) for step in details[0]["loc"]]) or None
    # Without `from`: the error's own text would repeat the whole tree.
    raise MemoryConfigError("\n".join(shown), field=key) from None


def peek(file: Path | None, environ: Mapping[str, str], path: tuple[str, ...]) -> Any:
    """Return the one setting at *path* as it was written, None where it was not.

    It is not checked: who needs to be sure loads the model.
    """
    tree: Any = read(file) if file else {}
    _override(tree, environ)
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def origins(file: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return where each setting was written that was: its variable, or ``file``, by dotted key."""
    tree = read(file) if file else {}
    variables = _override({}, environ)
    return dict.fromkeys(_leaves(tree), "file") | variables


def _leaves(tree: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[str]:
    for name, value in tree.items():
        path = (*above, str(name))
        if isinstance(value, dict):
            yield from _leaves(value, path)
        else:
            yield dotted(path)


def dotted(path: Sequence[str]) -> str:
    """Return *path* as one key, as TOML writes it: a name that has a dot is quoted.

    >>> dotted(("memory", "agents", "a.b"))
    'memory.agents."a.b"'
    """
    return ".".join(name if _BARE.fullmatch(name) else json.dumps(name) for name in path)


def undotted(key: str) -> tuple[str, ...]:
    """Return the path that *key* names; raises MemoryConfigError for none.

    >>> undotted('memory.agents."a.b".level'), undotted("'a.b'")
    (('memory', 'agents', 'a.b', 'level'), ('a.b',))
    """
    if _KEY.fullmatch(key) is None:
        raise MemoryConfigError(
            f"{key!r} is no setting", field="key", hint='a name that has a dot is quoted: "a.b"'
        )
    try:
        return tuple(_unquoted(match.group()) for match in _NAME.finditer(key))
    except ValueError:
        raise MemoryConfigError(f"{key!r} is quoted wrongly", field="key") from None


def _unquoted(name: str) -> str:
    if name[0] == "'":
        return name[1:-1]
    return str(json.loads(name)) if name[0] == '"' else name


def read(file: Path) -> dict[str, Any]:
    """Return the tree in *file*; raises MemoryConfigError when it is none."""
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
            _refuse_twice(root, file)
            return loader.construct_document(root) if root else None
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise MemoryConfigError(f"{file} is not YAML, line {line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise MemoryConfigError(f"{file} is not YAML: {error}") from None


def _refuse_twice(root: Any, file: Path) -> None:
    """Raise MemoryConfigError for a key that stands twice: YAML would take the last one."""
    import yaml

    left: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    seen: set[int] = set()  # an anchor's node stands wherever it is named
    while left:
        node, above = left.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            left += [(each, above) for each in node.value]
            continue
        lines: dict[tuple[str, str], int] = {}
        for name, value in node.value:
            pair, line = (name.tag, str(name.value)), name.start_mark.line + 1
            path = (*above, str(name.value))
            if pair in lines:
                key = dotted(path)
                raise MemoryConfigError(
                    f"{file} has {key} twice, in lines {lines[pair]} and {line}",
                    field=key,
                    hint="keep one",
                )
            lines[pair] = line
            left.append((value, path))


def _override(tree: dict[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Put the environment's settings into *tree*; return which variable set which dotted key."""
    sources: dict[str, str] = {}
    for variable in sorted(environ):
        path = variable.removeprefix(PREFIX).lower().split("__")
        if not variable.startswith(PREFIX) or len(path) == 1:
            continue
        if not all(path):
            raise MemoryConfigError(f"{variable} names no setting", hint=f"{PREFIX}SECTION__KEY")
        below = tree
        for step in path[:-1]:
            inner = below.get(step)
            below[step] = below = dict(inner) if isinstance(inner, dict) else {}
        below[path[-1]] = _value(variable, environ[variable])
        sources[dotted(path)] = variable
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
    """Say one thing that is wrong in one line: key, value, what is allowed, where it stands."""
    key = dotted([str(step) for step in detail["loc"]])
    if not key and detail["type"] == "value_error":
        # A rule of the whole tree begins with the key that it is about.
        key, message = str(detail["ctx"]["error"]).partition(" ")[::2]
        return f"{key} {message} (in {_where(key, sources) or file or 'the settings'})"
    key = key or "settings"
    where = _where(key, sources) or file or "the settings"
    if detail["type"] == "extra_forbidden":
        allowed = ", ".join(_known(model, detail["loc"][:-1]))
        return f"{key} is no setting; there are {allowed} (in {where})"
    if detail["type"] == "missing":
        return f"{key} is missing (in {where})"
    if detail["type"] == "value_error":
        # What follows the first line is a block to be pasted as it stands.
        message, *block = str(detail["ctx"]["error"]).split("\n")
        return "\n".join([f"{key}: {message} (in {where}){':' if block else ''}", *block])
    value = repr(detail["input"])[:_VALUE_CHARS_SHOWN]
    rule = detail["msg"].removeprefix("Input should").strip()
    return f"{key} = {value} must {rule} (in {where})"


def _where(key: str, sources: Mapping[str, str]) -> str | None:
    """Return the variable that set *key*, something in it, or what it stands in."""
    for path, variable in sources.items():
        if f"{path}.".startswith(f"{key}.") or key.startswith(f"{path}."):
            return variable
    return None


def _known(model: type[BaseModel], place: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the names of the settings at *place* in the tree of *model*."""
    for step in place:
        field = model.model_fields.get(str(step))
        kinds = _kinds(field.annotation) if field else []
        if kinds:
            model = kinds[0]
    yield from model.model_fields


def _kinds(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that *annotation* is made of, as in ``Section | None``."""
    from typing import get_args

    from pydantic import BaseModel

    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [kind for part in get_args(annotation) for kind in _kinds(part)]
