"""Classify turns in passing: questions, requests, acknowledgements and remarks. Pure.

The two possible errors differ in cost. A question that is taken for a statement may waste an
entry of a prompt. A statement that is taken for a question is never injected. So a turn is in
passing only if each of its clauses is known to state nothing. A turn that both asks and states
("I moved to Berlin, do you know a dentist?") is a statement, and so is a standing order
("always run the tests").

The word tables cover nine languages; Chinese and Japanese are classified by their particles.
Classification takes linear time. Texts over TEXT_CHARS_MAX are not classified.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from memd.domain.enums import Passing
from memd.extract.acknowledgements import CJK_ACKNOWLEDGES, acknowledges
from memd.extract.passing_words import (
    ASKS,
    ASKS_UNMARKED,
    CJK,
    CJK_ASKS,
    CONDITIONS,
    DEPENDENT,
    FINITE,
    FIRST_PERSON,
    INTRODUCES,
    LEAD_INS,
    REASONS,
    REMARKS,
    SUBORDINATES,
    TERSE_QUESTIONS,
    THIRD_PERSON,
    TOPIC,
    VERBS,
)
from memd.extract.requests import (
    CJK_ORDERS,
    CJK_STANDING,
    CONTRASTS,
    ORDERS_FOREIGN,
    ORDERS_NOW,
    STANDING,
)
from memd.text.alternations import Phrases
from memd.text.words import sentences

TEXT_CHARS_MAX: Final = 2_000
_SENTENCE_CHARS_MAX: Final = 400
_NAME_WORDS_MAX: Final = 2
"""The maximum words of an address or interjection ("Hey Claude, ...").

