"""Run ``memd`` as a forked process, without the start time of Python (decision 0167).

One process, shared by all test workers, imports memd and forks on request. A fork is a real
process, with its own pid, environment, folder, streams, signals and exit code; only the start of
the interpreter and the imports, most of the time of a command, happen once. A test of these starts
``python -m memd`` itself. A process that forks and kills daemons of its own is forked as well.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import inspect
import json
import os
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memd.embedding.model_files import Manifest

TIMEOUT_S = 120.0
"""Of a command that is waited for: no machine that still works is ever that slow."""
ROOT = Path(__file__).resolve().parents[2]
AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "OMP_", "OPENBLAS_")
"""What these variables say is heard at the start of a process, and only then."""
LIBRARIES = (
    *("fastembed", "httpx", "numpy", "onnxruntime", "psutil", "re2", "rich", "structlog"),
    *("structlog.dev", "tokenizers", "watchdog.observers", "yaml"),
)
"""What memd imports when it first needs it: some of them take longer than a daemon's start."""
_MODEL_DIR = os.environ.get("MEMD_MODEL_DIR", "")  # as it was before any test
MEMD = "memd.__main__"
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
_PLACE = Path(tempfile.gettempdir(), f"memd-forks-{os.getuid()}-{_RUN[:16]}")
"""Where the workers of a run meet the processes that fork."""
_LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Where the system has them, a fork copies 2 MB of the model by one entry, not by 512."""
_LENGTH = struct.Struct("!Q")
_STATUS = struct.Struct("!i")


class Process:
    """A forked process: of ``subprocess.Popen`` what tests ask for."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._status = status

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it lives."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when there is one. Raises subprocess.TimeoutExpired."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("memd", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal unless the process has ended, also while its end is being reported."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            status = os.read(self._status, _STATUS.size)
            os.close(self._status)
            assert status, "the process that forks has left"
            self.returncode = os.waitstatus_to_exitcode(_STATUS.unpack(status)[0])
        return self.returncode


def run(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    text: str = "",
    timeout: float | None = TIMEOUT_S,
    check: bool = False,
    module: str = MEMD,
) -> subprocess.CompletedProcess[str]:
    """Run ``memd`` with *words* and *text* on stdin to its end, as ``subprocess.run`` does."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(text.encode())
        given.seek(0)
        streams = (given.fileno(), out.fileno(), err.fileno())
        process = start(words, env=env, cwd=cwd, streams=streams, module=module)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        output = [stream.read().decode() for stream in (out, err)]
    done = subprocess.CompletedProcess([module, *words], code, *output)
    assert not (check and code), done
    return done


def start(
    words: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    streams: tuple[int, int, int],
    module: str = MEMD,
) -> Process | subprocess.Popen[bytes]:
    """Start the main of *module* with *words*; *streams* are its stdin, stdout and stderr.

    Who wants another interpreter (``AT_START``) gets one.
    """
    if _heard(env) != _heard(_environ()):
        command = [sys.executable, "-m", module.removesuffix(".__main__"), *words]
        given, out, err = streams
        return subprocess.Popen(command, env=env, cwd=cwd, stdin=given, stdout=out, stderr=err)
    asked = {
        "module": module,
        "words": list(words),
        "env": dict(env),
        "cwd": str(cwd or Path.cwd()),
    }
    what = "daemon" if module != MEMD or words[:1] == ["serve"] else "command"
    with _ONE:
        return _forker(what).start(asked, streams)


def shell_script() -> str:
    """Return a script for a PATH that runs ``memd`` with the words of its line, as ``run`` does.

    A line whose variables are heard at the start of a process must start Python itself.
    """
    client = Path(__file__).with_name("shell_command.py")
    with _ONE:
        _forker("command")
    words = (sys.executable, "-I", "-S", str(client), str(_meeting("command")), MEMD)
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


class Forker:
    """This end of the process that forks; the first worker of a run starts it for all."""

    def __init__(self, what: str) -> None:
        path = _meeting(what)
        with Path(__file__).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._ours = socket.socket(socket.AF_UNIX)
            try:
                self._ours.connect(str(path))
            except OSError:
                _start_forker(what, path)
                self._ours.connect(str(path))

    def start(self, asked: Mapping[str, Any], streams: tuple[int, int, int]) -> Process:
        ended, ending = os.pipe()
        raw = json.dumps(asked).encode("ascii")
        socket.send_fds(self._ours, [_LENGTH.pack(len(raw))], [*streams, ending])
        os.close(ending)
        self._ours.sendall(raw)
        return Process(_LENGTH.unpack(_read(self._ours, _LENGTH.size))[0], ended)

    def close(self) -> None:
        self._ours.close()


def _meeting(what: str) -> Path:
    return _PLACE.with_name(f"{_PLACE.name}.{what}")


def _start_forker(what: str, path: Path) -> None:
    """Start what listens at *path* and ends when the last worker has left."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.set_inheritable(True)
        words = ["-m", "support.forked", what, str(listener.fileno()), _MODEL_DIR]
        # It outlives this worker where others still ask: nobody waits for it here.
        os.posix_spawn(sys.executable, [sys.executable, *words], {**_environ(), **_LARGE_PAGES})


_ONE = threading.Lock()
"""Tests start commands in threads: what one asks for and is answered is not for another."""


@cache
def _forker(what: str) -> Forker:
    forker = Forker(what)
    atexit.register(forker.close)
    return forker


@cache
def _environ() -> dict[str, str]:
    from support.daemon import environment

    return environment(ROOT)


def _heard(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_START)}


