"""A thousand benign lines as assistants remember them, made up by a seeded random.

Hashes, ids, images, lock files, paths, numbers, code and prose about secrets: what looks
like a secret to a rule that goes by looks.
"""

from __future__ import annotations

import base64
import hashlib
import random
import uuid
from collections.abc import Callable

SEED = 20_260_101
LINES = 1_000

_WORDS = (
    "token", "key", "secret", "password", "bearer", "session", "cookie", "login", "vault",
    "rotate", "expire", "staging", "client", "server", "deploy", "config", "user", "admin",
    "build", "cache", "index", "branch", "commit", "image", "header", "payment", "iban", "card",
    "account", "private", "public", "auth", "scope",
)  # fmt: skip

_PROSE = (
    "The {} {} is stored in the {} and rotated every {} days.",
    "My {} policy is long: at least {} characters, and no {}.",
    "Set {}_{} in the environment, never in the {} file.",
    "We decided that the {} {} expires after {} hours.",
    "Authorization: Bearer <{}> is sent with the {} {}.",
    "The sk- prefix marks a {} of the {}, ghp_ one of the {}.",
    "password: see the {} of the {} {}",
    "-----BEGIN CERTIFICATE----- opens the {} of the {} {}.",
    "Use postgres://$USER:$PASSWORD@localhost/{} for the {} {}.",
    "export API_KEY=${{{}}} before you {} the {}",
    "AKIA and ASIA begin the {} of a {} {}.",
    "docker run -e TOKEN=$TOKEN {}/{}:{}",
)


def benign_lines(count: int = LINES, seed: int = SEED) -> list[str]:
    """Return *count* lines, the same ones for the same *seed*."""
    chance = random.Random(seed)  # nothing here is to be kept secret
    return [_KINDS[number % len(_KINDS)](chance) for number in range(count)]


def _words(chance: random.Random, count: int) -> list[str]:
    return [chance.choice(_WORDS) for _ in range(count)]


def _prose(chance: random.Random) -> str:
    return chance.choice(_PROSE).format(*_words(chance, 4))


def _sha(chance: random.Random) -> str:
    return f"commit {chance.randbytes(20).hex()} fixes the {' '.join(_words(chance, 2))}"


def _digest(chance: random.Random) -> str:
    return f"sha256:{hashlib.sha256(chance.randbytes(8)).hexdigest()}  {_path(chance)}"


def _uuid(chance: random.Random) -> str:
    return f"request {uuid.UUID(bytes=chance.randbytes(16))} took {chance.random() * 100:.3f} ms"


def _lock(chance: random.Random) -> str:
    digest = base64.b64encode(chance.randbytes(64)).decode()
    return f'"integrity": "sha512-{digest}", "version": "{chance.randrange(20)}.2.1"'


def _wheel(chance: random.Random) -> str:
    name = "-".join(_words(chance, 3))
    return f"{name}==1.4.2 --hash=sha256:{chance.randbytes(32).hex()}"


def _image(chance: random.Random) -> str:
    return f"data:image/png;base64,iVBORw0KGgo{base64.b64encode(chance.randbytes(90)).decode()}"


def _path(chance: random.Random) -> str:
    steps = "/".join(_words(chance, 3))
    return f"/srv/{steps}/sk-learn/hf_{chance.choice(_WORDS)}/npm_{chance.choice(_WORDS)}.py"


def _numbers(chance: random.Random) -> str:
    return (
        f"{chance.randrange(10**12, 2 * 10**12)} {chance.random():.17f} "
        f"{chance.randrange(10**9)} rows, +49 {chance.randrange(10**9)}, "
        f"{chance.randrange(10**15, 10**16)}.5"
    )


def _code(chance: random.Random) -> str:
    first, second, third = _words(chance, 3)
    return chance.choice(
        (
            f"    {first}: str = os.environ['{second.upper()}_{third.upper()}']",
            f"\tif {first}.{second}_{third}() != nil {{ return err }}",
            f"const {first} = await {second}.get('{third}', {{ key: process.env.KEY }});",
            f"task-{first}-oriented-{second}-system-evaluation-{chance.randrange(2000, 2030)}",
            f"git push https://github.com/{first}/{second}.git HEAD:{third}",
            f"fn {first}(&self) -> Result<{second.title()}, Error> {{ self.{third}() }}",
        )
    )


def _address(chance: random.Random) -> str:
    first, second = _words(chance, 2)
    port = chance.randrange(1024, 65535)
    return f"https://{first}.example.com:{port}/{second}?x={chance.randbytes(12).hex()}&mail=a@b.c"


def _pod(chance: random.Random) -> str:
    return f"pod/{'-'.join(_words(chance, 3))}-{chance.randbytes(5).hex()}-x{chance.randrange(99)}"


_KINDS: tuple[Callable[[random.Random], str], ...] = (
    _prose, _sha, _digest, _uuid, _lock, _wheel, _image, _path, _numbers, _code, _address, _pod,
)  # fmt: skip
