"""Find the proposal of the agent that the user chooses from by its name: "cents please". Pure.

The agent proposes in prose ("Either a cron job or a queue. I'd take the cron job."); lists are the
subject of ``picks``. The user's message begins with a short clause that names one of the things
proposed. A choice between steps of the work ("commit now or after the tests") is only an order.
Decision 0381.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from memd.sleep.distil.agent_questions import CLAUSE_END
from memd.sleep.distil.answers import AnsweredLines, cut, strip_markdown
from memd.sleep.distil.exchanges import Exchange
from memd.sleep.distil.language.current_moment import reports, spoken_form
from memd.sleep.distil.language.option_references import STEPS
from memd.sleep.distil.language.replies import asks_permission
from memd.sleep.distil.picks import find_list_answers, find_pick
from memd.sleep.distil.sentence_worth import SentenceWorth, weigh
from memd.sleep.distil.user.speech_acts import BARE_CHARS, STANDING, Act, judge, judge_sentence
from memd.text.alternations import Phrases
from memd.text.words import WORD, content_stems, sentences

_PLAIN, _PLAIN_MIN, _WORTH_MIN = 0.0, -4.5, -3.0
"""A choice has log-odds of being a plain fact of at least _PLAIN, or of _PLAIN_MIN and of worth of
_WORTH_MIN. Set on 45 made-up choices and 13 orders of the moment in such words: one of each is
wrong (decision 0381)."""
_USER_CHARS = 160  # a longer message says more than what it chooses
_CLAUSE_WORDS = 8
_NAMES_MAX = 4
_SHARE = 0.6  # of the words of a name must be in the proposal
_ENDING_CHARS = 1_200  # the end of the agent's text, which is read
_PROPOSAL_CHARS = 300
_SETTLED_TEXTS = 4  # the latest texts of the agent, in which a name is sought
_OPEN_OFFERS = 3  # the latest exchanges with an option that may be picked
_OFFERS_BACK = 8  # the latest exchanges that may have such a text
_LINE_CHARS = 240

# A sentence that offers things: "I'd take the queue", "cents or decimal would do", "Options: ...".
_PROPOSES = Phrases(
    r"\b(?:recommend\w*|suggest\w*|propos\w+|lean(?:ing)? towards?|prefer|favou?r"
    r"|i(?:'d| would) (?:go|pick|use|take|choose|store|keep|name|call)"
    r"|either|options?(?=:)|two ways|alternatives?|alternatively"
    r"|empfehle\w*|schlage|vorschlag|ich würde|ich nähme|es ginge|entweder|möglichkeiten"
    r"|varianten)\b"
    r"|(?<!\bi )(?<!\bich )\b(?:could|would|can|might|may|könnten?|kann|können|würden?)\b(?! ich\b)"
    r".*\b(?:or|oder)\b"
    r"|\b(?:for example|for instance|e\.g\.|such as|zum beispiel|z\. ?b\.)[^?]*\b(?:or|oder)\b"
    r"|^(?!.*\b(?:(?:like|want) me|(?:shall|should|may|can) i|soll ich|möchtest du|willst du)\b)"
    r".*\b(?:or|oder)\b.*\?"
)
_MOMENT = Phrases(
    r"\b(?:first|(?<!for )now|again|next|see (?:if|what|how)|tell me|show me|try|let me"
    r"|this one|quick(?:ly)?|back in|asap|zuerst|erst(?:mal)?|jetzt|nochmal|noch mal|zeig|schau"
    r"|versuch\w*|warte\w*|heute|today|tonight|tomorrow|morgen|later|später)\b"
)
# "Rayon it is", "1.75 then", "dann halt Hetzner", "go with the table": takes a name.
_SETTLES = Phrases(
    r"\W*(?:(?:ok(?:ay)?|hm+|well|no|nope|fine|right|alright|ah|oh|yes|yeah|ja|na|gut|nein)\W+)*"
    r"(?:(?!(?:the|die|der|das|den)\b)(?P<before>[^,;!?]{1,40}?) (?:it is|then|dann)(?: then)?"
    r"|(?:then |dann )?(?:let'?s |wir |ich )?(?:go with|nehmen wir|nehmen?|nimm)"
    r" (?P<taken>[^,;!?]{1,40})"
    r"|(?:then|dann)(?: (?:halt|eben|doch|lieber|also|nur|just))* "
    r"(?!(?:the|die|der|das|den)\b)(?P<after>[^,;!?]{1,40}?))"
    r"\W*(?:$|[,;!])"
)
# Something that the agent weighs, though it does not say that it proposes it.
_WEIGHS = Phrases(
    r"(?<!\bi )\b(?:would|could|might|instead|or)\b|\b(?<!\bich )(?:wäre\w*|würden?|könnten?|ginge"
    r"|oder|stattdessen)\b"
)
_WORK = Phrases(
    r"\b(?:tests?|lint\w*|deploy\w*|docs?|readme|pr|branch|main|refactor\w*|fix\w*|run|write"
    r"|doku)\b"
)
_NAME = re.compile(r"[\w.+#/-]*[\w+#]")
# Words around the name of what is chosen: "let's take the ... please".
_FRAME = frozenset(
    """
    ok okay fine yes yeah yep yup sure good great alright right well hm hmm oh then please pls
    thanks let lets s d ll do does take use go goes going pick choose keep have make be is are was
    better best enough works sounds looks should would could can it its we i you that one just only
    no not none rather instead prefer actually definitely maybe think for now then what about how
    ja gut okay nimm nehmen nehme nimmt bitte reicht besser lieber dann also wir ich es das die der
    den dem ein eine einen kein keine keinen nur doch klingt passt ist sind soll sollen mit bei am
    vorerst erstmal
    """.split()  # noqa: SIM905
)


def find_chosen(
    user: str, earlier: Sequence[Exchange], worths: Mapping[str, SentenceWorth]
) -> AnsweredLines | None:
    """Return what *user* chooses of what the agent wrote in *earlier* exchanges, None if nothing.

    That is an option of a list, what they say to take, or what they name of a proposal. *worths*
    are a model's results for the sentences of *user*. A mere name chooses nothing if the message
    is longer than a bare answer and certainly kept by its own words, or if the model finds that it
    states nothing: "skip it".
    """
    offers = [exchange for exchange in earlier[-_OFFERS_BACK:] if exchange.texts]
    if not offers or len(user) > _USER_CHARS or "?" in user or reports(spoken_form(user)):
        return None
    picks = (find_pick(user, offer) for offer in _open_offers(offers))
    picked = find_list_answers(user, offers[-1]) or next(filter(None, picks), None)
    if picked or "\n" in user or _MOMENT.search(user):
        return picked
    parts = sentences(user)
    scores = (weigh(part, judge_sentence(part), worths).score for part in parts)
    stands_alone = len(user) > BARE_CHARS and any(score >= STANDING for score in scores)
    known = [worths[part] for part in parts if part in worths]
    is_open = not stands_alone and (not known or any(map(_may_choose, known)))
    return _find_settled(user, offers) or (_find_named(user, offers[-1]) if is_open else None)


def _open_offers(offers: Sequence[Exchange]) -> Iterator[Exchange]:
    """Yield the latest of *offers*, and the one before each that only answers a question."""
    for offer in reversed(offers[-_OPEN_OFFERS:]):
        yield offer
        if judge(offer.user).act is not Act.QUESTION:
            return


def _find_settled(user: str, offers: Sequence[Exchange]) -> AnsweredLines | None:
    """Return the latest sentence of *offers* that weighs what *user* says to take, None if none."""
    names = list(_taken_names(user))
    texts = [(text, offer) for offer in offers for text in offer.texts]
    for text, offer in reversed(texts[-_SETTLED_TEXTS:]) if names else ():
        parts = (part for part in _ending(text.text) if len(part) <= _PROPOSAL_CHARS)
        weighed = next((part for part in parts if _weighs_any(part, names)), "")
        asked = [part for part in sentences(offer.user) if part.endswith("?")][-1:]
        if weighed:
            question = asked[0] if asked and len(asked[0]) <= _LINE_CHARS else ""
            lines = AnsweredLines(weighed, text.place, is_asked=True)
            return lines.after(question, offer.place)
    return None


def _taken_names(user: str) -> Iterator[frozenset[str]]:
    """Yield the words of each name that a sentence of *user* says to take."""
    for part in sentences(user):
        if match := _SETTLES.match(part.rstrip(". ")):
            name = next(filter(None, match.groups()))
            words = _names(name) - _FRAME
            if 0 < len(words) <= _NAMES_MAX and not (STEPS.search(name) or _WORK.search(name)):
                yield words


def _weighs_any(part: str, names: Sequence[frozenset[str]]) -> bool:
    """Return whether the agent's sentence *part* weighs a thing with one of *names*."""
    is_offer = _WEIGHS.search(part) or _PROPOSES.search(part)
    return bool(is_offer) and not asks_permission(part) and any(w <= _names(part) for w in names)


