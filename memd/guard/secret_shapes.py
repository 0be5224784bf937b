"""memd's own shapes of secrets, and their checks.

Only values with a distinctive form are listed: a prefix reserved by an issuer, a position that
only a password can have, or a checksum. Neither the word "password" nor high entropy, which commit
hashes have as well, is enough; both together are (decisions 0316, 0393).
Most issuers are in the third-party rules (:mod:`memd.guard.secret_rules`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memd.guard.secret_checks import (
    is_app_password,
    is_assigned_password,
    is_card,
    is_credentials,
    is_dense,
    is_generated,
    is_iban,
    is_mixed,
    is_password,
    is_random,
    is_written_password,
)


class SecretShape(NamedTuple):
    """One form of secret, in the syntax of RE2.

    Every text with such a secret matches *keywords*, ignoring case; *pattern* is compiled when a
    text first does. The *group* is replaced, the whole match without one. *wraps*: also search
    across line breaks. *check* decides on the matched secret without white space. *named*: the
    pattern begins with the issuer's name.
    """

    kind: str
    pattern: str
    wraps: bool = True
    check: Callable[[str], bool] = lambda _secret: True
    named: bool = False
    group: int | None = None
    keywords: str = ""


# Names of passwords, and the characters of a value, up to the punctuation after it.
_NAME_PATTERN = (
    r"(?:[a-z0-9]{0,20}pass(?:word|wd|phrase|wort)|pass(?:code)?|kennwort|pwd?|psk|contraseña"
    r"|mot de passe|wachtwoord|senha|palavra[- ]passe|lösenord(?:et)?|adgangskoden?|hasło)"
)
_NAME_KEYWORDS = "pass|kennwort|pw|psk|contraseña|wachtwoord|senha|lösenord|adgangskode|hasło"
_QUOTE = r"[\\\"'`]{0,2}"  # with a backslash in JSON within JSON
_ASSIGNS = (  # "=", ": str =", ":=", "=>", ":", "->", "is"; RE2 has no \b beside the last letters
    r"(?:(?::[ \t]?[a-z]{1,20}[ \t])?:?=>?|:|->|\b(?:is|ist|lautet|es|est)\b|[éèä]r?[ \t])"
)
_ASSIGNMENT = rf"{_QUOTE}(?:[ \t][^\s:=]{{1,20}}){{0,6}}[ \t]{{0,2}}{_ASSIGNS}[ \t]{{0,2}}{_QUOTE}"
_BLANK = rf"{_QUOTE}[ \t]{{1,3}}{_QUOTE}"  # "--token x"
_VALUE = r"([^\s\"'`\\$<{*(\[][^\s\"'`\\<>,;]{6,62}[^\s\"'`\\<>.,;:)])"
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
        # "://user:PASSWORD@host": the last @ before the path ends the password. A template
        # or placeholder ("${PASSWORD}", "<password>") is no secret.
        r"://[^\s/:@\"'<>\[]{0,100}:([^$<{\[*%\s/\"'<>][^\s/\"'<>]{0,199})@[\w\[]",
        wraps=False,
        check=is_password,
        keywords="://",
    ),
    SecretShape(
        "url-password",  # a password with a slash: the first @ ends it
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
    SecretShape(  # "user me pw x"
        "password",
        rf"(?i)\b(?:[a-z0-9]{{1,20}}[_-]){{0,3}}{_NAME_PATTERN}{_BLANK}{_VALUE}",
        wraps=False,
        check=is_written_password,
        keywords=_NAME_KEYWORDS,
    ),
    SecretShape(  # "password = x", "the pw for staging is x"
        "password",
        rf"(?i)\b(?:[a-z0-9]{{1,20}}[_-]){{0,3}}{_NAME_PATTERN}{_ASSIGNMENT}{_VALUE}",
        wraps=False,
        check=is_assigned_password,
        keywords=_NAME_KEYWORDS,
    ),
    SecretShape(  # of Nextcloud; product keys are upper case and do not match
        "app-password",
        r"\b([A-Za-z0-9]{5}(?:-[A-Za-z0-9]{5}){4})\b",
        check=is_random,
        keywords="-",
    ),
    SecretShape(  # of Google and Apple
        "app-password",
        r"(?i)\bapp(?:[ -]specific)?[ -]passwords?\b[^\n]{0,24}?[ :=\"'`]"
        r"([a-z]{4}(?:[ -][a-z]{4}){3})\b",
        wraps=False,
        check=is_app_password,
        keywords="app",
    ),
    SecretShape(
        "url-token",
        r"(?i)[?&](?:access_?|auth_?|api_?|secret_?)?(?:token|key|secret|sig|signature|password|pwd)="
        r"([\w.~%+-]{8,500})",
        check=is_mixed,
        keywords="(?:token|key|secret|sig|signature|password|pwd)=",
    ),
    SecretShape(
        "url-token",  # the secret address of a calendar
        r"/private-([0-9a-f]{16,64})/",
        keywords="/private-",
    ),
    SecretShape(
        "pin",  # of a card or a phone; pin numbers of a board are shorter
        r"(?i)\b(?:the|my|her|his|our|card|bank|debit|visa|sim|phone)(?:'?s)? (?:[a-z]{1,12} )?"
        r"pin(?:[ -](?:code|number))?(?:[ ]?[:=]|[ ]is)?[ ](\d{4})\b",
        wraps=False,
        keywords=r"\bpin\b",
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
"""memd's own shapes, which third-party rules lack or match too narrowly."""

ASSIGNED = SecretShape(  # "API_KEY=x", "the api token is x", "--token x"
    "generic-secret",
    rf"(?i)(?:token|secret|key|schlüssel)(?:{_ASSIGNMENT}|{_BLANK})"
    # Not the name of a function or an attribute, which a bracket follows.
    r"([\w+-][\w+/=.~:%!@#^*?-]{12,}[\w+/=-])(?:[.:!?]{0,3}(?:[^\w.:!?(\[{<$]|$))",
    wraps=False,
    check=is_generated,
    keywords="token|secret|key|schlüssel",
)
"""A generated value after a word for a secret, of any issuer."""

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
        # The IBAN registry and ISO 13616; banks use them as test accounts.
        "AT611904300234573201",
        "BE68539007547034",
        "CH9300762011623852957",
        "DE89370400440532013000",
        "ES9121000418450200051332",
        "FR1420041010050500013M02606",
        "GB29NWBK60161331926819",
        "GB82WEST12345698765432",
        "IT60X0542811101000000123456",
        "NL91ABNA0417164300",
        "PL61109010140000071219812874",
        "PT50000201231234567890154",
    )
)
"""Example keys and accounts of documentation."""
