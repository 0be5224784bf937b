r"""Word tables for the classification of turns in passing.

The languages are English, German, French, Spanish, Italian, Portuguese, Dutch, Polish and
Russian, and for questions also Chinese and Japanese. Tables made by ``opening`` match at the
start of a clause, those made by ``anywhere`` at any word. A clause that no table matches is a
statement.
"""

from __future__ import annotations

import re

from memd.text.alternations import Phrases, any_of, anywhere, opening

# Cyrillic letters and full-width marks are intended.
# ruff: noqa: RUF001


# Before a colon: "one more: which port was it".
_ONE_MORE = (
    r"(?:one (?:more|last|other)(?: (?:question|thing))?|(?:another|last|next|quick)"
    r" (?:one|question|thing)|noch (?:eine?|eins|(?:et)?was)(?: (?:frage|sache))?"
    r"|(?:eine |letzte |kurze )?frage(?: noch)?)(?=:)"
)
# Fillers at the beginning of a sentence.
LEAD_INS = Phrases(
    rf"""(?:(?:{
        any_of('''
    hey, hi, hello, yo, ugh+, puh, phew, argh+, oops, (?:ha)+h?, lol, omg, ooh+, yay,
    ok, okay, so, well, oh, ah, um, uh, hm+, wow, and, but, also, now, then,
    next,
    first, finally, please, pls, plz, thanks, thank you, great, cool, nice, awesome, perfect, good,
    right, yes, yeah, yep, yup, sure, no, nope, alright, all right, anyway, btw, by the way,
    actually,
    sorry, excuse me, just, again, quick question, one more thing, question, go ahead and, got it,
    hallo, ja, nein, gut, super, danke, bitte, und, aber, dann, jetzt, ach, nun, übrigens, sag mal,
    bonjour, salut, oui, non, merci, bon, alors, et, mais, au fait, maintenant, s'il te plaît,
    s'il vous plaît, svp, stp, hola, buenas, sí, gracias, vale, bueno, y, pero, ahora, por favor,
    oye, ciao, sì, grazie, bene, allora, e, ma, adesso, ora, per favore, scusa, senti, olá, oi, sim,
    não, obrigad[oa], tá, então, mas, agora, hoi, hallo, dank je, bedankt, goed, en, maar, dan, nu,
    alsjeblieft, alstublieft, graag, zeg, cześć, tak, nie, dzięki, dziękuję, dobrze, a, ale, teraz,
    proszę, привет, да, нет, спасибо, хорошо, а, но, и, ну, теперь, пожалуйста, слушай
    ''')
    }|{_ONE_MORE})(?!\w)\W*)+"""
)

