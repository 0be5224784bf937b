"""Turn an incoming text into drafts of memories: screened, cleaned, chunked, scored and routed.

Secrets are replaced first, so that chunking cannot split one and all later code sees screened text.

Assistants repeat what memd gave them (decision 0130). Stored as new, such a text would be injected
twice, and a web text would get the assistant's trust. They also confirm what the user just said
(decision 0390). A chunk that only repeats is a turn in passing, like one that states nothing
(decision 0102).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from memd.base.limits import WINDOW_TOKENS_MAX
from memd.domain.encoding import ChunkingConfig, TokenCounter
from memd.domain.enums import MemoryCategory, Origin, Passing, Trust
from memd.domain.ingest import IngestRequest
from memd.domain.memory import distinct
from memd.domain.trust import TRUST, Flag, Screened, SecretsPolicy, Suspicion, is_quarantined
from memd.extract.passing import passing_kind
from memd.extract.passing_words import ASKS
from memd.guard.forget_requests import is_forget_request
from memd.guard.privacy import NOT_PRIVATE, Privacy, asks_for_privacy
from memd.guard.secrets import Screening, admit, screen_name
from memd.guard.suspicion import suspicion_of_fields, suspicion_of_pieces
from memd.ingest.withdrawals import may_withdraw
from memd.text.chunk import chunk, clean
from memd.text.importance import salience
from memd.text.preference import is_preference, preference_name
from memd.text.quotation import without_question
from memd.text.repetition import KnownWords, confirms, remove_known
from memd.text.route import route
from memd.text.words import sentences
from memd.view.labels import strip_injected

OWNERS = frozenset({"user", "owner", "me", "human", "i"})
"""Names that assistants use for the person they talk to."""
ASSISTANTS = frozenset({"assistant", "agent", "ai", "bot", "model"})
"""Names that assistants use for themselves."""


class StatedPreference(NamedTuple):
    """A preference that a text states; *token_count* is that of the value."""

    name: str
    value: Screened
    token_count: int


@dataclass(frozen=True, slots=True)
class Draft:
    """One chunk before it is stored, the *part*-th of its text."""

    part: int
    content: Screened
    indexed_text: str
    """The text that is embedded and indexed: the content with speaker and caption."""
    category: MemoryCategory
    salience: float
    token_count: int
    preference: StatedPreference | None
    withdraws: bool = False
    """Whether it may withdraw a preference of its owner (``withdrawals.py``)."""
    flags: tuple[Flag, ...] = ()
    """Signs of an attack, sorted by name."""
    quarantined: bool = False
    """Whether it is stored as quarantined (``domain/trust.py``)."""
    passing: Passing | None = None
    """The kind of a chunk that states nothing; in a conversation it is a turn in passing."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts of a text, and the fields that they share."""

    items: tuple[Draft, ...]
    namespace: str
    speaker: str | None
    caption: Screened | None
    reference: str | None
    tags: tuple[str, ...]
    origin: Origin
    trust: Trust
    redacted: tuple[str, ...]
    source: Screened | None
    """The whole text, if cleaning and chunking changed it."""
    privacy: Privacy = NOT_PRIVATE
    """Whether the owner asks not to remember it. Then nothing of it is stored."""


_CHUNKING = ChunkingConfig()

# A pronoun without a noun, which refers to the sentence before: "I prefer it over Vim."
_POINTS_BACK = re.compile(
    r"\b(?:it|them|they|(?:this|that|these|those|there|so|both|either)(?!\s+\w))\b", re.IGNORECASE
)
# The beginning of a sentence that restricts or continues the one before: "But not on servers."
_CONTINUES = re.compile(
    r"\W*(?:but|except|unless|only|not|no|never|though|although|however|otherwise|or|because|since"
    r"|it|its|that|those|these|they|there|same|e\.g|for example|[\w-]+ ones?)\b",
    re.IGNORECASE,
)

# What the user does, so that the agent does not: "only commit. I always push myself."
_BY_ONESELF = re.compile(r"\bI\s+always\b.*\b(?:myself|by\s+hand|on\s+my\s+own)\b", re.IGNORECASE)
_HOLDS_BACK = re.compile(
    r"\W*(?:(?:no|nope|wait|stop|hold on|oh|ah|please|pls|and|but|so|you)\W+)*"
    r"(?:only|just|don'?t|do not|never|no|not|leave|skip)\s+\w",
    re.IGNORECASE,
)


