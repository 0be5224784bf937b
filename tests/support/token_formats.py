"""The formats of keys, by their issuers' documentation: parts and lengths, no real key.

Each row is a template: ``{alphabet:count}`` stands for that many random characters, so no file of
the repository contains anything that looks like a secret. The text before a ``|`` or after a second
one is the context of the secret and stays.
"""

from __future__ import annotations

import base64
import random
import re
import string
from functools import cache

_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "dig": string.digits,
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "any": string.ascii_letters + string.digits,
    "url": string.ascii_letters + string.digits + "-_",
    "b64": string.ascii_letters + string.digits + "+/",
    "b32": string.ascii_uppercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}

# One issuer a line: what it is, and how it looks.
_ROWS = """
1password secret key: A3-{up:6}-{up:6}-{up:5}-{up:5}-{up:5}-{up:5}
adobe client secret: p8e-{low:32}
age key: AGE-SECRET-KEY-1{bech:58}
airtable token: pat{any:14}.{hex:64}
alibaba sts: LTAI{any:20} then aliyun_access_key_secret = |{any:30}
anthropic api: sk-ant-api03-{url:93}AA
anthropic admin: sk-ant-admin01-{url:93}AA
artifactory key: AKCp{any:69}
atlassian token: ATATT3{url:186}
aws access key: AKIA{b32:16}
aws temporary key: ASIA{b32:16}
aws secret: aws_secret_access_key = |{b64:40}
aws secret in json: "SecretAccessKey": "|{b64:40}|"
aws bedrock: ABSK{b64:128}
azure storage: DefaultEndpointsProtocol=https;AccountName=bees;AccountKey=|{b64:86}==
azure client secret: {any:3}8Q~{any:34}
basic header: Authorization: Basic |{basic:1}
bearer header: Authorization: Bearer |{any:40}
bitbucket app password: https://ann:|{any:32}|@bitbucket.org/bees/hive.git
brevo: xkeysib-{hex:64}-{any:16}
buildkite: bkua_{low:40}
circleci: CCIPAT_{any:22}_{hex:40}
clickup: clickup = |pk_{dig:8}_{up:32}
clojars: CLOJARS_{low:60}
cloudflare key: CLOUDFLARE_API_KEY=|{low:37}abc
cloudflare origin: v1.0-{hex:24}-{hex:146}
crates.io: cio{any:32}
databricks: dapi{hex:32}
datadog key: DATADOG_API_KEY=|{low:40}
digitalocean token: dop_v1_{hex:64}
digitalocean oauth: doo_v1_{hex:64}
digitalocean refresh: dor_v1_{hex:64}
discord bot: discord_token = |{hex:64}
discord webhook: https://discord.com/api/webhooks/{dig:18}/|{url:68}
docker hub: dckr_pat_{url:27}
docker hub organisation: dckr_oat_{url:32}
doppler: dp.pt.{any:43}
dropbox: sl.{url:135}
dynatrace: dt0c01.{up:24}.{up:64}
easypost: EZAK{any:54}
facebook page: EAAM{any:110}
fastly: fastly_api_token = |{url:32}
figma: figd_{url:40}
flutterwave: FLWSECK_TEST-{hexh:32}-X
fly.io: fo1_{url:43}
github classic: ghp_{any:36}
github oauth: gho_{any:36}
github app: ghs_{any:36}
github fine-grained: github_pat_{any:22}_{any:59}
gitlab personal: glpat-{url:20}
gitlab deploy: gldt-{url:20}
gitlab pipeline: glptt-{hex:40}
gitlab runner: glrt-{url:20}
google api: AIza{url:35}
google oauth secret: GOCSPX-{url:28}
google oauth token: ya29.{url:60}
grafana service: glsa_{any:32}_{hex:8}
grafana cloud: glc_{b64:100}
groq: gsk_{any:52}
hashicorp terraform: {any:14}.atlasv1.{url:67}
hashicorp vault: hvs.{url:95}
hashicorp vault batch: hvb.{url:140}
heroku: HRKU-{any:60}
hubspot: pat-na1-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
hugging face: hf_{any:34}
json web token: eyJ{any:33}.eyJ{url:60}.{url:43}
lark: lark_app_secret = |{low:32}
launchdarkly: launchdarkly_access_token = |api-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
linear: lin_api_{any:40}
mailchimp: mailchimp_key = |{hex:32}-us20
mailgun: mailgun_private_key = |key-{hex:32}
mapbox: sk.eyJ{any:60}.{url:22}
netlify: netlify_token = |{url:43}
netrc: machine api.example.org login ann password |{any:16}
new relic: NRAK-{up:27}
notion: ntn_{dig:11}{any:35}
npm: npm_{any:36}
nvidia: nvapi-{url:64}
okta: okta_api_token = |00{url:40}
ollama and others by bearer: authorization: bearer |{hex:32}.{url:24}
openai classic: sk-{any:20}T3BlbkFJ{any:20}
openai project: sk-proj-{any:74}T3BlbkFJ{any:74}
openrouter: sk-or-v1-{hex:64}
openssh key: {pem:OPENSSH}
rsa key: {pem:RSA}
perplexity: pplx-{any:48}
pgpass: db.example.org:5432:bees:ann:|{any:14}
PGPASSWORD: PGPASSWORD=|{any:14}
planetscale: pscale_tkn_{url:43}
plaid: plaid_secret = |{low:30}
postman: PMAK-{hex:24}-{hex:34}
prefect: pnu_{low:36}
pulumi: pul-{hex:40}
putty key: {putty:1}
pypi: pypi-AgEIcHlwaS5vcmc{url:80}
redis address: redis://:|{any:18}|@cache.example.org:6379/0
password with a slash: postgres://ann:|{any:8}/{any:8}|@db.example.org/bees
replicate: r8_{any:37}
rubygems: rubygems_{hex:48}
sendgrid: SG.{url:22}.{url:43}
sentry organisation: sntrys_eyJpYXQiO{b64:40}LCJyZWdpb25fdXJs{b64:50}_{b64:43}
sentry user: sntryu_{hex:64}
shippo: shippo_live_{hex:40}
shopify access: shpat_{hex:32}
shopify shared: shpss_{hex:32}
slack bot: xoxb-{dig:12}-{dig:12}-{any:24}
slack user: xoxp-{dig:12}-{dig:12}-{dig:12}-{hex:32}
slack app: xapp-1-A{up:10}-{dig:13}-{hex:64}
slack webhook: https://hooks.slack.com/services/T{up:10}/B{up:10}/{any:24}
snyk: snyk_token = |{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
sourcegraph: sgp_{hex:40}
square: sq0atp-{url:22}
square production: EAAA{url:60}
stripe: sk_live_{any:24}
stripe restricted: rk_live_{any:24}
stripe webhook: whsec_{any:32}
supabase: sbp_{hex:40}
tailscale: tskey-auth-{any:12}-{any:32}
tailscale api: tskey-api-{any:12}-{any:21}
telegram bot: telegram_token = |{dig:10}:A{url:34}
twilio: SK{hex:32}
twitch: twitch_token = |{low:30}
vercel: vcp_{url:56}
weights and biases: wandb_api_key = |{hex:40}
xai: xai-{any:80}
yandex: yandex_api_key = |AQVN{url:36}
zendesk: zendesk_secret = |{low:40}
"""


