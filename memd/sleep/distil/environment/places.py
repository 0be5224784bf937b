"""Recognise sentences that say where a named thing is: "Grafana is at http://10.20.0.5:3000". Pure.

Such a sentence is always worth keeping, because nobody says it twice. It names a thing, has one of
a few verbs, and gives an address, port, host, absolute path, id or version. Sentences about faults,
a page or file at hand, or "it" do not count. Of the same thing, the latest sentence holds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from memd.text.alternations import Phrases
from memd.text.languages import FAILS, FUNCTION_WORDS
from memd.text.words import sentences

_CHARS_MAX, _LINE_CHARS_MAX = 220, 300
_NAME_WORDS = 5

_LEAD = (
    r"\W*(?:(?:note|fyi|btw|by the way|reminder|remember|info|heads[- ]up|for the record|also|and"
    r"|so|ok(?:ay)?|actually|no|nope|nein|hinweis|übrigens|merke?|notiz|nota|à noter|ojo"
    r"|attention|let op|ps)\b\W+"
    r"|important: |(?:note|remember|know) that )*"
)
_ARTICLE = (
    r"(?:(?:the|our|an?|der|die|das|unser(?:e|er)?|le|les|notre|nos|el|los|las|nuestr[oa]s?|il|lo"
    r"|gli|i|la|l'|o|a|os|as|noss[oa]s?|de|het|onze|ons)(?:\s+|(?<=')))?"
)
_NAME = rf"(?P<name>[\w.'/-]+(?: [\w.'/-]+){{0,{_NAME_WORDS - 1}}}?)"
_NOW = r"(?: (?:now|currently|jetzt|nun|maintenant|ahora|ora|adesso|agora|nu|also|still))?"
_VERB = (
    r"(?:is|are|runs?|listens?|lives?|sits?|uses?|moved|needs? to be|can be (?:found|reached)"
    r"|läuft|laufen|liegt|liegen|lauscht|hört|steht|stehen|ist|sind|nutzt|verwendet|benutzt"
    r"|est|sont|(?:tourne|écoute|se trouve|utilise)(?:nt)?"
    r"|está|están|corren?|escuchan?|se encuentran?|viven?|usan?"
    r"|è|sono|(?:gira|ascolta|si trova|usa)(?:no)?"
    r"|estão|ficam?|fica|rodam?|roda|escutam?|escuta"
    r"|staat|staan|draait|draaien|luistert|zit|zitten|gebruikt)"
)
_BETWEEN = (
    r"(?:(?:at|on|in|under|to|from|via|behind|reachable|available|hosted|served|installed|stored"
    r"|located|called|found|the|our|port|host|server|machine|path|folder|version|address|url|user"
    r"|auf|unter|bei|im?|über|zu|erreichbar|der|die|dem|den|adresse|ordner|pfad"
    r"|sur|dans|à|le|la|du|port|l'adresse|en|el|por|puerto|ruta|su|nella?|alla?|sulla?|porta|nel"
    r"|al|em|na|no|op|poort|map|te vinden|te bereiken)[ :]+){0,5}"
)
_URL = r"[a-z][a-z+]{2,9}://[^\s,;)\"'`]+"
_ADDRESS = (
    r"(?:(?:\d{1,3}\.){3}\d{1,3}(?::\d{2,5})?"
    r"|(?![\w./-]*\.(?:py|[jt]sx?|go|rs|rb|java|php|cs?|cpp|html|css|vue|md|sql|ya?ml|json):)"
    r"[a-z][\w-]*(?:\.[\w-]+)*:\d{2,5}"
    r"|(?-i:[a-z\d-]+(?:\.[a-z\d-]+)*\.(?:internal|local|lan|corp|intra|example|com|net|org|io|dev"
    r"|cloud|app|de|fr|es|it|nl|br|pt|eu|ch|at)))"
)
_SORTS = (
    ("address", rf"<?`?(?:{_URL}|{_ADDRESS})\b/?"),
    (
        "port",
        r"(?<=port )\d{2,5}\b|(?<=puerto )\d{2,5}\b|(?<=porta )\d{2,5}\b|(?<=poort )\d{2,5}\b",
    ),
    (
        "path",
        r"`?(?:~|[a-z]:|/(?:var|etc|opt|srv|home|usr|mnt|media|data|root|run|users|volumes))"
        r"[/\\][\w.@*~-]+(?:[/\\][\w.@*~-]+)*[/\\]?",
    ),
    ("version", r"(?:(?-i:[A-Z][\w.+-]* )|version |v)\d+(?:\.\d+)*\b(?! \w+s\b)"),
)
_IS_ADDRESS = Phrases(_ADDRESS)
_PLACE = "|".join(rf"(?P<{sort}>{pattern})" for sort, pattern in _SORTS)
_STATES = Phrases(rf"{_LEAD}{_ARTICLE}{_NAME}{_NOW} {_VERB}{_NOW} {_BETWEEN}(?:{_PLACE})")
_HAS_MOVED = (
    r"(?:moved|migrated|changed|switched|umgezogen|verschoben|verlegt|déménagé|mudó|mudado"
    r"|spostato|verhuisd)"
)
_IT_IS = (
    r"(?:(?:it(?:'s| is| lives| runs| works)|they are|now|jetzt"
    r"|(?:es|er|sie) (?:ist|liegt|läuft|steht|funktioniert)"
    r"|c'est|(?:il|elle|ça) (?:est|tourne|marche|fonctionne)|(?:ya |ahora )?(?:está|corre|funciona)"
    r"|(?:ora |adesso )?(?:è|gira|va|funziona)|(?:já |agora )?(?:está|fica|roda|funciona)"
    r"|(?:het|hij|ze) (?:is|staat|draait|werkt))\b)?"
)
_WE_MOVE = (
    r"(?:we(?:'ve| have)? (?:just )?(?:moved|migrated|switched|changed)"
    r"|(?:on a|nous avons) (?:déplacé|déménagé|migré)|hemos (?:movido|migrado)|movimos|migramos"
    r"|abbiamo (?:spostato|migrato)|(?:mud|migr)[aá]mos|movemos)"
)
# A thing that moved: "staging moved: it's https://new.example now".
_MOVED = Phrases(
    rf"{_LEAD}(?:i |we )?(?:have )?{_ARTICLE}{_NAME}"
    r"(?: (?:has|have|is|are|was|were|ist|sind|wurden?|a|ha|se ha))?"
    rf"(?: been)?(?: (?:again|wieder|now|just))? {_HAS_MOVED}\b"
    rf"(?:[^:;,.]{{0,40}}[:;,.]\s+{_IT_IS}{_NOW} ?| (?:again )?){_BETWEEN}(?:{_PLACE})"
)
# The same with a subject: "we moved staging again, it is https://new.example".
_WE_MOVED = Phrases(
    rf"{_LEAD}(?:{_WE_MOVE} {_ARTICLE}{_NAME}"
    rf"|(?:wir haben|we hebben) {_ARTICLE}{_NAME.replace('<name>', '<moved>')} {_HAS_MOVED})"
    rf"(?: (?:again|wieder))?(?:[:;,]? (?:and )?{_IT_IS}{_NOW} ?){_BETWEEN}(?:{_PLACE})"
)
# In German the verb follows a time: "ab sofort ist der Runner ci2.example" (_SINCE drops the time).
_SINCE_IS = Phrases(
    rf"{_LEAD}(?:ist|sind|liegt|läuft|steht) {_ARTICLE}{_NAME}{_NOW} {_BETWEEN}(?:{_PLACE})"
)
# A time from which it holds, such as "since today". It is dropped before the other patterns: a mere
# "today" would mark the sentence as temporary (_AT_FAULT).
_DAY = (
    r"(?:today|now|yesterday|tomorrow|(?:this|last|next) (?:week|month|year|sprint)"
    r"|(?:(?:this|last|next) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{4}-\d\d-\d\d)(?!')"
)
_TAG = r"(?:heute|gestern|sofort|jetzt|morgen|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)"
_SINCE = Phrases(
    rf",?\s*\b(?:(?:since|as of|as from|effective|starting(?: from)?) {_DAY}"
    rf"|from {_DAY}(?: on(?:wards?)?)?"
    rf"|(?:ab|seit|von) {_TAG}(?: an)?)\b,?"
)
# "You can find the docs under https://docs.example".
_FOUND = Phrases(
    rf"{_LEAD}(?:you(?: can|'ll| will)? find|du findest|findest du|tu trouveras|vous trouverez"
    rf"|encuentras|trovi|você encontra|je vindt) {_ARTICLE}{_NAME} {_BETWEEN}(?:{_PLACE})"
)
# "The Sentry project id is 4711": the name says which kind of value it is.
_VALUE = Phrases(
    rf"{_LEAD}{_ARTICLE}(?P<name>(?:[\w.'/-]+ ){{1,3}}(?:id|port|host(?:name)?|version|region"
    r"|bucket|account|cluster|namespace|user(?:name)?|adresse|puerto|porta|poort|versión|versione))"
    rf"{_NOW} (?:is|ist|est|es|è|é)(?! (?:not|no|nicht|pas)\b){_NOW}"
    r" `?(?P<value>[\w.@:-]*\d[\w.@:-]*)"
)
# "The tests need docker compose up -d db first."
_NEEDS = Phrases(
    rf"{_LEAD}{_ARTICLE}(?P<name>[\w.'/-]+(?: [\w.'/-]+){{0,2}}?)"
    r" (?:needs?|requires?|brauch(?:t|en)|benötig(?:t|en))"
    r" `?(?P<value>(?:docker|podman|make|npm|pnpm|yarn|bun|npx|uv|cargo|go|python\d?|\./[\w./-]+)"
    r" [^.;]{2,60}?)`? (?:first|before|beforehand|zuerst|vorher|running)\b"
)
_FORMS = (_WE_MOVED, _MOVED, _FOUND, _VALUE, _NEEDS, _STATES, _SINCE_IS)
# A cheap test before the patterns: most sentences have none of these, so they name no place.
_MAY_NAME = re.compile(r"\d|[/\\]|\w\.\w|need|require|brauch|benötig", re.IGNORECASE)
_NO_NAME = Phrases(
    r"^(?:it|this|that|these|those|there|here|he|she|they|i|we|you|who|which|what|where|how|why|when"
    r"|if|because|since|while|once|unless|es|er|sie|wir|ich|du|wenn|weil|dass?|il|elle|on|nous|je|si"
    r"|quand|cuando|como|donde|se|quando|als|omdat|hij|zij|maybe|perhaps|but|no|nope|yes|not)\b"
    r"|\b(?:errors?|bugs?|problems?|issues?|screenshots?|images?|pictures?|changes?|fix|diff|commits?"
    r"|exceptions?|warnings?|failures?|traces?|fehler|problème|erreur|errore|erro|my|think|guess"
    r"|see|says?|fix|add|use|make|check|open|run|put|move|set|read|look|please)\b"
    r"|^(?:(?:new|old|updated|same|other|current|whole|right|wrong|attached|first|second|last) )?"
    r"(?:page|file|button|link|result|output|response|request|branch|code|line|text|answer|title"
    r"|plan|thing|one|other|way|point|idea|question|example|path|folder|datei|seite|fichier|archivo)$"
)
_AT_FAULT = Phrases(
    r"\b(?:broken|wrong|blank|nothing|weird|stuck|slow|down|empty|missing|unreachable|doesn't|isn't"
    r"|does not|is not|can't|cannot|kaputt|nicht|pas|should|must|could|would|might|maybe|perhaps"
    r"|right now|at the moment|today|gerade|/tmp)\b|/tmp/|\?"
)
# Words that do not distinguish a name: "the staging server" and "staging" are the same.
_GENERIC = frozenset(
    ("server", "environment", "env", "host", "instance", "url", "address", "serveur")
)


class NamedPlace(NamedTuple):
    """The words that *name* a thing, and its *place* of a *sort*: "address", "port" ..."""

    name: frozenset[str]
    sort: str
    place: str


def find_place(sentence: str) -> NamedPlace | None:
    """Return the named thing and its place that *sentence* states, None if it states none.

    >>> find_place("fyi the staging server is https://new.example:8443").place
    'https://new.example:8443'
    >>> find_place("the error is at /srv/app/main.py"), find_place("is it on port 8080?")
    (None, None)
    """
    if not _MAY_NAME.search(sentence):
        return None
    sentence = _SINCE.sub("", sentence).strip()
    if len(sentence) > _CHARS_MAX or _AT_FAULT.search(sentence) or FAILS.search(sentence):
        return None
    match = next((match for form in _FORMS if (match := form.match(sentence))), None)
    if match is None:
        return None
    # Besides the name, one group matched: its name is the sort of the place.
    groups = {key: text for key, text in match.groupdict().items() if text}
    thing = groups.pop("name", "") or groups.pop("moved")
    if _NO_NAME.search(thing):
        return None
    words = frozenset(re.findall(r"[^\W_]\w*", thing.casefold())) - FUNCTION_WORDS
    sort, place = next(iter(groups.items()))
    if sort == "value" and _IS_ADDRESS.fullmatch(place):
        sort = "address"
    name = words - _GENERIC or words  # "the server" is named by its generic word
    return NamedPlace(name, sort, place.strip("`<").rstrip("/.").casefold()) if name else None


def states_place(line: str) -> bool:
    """Return whether *line* is short, no question, and states the place of a named thing."""
    is_short = len(line) <= _LINE_CHARS_MAX and "?" not in line
    return is_short and any(map(find_place, sentences(line)))


def moves(later: str, earlier: str) -> bool:
    """Return whether *later* gives another place for the only thing whose place *earlier* gives.

    >>> old = "Note: staging is at https://old.example:8443 and you need the VPN for it."
    >>> moves("staging moved: it's https://new.example now", old)
    True
    >>> moves("Grafana is at https://new.example now", old), moves(old, old)
    (False, False)
    """
    now = [place for place in _list_places(later) if place]
    earlier_places = _list_places(earlier) if now else ()
    before = earlier_places[0] if len(earlier_places) == 1 else None
    return before is not None and any(
        (new.name, new.sort) == (before.name, before.sort) and new.place != before.place
        for new in now
    )


@lru_cache(maxsize=512)  # each memory of a session is compared with the ones before it
def _list_places(text: str) -> tuple[NamedPlace | None, ...]:
    """Return the place that each sentence of *text* states, None for a sentence without one."""
    return tuple(find_place(part) for line in text.split("\n") for part in sentences(line))
