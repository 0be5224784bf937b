"""``llm.*``: which language model is used for what, and a connected client that is one."""

from __future__ import annotations

from memd.base.errors import InvalidStateError
from memd.domain.values import Name, Value
from memd.llm.assistant import ConnectedAssistant
from memd.llm.llm import LanguageModel
from memd.llm.purposes import LlmStatus, Purpose, PurposeUsage
from memd.serve.llm.link import AssistantLink
from memd.serve.params import KeyParams, Params
from memd.serve.route import Context, Router

router = Router()

_BY_RULE = "no provider is set"


@router.method("llm.status", Params, LlmStatus, "Which language model is used for what, and costs.")
async def status(context: Context, _params: Params) -> LlmStatus:
    model = context.rooms.llm
    if model is not None:
        return await model.status()
    return LlmStatus(
        provider="none",
        available=False,
        why_not=_BY_RULE,
        purposes=tuple(
            PurposeUsage(purpose=purpose, uses_model=False, why_not=_BY_RULE) for purpose in Purpose
        ),
    )


class RegisterParams(KeyParams):
    """The assistant that offers itself, and which model it answers with."""

    name: Name
    model: Name | None = None


class Registered(Value):
    """Who is there, the one that is asked first."""

    assistants: tuple[Name, ...]


@router.method(
    "llm.register",
    RegisterParams,
    Registered,
    "Be the language model: the daemon sends llm.complete requests on this line.",
    scope="admin",
    repeats="anew",
)
async def register(context: Context, params: RegisterParams) -> Registered:
    """Take the caller's connection as the language model, with ``llm.provider = assistant``."""
    (model, assistants), peer = _assistants(context), context.peer
    if peer is None:
        raise InvalidStateError("requests go to a connection; there is none here")
    if peer.link is not None:
        peer.link.close()
    link = AssistantLink(peer, assistants.drop)
    peer.link = link
    assistants.register(link, params.name, params.model)
    model.is_back()
    return Registered(assistants=tuple(assistants.names))


@router.method(
    "llm.unregister",
    KeyParams,
    Registered,
    "Be the language model no longer.",
    scope="admin",
    repeats="anew",
)
async def unregister(context: Context, _params: KeyParams) -> Registered:
    (_, assistants), peer = _assistants(context), context.peer
    if peer is not None and peer.link is not None:
        peer.link.close()
        peer.link = None
    return Registered(assistants=tuple(assistants.names))


def _assistants(context: Context) -> tuple[LanguageModel, ConnectedAssistant]:
    model = context.rooms.llm
    provider = None if model is None else model.provider
    if model is None or not isinstance(provider, ConnectedAssistant):
        raise InvalidStateError(
            "no assistant is asked here", hint="set llm.provider to assistant and start memd again"
        )
    return model, provider
