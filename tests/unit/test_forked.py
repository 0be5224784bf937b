"""A signal to a process that has ended, before its end is reported, is not an error."""

from __future__ import annotations

import os
import signal

from support.forked import Process


def test_a_signal_sent_between_the_end_and_its_report_is_ignored() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    unreported, reporting = os.pipe()
    try:
        Process(pid, unreported).send_signal(signal.SIGTERM)
    finally:
        os.close(unreported)
        os.close(reporting)
