"""memd's own shapes of secrets, and their checks.

Only values with a distinctive form are listed: a prefix reserved by an issuer, a position that
holds nothing but a password, or a checksum. The word "password" alone proves nothing, nor does
entropy, which a commit's hash has, too; both together do (decision 0316).
Most issuers are in the third-party rules (:mod:`memd.guard.secret_rules`).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import NamedTuple


class SecretShape(NamedTuple):
    """One form of secret, in the syntax of RE2.

    A text with such a secret also matches *keywords*, ignoring case; without them *pattern* is
    not even compiled. The first matching *group* is replaced, or the whole match without one.
    A *wraps* secret is also found across line breaks. *check* finally decides, on the secret
    without white space. *named*: the form begins with a company's name.
    """

    kind: str
    pattern: str
    wraps: bool = True
    check: Callable[[str], bool] = lambda _secret: True
    named: bool = False
    group: int | None = None
    keywords: str = ""


def is_mixed(secret: str) -> bool:
    """Return whether *secret* has letters and digits, like random keys and unlike most names."""
    return any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))


def is_dense(secret: str) -> bool:
    """Return whether *secret* has a long run of letters and digits, unlike words and versions."""
    return any(is_mixed(run) for run in _RUN.findall(secret))


def is_password(secret: str) -> bool:
    """Return whether *secret* is no placeholder of documentation for a password.

    Nor a port followed by a path, which an address without a password has there.
    """
    return not _PLACEHOLDERS.fullmatch(secret) and not _PORT_AND_PATH.match(secret)


def is_written_password(secret: str) -> bool:
    """Return whether *secret*, which is called a password, is made as people make one.

    It has a digit and two more of upper case, lower case and signs. One without upper case looks
    like a name, unless it is of words and a number.

    >>> [is_written_password(one) for one in ("gr4sh0pper!22", "tee-Kanne-77", "correct-horse-9")]
    [True, True, True]
    >>> [is_written_password(one) for one in ("see-the-vault", "12-characters", "eu-west-1")]
    [False, False, False]
    """
    if _NO_PASSWORD.search(secret) or not any(map(str.isdigit, secret)):
        return False
    is_upper, is_lower = any(map(str.isupper, secret)), any(map(str.islower, secret))
    signs = set(secret) & _PASSWORD_SIGNS
    if is_upper or signs - {"-"}:
        return is_upper + is_lower + bool(signs) >= 2  # noqa: PLR2004  # of the other three
    return _WORDS_AND_NUMBER.fullmatch(secret) is not None


def is_credentials(encoded: str) -> bool:
    """Return whether *encoded* is base64 of a name and a password that is no placeholder."""
    try:
        plain = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        return False
    _, colon, password = plain.partition(":")
    return bool(colon) and is_password(password)


def passes_luhn(number: str) -> bool:
    """Return whether the digits of *number* pass the checksum of payment cards.

    >>> passes_luhn("4111 1111 1111 1111"), passes_luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = [int(digit) for digit in reversed(number) if digit.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[0::2]) + sum(doubled)) % 10 == 0


def is_card(number: str) -> bool:
    """Return whether *number* has an issuer's form and passes the checksum."""
    digits = re.sub(r"[ -]", "", number)
    return bool(_ISSUED.fullmatch(digits)) and passes_luhn(digits)


def has_card_context(text: str, start: int, end: int) -> bool:
    """Return whether the number is grouped as on a card, or the text around it mentions one.

    Every tenth number passes the checksum, which alone would match ids of parcels and orders.

    >>> has_card_context("pay by Visa 4111111111111111", 12, 28)
    True
    >>> has_card_context("parcel 4111111111111111", 7, 23)
    False
    """
    before, after = text[max(0, start - _NEAR_CHARS) : start], text[end : end + _NEAR_CHARS]
    if _OF_CARDS.search(before) or _OF_CARDS.search(after):
        return True
    return bool(_AS_ON_A_CARD.fullmatch(text, start, end)) and not _OF_IDS.search(before)


