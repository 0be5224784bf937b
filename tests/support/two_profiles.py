"""Two profiles of one person, each with its own daemon, and the calls of one of them."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from support import forked
from support.canaries import asking
from support.daemon import environment, wait_until

from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.client import Client


def surroundings(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a person whose files, those of assistants too, are in *home*."""
    return environment(home, {"HOME": str(home), **(more or {})})


def memd(home: Path, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Return what one command has written."""
    done = forked.run(words, env=surroundings(home), text=text)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@contextlib.contextmanager
def profiles_running(home: Path, *names: str) -> Iterator[dict[str, Paths]]:
    """Run a daemon of each profile; each writes its log into ``NAME.log``."""
    places = {name: Paths.resolve(name, home=home, environ={}) for name in names}
    environ = surroundings(home, {"MEMD_DAEMON__LOG_LEVEL": "debug"})
    started = []
    with contextlib.ExitStack() as open_files:
        nothing = open_files.enter_context(Path("/dev/null").open("rb"))
        for name in names:
            log = open_files.enter_context((home / f"{name}.log").open("ab"))
            streams = (nothing.fileno(), log.fileno(), log.fileno())
            words = ["serve", "--profile", name]
            started.append(forked.start(words, env=environ, streams=streams))
    try:
        for name, paths in places.items():
            wait_until(lambda paths=paths: _answers(paths), f"{name} answers")  # type: ignore[misc]
        yield places
    finally:
        for process in started:
            process.kill()
            process.wait()


def client_of(paths: Paths) -> Client:
    """Return the owner's client of one profile."""
    return Client(paths.socket, key=paths.operator_key, timeout=60.0)


def everything(client: Client) -> dict[str, str]:
    """Return what every method that reads answers, or its error says."""
    answers: dict[str, str] = {}
    for name, params in asking(lambda _field: "lantern"):
        try:
            answer = json.dumps(client.call(name, params))
        except MemdError as error:
            answer = f"{error.message} {error.hint}"
        answers[name] = answers.get(name, "") + answer
    return answers


def _answers(paths: Paths) -> bool:
    try:
        with client_of(paths) as client:
            client.call("system.hello")
    except (MemdError, OSError):
        return False
    return True
