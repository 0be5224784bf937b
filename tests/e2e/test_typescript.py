"""The client in TypeScript of docs/memd.ts does over the real socket what its page shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import platformdirs
import pytest
from support.daemon import ROOT, environment, spawned, wait_until

NODE_MIN = (22, 6)
"""The first that runs TypeScript by itself."""
STRIPPER = "esbuild@0.28.2"
"""What takes the types away for an older one; fetched with npm into the user's cache once."""
FETCH_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def node() -> str:
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed")
    return path


@pytest.fixture(scope="module")
def stripper(node: str) -> list[str] | None:
    """Return the command that takes the types away, None where node does it by itself."""
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    number = tuple(int(part) for part in version.strip().lstrip("v").split(".")[:2])
    if number >= NODE_MIN:
        return None
    folder = platformdirs.user_cache_path("memd-tests") / "typescript"
    program = folder / "node_modules" / ".bin" / STRIPPER.partition("@")[0]
    if not program.exists():
        _fetch(folder, f"node {version.strip()} does not run TypeScript")
    return [str(program), "--format=esm", "--out-extension:.js=.mjs", "--outdir=."]


def _fetch(folder: Path, why: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"{why}, and npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    words = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    try:
        done = subprocess.run(
            [*words, STRIPPER], capture_output=True, timeout=FETCH_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{why}, and npm does not answer")
    if done.returncode:
        pytest.skip(f"{why}, and npm could not fetch {STRIPPER}")


def test_the_example_of_the_page_runs(
    node: str, stripper: list[str] | None, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "assistants.md").read_text("utf-8")
    (example,) = re.findall(r"^```ts\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    more = """
const refused = await Memd.connect()
try {
  await refused.call("memory.get", { id: 7 })
} catch (error) {
  console.log((error as MemdError).kind)
}
console.log(await refused.call("memory.count"))
refused.close()
console.log(await refused.call("memory.count").catch((error: MemdError) => error.kind))
const nowhere = { path: "/nowhere/memd.sock" }
console.log(await Memd.connect(nowhere).catch((error: MemdError) => error.kind))
"""
    example = example.replace("{ Memd }", "{ Memd, type MemdError }")
    with spawned(tmp_path) as daemon, daemon.client() as owner:
        made = owner.call("client.add", {"name": "ts", "agent_id": "ts"})
        lines = _run(node, stripper, tmp_path, example + more, made["key_file"])
        assert "We deploy with blue-green since March." in "\n".join(lines)
        assert lines[-4:] == ["invalid", "1", "not_running", "not_running"]
        assert owner.call("memory.count", {"agent_id": "ts"}) == 1


def test_a_refused_frame_fails_its_own_request_and_events_and_timeouts_arrive(
    node: str, stripper: list[str] | None, tmp_path: Path
) -> None:
    program = """
import { Memd, type MemdError } from "./memd.ts"

const kind = (error: MemdError) => `${error.kind} ${error.retry}`
const events: string[] = []
const onEvent = (name: string, event: any) => events.push(`${name} ${event.stored}`)
const heard = await Memd.connect({ onEvent })
await heard.call("events.subscribe", { names: ["event.stored"] })
await heard.call("memory.ingest", { text: "We deploy with blue-green since March." })
await heard.call("memory.count")
console.log(events.join())
const text = "x".repeat(1_200_000)
const calls = ["memory.count", "memory.ingest", "memory.count"].map((method) =>
  heard.call(method, method === "memory.count" ? {} : { text }).catch(kind),
)
console.log((await Promise.all(calls)).join())
console.log(await heard.call("memory.count").catch(kind))
heard.close()
const hurried = await Memd.connect({ timeout: 200 })
const { pid } = await hurried.call("system.hello")
process.kill(pid, "SIGSTOP")
console.log(await hurried.call("memory.count").catch(kind))
process.kill(pid, "SIGCONT")
hurried.close()
"""
    with spawned(tmp_path):
        lines = _run(node, stripper, tmp_path, program)
    gone = "not_running true"
    assert lines == ["event.stored 1", f"1,too_large false,{gone}", "1", "timeout true"]


def test_who_cannot_connect_ends_and_who_lost_the_daemon_connects_to_the_next(
    node: str, stripper: list[str] | None, tmp_path: Path
) -> None:
    program = """
import { existsSync, writeFileSync } from "node:fs"
import { Memd, type MemdError } from "./memd.ts"

const kind = (error: MemdError) => `${error.name} ${error.kind} ${error.retry}`
writeFileSync("bad.key", "memd_key_unknown")
for (const keyFile of ["nowhere.key", "bad.key"])
  console.log(await Memd.connect({ keyFile }).catch(kind))
const memd = await Memd.connect()
console.log(await memd.call("memory.count"))
writeFileSync("ready", "")
while (!existsSync("stopped")) await new Promise((resolve) => setTimeout(resolve, 20))
console.log(await memd.call("memory.count").catch(kind))
writeFileSync("refused", "")
while (!existsSync("again")) await new Promise((resolve) => setTimeout(resolve, 20))
console.log(await memd.call("memory.count"))
memd.close()
"""
    with ThreadPoolExecutor(1) as pool:
        with spawned(tmp_path):
            output = pool.submit(_run, node, stripper, tmp_path, program)
            wait_until(lambda: output.done() or (tmp_path / "ready").exists(), "it is connected")
        (tmp_path / "stopped").touch()
        wait_until(lambda: output.done() or (tmp_path / "refused").exists(), "it was refused")
        with spawned(tmp_path):
            (tmp_path / "again").touch()
            lines = output.result()
    refused = ["MemdError denied false"] * 2
    assert lines == [*refused, "0", "MemdError not_running true", "0"]


def _run(
    node: str, stripper: list[str] | None, folder: Path, program: str, key_file: str | None = None
) -> list[str]:
    """Run *program* beside a copy of the client; return the lines that it prints."""
    shutil.copy(ROOT / "docs" / "memd.ts", folder)
    (folder / "example.ts").write_text(program, "utf-8")
    words = [node, "--experimental-strip-types", "--no-warnings", "example.ts"]
    if stripper is not None:
        subprocess.run(
            [*stripper, "memd.ts", "example.ts"], cwd=folder, check=True, capture_output=True
        )
        made_js = (folder / "example.mjs").read_text("utf-8")
        (folder / "example.mjs").write_text(made_js.replace("./memd.ts", "./memd.mjs"), "utf-8")
        words = [node, "example.mjs"]
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(folder, {"MEMD_CLIENT_KEY_FILE": key_file} if key_file else None),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