It may be the first clause of a turn, or the whole text of an assistant.
"""

_CJK_NAME_CHARS_MAX: Final = 4
_FRAGMENT_WORDS_MAX: Final = 3
"""A clause after a question or request that has more words is a statement."""

_REPORT_WORDS_MAX: Final = 8
"""The maximum words of an assistant's report without content ("Sorry, replaced by a buffer.")."""
# Words of the result of a check, which is true until the next change, and of its counts.
_OUTCOMES = frozenset(
    """pass passes passed passing fail fails failed failing succeed succeeds succeeded green red
    clean happy works worked""".split()  # noqa: SIM905
)
_RESULT_WORDS = _OUTCOMES | frozenset(
    """the a an all of and both with in now again still too also everything is are was were be
    done ok okay good great perfect fine yes full whole entire existing new other unit integration
    end-to-end e2e regression smoke test tests check checks suite suites spec specs assertions build
    builds compile compiles lint linter linting formatter format typecheck types typing ci pipeline
    deploy deployment job jobs mypy ruff tsc eslint prettier pytest clippy cargo
    no zero issue issues error errors warning warnings failure failures finding findings
    file files line lines place places spot spots renamed replaced reformatted formatted wrapped
    updated fixed changed removed run runs ran rerun""".split()  # noqa: SIM905
)
_NAMES = re.compile(r"\d|[`/_:@]|\w\.\w|\w[A-Z]")
_REPORTS = Phrases(
    r"\W*(?:(?:sorry|done|ok(?:ay)?|good|right|yes)\W+)?(?:(?:we|i)(?: have|'ve)? )?"
    r"(?:implemented|replaced|added|removed|fixed|updated|renamed|moved|changed|created|rewr(?:ote|itten)"
    r"|pushed|committed|merged|deployed|reverted|cleaned|applied|formatted)\b"
)
_LEAVES_WORDS_MAX: Final = 10
# A farewell and its reason are only of the moment: "gotta run, train leaves in 10".
_LEAVES = Phrases(
    r"\b(?:brb|ttyl|gtg|gotta (?:go|run|dash)(?! (?:to|the|an?|it|this|that|my|our|all|through|thru"
    r"|with|for|on|over|back)\b))\b"
)
# After a question: "marketing asks", "der Chef will es wissen", "I keep forgetting", "short".
_BESIDE_QUESTION = Phrases(
    r"\W*(?:(?:the|an?|my|our|some|der|die|das|ein|eine|mein|meine|unser|unsere) )?"
    r"(?!(?:and|or|who|nobody|i|we|you)\b)\w+(?: \w+)?"
    r" (?:asks|asked|keeps asking|(?:is|are|was|were) asking|wants? to know|wanted to know"
    r"|needs? to know|fragt|hat gefragt"
    r"|(?:will|wollte|m\u00f6chte) (?:das|es) wissen)"
    r"(?: (?:me|us|again|uns|mich|danach|wieder))?\W*"
    r"|\W*(?:just (?:asking|curious)|asking for a friend|nur so gefragt"
    r"|(?:i )?(?:always |keep |kept |constantly )?(?:forget(?:ting)?|forgot)(?: (?:it|that|this))?"
    r"|i (?:always|keep|constantly) (?:mix|mixing|confuse|confusing) (?:them|it|those)(?: up)?"
    r"|(?:keep it )?(?:short|brief|briefly|roughly|quickly)(?: (?:answer|pls|please))?)\W*"
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CLAUSE = re.compile(
    r"(?:(?<!\w)\(|\((?!\w)|[,;:)\u3001\uff0c\uff1b\uff1a\u2026])+\s*|\.{3,}\s*|\s[-\u2013\u2014]+\s|\s(?=\u00bf)"
)
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_SURROUNDING_CHARS = "\"'\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d*_~ \t-\u2022>"
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "`": "'"})
# A joint decision that names its object states something: "let's go with cement board".
_CHOOSES = Phrases(
    r"(?:(?:let'?s|let us) )?(?:go with|settle on) (?!(?:option|variant|number|that|this|it|what"
    r"|(?:the|your) (?:first|second|third|last|other|suggestion|plan|recommendation))\b|#?\d)"
)
# Input for the assistant's program: "/review 150", and markup that such programs insert.
_COMMAND = re.compile(
    r"\s*+(?:/[a-z][\w:-]*(?:\s+[\w#./@-]+){0,4}\s*\Z|<(?:local-)?command-|\[Request interr)"
)
# What these verbs announce is not known yet: "let me verify the file is clean".
_LOOKS = re.compile(r"\b(?:check|verify|confirm|see|ensure)\Z", re.IGNORECASE)
# "Address: 12 Main Street" states what follows, and "Fix this: ..." may quote it.
_COLON = re.compile(r"[:\uff1a]\s+\S")
_QUESTION_MARKS = "?\uff1f"
# Kinds that are statements after all if they express a lasting wish.
_MAY_BE_STANDING = frozenset({Passing.REQUEST, Passing.REMARK})
_BY_PRECEDENCE = (Passing.QUESTION, Passing.REQUEST, Passing.REMARK, Passing.ACKNOWLEDGEMENT)


def passing_kind(text: str, *, by_assistant: bool = False) -> Passing | None:
    """Return the kind of a turn in passing; None for one that states something.

    >>> passing_kind("Which port does it use?").value, passing_kind("Rename foo to bar.").value
    ('question', 'request')
    >>> passing_kind("Can you use tabs? I always use tabs."), passing_kind("use pnpm, not npm")
    (None, None)
    """
    if len(text) > TEXT_CHARS_MAX:
        return None
    if _COMMAND.match(text):
        return Passing.REQUEST
    if len(text.split()) <= _LEAVES_WORDS_MAX and _LEAVES.search(text) and "?" not in text:
        return Passing.REMARK
    kinds: set[Passing] = set()
    for sentence in sentences(_FENCED.sub("\n", text).translate(_APOSTROPHES)):
        if Passing.QUESTION in kinds and _BESIDE_QUESTION.fullmatch(sentence):
            continue
        kind = _classify_sentence(sentence, by_assistant=by_assistant)
        if kind is None:
            return Passing.REMARK if by_assistant and _says_little(text) else None
        kinds.add(kind)
    return _strongest(kinds)


