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
from memd.sleep.distil.exchanges import AgentText, Exchange
from memd.sleep.distil.language.current_moment import reports, spoken_form
from memd.sleep.distil.language.option_references import STEPS
from memd.sleep.distil.language.replies import asks_permission
from memd.sleep.distil.picks import find_pick
from memd.sleep.distil.sentence_worth import SentenceWorth, weigh
from memd.sleep.distil.user.speech_acts import BARE_CHARS, STANDING, Act, judge, judge_sentence
from memd.text.alternations import Phrases
from memd.text.words import WORD, content_stems, sentences

_PLAIN, _PLAIN_MIN, _WORTH_MIN = 0.0, -4.5, -3.0
"""A choice has log-odds of being a plain fact of at least _PLAIN, or of _PLAIN_MIN and of worth of
_WORTH_MIN. Set on 45 made-up choices and 13 orders of the moment in such words: one of each is
wrong (decision 0381)."""
_USER_CHARS = 160
_CLAUSE_WORDS = 8
_NAMES_MAX = 4
_SHARE = 0.6  # of the words of a name must be in the proposal
_ENDING_CHARS = 1_200  # the end of the agent's text, which is read
_PROPOSAL_CHARS = 300
_SETTLED_TEXTS = 4  # the latest texts of the agent, in which a name is sought
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
    r"|versuch\w*|warte\w*|heute|today|tonight|later|später)\b"
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
    r"\b(?:tests?|lint\w*|deploy\w*|docs?|readme|pr|branch|main|refactor\w*|fix\w*|run|write|tomorrow"
    r"|morgen|doku)\b"
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
    user: str, exchange: Exchange, texts: Sequence[AgentText], worths: Mapping[str, SentenceWorth]
) -> AnsweredLines | None:
    """Return what *user* chooses from the agent's last text, in a list or in prose.

    *user* are their words in *exchange*, *texts* those of the agent before, *worths* a model's
    results for the sentences. What *user* says to take may be in one of the last few texts. Without
    that, a message chooses nothing in prose if it is longer than a bare answer and certainly kept
    by its own words, or if the model finds that it states nothing: "skip it".
    """
    last = texts[-1]
    picked = find_pick(user, exchange.previous, last)
    if picked := picked or find_settled(user, exchange.previous, texts):
        return picked
    parts = sentences(user)
    scores = (weigh(part, judge_sentence(part), worths).score for part in parts)
    stands_alone = len(user) > BARE_CHARS and any(score >= STANDING for score in scores)
    known = [worths[part] for part in parts if part in worths]
    is_open = not stands_alone and (not known or any(map(_may_choose, known)))
    return find_choice(user, exchange.previous, last) if is_open else None


def find_settled(
    user: str, previous: tuple[int, str], texts: Sequence[AgentText]
) -> AnsweredLines | None:
    """Return the latest sentence of *texts* that weighs what *user* says to take, None if none.

    It begins with the question of the user's message before, if the last text answers one.

    >>> texts = [AgentText(1, "1.75 would be a reasonable floor."), AgentText(3, "It failed.")]
    >>> find_settled("hm no. 1.75 then. put it in ci", (2, "try it"), texts).text
    '1.75 would be a reasonable floor.'
    """
    if len(user) > _USER_CHARS or re.search(r"[?\n]", user) or _MOMENT.search(user):
        return None
    names = [] if reports(spoken_form(user)) else list(_taken_names(user))
    for text in texts[: -1 - _SETTLED_TEXTS : -1] if names else ():
        parts = (part for part in _ending(text.text) if len(part) <= _PROPOSAL_CHARS)
        offer = next((part for part in parts if _weighs_any(part, names)), "")
        question = [part for part in sentences(previous[1]) if part.endswith("?")][-1:]
        if offer and question and text is texts[-1] and len(question[0]) <= _LINE_CHARS:
            whole = f"{question[0]} {offer}"
            return AnsweredLines(whole, text.place, is_asked=True, asked_at=previous[0])
        if offer:
            return AnsweredLines(offer, text.place, is_asked=True)
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


def find_choice(user: str, previous: tuple[int, str], last: AgentText) -> AnsweredLines | None:
    """Return the sentences of the agent's *last* text that *user* chooses from, None if none.

    *previous* is the place and the text of the user's message before. If it is a question, its
    words may be those of the choice, and the result begins with it: "what about analytics?"

    >>> last = AgentText(0, "I would store prices as cents, or use decimal.")
    >>> find_choice("cents please, as bigint", (0, ""), last).text
    'I would store prices as cents, or use decimal.'
    >>> find_choice("commit the cents first", (0, ""), last) is None
    True
    """
    if len(user) > _USER_CHARS or re.search(r"[?\n]", user) or _MOMENT.search(user):
        return None
    if judge(user).act in {Act.QUESTION, Act.PREFERENCE} or reports(spoken_form(user)):
        return None
    proposal = _find_proposal(last.text)
    if not proposal:
        return None
    if _names_part(user, proposal):
        return AnsweredLines(cut(proposal, _PROPOSAL_CHARS), last.place, is_asked=True)
    question = previous[1] if previous[1].endswith("?") else ""
    if question and len(question) <= _LINE_CHARS and _names_part(user, f"{question} {proposal}"):
        text = f"{question} {cut(proposal, _PROPOSAL_CHARS)}"
        return AnsweredLines(text, last.place, is_asked=True, asked_at=previous[0])
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
