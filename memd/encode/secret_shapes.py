"""What a secret looks like: one row for each issuer's form of key, and the checks behind them.

Only values with a form of their own are listed: a prefix that an issuer has
reserved, or a checksum. The word "password" says nothing; entropy says nothing
about a commit's hash. Each row names a hint, a plain piece of text that every
such secret contains, so that a benign text is passed over without a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class Shape(NamedTuple):
    """One form of secret.

    *pattern* has a group ``secret`` where only a part is to be replaced. A
    *wraps* secret is also found when its lines were broken. *check* has the last
    word, on the secret without white space.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    wraps: bool = True
    check: Callable[[str], bool] = lambda _secret: True


def mixed(secret: str) -> bool:
    """Return whether *secret* has letters and digits, as random keys do and names rarely."""
    return any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))


def dense(secret: str) -> bool:
    """Return whether *secret* has a long mixed run; words and versions with hyphens have none."""
    return any(mixed(run) for run in _RUN.findall(secret))


def luhn(number: str) -> bool:
    """Return whether the digits of *number* pass the checksum of payment cards.

    >>> luhn("4111 1111 1111 1111"), luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = [int(digit) for digit in reversed(number) if digit.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[0::2]) + sum(doubled)) % 10 == 0


def is_card(number: str) -> bool:
    """Return whether *number* is one of the forms that issuers use, and passes the checksum."""
    digits = re.sub(r"[ -]", "", number)
    return bool(_ISSUED.fullmatch(digits)) and luhn(digits)


def is_iban(number: str) -> bool:
    """Return whether *number* has its country's length and passes the checksum of ISO 13616.

    >>> is_iban("DE89 3704 0044 0532 0130 00")
    True
    """
    compact = number.replace(" ", "")
    if len(compact) != IBAN_LENGTHS.get(compact[:2]):
        return False
    moved = compact[4:] + compact[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


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

_PEM_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

SHAPES = (
    Shape(
        "private-key",
        ("PRIVATE KEY",),
        re.compile(
            rf"-----BEGIN {_PEM_NAME}"
            rf"(?:(?:[^-]|-(?!----))*-----END {_PEM_NAME}|(?:\s*[A-Za-z0-9+/=]{{40,}})+)"
        ),
        wraps=False,
    ),
    Shape("aws-key", ("AKIA", "ASIA"), re.compile(r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])")),
    Shape(
        "aws-secret",
        ("ecret",),
        re.compile(
            r"aws_?secret_?(?:access_?)?key[\"']?\s{0,4}[=:]\s{0,4}[\"']?"
            r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
            re.IGNORECASE,
        ),
        wraps=False,
    ),
    Shape(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        re.compile(r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    ),
    Shape("github-token", ("github_pat_",), re.compile(r"github_pat_[A-Za-z0-9_]{22,255}")),
    Shape("slack-token", ("xox",), re.compile(r"xox[abeoprs]-[A-Za-z0-9-]{10,250}"), check=mixed),
    Shape("anthropic-key", ("sk-ant-",), re.compile(r"sk-ant-[A-Za-z0-9_-]{16,200}"), check=mixed),
    Shape("openai-key", ("sk-",), re.compile(r"sk-[A-Za-z0-9_-]{20,250}"), check=dense),
    Shape("stripe-key", ("k_live_",), re.compile(r"[sr]k_live_[A-Za-z0-9]{16,250}")),
    Shape("google-key", ("AIza",), re.compile(r"AIza[A-Za-z0-9_-]{30,60}"), check=mixed),
    Shape("gitlab-token", ("glpat-",), re.compile(r"glpat-[A-Za-z0-9_.-]{20,250}")),
    Shape("npm-token", ("npm_",), re.compile(r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])")),
    Shape("pypi-token", ("pypi-",), re.compile(r"pypi-[A-Za-z0-9_-]{32,500}"), check=dense),
    Shape("huggingface-token", ("hf_",), re.compile(r"hf_[A-Za-z0-9]{30,100}")),
    Shape(
        "sendgrid-key",
        ("SG.",),
        re.compile(r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    ),
    Shape("age-key", ("AGE-SECRET-KEY-",), re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]{58}")),
    Shape(
        "jwt",
        ("eyJ",),
        re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    ),
    Shape(
        "url-password",
        ("://",),
        re.compile(
            # The last @ before the path ends the password; what a template or a
            # placeholder stands for is no secret.
            r"://[^\s/:@\"'<>\[]{0,100}:(?P<secret>(?![$<{\[*%])[^\s/\"'<>]{1,200})@(?=[\w\[])"
        ),
        wraps=False,
    ),
    Shape(
        "bearer-token",
        ("earer ", "EARER "),
        re.compile(r"\bbearer {1,4}(?P<secret>[A-Za-z0-9._~+/-]{20,4096}=*)", re.IGNORECASE),
        wraps=False,
        check=mixed,
    ),
)

CARD = Shape(
    "card-number",
    (),
    re.compile(r"(?<![\w.-])(?=[2-6])\d(?:[ -]?\d){12,18}(?![\w-])(?!\.\d)"),
    wraps=False,
    check=is_card,
)
IBAN = Shape(
    "iban",
    (),
    re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"),
    wraps=False,
    check=is_iban,
)

EXAMPLES = frozenset(
    ("AKIAIOSFODNN7EXAMPLE", "AKIAI44QH8DHBEXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
)
"""Keys that documentation uses, and that open nothing."""
