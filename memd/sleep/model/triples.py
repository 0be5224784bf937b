"""What memories say about things as a language model reads it, for the graph, beside the rules.

One question for several memories. What it answers is kept only where the memory itself has
the subject and the object, letter by letter but for their case; the statement is then as old
and as trusted as the memory. Without an answer the graph has what the rules read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from memd.base import log
from memd.base.errors import ProviderError
from memd.domain.org.graph import ExtractedStatement, folded
from memd.domain.values import PlainText, Value
from memd.extract.things import CHARS_MAX
from memd.llm.llm import LanguageModel
from memd.llm.provider import CompletionRequest
from memd.llm.purposes import Purpose
from memd.view.view import untrusted_content_directive, wrapped

SENT_CHARS_MAX = 12_000
TEXT_CHARS_MAX = 2_000
TRIPLES_MAX = 200
REPLY_TOKENS = 2_000
_TAG = "memory-entry"
_RELATION = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+){0,4}")
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")

_SYSTEM = (
    "You read remembered texts and write down what they state about things: people, systems, "
    "tools, projects. Each statement has the number of its text, a subject and an object copied "
    "from that text letter by letter, and a relation of one to three words, such as uses, owns, "
    "depends_on. Leave out questions, guesses and what is only proposed. Answer with JSON alone. "
    + untrusted_content_directive((_TAG,))
)


class ReadTriple(Value):
    """One statement as the model wrote it."""

    text: int
    subject: PlainText
    relation: PlainText
    object: PlainText
    negated: bool = False


class ReadTriples(Value):
    """What a model is to answer with."""

    statements: Annotated[tuple[ReadTriple, ...], Field(max_length=TRIPLES_MAX)] = ()


class ModelRelations:
    """Reads by *model* (``org.learning.RelationReader``)."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def read(self, texts: Mapping[int, str]) -> Mapping[int, tuple[ExtractedStatement, ...]]:
        """Return what the model reads in *texts*, nothing where it does not answer."""
        shown: dict[int, str] = {}
        room = SENT_CHARS_MAX
        for key, text in texts.items():
            room -= len(text)
            if len(text) <= TEXT_CHARS_MAX and room >= 0:
                shown[key] = text
        if not shown:
            return {}
        numbers = list(shown)
        prompt = "\n".join(
            f"Text {number}:\n{wrapped(_TAG, shown[key])}" for number, key in enumerate(numbers)
        )
        request = CompletionRequest(
            prompt, Purpose.TRIPLES, system=_SYSTEM, temperature=0.0, max_tokens=REPLY_TOKENS
        )
        try:
            answer = await self._model.answer(request, ReadTriples)
        except ProviderError as error:
            log.debug("relations are read by rule", kind=error.kind)
            return {}
        statements: dict[int, list[ExtractedStatement]] = {}
        for triple in answer.statements:
            if 0 <= triple.text < len(numbers):
                key = numbers[triple.text]
                statement = checked(triple, shown[key])
                if statement is not None:
                    statements.setdefault(key, []).append(statement)
        return {key: tuple(each) for key, each in statements.items()}


def checked(triple: ReadTriple, text: str) -> ExtractedStatement | None:
    """Return *triple* as a statement of *text*; None where the text does not have its things.

    >>> said = checked(
    ...     ReadTriple(text=0, subject="billing", relation="Depends on", object="Redis"),
    ...     "Billing depends on redis.",
    ... )
    >>> said.subject, said.relation, said.object
    ('Billing', 'depends_on', 'redis')
    """
    relation = _NOT_A_WORD.sub("_", triple.relation.casefold()).strip("_")
    subject, thing = _place(triple.subject, text), _place(triple.object, text)
    if subject is None or thing is None or not _RELATION.fullmatch(relation):
        return None
    names = text[slice(*subject)], text[slice(*thing)]
    sound = all(folded(name) and len(name) <= CHARS_MAX for name in names)
    if not sound or folded(names[0]) == folded(names[1]):
        return None
    start, end = min(subject[0], thing[0]), max(subject[1], thing[1])
    return ExtractedStatement(names[0], relation, names[1], start, end, negated=triple.negated)


def _place(name: str, text: str) -> tuple[int, int] | None:
    """Return where *name* stands in *text* as whole words."""
    name = name.strip()
    if not name:
        return None
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    return None if match is None else match.span()
