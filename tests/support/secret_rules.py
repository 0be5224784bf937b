"""Update ``memd/guard/secret_rules.json``: ``python -m support.secret_rules`` (from ``tests``).

The rules are those of Betterleaks (MIT), the successor of gitleaks, and of Veles (Apache-2.0), as
MongoDB publishes them in the package ``kingfisher-secret-scanner``. Only the rules are used, as
data: install the package beside memd, run this and the tests, and keep the licences in
``memd/guard/secret_rules.LICENSE`` up to date.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from support.secret_keywords import keywords

PACKAGE = "kingfisher-secret-scanner"
TARGET = Path(__file__).parents[2] / "memd" / "guard" / "secret_rules.json"

NO_SECRET = re.compile(
    r"-(?:id|(?<!webhook-)(?<!sensitive-)url|host|domain|name|username|address|repository)$"
)
"""What opens nothing by itself: rules of names and addresses that only help other rules."""

OMITTED = {
    "alibaba-secret-key": "any thirty letters after the word key",
    "alibaba-sts-access-key-secret": "any thirty letters after the word key",
    "aws-session-token": "needs a flag that RE2 has not; its access key is found",
    "deepseek-api-key": "the hash of a file named sk-",
    "generic-credential-uri": "memd has its own, which leaves the rest of the address",
    "hashicorp-tf-password": "any quoted word after the word password",
    "linkedin-client-secret": "any sixteen letters after the name",
    "dropbox-api-token": "any fifteen letters after the name",
    "zai-api-key": "the hash in the name of a bundled file",
}
SHORT_AFTER_A_NAME = re.compile(r"=\]\{0,5\}\(\[[^]]*\]\{(?:[0-9]|1[0-9])\}\)")
"""Fewer than twenty characters of any kind after a company's name are also a version or a slug."""


def main() -> int:
    rules = [rule for rule in map(_rule, _details()) if rule is not None]
    common = set.intersection(*(set(rule["spared"]) for rule in rules if rule["spared"]))
    never = set.intersection(*(set(rule["without"]) for rule in rules if rule["without"]))
    for rule in rules:
        rule["spared"] = [one for one in rule["spared"] if one not in common]
        rule["without"] = [one for one in rule["without"] if one not in never]
    kept = [{name: value for name, value in rule.items() if value} for rule in rules]
    lines = ",\n".join(json.dumps(rule, sort_keys=True) for rule in kept)
    source = json.dumps(f"{PACKAGE} {version(PACKAGE)}")
    TARGET.write_text(
        f'{{"source": {source},\n"spared": {json.dumps(sorted(common))},\n'
        f'"without": {json.dumps(sorted(never))},\n"rules": [\n{lines}\n]}}\n'
    )
    print(f"{len(kept)} rules written to {TARGET}")
    return 0


def _details() -> Iterator[dict[str, Any]]:
    rules = importlib.import_module("kingfisher_sdk").Rules(confidence="low", cache=False)
    for row in rules.metadata():
        if row["visible"]:
            yield rules.detail(row["id"])


def _rule(detail: dict[str, Any]) -> dict[str, Any] | None:
    kind = re.sub(r"\.\d+$", "", detail["id"].split(".", 1)[1].removeprefix("secrets/"))
    if NO_SECRET.search(kind) or kind in OMITTED or SHORT_AFTER_A_NAME.search(detail["pattern"]):
        return None
    rule: dict[str, Any] = {
        "kind": re.sub(r"[^a-z0-9-]+", "-", kind),
        "pattern": detail["pattern"],
        "keywords": keywords(detail["pattern"]),
        "group": detail["betterleaks_secret_group"],
        "spared": [],
        "without": [],
    }
    for test in _alternatives(detail["betterleaks_filter"]):
        _add(rule, test)
    return rule


def _alternatives(node: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield the tests of which any one spares a finding."""
    if node is None:
        return
    if node.get("operator") == "||":
        yield from _alternatives(node["left"])
        yield from _alternatives(node["right"])
    else:
        yield node


def _add(rule: dict[str, Any], test: dict[str, Any]) -> None:
    call = test["left"] if test["kind"] == "binary" else test
    if call.get("kind") != "call" or not _of_the_secret(call):
        return
    name = call["callee"].get("value")
    if name == "matchesAny":
        rule["spared"] += [node["value"] for node in call["arguments"][1]["nodes"]]
    elif name == "containsAny":
        rule["without"] += [node["value"] for node in call["arguments"][1]["nodes"]]
    elif name == "entropy" and test["operator"] in ("<", "<="):
        rule["entropy"] = float(test["right"]["value"])
    elif name == "tokenRatio":
        rule["mixed"] = True  # a tokenizer's measure of words; letters and digits come near


def _of_the_secret(call: dict[str, Any]) -> bool:
    first = call["arguments"][0] if call.get("arguments") else {}
    return first.get("kind") == "member" and first["property"]["value"] == "secret"


if __name__ == "__main__":
    sys.exit(main())
