"""Word tables that distinguish a request of the moment from a standing order, in nine languages.

An English clause that begins with a verb is an order. In languages that omit the subject it may
be a statement: "abre a las nueve" is "it opens at nine". English verbs may also be nouns ("Test
coverage is 80 %"). Such verbs count only before an object, known by its determiner. Pure.
"""

from __future__ import annotations

import re

from memd.text.alternations import Phrases, any_of, anywhere

# Cyrillic letters and full-width marks are intended.
# ruff: noqa: RUF001

# Verbs that are orders whatever follows.
_PLAIN = """
    rerun, re-run, rewrite, explain, tell me, give me, remove, rename, revert, implement, proceed,
    generate, analy[sz]e, evaluate, investigate, figure out, debug, summari[sz]e, convert, refactor,
    help me, execute, redo, undo, translate, describe, calculate, let me know, let me see, examine,
    inspect, simplify, rebase, reproduce, brainstorm, paraphrase, proofread, go on, try again,
    do (?:it|that|this|the|these|those|so|a|all|both|another|one),
    make (?:a|an|the|it|that|this|these|those|all|them|another|some)
"""
# Verbs that are orders only before an _OBJECT: "run the tests".
_WITH_OBJECT = """
    run, fix, add, create, write, show, check, look, find, delete, read, move, deploy, compare,
    verify, bump, replace, extract, include, count, sort, clean, install, continue, address, apply,
    split, stage, resolve, suggest, propose, recommend, update, open, commit, push, build, test,
    try,
    review, start, finish, search, list, print, merge, pull, draft, research, audit, format,
    publish,
    copy, paste, restart, export, import, change, go, stop, display, plan, load, save, log,
    document,
    sketch, outline, mark, scan, fetch, report, stub
"""
_OBJECT = (
    r"(?:\s+(?:the|a|an|all|both|my|our|your|this|that|these|those|it|them|me|us|him|her|for|to|in|"
    r"into|on|at|with|out|up|off|over|through|again|everything|anything|something|any|each|another|"
    r"one|some|how|what|why|where|which|whether|if|and|here|there|now|ahead|back|tests?|"
    r"lint\w*|comments?|changes|unused|\d+)(?!\w)|\s+['/#.@]|\s+\w[\w-]*[./_(]\w?)"
)
# Verbs that are orders as a whole clause: "Commit."
_ALONE = r"(?:commit|push|merge|rebase|deploy|build|test|run|fix|review|publish|search)\W*$"
# How an answer is to be otherwise: "a bit shorter and funnier".
_COMPARATIVES = any_of("""
    shorter, longer, simpler, nicer, funnier, friendlier, warmer, kinder, softer, bolder, brighter,
    darker, bigger, smaller, larger, wider, narrower, higher, lower, faster, slower, easier, harder,
    clearer, cleaner, crisper, drier, snappier, catchier, punchier, politer, stronger, gentler,
    (?:more|less) (?:formal|casual|polite|friendly|detailed|personal|funny|serious|technical)
""")
_OTHERWISE = (
    r"(?:(?:make it|(?:a )?bit|(?:a )?little|much|even|way|still|slightly)\s+)*"
    rf"(?:{_COMPARATIVES})(?:(?:\s*,\s*|\s+and\s+|\s+but\s+)(?:{_COMPARATIVES}))*"
    r"(?:\s+(?:please|pls|again))?\W*$"
)
# Errands of daily life: "order the cake". One with a number, a later time or a restriction may be
# a note: "buy milk on the way home".
_ERRAND_VERBS = r"""
    book, reserve, order, cancel, phone, ring, text, e-?mail, message, send, pay, invite, schedule,
    water, wake, pick (?:up|\w+ up), bring(?: up)?, turn(?: (?:on|off|up|down))?,
    switch (?:on|off), play, set, post, feed
"""
_NAMED = (
    r"\s+(?-i:[A-Z])\w+(?:\s+and\s+(?-i:[A-Z])\w+)?"
    r"(?=\W*$|\s+(?:the|a|an|my|our|this|that|about|at|on|back|again|now|today|tonight|to)\b)"
)
_WHEN = r"(?:\s+(?:now|today|tonight|back|again|at \w+|on \w+|please))*\W*$"
_ERRANDS = (
    r"(?=(?:\S++\s*+){2,8}$)(?!.*(?:\d|\b(?:only|through|via|unless|until|before|after|tomorrow"
    r"|next (?:week|month|year)|on the way|\w+day)\b))"
    rf"(?:(?:{any_of(_ERRAND_VERBS)})(?:{_OBJECT}|\s+(?:more|the same)\b|{_NAMED})"
    rf"|call(?:{_NAMED}|\s+(?:the|my|our)\s+\w+{_WHEN}|\s+(?:me|him|her|them|us){_WHEN})|buy\s+\w+)"
    r"|remind me (?:to|of|about|which|what|where|when|who|how|again)\b"
)
_COMMANDS = r"""
    ls, pwd, cat, top, ps, df, du, curl, tail, head, grep, echo, env, date, true, false, make, npm,
    npx, pnpm, yarn, bun, node, deno, python3?, pip, uv, poetry, tox, pytest, ruff, mypy, eslint,
    tsc, cargo, go, git, docker, podman, kubectl, helm, terraform, just, gradle, mvn, bundle, rake,
    bash, sh, ssh, systemctl, ansible-playbook
"""
_RUNS = (
    rf"(?:{any_of(_COMMANDS)}) (?:{any_of(_WITH_OBJECT)}|fmt|validate|get|diff|status|stash|lint"
    r"|sync|up|down)(?!\w)"
)
COMMANDS = Phrases(_RUNS)
"""Matches a command line at its start: "pip install". It may also tell how something is done."""
_POLITE = (
    r"(?:(?:can|could|would|will) (?:you|u)(?! (?:like|prefer|say|rather)\b)(?: please)?"
    r"(?: just| also| quickly)?|(?:i|we)(?:'?d like| want| need| would like) you to|do you mind"
    r"|would you mind)"
)
_JOINT = r"(?:let'?s|let us|we need to)(?: just| first| now| also)? "
_JOINT_VERBS = (
    "begin, look, see, discuss, talk, decide, figure, get, work, move on, brainstorm, think"
)

