"""Recognise languages, and list words and phrases in several languages. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from memd.text.alternations import Phrases
from memd.text.words import ENGLISH_FUNCTION_WORDS

# Function words by language: German, French, Spanish, Italian, Portuguese, Dutch. A text without a
# function word is no sentence in these languages but a log, a list of names or a heading.
_OTHERS = """
    der die das den dem des ein eine einen einem einer und oder aber nicht kein keine ist sind war
    wir ich du er sie es ihr mit von zu zum zur auf in im an am für als auch nur noch wie wenn dass
    bitte soll sollte muss kann haben hat wird werden immer nie bei nach über aus
    le la les un une des du de et ou mais ne pas est sont nous je tu il elle vous avec pour dans sur
    que qui ce cette ces au aux par plus on y en si se toujours jamais doit
    el los las una unos y o pero no es son nosotros yo con para por del al se lo que como si siempre
    nunca debe hay está en
    il lo gli i uno e ma non è sono noi io con per nel nella del della che di da si sempre mai deve
    o os as um uma e mas não são com por para do da dos das no na que se sempre nunca deve
    de het een en of maar niet geen is zijn wij ik met van voor op aan bij dat die deze altijd nooit
    moet wordt
"""
_SPOKEN = """
    yes yeah yep ok okay please don doesn isn wasn won shouldn couldn wouldn
    want need use instead still already must always never every each less often without ever
"""
FUNCTION_WORDS = ENGLISH_FUNCTION_WORDS | frozenset(_OTHERS.split()) | frozenset(_SPOKEN.split())
_HAPPENED = """
    happen happened happening happens go going goes went talk talked discuss discussed say said tell
    told make made new news anything something everything thing things work worked learn learned
    learnt remember know s
    accomplish accomplished achieve achieved working
    was passiert passierte geschehen geschah los lief gelaufen vorgefallen ereignet gemacht getan
    gesprochen besprochen geredet diskutiert gesagt gelernt erledigt geschafft erreicht gearbeitet
    beschäftigt unternommen erlebt alles etwas neues habe hab hast habt hatte hattest haben hatten
    hat waren warst mir uns dir gab gibt stand standen woran worüber wovon womit denn so übers
    uebers beim
    quoi qui quelle quelles passé arrivé fait faites faire avons avez ont avais avait avions eu lieu
    était étais dit parlé discuté appris tout nouveau neuf travaillé travaillais réalisé accompli
    ai as a qu est ce c j s t moi
    qué pasó pasado ocurrió ocurrido sucedió sucedido hice hizo hicimos hiciste hicieron hecho hacer
    haciendo hemos he has ha han había habíamos habido dije dijimos hablamos hablé hubo nuevo nuevas
    novedades fue era estuve estuvimos todo trabajé trabajaste trabajamos trabajado trabajando logré
    logrado sobre me nos
    cosa successo accaduto avvenuto fatto facevo facevamo abbiamo avete ho hai ha hanno avevo aveva
    avevamo detto parlato discusso imparato novità nuovo stato stata tutto lavorato lavorando
    realizzato su era ero mi ci c
    o que em aconteceu ocorreu fiz fez fizemos fizeste fizeram feito fazer fazendo houve foi tenho
    tinha temos estive estava disse falamos falei novo novidades tudo trabalhei trabalhou
    trabalhamos trabalhado realizei realizado eu nós me
    wat gebeurd gebeurde gedaan gewerkt werkte werkten heb hebben hebt heeft had hadden gezegd
    besproken gepraat geleerd bereikt nieuws alles was waren er waaraan waarmee waarover bezig