# A clause in the first person states something.
FIRST_PERSON = opening(
    r"(?:did|have|haven't|didn't) i (?:ever |already )?(?:mention|tell|told|say|said)\w*",
    r"(?:i|we)(?:'m|'ve|'d|'ll|'re)?, my, our, mine, ich, wir, mein\w*, unser\w*, je, j'\w+, nous,"
    r" mon, ma, mes, notre, nos, yo, nosotr[oa]s, mi, mis, nuestr\w+, me \w+, nos \w+, io, noi,"
    r" mio,"
    r" mia, miei, mie, nostr\w+, mi \w+, ci \w+, eu, nós, meu, minha, meus, minhas, noss\w+, ik,"
    r" wij,"
    r" we, mijn, ons, onze, ja, mój, moja, moje, mam, nasz\w*, я, мы, мой, моя, моё, мои, меня, у"
    r" меня, мне, наш\w*",
)
# Finite verbs of the third person: "the port is 80", "it fails".
_FINITE = (
    "is, are, was, were, am, isn't, aren't, wasn't, weren't, has, had, hasn't, will, won't,"
    " would, died,"
    " lives?, ist, sind, war, waren, hat, haben, wird, wurde, est, sont, était, ont, está, están,"
    " estaba, fue, tiene, è, sono, era, hanno, é, são, foi, tem, zijn, heeft, werd, jest, są, był,"
    " była, было, был, была, было"
)
FINITE = anywhere(_FINITE)
VERBS = anywhere(
    _FINITE,
    r"have, haven't, can't, cannot, doesn't, don't, didn't, says?, said, works?, fails?, needs?,"
    r" takes?, uses?, likes?, loves?, hates?, prefers?, became, got, went, gave, told, [a-z]{3,}ed",
)
# Words between an order and a verb that make the verb part of a subordinate clause.
SUBORDINATES = anywhere(
    "what, who, where, when, why, how, which, that, if, whether, it, there, they, this, those, you,"
    " we, i, everything, anything, all, whatever, was, wer, wo, wann, warum, wie, welche\\w*,"
    " dass, ob,"
    " qui, que, quoi, où, quand, comment, qué, quién, dónde, cómo, che, chi, dove, come, wat,"
    " wie, waar,"
    " hoe, co, kto, gdzie, jak, что, кто, где, как"
)
# Introduces a person by name, which states something: "my daughter Mia".
INTRODUCES = Phrases(
    r"(?<!\w)(?:(?:[Mm]y|[Oo]ur|[Mm]on|[Mm]a|[Nn]otre|[Mm]i|[Nn]uestr\w|[Mm]i[oa]|[Mm]eu"
    r"|[Mm]inha|[Mm]ijn"
    r"|[Oo]nze|[Mm]ój|[Mm]oja|[Мм]ой|[Мм]оя)\s+\w+\s+[^\W\d_a-zß-ÿа-яё]\w+"
    r"|[Mm]ein\w*\s+[A-ZÄÖÜ]\w+\s+[A-ZÄÖÜ]\w+)",
    0,
)
THIRD_PERSON = opening(
    "he, she, they, it, this, that, these, those, there, his, her, their, its, er, sie, es, das,"
    " il,"
    " elle, ils, elles, ce, c'est, él, ella, ellos, lui, lei, loro, ele, ela, eles, hij, zij,"
    " ze, het,"
    " on, ona, ono, oni, он, она, оно, они, это"
)
# A reason, or information about the speaker, within a question: "since I moved", "I have a dog".
REASONS = Phrases(
    r"(?<!\w)(?:(?:because|since|although|though|given(?:\s+that)?|now\s+that"
    r"|considering(?:\s+that)?)"
    r"\s+(?:i|we|my|our|he|she|they|it|there|the)(?:'\w+)?"
    r"|(?:know|knew|mention(?:ed)?|tell|told|hear|heard|believe|reali[sz]e|forget|forgot|guess)"
    r"(?:\s+(?:you|me|u))?(?:\s+that)?(?:\s+about)?\s+(?:i|we|my|our)(?:'\w+)?"
    r"|that\s+(?:i|we|my|our)(?:'\w+)?\s+\w+"
    r"|(?:dass|weil|da|denn|obwohl)\s+(?:ich|wir|mein\w*|unser\w*)"
    r"|(?:que|parce\s+que|puisque|comme)\s+(?:je|j'\w+|nous|mon|ma|mes|notre)"
    r"|(?:que|porque|ya\s+que|como)\s+(?:yo|soy|tengo|estoy|vivo|me|mi|mis|nuestr\w+)"
    r"|(?:che|perché|siccome)\s+(?:io|sono|ho|vivo|mi|mio|mia)"
    r"|(?:que|porque|já\s+que)\s+(?:eu|sou|tenho|estou|moro|meu|minha)"
    r"|(?:dat|omdat|want)\s+(?:ik|wij|we|mijn)"
    r"|(?:że|bo|ponieważ)\s+(?:ja|jestem|mam|mój|moja|mieszkam)"
    r"|(?:что|потому\s+что|так\s+как)\s+(?:я|мы|у\s+меня|мой|моя))(?!\w)"
)

