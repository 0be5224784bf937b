"""An assistant's own command as the language model: ``claude -p``, ``codex exec``.

Each completion is a job (``job_files``): the prompt goes to the command's standard input, what
it prints is the answer. It is started without a shell, in a folder of its own, with few
variables of the environment, and is killed with all that it started when its time is up, its
answer is too long, whoever asked gives up, or a memory is forgotten. No thread and no asyncio
watcher of children: on Python 3.11 that one starts a thread for each.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import psutil

from memd.base import log
from memd.base.errors import ProviderBusyError, ProviderRefusedError
from memd.guard.redaction import redact
from memd.llm.job_files import IN_A_JOB, Ending, Job, JobFiles
from memd.llm.provider import (
    CHARS_PER_TOKEN,
    Completion,
    CompletionRequest,
    PromptErasedError,
    TokenUsage,
)

ERRORS_BYTES_MAX = 4_096
DRAIN_S = 5.0
"""How long what a command printed is waited for after it has ended."""
REAP_S = 1.0
"""How long a killed command may take to go before it is not waited for."""
_KEPT: Final = frozenset(
    (
        *("HOME", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"),
        *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_DIR", "SSL_CERT_FILE"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
    )
)
_OBJECTS_TRIED = 50
_PAUSE_S_MIN, _PAUSE_S_MAX = 0.005, 0.1


class JobCommand:
    """The command that works off jobs."""

    def __init__(
        self, command: Sequence[str], files: JobFiles, *, timeout_ms: int, answer_bytes: int
    ) -> None:
        self._command = [os.path.expanduser(command[0]), *command[1:]]  # noqa: PTH111  # a name is looked up in PATH
        self._files = files
        self._timeout_ms = timeout_ms
        self._answer_bytes = answer_bytes

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return what the command prints (``Provider.complete``).

        One that is not there or may not be run is refused; every other failure, an exit
        code that is not 0 among them, may pass.
        """
        sent = _sent(request)
        try:
            job = self._files.begin(request.purpose.value, self._command, request.schema, sent)
        except OSError as error:
            raise ProviderBusyError(f"the job file cannot be written: {error.strerror}") from None
        ending = Ending(why="given up by who asked")
        try:
            ending = await self._ended(job, (request.timeout_ms or self._timeout_ms) / 1_000)
        except ProviderRefusedError as error:
            ending = Ending(why=error.message)
            raise
        finally:
            self._finish(job, ending)
        if job.erased:
            raise PromptErasedError("something was forgotten meanwhile: the job was erased")
        if ending.why is not None:
            raise ProviderBusyError(ending.why, hint="memd llm jobs shows what it printed")
        text = ending.answer if request.schema is None else json_in(ending.answer, request.schema)
        usage = TokenUsage(_tokens(sent), _tokens(ending.answer), estimated=True)
        return Completion(text, usage, Path(self._command[0]).name)

    async def close(self) -> None:
        """Nothing is open between jobs."""

    async def _ended(self, job: Job, limit_s: float) -> Ending:
        """Run the command of *job* to its end."""
        child = self._started(job)
        try:
            try:
                async with asyncio.timeout(limit_s):
                    await child.exited()
            except TimeoutError:
                child.why = f"the command did not answer within {limit_s:g} s"
            finally:
                child.kill()
            return await child.ending()
        finally:
            child.let_go()

    def _started(self, job: Job) -> _Child:
        try:
            child = _Child(self._command, job, self._answer_bytes)
        except OSError as error:
            raise ProviderRefusedError(
                f"the command cannot be started: {error.strerror}",
                hint="look at llm.command; a service has another PATH than a terminal",
            ) from None
        try:
            created = psutil.Process(child.pid).create_time()
            self._files.started(job, child.pid, created, child.kill)
        except (OSError, psutil.Error):
            job.stop = child.kill  # the note is for a daemon that is killed now
        return child

    def _finish(self, job: Job, ending: Ending) -> None:
        screened = ending._replace(answer=redact(ending.answer), errors=redact(ending.errors))
        try:
            self._files.finish(job, screened)
        except OSError as error:
            log.warning("a job's end was not noted", error=type(error).__name__)


