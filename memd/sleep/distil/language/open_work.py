"""Recognise open work in headings, labels and sentences of agents and users. Pure.

Open work is what somebody says is left to do, or puts off. Offers ("optional improvements"),
checks at the screen ("refresh the page") and finished work are not.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from memd.sleep.distil.language.phrases import PRINTED
from memd.text.alternations import Phrases
from memd.text.words import SENTENCE_GAP

OPEN_CHARS = 90
"""Length of an open point from a list; a sentence may have twice as many characters."""
ITEM = re.compile(r"(?:#{2,6}\s+)?(?:\*\*)?(?:[-*+\u2022]|\(?\d{1,3}[.)])\s")
"""The mark of a list item: "- ", "3) ", "## 1. "."""
_WORDS_MIN = 3  # in an open point; fewer do not describe a task
_NOUNS = r"(?:items?|points?|tasks?|steps?|work|issues?|gaps?|problems?|failures?|errors?|todos?)"
# "What's left", "remaining tasks", "next steps", "noch offen", "da fare"
_LEFT = (
    rf"(?:what(?:'s| is) (?:left|still (?:open|missing)|not done|missing)"
    rf"|(?:important |known |still )?remaining(?: {_NOUNS})?"
    rf"|(?:still |left )?(?:open|outstanding|pending|unfinished|deferred)"
    rf"(?: (?:{_NOUNS}|questions?|follow-?ups?|decisions?))?"
    r"|(?:still )?(?:not (?:yet )?(?:done|implemented)(?: yet)?|left to do|to[ -]?do(?:s| list)?)"
    r"|(?:immediate |concrete )?next(?: up| steps?)?|follow-?ups?(?: tasks?| items?)?"
    r"|prochaines? étapes?|(?:ce qui |il )?reste(?: à faire)?|à faire"
    r"|nächste schritte|noch (?:offen|zu tun)|offene? punkte?"
    r"|próximos pas+os|pendientes?|pendências|prossimi passi|da fare"
    r"|volgende stappen|nog te doen|следующие шаги|осталось(?: сделать)?|下一步|待办(?:事项)?)"
)
# The whole heading, or a qualifier follows: "Next steps (web)", "Open for v2". "To do this" and
# "Open the page" are instructions.
_HEADING = Phrases(
    rf"^\W*(?:\d+[.)]\s*)?{_LEFT}"
    r"(?=\W*$|\s*[(:\u2013\u2014]|\s+-|\s+(?:for|in|after|before|of|on|with)\b)"
)
LABEL = Phrases(rf"^\W*{_LEFT}[^\w:]*:\s*(?=\S)")
"""A label in front of open work: "Next steps: sign the release"."""
SUMS_UP = Phrases(
    r"^\W*(?:in )?(?:summary|short|recap|to (?:sum up|summari[sz]e|recap)"
    r"|(?:current )?stat(?:e|us)|where (?:we|things) (?:are|stand)|so far"
    r"|zusammenfassung|kurz(?: gesagt)?|stand|(?:en )?résumé|(?:en )?resumen|riassunto|resumo"
    r"|samenvatting)\b[^\w:\u2013\u2014]{0,8}[:\u2013\u2014]\W{0,8}(?=\w)"
)
"""A label in front of an agent's summary: "In short: ...", "Status: ..."."""
# Marks an offer or a suggestion, not open work: "optional", "you could", "would you".
OFFERED = Phrases(
    r"\b(?:optional\w*|recommend\w*|suggest\w*|ideas?|future|enhancements?|improvements?|if you"
    r"|when(?:ever)? (?:you|ready)|you (?:can|could|may|might)|possible|potential|consider"
    r"|vous pou(?:vez|rriez)|puedes|podrías|kannst du|können sie"
    r"|would you|let me know|is ready|facultati\w+|optionnel\w*|opcional\w*)\b"
)
_IS_DONE = re.compile(
    r"\b(?<!not )(?<!not yet )(?:fixed|done|resolved|completed?)\b", re.IGNORECASE
)
ORDERED = Phrases(
    r"\b(?:top (?:\d+ )?(?:most |recommended |suggested )?"
    r"(?:important|improvements|issues|priorities|findings)"
    r"|most important|must[ -]fix|ranked by|prioriti[sz]ed)\b"
)
"""In the heading of a list that a review ranked: "top 5 issues", "must-fix"."""
ALL_DONE = re.compile(
    r"\ball (?:\w+ )?(?:todos?|tasks|steps|items)\b[^.!?\n]{0,40}\b(?:completed?|done)\b",
    re.IGNORECASE,
)
"""Says that a plan is finished, even if its last step was never ticked."""
# A later time: "tomorrow", "next session", "das nächste Mal".
_DAY = (
    r"(?:tomorr?ow|tmrw?|later|monday|(?:the )?next (?:time|session|week|monday)"
    r"|another (?:time|day|session)"
    r"|morgen|(?:das )?n(?:ä|ae)chstes? mal|n(?:ä|ae)chste (?:woche|sitzung)"
    r"|demain|la prochaine fois|mañana|la próxima (?:vez|sesión)|domani|la prossima volta"
    r"|amanhã|(?:d?a )?próxima vez|(?:de )?volgende keer)"
)
_LEAD = (
    r"(?:\W*\b(?:ok(?:ay)?|thanks|so|then|and|but|also|gut|danke|dann|und|bon|alors|et|vale|y|poi"
    r"|allora|então|e|dan|en)\b)*\W*"
)
# Open work in headings, labels and sentences alike: "we still have to", "es fehlt noch".
_STILL = (
    r"(?:(?:i|we) still (?:have|need) to"
    r"|noch (?:zu (?:machen|tun|erledigen)|nicht (?:eingearbeitet|gemacht|fertig|erledigt))"
    r"|(?:wir m(?:ü|ue)ssen|m(?:ü|ue)ssen wir) noch(?! nicht\b)"
    r"|fehl(?:t|en) (?:jetzt |mir |uns )?noch|il (?:nous |me )?reste à"
    r"|queda(?:n)? (?:pendientes?|por)|manca(?:no)? ancora|resta(?:no)? da"
    r"|falta(?:m)? (?:ainda|fazer)|moet(?:en)? (?:we |ik )?nog)"
)
# What a user writes as a heading of open work: "still to be done", "was noch fehlt".
_PUT_OFF = (
    rf"(?:{_LEFT}|(?:es |wat |er )*{_STILL}(?: (?:do|faire|hacer|fare|doen))?"
    r"|still (?:needed|to be done|left|broken|failing|missing)|what(?:'s| is) still to be done"
    r"|(?:what|things|stuff) (?:i|we) still (?:have|need) to(?: do)?"
    r"|was (?:jetzt )?noch (?:fehlt|offen ist|zu tun ist|ansteht|aussteht|bleibt)"
    r"|noch ausstehend|offene (?:aufgaben|themen|fragen|todos?)|ich muss noch"
    r"|(?:das )?m(?:u(?:ss|ß)|(?:ü|ue)ssen) (?:ich|wir) noch(?: (?:machen|tun|erledigen))?"
    r"|(?:es )?bleib(?:t|en) noch(?: zu tun)?|steh(?:t|en) noch a(?:us|n)"
    r"|(?:ce qu'il |il )?(?:nous |me )?reste(?:nt)?(?: encore)?(?: à faire)?|encore à faire"
    r"|points? (?:ouverts?|en suspens)|en suspens"
    r"|(?:lo que )?(?:nos |me )?(?:falta|queda)n?(?: por hacer| pendiente)?|por hacer"
    r"|(?:tareas|puntos|cosas|temas) pendientes"
    r"|(?:quello che )?(?:manca|resta|rimane)(?:no)?(?: ancora)?(?: da fare)?|ancora da fare"
    r"|punti aperti|in sospeso|(?:o que )?(?:falta|resta)m?(?: fazer)?|(?:ainda )?(?:a|por) fazer"
    r"|pendentes?|pontos em aberto|(?:wat )?(?:er )?nog (?:moet|openstaat|open)|openstaande punten)"
)
_FOR = r"(?:for|für|fuer|pour|para|per|voor)"
_HEADING_DEFERRED = (
    rf"{_LEAD}(?:{_PUT_OFF}(?:[\s,(]+(?:{_FOR} )?{_DAY})?|(?:left )?{_FOR} {_DAY})\W*"
)
_DEFERRED_HEADING = Phrases(_HEADING_DEFERRED)
USER_LABEL = Phrases(rf"{_HEADING_DEFERRED}:\s*(?=\S)")
"""A label in front of what a user leaves for later: "still to do tomorrow: the icons"."""
# "We'll test it tomorrow", "morgen müssen wir noch ...", "the docs are still open"
_LATER = Phrases(
    rf"(?:^|[,;]){_LEAD}(?:"
    r"(?:let'?s|we|we'll|i'll|lass(?:t)? uns|wir|ich|on|nous|je|vamos|seguimos|seguiremos"
    r"|continuamos|continuiamo|facciamo|vediamo|ik|laten we|(?:gaan|doen|moeten|kijken) we"
    r"|(?:(?:das|den rest|alles) )?(?!(?:wenn|falls|dass|ob|weil|als|was|wie|kann|soll)\b)"
    r"[^\W\d]+ (?:wir|ich|ik))"
    rf"\b[^.?!\n]{{0,80}}?\b{_DAY}\b"
    rf"|{_DAY},? (?:(?:we|i|let's)(?:'ll| will| need| have to| must| should| can| do| go)"
    r"|(?:on|nous|je|il faut|hay que|tenemos|tengo|seguimos|continuamos|vamos|toca|dobbiamo|devo"
    r"|bisogna|continuiamo|facciamo|temos|tenho|precisamos)\b)"
    rf"|{_DAY} [^\W\d]+ (?:wir|ich|we|wij|ik)\b"
    r"|[^.?!\n]{3,80}\b(?:steh(?:t|en) noch aus|(?:ist|sind) noch offen"
    r"|muss noch (?:gemacht|erledigt) werden|(?:is|are) still (?:open|to do|to be done)"
    r"|reste(?:nt)? à faire|quedan? pendientes?|restan?o? da fare|ficam? pendentes?"
    r"|moet(?:en)? nog gebeuren)\W*$)"
)
# Something is missing: "es fehlen noch die Icons", "pas encore fait".
_MISSING = Phrases(
    rf"\b(?:{_STILL}|offen (?:ist|sind) (?:jetzt )?noch|rest für|liegen ?geblieben"
    r"|muss noch (?:jemand|wer)|haben wir verschoben"
    r"|m(?:ü|ue)ssen (?:wir )?(?:\w+ ){0,4}noch (?!nicht\b)"
    r"|faudra encore|pas encore faite?s?|pour la prochaine fois|ce qui manque"
    r"|(?<!hace )(?:nos |me )?falta(?:n)? (?!poco\b)\w+r\b|para la próxima)"
)
# "We continue tomorrow" names no open work.
_ONLY_LATER = Phrases(
    rf"(?:^|[,;]){_LEAD}(?:(?:machen|arbeiten) wir|wir machen|let'?s (?:continue|go on)"
    rf"|(?:we|i)(?:'ll)? continue|on (?:continue|reprend)|seguimos|continuamos|continuiamo)"
    rf"(?: {_DAY})?(?: weiter| here| there| ici)?(?: {_DAY})?\W*$"
)
_ANOTHER_TIME = (
    rf"(?:(?<!hour )(?<!hours )(?<!days )(?<!weeks ){_DAY}|not (?:now|today|yet)"
    r"|(?:at )?some (?:other )?(?:point|time|day)|one day)"
)
_FOR_NOW = r"for (?:now|the (?:moment|time being)|today)"
# "maybe", "please" at the end of a deferral.
_SOFTLY = r"(?:\W+(?:maybe|perhaps|probably|then|dann|please|pls|though))*\W*$"
# A step for another time ("add it later"), and a step set aside ("skip the map for now").
_DEFERS = re.compile(
    rf"{_LEAD}(?:maybe |perhaps |probably )?(?P<what>[^,;:.?!]{{0,80}}?)"
    rf"\s*\b(?P<when>{_ANOTHER_TIME}){_SOFTLY}",
    re.IGNORECASE,
)
_SETS_ASIDE = re.compile(
    rf"{_LEAD}(?:(?:we|you) can |let'?s )?"
    rf"(?P<what>(?:leave|skip|ignore)\b[^,;:.?!]{{1,80}}?(?=\s+{_FOR_NOW})"
    rf"|(?:park|postpone|hold off|put off)\b[^,;:.?!]{{1,80}})(?:\s+{_FOR_NOW})?{_SOFTLY}",
    re.IGNORECASE,
)
# A statement or a reason, not a step: "the demo is ...", "... because ...".
_NO_STEP = re.compile(
    r"(?:an?|the|my|our|your|his|her|their|its?|this|that|there|i|he|she|they|you|we|if|when|what|who"
    r"|which|how|why|where|in|on|at|for|from|by|until|shorter|better|more|less)\b"
    r"|.*(?:\b(?:is|are|was|were|am|has|have|had|will|would|can|could|must|should|so|because|since"
    r"|when|if)\b|['\u2019](?:s|re|ve|ll|d)\b)",
    re.IGNORECASE,
)
# The day belongs to something else: "for the demo of tomorrow". "For later" does put off.
_BEFORE_DAY = re.compile(r".*\b(?:of|on|in|from|until|till|by|to|the|or|not|and)\W*", re.IGNORECASE)
_CALENDAR = re.compile(r"tomorr?ow|tmrw?|monday|(?:the )?next (?:week|monday)", re.IGNORECASE)
"""With one of these, words without an object are an appointment: "dentist tomorrow"."""
_OBJECT = re.compile(
    r"\b(?:it|this|that|them|these|those|the|all|rest|everything)\b", re.IGNORECASE
)
_CLAUSE_GAP = re.compile(r"[,;]\s+")
_WITHIN_SESSION = re.compile(r"later|sp(?:ä|ae)ter|not (?:now|yet)|jetzt.*", re.IGNORECASE)
# What should be done, with a clause behind it that puts it off: "... must fail, but not today".
_NEEDED = re.compile(
    rf"{_LEAD}(?!(?:i|he|she|ich|er|sie)\b).*\b(?:should(?! (?:work|do|be (?:fine|ok|enough))\b)"
    r"|must|needs? (?:to|an?|the|new|more|another)|ha(?:s|ve) to(?! (?:go|leave|run|catch)\b)"
    r"|ought to|sollte[nt]?|m(?:ü|ue)ss(?:en|te|ten)|mu(?:ss|ß)) ",
    re.IGNORECASE,
)
_NOT_NOW = re.compile(
    r"\W*(?:(?:but|and|aber|und|nur)\s+)?(?:(?:that(?:'?s| is) )?for |erst |lieber )?"
    rf"(?P<when>{_ANOTHER_TIME}|sp(?:ä|ae)ter|heute nicht(?: mehr)?|nicht heute"
    r"|jetzt (?:noch )?nicht)(?: dann| vielleicht| mehr)?"
    rf"{_SOFTLY}",
    re.IGNORECASE,
)
# Longer phrases first: a shorter match would leave a word behind.
_FAREWELL = Phrases(
    r"\b(?:(?:see (?:you|ya)|until|talk(?: to you)?|speak)"
    r" (?:tomorrow|soon|later|then|around|next (?:time|week))|see (?:you|ya)"
    r"|good ?(?:night|bye|evening)|night|bye|cya|cheers|ciao"
    r"|have a (?:good|nice|great) (?:evening|night|day|weekend|one)"
    r"|(?:that(?:'?s| is) (?:it|all)|done|enough)? ?for (?:today|now|tonight)"
    r"|that(?:'?s| is) (?:it|all)|call it a day"
    r"|(?:i )?(?:got(?:ta| to)|have to|need to|must) (?:go|run|leave)(?: now)?(?=\W*$|[,.;!])"
    r"|(?:ich )?m(?:u(?:ss|ß)|(?:ü|ue)ssen) (?:jetzt )?(?:los|weg)"
    r"|tsch(?:ü|ue)(?:ss|ß|s)|tschau|servus|gute nacht|mach'?s gut|vielen dank"
    r"|bis (?:morgen|bald|dann|sp(?:ä|ae)ter|(?:zum )?n(?:ä|ae)chste[ns]? (?:mal|woche)|montag)"
    r"|(?:einen )?sch(?:ö|oe)ne[ns] (?:feierabend|abend|tag|wochenende)|feierabend"
    r"|das war'?s(?: f(?:ü|ue)r heute)?|f(?:ü|ue)r heute"
    r"|au revoir|[àa] (?:demain|bientôt|plus tard|plus|lundi|la prochaine)"
    r"|bonne (?:nuit|soirée|journée)|bon week-?end|merci beaucoup|c'est tout|pour aujourd'hui"
    r"|hasta (?:mañana|luego|pronto|la próxima)|buenas noches|adi[óo]s|muchas gracias|por hoy"
    r"|a domani|buona ?(?:notte|serata)|a presto|arrivederci|grazie mille|per oggi"
    r"|até (?:amanhã|logo|breve|mais)|boa noite|tchau|adeus|muito obrigad[oa]|por hoje"
    r"|tot (?:morgen|straks|ziens|later|de volgende keer)|doei|fijne avond|welterusten|bedankt"
    r"|dank (?:je|u)(?: wel)?|до завтра|спокойной ночи|пока|晚安|明天见|再见)\b"
)
_DOABLE = (
    r"(?:done|implemented|tested|wired|pushed|merged|deployed|covered|verified|migrated|written"
    r"|built|added|supported|connected|integrated|fixed|committed|started)"
)
UNDONE = Phrases(
    r"(?<![\"'\u201c])\b(?<!will )(?<!would )(?<!may )(?<!might )(?<!can )(?<!could )(?<!why )"
    r"(?<!what )(?:still (?:needs? (?:a|an|to)|to do|missing|open|left|unimplemented|untested"
    rf"|unverified)\b|not (?:been )?{_DOABLE} yet\b|not yet (?:been )?{_DOABLE}\b"
    r"|remains? (?:to be|open|undone|untested|unresolved|unfixed|unimplemented)\b"
    r"|left (?:to do|undone)\b|next step (?:is|will be)\b"
    r"|needs? to be (?:done|tested|verified|merged|pushed|deployed|implemented)\b)"
)
"""Open work in a sentence: "still needs a test", "not yet deployed", "remains open"."""
# The agent's account of its own work: "Let me ...", "Now I've ...".
_NARRATES = Phrases(
    r"^\W*(?:(?:now|next|first|then|finally|great|perfect|good)\b\W*)*"
    r"(?:let me|let's|i'll|i've|i have|i need|i want|now i|i(?= \w+ed\b)|we've|updating|marking"
    r"|if|you can|feel free|command stdout)\b"
)
# "Nothing is left", "0 open", "as intended"
_NOTHING = re.compile(
    r"\b(?:0|no|none|nothing)\b|\bas (?:it is|before|intended)\b|\bon purpose\b", re.IGNORECASE
)
# Finished work, which a list below "Summary and next steps" may contain.
_DONE = Phrases(
    r"\W*(?:(?:also|now) )?(?:fixed|added|enhanced|improved|updated|created|implemented|removed"
    r"|moved|renamed|replaced|refactored|converted|cleaned|verified|completed|resolved|changed"
    r"|shows|displays|provides|supports|includes|contains)\b"
)
# Steps at the screen to see the result ("refresh the page"), and optional ones.
_AT_THE_SCREEN = Phrases(
    r"(?:\W|\d+[.)])*(?:(?:hard )?(?:refresh|reload|restart)|open|visit|go to|navigate|click"
    r"|log (?:in|out)|try|clear|stop|start|run|launch|use|check|verify|review|monitor|watch|enjoy"
    r"|test|search|download|follow|track|share|leverage|keep|continue|proceed|begin|ping|tail"
    r"|rebuild|recreate|upload|(?:quick |manual )+checks?|the app should"
    r"|consider|optional\w*|if|you|let me know|would|won't|option|ready|all"
    r"|reinicia|prueba|verifica|abre|recarga|ejecuta|redémarre[rz]?|teste[rz]?|vérifie[rz]?"
    r"|ouvre[rz]?|recharge[rz]?|lance[rz]?|starte|öffne|prüfe|lade)\b"
)
TRIES = re.compile(r"\W*(?:test|try|verify|check|confirm|review)\b", re.IGNORECASE)
"""A check that the user is asked to make; nobody reports it as done."""
TAKES_ALL = Phrases(
    r"\b(?:implement|fix|address|do|apply|tackle|make|resolve)\b[^.?!\n]{0,20}"
    r"\b(?:all|everything|both|each)\b"
)
"""An order to do everything on a list: "fix them all"."""
# A whole message of thanks and "commit and push": "great, thanks, push to main".
_CLOSES = Phrases(
    r"\W*(?:(?:ok(?:ay)?|yes|great|perfect|cool|nice|good|awesome|thanks?|thank you|thx|danke|merci"
    r"|gracias|grazie|obrigad[oa]|super|perfekt|commit|push|(?:add|stage) all|please|it|that|this"
    r"|and|now|all|everything|the|changes?|to|git(?:hub)?|main|master|remote|origin|branch)\b\W*)+"
)


