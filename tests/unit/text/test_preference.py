import hashlib

import pytest
from support.work_units import effort

from memd.text.preference import (
    default_category,
    is_preference,
    preference_name,
    project_preference_name,
)


@pytest.mark.parametrize(
    "text",
    ["I prefer tea", "so i ALWAYS walk", "I hate mornings.", "my favourite tea", "My favorite"],
)
def test_the_documented_signals_make_a_preference(text: str) -> None:
    assert is_preference(text)


@pytest.mark.parametrize(
    "text",
    [
        "I like tea",
        "What is my favourite tea?",
        "Do you know what I prefer? Tell me.",
        "ok, which formatter do I always use?",
        "hey, what is my favourite colour?",
        "sorry, do I prefer tabs?",
        "I forgot: which editor do I prefer?",
        "and which indentation do I prefer?",
        "remind me which indentation I prefer",
        "which formatter do I always use",
        "and why is there a select * in it, you know I hate that",
        "and why is there a select * in it? you know I hate that",
        "why are there tabs again, I always remove them",
        "what is this: you know I prefer spaces over those",
        "how come it is red when I hate it",
        "We prefer",
        "",
    ],
)
def test_other_words_and_questions_however_led_make_none(text: str) -> None:
    assert not is_preference(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My favourite editor is Vim.", "favorite_editor"),
        ("my  FAVORITE editors are Vim and Helix", "favorite_editor"),
        ("Vim is my favourite editor.", "favorite_editor"),
        ("Actually, my favourite editor is not Vim anymore!", "favorite_editor"),
        ("Hello there. My favourite test framework is pytest. Bye.", "favorite_test_framework"),
        ("My favourite city for food: Lyon", "favorite_city_for_food"),
        ("My favorite dishes are pies", "favorite_dish"),
        ("My favorite class is this", "favorite_class"),
        ("I prefer tabs over spaces for indentation", "prefer_spaces_or_tabs_for_indentation"),
        ("I prefer spaces rather than tabs for tables.", "prefer_spaces_or_tabs_for_tables"),
        ("I prefer the train over a plane", "prefer_plane_or_train"),
        ("I prefer C++ instead of C", "prefer_c_or_c++"),
        ("I always use dark mode", "always_use_dark_mode"),
        ("I always use the dark mode.", "always_use_dark_mode"),
        ("I prefer Node.js over Bun.", "prefer_bun_or_node_js"),
        ("Use spaces, not tabs, from now on.", "prefer_spaces_or_tabs"),
        ("from now on use pnpm instead of npm", "prefer_npm_or_pnpm"),
        ("Mein Lieblingstee ist Earl Grey", "favorite_tee"),
        ("Mein Lieblingstee ist jetzt Rooibos.", "favorite_tee"),
        ("Answer in German", "answer_language"),
        ("Bitte antworte immer auf Deutsch", "answer_language"),
        ("From now on answer everything in English.", "answer_language"),
        ("Réponds toujours en français, s'il te plaît", "answer_language"),
        ("responde siempre en español", "answer_language"),
        ("Antwoord voortaan in het Nederlands", "answer_language"),
        ("ab jetzt bitte auf Deutsch", "answer_language"),
        ("I always want answers in German", "answer_language"),
        ("отвечай мне всегда по-русски", "answer_language"),
        ("Пожалуйста, всегда отвечай на английском", "answer_language"),
        ("always answer me in English even if i write Russian", "answer_language"),
        ("always answer me in English, i need the practice", "answer_language"),
        ("Even when I write Dutch, always answer in German.", "answer_language"),
        ("Antworte immer auf Deutsch, auch wenn ich Englisch schreibe", "answer_language"),
        ("Réponds toujours en français, même si j'écris en anglais", "answer_language"),
        ("всегда отвечай по-английски, даже если я пишу по-русски", "answer_language"),
        (
            "I always use pytest for testing because it is short",
            "always_use_pytest_for_testing",
        ),
        ("I prefer tabs over spaces, because I can set their width", "prefer_spaces_or_tabs"),
        ("use tabs, not spaces, from now on, my screen reader needs it", "prefer_spaces_or_tabs"),
    ],
)  # fmt: skip
def test_a_plain_topic_gives_the_name(text: str, name: str) -> None:
    assert preference_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "I prefer tea",
        "When I travel, my favourite food is ramen",
        "My favourite food is ramen in winter",
        "One of my favourite dishes is lasagna",
        "My favourite one is blue",
        "My favourite part of it is the end",
        "My favourite editor is Vim and I hate Emacs",
        "My favourite editor is Vim. My favourite shell is fish.",
        "My favourite editor is Vim?",
        "I prefer this over that",
        "I prefer walking to work",
        "For Python Vim is my favourite editor",
        "My favourite " + "x" * 400 + " is y",
        "Answer private questions in German, work questions in English",
        "Never answer in German",
        "Answer in German or English",
        "Answer in German with short sentences",
        "I speak German",
        "I hate German",
        "From now on use pnpm, not npm, in the shop",
    ],
)
def test_without_a_plain_topic_the_name_is_the_hash_of_the_words(text: str) -> None:
    words = " ".join(text.lower().split())
    assert preference_name(text) == "preference_" + hashlib.sha256(words.encode()).hexdigest()[:12]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("In this repo I prefer tabs over spaces", "I prefer spaces over tabs in this repo."),
        ("my favourite linter in this repo is ruff", "In this repo my favourite linter is flake8"),
        ("In this project: answer in German", "In this project, answer in English"),
        ("In this repo, use uv instead of pip", "use pip, not uv, in this repo"),
    ],
)
def test_in_one_project_the_topic_gives_the_name_as_well(one: str, other: str) -> None:
    names = {project_preference_name(text, "/a") for text in (one, other)}
    assert len(names) == 1
    assert names.isdisjoint({project_preference_name(one, "/b"), preference_name(one)})
    assert preference_name(one) != preference_name(other)