class _Child:
    """The process of one job, the first of a group of its own; reaped when it is killed."""

    def __init__(self, command: Sequence[str], job: Job, answer_bytes: int) -> None:
        self.why: str | None = None
        self._answer_bytes = answer_bytes
        with job.prompt.open("rb") as prompt:
            self._process = subprocess.Popen(  # noqa: S603  # the owner's own command, no shell
                command,
                stdin=prompt,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=job.work,
                env=_environment(os.environ),
                start_new_session=True,
            )
        self.pid = self._process.pid
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        out = _read(self._process.stdout, answer_bytes, stop=self.kill)
        self._out = asyncio.create_task(out)
        self._err = asyncio.create_task(_read(self._process.stderr, ERRORS_BYTES_MAX))

    async def exited(self) -> None:
        """Wait until the command ends. It stays unreaped, so that its group keeps its number."""
        pause_s = _PAUSE_S_MIN
        with suppress(psutil.NoSuchProcess):
            while psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 1.5, _PAUSE_S_MAX)

    def kill(self) -> None:
        """Kill the whole group, which keeps its number until its first is reaped."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):  # macOS: only zombies are left
                os.killpg(self.pid, signal.SIGKILL)

    async def _reaped(self) -> None:
        """Reap the killed command; one that the kernel holds is left to the next one's start."""
        for _ in range(int(REAP_S / _PAUSE_S_MIN)):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(_PAUSE_S_MIN)

    def let_go(self) -> None:
        """Read no more; whoever left the group may hold the pipes for ever."""
        self._process.poll()
        self._out.cancel()
        self._err.cancel()

    async def ending(self) -> Ending:
        """Return how the killed or ended command came out."""
        await self._reaped()
        await asyncio.wait({self._out, self._err}, timeout=DRAIN_S)
        (output, too_long), (errors, _) = _result(self._out), _result(self._err)
        code = self._process.returncode
        why = self.why
        if too_long:
            why = f"the command's answer is over {self._answer_bytes} bytes"
        elif why is None and code != 0:
            why = f"the command ended with exit code {code}"
        return Ending(
            output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"), why, code
        )


def _result(task: asyncio.Task[tuple[bytes, bool]]) -> tuple[bytes, bool]:
    if not task.done() or task.cancelled() or task.exception() is not None:
        return b"", False
    return task.result()


async def _read(
    pipe: IO[bytes], bytes_max: int, *, stop: Callable[[], None] | None = None
) -> tuple[bytes, bool]:
    """Return the first *bytes_max* of *pipe*, and whether more came; then *stop* is called."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    kept, too_long = bytearray(), False
    try:
        while part := await reader.read(65_536):
            too_long = len(kept) + len(part) > bytes_max
            kept += part[: bytes_max - len(kept)]
            if too_long and stop is not None:
                stop()
                break
    finally:
        transport.close()
    return bytes(kept), too_long


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a command needs to find itself and its settings, and no more."""
    return {name: value for name, value in environ.items() if name in _KEPT} | {IN_A_JOB: "1"}


def _sent(request: CompletionRequest) -> str:
    """Return all that a command is told: it has one text and no place for a schema."""
    parts = [request.system, request.prompt]
    if request.schema is not None:
        shape = json.dumps(request.schema, ensure_ascii=False)
        parts.append(f"Answer with one JSON object of this JSON Schema and nothing else:\n{shape}")
    return "\n\n".join(part for part in parts if part)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def json_in(text: str, schema: Mapping[str, Any]) -> str:
    """Return the first JSON object in *text* that has what *schema* requires, or *text*.

    An assistant's command often writes a sentence before it, or a fence around it.

    >>> json_in('Here it is {really}: {"a": 1} - done.', {"required": ["a"]})
    '{"a": 1}'
    """
    required = set(schema.get("required", ()))
    decoder, at = json.JSONDecoder(), -1
    for _ in range(_OBJECTS_TRIED):
        at = text.find("{", at + 1)
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and required <= value.keys():
            return text[at:end]
    return text
