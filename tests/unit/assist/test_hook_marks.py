"""Marks of what hooks have seen and told."""

from __future__ import annotations

import os
from pathlib import Path

from memd.assist.hook_marks import KEPT_S, Marks


def test_a_stamp_is_stored_until_it_changes_or_is_old(tmp_path: Path) -> None:
    marks = Marks(str(tmp_path / "memd.sock"))
    assert marks.update("told", "tabs", KEPT_S)
    assert not marks.update("told", "tabs", KEPT_S)
    assert marks.update("told", "spaces", KEPT_S)
    path = tmp_path / "hooks" / "told"
    made_s = path.lstat().st_mtime - KEPT_S - 1
    os.utime(path, (made_s, made_s), follow_symlinks=False)
    assert not marks.update("told", "spaces")
    assert marks.update("told", "spaces", KEPT_S)
    assert not marks.update("told", "spaces", KEPT_S)
