"""No test fails because the machine is slow or busy (decision 0091).

What takes long is counted as work (``support.work_units``) or is a figure of ``tests/bench``;
whoever waits polls, up to a ceiling that no working machine reaches.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import pytest
from support import sources
from support.sources import ROOT, Function

TESTS = [
    path
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if path.parent.name != "bench" and path.name != "work_units.py"
]
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"}
CLOCKS |= {"process_time_ns", "thread_time", "thread_time_ns", "time_ns", "timeit", "repeat"}
OWNERS = {"time", "timeit", "loop"}  # time.monotonic(), timeit.repeat(), loop.time()
CEILING_S = 60.0
OF_WAITS = {"timeout": 0, "wait_for": 1, "settimeout": 0, "wait_until": 2, "until": 2, "wait": 0}
"""The place of the ceiling among the arguments of what waits."""
TESTED = "# the end of patience is tested"


def is_clock(node: ast.AST) -> bool:
    """Whether *node* asks how late it is."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    named = isinstance(owner, ast.Name) and owner.id in OWNERS
    return named and (node.func.attr in CLOCKS or node.func.attr == "time")


def timed(function: ast.AST) -> set[str]:
    """Return the names in *function* that hold a time, or what was made of one."""
    names: set[str] = set()
    while True:
        more = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr)
            and node.value is not None
            and holds_time(node.value, names)
            for one in (node.targets if isinstance(node, ast.Assign) else [node.target])
            for target in ast.walk(one)
            if isinstance(target, ast.Name)
        }
        if more <= names:
            return names
        names |= more


def holds_time(node: ast.AST, names: set[str]) -> bool:
    return any(
        is_clock(each) or (isinstance(each, ast.Name) and each.id in names)
        for each in ast.walk(node)
    )


def wall_times(tree: ast.Module) -> Iterator[int]:
    """Yield the lines that assert something about a time that was measured."""
    for function in ast.walk(tree):
        if isinstance(function, Function):
            names = timed(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Assert) and holds_time(node.test, names):
                    yield node.lineno


def short_waits(tree: ast.Module, lines: list[str]) -> Iterator[int]:
    """Yield the lines that give up before the ceiling."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(map(is_short, ceilings(node))):
            statement = "\n".join(lines[node.lineno - 1 : (node.end_lineno or node.lineno)])
            if TESTED not in statement:
                yield node.lineno


def ceilings(call: ast.Call) -> Iterator[ast.AST]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    name = call.func.id if isinstance(call.func, ast.Name) else name
    place = OF_WAITS.get(name)
    if place is not None and len(call.args) > place:
        yield call.args[place]
    for keyword in call.keywords:
        if keyword.arg == "timeout" or (keyword.arg == "seconds" and name in OF_WAITS):
            yield keyword.value


def is_short(ceiling: ast.AST) -> bool:
    value = ceiling.value if isinstance(ceiling, ast.Constant) else None
    return isinstance(value, int | float) and not isinstance(value, bool) and value < CEILING_S


def offenders(hint: str, find: Callable[[ast.Module, list[str]], Iterator[int]]) -> list[str]:
    """Return the places that *find* finds in the files that have the word *hint*."""
    places = []
    for path in TESTS:
        text = sources.text(path)
        if re.search(hint, text):
            lines = find(sources.tree(path), text.splitlines())
            places += [f"{path.relative_to(ROOT)}:{line}" for line in lines]
    return places


def test_no_test_asserts_how_long_something_took() -> None:
    assert offenders(r"\b(time|timeit|loop)\.", lambda tree, _lines: wall_times(tree)) == []


def test_whoever_waits_waits_long_enough_for_a_busy_machine() -> None:
    assert offenders(rf"\b(?:{'|'.join(OF_WAITS)})[(=]", short_waits) == []


@pytest.mark.parametrize(
    "code",
    [
        "assert time.monotonic() - began < 2",
        "took = time.perf_counter() - began\n    assert took < 2",
        "begun = loop.time()\n    worst = max(0, begun)\n    assert worst < 2, worst",
        "assert min(timeit.repeat(work)) < 1",
        "assert (end := time.process_time()) and end < 2",
    ],
)
def test_an_assertion_on_a_time_is_found(code: str) -> None:
    assert list(wall_times(ast.parse(f"def test_it():\n    {code}\n")))


@pytest.mark.parametrize(
    "code",
    ["asyncio.wait_for(one, 5)", "asyncio.timeout(0.8)", "run(timeout=20)", "raw.settimeout(5)"],
)
def test_a_short_wait_is_found_unless_its_end_is_tested(code: str) -> None:
    assert list(short_waits(ast.parse(code), [code]))
    marked = f"{code}  {TESTED}"
    assert not list(short_waits(ast.parse(marked), [marked]))
    assert not list(short_waits(ast.parse("asyncio.wait_for(one, WAIT_S)"), [""]))