def _read(stream: socket.socket, count: int) -> bytes:
    raw = b""
    while len(raw) < count:
        part = stream.recv(count - len(raw))
        if not part:
            raise EOFError
        raw += part
    return raw


# The process that forks.


def _serve(listener: socket.socket) -> str:
    """Fork until nobody asks any more; returns in the fork, with the module to run."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    living: dict[int, int] = {}
    workers: list[socket.socket] = []
    while True:
        handles = [woken, listener.fileno(), *(worker.fileno() for worker in workers)]
        ready, _, _ = select.select(handles, [], [])
        if woken in ready:
            os.read(woken, 4096)
            _bury(living)
        for worker in [worker for worker in workers if worker.fileno() in ready]:
            asked, given = _receive(worker)
            if asked is None:
                workers.remove(worker)
            elif _forks(worker, given, living):
                _close([listener, *workers], [woken, waking, *living.values()])
                return _become(asked, given)
        if listener.fileno() in ready:
            workers.append(listener.accept()[0])
        if not workers:
            _end_unless_asked(listener)


def _close(sockets: Sequence[socket.socket], handles: Sequence[int]) -> None:
    for each in sockets:
        each.close()
    for handle in handles:
        os.close(handle)


def _receive(worker: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Return what a worker asks for and the files it gives; None when it has left.

    One that is killed leaves in the middle of a request: the others go on.
    """
    handles: list[int] = []
    try:
        head, handles, _, _ = socket.recv_fds(worker, _LENGTH.size, 4)
        head += _read(worker, _LENGTH.size - len(head))
        return json.loads(_read(worker, _LENGTH.unpack(head)[0])), handles
    except (EOFError, ConnectionError):
        _close([worker], handles)
        return None, []


def _forks(worker: socket.socket, handles: list[int], living: dict[int, int]) -> bool:
    """Fork; return whether this is the fork. The worker is told its pid."""
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return True
    living[pid] = handles.pop()
    _close([], handles)
    with contextlib.suppress(OSError):  # it has left without waiting
        worker.sendall(_LENGTH.pack(pid))
    return False


def _end_unless_asked(listener: socket.socket) -> None:
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not select.select([listener], [], [], 0)[0]:
            Path(listener.getsockname()).unlink()
            os._exit(0)


def _bury(living: dict[int, int]) -> None:
    while living:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        ending = living.pop(pid)
        with contextlib.suppress(BrokenPipeError):  # nobody asks how it ended
            os.write(ending, _STATUS.pack(status))
        os.close(ending)


def _become(asked: Mapping[str, Any], handles: Sequence[int]) -> str:
    for number, handle in enumerate(handles[:3]):
        os.dup2(handle, number)
    for handle in handles:
        os.close(handle)
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    os.chdir(asked["cwd"])
    sys.path[0] = asked["cwd"]
    sys.stdin = _stream(sys.stdin, 0, "r")
    sys.stdout = _stream(sys.stdout, 1, "w")
    sys.stderr = _stream(sys.stderr, 2, "w", line_buffering=True)
    sys.argv[1:] = asked["words"]
    module: str = asked["module"]
    return module


def _stream(like: Any, handle: int, mode: str, *, line_buffering: bool = False) -> TextIOWrapper:
    raw = open(handle, f"{mode}b", closefd=False)  # noqa: SIM115  # for as long as it lives
    line_buffering = line_buffering or os.isatty(handle)
    return TextIOWrapper(raw, like.encoding, like.errors, line_buffering=line_buffering)


def _import_commands() -> None:
    """Import all of memd and what each command does, before anything is asked."""
    from memd.cli.commands import COMMANDS, GROUPS

    import_memd()
    groups = (group.entries for group in GROUPS.values())
    for entry in (*COMMANDS.values(), *chain.from_iterable(groups)):
        entry.load()


