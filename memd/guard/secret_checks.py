"""Checks that distinguish secrets from placeholders, names and sentences.

Each check gets the candidate without white space.
"""

from __future__ import annotations

import base64
import math
import re
from collections import Counter


def is_mixed(secret: str) -> bool:
    """Return whether *secret* has letters and digits, like random keys and unlike most names."""
    return any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))


def is_dense(secret: str) -> bool:
    """Return whether *secret* has a long run of letters and digits, unlike words and versions."""
    return any(is_mixed(run) for run in _RUN.findall(secret))


def is_password(secret: str) -> bool:
    """Return whether *secret* is neither a placeholder for a password nor a port with a path.

    A URL without a password has a port and a path in the same position.
    """
    return not _PLACEHOLDERS.fullmatch(secret) and not _PORT_AND_PATH.match(secret)


def is_written_password(secret: str) -> bool:
    """Return whether *secret*, after a word for a password, is composed like a password.

    It has a digit, and at least two of upper case, lower case and signs. If "-" is its only sign
    and it has no upper case, it must consist of words and a number; others are usually names.

    >>> [is_written_password(word) for word in ("gr4sh0pper!22", "tee-Kanne-77", "correct-horse-9")]
    [True, True, True]
    >>> [is_written_password(word) for word in ("see-the-vault", "12-characters", "eu-west-1")]
    [False, False, False]
    """
    if _NO_PASSWORD.search(secret) or not any(map(str.isdigit, secret)):
        return False
    is_upper, is_lower = any(map(str.isupper, secret)), any(map(str.islower, secret))
    signs = set(secret) & _PASSWORD_SIGNS
    if is_upper or signs - {"-"}:
        return is_upper + is_lower + bool(signs) >= 2  # noqa: PLR2004  # upper case, lower case, signs
    return _WORDS_AND_NUMBER.fullmatch(secret) is not None


def is_assigned_password(secret: str) -> bool:
    """Return whether *secret*, a value assigned to a password, is one.

    In this position lower-case letters with a number within or after them are enough, unless they
    name an algorithm or something usually numbered; so is a generated value.

    >>> [is_assigned_password(word) for word in ("hunter2secret", "kirschbaum77", "postgres16")]
    [True, True, False]
    """
    if is_written_password(secret) or is_generated(secret):
        return True
    return _LETTERS_AND_NUMBER.fullmatch(secret) is not None and not _NUMBERED.match(secret)


def is_generated(secret: str) -> bool:
    """Return whether *secret* is random like a generated token, unlike names, paths and versions.

    It has letters and digits, and at every eighth character or oftener these alternate or a
    capital begins no word; names have a number or two.

    >>> [is_generated(value) for value in ("mk_7ac91be04d5f6283", "user_profile_v2_2024")]
    [True, False]
    """
    if len(secret) < _GENERATED_CHARS_MIN or not is_mixed(secret):
        return False
    if _NO_TOKEN.search(secret) or is_placeholder(secret):
        return False
    alternations = len(_ALTERNATIONS.findall(secret))
    return alternations >= max(3, len(secret) / 8) and entropy(secret) >= _GENERATED_BITS_MIN


def is_placeholder(secret: str) -> bool:
    """Return whether *secret* says that it stands for one, as "your-key" and "xxxxx" do."""
    return _STANDS_FOR.search(secret) is not None


def entropy(secret: str) -> float:
    """Return the Shannon entropy of *secret* in bits per character.

    >>> entropy("aabb"), entropy("aaaa")
    (1.0, 0.0)
    """
    length = len(secret)
    shares = [count / length for count in Counter(secret).values()]
    return -sum(share * math.log2(share) for share in shares) + 0.0


def is_random(secret: str) -> bool:
    """Return whether *secret* has digits and both upper and lower case, like generated keys."""
    return all(any(map(has_kind, secret)) for has_kind in (str.isdigit, str.isupper, str.islower))


def is_app_password(secret: str) -> bool:
    """Return whether *secret*, four groups of four letters, is not part of a sentence.

    >>> [is_app_password(word) for word in ("qzbfmxwtohajkvne", "willonlyworkwith")]
    [True, False]
    """
    letters = secret.replace("-", "").lower()
    return sum(bool(_FOUR_LETTERS.match(letters, at)) for at in range(0, 16, 4)) <= 1


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
    return bool(_ISSUER_FORMATS.fullmatch(digits)) and passes_luhn(digits)


def has_card_context(text: str, start: int, end: int) -> bool:
    """Return whether the number is grouped as on a card, or the text around it mentions one.

    The checksum is not enough: every tenth number passes it, also ids of parcels and orders.

    >>> has_card_context("pay by Visa 4111111111111111", 12, 28)
    True
    >>> has_card_context("parcel 4111111111111111", 7, 23)
    False
    """
    before, after = text[max(0, start - _NEAR_CHARS) : start], text[end : end + _NEAR_CHARS]
    if _CARD_WORDS.search(before) or _CARD_WORDS.search(after):
        return True
    return bool(_CARD_GROUPS.fullmatch(text, start, end)) and not _ID_WORDS.search(before)


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
_LETTERS_AND_NUMBER = re.compile(r"[a-z]{3,}\d{1,4}(?:[a-z]{3,})?")
_NUMBERED = re.compile(
    r"base|sha|utf|md|argon|scrypt|bcrypt|pbkdf|oauth|http|ipv|hmac|aes|rsa|postgres|mysql|python"
    r"|test|user|admin|pass|secret|token|field|value|version|example"
)
_GENERATED_CHARS_MIN, _GENERATED_BITS_MIN = 14, 2.75
_NO_TOKEN = re.compile(r"://|\.[a-z][a-z0-9]{1,4}$|^(?i:sha|md)\d{1,3}[:=-]")  # URLs, files, hashes
_ALTERNATIONS = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)|(?<=[a-z])(?=[A-Z](?![a-z]))")
_STANDS_FOR = re.compile(
    r"example|placeholder|x{5}|your[-_]|changeme|redacted|dummy|\*{3}|\.{3}", re.IGNORECASE
)
_FOUR_LETTERS = re.compile(
    r"also|been|both|code|does|done|each|even|ever|from|have|here|into|just|keep|kept|know|like|long"
    r"|made|mail|make|more|most|much|must|need|none|once|only|open|over|page|same|send|site|some"
    r"|sure|take|than|that|them|then|they|this|time|used|user|uses|very|want|well|were|what|when|will"
    r"|with|work|your"
)
_NEAR_CHARS = 60
_CARD_WORDS = re.compile(
    r"\b(?:(?:credit|debit|bank|kredit|giro)?[ -]?(?:cards?|karten?)|carte|tarjeta|carta|visa|amex"
    r"|master ?card|american express|discover|diners|jcb|maestro|cvv|cvc|pan|ccn?)\b",
    re.IGNORECASE,
)
_ID_WORDS = re.compile(
    r"\b(?:track\w*|parcel|shipment|order|invoice|ticket|serial|imei|id|number|nr|no|ref\w*"
    r"|case|sendung\w*|bestell\w*|phone|tel)\b",
    re.IGNORECASE,
)
_CARD_GROUPS = re.compile(r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}|3[47]\d\d([ -])\d{6}\2\d{5}")
_PORT_AND_PATH = re.compile(r"\d{1,5}/")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_ISSUER_FORMATS = re.compile(
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
