"""Where everything of one profile lives.

One profile is one tenant: one file, one lock, one socket, one daemon (SPEC D18).
``MEMD_HOME`` moves everything under one folder (tests, demonstrations),
``MEMD_PROFILE`` names the profile, ``MEMD_MODEL_DIR`` the folder of the
embedding model, which all profiles share. The setting ``memory.storage.data_dir``
moves what is remembered, and nothing that a command needs before it has read the
settings: the socket and the keys. Nothing is created here.
"""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memd.base.errors import InvalidError, MemoryConfigError
from memd.base.limits import SOCKET_PATH_BYTES_MAX

DEFAULT_PROFILE = "default"
MODEL_NAME = "all-MiniLM-L6-v2"
RERANKER_NAME = "ms-marco-MiniLM-L-12-v2"
DATA_DIR = ("memory", "storage", "data_dir")
_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class Paths:
    """The places of one profile. All absolute."""

    profile: str
    config_file: Path
    data_dir: Path
    """What is remembered: the file, its lock, its backups, the notes of the audit, the wiki."""
    state_dir: Path
    runtime_dir: Path
    database: Path
    lock: Path
    socket: Path
    usage_dir: Path
    """Where assistants say how full their windows are, unless a setting names another place."""
    keys_dir: Path
    """The files of clients' keys and of the owner's, for nobody else's eyes."""
    model_dir: Path

    @property
    def reranker_dir(self) -> Path:
        """The folder of the optional re-ranker, beside that of the embedding model."""
        return self.model_dir.with_name(RERANKER_NAME)

    @property
    def operator_key(self) -> Path:
        """The key that the owner's own commands present; made by the daemon."""
        return self.keys_dir / "operator.key"

    @property
    def owner_key(self) -> Path:
        """The owner's private key, with which a human signs."""
        return self.keys_dir / "owner.key"

    @property
    def anchors(self) -> Path:
        """Where the head of the audit is noted, outside the file."""
        return self.database.with_suffix(".audit")

    @property
    def jobs_dir(self) -> Path:
        """What a language model's command was sent and answered (``llm.job_files``)."""
        return self.database.with_name(self.database.stem.replace("memd", "jobs", 1))

    @classmethod
    def resolve(
        cls,
        profile: str | None = None,
        *,
        home: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Paths:
        """Return the places of *profile*; raises InvalidError for a name that is no file name.

        What is given wins over the environment, the environment over the system's
        own places.
        """
        env = os.environ if environ is None else environ
        name = profile or env.get("MEMD_PROFILE") or DEFAULT_PROFILE
        if not _PROFILE.fullmatch(name):
            raise InvalidError(
                f"profile {name!r} is not a name",
                field="profile",
                hint="use up to 32 lower-case letters, digits, - and _",
            )
        home = home or (Path(env["MEMD_HOME"]) if env.get("MEMD_HOME") else None)
        config, data, state, runtime = _under(home.absolute()) if home else _system()
        stem = "memd" if name == DEFAULT_PROFILE else f"memd-{name}"
        runtime = _short_enough(runtime, f"{stem}.sock")
        model = env.get("MEMD_MODEL_DIR")
        return cls(
            profile=name,
            config_file=config / ("config.toml" if stem == "memd" else f"{stem}.toml"),
            data_dir=data,
            state_dir=state,
            runtime_dir=runtime,
            database=data / f"{stem}.db",
            lock=data / f"{stem}.lock",
            socket=runtime / f"{stem}.sock",
            usage_dir=runtime / stem.replace("memd", "usage", 1),
            keys_dir=data / stem.replace("memd", "keys", 1),
            model_dir=Path(model).absolute() if model else data / "models" / MODEL_NAME,
        )

    def keeping_in(self, folder: str | None) -> Paths:
        """Return these places with what is remembered in *folder*, None for where it is.

        Raises MemoryConfigError as ``folder_of`` does.
        """
        if folder is None:
            return self
        data = folder_of(folder)
        return replace(
            self, data_dir=data, database=data / self.database.name, lock=data / self.lock.name
        )

    def located(self, environ: Mapping[str, str] | None = None) -> Paths:
        """Return these places as the settings have it, from the file and the environment.

        Only the one setting is looked at, so no model is loaded. Raises
        MemoryConfigError for a file that cannot be read.
        """
        from memd.base.settings import find, peek

        env = os.environ if environ is None else environ
        folder = peek(find(self.config_file), env, DATA_DIR)
        return self.keeping_in(folder if isinstance(folder, str) else None)


def folder_of(data_dir: str) -> Path:
    """Return the folder that ``memory.storage.data_dir`` names, ``~`` being the home.

    Raises MemoryConfigError for a relative one: a daemon has no current directory that
    anybody knows.
    """
    key = ".".join(DATA_DIR)
    try:
        folder = Path(data_dir).expanduser()
    except RuntimeError:
        user = Path(data_dir).parts[0].removeprefix("~")
        raise MemoryConfigError(
            f"{key} = {data_dir!r}: there is no user {user!r} with a home", field=key
        ) from None
    if not folder.is_absolute():
        raise MemoryConfigError(
            f"{key} = {data_dir!r} must be an absolute path or begin with ~/", field=key
        )
    return folder


def _under(home: Path) -> tuple[Path, Path, Path, Path]:
    return home / "config", home / "data", home / "state", home / "run"


def _system() -> tuple[Path, Path, Path, Path]:
    import platformdirs  # 20 ms that a client with MEMD_HOME or an explicit socket need not spend

    dirs = platformdirs.PlatformDirs(appname="memd", appauthor=False)
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR platformdirs warns and falls back to /tmp;
        # serve checks owner and mode of whatever directory it gets.
        warnings.simplefilter("ignore")
        runtime = dirs.user_runtime_path
    return dirs.user_config_path, dirs.user_data_path, dirs.user_state_path, runtime


def _short_enough(runtime: Path, name: str) -> Path:
    """Return *runtime*, or a short directory where a socket in it would be too long to bind."""
    if len(os.fsencode(runtime / name)) <= SOCKET_PATH_BYTES_MAX:
        return runtime
    # Of each folder its own: two homes with long names share no socket.
    crc = zlib.crc32(os.path.normpath(os.fsencode(runtime)))
    return Path(f"/tmp/memd-{os.getuid()}-{crc:08x}")  # noqa: S108  # 0700 and owner are checked