def _says_little(text: str) -> bool:
    """Return whether an assistant's *text* is a word or two, or a report without names.

    >>> [_says_little(text) for text in ("Poor Fips.", "Sorry, replaced by a buffer.", "Port 80.")]
    [True, True, False]
    """
    words = len(_WORD.findall(text))
    if words > _REPORT_WORDS_MAX or "?" in text or _NAMES.search(text) or CJK.search(text):
        return False
    report = _REPORTS.match(text)
    is_short = words <= _NAME_WORDS_MAX or report is not None
    return is_short and not FINITE.search(text, report.end() if report else 0)


def _is_result(sentence: str) -> bool:
    """Return whether an assistant's *sentence* says only how a check came out, or counts.

    >>> _is_result("All 13 tests pass."), _is_result("Renamed in 14 files; tests green.")
    (True, True)
    >>> _is_result("The tests need Redis."), _is_result("The build runs all checks.")
    (False, False)
    """
    words = {word.casefold() for word in _WORD.findall(sentence)}
    is_known = all(word in _RESULT_WORDS or word.isdecimal() for word in words)
    return is_known and not words.isdisjoint(_OUTCOMES) and "?" not in sentence


def _classify_sentence(sentence: str, *, by_assistant: bool) -> Passing | None:
    """Return the kind of one sentence, None for one that states something."""
    bare = sentence.strip(_SURROUNDING_CHARS)
    if not _WORD.search(bare):
        return Passing.ACKNOWLEDGEMENT
    is_asked = _ends_with_question_mark(sentence)
    if not is_asked and acknowledges(bare):
        return Passing.ACKNOWLEDGEMENT
    if len(bare) > _SENTENCE_CHARS_MAX or REASONS.search(bare) or INTRODUCES.search(bare):
        return None
    if CJK.search(bare):
        return _classify_cjk(bare)
    core = _strip_lead(bare)
    if not is_asked and not core:
        return Passing.ACKNOWLEDGEMENT
    classify = _classify_report if by_assistant else _classify_clauses
    kind = Passing.QUESTION if asks_tersely(core) else classify(core, is_asked=is_asked)
    return None if kind in _MAY_BE_STANDING and _is_lasting(bare) else kind


def _classify_report(text: str, *, is_asked: bool) -> Passing | None:
    """Return the kind of an assistant's sentence, None for one that states something."""
    if _is_result(text):
        return Passing.REMARK
    if remark := REMARKS.match(text):
        return None if _announces_more(text, remark.end()) else Passing.REMARK
    kind = _classify_clauses(text, is_asked=is_asked)
    # "Now fix the import" is addressed to itself.
    return Passing.REMARK if kind is Passing.REQUEST else kind


def _announces_more(text: str, start: int) -> bool:
    """Return whether *text*, an announcement whose verb ends at *start*, also states something.

    >>> [_announces_more(text, len("let me check")) for text in (
    ...     "let me check if the port is free", "let me check the port, it is taken")]
    [False, True]
    """
    verb = FINITE.search(text, start)
    if verb is None:
        return False
    head, *others = _CLAUSE.split(text)
    is_in_head = verb.start() < len(head)
    if is_in_head and not (_LOOKS.search(head, 0, start) or SUBORDINATES.search(head, start)):
        return True
    return _COLON.search(text) is not None or any(
        _states(_strip_lead(clause), is_later=True) for clause in others if clause
    )


def _is_lasting(sentence: str) -> bool:
    return STANDING.search(sentence) is not None or CONTRASTS.search(sentence) is not None


def _ends_with_question_mark(sentence: str) -> bool:
    """Return whether a question mark follows the last word."""
    trailing_chars = itertools.takewhile(lambda letter: not letter.isalnum(), reversed(sentence))
    return any(letter in _QUESTION_MARKS for letter in trailing_chars)


