"""Git repositories, made by git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git(folder: Path, *args: str) -> None:
    """Run git in *folder* as if nobody had configured it, and outside of any hook of git's own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    words = ["git", "-C", str(folder), *identity, *args]
    subprocess.run(words, check=True, capture_output=True, env=env)