# First words of questions. Those of ASKS_UNMARKED are questions without a question mark, too.
ASKS_UNMARKED = opening(
    r"(?:what|who|where|when|why|how|which)(?:'s|s|'re)? (?:is|are|do|does|did|can|could|should"
    r"|was|"
    r"were|would|will|about|come|many|much|long|often|far|else|kind of|happens?|happened|to)",
    r"(?:what|who|where|how)(?:'s|'re)(?! more)",
    r"(?:do|does) (?:i|we|they|he|she|it|these|those), did (?:we|they|he|she|it),"
    r" does (?!not\b)\w+,"
    r" (?:can|could|should|shall) (?:i|we), (?:is|was) (?:it|that|this|there)(?! or\b),"
    r" (?:is|was|are|were|did|does|do|has|have|can|could|will|would)"
    r" (?:anyone|anybody|someone|any of),"
    r" (?:are|were) (?:they|these|those|there), whats",
    r"(?:what|who|where|how)s(?= (?:the|our|my|your|next|left|still|wrong|new|open)\b)",
    r"(?:warum|wieso|weshalb) (?:ist|war|sind|waren|hat|haben|hatte|hatten|wird|wurde|kann|geht"
    r"|ging|läuft|lief)",
    r"(?:wie|wo|wann|was|wer|welche[rs]? \w+) (?:ist|war|sind|waren|heißt|hieß|läuft|liegt"
    r"|haben wir|hatten wir)(?! (?:egal|mir|uns|ja|doch)\b)",
    r"(?:what|which) \w+ (?:is (?:it|he|she)|(?:are|do|did|can|should|will) (?:i|we|you|they))",
    r"do you (?:know|have|think|see|remember|mean|want),"
    r" did you, have you, any idea, i wonder,"
    r" i was wondering,"
    r" i'?d like to know, i want to know, i(?:'m| am) curious, i have a question,"
    r" ich frage mich, ich"
    r" wüsste gerne?, je me demande, je voudrais savoir, me pregunto, quisiera saber, mi chiedo,"
    r" vorrei"
    r" sapere, gostaria de saber, queria saber, ik vraag me af, zastanawiam się, chcę wiedzieć,"
    r" интересно, хочу узнать",
)
ASKS = opening(
    r"what(?:'s|'re|s)?, who(?:'s|se|m)?, where(?:'s)?, when(?:'s)?, why, how(?:'s)?, which,"
    r" (?:is|are|am|was|were|do|does|did|can|could|would|will|should|shall|may|might|must|have"
    r"|has|had)"
    r"(?:n't)? (?:i|you|we|he|she|it|they|this|that|these|those|there|the|a|an|my|our|your|his|her|"
    r"their|its|any|anyone|anybody|anything|someone|somebody|all|both|one|\w+),"
    r" any (?:ideas?|chance|thoughts|news|tips?|suggestions?|plans?|advice), or, right, really,"
    r" anything else, something else, remember",
    r"wer, wen, wem, wessen, was, wann, wo, wohin, woher, warum, wieso, weshalb, wie,"
    r" welche[rnms]?,"
    r" womit, wofür, worüber, wozu, gibt es,"
    r" \w+(?:st|t|en|e|nn|ll|ss|rf|g)? (?:du|ihr|sie|er|es|ich|"
    r"wir|man|der|die|das|denn)",
    r"qui, que, quoi, quand, où, pourquoi, comment, combien, quel(?:le)?s?, est-ce que?,"
    r" qu'est-ce que?, qu'\w+, \w+-(?:tu|vous|il|elle|on|nous|je|t-il|t-elle|t-on|ce), tu \w+,"
    r" vous \w+",
    r"¿\W*\w+, qué, quién(?:es)?, cuándo, dónde, adónde, por qué, cómo, cuánt[oa]s?, cuál(?:es)?,"
    r" puedes, sabes, conoces, tienes, hay",
    r"chi, che, cosa, quando, dove, dov'\w+, perché, come, com'\w+, quant[oaie], qual[ie]?, c'è,"
    r" ci sono, sai, conosci, hai, puoi",
    r"quem, o que, quê, quando, onde, por que, porque, como, quant[oa]s?, qual, quais, você \w+,"
    r" vocês \w+, sabe, conhece, há, tem",
    r"wie, wat, wanneer, waar\w*, waarom, hoe, hoeveel, welke?, is er, zijn er,"
    r" \w+ (?:je|jij|u|ik|wij|"
    r"het|er|jullie)",
    r"kto, kogo, komu, co, kiedy, gdzie, dokąd, dlaczego, czemu, jak, ile, jak[iae], któr\w+,"
    r" czyj\w*,"
    r" czy",
    r"кто, кого, кому, что, когда, где, куда, откуда, почему, зачем, как, сколько, какой, какая,"
    r" какие,"
    r" какое, чей, разве, можно, есть ли, \w+ ли",
)

