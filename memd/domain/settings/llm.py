"""The settings of the optional language model, by default none (SPEC D8)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from memd.base.limits import COMPLETION_BYTES_MAX
from memd.domain.values import NotBlankStr, PlainText, SafePath, Value


class LlmUses(Value):
    """The uses of the language model; everything else is done by rule.

    Summaries of nights are enabled in `memory.consolidation`.
    """

    naps: bool = False
    """Write the facts and digest of a nap, checked against the transcript."""
    compression: bool = False
    """Write the summaries of old sessions, within the bounds of `memory.consolidation.llm`."""
    reformulation: bool = False
    """Reformulate tool searches and judge whether they found enough; needs
    `query_reformulation_enabled`.
    """
    triples: bool = False
    """Extract triples for the graph, in addition to the rules."""
    routing: bool = False
    """Choose the workers, and whether they search again; needs `retriever` `hierarchical`."""
    reranking: bool = False
    """Order the results, in place of the re-ranker; needs `query_specific_rerank_enabled`.
    """
    lessons: bool = False
    """Write the lesson of a reported failure; the rules are the fallback."""


class LlmSettings(Value):
    """The language model: provider, uses and budgets."""

    provider: Literal["none", "openai_compatible", "assistant", "jobs"] = "none"
    """`none`; `openai_compatible`: an endpoint, such as of Ollama, llama.cpp, LM Studio or vLLM;
    `assistant`: a connected client that offers itself with `llm.register`; `jobs`: `command`, run
    for each completion.
    """
    url: NotBlankStr = "http://127.0.0.1:11434/v1"
    """URL of the endpoint up to `/v1`; on this machine, unless `allowed_hosts` has its host."""
    model: NotBlankStr | None = None
    """Name of the model at the endpoint."""
    api_key_file: SafePath | None = None
    """File with the API key of the endpoint, if it needs one; readable by its owner only."""
    allowed_hosts: tuple[NotBlankStr, ...] = ()
    """Other hosts that prompts, and therefore memories, may be sent to."""
    command: tuple[PlainText, ...] = ()
    """Program and arguments for `jobs`, run without a shell. The prompt, and therefore memories,
    goes to its stdin; its stdout is the answer. Setting it is your consent.
    """
    job_days: int = Field(default=7, ge=0, le=3_650)
    """Days that the log of a job is kept; checked with each job and start. At most 200 jobs are
    kept, and a forget deletes all of them.
    """
    answer_bytes: int = Field(default=262_144, ge=1_024, le=COMPLETION_BYTES_MAX)
    """Maximum output of the `command`; beyond it the command is killed and the rule used."""
    timeout_seconds: int = Field(default=60, ge=1, le=1_800)
    """Timeout of background work; then the rule is used."""
    wait_seconds: int = Field(default=10, ge=1, le=120)
    """Timeout of interactive work, such as reformulating a search."""
    night_tokens: int = Field(default=0, ge=0)
    """Tokens that naps, nights and other background work may use within 24 hours; 0: none.
    Interactive work, such as reformulating a search, is not counted.
    """
    uses: LlmUses = LlmUses()

    @model_validator(mode="after")
    def _check_provider(self) -> Self:
        if self.provider == "openai_compatible":
            if self.model is None:
                raise ValueError("provider openai_compatible needs a model")
            _check_host(self.url, self.allowed_hosts)
        if self.provider == "jobs" and not (self.command and self.command[0].strip()):
            raise ValueError("provider jobs needs a command, for example ['claude', '-p']")
        return self


def host_of(url: str) -> str:
    """Return the host of an http or https URL. Raises ValueError for anything else.

    >>> host_of("http://[::1]:8080/v1")
    '::1'
    """
    try:
        parts = urlsplit(url)
        is_port_valid = parts.port is None or parts.port > 0  # raises ValueError above 65535
    except ValueError:
        is_port_valid = False
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname or not is_port_valid:
        raise ValueError("url must be an address such as http://127.0.0.1:11434/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError("url must not contain a password: name a file in api_key_file")
    return parts.hostname


def is_local(host: str) -> bool:
    """Return whether *host* is a name or address of this machine.

    >>> is_local("localhost"), is_local("127.0.0.2"), is_local("192.168.0.2"), is_local("0.0.0.0")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_host(url: str, allowed: tuple[str, ...]) -> None:
    host = host_of(url)
    if not is_local(host) and host not in {name.casefold() for name in allowed}:
        raise ValueError(
            f"url is on {host}, not on this machine: memories would leave it; "
            "to allow that, name the host in allowed_hosts"
        )


def find_unused(settings: LlmSettings) -> Iterator[str]:
    """Yield a sentence for each key in *settings* that has no effect."""
    enabled = [f"uses.{name}" for name in LlmUses.model_fields if getattr(settings.uses, name)]
    present = settings.model_fields_set - {"provider", "uses"}
    if settings.provider == "none":
        unused = [*sorted(present), *enabled]
    else:
        unused = sorted(present & _UNUSED_KEYS[settings.provider])
    for name in unused:
        yield f"llm.{name} has no effect: llm.provider is {settings.provider}"
    if settings.provider != "none" and settings.night_tokens == 0:
        for name in enabled:
            if name in BACKGROUND_USES:
                yield f"llm.{name} has no effect: llm.night_tokens is 0"


_ENDPOINT_KEYS = frozenset({"url", "api_key_file", "allowed_hosts"})
_JOB_KEYS = frozenset({"command", "job_days", "answer_bytes"})
_UNUSED_KEYS = {
    "openai_compatible": _JOB_KEYS,
    "assistant": _ENDPOINT_KEYS | _JOB_KEYS,
    "jobs": _ENDPOINT_KEYS | {"model"},
}
"""The keys that have no effect with each provider."""
BACKGROUND_USES = frozenset({"uses.naps", "uses.compression", "uses.triples", "uses.lessons"})
"""Uses that are charged to ``night_tokens``."""
