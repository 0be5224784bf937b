"""The pump of ``memd mcp``, without a daemon."""

from __future__ import annotations

import os

import pytest

from memd.assist import pump


def test_a_line_that_is_too_long_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source, client = os.pipe()
    answers, sink = os.pipe()
    monkeypatch.setattr(pump, "_SOURCE", source)
    monkeypatch.setattr(pump, "_SINK", sink)
    monkeypatch.setattr(pump, "LINE_BYTES_MAX", 1_000)
    monkeypatch.setattr(pump, "_CHUNK_BYTES", 1_000)
    try:
        os.write(client, b"x" * 40_000 + b"\n")
        os.close(client)
        pump.Pump(None, None).run()
        answer = os.read(answers, 65_536)
    finally:
        for handle in (source, answers, sink):
            os.close(handle)
    assert answer.count(b"\n") == 1
    assert b"a line is too long" in answer