@cache
def formats() -> dict[str, str]:
    """Return the template of each format, by its name."""
    return dict(line.split(": ", 1) for line in _ROWS.strip().splitlines())


@cache
def token(name: str, seed: int) -> tuple[str, str]:
    """Return a text with a token of format *name*, and the token in it."""
    chance = random.Random(f"{name} {seed}")  # nothing here is to be kept secret

    def some(part: re.Match[str]) -> str:
        return _block(chance, part[1], part[2])

    example = re.sub(r"\{(\w+):(\w+)\}", some, formats()[name])
    before, bar, rest = example.partition("|")
    secret, _, after = (rest if bar else before).partition("|")
    return (before + secret + after if bar else secret), secret


def _some(chance: random.Random, alphabet: str, count: int) -> str:
    return "".join(chance.choices(_ALPHABETS[alphabet], k=count))


def _block(chance: random.Random, kind: str, count: str) -> str:
    if kind == "basic":
        return base64.b64encode(f"ann:{_some(chance, 'any', 16)}".encode()).decode()
    if kind == "hexh":
        return "".join(chance.choices("abcdefgh0123456789", k=int(count)))
    if kind == "pem":
        name = f"{count} PRIVATE" + " KEY"
        return f"-----BEGIN {name}-----\n{_lines(chance, 12)}\n-----END {name}-----"
    if kind == "putty":
        head = "PuTTY-User-Key-" + "File-3: ssh-ed25519\nEncryption: none\nComment: ann"
        body, sum_ = _some(chance, "b64", 48), _some(chance, "hex", 64)
        return f"{head}\nPrivate-Lines: 1\n{body}\nPrivate-MAC: {sum_}"
    return _some(chance, kind, int(count))


def _lines(chance: random.Random, count: int) -> str:
    return "\n".join(_some(chance, "b64", 70) for _ in range(count))
