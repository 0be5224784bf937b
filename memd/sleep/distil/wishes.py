"""Standing wishes in other languages than English: how things are done here, what nobody wants.

German, French, Spanish, Portuguese, Italian and Dutch. Each names a verb in the form in
which people speak of themselves or to an assistant, and a word that makes it a rule, so
that a report ("wir benutzen gerade den alten Server") is none. Pure.
"""

from __future__ import annotations

import re

_LANGUAGES = (
    # German
    r"(?:wir|ich) (?:benutzen?|verwenden?|nutzen?|nehmen?|schreiben?|arbeiten?|mergen|committen)\b"
    r"[^.?!]*\b(?:nicht|kein\w*|nur|immer|grundsätzlich|statt|ausschließlich)",
    r"ich (?:will|möchte|mag|brauche)\b[^.?!]{0,20}\b(?:nicht|kein\w*|nie)",
    r"frage? (?:mich|uns)\b[^.?!]*\b(?:bevor|vorher|zuerst)",
    r"bevor du\b[^.?!]*, *(?:frag|sag|zeig|lies|prüf)\w*",
    r"(?:das|die|den)\b[^.?!]* mache? ich (?:selbst|selber)",
    r"(?:schreib|antwort|red|sprich|erklär|kommentier)\w*\b[^.?!]*\bauf (?:deutsch|englisch)",
    # French
    r"(?:on|nous) (?:n')?(?:utilis|écri|travaill|gard|préfér)\w*\b[^.?!]*"
    r"\b(?:pas|jamais|toujours|uniquement|seulement|plutôt que)",
    r"je ne veux (?:pas|plus|jamais|aucun)",
    r"demande[sz]?-(?:moi|nous)\b[^.?!]*\bavant",
    r"avant de\b[^.?!]*, *(?:demande|montre|vérifie|lance)\w*",
    r"à partir de maintenant",
    r"arrête[sz]? (?:de \w+|d'\w+)",
    r"(?:répond|écri|parle|explique)\w*\b[^.?!]*\ben (?:français|anglais)",
    # Spanish and Portuguese
    r"usamos\b[^.?!]*(?:,| y| e) (?:no|não|nunca|sempre|siempre|só|solo)",
    r"(?:nunca|siempre|sempre|solo|só) (?:usamos|usa|use|haz|hagas|faça|corre|ejecuta|rode)",
    r"a partir de (?:ahora|agora)",
    r"(?:pregúnta|avísa|consúlta|muéstra)(?:me|nos)\b[^.?!]*\bantes",
    r"(?:me (?:pergunte|avise|mostre)|pergunte-me)\b[^.?!]*\bantes",
    r"antes de\b[^.?!]*, *(?:pregunta|avisa|muestra|corre|pergunte|avise|mostre|rode)\w*",
    r"no quiero (?:que |\w+)",
    r"não quero (?:que |\w+)",
    r"^\W*(?:por favor,? )?no (?:uses|hagas|agregues|añadas|toques|cambies|borres|escribas|vuelvas)"
    r"(?! (?:eso|esto|nada|lo|la)\b)",
    r"^\W*(?:por favor,? )?não (?:use|faça|adicione|toque|mude|apague|escreva|crie)"
    r"(?! (?:isso|isto|nada|o|a)\b)",
    r"(?:responde|responda|escribe|escreva|habla|fale)\w*\b[^.?!]*"
    r"\bem? (?:español|inglés|português|inglês)",
    r"(?:responde|escribe|habla)\w*\b[^.?!]*\ben (?:español|inglés)",
    # Italian
    r"usiamo\b[^.?!]*(?:,| e) (?:non|mai|sempre|solo)",
    r"non (?:fare|usare|aggiungere|toccare|cambiare|scrivere|cancellare|creare)\b[^.?!]*\bmai",
    r"non \w+ mai",
    r"mai più",
    r"d[a']? ?ora in (?:poi|avanti)|da adesso in poi",
    r"(?:chiedi|avvisa|mostra)(?:mi|ci)\b[^.?!]*\bprima",
    r"prima di\b[^.?!]*, *(?:chiedi|avvisa|mostra|esegui)\w*",
    r"non voglio (?:che |\w+)",
    r"(?:rispondi|scrivi|parla)\b[^.?!]*\bin (?:italiano|inglese)",
    # Dutch
    r"(?:we|wij|ik) (?:gebruiken?|werken?|schrijven?|houden?)\b[^.?!]*"
    r"\b(?:niet|geen|alleen|altijd|in plaats van)",
    r"ik heb liever",
    r"(?:ik|we|wij) wil(?:len)? (?:\w+ )?(?:geen|niet|nooit)",
    r"vraag (?:het )?(?:me|mij|ons)\b[^.?!]*\b(?:voordat|vooraf|eerst)",
    r"voordat je\b[^.?!]*, *(?:vraag|laat|lees|controleer)\w*",
    r"(?:antwoord|schrijf|praat|leg uit)\b[^.?!]*\bin het (?:nederlands|engels)",
)
WISHES = re.compile(rf"(?<!\w)(?:{'|'.join(_LANGUAGES)})(?!\w)", re.IGNORECASE)
"""How somebody wants work done, in a language that is not English."""
