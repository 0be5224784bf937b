"""Classify statements in other languages: decision, correction, constraint, environment. Pure.

The sentence model is English only, so here one pattern is enough: the verb or participle, in the
word order of its language. Sentences about today only are excluded. Callers pass sentences in
their spoken form, with umlauts restored (``languages.with_umlauts``).
"""

from __future__ import annotations

import re
from typing import Literal

from memd.text.alternations import Phrases
from memd.text.directives import begins_directive

ForeignAct = Literal["correction", "decision", "constraint", "environment"]
# Up to 100 characters of the same sentence.
_PART = r"[^.?!;]{0,100}?"
# German
_GERMAN_DECIDED = (
    r"beschlossen|entschieden|vereinbart|geeinigt|festgelegt|abgemacht|ausgemacht|verworfen"
    r"|abgesprochen|gestrichen|verschoben|vom tisch|gestorben|geplant"
)
_GERMAN_CHOOSES = (
    r"nehmen|verwenden|nutzen|benutzen|machen|geh(?:e|t)?n? (?:\w+ )?mit|hosten|lassen|verschieben"
    r"|streichen|verzichten|stellen|ziehen|führen|werfen|schmeißen|behalten|veröffentlichen"
    r"|migrieren|unterstützen|deployen|trennen|zerlegen|ersetzen|bleiben bei|bleiben|wechseln"
    r"|setzen|steigen|bauen|brechen|starten|splitten|kippen"
)
_GERMAN_IS = (
    r"ist|sind|war|hat|haben|heißt|heißen|heisst|liegt|liegen|läuft|laufen|hängt|steht|stehen|kommt"
    r"|kommen|geht|gehen|macht|machen|braucht|brauchen|nutzt|nutzen|benutzen|verwenden|lauscht|hört"
    r"|gehört|gehören|liefert|fängt|bleibt|bleiben|wird|werden|gibt|gilt|kann|können|muss|müssen"
    r"|soll|sollen|darf|dürfen|wurde|wurden|sitzt|nimmt|schreibt|speichert|prüft|steckt"
)
# What people plan together, with a day, a name or a thing: "wir feiern am Samstag".
_GERMAN_PLANS = (
    r"(?:feiern|mieten|buchen|fahren|fliegen|übernachten|reisen|leihen|schenken|kaufen|bestellen"
    r"|treffen uns|grillen|kochen|backen|zelten|heiraten|wohnen|spielen(?= (?:am|bei|in|gegen)\b)"
    r"|ziehen(?= .* um\b)|laden(?= .* ein\b))"
)
_GERMAN_DAY = (
    r"(?:\d{1,2}\.|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|jan(?:uar)?|feb(?:ruar)?|märz"
    r"|april|mai|juni|juli|aug(?:ust)?|sep(?:tember)?|okt(?:ober)?|nov(?:ember)?|dez(?:ember)?)"
)
# "wir haben beschlossen, ...", "wir bleiben bei django", "on garde postgres"
_DECIDES = (
    rf"(?:habe?n?|hab|hat|wurden?|ist|sind|war) {_PART}\b(?:{_GERMAN_DECIDED})",
    r"^\W*(?:beschlossen|entschieden|entscheidung|festgelegt|abgemacht|plan geändert)\b",
    rf"(?:wir|team) (?:jetzt |also |dann |nun )?(?:{_GERMAN_CHOOSES})",
    rf"(?<!^)(?<!können )(?<!sollen )(?<!warum )(?<!was )(?<!wie )(?:{_GERMAN_CHOOSES}) wir",
    rf"(?<!können )(?<!sollen )wir {_GERMAN_PLANS} (?:nur )?(?:am|an|bei|beim|mit|nach|in|im|zu"
    r"|zum|zur|den|die|das|einen?|lieber) (?!.*\b(?:morgen|wieder|los|weiter|zurück|fort|hoch"
    r"|(?:he)?runter)\b)\w+",
    r"(?:den|die|das|ein\w*) [^.?!;,]{2,40} (?:mieten|buchen|leihen|schenken|kaufen|bestellen) wir"
    r" (?:am|bei|beim|in|im|bis)\b",
    r"(?<=, )nur (?:noch )?[\w-]+ und [\w-]+(?=\W*$)",
    rf"statt {_PART}\b(?:jetzt|nehmen|kommt|kommen|lieber|nutzen|machen|nun|künftig)",
    r"doch (?:kein\w*|nicht) [^?!;]{2,80},? (?:sondern|wir|also)",
    rf"(?:fliegt|kommt|bleibt|geht|ist|sind|wird|werden|bleiben) {_PART}"
    r"(?:raus|rein|drin|draußen|übersprungen|abgeschaltet|eingestellt|umgestellt|zusammengeführt"
    r"|abgelöst|ersetzt|entfernt|eingestampft)(?=\W*$|[,.])",
    r"bleib(?:t|en) (?:bei|es bei)",
    r"(?:bekommt|kriegt) (?:kein|ein|erst)\w*",
    r"will kein\w* [^,]{2,40}, also",
    # French
    r"(?:on|nous|j'|je) (?:a |avons |ai )?(?:finalement |donc |plutôt )?(?:garde|gardons|reste sur"
    r"|restons|passe à|passons|part sur|partons|abandonne|abandonnons|remplace|remplaçons|coupe"
    r"|repousse|vire|adopte|prend|prenons|utilise|utilisons|choisit|migre|bascule|sépare|décale"
    r"|reporte|livre|stocke|laisse tomber|utilisera|décidé|choisi|tranché|retenu|convenu|opté)",
    r"j'ai (?:choisi|décidé|tranché|opté)",
    r"(?:est|sont|c'est) (?:\w+ ){0,2}(?:mort|abandonnée?s?|annulée?s?|reportée?s?|actée?s?"
    r"|validée?s?|repoussée?s?|tranchée?s?|décidée?s?)(?=\W*$|[,.])",
    rf"(?:à la place de|au lieu de|plutôt que) {_PART}\bon ",
    r"^\W*(?:décision|décidé|acté|finalement)\b",
    # Spanish, Portuguese, Italian
    r"(?:nos quedamos con|vamos con|cambiamos (?:de plan|a|por)|quitamos|descartamos|pasamos a"
    r"|dejamos|usamos|ponemos|hacemos|sacamos|lanzamos|eliminamos|posponemos|retrasamos|dividimos"
    r"|separamos|guardamos|alojamos|reescribimos|vamos a (?:usar|ir con|hacer|separar)|usaremos"
    r"|optamos por|migramos|mantenemos|seguimos con)",
    r"(?:queda|quedan|está|están) (?:\w+ )?(?:descartad|aplazad|cancelad|decidid|acordad|hablad"
    r"|aprobad)\w+",
    r"(?:hemos|se ha|he) (?:decidido|acordado|elegido|optado|descartado)",
    r"^\W*(?:acordado|decidido|decisión|al final|aprobado)\b",
    rf"en (?:vez|lugar) de {_PART}\b(?:usamos|vamos|ponemos|usaremos)",
    r"(?:vamos (?:com|ficar com|usar)|ficamos com|trocamos|abandonamos|decidimos|optamos por)",
    r"(?:foi|está|ficou) (?:decidido|cancelado|adiado|aprovado)",
    r"(?:restiamo (?:su|con)|passiamo a|usiamo|teniamo|abbandoniamo|scegliamo|abbiamo (?:scelto"
    r"|deciso))",
    # Dutch
    r"(?:we|wij) (?:blijven bij|gaan (?:voor|met|over)|stappen over|kiezen|houden|schrappen|nemen)",
    rf"(?:hebben|is|heb) {_PART}\b(?:besloten|afgesproken|gekozen|geschrapt|uitgesteld)",
)  # fmt: skip
# "nee, die config liegt in /etc", "nicht X, sondern Y", "tu confonds"
_CORRECTS = (
    rf"^\W*(?:nein|nee|nö|ne|quatsch|falsch|unsinn|stimmt (?:so )?nicht|das stimmt (?:so "
    rf"|ja )?nicht|moment|doch|eigentlich"
    rf"|äh)\b[\s,.:;!\u2013-]+(?:[^?]{{0,60}}\b)?(?:{_GERMAN_IS})",
    r"(?:nicht|kein\w*) [^.?!;]{1,60},? sondern",
    rf"(?:ist|sind|findet|beginnt|startet) (?:jetzt|nun) (?:erst )?(?:am {_GERMAN_DAY}"
    r"|um \d{1,2}(?:[:.]\d\d)?(?: uhr)?(?=\W*$|,))",
    r"du (?:hast|verwechselst|irrst|vertauschst|übersiehst|prüfst|nimmst|meinst"
    r"|hattest)\b[^.?!;]{0,80}\b(?:verwechselt|vertauscht|vergessen|übersehen|falsch\w*"
    r"|missverstanden|verdreht|gelöscht|geschrieben|kaputt)",
    r"du verwechselst|da irrst du|falsch verstanden|ich (?:hab|habe) nie (?:gesagt|verlangt)"
    r"|ich meinte|sehr wohl|das macht nicht",
    rf"(?:{_GERMAN_IS}) [^.?!;]{{2,60}}(?:, | und )nicht (?!wahr|wundern|dass|mehr|nur"
    rf"|so\b)[^.?!;]{{1,50}}(?=\W*$|[.,])",
    rf"(?:{_GERMAN_IS}) nicht [^.?!;,]{{1,60}}, (?:das|der|die|es|sie|fängt|{_GERMAN_IS})\b",
    r"(?:wir|es|hier) (?:haben|gibt|ist) kein\w* [^.?!;,]{1,40}, (?:das|es|wir|nur|der|die)\b",
    r"^\W*kein\w* [^.?!;,]{1,40}, ",
    # French
    r"^\W*(?:non|faux|erreur(?: de ta part)?)(?:\s*[,.:;!\u2013-]+| (?=c'est ))\s*+(?!pas du tout"
    r"|rien|c'est (?:parfait|bon|bien|juste))[^?]{0,60}\b(?:est|sont|c'est|s'appelle|tourne|a|ont"
    r"|était|utilise|on|il|elle)\b",
    r"ce n'est pas [^.?!;]{1,60}[,.] ?(?:c'est|mais)",
    r"(?:c'est|est|était|s'appelle) [^.?!;]{1,50}(?:,| et| mais) (?:pas|non) \w+",
    r"(?:t'as|tu as|vous avez) (?:\w+ ){0,2}(?:modifié|confondu|oublié|supprimé|inversé|mélangé"
    r"|mal)\b",
    r"tu (?:confonds|te trompes|mélanges)",
    r"je n'ai (?:pas|jamais) (?:dit|demandé)|je (?:voulais|parlais) [^.?!;]{2,60}(?:,| et) (?:pas"
    r"|non)",
    r"(?:n'a|n'avons|n'ont|n'utilise|n'utilisons) pas (?:de |d')[^.?!;,]{1,30}, ",
    # Spanish, Portuguese, Italian, Dutch
    r"^\W*(?:no|mal|falso|incorrecto)[,.:;!\u2013-]+[^?]{0,60}\b(?:es|son|se llama|está|están|va"
    r"|usamos|usa|tiene|corre|hay|era)\b",
    r"(?:es|son|se llama|está|usamos|va|lleva\w*) [^.?!;]{1,50}(?:,| y| e) (?:no|não|non) (?:en "
    r"|el |la |del |de )?\w+(?=\W*$|[.,])",
    r"(?:no|não|non) (?:va|es|está|son|é|è|se llama|si chiama) [^.?!;,]{1,50}, (?:va|es|está|son"
    r"|sino|é|è|mas|ma|tenía)\b",
    r"eso no es así|no es así|estás confundiendo|has (?:confundido|olvidado|mezclado)\b"
    r"|te (?:equivocas|has equivocado)|nunca (?:dije|he dicho)",
    r"^\W*(?:não|errado|sbagliato|nee|fout)\b[\s,.:;!\u2013-]+[^?]{0,60}\b(?:é|são|è|sono|is|zijn"
    r"|está|si chiama|heet)\b",
    r"você (?:confundiu|esqueceu|trocou)|hai (?:confuso|dimenticato|cancellato|sbagliato)"
    r"|je (?:hebt|verwart|vergist)\b[^.?!;]{0,60}\b(?:verwisseld|vergeten|verkeerd|met)",
)  # fmt: skip
# "darf nie ...", "maximal 5", "ne doit jamais", "como máximo"
_REQUIRES = (
    r"(?:darf|dürfen) [^.?!;]{0,80}\b(?:nicht|nie|niemals|nur|höchstens|maximal|kein\w*|nirgends"
    r"|erst)",
    r"(?:nicht|kein\w*|nie|niemals|nur) [^.?!;]{0,60}\b(?:darf|dürfen)",
    r"(?:muss|müssen) (?!ich\b|wir noch|noch)[^.?!;]{3,100}\b(?:bleiben|laufen|können|unterstützen"
    r"|entsprechen|(?:immer|stets|lückenlos|überall) \w+)\b",
    r"(?:maximal|höchstens|mindestens|untergrenze|obergrenze|pflichtig|vorgabe|vorgeschrieben)",
    rf"(?:muss|müssen) [^.?!;]{{0,60}}\b(?:bis|spätestens|vor dem)(?: (?:zum|spätestens|am|ende"
    rf"|anfang|mitte))* {_GERMAN_DAY}",
    r"(?:deadline|frist|abgabe|stichtag|abgabetermin) [^.?!;]{0,20}\b(?:ist|sind|am|bis)",
    r"wird [^.?!;]{0,20}\bnicht (?:deployt|ausgeliefert|released|angefasst)|nicht deployt",
    r"(?:ne (?:doit|doivent) (?:pas|jamais)|(?:doit|doivent) (?:toujours|rester)|il est interdit"
    r"|limitée? à|\d \w+ (?:au )?maximum|obligatoire|n'a que|n'ont que|échéance|date limite)",
    r"(?:(?:no|siempre) (?:debe|deben)|(?:debe|deben) (?:siempre|seguir)|como máximo|máximo de"
    r"|limita a|límite|obligatorio|solo tiene|fecha límite|no se (?:despliega|toca))",
    r"(?:(?:non|não|sempre) (?:deve|devono|devem)|(?:deve|devono|devem) sempre|no máximo|al massimo"
    r"|obbligatorio)",
    r"(?:mag|mogen|moet|moeten) [^.?!;]{0,60}\b(?:niet|geen|nooit|alleen|zijn|blijven)|maximaal"
    r"|minimaal",
)  # fmt: skip
# Who is responsible: "Ann ist zuständig", "c'est Ann qui ..."
_IN_CHARGE = (
    r"zuständig|verantwortlich|ansprechpartner\w*|responsable|responsabile|verantwoordelijk",
    r"c'est \w+ qui",
)
# What lasts of a person: "meine Frau ist Vegetarierin", "ich studiere Jura".
_OF_PERSONS = (
    r"(?:mein|unser)e? (?:frau|mann|sohn|tochter|mutter|vater|mama|papa|oma|opa|bruder|schwester"
    r"|kind|freundin|freund|partner(?:in)?|chef(?:in)?|kolleg(?:e|in)|hund|katze) (?:hei(?:ß|ss)t"
    r"|wohnt|lebt|arbeitet|isst|trinkt|mag|verträgt|studiert|hat(?= (?:eine?n?|kein\w*) )"
    r"|ist(?! (?:krank|müde|da|hier|dort|weg|sauer|wach|unterwegs|einkaufen|beim?|im|auf|schon|fast"
    r"|bald|wieder|ganz|so|sehr|nicht)\b))",
    r"ich (?:studiere|wohne|hei(?:ß|ss)e|vertrage|(?:esse|trinke) (?:kein\w*|nur|nie)"
    r"|arbeite (?:als|bei|ab|seit|nur))",
)
# A fact, if the sentence also has a number, a path or a name: "läuft auf port 8080".
_FACTS = (
    r"(?:ist|sind|beginnt|startet|endet|findet) (?:\w+ ){0,3}?(?:am|ab|vom) \d{1,2}\.",
    r"(?:haben|hat) [^.?!;]{2,80}\b(?:gebucht|gekauft|gemietet|gekündigt|unterschrieben)",
    r"\d[\d.,]* ?(?:[kmgt]i?[bo]|fps|[km]bit/s|ms|hz|€|euros?|tage[ns]?|stunden|días|jours|heures"
    r"|horas|giorni|dagen)",
    r"(?:port|puerto|porta|poort|version|versión|node|python|php|java|debian|ubuntu"
    r"|postgres) \d[\w.]*",
    r"(?:lauscht|läuft|laufen|liegt|liegen|steht|hört|erreichbar|gehostet|installiert|gehen|geht"
    r"|hängt|zu finden) (?:\w+ ){0,4}?(?:auf|unter|in|bei|im|am|über|mit)",
    r"(?:braucht|benötigt|verwendet|nutzt) [^.?!;]{0,30}\d",
    r"ich (?:arbeite|bin|entwickle) (?:auf|mit|unter) ",
    r"(?:wir|die \w+|der \w+|das \w+) (?:haben|hat) [^.?!;]{0,40}(?:nur )?\d",
    r"(?:heißt|heißen) (?:bei uns|intern|hier) ",
    r"(?:ist|sind) (?:latin1|utf|noch|auf|unter|zu (?:dritt|viert|zweit)|version|x86|die|der)\b",
    r"(?:est|sont|tourne|tournent|écoute|se trouve|se trouvent|se font?) (?:\w+ )?(?:sur|dans"
    r"|derrière|le \d|en)",
    r"(?:le format|notre quota|le dépôt|la version|le quota) \w+",
    r"(?:está|están|corre|corren|escucha|se encuentra|se ejecuta) (?:en|bajo|detrás)",
    r"(?:está|fica|roda|escuta) (?:em|no|na|sob)|(?:si trova|gira|ascolta|sta) (?:su|in|sotto)"
    r"|(?:draait|staat|luistert|ligt) (?:op|in|onder)",
)  # fmt: skip
# Makes a wish with "dass du" a standing one: "ich möchte, dass du vor dem Löschen fragst".
_TO_LAST = (
    r"(?:vor|bei|wenn|bevor|nach|statt|anstatt|immer|nie|nicht|ohne|kein\w*|jedes ?mal"
    r"|grundsätzlich)"
)
# How the assistant is to work from now on.
_WISHES = (
    # German
    rf"ich (?:hätte gern\w*|würde (?:gern\w*|mir wünschen)|möchte|will"
    rf"|wünsche mir),? (?:nicht,? )?dass du [^.?!]{{0,100}}\b(?:{_TO_LAST}|in \w+ commits)\b",
    r"du sollst (?:mich |mir |bitte )?(?:nicht|nie|immer|kein\w*|ständig)",
    rf"(?:wäre?|wär) (?:schön|super|gut|toll|nett),? wenn du [^.?!]{{0,100}}\b(?:{_TO_LAST}"
    rf"|auch)\b",
    r"dir (?:bitte )?(?:an|ab)gewöhnen|fasse? dich (?:bitte )?kürzer|halte? dich (?:bitte )?da?ran"
    r"|finger weg von|gewöhn dir (?:bitte )?(?:an|ab)|merk dir",
    r"lieber (?:als )?\w+ (?:und nicht|statt|als)|so machen wir das (?:hier )?(?:immer|überall)?",
    r"wir (?:wollen|schreiben|löschen|nutzen|benutzen|verwenden|machen|committen|mergen"
    r"|ändern) [^.?!]{0,60}\b(?:kein\w*|nie|niemals|immer|nur)",
    r"(?:immer|niemals|nie|künftig|grundsätzlich|in zukunft) [^.?!]{2,60}(?:en|ern|eln)(?=\W*$)",
    r"das nervt|hör(?:e)? (?:bitte )?auf",
    # French
    r"(?:j'aimerais|je (?:voudrais|souhaite|préférerais)) (?:bien )?que [^.?!]{0,100}\b(?:avant"
    r"|quand|toujours|jamais|sans|pas|au lieu|chaque)\b",
    r"(?:quand|lorsque|dès que|si) tu [^,.?!]{3,60}, (?:mets|donne|ajoute|montre|explique|lance"
    r"|demande|écris|indique|précise|vérifie|préviens)\w*",
    r"(?:demande|préviens|montre|explique)[ -]moi (?:toujours )?avant|à chaque fois"
    r"|plus de \w+ pour",
    r"arrête de|évite de|n'(?:utilise|ajoute|écris) (?:pas|jamais|plus)|ne \w+ (?:jamais|plus) ",
    # Spanish, Portuguese, Italian, Dutch
    r"(?:me gustaría|quisiera|preferiría|queremos|gostaria|queria|vorrei) (?:que"
    r"|che) [^.?!]{0,100}\b(?:antes|cuando|siempre|nunca|sin|no|en vez|todas?|todos?|sempre|sem"
    r"|senza|prima)\b",
    r"acostumbrarte a|acostúmbrate a|quiero respuestas|respétalo|de aquí en adelante|(?:cuando"
    r"|si) (?:me )?\w+[^,.?!]{2,60}, (?:pon|di|añade|muestra|explica|pregunta|avisa)\w*",
    r"(?:no|não|non) (?:uses|hagas|metas|pongas|toques|borres|use|faça|mexa|usare|fare"
    r"|toccare)\b(?! (?:eso|esto|isso|isto|questo|nada|lo|la)\b)",
    r"(?:en|in) (?:este proyecto|este projeto|questo progetto|dit project) [^.?!]{2,80}\b(?:van|son"
    r"|va|vai|vão|sono|zijn|se \w+)\b",
    r"ik (?:wil|zou graag willen|heb graag) dat je [^.?!]{0,80}\b(?:voordat|altijd|nooit|zonder"
    r"|niet|eerst)\b",
)  # fmt: skip
# Only of today, a request, a thought, or a report of what was just done: "heute", "vielleicht".
_MOMENTARY_WORDS = (
    r"heute|gerade|grad|eben|vorhin|diesmal|dieses mal|kurz|testweise|vielleicht|überlege|versuch"
    r"|mal (?:auf|port|den|die|das)|noch nicht|erst(?:mal| wenn)|gleich|feierabend|(?:bis"
    r"|wir) morgen|todos?:|noch offen|minuten?|mittag\w*|pause|pizza|essen|bitte|jetzt schon"
    r"|ich (?:hab|habe|möchte|will|bin|schau|mach)\b(?! (?:nie|mich|uns))|zeig|übersetz|probier"
    r"|komisch|danke",
    r"aujourd'hui|ce (?:matin|soir)|cette fois|maintenant|peut-être|tout à l'heure|attends|essaie"
    r"|stp|s'il te plaît|merci|je reviens|pour l'instant|le temps que|café|pas encore|faudra"
    r"|il reste",
    r"hoy|esta vez|ahora|quizás|tal vez|espera|prueba|por favor|gracias|un minuto|luego sigo|comer"
    r"|todavía|pendientes?|falta arreglar|queda pendiente|me voy",
    r"hoje|desta vez|agora|talvez|oggi|questa volta|adesso|forse|vandaag|deze keer|misschien|straks"
    r"|even",
)  # fmt: skip


