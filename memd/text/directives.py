"""Recognise sentences that tell an assistant how to work, or what somebody likes. Pure.

Two kinds are read in full, word by word: in which language to answer, and which of two things to
use. A clause that only gives a reason ("even if I write Russian") takes nothing from them.

The patterns cover seven languages and match only the beginning of a sentence. A directive is
addressed to somebody: "In Zukunft bitte auf Deutsch" (in future in German, please) is one, "In
Zukunft wird die Miete teurer" (in future the rent will rise) is a fact. A doubtful sentence counts
as a fact, because a preference would be in every prompt.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Final

from memd.text.words import sentences

# Cyrillic letters are intended.
# ruff: noqa: RUF001

_ENGLISH = (
    r"(?:always|never(?! mind\b)|from now on|in (?:the )?future|going forward|(?:don't"
    r"|do not) ever)\b"
    r"|(?:answer|reply|respond|talk|speak|write|explain)(?: everything| things)?(?: to)?"
    r"(?: me| us)? (?:only |always )?(?:in|with|like|as)\b"
    r"|keep (?:your |all |the )?(?:answers?|repl(?:y|ies)|responses?|explanations?|comments?"
    r"|commits?|messages?|summaries)\b"
    r"|be (?:more |very |less )?(?:concise|brief|terse|direct|verbose|formal|polite)\b"
    r"|(?:don't|do not|stop|avoid|no) (?:apologi[sz]|explain|comment|emoji|summar|guess|assum)"
    r"|call me\b"
)

# In a statement, a finite verb follows the adverb: "Künftig fährt der Bus bis Moosach". Besides
# the listed verbs, these are words in small letters that end in "t" or "en", with exceptions.
_FINITE_GERMAN = (
    r"(?:ist|sind|war|waren|wird|werden|hat|haben|hatte|soll|sollen|muss|müssen|kann|können|darf"
    r"|dürfen|will|wollen|gab|kam|kamen|ging|gingen|habe|bin|werde|fahre|gehe|komme|arbeite|wohne"
    r"|(?-i:(?!erst\b|zuerst\b|nicht\b|direkt\b|exakt\b|komplett\b)[^\WA-ZÄÖÜ\d_]{3,}t)"
    r"|(?-i:(?!den\b|einen\b|keinen\b|jeden\b|allen\b|deinen\b|meinen\b|diesen\b|kurzen\b)"
    r"[^\WA-ZÄÖÜ\d_]{2,}en))\b"
)
_ENDS_IN_INFINITIVE = r"[^?]{2,120} (?-i:[^\WA-ZÄÖÜ\d_]{2,}(?:en|ern|eln))[.!]*$"
_TELLS_GERMAN = (
    r"(?:verwende|benutze|nutze|schreibe?|antworte|sprich|rede|frage?|führe?|mache?|teste|nimm|gib"
    r"|formatiere|halte?|erkläre?|zeige?|prüfe?|committe|pushe|lasse?|kommentiere|setze?|stelle?"
    r"|starte"
    r"|lies|sage?|zitiere|liefere|erstelle|behandle|fasse?|bleibe?|arbeite|achte|denke?|lege?|füge?"
    r"|ändere?|lösche?)\b"
)
_LANGUAGE = r"(?:auf|in) (?:deutsch|englisch|französisch|spanisch|italienisch|einfache\w*)"
_GERMAN = (
    r"bitte (?:keine?n?|nie|niemals|immer|stets)\b"
    rf"|(?:(?:immer|stets)(?! (?:wenn(?! (?:du|ihr)\b)|sobald|mehr|weniger|noch|wieder|\w+(?:tags"
    rf"|wochs)"
    rf"|{_FINITE_GERMAN}))|(?:nie|niemals)(?: wieder| mehr)?+(?! (?:zuvor|jemand"
    rf"|{_FINITE_GERMAN})))\b"
    r"(?! (?:der|er|es|ich|wir|man)\b)"
    r"|(?:künftig|zukünftig|in zukunft|von nun an|ab (?:jetzt|sofort|heute))[,:]?"
    r"(?: (?:bitte|nur|keine?n?|nicht|nie|niemals|immer|stets|ohne|möchte ich|will ich|hätte ich"
    rf"|\w+st du|{_LANGUAGE}|{_TELLS_GERMAN})\b"
    rf"|(?! {_FINITE_GERMAN}){_ENDS_IN_INFINITIVE})"
    rf"|{_TELLS_GERMAN}(?: (?:mir|mich|dir|dich|bitte|die|den|das|der|alle\w*|\w+)){{0,3}}?"
    r" (?:immer|nie|niemals|stets|grundsätzlich|ausschließlich|keine?n?|ab jetzt|künftig"
    r"|in zukunft)\b"
    r"|(?:antworte|schreibe?|sprich|rede|erkläre?)(?: mir| uns| mit mir| alles| bitte| nur)*"
    r" (?:auf|in|wie|so|kurz|knapp|ohne)\b|antworte (?:mit|als)\b"
    rf"|schreibe?(?: [\w-]+){{1,3}}? {_LANGUAGE}\b"
    r"|keine?n? (?:\w+ ){1,4}(?:verwenden|benutzen|nutzen|schreiben|einfügen|hinzufügen|anlegen"
    r"|machen|erstellen|ändern|löschen|setzen)\b"
    r"|keine (?:emojis?|kommentare|erklärungen|entschuldigungen|floskeln|zusammenfassungen"
    r"|rückfragen|anglizismen|abkürzungen|tabs|semikolons)\b(?! (?:ist|sind|war|waren|gab))"
    r"|(?:duze?|sieze?|nenne?) (?:mich|uns)\b|rede mich\b|fasse? dich kurz|halte? dich kurz"
    r"|halte? (?:deine|die|alle|eure) (?:antworten|erklärungen|kommentare|commits?|texte)\b"
    r"|sei (?:kurz|knapp|direkt|höflich|prägnant|präzise|ehrlich|sachlich)\b|vermeide?\b"
    r"|verzichte auf\b|hör auf\b"
    r"|meine? (?:lieblings\w{2,20}|liebste[rs]? [\w-]{2,20})(?: (?:ist|sind|bleibt)\b|:)"
    r"|(?:ich|wir) (?:bevorzuge|mag kein|mögen kein|hasse)\w*"
    r"|(?:ich|wir) (?:will|möchte|wollen|möchten) (?:nie|immer|keine)\w*\b"
    r"|ich ziehe [^,.?!]{2,60} vor\b|mir (?:ist|sind|wäre|wären) [^,.?!]{2,60} lieber\b"
)

_FRENCH_VERBS = (
    r"(?:réponds|répondez|écris|écrivez|parle|utilise|demande|fais|lance|garde|explique|commente"
    r"|ajoute|mets|vérifie|teste|laisse|arrête|donne|montre|pose|appelle|tutoie|vouvoie|évite"
    r"|évitez"
    r"|privilégie|préfère|exécute|rédige|reste|travaille)"
)
_FRENCH = (
    rf"{_FRENCH_VERBS}(?:-moi)?(?: \w+){{0,2}}? (?:toujours|systématiquement|uniquement|jamais)\b"
    r"|toujours (?:en|par|avec|\w{2,}(?:er|ir|dre|tre))\b"
    r"|jamais (?:de |d')(?!la\b)|jamais (?!hiver)\w{2,}(?:er|ir|dre|tre)\b"
    r"|ne (?:jamais|pas|plus) (?:\w+ )?\w{2,}(?:er|ir|re)\b"
    r"|n(?:e |')(?!est |a |ai |y |oublie)\w+ (?:jamais|plus|pas d(?:e |'))\b"
    r"|(?:désormais|dorénavant|à partir de maintenant|à l'avenir|dès maintenant)[,:]?"
    rf" (?:{_FRENCH_VERBS}|ne |n'|pas de|pas d'|toujours|jamais|uniquement|seulement|sans"
    r"|en (?:français|anglais)|tu \w+|je (?:veux|voudrais|préfère)|[^?]{2,120}"
    r"(?:s'il (?:te|vous) plaît|stp|svp))\b"
    r"|pas d(?:e |')(?:emojis?|émojis?|commentaires?|excuses?|résumés?|explications?"
    r"|tabulations?)\b"
    r"|(?:tutoie|tutoyez|vouvoie|vouvoyez|appelle|appelez)-(?:moi|nous)\b|évite[rz]?\b"
    r"|(?:sois|soyez) (?:plus |très )?(?:brefs?|brève|concis|direct|poli|précis)"
    r"|m(?:on|a|es) (?:[\w-]+ ){1,3}(?:préférée?s?|favori(?:te)?s?)(?: (?:est|sont)\b| ?:)"
    r"|réponds(?! (?:à|au|aux) )\b|je (?:préfère|déteste)\b"
)

_SPANISH_VERBS = (
    r"(?:usa|use|utiliza|ejecuta|responde|contesta|escribe|pregunta|pregúntame|haz|pon|corre|lanza"
    r"|revisa|comprueba|explica|añade|evita|mantén|dame|muestra|habla|háblame|guarda|verifica"
    r"|documenta|deja|respóndeme|prueba)"
)
_SPANISH_NOT = (
    r"(?:uses|utilices|escribas|hagas|borres|pongas|ejecutes|añadas|toques|preguntes|respondas"
    r"|elimines|cambies|subas|hables|comentes|modifiques|instales|expliques|asumas)"
)
_SPANISH = (
    r"siempre que \w{2,}(?:as|es)\b"
    rf"|{_SPANISH_VERBS}(?: \w+){{0,2}}? (?:siempre|únicamente|solamente)\b"
    rf"|(?:siempre|nunca|jamás) (?:me |lo |la )?(?:{_SPANISH_VERBS}|{_SPANISH_NOT}"
    r"|en (?:español|inglés)|\w{2,}(?:ar|er|ir))\b"
    rf"|no (?:me |lo |la )?{_SPANISH_NOT} (?:nunca|jamás|emojis?|comentarios)\b"
    r"|(?:de ahora en adelante|a partir de ahora|en (?:el )?futuro|de ahora en más"
    r"|en adelante)[,:]?"
    rf" (?:{_SPANISH_VERBS}|{_SPANISH_NOT}|no (?:me |lo |la )?{_SPANISH_NOT}|siempre|nunca|sin|solo"
    r"|sólo|en (?:español|inglés)|(?:quiero|prefiero) |[^?]{2,120}por favor)\b"
    r"|sin (?:emojis?|comentarios|explicaciones|disculpas|resúmenes)\b"
    r"|(?:tutéame|llámame|trátame|háblame)\b|(?:sé|sea) (?:más |muy )?(?:breve|concis|direct"
    r"|formal)"
    r"|evita\b|mis? (?:[\w-]+ ){1,3}(?:favorit|preferid)[oa]s?(?: (?:es|son)\b|:)"
    r"|responde(?! a )\b|(?:yo )?prefiero\b|no me gustan?\b"
)

_ITALIAN_VERBS = (
    r"(?:usa|utilizza|scrivi|rispondi|parla|esegui|chiedi|chiedimi|fai|fa'|metti|lancia|controlla"
    r"|verifica|spiega|aggiungi|evita|mantieni|dammi|mostra|lascia|documenta|commenta)"
)
_ITALIAN = (
    rf"{_ITALIAN_VERBS}(?: \w+){{0,2}}? (?:sempre|solo|soltanto|unicamente)\b"
    r"|non \w{2,}(?:are|ere|ire|arre|urre) mai\b|mai (?:[\w']+ )?\w{2,}(?:are|ere|ire)\b"
    rf"|sempre (?:{_ITALIAN_VERBS}|in (?:italiano|inglese)|\w{{2,}}(?:are|ere|ire))\b"
    r"|(?:d'ora in (?:poi|avanti)|in futuro|da adesso in poi|da ora in poi)[,:]?"
    rf" (?:{_ITALIAN_VERBS}|non \w{{2,}}(?:are|ere|ire)|sempre|mai|senza|solo|in (?:italiano"
    rf"|inglese)"
    r"|(?:voglio|preferisco|vorrei) |[^?]{2,120}per favore)\b"
    r"|niente (?:emoji|commenti|spiegazioni|scuse|riassunti)\b|dammi del (?:tu|lei)\b|chiamami\b"
    r"|(?:sii|sia) (?:più |molto )?(?:breve|concis|dirett|formal|gentil)|evita\b"
    r"|(?:il|la|i|le) (?:mi[oae]|miei) (?:[\w-]+ ){1,3}(?:preferit|favorit)[oaie](?: (?:è|sono)\b"
    r"|:)"
    r"|(?:il|la) (?:mi[oa]) (?:[\w-]+ ){1,2}(?:è|sono) [^?]{1,40} preferit[oa]\b"
    r"|rispondi(?! (?:a|ad|al|alla) )\b|(?:io )?preferisco\b|non mi piac\w+"
)

_PORTUGUESE_VERBS = (
    r"(?:use|usa|utilize|escreva|escreve|responda|responde|fale|fala|execute|rode|faça|faz|pergunte"
    r"|pergunta|mantenha|evite|explique|adicione|coloque|verifique|teste|comente|mostre|deixe"
    r"|apague"
    r"|altere|mude|toque|assuma|instale)"
)
_PORTUGUESE = (
    r"sempre que (?:você|\w{2,}r)\b"
    rf"|{_PORTUGUESE_VERBS}(?: \w+){{0,2}}? (?:sempre|somente|apenas)\b"
    rf"|(?:sempre|nunca|jamais) (?:me |o |a )?(?:{_PORTUGUESE_VERBS}|em (?:português|inglês)"
    r"|\w{2,}(?:ar|er|ir))\b"
    r"|(?:a partir de agora|de agora em diante|daqui (?:para|pra|em) (?:a )?(?:frente|diante)"
    rf"|no futuro)[,:]? (?:{_PORTUGUESE_VERBS}|não {_PORTUGUESE_VERBS}|sempre|nunca|sem|só"
    r"|em (?:português|inglês)|(?:quero|prefiro) |[^?]{2,120}(?:por favor|se faz favor))\b"
    r"|sem (?:emojis?|comentários|explicações|desculpas|resumos)\b|me chame\b|chame-me\b"
    r"|(?:seja|sê) (?:mais |muito )?(?:breve|concis|diret|formal)|evite\b"
    r"|(?:o |a )?m(?:eu|inha)s? (?:[\w-]+ ){1,3}(?:favorit|preferid)[oa]s?(?: (?:é|são)\b|:)"
    r"|(?:eu )?prefiro\b"
)

_DUTCH_VERBS = (
    r"(?:gebruik|schrijf|antwoord|geef|vraag|voer|draai|test|maak|zet|houd|hou|doe|commit|push"
    r"|spreek"
    r"|stel|controleer|leg|noem|praat|laat|vermijd)"
)
_FINITE_DUTCH = r"(?:is|zijn|was|waren|heeft|hebben|\w{2,}t|\w{2,}en|sluit|gaat|ga|ben|heb)\b"
_DUTCH = (
    rf"{_DUTCH_VERBS}(?: \w+){{0,3}}? (?:altijd|nooit|voortaan|steeds|uitsluitend)\b"
    r"|altijd (?:eerst|in het|met|(?!als\b|wanneer\b)[^?]{2,80}\w{2,}en[.!]*$)"
    r"|nooit (?:zonder|meer|direct|(?!heeft\b|is\b|was\b|hebben\b)[^?]{2,80}\w{2,}en[.!]*$)"
    r"|(?:voortaan|vanaf nu|in de toekomst|van nu af aan)[,:]?"
    r" (?:(?:graag|alsjeblieft|alleen|geen|niet|nooit|altijd|eerst|zonder|in het (?:nederlands"
    r"|engels)"
    rf"|wil ik|{_DUTCH_VERBS})\b|(?!{_FINITE_DUTCH})[^?]{{2,120}} \w{{2,}}en[.!]*$)"
    r"|geen (?:emoji|commentaar|uitleg|excuses|samenvatting)\S*(?: \w+){0,2}[.!]*$"
    r"|noem (?:me|mij)\b|wees (?:kort|beknopt|direct|beleefd|bondig)|vermijd\b|hou je kort"
    r"|mijn (?:favoriete [\w-]{2,20}|lievelings\w{2,20})(?: (?:is|zijn)\b|:)"
    r"|antwoord(?! (?:aan|op) )\b|ik (?:heb liever|haat)\b"
)

_LEAD = (
    r"(?:(?:please|and|also|so|s'il te plaît|s'il vous plaît|por favor|per favore|alsjeblieft"
    r"|und|et|y|e|en|bitte),? ){0,3}"
)
_SPELLINGS: Final = str.maketrans(
    {"ä": "(?:ä|ae)", "ö": "(?:ö|oe)", "ü": "(?:ü|ue)", "ß": "(?:ß|ss)"}
)
_FOREIGN = "|".join((_GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH))


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern, compiled on first use: every command of the CLI imports this module."""
    english = rf"(?:(?:please|and|also|so|bitte),? )*+(?:{_ENGLISH})"
    foreign = rf"{_LEAD}(?:{_FOREIGN.translate(_SPELLINGS)})"
    return re.compile(f"{english}|{foreign}", re.IGNORECASE)


