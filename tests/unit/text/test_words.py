"""Where a sentence ends, and which full stops are inside one."""

from __future__ import annotations

import pytest

from memd.sleep.distil.language import prose
from memd.text.words import is_inside, sentences

INSIDE = [
    "Die Abgabe ist am 15. Januar.",
    "Die Abgabe ist am 15. April und am 3. November.",
    "Wir treffen uns am 3. und 4. Mai.",
    "Der Urlaub geht vom 3. bis zum 12. Juli.",
    "Das ist schon das 3. Mal, und im 2. Quartal war es auch so.",
    "Am 2. Tag lief alles.",
    "wir sind vom 3. bis 10. juni in triest",
    "meine prüfung ist am 12. februar, und am 2. tag ist frei",
    "Nimm z. B. Tabs, d. h. keine Leerzeichen.",
    "Take tabs, i. e. no spaces, e. g. here.",
    "Nimm z.B. Tabs bzw. Leerzeichen, u. a. in Make.",
    "Das dauert ca. 5 Minuten, vgl. Nr. 3.",
    "Unser Zahnarzt ist Dr. Brandt, Hr. Prof. Weber vertritt ihn.",
    "Tests, Linter usw. laufen vorher.",
    "Utilise p. ex. Tabs, demande à M. Dupont.",
    "Usa p. ej. Postgres, dice el Sr. García y la Dra. Ruiz.",
    "Usa p. es. Postgres, dice il dott. Rossi.",
    "Gebruik bijv. Postgres, zegt dhr. Jansen.",
    "Mr. Smith and Mrs. Jones moved on Dec. 3 to Leeds.",
    "The structural engineer is Ing. Valsecchi.",
    "The notary is Avv. Dr. Pezzotta, avv. dott. Rossi signs for him.",
    "The deputy is geom. Carrara, write to rag. Brambilla (via Pignolo) and to arch. Colombo.",
    "Chiedi alla sig.ra Moretti, a Sig. Locati e alla dott.ssa Nava.",
    "sig.ra moretti wants a copy, geom. carrara none",
    "Frag Hrn. Weber, Fr. Adler oder Dipl.-Ing. Kurz.",
    "Demande \u00e0 Mme. Dupont et M. Petit.",
    "Habla con el Lic. Ruiz, el Arq. Vega y los Sres. Gil.",
    "Vraag het ir. De Vries of drs. Jansen.",
    "Rev. Green lives at St. Mary's.",
]
ENDS = [
    ("It is version 2. Next we ship it.", 2),
    ("It is version 2. May we ship it?", 2),
    ("We tagged version 2. Tag the next one later.", 2),
    ("We shipped version 2. September was calm.", 2),
    ("We live in San Jose, CA. We like it.", 2),
    ("The answer is no. Use tabs.", 2),
    ("It takes 5 min. 3 of them are spent waiting.", 2),
    ("It took 5 ms. The rest is fast.", 2),
    ("Use plan B. Then rest.", 2),
    ("nimm option 2. mal sehen", 2),
    ("we shipped version 2. tag the next one", 2),
    ("Wir sind fertig. Mai war ruhig.", 2),
    ("Es sind 15. Danach folgen mehr.", 2),
    ("Es endet am 15.\nJanuar war ruhig.", 2),
    ("Er geht um 5. Sie bleibt.", 2),
    ("Das war die Nr. Danach kam nichts.", 2),
    ("It is on Main St. The shop is shut.", 2),
    ("We use rag. It works.", 2),
    ("She is at the arch. We wait.", 2),
]


@pytest.mark.parametrize("text", INSIDE)
def test_a_full_stop_of_an_abbreviation_or_an_ordinal_ends_no_sentence(text: str) -> None:
    assert sentences(text) == [text]
    assert [each.text for each in prose.sentences(text)] == [text]


@pytest.mark.parametrize(("text", "number"), ENDS)
def test_any_other_full_stop_ends_one(text: str, number: int) -> None:
    assert len(sentences(text)) == number


def test_a_sentence_that_ends_in_a_date_is_followed_by_the_next() -> None:
    assert sentences("Abgabe am 15. Januar. Bis dahin testen.") == [
        "Abgabe am 15. Januar.",
        "Bis dahin testen.",
    ]


def test_a_stop_is_judged_by_what_is_next_to_it() -> None:
    assert is_inside("am 15.", "Januar")
    assert not is_inside("am 15", "Januar")
    assert not is_inside("", "")