def draft_text(
    request: IngestRequest,
    counter: TokenCounter,
    *,
    whole: bool = False,
    secrets: SecretsPolicy = "redact",
    chunking: ChunkingConfig = _CHUNKING,
) -> Drafts:
    """Return the drafts of a text; none if the cleaned text is blank.

    With *whole* the text is neither cleaned nor split (``memory.store``, SPEC 7.3). With *secrets*
    ``keep``, text and caption keep their secrets; names such as speaker and tags never do.
    """
    screening = admit(request.text, secrets)
    caption = admit(request.caption, secrets) if request.caption is not None else None
    speaker = None if request.speaker is None else screen_name(request.speaker)
    by_owner = is_owner(request.speaker, request.origin)
    origin = _origin(request)
    caption_text = None if caption is None else caption.text
    heading = None if request.heading is None else admit(request.heading, secrets)
    pieces = [screening.text] if whole else _split(screening.text, heading, counter, chunking)
    texts = [Screened(piece if heading is None else f"{heading.text}\n{piece}") for piece in pieces]
    categories = [route(piece, request.category, by_owner=by_owner) for piece in pieces]
    is_hinted = by_owner and _is_hinted(request, pieces, counter, chunking)
    fields = (caption_text, speaker, request.namespace, request.source, *request.tags)
    field_suspicion = suspicion_of_fields(fields)
    parts = zip(pieces, texts, categories, suspicion_of_pieces(texts), strict=True)
    drafts: list[Draft] = []
    for part, (piece, text, category, suspicion) in enumerate(parts):
        may_prefer = by_owner and category is MemoryCategory.PROCEDURAL
        draft = Draft(
            part=part,
            content=text,
            indexed_text=text_to_embed(text, speaker, caption_text),
            category=category,
            salience=salience(text, counter),
            token_count=max(1, counter.count(text)),
            preference=preference_of(text, piece, counter, is_hinted=is_hinted)
            if may_prefer
            else None,
            withdraws=by_owner and may_withdraw(piece),
        )
        signs = suspicion.merge(field_suspicion)
        drafts.append(_add_flags(draft, signs, origin) if signs.flags else draft)
    by_assistant = origin is Origin.ASSISTANT and is_assistant(request.speaker)
    if caption is None and (by_owner or by_assistant):
        drafts = list(map(partial(_add_passing, by_assistant=by_assistant), drafts, pieces))
    return Drafts(
        items=tuple(drafts),
        namespace=screen_name(request.namespace),
        speaker=speaker,
        caption=caption_text,
        reference=None if request.source is None else screen_name(request.source),
        tags=distinct(tuple(screen_name(tag) for tag in request.tags)),
        origin=origin,
        trust=TRUST[origin],
        redacted=_list_kinds(screening, caption, heading),
        source=screening.text if "\n\n".join(pieces) != screening.text else None,
        privacy=_privacy_of(request),
    )


def _list_kinds(*parts: Screening | None) -> tuple[str, ...]:
    """Return the kinds of secrets that were replaced in *parts*, each once."""
    return tuple(dict.fromkeys(kind for part in parts if part for kind in part.kinds))


def _is_hinted(
    request: IngestRequest, pieces: Sequence[str], counter: TokenCounter, chunking: ChunkingConfig
) -> bool:
    """Return whether the category that the request gives makes the text a preference (SPEC 1.7.5).

    Not for a text of several chunks: a long how-to is procedural, but preferences are in every
    prompt, where it would displace all others.
    """
    if request.category is not MemoryCategory.PROCEDURAL or len(pieces) != 1:
        return False
    return counter.count(pieces[0]) <= chunking.max_tokens


def preference_of(
    text: Screened, piece: str, counter: TokenCounter, *, is_hinted: bool = False
) -> StatedPreference | None:
    """Return the preference that the owner's procedural *text* states, None if it states none.

    *text* is a *piece* with its heading, if any. With *is_hinted* the value is the whole text, but
    for the question before a remark. Else it is the heading and the sentences that state the
    preference, without a task of that day next to them, since every prompt of every project has it.
    """
    prefers = is_preference(piece)
    if not is_hinted and not prefers:
        return None
    heading = text[: len(text) - len(piece)]
    part = without_question(piece) if is_hinted and prefers else piece
    value = Screened(f"{heading}{part if is_hinted else stated_part(piece)}")
    return StatedPreference(preference_name(value), value, max(1, counter.count(value)))


def stated_part(text: str) -> str:
    """Return the sentences of *text* that state a preference, with those needed to understand it.

    These are the sentence that a pronoun refers to, sentences that continue or restrict it, the
    order that a habit explains, and all that follows a colon, without the question before a remark.
    If no single sentence states a preference, return all of *text*.

    >>> stated_part("Fix the date in feed.ts. I prefer small commits. Then open the draft.")
    'I prefer small commits.'
    >>> stated_part("I moved to Helix. I prefer it over Vim. But not on servers.")
    'I moved to Helix. I prefer it over Vim. But not on servers.'
    >>> stated_part("Commit + push? no wait, only commit. I always push myself")
    'no wait, only commit. I always push myself'
    """
    parts = sentences(text)
    indexes: set[int] = set()
    for index, part in enumerate(parts):
        if is_preference(part):
            start = index - 1 if index and _needs_the_one_before(part, parts[index - 1]) else index
            end = len(parts) if part.endswith(":") else index + 1
            while end < len(parts) and _CONTINUES.match(parts[end]):
                end += 1
            indexes.update(range(start, end))
    stating = [without_question(parts[index]) or parts[index] for index in sorted(indexes)]
    return " ".join(stating) if indexes and stating != parts else text


