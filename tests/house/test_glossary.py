"""Names are the words of ``docs/glossary.md``: what stands there under "not" names nothing new."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from support import sources
from support.sources import MODULES, ROOT, Function

GLOSSARY = ROOT / "docs" / "glossary.md"
HAPPENED = frozenset({"found", "said", "told", "wanted", "sought"})
NAMED_SO = re.compile(
    rf"\b_*(?:{'|'.join(sorted(HAPPENED))})_*\b\s*(?:[\])(,:;=+*@/|&^<>%-]|\b(?:in|as)\b)"
)
"""What a file must hold to have a name of those; most need not be parsed."""
IRREGULAR = re.compile(
    r"begun|bought|brought|built|caught|chosen|done|drawn|felt|forgotten|given|gone|got|heard|held"
    r"|hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|proven|said|seen|sent|shown"
    r"|sold|spent|spoken|stood|stuck|taken|taught|thought|told|torn|understood|won|worn|written"
)
REGULAR = re.compile(r"(?!embed|exceed|feed|need|proceed|seed|shed|speed|succeed)\w{2,}ed")
AFTER_PARTICIPLES = re.compile(
    r"about|again|apart|as|at|away|back|by|down|for|from|in|into|of|off|on|out|over|to|up|with"
)
STATES = frozenset({"flagged", "shared", "turned_away"})
"""Modes of a lock, and commands and tables that are named as on the wire."""


def refused() -> set[str]:
    """Return the words in code font in the columns "not"."""
    words: set[str] = set()
    for line in GLOSSARY.read_text("utf-8").splitlines():
        cells = line.split("|")
        if len(cells) == 5:  # three columns, and what is outside of them
            words |= set(re.findall(r"`([a-z_]+)`", cells[3]))
    return words


def names() -> Iterator[str]:
    """Yield the public classes, functions and methods of memd."""
    for path in MODULES:
        for node in sources.tree(path).body:
            if isinstance(node, Function):
                yield node.name
            elif isinstance(node, ast.ClassDef):
                yield node.name
                yield from (
                    f"{node.name}.{inner.name}"
                    for inner in node.body
                    if isinstance(inner, Function)
                )


def snake(name: str) -> str:
    """Return a name as words in lower case.

    >>> snake("PutAway"), snake("Archive.put_away")
    ('put_away', 'put_away')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.rpartition(".")[2]).lower()


def test_no_new_name_is_a_word_that_the_glossary_refuses() -> None:
    words = refused()
    assert words
    offending = {
        name
        for name in names()
        if not snake(name).startswith("_")
        and (snake(name) in words or any("_" in word and word in snake(name) for word in words))
    }
    assert offending == set()


def test_a_value_is_called_what_it_is() -> None:
    offending = {
        f"{path.relative_to(ROOT)}: {function.name}: {name}"
        for folder in ("memd", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if NAMED_SO.search(sources.text(path))
        for function in sources.functions(path)
        for name in _own_names(function) & HAPPENED
    }
    assert sorted(offending) == []


def test_a_function_is_named_by_what_it_does() -> None:
    """A verb or a noun; a participle says what happened to a value. Properties may name states."""
    offending = {
        f"{path.relative_to(ROOT)}: {function.name}"
        for path in MODULES
        for function in sources.functions(path)
        if not any(_is_property(decorator) for decorator in function.decorator_list)
        if _is_participle(function.name)
    }
    assert sorted(offending) == []


def test_a_module_and_a_class_are_named_by_what_they_hold() -> None:
    """A noun; a participle says what happened to the value."""
    modules = {str(path.relative_to(ROOT)) for path in MODULES if _is_participle(path.stem)}
    classes = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in MODULES
        for node in sources.tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if _is_participle(snake(node.name))
    }
    assert sorted(modules | classes) == []


def _is_property(decorator: ast.expr) -> bool:
    name = decorator.id if isinstance(decorator, ast.Name) else ""
    return name in {"property", "cached_property"}


def _is_participle(name: str) -> bool:
    """Return whether *name* is a participle, alone or with a preposition.

    >>> _is_participle("_understood"), _is_participle("made_of"), _is_participle("shared_scope")
    (True, True, False)
    """
    first, *others = name.strip("_").split("_")
    if name in STATES or not all(map(AFTER_PARTICIPLES.fullmatch, others)):
        return False
    return bool(IRREGULAR.fullmatch(first) or REGULAR.fullmatch(first))


def _own_names(function: Function) -> set[str]:
    """Return what *function* calls itself, what it takes and what it assigns."""
    nodes = list(ast.walk(function))
    taken = {node.arg for node in nodes if isinstance(node, ast.arg)}
    assigned = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return taken | assigned | {function.name.strip("_")}


def test_a_word_has_one_line_in_the_glossary() -> None:
    rows = [
        line.split("|")[1].strip()
        for line in GLOSSARY.read_text("utf-8").splitlines()
        if line.startswith("| ") and not line.startswith("| word")
    ]
    words = [word.strip() for row in rows for word in re.sub(r"\(.*?\)|`", "", row).split(",")]
    assert sorted({word for word in words if words.count(word) > 1}) == []
