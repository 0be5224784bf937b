"""A folder of generated notes; the same number gives the same notes.

Similar meetings, decisions, recipes, instructions with code, tables, diaries and lists, in English,
German, Spanish, Japanese and Chinese; front matter of several tools, headings of both kinds, and
special cases: an empty note, only a heading, one endless paragraph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

PEOPLE = ("Priya", "Tomás", "Ines", "Yuki", "Oleg", "Zoë", "Samir", "Greta", "Bo", "Nadia")
THINGS = ("billing", "search", "ledger", "gateway", "scheduler", "importer", "catalogue", "mailer")
STORES = ("PostgreSQL 16", "SQLite", "MariaDB 11", "Redis 7", "ClickHouse", "DuckDB", "Kafka")
PLACES = ("Lisbon", "Graz", "Kyoto", "Oaxaca", "Tromsø", "Ghent", "Valparaíso", "Łódź")
FOODS = ("lentil soup", "rye bread", "miso aubergine", "plum cake", "tortilla", "kimchi", "risotto")
REASONS = (
    "because the old one lost writes twice in spring",
    "since nobody could explain its bill any more",
    "as the license changes next year",
    "so that a backup takes minutes and not hours",
    "because the team knows it well",
    "after the outage of the second of May",
)
DE_REASONS = ("weil der Keller feucht ist", "damit es im Winter hält", "sonst pfeift der Wind")
ES_REASONS = ("porque llueve mucho", "para que no se enfríe", "si no, se atasca la puerta")
JA = (
    "会議は三階の部屋で行う",
    "猫の薬は毎朝八時に与える",
    "鍵は郵便受けの裏にある",
    "梅雨の前に屋根を直す",
)
ZH = ("发布之前先备份数据库", "钥匙放在蓝色盒子里", "每周五下午更新文档", "服务器的密码由小李保管")

Writer = Callable[[Random, int], tuple[str, str]]


def write(folder: Path, count: int, seed: int = 11) -> None:
    """Write *count* notes into *folder*, in folders of its own."""
    chance = Random(seed)
    for number in range(count):
        name, text = WRITERS[number % len(WRITERS)](chance, number)
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _some(chance: Random, words: Sequence[str], count: int) -> list[str]:
    return chance.sample(list(words), count)


def _meeting(chance: Random, number: int) -> tuple[str, str]:
    day = f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}"
    who = _some(chance, PEOPLE, 3)
    thing, other = _some(chance, THINGS, 2)
    text = f"""---
title: Weekly {number}
date: {day}
tags: [meeting, {thing}]
---

# Weekly of {day}

Present: {", ".join(who)}

## Decisions

- The {thing} moves to {chance.choice(STORES)}, {chance.choice(REASONS)}.
- {who[0]} writes the plan for {other} number {number} until Thursday.

## Open questions

1. Who looks after the {other} while {who[1]} is in {chance.choice(PLACES)}?
2. Do we keep ticket {number * 37 % 9973} open?

## Notes

{who[2]} showed the new dashboard of the {thing}. It counts {number * 13} requests a minute,
and nobody knows why there were {number * 7} errors on Monday.
"""
    return f"work/meetings/{day} Weekly {number}.md", text


def _decision(chance: Random, number: int) -> tuple[str, str]:
    thing, store = chance.choice(THINGS), chance.choice(STORES)
    text = f"""# {thing.title()} service {number}

## Status

Accepted by {chance.choice(PEOPLE)}, {number} votes.

## Context

The {thing} service {number} keeps its rows for {number * 3} days. Its old store stands in
{chance.choice(PLACES)} and costs {number * 11} euros a month.

## Decision

{store} on port {5000 + number}, {chance.choice(REASONS)}.

## Consequences

### Good

One backup a night, restored in {number} minutes.

### Bad

{chance.choice(PEOPLE)} has to learn it.
"""
    return f"work/adr/{number:04}-{thing}-store.md", text


def _howto(chance: Random, number: int) -> tuple[str, str]:
    thing = chance.choice(THINGS)
    lines = "\n".join(f"    step_{n}_{number}({n * number})  # {thing}" for n in range(40))
    text = f"""How to release the {thing} ({number})
====================================

Before you begin, tell {chance.choice(PEOPLE)}.

Commands
--------

```sh
# not a heading
git tag v{number}.{number * 3 % 17}.0
make release TARGET={thing}-{number}
```