def is_open_heading(heading: str) -> bool:
    """Return whether a list below *heading* contains open work.

    >>> [is_open_heading(text) for text in ("📋 Next Steps", "Next steps (optional)", "Issues")]
    [True, False, False]
    """
    return bool(_HEADING.match(heading)) and not any(
        pattern.search(heading) for pattern in (OFFERED, _IS_DONE)
    )


def find_deferred_heading(line: str) -> int:
    """Return the index in *line* where a heading of put-off work begins, -1 without one.

    >>> find_deferred_heading("Danke! Still to do next time:")
    7
    >>> find_deferred_heading("Was noch fehlt")
    0
    >>> find_deferred_heading("What we did:"), find_deferred_heading("The next steps are clear")
    (-1, -1)
    """
    text = line.rstrip()
    begin = max((gap.end() for gap in SENTENCE_GAP.finditer(text)), default=0)
    return begin if _DEFERRED_HEADING.fullmatch(text[begin:].lstrip("#*_ ")) else -1


def postpones(sentence: str) -> bool:
    """Return whether a user's *sentence* puts something off to another day.

    >>> postpones("Morgen müssen wir noch testen."), postpones("We're done, see you tomorrow")
    (True, False)
    """
    if sentence.endswith("?") or _ONLY_LATER.search(sentence):
        return False
    return _LATER.search(drop_farewells(sentence)) is not None


