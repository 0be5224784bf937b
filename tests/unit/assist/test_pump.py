"""The pump of ``memd mcp``, without a daemon."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.work_units import effort

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


def test_a_long_line_takes_no_more_work_than_short_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tmp_path / "lines"

    def read(line: bytes, times: int) -> float:
        lines.write_bytes((line + b"\n") * times)
        with lines.open("rb") as source, Path(os.devnull).open("wb") as sink:
            monkeypatch.setattr(pump, "_SOURCE", source.fileno())
            monkeypatch.setattr(pump, "_SINK", sink.fileno())
            with effort() as spent:
                pump.Pump(None, None).run()
        return spent.units

    megabyte = b"x" * 1_000_000
    # Looked through from its start at each read, a line of 15 MB takes some 150 units.
    assert read(15 * megabyte, 1) < 3 * read(megabyte, 15) + 25


def test_lines_and_parts_of_lines_are_answered_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    source, client = os.pipe()
    answers, sink = os.pipe()
    monkeypatch.setattr(pump, "_SOURCE", source)
    monkeypatch.setattr(pump, "_SINK", sink)
    monkeypatch.setattr(pump, "_CHUNK_BYTES", 7)
    try:
        os.write(client, b'{"id": 1}\n\n  \n{"id": 2}\r\n{"id": 3}\n{"id": 4}')
        os.close(client)
        pump.Pump(None, None).run()
        lines = os.read(answers, 65_536).splitlines()
    finally:
        for handle in (source, answers, sink):
            os.close(handle)
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3, 4]