Script
------

```python
def release_{number}():
{lines}
```

| host | role | disk |
| --- | --- | --- |
| {thing}-a{number} | primary | {number * 2} GB |
| {thing}-b{number} | replica | {number * 5} GB |
"""
    return f"work/howto/release-{thing}-{number}.md", text


def _recipe(chance: Random, number: int) -> tuple[str, str]:
    food = chance.choice(FOODS)
    text = f"""+++
title = "{food.title()} no. {number}"
tags = ["kitchen", "{food.split()[0]}"]
+++

From {chance.choice(PEOPLE)}'s aunt in {chance.choice(PLACES)}.

## Ingredients

- {number * 5 + 50} g flour
- {number % 7 + 1} onions
* salt, {number % 11} cloves of garlic

## Method

Stir for {number} minutes. Rest it overnight at {number % 9 + 2} degrees, {chance.choice(REASONS)}.
"""
    return f"home/recipes/{food.replace(' ', '-')}-{number}.md", text


def _diary(chance: Random, number: int) -> tuple[str, str]:
    day = f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}"
    text = f"""- woke at {number % 5 + 5}:{number % 60:02}, walked to {chance.choice(PLACES)}
- saw {number} herons and a fox with {chance.choice(PEOPLE)}
    - the fox had a {chance.choice(FOODS)} [[{chance.choice(THINGS)}]] #outside
- TODO call the plumber about tap {number}
"""
    return f"journal/{day}_{number}.md", text


def _german(chance: Random, number: int) -> tuple[str, str]:
    who = _some(chance, PEOPLE, 2)
    text = f"""---
created: {number % 28 + 1}.{number % 12 + 1}.2026
tags: haus, garten
---
# Haus und Garten {number}

## Heizung

Der Kessel Nummer {number} wird im Mai gewartet, {chance.choice(DE_REASONS)}. {who[0]} hat den
Schlüssel, die Rechnung über {number * 17} Euro liegt im grünen Ordner.

## Fenster

Die Dichtungen der {number % 9 + 1} Fenster tauschen. Größe: {number * 3} mal {number * 2} cm.
"""
    return f"privat/haus-{number}.md", text


def _spanish(chance: Random, number: int) -> tuple[str, str]:
    text = f"""# Viaje {number} a {chance.choice(PLACES)}

El tren sale a las {number % 24}:{number * 7 % 60:02} del andén {number % 12 + 1}. Llevar el
abrigo, {chance.choice(ES_REASONS)}.

## Alojamiento

La casa de {chance.choice(PEOPLE)}, calle {number * 3}, piso {number % 6}.
¿La clave? {number * 101}.
"""
    return f"viajes/viaje {number}.md", text


def _eastern(chance: Random, number: int) -> tuple[str, str]:
    text = f"""# メモ {number}

## 家

{chance.choice(JA)}。番号は{number * 19}。{chance.choice(JA)}。

## 工作

{chance.choice(ZH)}。编号{number * 23}。{chance.choice(ZH)}。
"""
    return f"メモ/覚え書き{number}.md", text


def _odd(chance: Random, number: int) -> tuple[str, str]:
    kind = number // len(WRITERS) % 6
    thing, who = chance.choice(THINGS), chance.choice(PEOPLE)
    texts = (
        "",
        f"# Buy a {thing} lamp {number}\n",
        f"---\ntitle: Reading {number}: x\n---\nThe book on {thing} {number} is {who}'s.\n",
        " ".join(f"{who} said word{n} about the {thing} {number}." for n in range(300)),
        f"# Ideas {number}\n## A boat for {who}\n## A {thing} of wood\n",
        f"# A\n## B\n### C\n#### D\n##### E\n###### F {number}\nDeep below lies {thing}.\n",
    )
    return f"odd/note {number}.md", texts[kind]


def _text(chance: Random, number: int) -> tuple[str, str]:
    rows = "\n".join(
        f"{n}. {chance.choice(FOODS)} from {chance.choice(PLACES)} x{number + n}" for n in range(9)
    )
    return f"lists/shopping {number}.txt", f"{rows}\n\npaid by {chance.choice(PEOPLE)}\n"


WRITERS: tuple[Writer, ...] = (
    _meeting, _decision, _howto, _recipe, _diary, _german, _spanish, _eastern, _odd, _text,
)  # fmt: skip