class Deferral(NamedTuple):
    """The postponed *task* ("" if only a time is given); *is_beyond* says beyond this session."""

    task: str
    is_beyond: bool


def defers(sentence: str) -> Deferral | None:
    """Return what a user's *sentence* puts off, None if it puts nothing off.

    >>> defers("ok, add it later, have to leave"), defers("tomorrow maybe")
    (Deferral(task='add it', is_beyond=False), Deferral(task='', is_beyond=True))
    >>> defers("gz files should fail, but not today")
    Deferral(task='gz files should fail', is_beyond=True)
    >>> defers("Printing is tomorrow"), defers("The dentist is half an hour later")
    (None, None)
    """
    if sentence.endswith("?"):
        return None
    clauses = _CLAUSE_GAP.split(drop_farewells(sentence))
    for needed, clause in pairwise(clauses):
        not_now = _NOT_NOW.fullmatch(clause)
        if not_now and _NEEDED.match(needed) and is_remaining_work(needed):
            return Deferral(needed, not _WITHIN_SESSION.fullmatch(not_now["when"]))
    matches = [
        *map(_SETS_ASIDE.match, _CLAUSE_GAP.split(sentence)),
        *map(_DEFERS.match, clauses),
    ]
    return next((deferral for match in matches if (deferral := _as_deferral(match))), None)


