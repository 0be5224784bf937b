"""Real assistants, connected by one command, against a model on loopback: ``--long clients``.

Fetched with npm into the user's cache once (1.2 GB, pinned); nothing else of it needs a network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import platformdirs
import pytest
from support.assistant_endpoint import CALL, Model, fake_model
from support.daemon import ROOT, Spawned, environment, spawned

pytestmark = [pytest.mark.long, pytest.mark.model]

FACT = "The team ships the heron service with make ship on Fridays."
QUESTION = "How does the team ship the heron service?"
INSTALL_SECONDS_MAX = 900
RUN_SECONDS_MAX = 600


class Real(NamedTuple):
    """A real program: its package, the files it has before, and how it is run once."""

    package: str
    words: tuple[str, ...]
    files: Callable[[Model], dict[str, str]]
    environ: Callable[[Model], dict[str, str]]


def _codex_files(model: Model) -> dict[str, str]:
    return {
        ".codex/config.toml": f'model = "fake"   # mine\nmodel_provider = "fake"\n\n'
        f'[model_providers.fake]\nname = "fake"\nbase_url = "{model.url}/v1"\n'
        'wire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
    }


def _opencode_files(model: Model) -> dict[str, str]:
    options = {"baseURL": f"{model.url}/v1", "apiKey": "sk-fake"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"fake": {}}}
    text = json.dumps({"model": "fake/fake", "provider": {"fake": provider}})
    return {".config/opencode/opencode.jsonc": f"// mine\n{text}"}


REAL = {
    "claude-code": Real(
        "@anthropic-ai/claude-code@2.1.332",
        ("claude", "-p", "PROMPT", "--allowedTools", "mcp__plugin_memd_memd__memory_search"),
        lambda _: {".claude/settings.json": '{\n\t"cleanupPeriodDays": 30\n}'},
        lambda model: {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-fake"},
    ),
    "codex": Real(
        "@openai/codex@0.171.0",
        ("codex", "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "PROMPT"),
        _codex_files,
        lambda _: {"OPENAI_API_KEY": "sk-fake"},
    ),
    "gemini": Real(
        "@google/gemini-cli@0.61.0",
        ("gemini", "-m", "gemini-2.5-flash", "--yolo", "-p", "PROMPT"),
        lambda _: {
            ".gemini/settings.json": "// mine\n"
            '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n'
        },
        lambda model: {
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_API_KEY": "fake",
            "GOOGLE_GEMINI_BASE_URL": model.url,
        },
    ),
    "opencode": Real(
        "opencode-ai@1.18.33", ("opencode", "run", "PROMPT"), _opencode_files, lambda _: {}
    ),
    "copilot": Real(
        "@github/copilot@1.0.102",
        ("copilot", "--allow-all-tools", "-p", "PROMPT"),
        lambda _: {},
        lambda model: {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_MODEL": "fake",
        },
    ),
}


@pytest.fixture(scope="module")
def programs() -> Path:
    """Return the folder with the programs; they are fetched where they are not there yet."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    folder = Path(os.environ.get("MEMD_TEST_CLIENTS") or platformdirs.user_cache_path("memd-tests"))
    folder /= "clients"
    folder.mkdir(parents=True, exist_ok=True)
    names = {each.package.rpartition("@")[0] for each in REAL.values()}
    missing = [name for name in names if not (folder / "node_modules" / name).is_dir()]
    if missing:
        packages = [each.package for each in REAL.values()]
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False
        )
        if done.returncode:
            pytest.skip(f"npm could not fetch {', '.join(missing)}: {done.stderr[-300:]}")
    for name in names:
        package = folder / "node_modules" / name
        for script in ("install.cjs", "postinstall.mjs"):  # npm does not run them unasked any more
            if (package / script).is_file():
                subprocess.run(["node", script], cwd=package, capture_output=True, check=False)
    return folder / "node_modules" / ".bin"