def is_iban(number: str) -> bool:
    """Return whether *number* has its country's length and the checksum of ISO 13616.

    >>> is_iban("DE89 3704 0044 0532 0130 00")
    True
    """
    compact = number.replace(" ", "")
    if len(compact) != IBAN_LENGTHS.get(compact[:2]):
        return False
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


_PLACEHOLDERS = re.compile(
    r"(?:my|your|the|some|db|user|root|admin|super)?[-_]?"
    r"(?:pass(?:word|wd|phrase|wort)?|pw|pwd|secret|token|key|user(?:name)?|postgres|root|admin|guest"
    r"|example|test|changeme|change-me|foo|bar|baz|x+|\.+)[-_]?(?:here)?",
    re.IGNORECASE,
)
_PASSWORD_SIGNS = frozenset("!@#%^*+?~-")
_NO_PASSWORD = re.compile(
    r"[(){}\[\]<>|\\/;&_=$]|\.[A-Za-z]{2}|::|->"
)  # code, paths, names of hosts
_WORDS_AND_NUMBER = re.compile(r"[a-z]{3,}(?:-[a-z]{3,})+-?\d{1,6}")
_NEAR_CHARS = 60
_OF_CARDS = re.compile(
    r"\b(?:(?:credit|debit|bank|kredit|giro)?[ -]?(?:cards?|karten?)|carte|tarjeta|carta|visa|amex"
    r"|master ?card|american express|discover|diners|jcb|maestro|cvv|cvc|pan|ccn?)\b",
    re.IGNORECASE,
)
_OF_IDS = re.compile(
    r"\b(?:track\w*|parcel|shipment|order|invoice|ticket|serial|imei|id|number|nr|no|ref\w*"
    r"|case|sendung\w*|bestell\w*|phone|tel)\b",
    re.IGNORECASE,
)
_AS_ON_A_CARD = re.compile(r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}|3[47]\d\d([ -])\d{6}\2\d{5}")
_PORT_AND_PATH = re.compile(r"\d{1,5}/")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}"  # Amex, Diners, JCB
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}"  # Discover, UnionPay
)
_LENGTHS = (
    "AD24 AE23 AT20 BE16 BG22 BR29 CH21 CY28 CZ24 DE22 DK18 EE20 ES24 FI18 FR27 GB22 GR27 HR21"
    " HU28 IE22 IL23 IS26 IT27 KW30 LI21 LT20 LU20 LV21 MC27 MT31 NL18 NO15 PK24 PL28 PT25 QA29"
    " RO24 RS22 SA24 SE24 SI19 SK24 SM27 TR26 UA29"
)
IBAN_LENGTHS = {country[:2]: int(country[2:]) for country in _LENGTHS.split()}

# What a password is called, and what it may be made of, up to the punctuation behind it.
_CALLED = (
    r"(?:[a-z0-9]{0,20}pass(?:word|wd|phrase|wort)|pass(?:code)?|kennwort|pwd?|psk|contraseña"
    r"|mot de passe|wachtwoord|senha)"
)
_VALUE = r"([^\s\"'`$<{*(\[][^\s\"'`<>,;]{6,62}[^\s\"'`<>.,;:)])"
_PEM_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