def test_in_one_project_without_a_plain_topic_the_words_give_the_name() -> None:
    tea, coffee = "In this repo I prefer tea", "In this repo I prefer coffee"
    assert project_preference_name(tea, "/a") != project_preference_name(coffee, "/a")


def test_case_and_white_space_make_no_difference() -> None:
    text = "I prefer PostgreSQL in 2026 at Acme because async APIs are reliable."
    assert preference_name(text) == preference_name(f"\n {text.upper()}  ")


def test_different_topics_never_share_a_name() -> None:
    texts = [
        "I prefer tabs over spaces in Go",
        "I prefer tabs over spaces in Python",
        "I prefer tabs over spaces",
        "I prefer pytest over unittest in Python",
        "I always use Docker for testing",
        "I always use pytest for testing",
        "My favourite food is pizza",
        "My favourite food for dogs is bones",
        "My favourite food is bones for dogs",
        "My favourite language is Go",
        "My favourite language for scripts is Bash",
        "I hate Go",
        "I prefer Go",
    ]
    assert len({preference_name(text) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    "text",
    [
        "Answer me in German, please, always",
        "Please answer in German from now on.",
        "Always run the linter before you commit",
        "Never use tabs in my code",
        "From now on write tests first.",
        "Don't apologise",
        "Keep your answers short.",
        "Be concise!",
        "Call me Ann.",
        "Antworte immer auf Deutsch",
        "Réponds toujours en français",
        "Nunca uses tabuladores",
        "Ich bevorzuge kurze Antworten",
        "Ich mag keine langen Antworten",
        "Je préfère les réponses courtes",
        "Prefiero respuestas cortas",
        "In this repo never commit the public folder",
        "In this repo, always run the tests with tox -q.",
        "For this project: answer in German",
        "In diesem Projekt immer auf Deutsch antworten",
        "no malloc in this project",
        "Always use Node 20.11 here.",
        "Always run tests/run.sh first.",
        "Never edit package.json by hand, e.g. for a version.",
        "Only tabs in this repo.",
    ],
)
def test_what_assistants_are_to_do_from_now_on_is_added_as_a_preference(text: str) -> None:
    assert default_category(text, None) == "procedural"
    assert default_category(text, "Ann") == "semantic", "what another says is a fact about them"


@pytest.mark.parametrize(
    "text",
    [
        "Ann always answers in German",
        "Bob never eats fish.",
        "The staging server is at 10.0.3.7",
        "Don't forget that the key is under the mat",
        "Should you always answer in German?",
        "Always was the first word of the song. Ann sang it.",
        "Callas was a singer",
        "Immerhin sind die Tests grün",
        "Write the report by Friday",
        "In this repo the tests always take ten minutes",
        "In this project Ann never answers",
        "No malloc, please",
        "No one in this project has met the customer yet, and nobody wants to",
    ],
)
def test_what_only_sounds_like_a_wish_is_added_as_a_fact(text: str) -> None:
    assert default_category(text, None) == "semantic"


@pytest.mark.parametrize(
    "text",
    [
        "Künftig bitte kurze Antworten.",
        "In Zukunft bitte auf Deutsch antworten",
        "Von nun an nur noch auf Englisch.",
        "Verwende immer pnpm",
        "Benutze bitte nie Tabs.",
        "Keine Emojis verwenden.",
        "Mein Lieblingseditor ist Helix.",
        "Bitte duze mich",
        "Kuenftig bitte kurze Antworten",
        "Nutze stets einfache Anführungszeichen",
        "Bitte verwende keine Emojis.",
        "Fasse dich kurz",
        "Nenne mich Tom",
        "Immer zuerst fragen",
        "Niemals die Lockdatei anfassen",
        "Meine Lieblingsfarbe ist Grün",
        "Mach nie einen Commit ohne zu fragen",
        "Führe immer die Tests aus",
        "Ich ziehe Tabs vor",
        "Künftig immer erst fragen",
        "Halte deine Antworten kurz",
        "Désormais, réponds en français.",
        "À partir de maintenant, écris en anglais",
        "N'utilise jamais de tabulations",
        "Pas d'emojis, s'il te plaît",
        "Mon éditeur préféré est Helix",
        "À l'avenir, demande avant de supprimer",
        "Ne jamais pousser sur main",
        "Ne fais jamais de commit sans demander",
        "Appelle-moi Tom",
        "Usa siempre pnpm",
        "Nunca uses emojis",
        "De ahora en adelante, responde en español",
        "En el futuro, pregunta antes de borrar",
        "Tutéame",
        "Escribe siempre en inglés",
        "Evita los emojis",
        "Usa sempre pnpm",
        "D'ora in poi rispondi in italiano",
        "In futuro chiedi prima di cancellare",
        "Dammi del tu",
        "Sii breve",
        "Use sempre pnpm",
        "De agora em diante, responda em português",
        "Meu editor favorito é o Helix",
        "Escreve sempre em inglês",
        "Gebruik altijd pnpm",
        "Voortaan graag korte antwoorden",
        "In de toekomst eerst vragen voordat je iets verwijdert",
        "Mijn lievelingskleur is groen",
        "Schrijf altijd in het Engels",
        "Never push to main",
        "Schreib Commit-Nachrichten auf Englisch.",
        "Ab jetzt schreibst du alles auf Deutsch.",
        "Sempre que mudar o esquema, crie uma migração.",
        "Siempre que añadas una variable, documéntala.",
    ],
)
def test_a_wish_in_another_language_is_added_as_a_preference(text: str) -> None:
    assert default_category(text, None) == "procedural"


@pytest.mark.parametrize(
    "text",
    [
        "Immer wenn es regnet, tropft das Dach.",
        "Nie hat jemand den Keller aufgeräumt.",
        "Immerhin sind die Tests grün",
        "In Zukunft kostet der Parkplatz 80 Euro",
        "Von nun an ist Frau Klein unsere Hausverwalterin",
        "Ab jetzt wohnt Anna in Graz",
        "Niemals war der Keller trocken",
        "Immer montags kommt die Müllabfuhr",
        "Keine Post am Samstag",
        "Mein Lieblingsonkel heißt Karl und wohnt in Ulm",
        "Nie wieder war es so kalt wie im Winter 1985",
        "Nenne ist ein französischer Name",
        "Verwendet wird der blaue Adapter",
        "Anna benutzt nie Tabs",
        "Nie zuvor gab es so viele Äpfel",
        "Immer mehr Kunden zahlen mit Karte",
        "Schreibtisch und Lampe stehen im Keller",
        "Sprich mit Huber wegen der Heizung am Montag",
        "Der Server antwortet immer auf Port 8080",
        "Immer ist der Drucker kaputt",
        "Nie ist der Hausmeister da",
        "Ab sofort hat die Bäckerei sonntags zu",
        "Der Hund bellt immer, wenn der Postbote kommt",
        "Toujours le même problème avec la chaudière",
        "Désormais, la boulangerie ferme le lundi",
        "Jamais Anna ne mange de poisson",
        "À partir de maintenant le parking coûte 80 euros",
        "Anna utilise toujours pnpm",
        "Utilisé toujours par la mairie, le vieux pont",
        "Siempre que llueve, gotea el techo",
        "Nunca fue tan frío como en 1985",
        "A partir de ahora el alquiler cuesta 80 euros",
        "Siempre hay ruido en el patio",
        "Ana usa siempre pnpm",
        "Sin correo los sábados",
        "Mai visto un inverno così freddo",
        "In futuro l'affitto sarà più caro",
        "Anna usa sempre pnpm",
        "Niente posta il sabato",
        "Il mio zio preferito abita a Lione",
        "Nunca nevou aqui em maio",
        "A partir de agora o aluguel custa 80 euros",
        "A Ana usa sempre pnpm",
        "Altijd als het regent, lekt het dak",
        "Voortaan sluit de bakker op maandag",
        "In de toekomst wordt de huur duurder",
        "Geen post op zaterdag",
        "Never mind",
        "Schreibe Anna wegen der Miete",
        "Toujours pas de poignée pour la colonne.",
        "Siempre falla en el mismo paso.",
    ],
)
def test_a_fact_that_begins_like_a_wish_is_added_as_a_fact(text: str) -> None:
    assert default_category(text, None) == "semantic"


@pytest.mark.parametrize("piece", ["immer ", "nie wieder ", "in zukunft ", "utilise ", "a ", "en "])
def test_no_sentence_takes_long(piece: str) -> None:
    with effort() as spent:
        default_category((piece * 300)[:299] + "x", None)
    assert spent.units < 20


@pytest.mark.parametrize(
    "text",
    [
        "my sister said I always talk too much",
        "he says I always exaggerate",
        "write to mum: I always love your cake and my favourite is the lemon one",
        "pretend you're my boss and I hate mondays",
        "write a story about a girl who says I always get what I want",
        "I hate this printer",
        "I hate asking but could you redo the table",
        "I prefer the blue one of these two",
        "I always wanted to learn the cello",
        "my favourite aunt is coming over",
    ],
)
def test_what_others_say_and_what_is_at_hand_is_no_preference(text: str) -> None:
    assert not is_preference(text)


@pytest.mark.parametrize(
    "text",
    [
        "I always take the 8.14 train",
        "I always need a window seat",
        "I hate to-do lists",
        "I prefer the window seat",
        "my favourite pastime is reading",
        "Write to me in German. I prefer it",
    ],
)
def test_what_sounds_like_that_is_one(text: str) -> None:
    assert is_preference(text)


WITH_A_REASON = [
    "always answer in German, I live in Berlin",
    "always answer me in English even when I write Dutch",
    "from now on use pnpm instead of npm since it is faster",
    "отвечай мне всегда по-русски, мне так проще",
    "responde siempre en español, aunque escriba en inglés",
]
WITH_A_RESTRICTION = [
    "always answer in German, I want English for code",
    "always answer in German, but not in emails because they read English",
    "always answer in German when I write German",
    "always answer in German because I live in Berlin, except for code",
    "will he always answer in English even if I write Russian?",
    "they always answer in English even if I write Russian",
    "я всегда отвечаю по-русски",
]


@pytest.mark.parametrize("text", WITH_A_REASON)
def test_a_reason_or_a_concession_takes_nothing_from_an_order(text: str) -> None:
    assert is_preference(text)


@pytest.mark.parametrize("text", WITH_A_RESTRICTION)
def test_a_restriction_is_no_reason(text: str) -> None:
    assert not is_preference(text)


@pytest.mark.parametrize(
    "text",
    [
        "forget that I hate coriander",
        "please stop remembering that I hate fish",
        "it's no longer true that I prefer tea",
        "Helix is no longer my favourite editor",
        "forget that I hate fish for a moment",
    ],
)
def test_what_no_longer_holds_is_no_preference(text: str) -> None:
    assert not is_preference(text)
    assert is_preference("don't forget that I hate fish")
