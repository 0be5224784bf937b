"""The paths of one profile.

One profile is one tenant: one file, one lock, one socket, one daemon (SPEC D18).
``MEMD_HOME`` moves everything into one folder (tests, demonstrations), ``MEMD_PROFILE`` names
the profile, ``MEMD_MODEL_DIR`` the folder of the embedding model, which all profiles share.
The setting ``memory.storage.data_dir`` moves the memories, but not the socket and the keys,
which a command needs before it has read the settings. Nothing is created here.
"""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from memd.base.errors import InvalidError, InvalidStateError, MemoryConfigError
from memd.base.limits import SOCKET_PATH_BYTES_MAX

DEFAULT_PROFILE = "default"
MODEL_NAME = "all-MiniLM-L6-v2"
RERANKER_NAME = "ms-marco-MiniLM-L-12-v2"
DATA_DIR = ("memory", "storage", "data_dir")
_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
COPY_NAME = r"(?:\d[\dT]*(?:-replaced|-damaged)?|v\d+)"
"""What distinguishes a copy that memd made beside a database: when, or of which version.

Not any text: ``memd-work-20260101T120000.backup.db`` is a copy of the profile ``work``.
"""


@dataclass(frozen=True, slots=True)
class Paths:
    """The absolute paths of one profile."""

    profile: str
    config_file: Path
    data_dir: Path
    """The folder of the database, its lock, backups, audit anchors and wiki."""
    state_dir: Path
    runtime_dir: Path
    database: Path
    lock: Path
    socket: Path
    usage_dir: Path
    """The folder of assistants' usage files, unless a setting names another."""
    keys_dir: Path
    """The folder of the clients' and the owner's keys, private to the owner."""
    model_dir: Path

    @property
    def reranker_dir(self) -> Path:
        """The folder of the optional re-ranker, beside that of the embedding model."""
        return self.model_dir.with_name(RERANKER_NAME)

    @property
    def operator_key(self) -> Path:
        """The key that the owner's own commands present; created by the daemon."""
        return self.keys_dir / "operator.key"

    @property
    def owner_key(self) -> Path:
        """The owner's private key, with which a human signs."""
        return self.keys_dir / "owner.key"

    @property
    def anchors(self) -> Path:
        """The file of the audit's anchors, outside the database."""
        return self.database.with_suffix(".audit")

    @property
    def stop_command(self) -> str:
        """The command that stops the profile's service under systemd."""
        name = unit_name(self.profile)
        return f"systemctl --user stop {name}.socket {name}.service"

    @property
    def jobs_dir(self) -> Path:
        """The folder of a language model command's requests and answers (``llm.job_files``)."""
        return self.database.with_name(self.database.stem.replace("memd", "jobs", 1))

    @classmethod
    def resolve(
        cls,
        profile: str | None = None,
        *,
        home: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Paths:
        """Return the paths of *profile*. Raises InvalidError for an invalid name.

        Arguments override the environment, the environment overrides the system's folders.
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
        config, data, state, runtime = (
            _folders_below(home.absolute()) if home else _system_folders()
        )
        stem = "memd" if name == DEFAULT_PROFILE else f"memd-{name}"
        runtime = _shorten(runtime, f"{stem}.sock")
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

    def with_data_dir(self, folder: str | None) -> Paths:
        """Return these paths with the memories in *folder*; unchanged for None.

        Raises MemoryConfigError like ``expand_data_dir``.
        """
        if folder is None:
            return self
        data = expand_data_dir(folder)
        return replace(
            self, data_dir=data, database=data / self.database.name, lock=data / self.lock.name
        )

    def with_settings(self) -> Paths:
        """Return these paths with the data folder of the settings file and the environment.

        Only that setting is read, so no model is loaded. Raises MemoryConfigError for a file
        that cannot be read.
        """
        from memd.base.settings import find, peek

        folder = peek(find(self.config_file), os.environ, DATA_DIR)
        return self.with_data_dir(folder if isinstance(folder, str) else None)


def unit_name(profile: str) -> str:
    """Return the name of *profile*'s systemd units, without the suffix.

    >>> unit_name("default"), unit_name("work")
    ('memd', 'memd@work')
    """
    return "memd" if profile == DEFAULT_PROFILE else f"memd@{profile}"


def require_folder_of(file: Path) -> None:
    """Raise InvalidStateError if the folder of *file* does not exist; it is not created.

    A copy for a disk that is not mounted would else be on the disk that it is a copy of.
    """
    if not file.parent.is_dir():
        raise InvalidStateError(
            f"there is no folder {file.parent}", hint="create it, or mount the disk it is on"
        )


def expand_data_dir(data_dir: str) -> Path:
    """Return the folder of ``memory.storage.data_dir``, with ``~`` expanded.

    Raises MemoryConfigError for a relative one, because a daemon's current directory is
    arbitrary.
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


def _folders_below(home: Path) -> tuple[Path, Path, Path, Path]:
    return home / "config", home / "data", home / "state", home / "run"


def _system_folders() -> tuple[Path, Path, Path, Path]:
    import platformdirs  # 20 ms, which a client with MEMD_HOME or a socket saves

    dirs = platformdirs.PlatformDirs(appname="memd", appauthor=False)
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR platformdirs warns and falls back to /tmp;
        # serve checks owner and mode of whatever directory it gets.
        warnings.simplefilter("ignore")
        runtime = dirs.user_runtime_path
    return dirs.user_config_path, dirs.user_data_path, dirs.user_state_path, runtime


def _shorten(runtime: Path, name: str) -> Path:
    """Return *runtime*, or a short directory if a socket path in it would be too long."""
    if len(os.fsencode(runtime / name)) <= SOCKET_PATH_BYTES_MAX:
        return runtime
    # One per runtime folder, so that two homes with long names share no socket.
    crc = zlib.crc32(os.path.normpath(os.fsencode(runtime)))
    return Path(f"/tmp/memd-{os.getuid()}-{crc:08x}")  # noqa: S108  # 0700 and owner are checked


def list_profiles(anyone: Paths) -> list[str]:
    """Return the names of the profiles that have a database or settings, sorted.

    There is no other list of them. *anyone*: the paths of any profile; all share the folders.
    """
    profile = f"({_PROFILE.pattern})"
    result: set[str] = set()
    for folder, pattern in (
        (anyone.data_dir, rf"memd(?:-{profile})?\.db"),
        (anyone.config_file.parent, rf"(?:config|memd-{profile})\.(?:toml|yaml|yml)"),
    ):
        for path in folder.iterdir() if folder.is_dir() else ():
            match = re.fullmatch(pattern, path.name)
            if match:
                result.add(match[1] or DEFAULT_PROFILE)
    return sorted(result)


def profile_files(paths: Paths) -> Iterator[Path]:
    """Yield every file and folder of one profile, but none of another or the shared models.

    Files begin with the profile's name and a dot or a copy's stamp, folders end with it, so
    ``memd-work`` does not match ``memd-work-2.db``.
    """
    stem = paths.database.stem
    suffix = stem.removeprefix("memd")
    folders = {paths.keys_dir.name, paths.usage_dir.name, paths.jobs_dir.name, f"wiki{suffix}"}
    # A leading dot marks a temporary file of a killed writer.
    copies = re.compile(rf"\.?{re.escape(stem)}(?:-{COPY_NAME}\.backup|-restored)?\..*")
    for place in {paths.data_dir, paths.runtime_dir, paths.state_dir}:
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if copies.fullmatch(path.name) or (path.is_dir() and path.name in folders):
                yield path
    of_settings = rf"{re.escape(paths.config_file.stem)}\.(?:toml|yaml|yml)"
    texts = re.compile(rf"{of_settings}(?:\.memd\.bak)?|\.{of_settings}(?:\.memd\.bak)?\..*\.memd")
    folder = paths.config_file.parent
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if texts.fullmatch(path.name):
            yield path
