"""A language model on loopback for real assistants, offline, in the format of each.

It records every request, so a test sees which tools an assistant lists and where context is put.
A prompt that contains CALL is answered by a call of a tool named memory_search, any other by
ANSWER.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

ANSWER = "Understood."
CALL = "CALLTOOL"
_ANSWERED = ('"tool_result"', '"function_call_output"', '"role": "tool"', "functionResponse")


class Tool(NamedTuple):
    """A tool that an assistant offers; some put those of one server under a common name."""

    name: str
    namespace: str | None = None


class Model:
    """What was asked so far, and how to answer it."""

    def __init__(self, question: str, answer: str) -> None:
        self.arguments = {"query": question}
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def tools(self) -> list[str]:
        """Return the names of memd's tools that were offered."""
        offered = {tool.name for body in self.requests for tool in offers(body)}
        return sorted(name for name in offered if "memory_" in name)

    def holding(self, text: str) -> list[str]:
        """Return the requests that hold *text*, as they came."""
        bodies = (json.dumps(body, ensure_ascii=False) for body in self.requests)
        return [each for each in bodies if text in each]

    def answers(self) -> list[str]:
        """Return the requests that hold what a tool answered."""
        bodies = (json.dumps(body, ensure_ascii=False) for body in self.requests)
        return [each for each in bodies if any(mark in each for mark in _ANSWERED)]

    def call_of(self, body: dict[str, Any]) -> Tool | None:
        text = json.dumps(body)
        if CALL not in text or any(mark in text for mark in _ANSWERED):
            return None
        return next((tool for tool in offers(body) if "memory_search" in tool.name), None)


def offers(body: dict[str, Any]) -> Iterator[Tool]:
    """Yield the tools of a request."""
    for tool in body.get("tools") or []:
        for inner in tool.get("tools") or ():
            yield Tool(str(inner.get("name")), str(tool.get("name")))
        name = tool.get("name") or tool.get("function", {}).get("name")
        if name and not tool.get("tools"):
            yield Tool(str(name))
        for declared in tool.get("functionDeclarations", ()):
            yield Tool(str(declared["name"]))


@contextlib.contextmanager
def fake_model(question: str, answer: str = ANSWER) -> Iterator[Model]:
    """Serve a model that searches for *question* when it is told to, and says *answer*."""
    model = Model(question, answer)

    class Handler(_Handler):
        served = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Model

    def log_message(self, *_: object) -> None:  # quiet
        pass

    def do_GET(self) -> None:
        self._reply(json.dumps({"object": "list", "data": [{"id": "fake"}], "models": []}))

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        if not isinstance(body, dict):
            body = {}
        self.served.requests.append(body)
        call, given = self.served.call_of(body), json.dumps(self.served.arguments)
        if "count_tokens" in self.path:
            self._reply('{"input_tokens": 1000}')
        elif "/messages" in self.path:
            self._reply(*_anthropic(body, call, given, self.served.answer))
        elif "/responses" in self.path:
            self._reply(*_responses(call, given, self.served.answer))
        elif "chat/completions" in self.path:
            self._reply(*_chat(body, call, given))
        elif "enerateContent" in self.path:
            self._reply(*_gemini(self.path, call, self.served.arguments))
        else:
            self._reply("{}")

    def _reply(self, text: str, kind: str = "application/json") -> None:
        raw = text.encode()
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)


_STREAM = "text/event-stream"


def _event(data: dict[str, Any], *, named: bool = False) -> str:
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {json.dumps(data)}\n\n"


def _anthropic(body: dict[str, Any], call: Tool | None, given: str, answer: str) -> tuple[str, str]:
    usage = {"input_tokens": 1200, "output_tokens": 9}
    message: dict[str, Any] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"),
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    if not body.get("stream"):
        content = [{"type": "text", "text": answer}]
        whole = {**message, "content": content, "stop_reason": "end_turn"}
        return json.dumps(whole), "application/json"
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": answer}
    if call:
        block = {"type": "tool_use", "id": "toolu_1", "name": call.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": given}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return "".join(_event(each, named=True) for each in events), _STREAM


def _responses(call: Tool | None, given: str, answer: str) -> tuple[str, str]:
    usage = {
        "input_tokens": 1200, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1209,
    }  # fmt: skip
    whole = {"id": "resp_1", "object": "response", "status": "completed", "output": []}
    content = [{"type": "output_text", "text": answer, "annotations": []}]
    item: dict[str, Any] = {"type": "message", "id": "m1", "role": "assistant", "content": content}
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call.name}
        item |= {"arguments": given}
        item |= {"namespace": call.namespace} if call.namespace else {}
    begun: dict[str, Any] = {**whole, "status": "in_progress"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**whole, "usage": usage}},
    ]
    return "".join(_event(each, named=True) for each in events), _STREAM


def _chat(body: dict[str, Any], call: Tool | None, given: str) -> tuple[str, str]:
    usage = {"prompt_tokens": 1200, "completion_tokens": 9, "total_tokens": 1209}
    message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage}
        return json.dumps(whole), "application/json"
    if call:
        function = {"name": call.name, "arguments": given}
        calls = [{"index": 0, "id": "c1", "type": "function", "function": function}]
        message = {"role": "assistant", "tool_calls": calls}
    chunk: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk"}
    end = "tool_calls" if call else "stop"
    events = [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
    ]
    return "".join(map(_event, events)) + "data: [DONE]\n\n", _STREAM


def _gemini(path: str, call: Tool | None, arguments: dict[str, str]) -> tuple[str, str]:
    part: dict[str, Any] = {"text": ANSWER}
    if call:
        part = {"functionCall": {"name": call.name, "args": arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1200, "candidatesTokenCount": 9, "totalTokenCount": 1209}
    reply = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "fake",
    }
    if "stream" in path:
        return f"data: {json.dumps(reply)}\r\n\r\n", _STREAM
    return json.dumps(reply), "application/json"
