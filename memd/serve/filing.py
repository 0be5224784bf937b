"""``inject.file``: the file view."""

from __future__ import annotations

from collections.abc import Mapping

from memd.model.caller import Caller
from memd.model.files import FileReply
from memd.rpc.params_file import File
from memd.serve.dispatch import Handler
from memd.serve.rooms import Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handler of the file view."""

    async def file(caller: Caller, params: File) -> FileReply:
        return await rooms.files.run(caller, params)

    return {"inject.file": file}
