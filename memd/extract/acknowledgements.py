"""What people say to say that they heard: yes, no, thanks, which one. Pure.

A text of nothing but these states nothing, in nine languages and by the marks of two more.
"""

from __future__ import annotations

import re

from memd.extract.alternations import longest_first

# Cyrillic letters and wide marks are what is looked for.
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
    (?:{_PRAISE})(?: (?:job|work|idea|point|one|call|catch|stuff|luck|morning|night|evening))?,
    wow, (?:ha)+h?, lol, got it, gotcha, i see, understood, i understand, makes sense, will do,
    (?:that )?sounds? (?:so |really |very )?(?:{_PRAISE}),
    (?:that |it )?looks? (?:so )?(?:{_PRAISE}), lgtm,
    (?:that's|that is|it's|this is|that was|all|how) (?:so |really |very |just |all )?(?:{_PRAISE}),
    you're welcome, you are welcome, no problem, np, no worries, my pleasure, anytime, well done,
    congrat(?:s|ulations), agreed, i agree, exactly, absolutely, definitely, of course, indeed,
    done,
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
# Somebody is called after these: after "yes" a name is the answer.
_CALLED = "|".join(
    f"(?<={word})"
    for word in (
        *(
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
        ),
        *("great", "awesome", "nice"),
    )
)
# Atomic, and the longest first: what was taken is not tried again, however long the text.
ACKNOWLEDGES = re.compile(
    rf"(?>\W*+(?:{longest_first(_ACKNOWLEDGEMENTS)})(?![\w']))++"
    rf"(?:(?:{_CALLED}),\s+[^\W\d_]+)?\W*",
    re.IGNORECASE,
)
NEAR_ASIA_ACKNOWLEDGES = re.compile(
    r"(?>\W*+(?:OKです|好的?|嗯+|行|可以|谢谢你?|謝謝|多谢|明白了?|知道了|收到|对的?|對|是的?|没问题|沒問題|不用|不客气|继续|繼續|你好"
    r"|はい|うん|ええ|いいえ|ありがとう(?:ございます|ございました)?|どうも|了解(?:です|しました)?|わかった|わかりました|分かりました"
    r"|なるほど|いいね|いいです(?:ね)?|大丈夫(?:です)?|お願いします|よろしく(?:お願いします)?|続けて|こんにちは|ok)[了啊吧呀ね]?)++\W*",
    re.IGNORECASE,
)
