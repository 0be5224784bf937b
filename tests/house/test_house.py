"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median

import pytest
from support.commands import run_python
from support.sources import MODULES, ROOT, functions, nodes, text, tree

import memd

PACKAGE = ROOT / "memd"
LINES_MAX = 400
LINES_MEDIAN_MIN = 150
FUNCTION_LINES_MAX = 60
SHORT_LINES_MAX = 60
FOLDER_MODULES_MAX = 15
BARE = f"import sys; sys.path.append({str(ROOT)!r})"

# A program may be imported for its room alone, but these rooms must stay light
# (docs/architecture.md): what a client needs is the standard library.
HEAVY = {
    "apsw", "fastembed", "numpy", "onnx", "onnxruntime", "pydantic", "rich", "structlog",
    "tokenizers", "watchdog", "yaml",
}  # fmt: skip


def test_the_map_names_every_room_and_only_those() -> None:
    names = re.findall(r"^    (\w+)  +\S", memd.__doc__ or "", re.MULTILINE)
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    doors = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    assert sorted(names) == sorted(rooms | doors)


def test_a_public_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: its for name, its in places.items() if len(its) > 1} == {}


def test_a_room_has_a_docstring_and_nothing_else_in_its_init() -> None:
    for path in PACKAGE.glob("*/__init__.py"):
        body = tree(path).body
        assert len(body) == 1, path
        assert ast.get_docstring(ast.Module(body, [])), path


def test_no_module_is_longer_than_a_person_reads_in_one_go() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in MODULES
        if (count := len(text(path).splitlines())) > LINES_MAX
    }
    assert not long


def test_a_function_fits_on_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in MODULES
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES_MAX
    }
    assert long == set()


def test_no_folder_has_more_modules_than_a_person_looks_through() -> None:
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert {str(each): count for each, count in folders.items() if count > FOLDER_MODULES_MAX} == {}


def test_a_module_is_seldom_too_short_to_stand_alone() -> None:
    lines = [len(text(path).splitlines()) for path in MODULES if path.stem != "__init__"]
    assert median(lines) >= LINES_MEDIAN_MIN


def test_a_short_module_is_read_by_more_than_its_neighbour() -> None:
    """Else it is part of that one, unless it is loaded late or the two are too long for one."""
    users: dict[str, set[str]] = defaultdict(set)
    lines: dict[str, int] = {}
    for module in MODULES:
        name = ".".join(module.relative_to(ROOT).with_suffix("").parts)
        lines[name] = text(module).count("\n")
        for node in nodes(module):
            for imported in names_imported(node):
                is_late = node.col_offset > 0  # type: ignore[attr-defined]  # of a statement
                users[imported] |= {name, "late"} if is_late else {name}
    short = (name for name in lines if lines[name] <= SHORT_LINES_MAX and len(users[name]) == 1)
    only = {name: user for name in short for user in users[name] if folder(name) == folder(user)}

    assert {n: user for n, user in only.items() if lines[n] + lines[user] <= LINES_MAX} == {}


def folder(module: str) -> str:
    return module.rpartition(".")[0]


def names_imported(node: ast.AST) -> Iterator[str]:
    """Yield what a statement imports: the module, and what may be a module in it."""
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_calling_the_daemon_loads_the_standard_library_only() -> None:
    assert not HEAVY & loaded("import memd.client")


