"""No key in this file is one: they have the form, and open nothing."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.work_units import effort

from memd.base.limits import NAME_CHARS_MAX
from memd.guard.redaction import redact, redact_all
from memd.guard.secret_rules import read_rules
from memd.guard.secrets import ENCODED, HIDDEN, SCREENED, screen, screen_name

DATA = Path(__file__).parents[4] / "shared/data"

AWS = "AKIA" + "1234567890ABCDEF"
GITHUB = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.c2lnbmF0dXJl-_9"
PEM_BODY = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"] * 3)
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"

SECRETS = [
    ("aws-key", AWS),
    ("aws-key", "ASIA" + "1234567890ABCDEF"),
    ("github-token", GITHUB),
    ("github-token", GITHUB.replace("ghp", "gho")),
    ("github-token", GITHUB.replace("ghp", "ghu")),
    ("github-token", GITHUB.replace("ghp", "ghs")),
    ("github-token", GITHUB.replace("ghp", "ghr")),
    ("github-token", "github_pat_" + "11ABCDEFG0123456789_abcdefghijkl2n4p"),
    ("slack-token", "xoxb-" + "123456789012-abcdefGHIJKL"),
    ("slack-token", "xoxp-" + "123456789012-abcdefGHIJKL"),
    ("anthropic-key", "sk-ant-" + "api03-abcdefghij0123456789-ABC_DEF"),
    ("openai-key", "sk-" + "abcdefghij0123456789ABCD"),
    ("openai-key", "sk-proj-" + "abcdefghij0123456789ABCD-x_y"),
    ("stripe-key", "sk_live_" + "0123456789abcdefABCDEF"),
    ("stripe-key", "rk_live_" + "0123456789abcdefABCDEF"),
    ("google-key", "AIza" + "SyA1234567890abcdefghijklmnopqrstuv"),
    ("gitlab-token", "glpat-" + "0123456789abcdefABCD"),
    ("npm-token", "npm_" + "0123456789abcdefghijABCDEFGHIJ012345"),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMC0wMDAw"),
    ("huggingface-token", "hf_" + "abcdefghijABCDEFGHIJabcdefghijABCD"),
    ("sendgrid-key", "SG." + "a1" * 11 + "." + "b2" * 21 + "c"),
    ("telegram-token", "7123456789:AA" + "H9x_Kq-2b" * 3 + "ZpTq4w"),
    ("age-key", "AGE-SECRET-KEY-1" + "Q2" * 29),
    ("jwt", JWT),
    ("private-key", PEM),
    ("private-key", PEM.replace("RSA ", "").replace("\n", "\\n")),
    ("private-key", PEM.rsplit("\n", 1)[0]),
    ("card-number", "4111 1111 1111 1111"),
    ("card-number", "5555-5555-5555-4444"),
    ("card-number", "3782 822463 10005"),
    ("iban", "DE41 5001 0517 0123 4567 89"),
    ("iban", "GB02NWBK60161331926820"),
]


def test_eight_keys_written_together_without_a_gap_are_all_replaced() -> None:
    """Each one that is replaced frees the next, so it takes a round for each."""
    text = screen(("AGE-SECRET-KEY-1" + "Q2" * 29) * 8).text

    assert text == "".join(f"[secret:age-key#{number}]" for number in range(1, 9))


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_every_listed_form_is_replaced(kind: str, secret: str) -> None:
    for text in (secret, f"use {secret}, please", f"KEY={secret}\nnext line", f'"{secret}"'):
        screening = screen(text)
        assert screening.kinds == (kind,)
        assert screening.text == text.replace(secret, f"[secret:{kind}#1]")


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_a_secret_split_by_what_cannot_be_seen_is_replaced_whole(kind: str, secret: str) -> None:
    middle = len(secret) // 2
    for gap in ("\u200b", "\u2060\ufeff", "\ufe0f", "\x00", "\U000e0041"):
        text = f"a {secret[:3]}{gap}{secret[3:middle]}{gap}{secret[middle:]} b"
        assert screen(text).text == f"a [secret:{kind}#1] b"


@pytest.mark.parametrize(
    ("kind", "secret"),
    [pair for pair in SECRETS if pair[0] not in ("private-key", "card-number", "iban")],
)
def test_a_secret_split_by_a_newline_is_replaced_whole(kind: str, secret: str) -> None:
    for at in (3, len(secret) // 3, len(secret) // 2, len(secret) - 9):
        for gap in ("\n", "\r\n", "\n    "):
            text = f"a {secret[:at]}{gap}{secret[at:]} b"
            assert screen(text).text == f"a [secret:{kind}#1] b"


def test_words_on_the_line_after_a_secret_stay() -> None:
    for after in ("Then we went", "afterwards", "v2 is out", "README", "x"):
        assert screen(f"{GITHUB}\n{after}").text == f"[secret:github-token#1]\n{after}"


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("postgres://u:p@h", "postgres://u:[secret:url-password#1]@h"),
        ("https://me:a:b@c@host:80/x?y=z@w", "https://me:[secret:url-password#1]@host:80/x?y=z@w"),
        ("redis://:pw123@h/0", "redis://:[secret:url-password#1]@h/0"),
        ("a: bearer abcdef0123456789abcd", "a: bearer [secret:bearer-token#1]"),
        (
            'aws_secret_access_key = "' + "abcdefghij0123456789ABCDEFGHIJ+/abcdef01" + '"',
            'aws_secret_access_key = "[secret:aws-secret#1]"',
        ),
    ],
)  # fmt: skip
def test_only_the_secret_part_is_replaced(text: str, replaced: str) -> None:
    assert screen(text).text == replaced


@pytest.mark.parametrize(
    "before",
    [
        "the broker is 10.0.4.2 user plantnode pw ",
        "password=",
        "export MQTT_PASSWORD=",
        'password: "',
        '"dbPassword": "',
        "the password is ",
        "the db pw for staging is ",
        "passwort fürs nas: ",
        "la contraseña del router es ",
        "a senha do wifi é ",
        "palavra-passe: ",
        "lösenordet till nätet är ",
        "wifi psk ",
        "login admin:",
        "creds: me / ",
    ],
)
@pytest.mark.parametrize("secret", ["Gr4sh0pper!22", "tee-Kanne-77", "Sommer2026", "tea-pot-9x2!"])
def test_what_is_called_a_password_and_made_like_one_is_replaced(before: str, secret: str) -> None:
    assert screen(f"{before}{secret}, dont commit that").text == (
        f"{before}[secret:password#1], dont commit that"
    )


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        (
            "it asks for an app password for the phone, its Kf2bQ-7tHzP-xJ4Ld-9RwNa-mV3Jc",
            "it asks for an app password for the phone, its [secret:app-password#1]",
        ),
        ("gmail app password qzbf mxwt ohaj kvne", "gmail app password [secret:app-password#1]"),
        ("an app password qzbf-mxwt-ohaj-kvne", "an app password [secret:app-password#1]"),
        ("https://p.example/a?token=w4Tr7KmS1y&p=2", "https://p.example/a?token=[secret:url-token#1]&p=2"),
        (
            "calendar.google.com/calendar/ical/me/private-0f3c5a7e9b1d2c4a6e8f/basic.ics",
            "calendar.google.com/calendar/ical/me/private-[secret:url-token#1]/basic.ics",
        ),
        ("password: hunter2secret", "password: [secret:password#1]"),
        ("my card pin is 7391, dont tell", "my card pin is [secret:pin#1], dont tell"),
        ("mums visa pin 7391", "mums visa pin [secret:pin#1]"),
    ],
)  # fmt: skip
def test_what_services_issue_to_people_is_replaced(text: str, replaced: str) -> None:
    assert screen(text).text == replaced


def test_the_same_secret_has_the_same_number() -> None:
    other = AWS.replace("1", "2")
    screening = screen(f"{AWS} {other} {GITHUB} {AWS}")
    assert screening.text == (
        "[secret:aws-key#1] [secret:aws-key#2] [secret:github-token#1] [secret:aws-key#1]"
    )
    assert screening.kinds == ("aws-key", "github-token")


def test_a_number_that_the_text_brings_along_is_not_given_twice() -> None:
    assert screen(f"[secret:aws-key#3] {AWS}").text == "[secret:aws-key#3] [secret:aws-key#4]"


BENIGN = [
    "44f4c7c0b1d2e3f405162738495a6b7c8d9e0f1a",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "/usr/lib/python3.11/site-packages/sk-learn/hf_hub/npm_config.py",
    "my password policy is long",
    "the password must be at least 12-characters long, sha-256-hashed",
    "password: process.env.DB_PASSWORD_V2, pwd = Form2.Password, pass: test_login_2",
    "--- PASS: TestFormatTimestamp/valid_RFC3339_timestamp_with_UTC_-_useUTC_true",
    "login for prod-eu-west-1 with user pi@10.0.4.2:/srv/Files2",
    "password: see the vault; the Bearer authentication-scheme-of-choice",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "sk-estimator-with-a-very-long-name-v2",
    "task-oriented-dialogue-system-evaluation-2024",
    "pypi-publish-github-action-with-a-long-name-v1-2-3",
    "files begin with -----BEGIN PRIVATE KEY----- and go on",
    "https://example.com:8080/a@b and http://host:80/path",
    "postgres://user:$PASSWORD@host, https://me:<password>@host, ftp://a:{pw}@h",
    "4111 1111 1111 1112",
    "1700000000000 1234567890123456 0000000000000000",
    "DE89 3704 0044 0532 0130 00",  # the example of the IBAN registry
    "DE41 5001 0517 0123 4567 88",
    "FR76 IS NOT AN ACCOUNT",
    "eyJhbGciOiJIUzI1NiJ9 alone",
    "an app password will only work with imap; app passwords they must have been made",
    "VK7JG-NPHTM-C97JM-9MPGT-3V66T is the generic key, step1-step2-step3-step4-step5 its steps",
    "password: base64encoded, https://host/list?page=3&sort_key=created_at2&key=name",
    "the led is on pin 13, my pin 4 is free, the pin code of the area is 560001",
    "a\nb\n\nsk-\nlearn\nghp_\n",
    "https://x:80\nmail me@example.com",
]


@pytest.mark.parametrize("text", BENIGN)
def test_what_only_resembles_a_secret_is_untouched(text: str) -> None:
    assert (*screen(text), screen(text).flags) == (text, (), ())


def test_h63_an_encoded_secret_is_only_flagged() -> None:
    blob = base64.b64encode(AWS.encode()).decode()
    assert screen(f"x {blob} y") == (f"x {blob} y", ())
    assert screen(f"x {blob} y").flags == (ENCODED,)
    assert screen(base64.b64encode(PEM.encode()).decode()).flags == (ENCODED,)
    assert screen(base64.b64encode(b"sk-learn is a library, not a key").decode()).flags == ()


@pytest.mark.parametrize("text", ["a\U000e0041b", "\u202eabc", "a\ufe01\ufe02b"])
def test_hidden_text_is_only_remarked_on(text: str) -> None:
    assert (*screen(text), screen(text).flags) == (text, (), (HIDDEN,))


def test_ordinary_emoji_hide_nothing() -> None:
    assert screen("👩\u200d👧 ❤\ufe0f").flags == ()


_WORDS = re.compile(r"(?<![\\\[(?])\b[A-Za-z]{3,12}\b")


def test_no_secret_is_a_short_name_of_letters_alone() -> None:
    """Which names rely on: none of the forms can be less than twenty letters and nothing else."""
    prefixes = {word for rule in read_rules()["rules"] for word in _WORDS.findall(rule["pattern"])}
    for prefix in {*prefixes, "AKIA", "sk", "hf"}:
        for text in (prefix.ljust(19, "A"), prefix.rjust(19, "A")):
            assert not screen(text[:19]).kinds


def test_names_are_screened_and_stay_names() -> None:
    assert screen_name(f"repo/{GITHUB}") == "repo/[secret:github-token#1]"
    assert screen_name("docs/notes.md") == "docs/notes.md"
    assert len(screen_name("a" * (NAME_CHARS_MAX - 9) + "://u:p@h.")) == NAME_CHARS_MAX


@given(st.lists(st.one_of(st.sampled_from([secret for _, secret in SECRETS]), st.text())))
def test_screening_twice_changes_nothing_more(parts: list[str]) -> None:
    once = screen(" ".join(parts)).text
    assert screen(once).text == once


@pytest.mark.parametrize(
    "unit",
    ["-----BEGIN PRIVATE KEY-----", "://a:", "4 ", "DE89 3704 ", "eyJaaaaaaaaa.", "sk-", "Bearer ",
     "AKIA\n", "a\u200b", "\n ", "4111-", "ghp_" + "a" * 29 + "\n", AWS + " ", "c2st"],
)  # fmt: skip
def test_a_hostile_text_is_screened_in_bounded_time(unit: str) -> None:
    with effort() as spent:
        screen(unit * (300_000 // len(unit)))
    assert spent.units < 300


def _lines() -> list[str]:
    """Return lines of real conversations and transcripts, those with text only."""
    texts: list[str] = []
    for path in sorted(DATA.rglob("*")):
        if path.suffix in {".md", ".jsonl", ".traj"}:
            texts += path.read_text(errors="replace").splitlines()
    for sample in json.loads((DATA / "locomo-dev/locomo-dev.json").read_text()):
        sessions = [value for value in sample["conversation"].values() if isinstance(value, list)]
        texts += [turn["text"] for session in sessions for turn in session]
    return [text for text in texts if len(text.strip()) > 10]


@pytest.mark.skipif(not DATA.exists(), reason="the evaluation data are not here")
def test_at_most_one_benign_line_in_a_hundred_is_touched() -> None:
    lines = _lines()
    step = len(lines) // 1_000
    chosen = lines[::step][:1_000]
    assert len(chosen) == 1_000
    touched = [line for line in chosen if screen(line).kinds]
    assert len(touched) <= 10


def test_a_long_text_that_was_screened_is_not_looked_at_again() -> None:
    """It leaves memd many times, and others would wait for each."""
    text = "a sentence of a long text, with xoxb-1a\n in it. " * 4_000
    SCREENED.clear()
    with effort() as first:
        seen = screen(text)
    with effort() as again:
        for _ in range(10):
            assert screen(seen.text).text == seen.text
    assert again.units < first.units / 2 + 1


def test_what_has_more_keys_in_a_row_than_there_are_rounds_loses_the_whole_stretch() -> None:
    key, line = "AGE-SECRET-KEY-1" + "Q2" * 29, "a line of honest words here\n" * 200
    SCREENED.clear()
    text = screen(f"{line}{key * 20} stays\n{line}").text
    assert key not in text
    assert text.startswith(line)
    assert text.endswith(f" stays\n{line}")
    assert SCREENED, "a last look found nothing"
    SCREENED.clear()
    assert screen(text).text == text


def test_a_placeholder_behind_a_rule_s_word_is_no_secret() -> None:
    text = screen("PGPASSWORD=h2D6ww8YUxiJiz").text
    assert text == "PGPASSWORD=[secret:password#1]"
    assert screen(text).kinds == ()


KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(st.integers(0, 2**128 - 1), st.datetimes(timezones=ZONES))
def test_no_rule_finds_a_secret_in_an_id_or_a_time(number: int, moment: datetime) -> None:
    digits = UUID(f"{number % 10**32:032d}")  # the likeliest to be taken for a card
    for text in (str(UUID(int=number)), str(digits), moment.isoformat()):
        assert screen(text).text == text == redact(text)


def test_what_only_begins_like_one_is_screened() -> None:
    for text in (f"2026-03-01T12:00:00Z {KEY}", f"0192f0c4-7b1e-7cc3-9a51-3b2c5d7e8f90 {KEY}"):
        assert KEY not in redact(text)


def test_every_text_and_every_key_of_an_answer_is_screened() -> None:
    answer = {KEY: [KEY, {"a": (KEY, 1, 1.5, True, None)}], "short": "x"}
    left = redact_all(answer)
    assert KEY not in repr(left)
    (_, inner), short = left.values()
    assert (inner["a"][1:], short) == ([1, 1.5, True, None], "x")
