"""The paths of a profile's files and folders. Nothing is created here.

A profile has one database, one lock, one socket and one daemon (SPEC D18). Three environment
variables change the paths: ``MEMD_PROFILE`` names the profile, ``MEMD_HOME`` puts everything
into one folder (tests, demonstrations), and ``MEMD_MODEL_DIR`` is the folder of the embedding
model, which all profiles share. The setting ``memory.storage.data_dir`` moves the memories,
but not the socket and the keys: a command needs those before it has read the settings.
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
r"""Matches what distinguishes a copy that memd made of a database: its time or schema version.

Examples: ``20260101T120000``, ``20260101T120000-damaged``, ``v12``. Arbitrary text does not
match: in ``memd-work-20260101T120000.backup.db`` it would hide the profile ``work``.
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
        """The folder of the optional re-ranker, next to the embedding model's."""
        return self.model_dir.with_name(RERANKER_NAME)

    @property
    def operator_key(self) -> Path:
        """The file with the key of the owner's own commands; the daemon creates it."""
        return self.keys_dir / "operator.key"

    @property
    def owner_key(self) -> Path:
        """The file with the owner's private key, which signs what a human writes."""
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

        Raises MemoryConfigError like ``expand_folder``.
        """
        if folder is None:
            return self
        data = expand_folder(".".join(DATA_DIR), folder)
        return replace(
            self, data_dir=data, database=data / self.database.name, lock=data / self.lock.name
        )

    def with_settings(self, file: Path | None = None) -> Paths:
        """Return these paths with the data folder of the settings file and the environment.

        *file* is read where the profile has no settings file. Only that setting is read, so no
        model is loaded. Raises MemoryConfigError for a file that cannot be read.
        """
        from memd.base.settings import find, peek

        folder = peek(find(self.config_file) or file, os.environ, DATA_DIR)
        return self.with_data_dir(folder if isinstance(folder, str) else None)


def unit_name(profile: str) -> str:
    """Return the name of *profile*'s systemd units, without the suffix.

    >>> unit_name("default"), unit_name("work")
    ('memd', 'memd@work')
    """
    return "memd" if profile == DEFAULT_PROFILE else f"memd@{profile}"


def require_folder_of(file: Path) -> None:
    """Raise InvalidStateError if the folder of *file* does not exist; it is not created.

    Creating it could put a backup for an unmounted disk onto the disk of the original.
    """
    if not file.parent.is_dir():
        raise InvalidStateError(
            f"there is no folder {file.parent}", hint="create it, or mount the disk it is on"
        )


def expand_folder(key: str, folder: str) -> Path:
    """Return the *folder* that the setting *key* names, with ``~`` expanded.

    Raises MemoryConfigError for a relative path, because the daemon's current directory is
    arbitrary, and for the home of an unknown user.
    """
    try:
        path = Path(folder).expanduser()
    except RuntimeError:
        user = Path(folder).parts[0].removeprefix("~")
        raise MemoryConfigError(
            f"{key} = {folder!r}: there is no user {user!r} with a home", field=key
        ) from None
    if not path.is_absolute():
        raise MemoryConfigError(
            f"{key} = {folder!r} must be an absolute path or begin with ~/", field=key
        )
    return path


def _folders_below(home: Path) -> tuple[Path, Path, Path, Path]:
    return home / "config", home / "data", home / "state", home / "run"


def _system_folders() -> tuple[Path, Path, Path, Path]:
    import platformdirs  # takes 20 ms, which a client with MEMD_HOME or a socket saves

    dirs = platformdirs.PlatformDirs(appname="memd", appauthor=False)
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR platformdirs warns and falls back to /tmp.
        # The daemon checks the owner and mode of the directory in any case.
        warnings.simplefilter("ignore")
        runtime = dirs.user_runtime_path
    return dirs.user_config_path, dirs.user_data_path, dirs.user_state_path, runtime


def _shorten(runtime: Path, name: str) -> Path:
    """Return *runtime*, or a short directory if a socket path in it would be too long."""
    if len(os.fsencode(runtime / name)) <= SOCKET_PATH_BYTES_MAX:
        return runtime
    # The checksum keeps the sockets of two long runtime folders apart.
    crc = zlib.crc32(os.path.normpath(os.fsencode(runtime)))
    return Path(f"/tmp/memd-{os.getuid()}-{crc:08x}")  # noqa: S108  # 0700 and owner are checked


def list_profiles(paths: Paths) -> list[str]:
    """Return the names of the profiles that have a database or a settings file, sorted.

    There is no other list of profiles. *paths* may be those of any profile, because all
    profiles share the folders.
    """
    profile = f"({_PROFILE.pattern})"
    result: set[str] = set()
    for folder, pattern in (
        (paths.data_dir, rf"memd(?:-{profile})?\.db"),
        (paths.config_file.parent, rf"(?:config|memd-{profile})\.(?:toml|yaml|yml)"),
    ):
        for path in folder.iterdir() if folder.is_dir() else ():
            match = re.fullmatch(pattern, path.name)
            if match:
                result.add(match[1] or DEFAULT_PROFILE)
    return sorted(result)


def profile_files(paths: Paths) -> Iterator[Path]:
    """Yield all files and folders of one profile, but not the models, which profiles share.

    The name of a file begins with the profile's, followed by a dot or the name of a copy.
    So the files of the profile ``work`` do not include ``memd-work-2.db``.
    """
    stem = paths.database.stem
    suffix = stem.removeprefix("memd")
    folder_names = {paths.keys_dir.name, paths.usage_dir.name, paths.jobs_dir.name, f"wiki{suffix}"}
    # For example memd.db, memd.lock, memd-v12.backup.db, memd-restored.db. A leading dot marks
    # the temporary file of a writer that was killed.
    database_files = re.compile(rf"\.?{re.escape(stem)}(?:-{COPY_NAME}\.backup|-restored)?\..*")
    for folder in {paths.data_dir, paths.runtime_dir, paths.state_dir}:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if database_files.fullmatch(path.name) or (path.is_dir() and path.name in folder_names):
                yield path
    # For example config.toml, config.toml.memd.bak, and the temporary .config.toml.x1.memd.
    name = rf"{re.escape(paths.config_file.stem)}\.(?:toml|yaml|yml)"
    settings_files = re.compile(rf"{name}(?:\.memd\.bak)?|\.{name}(?:\.memd\.bak)?\..*\.memd")
    folder = paths.config_file.parent
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if settings_files.fullmatch(path.name):
            yield path
