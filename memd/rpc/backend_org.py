"""The documented organisational memory, by call: ``AsyncClient`` as an ``OrgMemoryBackend``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memd.base.errors import (
    MemdError,
    OrgMemoryAccessDeniedError,
    OrgMemoryConnectionError,
    OrgMemoryError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
    UnavailableError,
)
from memd.rpc.backend import RemoteBackend

if TYPE_CHECKING:
    from memd.domain.org import OrgFact, OrgFactAuthor, OrgFactWriteRequest, OrgMemoryQuery


class RemoteOrg(RemoteBackend):
    """``OrgMemoryBackend`` over *call*."""

    async def query(self, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        said = query.model_dump(mode="json", exclude_none=True)
        return _facts(await self._organised(OrgMemoryQueryError, "org.query", said))

    async def write(
        self, request: OrgFactWriteRequest, *, author: OrgFactAuthor | None = None
    ) -> str:
        """Write a fact and return its id.

        The daemon takes this client's key for the author, whatever *author* says
        (SPEC D14); one that says to be human is refused before it is sent.
        """
        if author is not None and author.is_human and self.is_connected:
            raise OrgMemoryAccessDeniedError(
                "a human signs what is written over the socket", hint="memd org write"
            )
        said = request.model_dump(mode="json", exclude_none=True)
        return cast("str", await self._organised(OrgMemoryWriteError, "org.write", said))

    async def list_policies(
        self, *, limit: int | None = None, offset: int = 0
    ) -> tuple[OrgFact, ...]:
        said = {"offset": offset} if limit is None else {"offset": offset, "limit": limit}
        return _facts(await self._organised(OrgMemoryQueryError, "org.policies", said))

    async def count_policies(self) -> int:
        return cast("int", await self._organised(OrgMemoryQueryError, "org.count_policies", {}))

    async def _organised(
        self, family: type[OrgMemoryError], method: str, said: dict[str, Any]
    ) -> Any:
        """Call as the protocol promises (SPEC 15.4): connected first, one family of errors."""
        if not self.is_connected:
            raise OrgMemoryConnectionError("not connected", hint="await connect() first")
        try:
            return await self.call(method, said)
        except OrgMemoryError:
            raise
        except UnavailableError as error:
            raise OrgMemoryConnectionError(error.message, hint=error.hint) from error
        except MemdError as error:
            raise family(error.message, field=error.field, hint=error.hint) from error


def _facts(items: list[dict[str, Any]]) -> tuple[OrgFact, ...]:
    from memd.domain.org import OrgFact

    return tuple(map(OrgFact.model_validate, items))