def _needs_the_one_before(part: str, before: str) -> bool:
    """Return whether *part* is only understood with the sentence *before* it."""
    explains = _BY_ONESELF.search(part) is not None and _HOLDS_BACK.match(before) is not None
    return explains or _POINTS_BACK.search(part) is not None


def _split(
    text: str, heading: Screening | None, counter: TokenCounter, chunking: ChunkingConfig
) -> list[str]:
    """Return the chunks of a text, each short enough for the heading above it.

    Below a long heading, a chunk still has the minimum of tokens, as long as both fit into the
    window of the embedding model.
    """
    tokens_min, tokens_max = chunking.min_tokens, chunking.max_tokens
    if heading is not None:
        heading_tokens = counter.count(heading.text)
        tokens_max = max(
            tokens_max - heading_tokens, min(tokens_min, WINDOW_TOKENS_MAX - heading_tokens)
        )
    tokens_min = min(tokens_min, tokens_max)
    return chunk(clean(text), counter, tokens_min=tokens_min, tokens_max=tokens_max)


def _add_flags(draft: Draft, suspicion: Suspicion, origin: Origin) -> Draft:
    """Return *draft* with the flags of *suspicion*; a quarantined draft states no preference."""
    quarantined = is_quarantined(suspicion, origin)
    return replace(
        draft,
        flags=tuple(sorted(suspicion.flags)),
        quarantined=quarantined,
        preference=None if quarantined else draft.preference,
        withdraws=not quarantined and draft.withdraws,
    )


def _add_passing(draft: Draft, piece: str, *, by_assistant: bool) -> Draft:
    """Return *draft* with the kind of its *piece*, if that states nothing."""
    if draft.preference is not None:
        return draft
    return replace(draft, passing=passing_kind(piece, by_assistant=by_assistant))


def _privacy_of(request: IngestRequest) -> Privacy:
    """Return whether a turn of the owner asks not to remember it, or to forget something."""
    if turn_of(request) is not Origin.PERSON or not is_owner(request.speaker, request.origin):
        return NOT_PRIVATE
    privacy = asks_for_privacy(request.text)
    if not privacy.is_asked and is_forget_request(request.text):
        return Privacy(is_asked=True, is_all=False)
    return privacy


def turn_of(request: IngestRequest) -> Origin | None:
    """Return whether *request* is a turn of the assistant or of a person; None for no turn.

    A text without a session, or stored on purpose, is no turn.
    """
    origin = _origin(request)
    if request.session_id is None or request.deliberate:
        return None
    if origin is Origin.ASSISTANT and is_assistant(request.speaker):
        return Origin.ASSISTANT
    return Origin.PERSON if origin in {Origin.PERSON, Origin.ASSISTANT} else None


def strip_fences(request: IngestRequest) -> IngestRequest:
    """Return *request* without texts that memd injected, unchanged if it has nothing else."""
    text = strip_injected(request.text)
    is_unchanged = text == request.text or not text.strip()
    return request if is_unchanged else request.model_copy(update={"text": text})


def mark_repeats(
    drafts: Drafts, known_texts: Iterable[str], last_turn: Iterable[str] = ()
) -> Drafts:
    """Return *drafts* of an assistant; chunks that only repeat become remarks in passing.

    They repeat the *known_texts*, or confirm what the user's *last_turn* states, given by its
    texts. What the user asks is no statement: the answer to "is it Postgres?" stays one.
    """
    known = KnownWords(known_texts)
    statement = " ".join(
        sentence
        for text in last_turn
        for sentence in sentences(text)
        if passing_kind(sentence) is None and not ASKS.match(sentence)
    )
    items = (
        draft
        if draft.preference is not None
        or (remove_known(draft.content, known).strip() and not confirms(draft.content, statement))
        else replace(draft, passing=Passing.REMARK)
        for draft in drafts.items
    )
    return replace(drafts, items=tuple(items))


def _origin(request: IngestRequest) -> Origin:
    if request.origin is not None:
        return request.origin
    return Origin.PERSON if is_owner(request.speaker, None) else Origin.ASSISTANT


def is_owner(speaker: str | None, origin: Origin | None) -> bool:
    """Return whether a person's speaker is the owner (SPEC D5): by name, or without a name."""
    if origin is not None and origin is not Origin.PERSON:
        return False
    return speaker is None or speaker.strip().casefold() in OWNERS


def is_assistant(speaker: str | None) -> bool:
    """Return whether a *speaker* who is not the owner is the assistant."""
    return speaker is None or speaker.strip().casefold() in ASSISTANTS


def text_to_embed(content: str, speaker: str | None, caption: str | None) -> str:
    """Return the text to embed and index: *content* with speaker and caption.

    >>> text_to_embed("look", "Ann", "a cat")
    'Ann: look [shares photo: a cat]'
    """
    text = content if speaker is None else f"{speaker}: {content}"
    return text if caption is None else f"{text} [shares photo: {caption}]"