def _as_deferral(match: re.Match[str] | None) -> Deferral | None:
    """Return the deferral of a matched clause, None for a statement or an appointment."""
    if match is None or _NO_STEP.match(match["what"]) or _BEFORE_DAY.fullmatch(match["what"]):
        return None
    what, when = match["what"].strip(), match.groupdict().get("when") or ""
    if what and _CALENDAR.fullmatch(when) and not _OBJECT.search(what):
        return None
    return Deferral(what, bool(when) and not _WITHIN_SESSION.fullmatch(when))


def is_missing(sentence: str) -> bool:
    """Return whether a user's *sentence* says that something is still missing.

    >>> is_missing("es fehlen noch die Icons"), is_missing("fehlt da noch was?")
    (True, False)
    """
    return not sentence.endswith("?") and _MISSING.search(sentence) is not None


def drop_farewells(text: str) -> str:
    """Return *text* without phrases of farewell, "" if no word remains.

    >>> drop_farewells("thanks, bis morgen!"), drop_farewells("Good night!")
    ('thanks, !', '')
    """
    remainder = _FAREWELL.sub("", text)
    return remainder if any(map(str.isalnum, remainder)) else ""


def closes(message: str) -> bool:
    """Return whether *message* only ends a session: thanks, a farewell, or "commit and push"."""
    remainder = drop_farewells(message)
    return not remainder or _CLOSES.fullmatch(remainder) is not None


def is_remaining_work(title: str) -> bool:
    """Return whether *title* describes open work, not finished work or a check at the screen.

    >>> is_remaining_work("Sign the release files")
    True
    >>> is_remaining_work("Refresh the page once")
    False
    >>> is_remaining_work("1.")
    False
    """
    if len(title.split()) < _WORDS_MIN or title.endswith(("?", ":", "\uff1a")):
        return False
    return not any(
        test(title) for test in (_DONE.match, _AT_THE_SCREEN.match, OFFERED.search, PRINTED.search)
    )


def describes_no_task(sentence: str) -> bool:
    """Return whether *sentence* is a question, narrates the work, or says nothing is left."""
    signs = (_NOTHING, _NARRATES, PRINTED)
    return sentence.endswith("?") or any(sign.search(sentence) for sign in signs)