ORDERS_NOW = Phrases(
    rf"(?:{_JOINT})?(?:(?:{any_of(_PLAIN)})(?!\w)|(?:{any_of(_WITH_OBJECT)}){_OBJECT}|{_ALONE}"
    rf"|run (?:{any_of(_COMMANDS)})(?![\w.])|{_RUNS}(?: \S+){{0,3}} (?:pls|plz|please)\W*$"
    rf"|{_ERRANDS}|{_OTHERWISE})"
    rf"|{_JOINT}(?:{any_of(_JOINT_VERBS)})(?!\w)|{_POLITE}\s+\w+"
)
"""Matches an order at the start of an English clause."""

# Polite questions, and forms that only orders have.
_PLAIN_FOREIGN = """
    (?:kannst|könntest|würdest|magst|willst) du, könnt ihr, könn(?:en|ten) sie, zeig, schreib,
    mach(?! ich),
    gib, sag mir, hilf mir, lass uns, lies, schau, such, erklär, prüf,
    (?:peux|pourrais|veux)-tu, (?:pouvez|pourriez|voulez)-vous, tu peux, tu pourrais, dis-moi,
    (?:montre|explique|donne|aide)-moi,
    (?:montr|écriv|ajout|supprim|lanc|exécut|corrig|expliqu|cherch
    |trouv|renomm|cré|ouvr|vérifi|regard|résum)ez, faites,
    ¿?(?:me )?(?:puedes|podrías|puede|podría), muéstrame, explícame, dame, dime, ayúdame, haz,
    (?:puoi|potresti|può|potrebbe), (?:mostra|spiega|da|di|aiuta|fam)mi, scrivi, aggiungi, esegui,
    correggi, apri, traduci, riassumi,
    (?:você pode|pode|podes|poderia|podia), me (?:dá|dê|diga|mostre|ajude), ajude-me,
    mostre(?:-me)?,
    escreva, adicione, apague, remova, exclua, execute, rode, corrija, explique(?:-me)?, renomeie,
    crie, verifique, traduza, faça,
    (?:kun|kan|wil|zou) (?:je|jij|u), kunt u, help me, zeg me, laat (?:me|mij|eens|zien), geef me,
    (?:czy )?(?:możesz|mógłbyś|mogłabyś), pokaż, napisz, dodaj, usuń, uruchom, napraw, popraw,
    wyjaśnij, znajdź, poszukaj, zmień, utwórz, stwórz, otwórz, sprawdź, przetłumacz, zrób, podaj,
    powiedz mi, pomóż mi, zobacz,
    (?:ты )?(?:можешь|мог бы|могла бы), не мог бы ты, покажи, напиши, добавь, удали, запусти,
    исправь,
    объясни, найди, поищи, переименуй, создай, открой, проверь, переведи, сделай, скажи мне,
    помоги мне, посмотри
"""
# Forms that may also be statements in the first or third person.
_WITH_OBJECT_FOREIGN = """
    zeige, schreibe, mache, lösche?, entferne?, erstelle?, benenne?, starte, prüfe, überprüfe?,
    erkläre, öffne, behebe?, korrigiere?, übersetze?, führe?, fasse?, füge?, installiere?,
    vergleiche?, ändere?,
    montre, écris, ajoute, supprime, lance, exécute, corrige, explique, cherche, trouve,
    renomme, crée,
    ouvre, vérifie, traduis, fais, donne, regarde, résume,
    muestra, escribe, añade, agrega, borra, elimina, ejecuta, corrige, arregla, explica, busca,
    renombra, crea, abre, revisa, traduce, mira, comprueba, resume,
    mostra, elimina, cancella, lancia, sistema, spiega, cerca, trova, rinomina, controlla, verifica,
    fai, guarda,
    escreve, adiciona, apaga, remove, executa, roda, corrige, explica, procura, renomeia, cria,
    abre,
    traduz, faz, resume,
    toon, schrijf, voeg, verwijder, voer, draai, repareer, los, leg, zoek, vind, hernoem, maak,
    open,
    controleer, vertaal, kijk, vat
"""
_OBJECT_FOREIGN = (
    r"\s+(?:die|das|den|der|dem|eine?[nm]?|mir|uns|alle|es|sie|bitte|mal|diese\w*|le|la|les"
    r"|l'\w+|un|"
    r"une|des|ce|cet|cette|ces|mon|ma|tout\w*|ça|moi|el|los|las|una|este|esta|esto|ese|eso|todos"
    r"|todas|"
    r"il|lo|i|gli|questo|questa|tutt\w|o|os|a(?! la)|as|um|uma|isto|isso|esse|essa|de|het|een"
    r"|dit|dat|"
    r"deze|alle|alles|eens)(?!\w)"
)
_GERMAN_VERBS = """
    bestell, bezahl, buch, erinner, kauf, reservier,
    änder, aktivier, aktualisier, analysier, bau, benenn, benutz, beheb, committe?, deaktivier,
    dokumentier, dreh, entfern, ergänz, ersetz, erstell, fass, formatier, führ, füg, geh, guck,
    hol, implementier, installier, kopier, korrigier, kürz, leg, lass, lös, lösch, merge?, nutz,
    öffn, optimier, pack, probier, push, räum, schalt, schick, schließ, setz, sieh, sortier,
    speicher, start, stell, streich, teil, test, trag, übernimm, übersetz, überprüf,
    überarbeit, vereinfach, verbesser, vergiss, verschieb, versuch, verwend, wechsel, wiederhol
"""
# "der" is missing: "Fass der Woche" and "Bau der Brücke" are nouns with a genitive.
_GERMAN_OBJECT = (
    r"(?:\s+(?:bitte|doch|mal|kurz|jetzt|einfach|noch|gleich|eben|schnell|erst|wieder|dann))*+"
    r"\s+(?:das|die(?!\s+(?:finger|hände)\b)|den|dem|es|sie|ihn|eine?[nm]?|mir|mich|dir|uns|alle\w*"
    r"|beide\w*|diese\w*|bitte|mal|kurz|jetzt|nochmals?|noch\s+(?:ein)?mal|erneut|wieder|mehr"
    r"|hier|weiter|los)(?!\w)"
)
# Forms in "-e" need an adverb: "trage eine Brille" may mean "I wear glasses".
_GERMAN_ADVERB = (
    r"\s+(?:(?:das|es|die)\s+)?(?:bitte|mal|kurz|jetzt|nochmals?|noch\s+(?:ein)?mal|erneut)(?!\w)"
    r"|\s+(?:das|es)\W*$"
)
_GERMAN = (
    rf"(?:{any_of(_GERMAN_VERBS)})(?:(?:e?n\s+sie)?{_GERMAN_OBJECT}|e{_GERMAN_ADVERB})"
    r"|(?:probiere?|versuche?|mache?|lasse?|nimm|zeige?|starte?)'?s(?!\w)"
    r"|(?:schauen|sehen|zeigen|machen|geben|lesen|prüfen|schreiben|suchen|gehen)\s+sie(?!\w)"
    r"|noch\s?(?:ein)?mal(?:\s+bitte)?\W*$|lass\s+(?:gut|stecken|mal)\b"
)
_OTHER_PLAIN = r"""
    (?:essa(?:ie|ye)|tente)[rz]? (?:encore|à nouveau|de nouveau|autre chose|ça|avec),
    réessa(?:ie|ye)[rz]?, jet(?:te|ez) un (?:œil|oeil|coup d'œil), refai(?:s|tes)(?:-l[ea]s?)?,
    mets(?:-l[ea]s?)? (?:à jour|le|la|les|ça|un|une), regardez? (?:dans|si|ce), recommence,
    (?:relance|corrige|change|teste|enlève|modifie|lis|essaie|continue)-l(?:e|a|es),
    (?:change|modifie|enlève|retire|relance|teste|remplace|déplace|nettoie|fusionne|annule|prépare
    |complète|installe|relis|lis)z? (?:ça|cela|le|la|les|l'\w+|ce|cet|cette|ces|tout|un|une),
    (?:inténta|pruéba|cámbia|míra|bórra|arrégla|ejecúta|revísa|corríge|quíta|haz|pon)l[oa]s?,
    prueba (?:otra vez|de nuevo), écha(?:le|me) un (?:vistazo|ojo), dale un vistazo,
    vuelve a (?:intentar|ejecutar|probar|lanzar|mirar|hacer)\w*, mira en (?:el|la|los|las),
    (?:cambia|quita|deja|mira|haz|prueba) (?:eso|esto|aquello),
    riprova(?:ci)?, (?:prova|tenta) (?:ancora|di nuovo), dai un'occhiata,
    (?:cambia|guarda|togli|sposta|prova|lascia) (?:questo|quello|ciò),
    guarda (?:nei|nel|nella|nelle|negli), (?:fa|cambia|prova|apri|cancella|esegui|correggi)ll?[oa],
    (?:riesegui|rilancia|riscrivi|rifai|togli|aggiorna) (?:l[oaie]|il|gli|questo|questa|tutto),
    (?:tent[ea]|prov[ea]|experimente?) (?:de novo|novamente|outra vez), d[áê] uma olhada,
    (?:muda|mude|altera|altere|troca|troque|apaga|deixa|tira|vê|refaz) (?:isso|isto|aquilo),
    (?:mude|altere|troque|atualize|teste|rode|olhe|veja|leia|abra|refaça|arrume|conserte) (?:os?|as?
    |isso|isto|um|uma|nos?|nas?|tudo), olha (?:os|as|nos|nas|só) \w+,
    (?:probeer|verander|wijzig|kijk|bekijk|zet|haal|start|herstart|test|lees|werk|ruim|gooi|sla
    |doe|bouw|draai|commit|push|merge) (?:het|dit|dat|de|een|deze|die|alles|even|eens|nog|opnieuw),
    kijk (?:in|naar|of), pas (?:het|dit|dat|deze|die)
"""
# "Use ... this time" is no standing order: "nimm diesmal Tabs", "usa esta vez npm".
_THIS_TIME = (
    r"(?:nimm|verwend|benutz|nutz|mach|prends|utilis|essaie|usa|use|utiliza|prueba|prova|prendi"
    r"|pega|neem|gebruik|probeer|doe)e?s?z?(?:\s+(?:bitte\s+)?[^\s.?!]+){0,6}?\s+(?:diesmal"
    r"|dieses\s+mal"
    r"|cette\s+fois|esta\s+vez|stavolta|questa\s+volta|desta\s+vez|dessa\s+vez|deze\s+keer)(?!\w)"
)
ORDERS_FOREIGN = Phrases(
    rf"(?:(?:{any_of(_PLAIN_FOREIGN)}|{any_of(_OTHER_PLAIN)})(?!\w)"
    rf"|(?:{any_of(_WITH_OBJECT_FOREIGN)}){_OBJECT_FOREIGN}|{_GERMAN}|{_THIS_TIME})"
)
"""Matches an order at the start of a clause in the other languages except Chinese and Japanese."""
CJK_ORDERS = re.compile(
    r"(?:请(?!问)|請(?!問)|帮我|幫我|麻烦|能不能|给我)"
    r"|[^。]{0,200}(?:ください|下さい|くれる？|もらえますか？?)[。！]?\Z"
)

