"""Handling of hook events, without a daemon."""

from __future__ import annotations

from memd.assist.handle import newest_that_fit
from memd.assist.line import frame
from memd.base.limits import FRAME_BYTES_MAX


def test_messages_in_any_script_fit_into_a_frame() -> None:
    messages: list[object] = [{"role": "user", "content": "日本" * 1_500}] * 200
    newest = newest_that_fit(messages)
    assert newest
    assert len(frame({"params": {"messages": newest}})) < FRAME_BYTES_MAX
