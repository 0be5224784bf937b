"""Service notifications to systemd (``sd_notify``), with the standard library.

Nothing is sent if ``NOTIFY_SOCKET`` is not set. The watchdog is fed by the event loop: a thread
would go on feeding it while the loop hangs.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping

from memd.base.clock import Clock


def send(state: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Send *state*, such as ``READY=1``; return whether it was sent."""
    address = environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.sendto(state.encode(), address)
        except OSError:
            return False
    return True


def ready(environ: Mapping[str, str] = os.environ) -> None:
    send(f"READY=1\nMAINPID={os.getpid()}", environ)


def stopping(environ: Mapping[str, str] = os.environ) -> None:
    send("STOPPING=1", environ)


def reloading(clock: Clock) -> None:
    """Notify that a reload begins; ``ready`` ends it."""
    send(f"RELOADING=1\nMONOTONIC_USEC={clock.monotonic_us()}", os.environ)


def watchdog_seconds(environ: Mapping[str, str] = os.environ) -> float | None:
    """Return the interval to feed the watchdog (half of its timeout), None without one."""
    period = environ.get("WATCHDOG_USEC", "")
    meant_for = environ.get("WATCHDOG_PID", "")
    if not period.isdigit() or int(period) == 0:
        return None
    if meant_for and meant_for != str(os.getpid()):
        return None
    return int(period) / 2_000_000


async def feed_watchdog() -> None:
    """Feed the watchdog for ever; return at once without one."""
    seconds = watchdog_seconds()
    while seconds:
        send("WATCHDOG=1", os.environ)
        await asyncio.sleep(seconds)
