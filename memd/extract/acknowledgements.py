"""Recognise acknowledgements: courtesy, assent or a choice, such as "ok, thanks a lot". Pure.

Each table lists expressions, separated by commas. A text that is a sequence of them is an
acknowledgement. Words that may answer a question with content ("Berlin", "red") are in no table.
"""

from __future__ import annotations

from memd.text.alternations import Phrases, longest_first

# Cyrillic letters and full-width marks are intended.
# ruff: noqa: RUF001

_PRAISE = (
    "great|awesome|amazing|nice|cool|good|fine|perfect|lovely|wonderful|fantastic|incredible|sweet|"
    "beautiful|inspiring|right|correct|true|it|all|fun|funny|interesting|helpful|impressive"
    "|excellent|"
    "brilliant|better|enough|ok|okay"
)
_ACKNOWLEDGEMENTS = rf"""
    ok(?:ay|ie)?, k+, y, n, yes, yeah, yea, yep, yup, ya, no, nope, nah, sure(?: thing)?, thx,
    ty, tysm,
    (?:many )?thanks?(?: you)?(?: so much| a lot| again| very much| a million| man| mate)?, cheers,
    (?:{_PRAISE})(?: (?:job|work|idea|point|one|call|catch|stuff|luck(?: tomorrow
    | today| tonight)?|morning|night|evening|news|to (?:meet|see|hear from) you(?: too| again)?))?,
    (?:pleased|delighted) to meet you, (?:hi|hey|hello) (?-i:[A-Z\u00c0-\u00de])[^\W\d_]+,
    wow, (?:ha)+h?, lol, got it, gotcha, i see, understood, i understand, makes sense, will do,
    (?:that )?sounds? (?:so |really |very )?(?:{_PRAISE}),
    (?:that |it )?looks? (?:so )?(?:{_PRAISE}), lgtm,
    (?:that'?s|that is|it'?s|this is|that was|all|how)(?: so| really| very| just
    | all)? (?:{_PRAISE})(?: news| to hear)?,
    (?:that'?s|that is|that was) (?:exactly |just )?(?:what|how) i (?:want|need|meant|thought
    |was looking for)(?:ed)?, (?:i'?m|we'?re) (?:all )?done,
    for (?:today|now|tonight|the day|the week|this week),
    a+h+, o+h+, aha+, h+m+, ship it, what'?s next, (?:coffee|lunch|tea) (?:time|break),
    (?:good ?)?night(?: night)?, sleep well, you'?re (?:absolutely |totally |quite )?right,
    (?:i'?m |i am )?off to (?:bed|work|sleep|lunch|dinner|the (?:shops?|gym|office|store|pub)),
    you're welcome, you are welcome, no problem, np, no worries, my pleasure, anytime, well done,
    congrat(?:s|ulations)(?: to)?, agreed, i agree, exactly, absolutely, definitely, of course,
    indeed, done, (?:duly )?noted,
    (?:it |that )?works?(?: for me| now| fine)?, hi(?: there)?, hello(?: there)?,
    hey(?: there)?, bye,
    goodbye, see you(?: soon| later| tomorrow| then| around)?, take care,
    talk (?:to you )?(?:soon|later),
    have a (?:good|great|nice|lovely) (?:day|one|time|evening|weekend|night), never ?mind, go ahead,
    go for it, do it, do that, proceed, continue, go on, keep going, carry on, next, again,
    yes please,
    please, please do, approved?, either, both, all of them, none, neither, same, ditto, stop, wait,
    cancel, undo, retry, try again, more, skip,
    the (?:first|second|third|last|former|latter)(?: one)?,
    (?:option |number |choice |no\. ?)?(?:[a-e]|\#?\d{{1,2}}), love it, i love it, so do i,
    me too, same here,
    (?:i'm |i am )?(?:so |very |really )?(?:sorry|glad|happy|pleased|delighted) to hear (?:that|it
    |this),
    happy birthday, get well soon,
    (?:have|enjoy) (?:a|your|the) (?:(?:good|great|nice|safe|lovely|wonderful) )?(?:trip|flight
    |dinner|lunch|meal|weekend|evening|day|party|holidays?|vacation|concert|rest|time|walk|break),
    (?:that's|that is) (?:so |really |very )?(?:terrible|sad|exciting) (?:news|to hear),
    i'?(?:ll| will) (?:remember|note|keep) (?:that|it|this)(?: in mind| down)?,
    i (?:really |honestly |just )?(?:don't|do not) (?:know|remember)(?: (?:that|this|it|yet
    |either))?,
    not (?:that|as far as|to my) (?:i (?:know|am aware|remember)|knowledge)(?: of)?,
    (?:i have )?no idea, i'm not sure(?: yet| about (?:that|it|this))?,
    i (?:can't|cannot) (?:say|tell)(?: yet| for sure)?,
    i (?:don't|do not) have (?:that|this|any|the)(?: such)? (?:information|info|details?
    |data)(?: (?:about|on) (?:that|this|it))?, sorry,
    ja, jo, nein, genau, klar, gerne?, danke(?: schön| sehr)?, vielen dank, super, prima, toll,
    passt,
    alles klar, verstanden, in ordnung, stimmt, richtig, gut, sehr gut, mach (?:das|weiter|es),
    weiter,
    hallo, guten (?:morgen|tag|abend), tschüss, bitte,
    oui, non, d'accord, merci(?: beaucoup)?, parfait, super, très bien, bien,
    c'est (?:bon|parfait|ça),
    compris, entendu, vas-y, continue, bonjour, salut, au revoir, bonne (?:journée|soirée), exact,
    sí, si, no, vale, gracias, muchas gracias, perfecto, genial, bien, muy bien, de acuerdo,
    entendido,
    claro, exacto, adelante, sigue, continúa, hola, buenos días, adiós, está bien, listo,
    sì, va bene, grazie(?: mille)?, perfetto, ottimo, bene, molto bene, d'accordo, capito,
    certo, esatto,
    vai, continua, avanti, ciao, buongiorno, arrivederci,
    sim, não, tá(?: bom)?, está bem, obrigad[oa], muito obrigad[oa], perfeito, ótimo, bom,
    muito bem,
    entendi, entendido, certo, isso, exato, pode ser, continue, olá, oi, bom dia, tchau, beleza,
    ja, nee, oké, bedankt, dank je(?: wel)?, dankjewel, dank u, prima, goed, top, perfect, begrepen,
    akkoord, klopt, precies, ga (?:door|verder|je gang), hallo, hoi, doei, goedemorgen,
    tak, nie, dobra, dobrze, okej, dzięki, dziękuję(?: bardzo)?, super, świetnie, rozumiem, jasne,
    zgoda, dokładnie, kontynuuj, dalej, cześć, dzień dobry, pa,
    да, нет, ок, окей, хорошо, ладно, спасибо(?: большое)?, отлично, супер, понял[а]?, понятно,
    ясно,
    согласен, согласна, точно, верно, продолжай, дальше, давай, привет, пока, здравствуйте,
    не за что,
    угу, ага
"""
_PRAISE_DE = (
    "gut|super|toll|prima|klasse|perfekt|ok|okay|in ordnung|richtig|korrekt|sauber|grün|fertig"
    "|erledigt|schön|klar|fein|spitze|genial|cool|wunderbar|großartig|hervorragend|einwandfrei"
    "|besser|genug|egal|wahr"
)
_SUBJECT = "das |es |alles |beides |beide |so |diesmal |jetzt |nun |dann "
_PARTICLES = (
    " das| es| alles| diesmal| jetzt| so| für mich| echt| wirklich| sehr| schon| doch| auch"
)
_ORDINAL = "(?:erste|zweite|dritte|vierte|letzte|andere|obere|untere)n?"
_DAY = (
    "tag|abend|nacht|morgen|wochenende|feierabend|woche|mittag|nachmittag|reise|fahrt|appetit"
    "|besserung|erholung|urlaub|sonntag"
)
_GERMAN = rf"""
    notiert, vermerkt, einverstanden, abgemacht, jawohl, jep, jap, nö, nee, natürlich,
    selbstverständlich, freilich, genau (?:so|das|richtig), eben, ach so, aha, verstehe,
    ich verstehe, schon (?:gut|klar|okay), na (?:gut|klar|dann), sicher, fertig, erledigt, stopp,
    (?:hab|habe) ich (?:notiert|verstanden|gemacht|erledigt|verschickt)?,
    (?:mache?|tue?|übernehme?) ich(?: gleich| sofort| gern| gerne| doch)*,
    ich kümmere mich(?: darum| drum)?,
    wird (?:gemacht|erledigt), geht (?:klar|in ordnung), gerne? (?:doch|geschehen), sehr gerne?,
    bis (?:morgen|später|gleich|bald|dann|nachher|dahin|die tage|nächste woche|heute abend
    |(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)(?: dann| früh)?,
    (?:schöne[nrs]?|gute[nrs]?|angenehme[nrs]?) (?:{_DAY})(?: noch| dir| euch| ihnen| auch| zusammen
    | allerseits)*,
    (?:gute|tolle|super|schöne|prima) (?:idee|arbeit|frage|lösung|sache),
    gut (?:gemacht|so|zu wissen), (?:weiter|nur) so, so ist es, nur zu, los(?: geht's)?, leg los,
    fang an,
    (?:das |es |so |jetzt |alles )?(?:passt|klappt|läuft|funktioniert|geht|stimmt|reicht)(?: so
    | schon| jetzt| wieder| gut| super| prima| perfekt| für mich| für uns| mir)*,
    (?:das |es )?(?:klingt|sieht|schaut|hört sich)(?:{_PARTICLES})* (?:{_PRAISE_DE})(?: aus| an)?,
    (?:{_SUBJECT})?(?:ist|sind|war|wäre|wird)(?:{_PARTICLES})* (?:{_PRAISE_DE})(?: so| für mich)?,
    alles (?:{_PRAISE_DE}), sehr (?:{_PRAISE_DE}), das war(?:'s| es| alles),
    danke(?: schön| sehr| dir| euch| ihnen| nochmals?| auch| vielmals| im voraus)*, dankeschön,
    danke für (?:die|deine|eure|ihre) (?:hilfe|antwort|info), ich danke (?:dir|euch|ihnen),
    (?:besten|herzlichen|tausend|lieben) dank, nichts zu danken,
    keine? (?:problem|ursache|ding|sorge|thema|eile), bitte (?:sehr|schön|gern|gerne),
    (?:egal|mir egal|macht nichts|wie du (?:willst|meinst|möchtest)|tut mir leid|entschuldigung),
    mach (?:das|es|weiter|so|nur|ruhig|mal|bitte)(?: so| mal| ruhig| bitte| weiter)*, tu das,
    (?:versuch|probier) es, warte(?: mal| kurz| bitte| noch)*, (?:einen )?moment(?: mal| bitte)?,
    freut mich, viel (?:erfolg|spaß|glück), glückwunsch,
    tschau, servus, moin, grüß (?:dich|gott), schlaf gut, beides, beide, keines von beiden,
    (?:nimm (?:bitte |lieber )?)?(?:(?:der|die|das|den) (?:{_ORDINAL})(?: variante| vorschlag
    | option| version)?|(?:option|variante|vorschlag|nummer|nr\.) (?:[a-e]|\d{{1,2}}))
"""
_ROMANCE = r"""
    noté, (?:c'est |tout est )(?:noté|fait|tout|propre|ok|super|génial|top|clair|prêt|vert|réglé),
    fait, je m'en (?:occupe|charge), je (?:le|la) fais,
    (?:à|a) (?:demain|plus|plus tard|bientôt|bientot|tout à l'heure|tout de suite
    |(?:lun|mar|mercre|jeu|vendre|same)di),
    ça (?:marche|roule|va|me va|me convient|joue|fonctionne)(?: bien| très bien)?,
    (?:pas de|aucun) (?:problème|souci), avec plaisir, de rien, je (?:t'en|vous en) prie,
    bonne (?:nuit|idée|continuation), bon (?:week-end|appétit|courage|après-midi|travail),
    tout va bien, bien sûr, volontiers, exactement, tout à fait, carrément, nickel, impeccable,
    merci (?:à toi|à vous|bien|d'avance|infiniment), les deux,
    (?:le|la) (?:premier|première|second|seconde|deuxième|troisième|dernier|dernière),
    allez-y, attend(?:s|ez), un (?:instant|moment), encore(?: une fois)?, bien joué, bravo,
    comme tu veux, peu importe, désolée?, je (?:comprends|vois), génial, magnifique, top,
    anotado, apuntado, hecho, ya está,
    hasta (?:mañana|luego|pronto|ahora|la vista|el (?:lunes|martes|miércoles|jueves|viernes)),
    con (?:mucho )?gusto, claro que sí, por supuesto, de nada, no hay (?:problema|de qué),
    buenas? (?:noches|tardes|idea), buen (?:trabajo|día|fin de semana), suena bien, correcto,
    eso es, me parece (?:bien|perfecto|genial|buena idea), todo (?:bien|listo|correcto|limpio),
    (?:todo|eso|así|ya) (?:está|es|va) (?:bien|perfecto|listo|correcto|limpio),
    yo me (?:encargo|ocupo), me encargo(?: yo)?, lo hago, (?:los|las) dos, amb[oa]s,
    (?:el|la) (?:primer[oa]|segund[oa]|tercer[oa]|últim[oa]), espera, (?:un )?momento,
    otra vez, de nuevo, gracias (?:a ti|por todo|de nuevo|de antemano), mil gracias, da igual,
    como quieras, lo siento, perdón,
    annotato, fatto, a (?:domani|presto|dopo|più tardi|(?:lune|marte|mercole|giove|vener)dì),
    ci penso io, me ne occupo(?: io)?, lo faccio(?: io| subito)?, volentieri, va bene così,
    (?:nessun|non c'è) problema, di niente, prego, buona ?(?:notte|sera|serata|giornata|idea),
    buon (?:lavoro|weekend|fine settimana), tutto (?:bene|ok|a posto|pulito|perfetto|chiaro),
    (?:tutto )?è (?:tutto|tutto a posto|a posto|pulito|perfetto|ok), (?:mi )?va bene(?: così)?,
    mi sembra (?:buono|perfetto|giusto|una buona idea), con piacere, certamente, entramb[ie],
    (?:il|la) (?:prim[oa]|second[oa]|terz[oa]|ultim[oa]), aspetta, un (?:momento|attimo),
    ancora(?: una volta)?, di nuovo, giusto, corretto, ricevuto, come vuoi, non importa,
    mi dispiace,
    feito, pronto, até (?:amanhã|logo|já|mais|breve|(?:segunda|terça|quarta|quinta|sexta)),
    com (?:prazer|certeza), sem problemas?, boa (?:noite|tarde|ideia|sorte),
    bom (?:trabalho|fim de semana), tudo (?:bem|certo|limpo|ok), está (?:tudo )?(?:bem|certo|limpo),
    combinado, fechado, (?:eu )?cuido disso, deixa comigo, pode deixar, faço isso, os dois,
    (?:o|a) (?:primeir[oa]|segund[oa]|terceir[oa]|últim[oa]), espere?, outra vez, é isso, valeu,
    tanto faz, desculp[ae], claro que sim, parece (?:bom|bem|ótimo)
"""
_DUTCH = r"""
    genoteerd, gedaan, klaar, (?:dat )?doe ik(?: meteen)?, ga ik doen, graag gedaan,
    tot (?:morgen|straks|zo|later|snel|ziens|dan|(?:maan|dins|woens|donder|vrij)dag),
    geen (?:probleem|dank), (?:dat )?komt (?:goed|in orde|eraan), is goed, in orde, snap ik,
    (?:dat |het )?klinkt (?:goed|prima), (?:dat |het )?ziet er (?:goed|prima) uit,
    (?:dat|het|alles|beide) (?:is|zijn) (?:goed|prima|schoon|klaar|in orde|oké),
    goede(?:nacht|middag|navond), fijne (?:dag|avond|week), fijn weekend, goed idee,
    alles (?:goed|klaar|in orde|schoon|duidelijk), allebei, beide, de (?:eerste|tweede|laatste),
    wacht(?: even)?, nog (?:een keer|eens), opnieuw, natuurlijk, uiteraard, zeker, inderdaad,
    maakt niet uit, heel goed, (?:heel )?erg bedankt, sorry
"""
# After these words and a comma a name is an address: "thanks, Anna". After "yes" it may be an
# answer.
_BEFORE_COMMA_AND_NAME = "|".join(
    f"(?<={word})"
    for word in (
        "thanks",
        r"thank\syou",
        "welcome",
        "problem",
        "hi",
        "hey",
        "hello",
        "bye",
        "job",
        "work",
        "congratulations",
        "later",
        "tomorrow",
        "soon",
        r"meet\syou",
        r"see\syou",
        "morning",
        "evening",
        "night",
        "great",
        "awesome",
        "nice",
    )
)
# After these a capitalised name may follow without a comma: "good morning Anna".
_BEFORE_NAME = "|".join(
    f"(?<={word})"
    for word in (
        "morning",
        "evening",
        "night",
        "thanks",
        r"thank\syou",
        "bye",
        "congratulations",
        r"congratulations\sto",
    )
)
_TABLES = ",".join((_ACKNOWLEDGEMENTS.rstrip(), _GERMAN.rstrip(), _ROMANCE.rstrip(), _DUTCH))
_EXPRESSION = Phrases(rf"(?:{longest_first(_TABLES)})(?![\w'])")
_NAME_AND_END = Phrases(
    rf"(?:(?:{_BEFORE_COMMA_AND_NAME}),\s+[^\W\d_]+|(?:{_BEFORE_NAME})\s+(?-i:[A-Z\u00c0-\u00de])[^\W\d_]+)?\W*\Z"
)


def acknowledges(text: str) -> bool:
    """Return whether *text* is one or more acknowledgements and nothing else.

    >>> acknowledges("Ok, thanks a lot!"), acknowledges("ok, port 80"), acknowledges("...")
    (True, False, False)
    """
    end = _EXPRESSION.sequence_end(text)
    return end > 0 and _NAME_AND_END.match(text, end) is not None


CJK_ACKNOWLEDGES = Phrases(
    r"(?>\W*+(?:OKです|好的?|嗯+|行|可以|谢谢你?|謝謝|多谢|明白了?|知道了|收到|对的?|對|是的?|没问题|沒問題|不用|不客气|继续|繼續|你好"
    r"|はい|うん|ええ|いいえ|ありがとう(?:ございます|ございました)?|どうも|了解(?:です|しました)?|わかった|わかりました|分かりました"
    r"|なるほど|いいね|いいです(?:ね)?|大丈夫(?:です)?|お願いします|よろしく(?:お願いします)?|続けて|こんにちは|ok)[了啊吧呀ね]?)++\W*"
)
