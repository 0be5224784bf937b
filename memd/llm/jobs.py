"""An assistant's own command as the language model: ``claude -p``, ``codex exec``.

Each completion is a job (``job_files``): the prompt goes to the command's standard input, its
output is the answer. It is started without a shell, in a folder of its own, with few variables
of the environment, and is killed with its whole process group on a timeout, an answer that is
too long, a cancelled request, or when a memory is forgotten. Neither a thread nor asyncio's
child watcher is used: on Python 3.11 the latter starts a thread for each child.
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
from typing import IO, Final

import psutil

from memd.base import log
from memd.base.errors import ProviderBusyError, ProviderRefusedError
from memd.guard.redaction import redact
from memd.llm.job_files import IN_A_JOB, Ending, Job, JobFiles
from memd.llm.provider import (
    Completion,
    CompletionRequest,
    PromptErasedError,
    TokenUsage,
    count_tokens,
)

ERRORS_BYTES_MAX = 4_096
"""The bytes of stderr that are kept."""
DRAIN_S = 5.0
"""How long to wait for the output of a command that has ended."""
REAP_S = 1.0
"""How long to wait for a killed command to end."""
_PASSED_VARIABLES: Final = frozenset(
    (
        *("HOME", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"),
        *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_DIR", "SSL_CERT_FILE"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
    )
)
_PAUSE_S_MIN, _PAUSE_S_MAX = 0.005, 0.1  # between two looks at a running command


class JobCommand:
    """The provider that runs a command for each completion."""

    def __init__(
        self, command: Sequence[str], files: JobFiles, *, timeout_ms: int, answer_bytes: int
    ) -> None:
        self._command = [os.path.expanduser(command[0]), *command[1:]]  # noqa: PTH111  # a name is looked up in PATH
        self._files = files
        self._timeout_ms = timeout_ms
        self._answer_bytes = answer_bytes

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the command's output (``Provider.complete``).

        Raises ProviderRefusedError for a command that is missing or not executable,
        ProviderBusyError for any other failure, such as an exit code other than 0.
        """
        prompt = _prompt_text(request)
        try:
            job = self._files.begin(request.purpose.value, self._command, request.schema, prompt)
        except OSError as error:
            raise ProviderBusyError(f"the job file cannot be written: {error.strerror}") from None
        ending = Ending(why="cancelled by the caller")
        try:
            ending = await self._run_job(job, (request.timeout_ms or self._timeout_ms) / 1_000)
        except ProviderRefusedError as error:
            ending = Ending(why=error.message)
            raise
        finally:
            self._finish(job, ending)
        if job.erased:
            raise PromptErasedError("something was forgotten meanwhile: the job was erased")
        if ending.why is not None:
            raise ProviderBusyError(ending.why, hint="memd llm jobs shows what it printed")
        usage = TokenUsage(count_tokens(prompt), count_tokens(ending.answer), estimated=True)
        return Completion(ending.answer, usage, Path(self._command[0]).name)

    async def close(self) -> None:
        """Nothing is open between jobs."""

    async def _run_job(self, job: Job, limit_s: float) -> Ending:
        """Run the command of *job* to its end."""
        child = self._start(job)
        try:
            try:
                async with asyncio.timeout(limit_s):
                    await child.wait_exit()
            except TimeoutError:
                child.why = f"the command did not answer within {limit_s:g} s"
            finally:
                child.kill()
            return await child.ending()
        finally:
            child.release()

    def _start(self, job: Job) -> _Child:
        try:
            child = _Child(self._command, job, self._answer_bytes)
        except OSError as error:
            raise ProviderRefusedError(
                f"the command cannot be started: {error.strerror}",
                hint="look at llm.command; a service has another PATH than a terminal",
            ) from None
        try:
            created = psutil.Process(child.pid).create_time()
            self._files.note_process(job, child.pid, created, child.kill)
        except (OSError, psutil.Error):
            job.stop = child.kill  # the record is only needed if the daemon is killed now
        return child

    def _finish(self, job: Job, ending: Ending) -> None:
        screened = ending._replace(answer=redact(ending.answer), errors=redact(ending.errors))
        try:
            self._files.finish(job, screened)
        except OSError as error:
            log.warning("a job's end was not noted", error=type(error).__name__)


class _Child:
    """The process of one job, the leader of its own process group; reaped after it is killed."""

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

    async def wait_exit(self) -> None:
        """Wait until the command ends. It stays unreaped, so that its group id is not reused."""
        pause_s = _PAUSE_S_MIN
        with suppress(psutil.NoSuchProcess):
            while psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 1.5, _PAUSE_S_MAX)

    def kill(self) -> None:
        """Kill the whole group, whose id is not reused until its leader is reaped."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):  # macOS: only zombies are left
                os.killpg(self.pid, signal.SIGKILL)

    async def _reap(self) -> None:
        """Reap the killed command; if the kernel still holds it, the next job's start does."""
        for _ in range(int(REAP_S / _PAUSE_S_MIN)):
            if self._process.poll() is not None:
                return
            await asyncio.sleep(_PAUSE_S_MIN)

    def release(self) -> None:
        """Stop reading: a process that left the group may hold the pipes for ever."""
        self._process.poll()
        self._out.cancel()
        self._err.cancel()

    async def ending(self) -> Ending:
        """Return the output and exit code of the ended command."""
        await self._reap()
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
    """Return the result of a reading *task*; nothing if it failed or is not done."""
    if not task.done() or task.cancelled() or task.exception() is not None:
        return b"", False
    return task.result()


async def _read(
    pipe: IO[bytes], bytes_max: int, *, stop: Callable[[], None] | None = None
) -> tuple[bytes, bool]:
    """Return the first *bytes_max* bytes of *pipe*, and whether there were more.

    If there are more, call *stop* at once.
    """
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    content, too_long = bytearray(), False
    try:
        while part := await reader.read(65_536):
            too_long = len(content) + len(part) > bytes_max
            content += part[: bytes_max - len(content)]
            if too_long and stop is not None:
                stop()
                break
    finally:
        transport.close()
    return bytes(content), too_long


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables that a command needs to run and find its settings."""
    return {name: value for name, value in environ.items() if name in _PASSED_VARIABLES} | {
        IN_A_JOB: "1"
    }


def _prompt_text(request: CompletionRequest) -> str:
    """Return the whole prompt as one text, with the schema at its end."""
    parts = [request.system, request.prompt]
    if request.schema is not None:
        shape = json.dumps(request.schema, ensure_ascii=False)
        parts.append(f"Answer with one JSON object of this JSON Schema and nothing else:\n{shape}")
    return "\n\n".join(part for part in parts if part)