"""
DECIDED = frozenset(
    """
    decide decided decision decisions agree agreed entschieden entscheiden entscheidung
    entscheidungen beschlossen vereinbart décidé décision décisions convenu decidido decidimos
    decisión decisiones acordado deciso decisione decisioni decisão decisões besloten beslist
    afgesproken
    """.split()  # noqa: SIM905
)
"""Words of questions about decisions."""
PLANNED = frozenset(
    """
    plan plans planned planning schedule scheduled upcoming coming due agenda calendar appointment
    appointments geplant pläne vor ansteht steht stehen termin termine prévu prévus prévue planeado
    previsto prevista citas programma appuntamenti compromissos gepland afspraken
    """.split()  # noqa: SIM905
)
"""Words of questions about plans and appointments."""
ASKS_FOR_ALL = FUNCTION_WORDS | DECIDED | frozenset(_HAPPENED.split())
"""A question with only these words ("what happened?") asks for all memories."""

_GERMAN_ONLY = """
    der das dem den ein eine einen einem einer ist sind wie wo wann wer wem wen welche welcher
    welches ich wir mein meine meinen meiner unser unsere und nicht mit von für auf
"""
_GERMAN = frozenset(_GERMAN_ONLY.split())
_GERMAN_IN_NAMES = frozenset(("von", "den"))

# Foreign function words in English texts: "Los Angeles", "Van Morrison", "et al.", "no war".
_ALSO_ENGLISH = frozenset((
    "al", "an", "con", "da", "de", "die", "el", "hay", "la", "las", "le", "los", "no", "on", "per",
    "plus", "son", "van", "war",
))  # fmt: skip
_NOT_ENGLISH = (frozenset(_OTHERS.split()) | _GERMAN) - ENGLISH_FUNCTION_WORDS - _ALSO_ENGLISH
# Further words of prose. They are no function words here, because a search must not ignore them.
_MORE_OTHERS = """
    vor ab jede jedem jeden jeder jedes alle allen alles erst ohne gegen bis mir mich dir dich sich
    uns euch dein deine deinen mein meine meinen meiner unser unsere dann jetzt doch mal schon so da
    hier dort um durch während weil damit ob bevor nachdem zwischen werde werden wurde wurden sein
    habe hast hatte können könnte könntest würde würdest sollen müssen darf dürfen möchte nichts
    etwas man unter zuerst niemals künftig lass dieser diese dieses diesen welche welcher mehr also
    denn eh sonst avant après sans sous chez entre donc alors car quand comme même très tout tous
    toute toutes leur leurs notre nos votre vos mon ma mes ton ta tes son sa ses lui moi toi ça cela
    être avoir fait faire peut peux faut ni antes después sin sobre cuando donde porque muy más ya
    también todo toda todos todas mi mis tu tus su sus te me le les esto esta este eso ese aquí
    ahora ser estar tiene tienen puede puedes sem depois quando onde mais já também meu minha seu
    sua isso aqui tem pode prima dopo senza dove perché più già anche mio mia suo questo qui essere
    vom beim ins ans wieviel heute was
    où quel quelle quels quelles quand qué cuál cuáles dónde cuándo cómo quién quiénes quale quali
    quando qual quais ha può voor zonder wanneer waar omdat meer al ook mijn jouw uw dit worden
    heeft kan mag
"""
PROSE_WORDS = FUNCTION_WORDS | frozenset(_MORE_OTHERS.split())
"""Words of prose: a long text with few of them is a log or a list of names."""
_ASKING = """
    wo wer wem wen wessen wohin woher warum wieso weshalb wozu womit viel viele gibt gab hab habe
    mache machen tun nochmal eigentlich etwa jemand comment pourquoi combien chi come quanto
    quanta quanti quante cosa cuánto cuánta cuántos cuántas hay como quanto quanta quantos quantas
    wie wat hoe hoeveel waarom ons onze hun danke merci gracias grazie obrigado obrigada bedankt
    heißt heisst heißen kommt appelle llama chiama chama heet à é è ò l d c j n qu