@pytest.mark.parametrize(
    ("command", "modules"),
    [
        ("pump", {"connection", "pump", "quick_json", "memd.base", "memd.base.project"}),
        ("hook", {"events", "hook", "connection", "quick_json"}),
        (
            "hook, memd.assist.handle",
            {"events", "handle", "hook", "connection", "hook_marks", "payload", "quick_json"}
            | {"memd.base", "memd.base.project"},
        ),
    ],
)
def test_what_an_assistant_starts_loads_next_to_nothing(command: str, modules: set[str]) -> None:
    run = f"import memd.__main__, memd.assist.{command}"
    ours = {name for name in loaded_modules(run) if "memd" in name}
    ours -= {"memd", "memd.__main__", "memd.assist"}
    assert ours == {m if m.startswith("memd.") else f"memd.assist.{m}" for m in modules}
    heavy = HEAVY | {"asyncio", "collections", "dataclasses", "functools", "hashlib", "json", "mcp"}
    heavy |= {"pathlib", "platformdirs", "re", "socket", "typing"}
    done = subprocess.run(  # what a person's own Python loads at its start is his
        [sys.executable, "-I", "-S", "-c", f"{BARE}; {run}; print('\\n'.join(sys.modules))"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not heavy & set(done.stdout.split())


def test_the_daemon_starts_without_what_speaks_with_assistants() -> None:
    modules = loaded_modules("import memd.daemon, memd.serve.dispatch, memd.serve.rooms")
    assert not {name for name in modules if name.startswith(("memd.serve.mcp", "mcp"))}


def test_a_search_typed_as_it_should_be_loads_the_standard_library_only() -> None:
    run = "from memd.cli.cli import run; run(['search', 'x', '-n', '3'])"
    assert not HEAVY & loaded(run)


def test_a_client_compiles_no_pattern_of_what_a_text_says() -> None:
    """They take longer than all else that it loads, and it needs them to store without a kind."""
    assert not {name for name in loaded_modules("import memd.client") if "memd.text" in name}


def test_the_command_line_is_found_without_its_libraries() -> None:
    assert not HEAVY & loaded("import memd.__main__, memd.cli.cli")


def test_reading_what_assistants_wrote_loads_the_standard_library_only() -> None:
    assert not HEAVY & loaded("import memd.signals.transcripts, memd.signals.watch")
    assert not HEAVY & loaded("import memd.sleep.window.trigger")


def test_a_start_loads_nothing_of_what_a_memory_a_night_or_a_prompt_needs() -> None:
    modules = loaded_modules("import memd.serve.rooms, memd.sleep.window.window_watcher")
    later = {
        "memd.sleep.night.consolidation",
        "memd.sleep.night.compression",
        "memd.sleep.distil.distil",
        "memd.ingest.ingest",
        "memd.recall.recall",
        "memd.archive.archive",
        "memd.inject.inject",
        "memd.org.graph",
        "memd.org.org",
        "memd.org.review",
        "memd.sleep.wiki.wiki",
        "memd.llm.provider",
        "httpx",
    }
    areas = {f"memd.serve.routes.{path.stem}" for path in (ROOT / "memd/serve/routes").glob("*.py")}
    later |= areas - {f"memd.serve.routes.{name}" for name in ("__init__", "routes", "system")}
    assert not later & modules


def loaded(code: str) -> set[str]:
    """Return the top-level modules that a fresh Python has loaded after *code*."""
    return {name.partition(".")[0] for name in loaded_modules(code)}


def loaded_modules(code: str) -> set[str]:
    code += "; import sys; sys.stderr.flush(); print('\\n'.join(sys.modules))"
    return set(run_python(code).splitlines())


def test_who_loads_the_library_of_the_models_has_told_it_to_be_quiet() -> None:
    """Loaded without, it keeps a device id in the home folder and reports to its maker."""
    loading = 0
    for path in MODULES:
        if "fastembed" not in text(path) and "onnxruntime" not in text(path):
            continue
        for function in (tree(path), *functions(path)):
            done = [ast.unparse(statement) for statement in function.body]
            for at, line in enumerate(done):
                if re.match(r"(import|from) (fastembed|onnxruntime)\b", line):
                    assert "keep_libraries_quiet()" in done[:at], f"{path}: {line}"
                    loading += 1
    assert loading


def test_every_limit_is_used() -> None:
    limits = text(PACKAGE / "base" / "limits.py")
    names = set(re.findall(r"^([A-Z][A-Z0-9_]+) = ", limits, re.MULTILINE))
    elsewhere = "\n".join(text(path) for path in MODULES if path.name != "limits.py")
    used = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", elsewhere))
    assert names
    assert sorted(names - used) == []


def test_every_limit_says_its_unit() -> None:
    from memd.base import limits

    units = re.compile(
        r"_(BYTES|CHARS|MS|US|S|DAYS|TOKENS|ROWS|ITEMS|TEXTS|REQUESTS|TERMS|K|DEPTH|MAX|MIN|PAIRS|CLUSTERS)"
    )
    bare = {"READERS", "SCANNERS", "CONNECTIONS_MAX", "TAGS_MAX", "WRITE_QUEUE_MAX"}
    for name in vars(limits):
        if name.isupper():
            assert units.search(name) or name in bare, name


def test_everything_that_tests_import_from_support_is_there() -> None:
    names = {path.stem for path in (ROOT / "tests" / "support").glob("*.py")}
    for path in (ROOT / "tests").rglob("*.py"):
        for name in re.findall(r"^\s*from support\.(\w+) import", text(path), re.M):
            assert name in names, f"{path}: support.{name}"
