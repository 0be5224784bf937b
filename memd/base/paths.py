"""Where everything of one profile lives.

One profile is one tenant: one file, one lock, one socket, one daemon (SPEC D18).
``MEMD_HOME`` moves everything under one folder (tests, demonstrations),
``MEMD_PROFILE`` names the profile, ``MEMD_MODEL_DIR`` the folder of the
embedding model, which all profiles share. Nothing is created here.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memd.base.errors import InvalidError
from memd.base.limits import SOCKET_PATH_BYTES_MAX

DEFAULT_PROFILE = "default"
MODEL_NAME = "all-MiniLM-L6-v2"
RERANKER_NAME = "ms-marco-MiniLM-L-12-v2"
_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class Paths:
    """The places of one profile. All absolute."""

    profile: str
    config_file: Path
    data_dir: Path
    state_dir: Path
    runtime_dir: Path
    database: Path
    lock: Path
    socket: Path
    usage_dir: Path
    """Where assistants say how full their windows are, unless a setting names another place."""
    model_dir: Path

    @property
    def reranker_dir(self) -> Path:
        """The folder of the optional re-ranker, beside that of the embedding model."""
        return self.model_dir.with_name(RERANKER_NAME)

    @property
    def keys_dir(self) -> Path:
        """The files of clients' keys and of the owner's, for nobody else's eyes."""
        return self.database.parent / self.database.stem.replace("memd", "keys", 1)

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
            model_dir=Path(model).absolute() if model else data / "models" / MODEL_NAME,
        )


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
    return Path(f"/tmp/memd-{os.getuid()}")  # noqa: S108  # 0700 and owner are checked before use