def begins_directive(sentence: str) -> bool:
    """Return whether *sentence* begins like a directive. It must be short and have single spaces.

    >>> begins_directive("Künftig bitte kurze Antworten."), begins_directive("Never mind")
    (True, False)
    """
    return _pattern().match(sentence) is not None


_LANGUAGES = {
    name: names[0]
    for names in map(
        str.split,
        """
        english englisch anglais inglés ingles inglese inglês engels
        german deutsch allemand alemán aleman tedesco alemão duits
        french französisch français francés frances francese francês frans
        spanish spanisch espagnol español espanol castellano spagnolo espanhol spaans
        italian italienisch italien italiano italiaans
        portuguese portugiesisch portugais portugués português portoghese portugees
        dutch niederländisch holländisch néerlandais holandés olandese holandês nederlands
        polish polnisch polonais polaco polacco pools
        russian russisch russe ruso russo
        chinese chinesisch chinois chino cinese chinês chinees
        japanese japanisch japonais japonés giapponese japonês japans
        english английском английски
        german немецком немецки
        french французском французски
        spanish испанском испански
        italian итальянском итальянски
        portuguese португальском португальски
        dutch нидерландском голландском
        polish польском польски
        russian русском русски
        chinese китайском китайски
        japanese японском японски
        """.strip().splitlines(),
    )
    for name in names
}
_ANSWERING_WORDS = """
    answer answers answering reply replies respond responses talk speak antworte antworten sprich
    antwortest rede réponds répondez répondre réponses parle parler responde responder respuestas
    contesta habla háblame rispondi rispondere risposte parla parlami responda respostas fale fala
    antwoord antwoorden spreek praat
    отвечай отвечайте пиши пишите говори говорите
"""
_ALWAYS_WORDS = """
    always forward future everything immer stets künftig zukünftig zukunft alles toujours désormais
    dorénavant avenir siempre adelante sempre futuro altijd voortaan toekomst всегда впредь
"""
_FILLER_WORDS = """
    please pls plz thanks thx danke merci gracias
    in to me us with only all from now on going the and also so my your questions would you
    should bitte auf mir uns mit nur ab jetzt sofort heute von nun an deine alle meine fragen du
    sollst und en à de partir maintenant moi tout uniquement seulement s il te vous plaît plait tes
    tu a ahora por favor solo sólo todo tus d ora poi per favore tutto em agora só tudo op het
    graag alsjeblieft vanaf nu мне нам со мной на по пожалуйста только теперь и языке спасибо
"""
_WANTING_WORDS = "prefer want like möchte will bevorzuge préfère veux prefiero quiero"
_MYSELF = frozenset(("i", "ich", "je", "yo"))
_IN = frozenset(("in", "auf", "en", "em", "на", "по"))
_ANSWERING = frozenset(_ANSWERING_WORDS.split())
_ALWAYS = frozenset(_ALWAYS_WORDS.split())
_WANTING = frozenset(_WANTING_WORDS.split())
_FILLERS = frozenset(_FILLER_WORDS.split())
_LANGUAGE_WORDS = _LANGUAGES.keys() | _ANSWERING | _ALWAYS | _WANTING | _MYSELF | _FILLERS
_LETTERS = re.compile(r"[^\W\d_]+")
_FROM_NOW_ON = (
    r"(?:from now on|always|in (?:the )?future|going forward|from here on|ab (?:jetzt|sofort)"
    r"|von nun an|à partir de maintenant|a partir d[ei] (?:ahora|agora)|d'ora in (?:poi|avanti)"
    r"|vanaf nu)"
)
_LASTS = re.compile(rf"\b{_FROM_NOW_ON}\b", re.IGNORECASE)
_SIDE = r"[\w+#./-]+(?: [\w+#./-]+)?"
_USES = re.compile(
    rf"(?:(?:no|ok|and|also|so|please|{_FROM_NOW_ON}),? )*use (?P<one>{_SIDE})"
    rf"(?:,? (?:and )?(?:not|never)|,? instead of|,? rather than) (?P<other>{_SIDE}?)"
    rf"(?:,? (?:please|{_FROM_NOW_ON}))*[.!]*"
)
# What begins a clause of reason or concession: "even if I write Russian".
_BECAUSE = (
    r"(?:because|'?cause|cuz|since|even (?:if|when|though|where)|although|though|regardless"
    r"|so (?:that|i|we)\b|as (?:i|we)\b|no matter|weil|auch wenn|selbst wenn|obwohl|egal"
    r"|parce qu|puisqu|même (?:si|quand)|bien qu|pour qu"
    r"|porque|aunque|ya que|para que|incluso (?:si|cuando)|embora|mesmo (?:que|se|quando)"
    r"|perché|perche|dato che|anche (?:se|quando)|omdat|zodat|ook als"
    r"|потому что|так как|чтобы|даже если|даже когда|хотя)"
)
# A main clause that gives a reason: ", i need the practice". Not one that wishes: ", I want ...".
_OWN_REASON = (
    r"(?:i(?:'m|'ve)?|we(?:'re|'ve)?|my(?! favou?rite)|our|it(?:'s| is| helps)|they(?:'re| are)"
    r"|that way|trying|learning|ich|wir|meine?|das|denn|da|damit|car|pois|want|je|j'\w+|mon|ma"
    r"|estoy|soy|vivo|yo|io|sono|eu|ik|mijn|я|мы|мне|мой|моя|так)\b"
    r"(?! (?:(?:do not|don't|also|only|now|still|really|would|'d) )?"
    r"(?:want|prefer|like|hate|always|never|will|möchte|mag|bevorzuge|hasse|veux|préfère|quiero"
    r"|prefiero|voglio|quero|wil|хочу|предпочитаю)\b)"
)
_REASON = re.compile(
    rf"(?:,? \(?{_BECAUSE}|(?:[,;:] | [-\u2013\u2014]+ | \()(?:{_BECAUSE}|{_OWN_REASON})).*",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE_REASON_MIN = 2  # words: in "well, my editor is Vim" there is no reason
_REASON_BEFORE = re.compile(rf"\W{{0,8}}+{_BECAUSE}\b[^,;]+,\s*", re.IGNORECASE)
# What makes a clause more than a reason.
_RESTRICTS = re.compile(
    r"\b(?:but|except|unless|only|instead|otherwise|aber|außer|ausser|nur|sondern|mais|sauf|pero"
    r"|salvo|excepto|ma|tranne|maar|behalve|но|кроме)\b",
    re.IGNORECASE,
)
_ORDER_CHARS_MAX, _TEXT_CHARS_MAX = 160, 600
"""Characters of an order, and of a text that may contain one."""


def without_reason(sentence: str) -> str:
    """Return *sentence* without a clause of reason or concession before or behind it.

    Unchanged if that clause also restricts what the sentence says.

    >>> without_reason("Always answer in English, even if I write Russian.")
    'Always answer in English'
    >>> without_reason("Use tabs, I want spaces only in Python")
    'Use tabs, I want spaces only in Python'
    """
    start = before.end() if (before := _REASON_BEFORE.match(sentence)) else 0
    reason = _REASON.search(sentence, start)
    end = reason.start() if reason else len(sentence)
    if len(sentence[start:end].split()) < _BEFORE_REASON_MIN:
        return sentence
    beside = f"{sentence[:start]} {sentence[end:]}"
    return sentence if _RESTRICTS.search(beside) else sentence[start:end]


def answer_language(sentence: str) -> str | None:
    """Return the language in which *sentence* asks for answers; None if it says anything else.

    >>> answer_language("Bitte antworte immer auf Deutsch"), answer_language("In French, please")
    ('german', 'french')
    >>> answer_language("Answer work questions in English"), answer_language("I speak English")
    (None, None)
    """
    if len(sentence) > _ORDER_CHARS_MAX or sentence.endswith("?"):
        return None
    words = _LETTERS.findall(without_reason(sentence).casefold())
    languages = {_LANGUAGES[word] for word in words if word in _LANGUAGES}
    if len(languages) != 1 or not _LANGUAGE_WORDS.issuperset(words):
        return None
    if not _MYSELF.isdisjoint(words) and _WANTING.isdisjoint(words):
        return None
    follows = any(word in _IN and after in _LANGUAGES for word, after in pairwise(words))
    return languages.pop() if follows or not _ANSWERING.isdisjoint(words) else None


def used_things(sentence: str) -> tuple[str, str] | None:
    """Return the thing to use and the one not to use, if *sentence* says only that.

    >>> used_things("Use tabs, not spaces, from now on."), used_things("Use the tabs above")
    (('tabs', 'spaces'), None)
    """
    if len(sentence) > _ORDER_CHARS_MAX:
        return None
    match = _USES.fullmatch(" ".join(without_reason(sentence).lower().split()))
    return (match["one"], match["other"]) if match else None


def has_lasting_order(text: str) -> bool:
    """Return whether a short *text* says which language or thing to use from now on.

    >>> [has_lasting_order(f"use tabs, not spaces{end}") for end in (", from now on", " here", "")]
    [True, False, False]
    """
    return len(text) <= _TEXT_CHARS_MAX and any(map(_is_lasting_order, sentences(text)))


def has_order(text: str) -> bool:
    """Return whether a short *text* says to use one thing and not another, as in a project.

    >>> has_order("use pnpm, not npm, from now on"), has_order("I prefer pnpm over npm")
    (True, False)
    """
    return len(text) <= _TEXT_CHARS_MAX and any(map(used_things, sentences(text)))


def _is_lasting_order(sentence: str) -> bool:
    lasts = _LASTS.search(sentence) is not None
    if answer_language(sentence) is not None:
        return lasts or not _ALWAYS.isdisjoint(_LETTERS.findall(sentence.casefold()))
    return lasts and used_things(sentence) is not None