class Desk(NamedTuple):
    """A person's home, a daemon, and what runs there."""

    home: Path
    daemon: Spawned

    def environ(self, more: dict[str, str]) -> dict[str, str]:
        """Return what a terminal of this person has: little."""
        node = str(Path(shutil.which("node") or "/usr/bin/node").parent)
        path = os.pathsep.join([str(self.home / "bin"), node, "/usr/bin", "/bin"])
        return {"HOME": str(self.home), "PATH": path, "TERM": "xterm", **more}

    def memd(self, *words: str) -> None:
        environ = {**environment(self.daemon.home), "HOME": str(self.home)}
        environ["PATH"] = os.pathsep.join([str(self.home / "bin"), os.environ["PATH"]])
        done = subprocess.run(
            [str(self.home / "bin" / "memd"), *words],
            env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@pytest.fixture
def desk(tmp_path: Path, model_dir: Path) -> Iterator[Desk]:
    home, memd = tmp_path / "home", tmp_path / "memd"
    for folder in (home / "bin", home / "project" / ".git", memd):
        folder.mkdir(parents=True)
    program = home / "bin" / "memd"
    program.write_text(
        f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m memd \"$@\"\n", "utf-8"
    )
    program.chmod(0o700)
    theirs = {"HOME": str(home), "MEMD_MODEL_DIR": str(model_dir)}
    with spawned(memd, theirs) as daemon:
        yield Desk(home, daemon)


@pytest.mark.parametrize("name", REAL)
def test_a_real_assistant_remembers_after_one_command(
    desk: Desk, programs: Path, name: str
) -> None:
    real = REAL[name]
    if not (programs / real.words[0]).exists():
        pytest.skip(f"{real.package} is not installed")
    with fake_model(QUESTION) as model:
        files = real.files(model)
        for file, text in files.items():
            (desk.home / file).parent.mkdir(parents=True, exist_ok=True)
            (desk.home / file).write_text(text, "utf-8")
        with desk.daemon.client() as owner:
            owner.call("memory.ingest", {"text": FACT, "deliberate": True})
        desk.memd("connect", name, "--yes")
        run(desk, programs, real, model, f"{CALL} {QUESTION}")
        assert any(each.endswith("memory_search") for each in model.tools())
        assert model.holding(FACT), "nothing was told before the prompt"
        assert any(FACT in each for each in model.answers()), "the search was not answered"
        first = model.holding(CALL)[0]
        assert first.count(FACT) == 1, "told twice"
        desk.memd("connect", name, "--remove", "--yes")
        for file, text in files.items():
            assert (desk.home / file).read_text("utf-8") == text
        left = [each for each in desk.home.rglob("*memd*") if "bin" not in each.parts]
        assert not [each for each in left if each.is_file() and each.suffix in (".json", ".js")]
        seen = len(model.requests)
        run(desk, programs, real, model, "hello")
        assert not any("memory_search" in json.dumps(body) for body in model.requests[seen:])


DECISION = "We decided to deploy the heron service with make ship, because blue-green was slow."


def test_after_a_compaction_a_session_has_its_facts_back(desk: Desk, programs: Path) -> None:
    real = REAL["claude-code"]
    if not (programs / "claude").exists():
        pytest.skip(f"{real.package} is not installed")
    with fake_model(QUESTION) as model:
        desk.memd("connect", "claude-code", "--yes")
        run(desk, programs, real, model, DECISION)
        again = real._replace(words=("claude", "--continue", "-p", "PROMPT"))
        run(desk, programs, again, model, "And the tests run with tox -q, always.")
        second = json.dumps(model.requests[-1])
        assert second.count(DECISION) == 1, "told what the window still holds"
        run(desk, programs, again, model, "/compact")
        run(desk, programs, again, model, "How do we deploy the heron service?")
        assert DECISION in json.dumps(model.requests[-1])
    assert "a nap without transcript" not in desk.daemon.log.read_text("utf-8")


SAID = "We deploy the heron service with ansible from the bastion host, never by hand."
WRITTEN = "Deploys of the heron service go with ansible from the bastion host, never by hand."
TURNS = [
    {"role": "user", "content": SAID},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(9)),
]
JOBS = {
    "claude-code": ["claude", "-p", "--tools", "", "--strict-mcp-config",
                    "--no-session-persistence"],
    "codex": ["codex", "exec", "--ephemeral", "--skip-git-repo-check", "-"],
}  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_a_real_assistants_command_is_the_language_model_of_a_nap(
    tmp_path: Path, programs: Path, model_dir: Path, name: str
) -> None:
    program, *words = JOBS[name]
    if not (programs / program).exists():
        pytest.skip(f"{REAL[name].package} is not installed")
    fact = {"kind": "decision", "text": WRITTEN, "turns": [0]}
    home, memd = tmp_path / "home", tmp_path / "memd"
    with fake_model(QUESTION, json.dumps({"facts": [fact], "digest": []})) as model:
        files = {
            ".claude/settings.json": json.dumps(
                {"env": {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-fake"}}
            ),
            ".codex/config.toml": _codex_files(model)[".codex/config.toml"].replace(
                'env_key = "OPENAI_API_KEY"\n', ""
            ),
        }
        for file, text in files.items():
            (home / file).parent.mkdir(parents=True)
            (home / file).write_text(text, "utf-8")
        llm = {"provider": "jobs", "command": [str(programs / program), *words],
               "night_tokens": 1_000_000, "uses": {"naps": True}}  # fmt: skip
        (memd / "config").mkdir(parents=True)
        (memd / "config" / "config.yaml").write_text(json.dumps({"llm": llm}), "utf-8")
        with spawned(memd, {"HOME": str(home), "MEMD_MODEL_DIR": str(model_dir)}) as daemon:
            full = {"used_tokens": 170_000, "window_tokens": 200_000, "messages": TURNS}
            with daemon.client() as client:
                client.call("usage.report", {"source": "cursor", "session_id": "s", **full})
                kept = [each["content"] for each in client.call("memory.list")["items"]]
            (job,) = daemon.paths.jobs_dir.iterdir()
            files = {each.name: each.read_text("utf-8") for each in job.iterdir() if each.is_file()}
            assert json.loads(files["job.json"])["state"] == "answered", files
            assert WRITTEN in kept
        assert model.holding("bastion host"), "the prompt went to the assistant's own model"


def run(desk: Desk, programs: Path, real: Real, model: Model, prompt: str) -> None:
    program, *words = [prompt if word == "PROMPT" else word for word in real.words]
    done = subprocess.run(
        [str(programs / program), *words],
        cwd=desk.home / "project",
        env=desk.environ(real.environ(model)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
