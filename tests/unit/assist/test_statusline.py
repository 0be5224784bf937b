"""The report of a status line, without a daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memd.assist import statusline
from memd.assist.connection import GONE, HookError

WINDOW = {"context_window_size": 200_000, "current_usage": {"input_tokens": 60_000}}
LINE = json.dumps({"session_id": "s", "context_window": WINDOW}).encode()


class FailingOnce:
    """Connections to a daemon that goes away before the first report and is back for the next."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "memd.sock")
        self.failures = 1
        self.reports: list[dict[str, object]] = []

    def __call__(self, *_: object) -> FailingOnce:
        return self

    def acknowledge(self) -> None:
        return

    def notify(self, method: str, params: dict[str, object]) -> None:
        assert method == "usage.report"
        self.failures -= 1
        if self.failures >= 0:
            raise HookError(GONE)
        self.reports.append(params)

    def close(self) -> None:
        return


def test_a_usage_that_could_not_be_sent_is_sent_with_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = FailingOnce(tmp_path)
    monkeypatch.setattr(statusline, "HookConnection", daemon)
    with pytest.raises(HookError):
        statusline._report_and_render(LINE, "claude-code", None)
    for _ in range(2):
        assert statusline._report_and_render(LINE, "claude-code", None) == "memd"
    (report,) = daemon.reports
    assert report["used_tokens"] == 60_000