"""
FOREIGN_FUNCTION_WORDS = PROSE_WORDS | _GERMAN | frozenset(_ASKING.split())
"""Function words of questions that are not English: of these languages and of English."""
_PROSE_ALSO_ENGLISH = "was ins ya so man um ab me son ma ton ta mi sin entre al mag sein ni"
_FOREIGN = (PROSE_WORDS - FUNCTION_WORDS - frozenset(_PROSE_ALSO_ENGLISH.split())) | _NOT_ENGLISH
_ENGLISH_ALONE = ENGLISH_FUNCTION_WORDS - frozenset(f"{_OTHERS} {_MORE_OTHERS}".split())
# Foreign function words that also occur in names ("la", "van"). In a text without an English
# function word, two different ones make it foreign.
_AMBIGUOUS = _ALSO_ENGLISH - {"an", "no", "on", "plus"}
_AMBIGUOUS_MIN = 2
_UMLAUTS = {"ae": "ä", "oe": "ö", "ue": "ü"}
_WRITTEN_OUT = re.compile(r"(?<![aeouq])(?:ae|oe|ue)", re.IGNORECASE)  # "ue" of "kuenftig"
_LETTERS = re.compile(r"[^\W\d_]+")
_LATIN_MAX, _ASCII_MAX = "\u024f", "\x7f"  # the last characters of Latin Extended-B and of ASCII


@lru_cache(maxsize=4_096)  # the candidates of an answer are read, and often are the same
def is_english(text: str) -> bool:
    """Return whether *text* may be English, judged by its letters and function words.

    A text without function words, such as a name or a command, may be English. So may one with a
    foreign name.

    >>> is_english("Who is our dentist?"), is_english("npm test")
    (True, True)
    >>> is_english("Wie heißt unser Zahnarzt?"), is_english("¿Qué come mi perra?")
    (False, False)
    """
    words = _LETTERS.findall(text.casefold())
    others = sum(map(_NOT_ENGLISH.__contains__, words))
    if not text.isascii():
        letters = "".join(words)
        if 2 * sum(letter > _LATIN_MAX for letter in letters) > len(letters):
            return False
        others += sum(not word.isascii() and word not in _NOT_ENGLISH for word in words)
    if others > max(1, sum(map(ENGLISH_FUNCTION_WORDS.__contains__, words))):
        return False
    words = [word for word in words if len(word) > 1]
    english = sum(map(_ENGLISH_ALONE.__contains__, words))
    foreign = sum(map(_FOREIGN.__contains__, words))
    ambiguous = len(_AMBIGUOUS.intersection(words))
    return foreign <= english and foreign + ambiguous < english + _AMBIGUOUS_MIN


def is_foreign(text: str) -> bool:
    """Return whether *text* has more words of other languages than of English.

    Function words that English shares with another language do not count, except that two of
    them suffice in a text without an English function word.

    >>> is_foreign("wir nehmen postgres"), is_foreign("deploy it to Los Angeles")
    (True, False)
    """
    words = [word.casefold() for word in _LETTERS.findall(text) if len(word) > 1]
    others = sum(word in _FOREIGN or max(word) > _ASCII_MAX for word in words)
    english = sum(word in _ENGLISH_ALONE for word in words)
    ambiguous = len(_AMBIGUOUS.intersection(words))
    return others > english or (not english and ambiguous >= _AMBIGUOUS_MIN)


def has_english_word(text: str) -> bool:
    """Return whether *text* has a function word of only English, with two letters or more.

    >>> has_english_word("ci runs the ignored ones"), has_english_word("hemos decidido a comer")
    (True, False)
    """
    words = (word.casefold() for word in _LETTERS.findall(text) if len(word) > 1)
    return any(word in _ENGLISH_ALONE for word in words)


def with_umlauts(text: str) -> str:
    """Return German *text* with "ae", "oe" and "ue" as umlauts, to be matched by patterns.

    >>> with_umlauts("kuenftig keine neuen Aenderungen")
    'künftig keine neuen änderungen'
    """
    return _WRITTEN_OUT.sub(lambda match: _UMLAUTS[match[0].casefold()], text)


def capitals_name(words: frozenset[str]) -> bool:
    """Return whether a capital letter within a sentence of *words* marks a name.

    Not in German, where every noun has a capital. *words* are in their original case: "MIT" is
    not the German "mit".

    >>> capitals_name(frozenset("wo ist der schlüssel".split()))
    False
    """
    return _GERMAN.isdisjoint(words)


def is_german(text: str) -> bool:
    """Return whether *text* is German, judged by its function words.

    False for a German text without one, which has only a few words.

    >>> is_german("Das Dach ist undicht"), is_german("John von Neumann met Ann")
    (True, False)
    """
    words = frozenset(_LETTERS.findall(text.lower()))
    return not words.isdisjoint(_GERMAN - _GERMAN_IN_NAMES) and not is_english(text)


YES = Phrases(
    r"\W*+(?:y|yes|yeah|yea|yep|yup|sure|agreed?|exactly|absolutely|definitely|lgtm|sounds good"
    r"|looks good|go ahead|go for it|do it|do that|let'?s do (?:it|that|this)|please do|proceed"
    r"|approved?|i agree|i like|ja|oui|si|sí|sim|d'accord|genau|gerne|claro|vale|certo|va bene"
    r"|prima|akkoord|klopt|да|давай(?:те)?|хорошо|подтверждаю|tak|evet|はい|네|好的?|可以|是的?|对的?|同意"
    r")(?!\w)"
)
"""Beginning of a message that agrees with the agent's proposal."""
WELL = re.compile(
    r"\W*+(?:ok(?:ay)?|k|fine|perfect|great|good|right|correct|nice|cool)(?!\w)", re.IGNORECASE
)
"""Beginning of a short message that agrees; a long one may begin so and disagree."""
REFUSES = re.compile(
    r"\W*+(?:nein|nicht|kein|non|ne|pas|nee|não|nao|niet|geen|falsch|faux)(?!\w)", re.IGNORECASE
)
"""Beginning of a sentence that refuses, in languages other than English."""
# "siempre falla" reports a failure and is no rule, so ALWAYS_OR_NEVER excludes these verbs.
_FAILING = (
    r"falha|falla|fallisce|faalt|fail|scheitert|bricht|stürzt|hängt|dá|da|sale|aparece|appare"
    r"|mostra|muestra|pasa|devuelve|funciona|funcionó|funcionou|funziona|carga|carrega|carica"
    r"|abre|apre|va|lo mismo|o mesmo|lo stesso|el mismo|igual|werkte?|работал[аио]?|падает|выдаёт"
    r"|выдает|показывает|открывает|запускает"
)
# "est toujours" describes a state and is no rule either: not after a form of "être" or "avoir".
_NOT_AFTER_STATE = "".join(
    rf"(?<!\b{verb} )"
    for verb in ("est", "sont", "a", "ai", "ont", "as", "avait", "était", "reste")
)
ALWAYS_OR_NEVER = Phrases(
    r"(?<!\w)(?:(?<!noch )(?:immer(?! noch| wieder| mehr|hin))|niemals|nie wieder|ab jetzt"
    rf"|{_NOT_AFTER_STATE}(?:toujours(?! (?:pas|p|plus|aucune?|rien|le même|la même|les mêmes)\b)"
    rf"|jamais(?! (?:vu|eu)\b))"
    rf"|désormais|(?:siempre|nunca|sempre)(?! (?:había|he|vi)\b)(?! (?:ha |se )?(?:{_FAILING})\b)"
    rf"|d'ora in poi|de ahora en adelante|(?<!nog )altijd(?! nog| (?:{_FAILING})\b)|voortaan"
    r"|(?<!werkt )(?<!laadt )(?<!start )(?<!opent )(?<!gaat )(?<!verschijnt )nooit"
    rf"|(?:всегда|никогда)(?! (?:не )?(?:{_FAILING})\b)|впредь)(?!\w)"
    r"|以后(?:都|请|不|别|所有|每|只|要|用|帮我)|每次(?:都|请)|不要再|别再|一律|总是要|永远不要|请?始终|未经我"
    r"|必ず|常に|今後は?|毎回|絶対に|항상|앞으로|반드시"
)
"""Words that make a sentence a lasting rule, in languages other than English."""
LASTING = Phrases(
    r"(?<!\w)(?:bitte (?:nicht|keine?n?|nur|immer|nie)\b|(?:ich|wir) (?:bevorzuge|mag|hasse)\w*"
    r"|mir ist [^.]*lieber|in zukunft|künftig|ab sofort|hör auf|je (?:préfère|déteste|n'aime pas)"
    r"|à l'avenir|dorénavant|arrête (?:de|d')|dis-moi juste|prefiero|odio|no me gusta que"
    r"|en adelante|de ahora en más|deja de|eu prefiro|prefiro|odeio|não gosto (?:de|que)"
    r"|daqui (?:para|pra) frente"
    r"|a partir de agora|pare de|preferisco|non mi piace|d'ora in avanti|smetti(?:la)? di"
    r"|ik (?:wil liever|haat)|liever (?:niet|geen)|vanaf nu|hou op|stop met"
    # "I work on Linux", and "each time you ...".
    r"|ich (?:bin|arbeite) [^.?!]{0,20}(?:windows|linux|mac|nutzer\w*|anwender\w*|entwickler\w*)"
    r"|(?:jedes mal|immer),? wenn du"
    r"|je (?:suis|travaille) (?:sous|sur) (?:windows|linux|mac\w*)"
    r"|(?:chaque|à chaque) fois que (?:tu|vous)"
    r"|(?:cada vez|siempre) que \w+(?:es|as)\b|(?:estoy|trabajo) en (?:windows|linux|mac\w*)"
    r"|(?:sempre|toda vez|cada vez) que (?:você|\w+ar|\w+er)\b"
    r"|(?:eu )?uso (?:o )?(?:windows|linux|mac\w*)|ogni volta che \w+i"
    r"|(?:elke|iedere) keer (?:dat|als) je|ik (?:werk|zit) op (?:een )?(?:windows|linux|mac)"
    r"|(?:пиши|отвечай|говори)\w* [^.?!]*на (?:русском|английском)|без моего \w+"
    # Russian: imperfective imperatives ask for something that is to be done each time.
    r"|не (?:добавляй|пиши|используй|создавай|трогай|удаляй|меняй|делай)(?:те)?"
    r"|(?:веди|обновляй|соблюдай|документируй|записывай|отмечай|не забывай)(?:те)?"
    r"|(?:при|перед|после) (?:кажд\w+|внесени\w+|выполнени\w+|изменени\w+|завершени\w+"
    r"|начал\w+))(?!\w)"
    r"|用(?:简体)?(?:中文|英文)(?:回答|回复|说|写|交流)|先(?:问我|跟我确认|给我看)"
)
"""Phrases that state how somebody always wants things done, in languages other than English."""
REPROACH = Phrases(
    r"(?<!\w)(?:(?:warum|wieso) \w+st du (?:immer|ständig|schon wieder|dauernd)"
    r"|du \w+st (?:immer|ständig|schon wieder|dauernd)"
    r"|(?:ich|wir) (?:habe?n?|hab) (?:dich )?(?:nicht|nie|keine?n?) (?:\w+ ){0,3}"
    r"(?:gefragt|gebeten|verlangt)"
    r"|je (?:ne )?(?:t'|vous )?ai (?:pas|jamais) demandé|je n'ai (?:pas|jamais) demandé"
    r"|no te (?:pedí|he pedido)|(?:eu )?não (?:te )?pedi|non ti ho (?:mai )?chiesto"
    r"|ik heb (?:\w+ )?niet (?:\w+ ){0,2}gevraagd"
    r"|(?:ich|wir) (?:habe?n?|hab) (?:dir )?(?:doch |schon |bereits |ja )+gesagt"
    r"|wie oft (?:muss|soll) ich|(?<!que )je t'ai (?:déjà )?dit|combien de fois"
    r"|pourquoi (?:tu )?continues?"
    r"|te (?:he dicho|dije) (?:que|ya)|ya te (?:he dicho|dije)|cuántas veces"
    r"|por qué sigues"
    r"|(?:eu )?já (?:te )?(?:disse|falei)|quantas vezes|por que (?:você )?continua"
    r"|(?<!che )ti ho (?:già )?detto|quante volte|perché continui"
    r"|ik (?:heb|had) (?:je )?(?:al |toch )?gezegd|hoe vaak moet ik)(?!\w)"
)
"""A reproach: something was said before and ignored, or was not asked for. Not in English."""
LEAVE = Phrases(
    r"(?<!\w)(?:(?:quieres|te gustaría|deseas) que (?:haga(?:mos)?|suba(?:mos)?) (?:\w+ )?"
    r"(?:push|commit|merge|pull|pr|resumen)|(?:quieres|te gustaría|deseas) que (?:lo |la )?"
    r"(?:lance|ejecute|contin(?:úe|uemos)|siga(?:mos)?|proceda(?:mos)?|empiece|empecemos|pruebe"
    r"|pasemos|avancemos|revise|verifique|compile)|(?:continúo|sigo|procedo|continuamos|seguimos)"
    r"|puedes (?:probar|confirmar|verificar)"
    r"|(?:veux-tu|voulez-vous|souhaites-tu|souhaitez-vous|tu veux|vous voulez) que (?:je|j'|nous)"
    r" ?(?:le |la |les |l')?(?:fasse (?:\w+ )?(?:commit|push|merge|pr|ça|cela)|commite|pousse"
    r"|(?:re)?lance|exécute|continue|continuions|procède|poursuive|passe|enchaîne|commence|démarre"
    r"|attaque|vérifie|teste|déclenche|récupère|finalise|merge|(?:crée|ouvre) (?:et \w+ )?la pr)"
    r"|(?:dois-je|puis-je|est-ce que je (?:dois|peux)|prêt à|on|voulez-vous|souhaitez-vous|veux-tu)"
    r" (?:continue|continuer|poursuivre|commencer|procéder|passer|lancer|enchaîner|attaquer)"
    r"|(?:soll ich|(?:möchtest du|möchten sie|willst du),? dass ich)\b[^?]{0,80}\b(?:commit\w*"
    r"|push\w*|merg\w*|starte\w?|ausführe\w?|weiter\w*|fortfahren?|beginnen?|prüfen?|testen?)"
    r"|(?:quer|gostaria|deseja) que eu (?:faça (?:\w+ )?(?:commit|push|merge)|execute|rode"
    r"|continue|prossiga|comece|teste|verifique)|(?:devo|posso) (?:continuar|prosseguir|seguir)"
    r"|(?:continuo|procedo|proseguo|devo (?:continuare|procedere|proseguire))"
    r"|vuoi che (?:faccia (?:\w+ )?(?:commit|push|merge)|esegua|lanci|continui|proceda|inizi"
    r"|provi|verifichi)"
    r"|(?:zal ik|wil je dat ik)\b[^?]{0,80}\b(?:commit\w*|push\w*|merge\w*|uitvoer\w*|start\w*"
    r"|doorga\w*|begin\w*|test\w*|controle\w*)"
    r"|(?:хотите|хочешь|мне)[^?]{0,20}(?:закоммит|запуш|запуст|продолж|нача|провер"
    r"|приступи)\w*|продолжа(?:ем|ть))(?!\w)"
    r"|(?:要我|要不要|需要我|是否|我可以)(?:现在)?(?:继续|提交|推送|运行|开始|测试)"
)
"""A question whether to take the next step, in languages other than English."""
_STEP = (
    r"(?:phase|étape|step|task|tâche|schritt|aufgabe|fase|etapa|paso|passo|stap|taak|part(?:ie)?"
    r"|teil"
    r"|этап|шаг|阶段|步骤)"
)
GOES_ON = Phrases(
    r"\W*(?:(?:ok(?:ay)?|yes|oui|ja|sí|si|sim|да|bien|super|parfait|perfecto|and|et|now|please"
    r"|then)"
    r"\W+)*(?:(?:let'?s )?(?:continue|go on|keep going|carry on|move on)|next(?: one| step)?"
    r"|(?:on )?continue[rz]?|continuons|poursui(?:s|vons|vez)|(?:la )?suite|(?:le |la )?suivante?"
    r"|(?:mach )?weiter|fahr fort|(?:el |la )?siguiente|sigue|continúa|seguimos|sigamos|continuemos"
    r"|continua(?:r|re)?|prossiga|próxim[oa]|prosegui|avanti|vai avanti|ga (?:door|verder)|verder"
    r"|продолжа(?:й|йте|ем)|дальше|继续|下一步"
    rf"|(?:go (?:for|with) |on passe à |passe à )?(?:la |l'|the )?{_STEP}\s*#?\d[\d.]*)"
    r"(?:\W+(?:please|pls|stp|svp|s'il te plaît|bitte|por favor|per favore|then|now"
    r"|maintenant))*\W*"
)
"""A whole message that only says to go on, perhaps with which step ("weiter mit Schritt 3")."""
# "läuft jetzt auf Port 3001", "ora va su host:9000": a lasting fact, no report of the moment.
_AT_A_PLACE = (
    r" (?:maintenant )?(?:(?:auf|unter|über|bei|hinter|via|sur|derrière|sous|en|bajo|detrás de|su"
    r"|sotto|dietro|em|no|na|sob|op|onder|achter|на|под) (?:[\w-]+ ){0,2}?"
    r"(?:(?:port|puerto|porta|poort|порту) \d|[\w-]+(?:://|[.:/])\w|~?/\w)"
    r"|(?:mit|avec|con|com|met) [^\W\d]\w* \d)"
)
FAILS = Phrases(
    r"(?<!\w)(?:(?:no|tampoco) (?:funciona|carga|aparece|abre|se ve)|sigue (?:igual|sin)"
    r"|(?:ya (?:funciona|carga|aparece|abre|se ve)|(?:ça|cela) marche|já (?:funciona|aparece)"
    r"|(?:ora|adesso) (?:funziona|va|si vede)|werkt (?:nog )?nu|теперь работает"
    rf"|(?:funktioniert|geht|läuft) (?:wieder )?jetzt)(?!{_AT_A_PLACE})"
    r"|(?:todavía|aún|siempre|nunca) (?:no |ha |se )?(?:funcion|carg|aparec|abr|fall|sale)\w*"
    r"|(?:funktioniert|geht|läuft) (?:immer noch |noch |wieder )?nicht"
    r"|(?:immer noch|noch immer) (?:nicht|kein\w*|das gleiche|der gleiche)"
    r"|ne (?:marche|fonctionne) (?:pas|plus|toujours)"
    r"|toujours (?:pas?|plus|aucune?|rien|le même|la même)"
    r"|n'a (?:pas|jamais) (?:march|fonctionn)\w*"
    r"|(?:não|ainda não|nunca) (?:funciona|funcionou|carrega|aparece)|já (?:funcionou|carrega)"
    r"|(?:non|ancora non) (?:funziona|va|si vede)"
    r"|non (?:si )?(?:apre|carica|funziona|parte|appare) (?:mai|ancora)"
    r"|werkt (?:nog )?(?:steeds |altijd )?niet|nog (?:steeds|altijd) (?:niet|geen)"
    r"|(?:не|всё ещё не) работает|(?:вс[её] )?ещё не)(?!\w)"
    r"|不行|没用|没有用|还是(?:一样|报错|不)|可以了"
)
"""A report that something works or fails at the moment, in languages other than English."""
ASKS_UNMARKED = Phrases(
    r"^\W*(?:warum|wieso|weshalb|pourquoi|comment|où|por qué|cómo|dónde|quién|perché|waarom"
    r"|hoezo)(?!\w)"
    r"|有没有|为什么|怎么|是不是|能不能|[吗嘛呢]\W*$"
    r"|(?<!\w)(?:почему|зачем|можно ли|что если)(?!\w)"
    r"|[,.;\u2013-] (?:woran liegt|woher kommt|wie kommt|(?:warum|wieso) (?:ist|sind|geht|hat)"
    r"|(?:was|wie) (?:kann|soll|muss|mache?) ich)(?!\w)"
)
"""A question that is recognisable without a question mark, in languages other than English."""
