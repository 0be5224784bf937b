"""``llm.*``: which language model is used for what."""

from __future__ import annotations

from memd.llm.purposes import LlmStatus, Purpose, PurposeUsage
from memd.serve.params import Params
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
