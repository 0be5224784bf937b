"""Read the command line, or the path of the written file, from a recorded tool call. Pure.

Assistants record calls in different formats: an object with a ``command`` or a ``file_path``,
the text of an action, or a description above a command in backquotes. A call in an unknown
format counts as no command.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memd.sleep.distil.exchanges import ToolRun
from memd.text.alternations import Phrases

COMMAND_CHARS_MAX = 200
"""A longer command line is truncated."""
_HEAD_CHARS = 4_000  # the beginning of a result, in which a tool names the file that it wrote
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>|[Ee]rror|Exit code (?!0\b)|Your proposed edit has introduced)"
)

_SHELLS = frozenset(("bash", "sh", "zsh", "fish", "dash", "pwsh", "powershell", "cmd"))
_SHELL_TOOL = re.compile(r"bash|shell|exec|terminal|command|^sh$|^run$|console", re.IGNORECASE)
_WRITING_TOOL = re.compile(
    r"edit|write|create|replace|insert|patch|notebook|save_file|update_file", re.IGNORECASE
)
_VIEWING = frozenset(("view", "undo_edit"))
# The actions that SWE-agent defines itself; it runs any other action as a command line.
_ACTIONS = frozenset((
    "open", "goto", "scroll_down", "scroll_up", "create", "edit", "search_dir", "search_file",
    "find_file", "submit", "insert", "append", "get_symbols", "str_replace_editor", "skip",
))  # fmt: skip
_QUOTED = re.compile(r"`([^`\n]{2,1000})`\s*$")
_FENCED = re.compile(r"```(?:bash|sh|shell|zsh|console)?\n(.{2,2000}?)\n?```\s*$", re.DOTALL)
# A description in place of a command that the recorder left out: "Re-run with UTF-8 output".
_TITLE = re.compile(r"[A-Z][a-z][\w'/-]*(?: [\w'/().,+-]+){2,}")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (\S.{0,300})$", re.MULTILINE)
_PATCH_TITLE = re.compile(
    r"\*\*(?:Add|Update|Delete): `([^`\n]{1,300})`\*\*"
)  # as SpecStory writes it
_WROTE = re.compile(
    r"""(?:^|\n)(?:
      The\ file\ (?P<updated>\S.{0,300}?)\ has\ been\ (?:updated|created|modified)
    | File\ created\ successfully\ at:\ (?P<created>\S.{0,300}?)\s*(?:\n|$|\()
    | Successfully\ (?:modified|created(?:\ and\ wrote\ to\ new)?|overwrote)\ file:?
      \ (?P<written>\S.{0,300}?)
      [\s.]*(?:\n|$|\()
    )""",
    re.VERBOSE,
)
_OPEN_FILE = re.compile(r"\[File: (\S{1,300}) \(\d+ lines? total\)\]")


class Command(NamedTuple):
    """A command line; *about* names its program and subcommand, such as ``go test``."""

    line: str
    about: str


def command(run: ToolRun) -> Command | None:
    """Return the command that *run* executed in a shell, None if it executed none.

    >>> command(ToolRun(0, "1", "Bash", {"command": "cd src && A=1 npm run build"}))
    Command(line='cd src && A=1 npm run build', about='npm run build')
    """
    line = _line(run)
    return Command(line, about(line)) if line else None


def about(line: str) -> str:
    """Return the program and subcommand of a command line, "" if it only sets up the shell.

    Folder changes, assignments and wrappers such as ``sudo`` are skipped. Quotes are kept whole.

    >>> about("cd /srv/app && PORT=80 docker compose -f a.yml up")
    'docker compose'
    """
    for part in _COMMANDS.findall(line[:1_000]):
        words = _SHELL_WORDS.findall(part)
        while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
            words = words[1:]
        if words and words[0].rpartition("/")[2] not in _SETTING_UP:
            return _program_name(words)
    return ""


def parts_of(line: str) -> list[Command]:
    """Return the commands of a line that have all passed if the line has.

    >>> [part.about for part in parts_of("mise use node@22 && npm create astro@latest .")]
    ['mise use', 'npm create']
    """
    whole = Command(line, about(line))
    plain = _QUOTED_WORDS.sub("''", line)
    if "&&" not in plain or "||" in plain or plain != line:
        return [whole]
    return [Command(part, about(part)) for part in _AND.split(line)]


_COMMANDS = re.compile(r"""(?:'[^']*'|"[^"]*"|(?<!&)&(?!&)|[^&;\n])+""")
_SHELL_WORDS = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")
_WRAPPERS = frozenset(("sudo", "time", "env", "command", "exec", "nohup", "then", "do", "("))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SETTING_UP = frozenset(("cd", "export", "source", ".", "set", "pushd", "echo", "sleep", "mkdir"))
_RUNNERS = frozenset(("npx", "uv", "poetry", "pipenv", "bundle", "pnpm", "yarn", "npm", "docker"))
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]{1,24}$")
_PYTHON = re.compile(r"python[\d.]*$")


def _program_name(words: Sequence[str]) -> str:
    """Return a program with its subcommands: the plain words before its first option.

    ``python -m NAME`` keeps the module, and an interpreter without a subcommand its script.
    """
    program = words[0].rpartition("/")[2] if words[0].count("/") > 1 else words[0]
    if _PYTHON.match(program) and words[1:2] == ["-m"]:
        return " ".join((program, *words[1:3]))
    subcommands_max = 2 if program in _RUNNERS else 1
    names = [program]
    for word in words[1 : 1 + subcommands_max]:
        if not _SUBCOMMAND.match(word):
            break
        names.append(word)
    if len(names) == 1 and len(words) > 1 and program in _INTERPRETERS:
        names.append(words[1])
    return " ".join(names)


_INTERPRETERS = frozenset(
    ("node", "python", "python3", "ruby", "perl", "php", "bash", "sh", "deno")
)


# Programs that inspect or move files: they do not show how to build, test or run the project.
_NOISE = frozenset((
    "ls", "ll", "cat", "bat", "head", "tail", "less", "grep", "egrep", "rg", "ag", "find", "fd",
    "sed", "awk", "wc", "sort", "uniq", "cut", "tr", "diff", "rm", "cp", "mv", "touch", "chmod",
    "which", "whereis", "type", "file", "stat", "du", "df", "tree", "pwd", "date", "true", "test",
    "git", "gh", "xargs", "tee", "printf", "jq", "open", "kill", "pkill", "ps", "lsof", "wait",
    "for", "while", "if", "[", "{", "(", "ln", "man", "history", "clear", "exit", "submit",
    "dir", "findstr", "del", "copy", "move", "where", "cls", "crontab", "apply_patch",
))  # fmt: skip
# The same in PowerShell: "Test-Path", "Get-ChildItem".
_CMDLET = Phrases(
    r"(?:get|test|select|where|sort|format|out|write|copy|move|remove|new|set|measure|stop|resolve"
    r"|join|foreach)-[a-z]+"
)
_CHECKING = re.compile(
    r"lint|ruff|flake8|mypy|pyright|prettier|gofmt|\bblack\b|clippy|\bvet\b|\btsc\b|rubocop|\bfmt\b",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"\s*(?:2>&1|\d?>\s*/dev/null|\|\s*(?:tail|head|grep|rg|wc|cat|tee|less)\b).*$"
)
_POPD = re.compile(r"\s*(?:&&|;)\s*popd\s*$")
_GIT_SAVE = re.compile(r"\s*(?:&&|;)\s*git (?:add|commit|push|status|stash|tag)\b.*$", re.DOTALL)
_NEXT_COMMAND = re.compile(r"(?:&&|;)\s*(?!popd\b)\w")
_ENTERING = re.compile(r"""^(?:cd|pushd)\s+(?P<folder>"[^"\n]+"|'[^'\n]+'|\S+?)\s*(?:&&|;)\s*""")
_EXPANSION = re.compile(r"[$`*]")  # only the shell knows which folder this is
_ABOVE = re.compile(r"\.\.(?:[/\\]|$)")
WHOLE_PATH = re.compile(r"[/~]|[A-Za-z]:[\\/]")
"""The beginning of an absolute path: "/srv", "~/app", "C:\\app"."""


def is_noise(called: Command) -> bool:
    """Return whether a command only inspects or moves files, or runs version control.

    >>> is_noise(Command("Test-Path app", "Test-Path")), is_noise(Command("make", "make"))
    (True, False)
    """
    program = called.about.split(" ", 1)[0]
    return program in _NOISE or not program or _CMDLET.fullmatch(program) is not None


# Programs that print existing text, such as a log: an error in it is not the command's own.
_READS = Phrases(
    r"(?:sudo |cd |export |echo )*(?:cat|bat|less|more|head|tail|z?grep|zcat|egrep|rg|ag|awk|cut"
    r"|sort|uniq|wc|jq|find|ls|journalctl|dmesg|sed(?! -i)|(?:[\w-]+ ){1,4}logs?)(?!\S)"
    r"|(?:cd|export|echo) ",
    0,
)
_REMOTE = re.compile(r"""ssh (?:-[46AaCfGgKkMNnqsTtVvXxYy]+ |-\w ?\S+ )*[\w.@-]+ (["']?)(?=\S)""")
_QUOTED_WORDS = re.compile(r"'[^']*'|\"[^\"]*\"")
_AND = re.compile(r"\s*&&\s*")
_NEXT_PROGRAM = re.compile(r"\s*(?:&&|\|\|?|;)\s*")


def only_reads(called: Command) -> bool:
    """Return whether a command only prints existing text, on this computer or over SSH.

    >>> log = "ssh -p 22 prod 'journalctl -u web | tail'"
    >>> only_reads(Command(log, "ssh")), only_reads(Command("cd a && cat x.log", "cat"))
    (True, True)
    >>> only_reads(Command("pytest | tail", "pytest")), only_reads(Command("sed -i 1d x", "sed"))
    (False, False)
    """
    line = called.line
    if remote := _REMOTE.match(line):
        line = line[remote.end() :].removesuffix(remote[1])
    parts = _NEXT_PROGRAM.split(_QUOTED_WORDS.sub("''", line))
    return all(_READS.match(part) for part in parts if part)


def is_check(called: Command) -> bool:
    """Return whether a command checks style or types; its errors concern unfinished code only."""
    return _CHECKING.search(called.about) is not None


_ACCEPTS = re.compile(
    r"(?<!\S)(?:--)?accept(?!\S)|--(?:bless|update-?snapshots?|snapshot-update)\b", re.IGNORECASE
)


def accepts_change(line: str) -> bool:
    """Return whether a command takes what came out for what is expected: "insta review --accept".

    >>> accepts_change("npx jest --updateSnapshot"), accepts_change("pytest -k accept_all")
    (True, False)
    """
    return _ACCEPTS.search(line) is not None


# An argument that selects some of the tests or files: "-k", "tests/unit", "a.py::test_b".
_PART = Phrases(
    r"-(?:k|t|run)|--(?:run=|(?:grep|filter|select)\b).*|(?:\./)?\w[^/\s]*/\S+|\S+::\S+"
    r"|\S+\.(?:py|rb|go|rs|php|java|cs|exs|[jt]sx?)",
    0,
)
# The same by name: "cargo test parser", "cargo +nightly test". A toolchain is also a part.
_NAMED_PART = Phrases(
    r"\bcargo (?:\+|[^;&|]*\s(?:-p|--(?:package|test|bin|example))[ =])"
    r"|\b(?:cargo (?:test|nextest run)|pytest|jest|vitest(?: run)?|playwright test|manage\.py test"
    r"|unittest|(?:npm|pnpm|yarn|bun)(?: run)? test)"
    r"(?: --(?:release|workspace|all)?(?!\S)| -[qvxsl]{1,2}(?!\S))*"
    r" (?!(?:tests?|specs?|src|lib|run|watch|ci|discover)(?!\S))[a-z_][\w.:-]*(?!\S)"
)


def selects_part(line: str) -> bool:
    """Return whether a command runs in a folder below, or has an argument that selects a part.

    >>> [selects_part(line) for line in ("cargo test parser", "pytest -q", "pytest -q orders")]
    [True, False, True]
    """
    if line.startswith("cd ") or _NAMED_PART.search(line):
        return True
    program = about(line).split()  # with the script that an interpreter runs
    arguments = line.rpartition("&& ")[2].split()[1:]
    return any(_PART.fullmatch(word) for word in arguments if word not in program)


def shorten(line: str) -> str:
    """Return a command line without leading ``cd``, output filters and trailing git commands.

    >>> shorten("cd /srv/app && make test 2>&1 | tail -5")
    'make test'
    >>> shorten("make check && git commit -qam 'Use one formatter; no other'")
    'make check'
    """
    while entering := _ENTERING.match(line):
        line = line[entering.end() :]
    line = _GIT_SAVE.sub("", line)
    short = _TRAILING.sub("", _POPD.sub("", line))
    # A pipe within quotes or "$(...)" does not end the command: then the whole line stays.
    cut_off = line[len(short) :]
    is_whole = not any(short.count(quote) % 2 for quote in "\"'") and "$(" not in short
    return (short if is_whole and not _NEXT_COMMAND.search(cut_off) else line).strip()


def entered_folder(line: str) -> str | None:
    """Return the folder that a command line enters first, "" if it enters none.

    None if it cannot be known from the line alone: "cd -", "cd ..", "cd $DIR".

    >>> entered_folder('cd "/srv/my app/" && cd web; make'), entered_folder("cd . && make")
    ('/srv/my app/web', '')
    """
    folder = ""
    while entering := _ENTERING.match(line):
        name = entering["folder"].strip("\"'")
        if name == "-" or _EXPANSION.search(name):
            return None
        folder = name if WHOLE_PATH.match(name) else posixpath.join(folder, name)
        line = line[entering.end() :]
    path = ntpath if "\\" in folder else posixpath
    plain = path.normpath(folder) if folder else "."
    if _ABOVE.match(plain):
        return None
    return "" if plain == "." else plain


def folder_below(home: str, folder: str) -> str:
    r"""Return *folder* relative to *home* ("" for *home* itself), or as it is if outside.

    >>> folder_below("/srv/shop", "/srv/shop/api"), folder_below(r"C:\shop", r"C:\shop\api")
    ('api', 'api')
    >>> folder_below("/srv/shop", "/srv/bank")
    '/srv/bank'
    """
    if home and folder.startswith(home) and folder[len(home) :][:1] in ("", "/", "\\"):
        return folder[len(home) :].lstrip("/\\")
    return folder


def edited_path(run: ToolRun) -> str:
    """Return the path of the file that *run* wrote, "" if it wrote none or failed to.

    >>> edited_path(ToolRun(0, "1", "Edit", {"file_path": "a.py", "old_string": "1"}))
    'a.py'
    """
    given = run.arguments
    if path := _patched_path(given):
        return path
    if not _WRITING_TOOL.search(run.tool) or _REFUSED.match(run.result or ""):
        return ""
    if isinstance(given, Mapping):
        if given.get("command") in _VIEWING:
            return ""
        for key in ("file_path", "path", "filePath", "filename", "notebook_path", "target_file"):
            if isinstance(given.get(key), str) and given[key].strip():
                return str(given[key]).strip()
    head = (run.result or "")[:_HEAD_CHARS]
    wrote = _WROTE.search(head)
    if wrote:
        return next(path for path in wrote.groups() if path).strip()
    opened = _OPEN_FILE.search(head)
    return opened[1] if opened else ""


def _line(run: ToolRun) -> str:
    """Return the command line of *run*, "" if it has none."""
    given = run.arguments
    if isinstance(given, Mapping):
        return _line_in_object(given)
    if not isinstance(given, str) or not given.strip():
        return ""
    text = given.strip()
    if _SHELL_TOOL.search(run.tool):
        marked = _QUOTED.search(text) or _FENCED.search(text)
        is_description = "\n" in text or "`" in text or _TITLE.fullmatch(text)
        return _tidy(marked[1] if marked else "" if is_description else text)
    first = text.split(None, 1)[0]
    # SWE-agent records a command line as text, with its first word as the name of the tool.
    return _tidy(text) if first == run.tool and first not in _ACTIONS else ""


def _line_in_object(given: Mapping[str, object]) -> str:
    """Return the command line in the arguments *given* to a tool, "" if there is none."""
    inner = given.get("action")
    if isinstance(inner, Mapping):
        return _line_in_object(inner)
    if any(key in given for key in ("path", "file_path", "old_str", "old_string")):
        return ""
    for key in ("command", "cmd", "script", "commandLine"):
        value = given.get(key)
        if isinstance(value, str):
            return _tidy(value)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            shell = value[0].rpartition("/")[2] in _SHELLS and value[1:2] and value[1][:1] == "-"
            return _tidy(value[-1] if shell else " ".join(value))
    return ""


def _tidy(line: str) -> str:
    """Return a command as a single line, without the text of a here-document."""
    line = line.strip()
    if "<<" in line:
        line = line.partition("\n")[0]
    return " ".join(line.split())[:COMMAND_CHARS_MAX]


def _patched_path(given: object) -> str:
    """Return the first path of an ``apply_patch`` call, "" for any other call."""
    text = given if isinstance(given, str) else ""
    if isinstance(given, Mapping):
        value = next((given[key] for key in ("input", "patch", "command") if key in given), "")
        text = (
            value
            if isinstance(value, str)
            else "\n".join(map(str, value))
            if isinstance(value, list)
            else ""
        )
    title = _PATCH_TITLE.match(text.lstrip())
    if title:
        return title[1]
    if "*** Begin Patch" not in text:
        return ""
    path = _PATCHED.search(text)
    return path[1].strip() if path else ""