def _import_daemon(model_dir: str) -> None:
    """Import all of memd, make what it keeps and read the model, before anything is asked."""
    from memd.embedding.model_files import read_manifest

    import_memd()
    _make_what_is_kept()
    manifest = read_manifest(Path(model_dir)) if model_dir else None
    if manifest is not None:
        _read_model(Path(model_dir), manifest)


def import_memd() -> None:
    """Import all of memd and its libraries, and make what is made when it is first needed.

    That are the models of pydantic, the patterns of secrets and those of directives.
    """
    from pydantic import BaseModel

    from memd.embedding.model_thread import keep_libraries_quiet
    from memd.guard.redaction import redact
    from memd.text.preference import default_category

    keep_libraries_quiet()
    for name in (*modules(), *LIBRARIES):
        importlib.import_module(name)
    models = [BaseModel]
    for model in models:
        models += model.__subclasses__()
    for model in {model for model in models if model.__module__.startswith("memd.")}:
        model.model_rebuild()
    secrets = "ghp_0123456789abcdefghijABCDEFGHIJ012345, 4111111111111111, DE41500105170123456789"
    assert redact(secrets) != secrets  # no pattern is made for a text without a sign of one
    assert default_category("Always answer in German", None) == "procedural"


def _make_what_is_kept() -> None:
    """Make what a daemon makes once, when it is first needed, and what a text first needs.

    That are the functions of memd that keep what they return and take nothing, and all phrases.
    """
    from memd.text.alternations import Phrases

    for name in modules():
        for value in list(vars(sys.modules[name]).values()):
            if hasattr(value, "cache_info") and not inspect.signature(value).parameters:
                value()
    for phrases in [each for each in gc.get_objects() if isinstance(each, Phrases)]:
        compiled = [phrases._phrase(number) for number in range(len(phrases._index.sources))]
        assert compiled
        assert phrases._whole.pattern == phrases.pattern


def keep() -> None:
    """Let what this process has in memory be shared by its forks: garbage is not looked for."""
    gc.collect()
    gc.freeze()


def modules() -> list[str]:
    """Return the name of each module of memd."""
    files = sorted((ROOT / "memd").rglob("*.py"))
    names = (".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files)
    return [name.removesuffix(".__init__") for name in names]


def _read_model(folder: Path, manifest: Manifest) -> None:
    """Have the tests' model in memory for each fork that loads it from the tests' own folder.

    What memd does around it, each fork does: it finds the folder, which may be a link to
    theirs, compares the hashes and checks each vector. Only a file that nobody has touched
    since is not read again.
    """
    import fastembed

    from memd.embedding import embed, model_files
    from memd.text import tokens

    model_files.sha256_of = _read_once(model_files.sha256_of)  # type: ignore[assignment]  # by place only
    tokens._load = _read_once(tokens._load)  # type: ignore[assignment]  # by place only
    read: Callable[..., Any] = fastembed.TextEmbedding
    kept: list[tuple[Any, Any]] = []

    def reading(*positional: Any, **named: Any) -> Any:
        for arguments, model in kept:
            if arguments == (positional, _real(named)):
                return model
        return read(*positional, **named)

    def keeping(*positional: Any, **named: Any) -> Any:
        kept.append(((positional, _real(named)), read(*positional, **named)))
        return kept[-1][1]

    fastembed.TextEmbedding = keeping
    embed.load_encoder(folder, manifest).windows("a text")
    fastembed.TextEmbedding = reading


def _real(named: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the real folder in place of a link to it."""
    folders = ("cache_dir", "specific_model_path")
    return named | {name: str(Path(named[name]).resolve()) for name in folders if name in named}


def _read_once(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Return *read* that keeps what it made of a file for as long as nobody changes that."""
    kept: dict[tuple[int, ...], Any] = {}

    def reading(path: Path) -> Any:
        try:
            of = path.stat()
        except OSError:
            return read(path)
        state = (of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns)
        if state not in kept:
            kept[state] = read(path)
        return kept[state]

    return reading


def _leave(main: Callable[[], Any]) -> None:
    """Run *main* and leave as the interpreter does, but take nothing apart.

    Freeing each object one by one was two thirds of what a command cost.
    """
    try:
        code = main()
    except SystemExit as told:
        code = told.code
    if code is None or isinstance(code, int):
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, ValueError):  # then the interpreter says what is wrong
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit((code or 0) & 0xFF)
    sys.exit(code)


if __name__ == "__main__":
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    if sys.argv[1] == "daemon":
        _import_daemon(sys.argv[3])
    else:
        _import_commands()
    assert threading.active_count() == 1, "a fork would miss the other threads"
    keep()
    os.chdir(ROOT)
    module = importlib.import_module(_serve(socket.socket(fileno=int(sys.argv[2]))))
    sys.argv[0] = str(module.__file__)
    _leave(module.main)