def _any(alternatives: tuple[str, ...]) -> Phrases:
    """Return the pattern that matches any of *alternatives* as whole words."""
    joined = "|".join(f"(?:{alternative})" for alternative in alternatives)
    return Phrases(rf"(?<![\w'])(?:{joined})(?!\w)")


# Something specific: a number, path, code, file, acronym, identifier or URL.
_NAMED = re.compile(r"\d|[\w.-]/|`|\w\.\w|\b[A-ZÄÖÜ]{2,}\b|[a-z][A-Z]|https?:")
_SIGNS: tuple[tuple[ForeignAct, Phrases], ...] = (
    ("correction", _any(_CORRECTS)),
    ("decision", _any(_DECIDES)),
    ("constraint", _any(_REQUIRES)),
    ("environment", _any((*_IN_CHARGE, *_OF_PERSONS))),
)
_FACT = _any(_FACTS)
_MOMENTARY = _any(_MOMENTARY_WORDS)
_WISH = _any(_WISHES)


def foreign_act(spoken: str) -> ForeignAct | None:
    """Return the act of a statement that is not English, None if no pattern matches.

    >>> foreign_act("nee, die config liegt in /etc/shopd")
    'correction'
    >>> foreign_act("wir bleiben bei django"), foreign_act("wir bleiben heute daheim")
    ('decision', None)
    """
    if _MOMENTARY.search(spoken):
        return None
    act = next((act for act, sign in _SIGNS if sign.search(spoken)), None)
    if act is None and _FACT.search(spoken) and _NAMED.search(spoken):
        return "environment"
    return act


def is_foreign_wish(spoken: str) -> bool:
    """Return whether a sentence that is not English says how work is to be done from now on.

    >>> is_foreign_wish("ich möchte, dass du vor dem Löschen nachfragst")
    True
    >>> is_foreign_wish("ich möchte, dass du den Knopf rot machst")
    False
    """
    return _WISH.search(spoken) is not None or begins_directive(spoken)