SHAPES = (
    SecretShape(
        "private-key",
        rf"-----BEGIN {_PEM_NAME}"
        rf"(?:(?:[^-]|-{{1,4}}[^-])*-----END {_PEM_NAME}|(?:\s*[A-Za-z0-9+/=]{{40,}})+)",
        wraps=False,
        keywords="-----BEGIN ",
    ),
    SecretShape(
        "private-key",
        r"PuTTY-User-Key-File-\d: [^\x00]{0,999}?Private-Lines: \d+\s+(?:[A-Za-z0-9+/=]{8,}\s*)+"
        r"(?:Private-(?:MAC|Hash): [0-9a-f]+)?",
        wraps=False,
        keywords="PuTTY-User-Key-File-",
    ),
    SecretShape("aws-key", r"(A[KS]IA[A-Z0-9]{16})(?:[^A-Za-z0-9]|$)", keywords="A[KS]IA"),
    SecretShape(
        "aws-secret",
        r"(?i:secret_?access_?key|aws_?secret_?key)[\"']?\s{0,4}[=:]\s{0,4}[\"']?"
        r"([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
        wraps=False,
        keywords="secret",
    ),
    SecretShape("github-token", r"gh[pousr]_[A-Za-z0-9]{30,255}", keywords="gh[pousr]_"),
    SecretShape("github-token", r"github_pat_[A-Za-z0-9_]{22,255}", keywords="github_pat_"),
    SecretShape(
        "slack-token",
        r"xox[abcdeoprs]-[A-Za-z0-9-]{10,250}",
        check=is_mixed,
        keywords="xox[abcdeoprs]-",
    ),
    SecretShape(
        "anthropic-key", r"sk-ant-[A-Za-z0-9_-]{16,200}", check=is_mixed, keywords="sk-ant-"
    ),
    SecretShape("openai-key", r"sk-[A-Za-z0-9_-]{20,250}", check=is_dense, keywords="sk-"),
    SecretShape("stripe-key", r"[sr]k_live_[A-Za-z0-9]{16,250}", keywords="[sr]k_live_"),
    SecretShape("google-key", r"AIza[A-Za-z0-9_-]{30,60}", check=is_mixed, keywords="AIza"),
    SecretShape("gitlab-token", r"glpat-[A-Za-z0-9_.-]{20,250}", keywords="glpat-"),
    SecretShape("npm-token", r"(npm_[A-Za-z0-9]{36})(?:[^A-Za-z0-9]|$)", keywords="npm_"),
    SecretShape("pypi-token", r"pypi-[A-Za-z0-9_-]{32,500}", check=is_dense, keywords="pypi-"),
    SecretShape("huggingface-token", r"hf_[A-Za-z0-9]{30,100}", keywords="hf_"),
    SecretShape(
        "sendgrid-key",
        r"(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|$)",
        keywords=r"SG\.",
    ),
    SecretShape(
        "telegram-token",
        r"\b([0-9]{8,12}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)",
        keywords=":AA",
    ),
    SecretShape("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}", keywords="AGE-SECRET-KEY-1"),
    SecretShape(
        "jwt", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?", keywords=r"\.eyJ"
    ),
    SecretShape(
        "url-password",
        # The last @ before the path ends the password; what a template or a placeholder
        # stands for is no secret.
        r"://[^\s/:@\"'<>\[]{0,100}:([^$<{\[*%\s/\"'<>][^\s/\"'<>]{0,199})@[\w\[]",
        wraps=False,
        check=is_password,
        keywords="://",
    ),
    SecretShape(
        "url-password",  # with a slash in it: then the first @ ends it
        r"://[^\s/:@\"'<>\[]{1,100}:([^$<{\[*%\s/@\"'<>][^\s@\"'<>]{0,199})@[\w\[]",
        wraps=False,
        check=is_password,
        keywords="://",
    ),
    SecretShape(
        "bearer-token",
        r"(?i)\bbearer {1,4}([A-Za-z0-9._~+/-]{20,}=*)",
        wraps=False,
        check=is_mixed,
        keywords="bearer",
    ),
    SecretShape(
        "basic-credentials",
        r"(?i)\bauthorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?basic {1,4}([A-Za-z0-9+/]{8,}={0,2})",
        wraps=False,
        check=is_credentials,
        keywords="authorization",
    ),
    SecretShape(
        "netrc-password",
        r"(?i)\bmachine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}"
        r"([^\s$<{*]\S{0,199})",
        wraps=False,
        check=is_password,
        keywords="password",
    ),
    SecretShape(
        "pgpass-password",
        r"(?m)^[\w.-]{1,200}:(?:[1-6]\d{3,4}|\*):[\w*-]{1,100}:[\w*-]{1,100}:([^\s:$<{*]\S{3,199})$",
        wraps=False,
        check=is_password,
        keywords=":",
    ),
    SecretShape(
        "password",
        r"\b(?:PGPASSWORD|MYSQL_PWD|MYSQL_ROOT_PASSWORD|POSTGRES_PASSWORD|REDISCLI_AUTH|SSHPASS)"
        r"[\"']?\s{0,2}[=:]\s{0,2}[\"']?([^\s\"'$<{*]{4,200})",
        wraps=False,
        check=is_password,
        keywords="PASSWORD|MYSQL_PWD|REDISCLI_AUTH|SSHPASS",
    ),
    SecretShape(  # "password = x", "the pw for staging is x", "user me pw x"
        "password",
        rf"(?i)\b(?:[a-z0-9]{{1,20}}[_-]){{0,3}}{_CALLED}\b[\"'`]?"
        rf"(?:(?:[ \t][^\s:=]{{1,20}}){{0,4}}[ \t]{{0,2}}(?:[=:]|->|\b(?:is|ist|lautet|es|est|è)\b)"
        rf"|[ \t])[ \t]{{0,2}}[\"'`]?{_VALUE}",
        wraps=False,
        check=is_written_password,
        keywords="pass|kennwort|pw|psk|contraseña|wachtwoord|senha",
    ),
    SecretShape(  # "login me:x"
        "password",
        r"(?i)\b(?:login|user(?:name)?|cred(?:ential)?s|zugang(?:sdaten)?)(?:[ \t]is)?[ \t:=]{1,3}"
        rf"[\"'`]?[\w.@-]{{1,40}}[ \t]?[:/][ \t]?{_VALUE}",
        wraps=False,
        check=is_written_password,
        keywords="login|user|cred|zugang",
    ),
    SecretShape(
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/\d{15,21}/([\w-]{60,80})",
        keywords=r"\.com/api/webhooks/",
    ),
    SecretShape("google-token", r"ya29\.[\w-]{20,}", check=is_mixed, keywords=r"ya29\."),
    SecretShape("google-secret", r"GOCSPX-[\w-]{20,60}", check=is_mixed, keywords="GOCSPX-"),
    SecretShape("vault-token", r"\bhv[sbr]\.[\w-]{24,400}", check=is_mixed, keywords=r"hv[sbr]\."),
    SecretShape(
        "stripe-secret", r"whsec_[A-Za-z0-9+/=]{24,100}", check=is_mixed, keywords="whsec_"
    ),
    SecretShape(
        "tailscale-key", r"tskey-[a-z]{3,12}-[\w-]{20,80}", check=is_mixed, keywords="tskey-"
    ),
    SecretShape(
        "newrelic-key",
        r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{19,64}",
        check=is_mixed,
        keywords="NR(?:AK|JS|II)-",
    ),
    SecretShape(
        "hubspot-token",
        r"\bpat-[a-z]{2}\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        keywords="pat-",
    ),
    SecretShape("mapbox-token", r"\bsk\.eyJ[\w-]{20,500}\.[\w-]{20,60}", keywords=r"sk\.eyJ"),
    SecretShape("dropbox-token", r"\bsl\.[\w-]{100,1000}", check=is_mixed, keywords=r"sl\."),
    SecretShape("fly-token", r"\bfo1_[\w-]{40,60}", check=is_mixed, keywords="fo1_"),
    SecretShape("crates-token", r"\bcio[A-Za-z0-9]{32}\b", check=is_mixed, keywords="cio"),
    SecretShape(
        "aliyun-secret",
        r"(?i:aliyun|alibaba)\w{0,30}(?i:secret)[\"']?\s{0,4}[=:]\s{0,4}[\"']?([A-Za-z0-9]{30})\b",
        wraps=False,
        check=is_mixed,
        keywords="secret",
    ),
)
"""memd's own shapes: wider than third-party rules, or missing there."""

CARD = SecretShape("card-number", "", wraps=False, check=is_card)
CARDS = re.compile(r"(?<![\w.-])(?=[2-6])\d(?:[ -]?\d){12,18}(?![\w-])(?!\.\d)")
IBAN = SecretShape("iban", "", wraps=False, check=is_iban)
IBANS = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")

EXAMPLES = frozenset(
    (
        "AKIAIOSFODNN7EXAMPLE",
        "AKIAI44QH8DHBEXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==",  # RFC 7617
    )
)
"""Example keys of documentation."""