# Words of a lasting wish: a standing order ("always"), or a choice ("instead of").
STANDING = anywhere(
    r"always, never, ever again, from now on, going forward, in (?:the )?future, next time, every,"
    r" each, whenever, by default, as a (?:general )?rule, remember, keep in mind,"
    r" don't forget,"
    r" do not forget, note that, prefer, instead of, rather than, not \w+ but, must(?:n't)?,"
    r" make sure,"
    r" i like, i hate, until further notice, used to, too, hourly, daily, nightly, weekly, monthly,"
    r" yearly, (?:mon|tues|wednes|thurs|fri|satur|sun|week)days, weekends,"
    r" (?:can|could|would|will) you(?: please)? (?:keep|stop|use|avoid|prefer|call|be|answer|reply|"
    r"respond|speak|stay|stick|refrain|not|only|limit|quit|leave)",
    r"immer, nie, niemals, nie wieder, ab jetzt, ab sofort, künftig, in zukunft, jedes mal stets,"
    r" von nun an, ab heute, nicht, keine?[nrms]?, nichts, duzen?, siezen?,"
    r" jede[nmrs]?,"
    r" merk dir, dir (?:\w+ )?merken, denk daran, vergiss nicht, statt, anstatt, lieber,"
    r" standardmäßig",
    r"toujours, jamais, désormais, dorénavant, à partir de maintenant, à l'avenir, chaque, n'oublie"
    r" pas, souviens-toi, te souvenir, retenir, rappelle-toi, retiens, plutôt que, au lieu de,"
    r" par défaut",
    r"siempre, nunca, jamás, de ahora en adelante, a partir de ahora, en el futuro, cada,"
    r" recuerda, recordar,"
    r" no olvides, en lugar de, en vez de, por defecto",
    r"sempre, mai, d'ora in poi, in futuro, ogni, ricorda(?:ti|re)?, non dimenticare, invece di,"
    r" al posto"
    r" di, a partir de agora, daqui em diante, no futuro, lembre(?:-se)?, (?:se )?lembrar,"
    r" não \w+, em vez de",
    r"altijd, nooit, voortaan, vanaf nu, in de toekomst, niet, geen, elke, onthoud\w*, vergeet"
    r" niet,"
    r" in plaats van,"
    r" liever, standaard",
    r"zawsze, nigdy, od teraz, w przyszłości, każd\w+, pamiętaj, zapamięta\w+, nie zapomnij,"
    r" zamiast,"
    r" domyślnie",
    r"всегда, никогда, отныне, впредь, в будущем, кажд\w+, помни, запомни\w*, не забудь,"
    r" не забывай,"
    r" вместо, по умолчанию",
)
CONTRASTS = Phrases(
    r"(?:,|\s(?:and|but))\s*not\s+(?:(?:to|with|by|on|in|from|at|for|under|over|as|via|into)\s+)?"
    r"(?!(?:the|that|this|those|these|it|them|him|her|all|any|my|your|our|a|an|yet|now|today"
    r"|tonight|just|only|again|here|there|sure|so|too|me|you|us|necessarily|urgent|more|less|longer|later|earlier)\b)\w"
)
"""Matches a choice between two kinds of things, "not rolling"; "not the first one" is of one."""
CJK_STANDING = re.compile(
    r"总是|總是|永远|永遠|从现在|從現在|记住|記住|不要|以后|以後|每次|每天|务必|いつも|必ず|今後|覚え|毎回|毎日|ないで|常に"
)