def _classify_clauses(text: str, *, is_asked: bool) -> Passing | None:
    """Return the joint kind of a sentence's clauses, None as soon as one states something."""
    if not is_asked and _COLON.search(text):
        return None
    clauses = [clause for part in _CLAUSE.split(text) if (clause := _strip_lead(part.strip()))]
    kinds: set[Passing] = set()
    names = 0
    for place, clause in enumerate(clauses):
        kind = _classify_clause(clause, is_asked=is_asked)
        is_later = bool(kinds - {Passing.ACKNOWLEDGEMENT})  # a question or request precedes it
        if kind is not None:
            kinds.add(kind)
        elif _states(clause, is_later=is_later) or not (
            is_later or is_asked or CONDITIONS.match(clause)
        ):
            is_name = place == 0 and len(_WORD.findall(clause)) <= _NAME_WORDS_MAX
            is_asking = is_asked and not is_later and place == len(clauses) - 1
            if FIRST_PERSON.match(clause) or not (is_name or is_asking):
                return None
            names += 1
    if is_asked:
        return _strongest(kinds - {Passing.ACKNOWLEDGEMENT}) or Passing.QUESTION
    if names and kinds == {Passing.ACKNOWLEDGEMENT}:
        return None  # "Berlin, thanks!" is an answer
    return _strongest(kinds)


def asks_tersely(text: str) -> bool:
    """Return whether a sentence without a question mark asks by its form, after its topic or not.

    >>> asks_tersely("prod reboot when"), asks_tersely("outbox relay: how often does it poll")
    (True, True)
    >>> asks_tersely("no idea why"), asks_tersely("how deploys work: tag, wait for argo, done")
    (False, False)
    """
    topic = TOPIC.match(text)
    question = text[topic.end() :] if topic else text
    if TERSE_QUESTIONS.fullmatch(question) and not (VERBS.search(text) or FIRST_PERSON.match(text)):
        return True
    is_clause = topic is not None and not (VERBS.search(topic[0]) or _CLAUSE.search(question))
    return is_clause and ASKS_UNMARKED.match(question) is not None


def _strongest(kinds: set[Passing]) -> Passing | None:
    return next((kind for kind in _BY_PRECEDENCE if kind in kinds), None)


def _classify_clause(clause: str, *, is_asked: bool) -> Passing | None:
    """Return a clause's kind by its first words, None if they determine none."""
    if acknowledges(clause):
        return Passing.ACKNOWLEDGEMENT
    if _CHOOSES.match(clause):
        return None
    if order := ORDERS_NOW.match(clause) or ORDERS_FOREIGN.match(clause):
        verb = FINITE.search(clause, order.end())
        # "Test coverage is 80 %" states something; "check if it is done" does not.
        is_statement = verb and not SUBORDINATES.search(clause, order.start(), verb.start())
        return None if is_statement else Passing.REQUEST
    is_question = is_asked and not FIRST_PERSON.match(clause) and ASKS.match(clause)
    return Passing.QUESTION if is_question or ASKS_UNMARKED.match(clause) else None


def _states(clause: str, *, is_later: bool) -> bool:
    """Return whether a clause is a statement; *is_later*: it follows a question or a request."""
    if FIRST_PERSON.match(clause):
        return True
    if DEPENDENT.match(clause):
        return False
    if not is_later or len(_WORD.findall(clause)) > _FRAGMENT_WORDS_MAX:
        return True
    return bool(THIRD_PERSON.match(clause) or VERBS.search(clause))


def _strip_lead(text: str) -> str:
    lead = LEAD_INS.match(text)
    return text[lead.end() :] if lead else text


def _classify_cjk(text: str) -> Passing | None:
    """Return the kind of a Chinese or Japanese sentence by its particles, None for a statement."""
    if CJK_ACKNOWLEDGES.fullmatch(text):
        return Passing.ACKNOWLEDGEMENT
    *before, last = [part for part in _CLAUSE.split(text) if part.strip()] or [""]
    if any(
        len(part) > _CJK_NAME_CHARS_MAX and not CJK_ACKNOWLEDGES.fullmatch(part) for part in before
    ):
        return None
    if CJK_ORDERS.match(last):
        return None if CJK_STANDING.search(text) else Passing.REQUEST
    return Passing.QUESTION if CJK_ASKS.search(last) else None
