"""Let a language model extract statements from memories for the graph, in addition to the rules.

One request covers several memories. A statement is accepted only if the memory contains its subject
and object, in any letter case. It gets the age and trust of the memory. Without an answer the graph
has only the rules' statements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from memd.base import log
from memd.base.errors import ProviderError
from memd.domain.org.graph import ExtractedStatement, fold_name
from memd.domain.values import PlainText, Value
from memd.extract.entity_names import CHARS_MAX
from memd.llm.llm import LanguageModel
from memd.llm.provider import CompletionRequest, Purpose
from memd.view.view import untrusted_content_directive, wrap_stored

PROMPT_CHARS_MAX = 12_000
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
    """The answer expected of the model."""

    statements: Annotated[tuple[ReadTriple, ...], Field(max_length=TRIPLES_MAX)] = ()


class ModelRelations:
    """Extracts statements with *model*; a ``RelationReader``."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def read(self, texts: Mapping[int, str]) -> Mapping[int, tuple[ExtractedStatement, ...]]:
        """Return by key the statements that the model extracts from *texts*; {} without an answer.

        Texts that are too long, or do not fit into the prompt, are skipped.
        """
        sent_texts: dict[int, str] = {}
        room = PROMPT_CHARS_MAX
        for key, text in texts.items():
            room -= len(text)
            if len(text) <= TEXT_CHARS_MAX and room >= 0:
                sent_texts[key] = text
        if not sent_texts:
            return {}
        numbers = list(sent_texts)
        prompt = "\n".join(
            f"Text {number}:\n{wrap_stored(_TAG, sent_texts[key])}"
            for number, key in enumerate(numbers)
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
                statement = check_triple(triple, sent_texts[key])
                if statement is not None:
                    statements.setdefault(key, []).append(statement)
        return {key: tuple(extracted) for key, extracted in statements.items()}


def check_triple(triple: ReadTriple, text: str) -> ExtractedStatement | None:
    """Return *triple* as a statement of *text*; None if its subject or object is not in the text.

    >>> triple = check_triple(
    ...     ReadTriple(text=0, subject="billing", relation="Depends on", object="Redis"),
    ...     "Billing depends on redis.",
    ... )
    >>> triple.subject, triple.relation, triple.object
    ('Billing', 'depends_on', 'redis')
    """
    relation = _NOT_A_WORD.sub("_", triple.relation.casefold()).strip("_")
    subject, thing = _find_span(triple.subject, text), _find_span(triple.object, text)
    if subject is None or thing is None or not _RELATION.fullmatch(relation):
        return None
    names = text[slice(*subject)], text[slice(*thing)]
    is_valid = all(fold_name(name) and len(name) <= CHARS_MAX for name in names)
    if not is_valid or fold_name(names[0]) == fold_name(names[1]):
        return None
    start, end = min(subject[0], thing[0]), max(subject[1], thing[1])
    return ExtractedStatement(names[0], relation, names[1], start, end, negated=triple.negated)


def _find_span(name: str, text: str) -> tuple[int, int] | None:
    """Return the span of the first occurrence of *name* as whole words in *text*, or None."""
    name = name.strip()
    if not name:
        return None
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    return None if match is None else match.span()