def _names(text: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _NAME.findall(text)))


def _may_choose(worth: SentenceWorth) -> bool:
    """Return whether a sentence may state a choice, by a model."""
    return worth.plain >= _PLAIN or (worth.plain >= _PLAIN_MIN and worth.worth >= _WORTH_MIN)


def _find_named(user: str, offer: Exchange) -> AnsweredLines | None:
    """Return the sentences of the last text of *offer* that *user* chooses from, None if none.

    If the user asked a question, its words may be those of the choice, and the result begins with
    it: "what about analytics?"
    """
    last = offer.texts[-1]
    proposal = _find_proposal(last.text)
    if not proposal or judge(user).act in {Act.QUESTION, Act.PREFERENCE}:
        return None
    lines = AnsweredLines(cut(proposal, _PROPOSAL_CHARS), last.place, is_asked=True)
    if _names_part(user, proposal):
        return lines
    is_question = offer.user.endswith("?") and len(offer.user) <= _LINE_CHARS
    if is_question and _names_part(user, f"{offer.user} {proposal}"):
        return lines.after(offer.user, offer.place)
    return None


def _find_proposal(text: str) -> str:
    """Return the sentences at the end of *text* that propose things, "" if they are steps."""
    whole = (part for part in _ending(text) if len(part) <= _LINE_CHARS and not part.endswith(":"))
    parts = [part for part in whole if _PROPOSES.search(part)]
    proposal = " ".join(parts)
    return "" if STEPS.search(proposal) or asks_permission(proposal) else proposal


def _ending(text: str) -> list[str]:
    """Return the sentences at the end of *text*, without Markdown."""
    lines = map(strip_markdown, text[-_ENDING_CHARS:].splitlines())
    return [part for line in lines for part in sentences(line)]


def _names_part(user: str, proposal: str) -> bool:
    """Return whether the first clause of *user* with a name only names a part of *proposal*."""
    stems = content_stems(proposal)
    for clause in CLAUSE_END.split(user):
        words = [word for word in map(str.casefold, WORD.findall(clause)) if word not in _FRAME]
        if words:
            names = content_stems(" ".join(words))
            is_short = len(clause.split()) <= _CLAUSE_WORDS and len(names) <= _NAMES_MAX
            named = len(names & stems)
            return is_short and named >= _SHARE * len(names)
    return False