# Whole questions without a question mark and without a verb of ``VERBS``, as they are typed in a
# hurry: "why 502", "which port again", "prod reboot when".
_LAST = r"(?-i:when|where|why|how|who|what)"
_BEFORE_NO_QUESTION = any_of("""
    knows?, dunno, idea, clue, matter, sure, see, tell, ask, guess, imagine, remember, comment,
    line, so, then, not, that's, thats, here's, of, on, about, the, and, or
""")
TERSE_QUESTIONS = Phrases(
    r"(?:(?:why|how come)(?: \S+){0,3}"
    r"|how (?:many|much|often|long|far|big|old)(?: \S+){1,3}"
    r"|(?:what|which|who|where|how)(?: \S+){0,3} again"
    r"|which (?:one|of(?! course)|first|next)(?: \S+){0,4}"
    r"|who (?:owns|runs|maintains|approves|reviews|knows|uses|wrote|broke|changed|added|merged|did)"
    r" (?:the |this |that |our )?\S+"
    rf"|(?!.*\b(?:{_BEFORE_NO_QUESTION}) {_LAST}\b)(?:\S+ ){{1,6}}{_LAST}(?: again| exactly)?)"
    r"[\s.!]*"
)
# The subject before a question: "outbox relay: how often does it poll". What is open is a note, and
# "backups: how to restore" is a title.
TOPIC = re.compile(
    r"(?!(?:todo|open|note)\b)(?:[\w./+#'-]+ ){0,3}[\w./+#'-]+:\s+(?!\w+ to\b)", re.IGNORECASE
)

# First words of a condition, place or time that may precede a question or request.
CONDITIONS = opening(
    "if, when, once, before, after, while, until, unless, as soon as, in case, for, in, on, at,"
    " with,"
    " wenn, falls, sobald, bevor, nachdem, si, quand, lorsque, avant, après, cuando, antes,"
    " después, se,"
    " quando, prima, dopo, depois, als, wanneer, voordat, nadat, jeśli, gdy, zanim, если, когда,"
    " прежде"
)
# First words of a dependent clause: a condition, a place, a comparison, an addition.
DEPENDENT = opening(
    r"if, when, once, before, after, while, until, unless, as soon as, in case,"
    r" so (?:that|i|we|it),"
    r" whether, which, where, who, to, in, on, at, from, for, with, without, under, into, of,"
    r" by, via,"
    r" like, using, about, e\.g\., i\.e\., etc\.?, for example, for instance, especially,"
    r" including,"
    r" maybe, perhaps, or, and, then, not, even, again, at least, instead, too, as well, otherwise,"
    r" what, how, why, thanks, please, right",
    r"wenn, falls, sobald, bevor, nachdem, ob, dass, oder, und, wo, wie, was, warum, welche\w*,"
    r" mit,"
    r" ohne, für, im, um, zum, zur, beim, damit, also, zum beispiel, z\.b\., bitte",
    r"si, quand, lorsque, avant, après, que, qui, dont, où, ou, et, avec, sans, pour, dans,"
    r" comment,"
    r" pourquoi, par exemple, cuando, antes, después, donde, o, y, con, sin, para, por ejemplo, se,"
    r" quando, prima, dopo, dove, oppure, e, senza, per, ad esempio, antes, depois, onde, ou, com,"
    r" sem, por exemplo",
    r"als, wanneer, voordat, nadat, of, dat, waar, en, met, zonder, voor, bijvoorbeeld, jeśli, gdy,"
    r" kiedy, zanim, czy, że, żeby, albo, lub, z, bez, w, na, dla, jak, gdzie, który\w*,"
    r" na przykład,"
    r" если, когда, чтобы, прежде, что, где, как, или, и, с, без, в, для, на, котор\w+, например",
)

CJK_ASKS = re.compile(r"(?:[？?]|[吗嗎呢么麼]|ですか|ますか|でしょうか|のか|かな)[。！!?？]*$")
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")

