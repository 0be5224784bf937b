"""``python -m support.fake_daemon``: the real daemon around rooms that remember in a dict."""

from __future__ import annotations

import sys

from support.rooms import FakeHouse

from memd.base.paths import Paths
from memd.daemon import serve

if __name__ == "__main__":
    sys.exit(serve(Paths.resolve(), build=FakeHouse().build))
