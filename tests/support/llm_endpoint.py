"""A stub of OpenAI's chat completions over real HTTP, which can fail as endpoints do.

It listens on this machine in a thread, so that a daemon in another process can call it. A rule
chooses each answer: a text is sent as a completion, as a stream if requested; the other answers
are failures.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Status:
    """An answer with another status than 200."""

    code: int


@dataclass(frozen=True)
class Raw:
    """A body as it is, with its content type."""

    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True)
class BrokenOff:
    """A stream of *text* that ends without saying so."""

    text: str


class Hang:
    """No answer until the stub is closed."""


class Endless:
    """A stream that goes on for ever."""


Answer = str | Status | Raw | BrokenOff | Hang | Endless
Rule = Callable[[dict[str, Any]], Answer]


@dataclass
class Stub:
    """What was asked, and what is answered."""

    rule: Rule
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def prompts(self) -> list[str]:
        return [each["messages"][-1]["content"] for each in self.asked]

    def systems(self) -> list[str]:
        return [each["messages"][0]["content"] for each in self.asked]


def replying(answer: Answer | dict[str, Any]) -> Rule:
    """Return a rule that always answers the same; an object is sent as JSON text."""
    reply = json.dumps(answer) if isinstance(answer, dict) else answer
    return lambda _: reply


@contextlib.contextmanager
def an_endpoint(answer: Answer | dict[str, Any] | Rule) -> Iterator[Stub]:
    """Serve *answer*, or what a rule makes of each request; yields the stub."""
    stub = Stub(answer if callable(answer) else replying(answer))

    class Handler(_Handler):
        served = stub

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        return  # a client that gives up resets its connection, as it should


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Stub

    def log_message(self, *_: Any) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert self.path == "/v1/chat/completions"
        self.served.asked.append(body)
        self.served.keys.append(self.headers.get("authorization"))
        with contextlib.suppress(OSError):  # who asked has gone
            self._answer(self.served.rule(body), body)

    def _answer(self, answer: Answer, body: dict[str, Any]) -> None:
        if isinstance(answer, Status):
            self._whole(b'{"error": {"message": "no"}}', "application/json", answer.code)
        elif isinstance(answer, Raw):
            self._whole(answer.body, answer.content_type)
        elif isinstance(answer, Hang):
            self.served.over.wait()
            self.close_connection = True
        elif isinstance(answer, Endless):
            self._begin()
            while not self.served.over.is_set():
                self._piece(_delta("on and on " * 100))
        elif isinstance(answer, BrokenOff):
            self._begin()
            self._piece(_delta(answer.text))
            self._end()
        elif body.get("stream"):
            self._streamed(answer, body)
        else:
            message = {"role": "assistant", "content": answer}
            whole = {"choices": [{"index": 0, "message": message}], "usage": _usage(body, answer)}
            self._whole(json.dumps(whole).encode(), "application/json")

    def _streamed(self, answer: str, body: dict[str, Any]) -> None:
        self._begin()
        self._piece(": keep-alive\n\n")
        for at in range(0, len(answer), 7):
            self._piece(_delta(answer[at : at + 7]))
        usage = {"choices": [], "usage": _usage(body, answer)}
        self._piece(f"data: {json.dumps(usage)}\n\n")
        self._piece("data: [DONE]\n\n")
        self._end()

    def _whole(self, raw: bytes, content_type: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _piece(self, text: str) -> None:
        raw = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def _delta(text: str) -> str:
    chunk = {"choices": [{"index": 0, "delta": {"content": text}}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


def _usage(body: dict[str, Any], answer: str) -> dict[str, int]:
    asked = sum(len(message["content"]) for message in body["messages"])
    return {"prompt_tokens": asked // 4, "completion_tokens": len(answer) // 4}


def settings_for(stub: Stub, *, night_tokens: int = 1_000_000, **more: Any) -> dict[str, Any]:
    """Return the ``llm`` settings that ask *stub*, for lessons where *more* has no uses."""
    return {
        "provider": "openai_compatible",
        "url": stub.url,
        "model": "stub",
        "night_tokens": night_tokens,
        "uses": {"lessons": True},
        **more,
    }