# Present actions of an assistant: "ich prüfe", "je lance". Spanish "creo" (I create) is missing,
# as it also means "I think".
_GERMAN_ACTS = any_of(r"""
    schaue?, prüfe?, überprüfe?, sehe?, lese?, suche?, führe?, starte, trage?, ändere?, passe?,
    lasse?,
    lege?, mache?, lösche?, fasse?, notiere?, füge?, baue?, schreibe?, teste, erstelle?, öffne,
    behebe?, korrigiere?, aktualisiere?, ergänze?, entferne?, ersetze?, benenne?, verschiebe?,
    installiere?, committe?, pushe?, merge?, beginne?, fange?, gehe?, hole?, vergleiche?,
    übersetze?,
    dokumentiere?, räume?, setze?, stelle?, repariere?, analysiere?, untersuche?, implementiere?,
    formatiere?, sortiere?, vereinfache?, kümmere?, bereite, verbessere?, gucke?, kürze?
""")
_FRENCH_ACTS = (
    "lance|relance|regarde|vérifie|corrige|ajoute|mets|crée|cherche|lis|relis|modifie|change"
    "|supprime"
    "|commence|continue|teste|note|fais (?:ça|le|la|un|une)|prépare|déplace|renomme|nettoie"
    "|m'en occupe|m'occupe"
)
_SPANISH_ACTS = (
    "ejecuto|reviso|miro|busco|añado|agrego|corrijo|compruebo|verifico|cambio|abro|actualizo"
    "|elimino"
    "|borro|leo|empiezo|continúo|pruebo|lanzo|anoto|apunto"
)
_ITALIAN_ACTS = (
    "controllo|eseguo|guardo|cerco|aggiungo|correggo|apro|leggo|aggiorno|lancio|provo|inizio|annoto"
)
_DUTCH_ACTS = (
    "kijk|draai|voer|voeg|pas|lees|zoek|start|maak|verwijder|controleer|test|schrijf|open|begin"
    "|bekijk|noteer|haal|zet|los|verander|wijzig"
)
# Not before "that" or a digit: "ich notiere, dass du Tabs bevorzugst" states something.
_ACTS_FOREIGN = (
    rf"(?:ich (?:{_GERMAN_ACTS})|(?:{_GERMAN_ACTS}) ich|je (?:{_FRENCH_ACTS})|ik (?:{_DUTCH_ACTS})"
    r"|j'(?:ajoute|exécute|ouvre|écris|essaie|analyse|efface|examine|enlève|installe|applique)"
    rf"|(?:{_SPANISH_ACTS}|{_ITALIAN_ACTS}) (?:el|la|los|las|lo|il|i|gli|le|un|una|esto|eso"
    rf"|questo|qué"
    r"|si|se|nei|nel|en))(?!\w)(?!.{0,60}(?:\b(?:dass|que|che|dat)\b|\d))"
)
# Announcements of an assistant about its current work: "let me check", "now running the tests".
REMARKS = Phrases(
    r"(?:(?:now|next|first|then|good|great|ok|okay|perfect|sure|yes|alright|(?:einen )?moment"
    r"|als nächstes|zuerst|danach|gleich|d'abord|ensuite|primero|luego|prima|poi|primeiro|eerst)"
    r"\W+)*(?:(?:let me"
    r"|let's|"
    r"i'll|i will|i'm going to|i am going to|i'm|i am|i (?:now )?need to|time to)(?: now"
    r"| just| first| also| quickly| start by| begin by| go ahead and"
    r"| then)* (?:run|rerun|check|checking|look|looking|read|reading"
    r"|search|"
    r"searching|see|start|starting|fix|fixing|update|updating|create|creating|find|finding|examine|"
    r"verify|verifying|try|trying|add|adding|write|writing|continue|open|explore|exploring|review|"
    r"reviewing|test|testing|implement|implementing|make|do|get|take|view|investigate"
    r"|investigating|"
    r"work|working|analy[sz]e|analy[sz]ing|go|commit|push|build|clean|apply|think|know|help|wait|"
    r"waiting|done|ready|begin|also|refactor|simplify|address|restructure|grep"
    r"|trace|inspect|confirm|re-read|revert)\b"
    r"|let me (?:(?:now|also|just|first|quickly) )?(?!(?:explain|say|tell|be|know|clarify|note"
    r"|remind|put|always|never)\b)[a-z]+\b"
    r"|i (?:now )?have (?:now )?(?:everything(?: i need)?(?= to\b|\W*$)|(?:all|enough)(?: the)?"
    r" (?:information|context|details)\b|(?:a|the)(?: \w+)? (?:picture|understanding)\b)"
    r"|(?:running|checking|looking|reading|searching|starting"
    r"|working|"
    r"thinking|committed|pushed|merged|committet|gepusht|gemergt|commité|poussé)\b"
    rf"|{_ACTS_FOREIGN}|lass mich|ich werde|je vais|laisse-moi|ik ga|ik zal|"
    r"voy a|déjame|(?:ora )?vado a|fammi|vou|deix[ae]-me|laat me|zaraz|pozwól|сейчас|я"
    r" (?:посмотрю|проверю|запущу)|позволь)"
)
