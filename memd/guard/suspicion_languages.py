"""Patterns of orders in other languages than English, over letters that are not folded.

They match the most common forms of "ignore the previous instructions" and "from now on, when
asked", in German, French, Spanish, Portuguese, Italian, Chinese, Japanese, Korean and Russian.
Orders in further languages are not detected; prompts fence and mark them like any stored text.
"""

from __future__ import annotations

from memd.domain.trust import Flag
from memd.guard.suspicion_shapes import SuspicionShape, certain

LANGUAGES: tuple[SuspicionShape, ...] = (
    certain(
        Flag.INSTRUCTION,
        ("ignorier", "vergiss", "missacht", "anweisung", "anordnung"),
        r"\b(?:ignorier\w*|vergi(?:ss|ß)\w*|missacht\w*|beachte\w* nicht)\b[^.\n]{0,50}?"
        r"\b(?:vorherig|bisherig|früher|frueher|obig|vorangegangen|vorig|vorstehend|all|deine"
        r"|ursprünglich)\w*\b[^.\n]{0,30}?\b(?:anweisung|instruktion|vorgabe|befehl|richtlinie"
        r"|systemprompt|regeln)\w*",
    ),
    certain(
        Flag.INSTRUCTION,
        ("ignor", "oubli", "tiens pas compte", "tenez pas compte"),
        r"\b(?:ignore[sz]?|ignorer|oublie[sz]?|oublier|ne (?:tiens"
        r"|tenez) pas compte (?:de|des))"
        r"\b[^.\n]{0,40}?\b(?:instructions?|consignes?|directives?|r[èe]gles|ordres)\b[^.\n]"
        r"{0,30}?\b(?:pr[ée]c[ée]dent\w*|ant[ée]rieur\w*|ci-dessus|re[çc]ues?|initiales?)",
    ),
    certain(
        Flag.INSTRUCTION,
        ("ignor", "olvid", "descart", "esquec", "desobed", "dimentic", "desconsider"),
        r"\b(?:ignor[aeo]\w*|olvid[ae]\w*|descart[ae]\w*|esque[çc]a\w*|desobede\w+|dimentic\w+"
        r"|desconsider\w+)\b[^.\n]{0,50}?\b(?:instruc\w+|instruç\w+|istruzioni|indicaciones"
        r"|[óo]rdenes|ordens|ordini|reglas|regras|regole)\b[^.\n]{0,30}?\b(?:anterior\w*"
        r"|previ\w*"
        r"|pr[ée]vi\w*|precedent\w*|de arriba|recibid\w*)"
        r"|\b(?:ignor[aeo]\w*|olvid[ae]\w*|dimentic\w+)\b[^.\n]{0,30}?\b(?:anterior\w*|previ\w+"
        r"|precedent\w*)\b[^.\n]{0,20}?\b(?:instruc\w+|instruç\w+|istruzioni|reglas|regras)",
    ),
    certain(
        Flag.INSTRUCTION,
        ("忽略", "无视", "無視", "忘记", "忘記", "忽視", "不要理会", "不要遵"),
        r"(?:忽略|无视|無視|忘记|忘記|忽視|不要理会|不要遵[守循])[^。\n]{0,14}(?:之前|先前|以前|以上|上述|所有"
        r"|前面|一切|原有)[^。\n]{0,12}(?:指令|指示|说明|說明|命令|提示|规则|規則|要求)"
        r"|(?:以前|これまで|上記|前|すべて|全て)の?[^。\n]{0,10}(?:指示|命令|指令|プロンプト|ルール)[^。\n]{0,8}(?:無視|忘れ)",
    ),
    certain(
        Flag.INSTRUCTION,
        ("무시", "잊"),
        r"(?:이전|위의|앞의|모든)[^.\n]{0,12}(?:지시|명령|지침|규칙)[^.\n]{0,12}(?:무시|잊)",
    ),
    certain(
        Flag.INSTRUCTION,
        ("игнорир", "забудь", "забыть"),
        r"\b(?:про)?(?:игнорируй\w*|забудь\w*)[^.\n]{0,30}?(?:предыдущ|прежн|все|ранее"
        r"|прошл)\w*"
        r"[^.\n]{0,30}?(?:инструкци|указани|команд|правил)\w*",
    ),
    certain(
        Flag.TRIGGER,
        ("ab jetzt", "ab sofort", "von nun an", "künftig", "immer wenn"),
        r"\b(?:ab jetzt|ab sofort|von nun an|künftig|in zukunft|immer)\b[^.\n]{0,70}?\b(?:wenn"
        r"|falls|sobald)\b[^.\n]{0,70}?\b(?:gefragt|fragt|frage|wissen will)\b",
    ),
    certain(
        Flag.TRIGGER,
        ("désormais", "a partir de", "à partir de", "de ahora en", "dorénavant", "d'ora in poi"),
        r"\b(?:désormais|dorénavant|à partir de maintenant|a partir de ahora"
        r"|de ahora en adelante"
        r"|a partir de agora|d'ora in poi)\b[^.\n]{0,80}?\b(?:quand|lorsqu\w*|si|cuando"
        r"|cada vez que|quando|se|chaque fois)\b[^.\n]{0,80}?(?:demand|pregunt|pergunt"
        r"|chied|interrog)\w*",
    ),
    certain(
        Flag.TRIGGER,
        ("从现在", "從現在", "今后", "今後", "以后"),
        r"(?:从现在开始|从现在起|從現在開始|今后|今後|以后)[^。\n]{0,30}(?:问|問|询问|提到|提及|聞かれ)[^。\n]{0,40}"
        r"(?:总是|總是|必须|必須|一定|都要|永远|务必|推荐|必ず|常に)",
    ),
)
"""Patterns for text that is not folded."""
