"""The ``memd`` on the PATH of a shell: ``python -I -S shell_command.py SOCKET MODULE WORD...``.

It asks the process of ``support/forked.py`` for a fork, so a shell command costs no start of memd;
a script of a page runs a hundred commands. It imports little of the standard library.
"""

import json
import os
import signal
import socket
import struct
import sys


def main(place: str, module: str, *words: str) -> int:
    """Ask the process that listens at *place* for a fork with this one's streams; wait for it."""
    ended, ending = os.pipe()
    asked = {"module": module, "words": words, "env": dict(os.environ), "cwd": os.getcwd()}  # noqa: PTH109  # no pathlib here
    raw = json.dumps(asked).encode("ascii")
    with socket.socket(socket.AF_UNIX) as forker:
        forker.connect(place)
        socket.send_fds(forker, [struct.pack("!Q", len(raw))], [0, 1, 2, ending])
        os.close(ending)
        forker.sendall(raw)
        status = struct.unpack("!i", os.read(ended, 4))[0]
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
