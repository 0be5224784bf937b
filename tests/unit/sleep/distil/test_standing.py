"""Wishes that outlive the day, in the words in which people say them, and what only sounds so."""

from __future__ import annotations

import pytest

from memd.sleep.distil.acts import WORTH, judge
from memd.sleep.distil.distil import distil
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.language.standing import is_standing_wish

LASTING = """
Always run the linter before you say you are done.
Never commit directly to main.
I prefer early returns over nested ifs.
From now on, write commit messages in the imperative.
Don't add comments that repeat the code again.
Please don't ever create README files unless I ask.
We use pnpm, not npm.
We use tabs here, not spaces.
Stop adding emojis to commit messages.
Please use British spelling in the docs.
Please use the existing logger instead of print.
I'd like you to ask before you install a package.
I want you to always show me the diff first.
Make it a habit to run the tests after each change.
In this repo we squash before merging.
Our convention is snake_case for columns.
The convention here is one component per file.
No emojis, please.
No abbreviations in variable names please.
Keep functions under 40 lines.
Use type hints everywhere.
All dates should be in UTC.
Every PR needs a changelog entry.
Each migration must be reversible.
You don't need to explain every change to me.
You don't have to summarize at the end.
Don't summarize what you did at the end.
Don't explain, just show the code.
Just give me the command, no explanation.
Skip the pleasantries.
I like it when you list the files you touched.
I don't like long functions.
I'm not a fan of inheritance here.
I hate ORMs.
Less text please, I can read the diff.
Short answers please.
Answer me in German.
Talk to me like a senior engineer.
Assume I know Python well.
I'm new to Rust, so explain the borrow checker things when they come up.
When you write tests, use pytest fixtures rather than setUp.
When in doubt, ask.
If a test is flaky, tell me instead of retrying.
If you're going to change the schema, ask me first.
Before pushing, rebase on main.
After each step, stop and wait for me.
Run the full test suite only when I ask for it.
Only commit when I tell you to.
I commit myself.
I'll do the commits myself.
Leave the git stuff to me.
You should never touch the generated files.
Whatever you do, don't change the public API.
Generally we avoid adding dependencies.
We generally avoid new dependencies.
We never mock the database in tests.
We try to keep the bundle below 200 kB.
Remember that I'm on Windows with PowerShell.
Remember: the staging box has no GPU.
Keep in mind that our users are on slow phones.
For future reference, the deploy branch is release.
For all new endpoints, add an OpenAPI description.
Going forward please write the tests first.
By default, use the small model.
It's better to fail loudly than to hide an error.
Prefer composition over inheritance.
Avoid global state.
Stick to the standard library.
Do not use any for types.
Don't use any in TypeScript.
Don't use sleep in tests.
Don't guess; look it up.
Stop guessing and read the code first.
Read the docs before you answer.
Next time run the formatter first.
I told you not to touch the lock file.
You keep forgetting to update the changelog.
You forgot to run the tests again.
As I said before, no default exports.
Like I said, we don't do default exports.
Can you please always use absolute imports?
Could you stop apologizing?
Please stop rewriting the whole file.
Would you mind keeping the answers shorter?
Why do you always add try/except around everything?
Immer erst die Tests laufen lassen.
Bitte keine Emojis in Commits.
Ich will nicht, dass du ungefragt committest.
Mach das nie wieder ohne zu fragen.
Ab jetzt bitte auf Deutsch antworten.
Wir benutzen pnpm, nicht npm.
Wir verwenden hier kein Mocking.
Frag mich, bevor du etwas löschst.
Hör auf, Kommentare zu schreiben.
Lass das Committen, das mache ich selbst.
Ich mag keine langen Funktionen.
Schreib Commit-Nachrichten auf Englisch.
Nous utilisons pnpm, pas npm.
On utilise pnpm, pas npm.
Réponds toujours en français.
Ne commite jamais sans me demander.
Arrête d'ajouter des commentaires.
Je préfère des fonctions courtes.
À partir de maintenant, écris les tests d'abord.
Demande-moi avant de supprimer quoi que ce soit.
Je ne veux pas de commentaires inutiles.
Usamos pnpm, no npm.
Nunca hagas push sin preguntar.
Siempre corre los tests antes de hacer commit.
A partir de ahora responde en español.
Deja de agregar comentarios.
Prefiero funciones cortas.
Pregúntame antes de borrar archivos.
No quiero comentarios inútiles.
No uses mocks en los tests.
Usamos pnpm, não npm.
Nunca faça push sem perguntar.
A partir de agora responda em português.
Pare de adicionar comentários.
Eu prefiro funções curtas.
Me pergunte antes de apagar arquivos.
Não quero comentários inúteis.
Usiamo pnpm, non npm.
Non fare mai push senza chiedere.
Da ora in poi rispondi in italiano.
Smettila di aggiungere commenti.
Preferisco funzioni corte.
Chiedimi prima di cancellare file.
Non voglio commenti inutili.
Wij gebruiken pnpm, geen npm.
We gebruiken pnpm, niet npm.
Nooit pushen zonder te vragen.
Vanaf nu in het Nederlands antwoorden.
Stop met commentaar toevoegen.
Ik heb liever korte functies.
Vraag het me voordat je iets verwijdert.
Ik wil geen nutteloos commentaar.
"""
PASSING = """
That is why I get a page of errors every time I create an account.
I see the message of the stage whenever I try to open the page.
I reverted to the state before your last answer.
Can you now run them one at a time?
Next time I'll ask you to write the plan first.
You keep saying it is fixed.
We tried to start it and it failed.
For any new test cases that were added, confirm the tests are:
Leave it.
Before I forget, the build is green.
When I am in doubt about a name I get slow.
The conventions of that framework surprised me.
I did it myself this morning.
Write me a test for the parser.
It got less text than I expected?
Read it before lunch.
Wir benutzen gerade den alten Server.
Ich will mir das ansehen.
Das habe ich nicht gesehen.
Warum läuft das nicht?
Nous utilisons le vieux serveur ce matin.
Je ne vois pas le bouton.
On regarde demain.
Usamos el servidor viejo por ahora.
No lo veo.
No uses eso.
Não vejo o botão.
Usamos o servidor antigo hoje.
Non vedo il pulsante.
Usiamo il vecchio server oggi.
Ik zie de knop niet.
We gebruiken vandaag de oude server.
"""


@pytest.mark.parametrize("text", LASTING.strip().splitlines())
def test_what_holds_from_now_on_is_worth_keeping(text: str) -> None:
    assert judge(text).score >= WORTH


@pytest.mark.parametrize("text", PASSING.strip().splitlines())
def test_what_only_sounds_so_is_no_standing_wish(text: str) -> None:
    assert not is_standing_wish(text)
    assert judge(text).score < WORTH


def _preferences(*messages: str) -> list[str]:
    turns = [
        turn
        for text in messages
        for turn in (
            {"role": "user", "content": text},
            {"role": "assistant", "content": "That is done."},
        )
    ]
    return [each.text for each in distil(turns) if each.kind is NapKind.PREFERENCE]


@pytest.mark.parametrize(
    "rider", ["El mensaje en castellano, claro y completo.", "Le message en deux lignes au plus."]
)
def test_what_is_said_again_beside_another_request_is_a_preference(rider: str) -> None:
    assert _preferences(f"Push it.\n{rider}") == []
    assert _preferences(f"Push it.\n{rider}", "Look at the lock.", f"Push it.\n{rider}") == [rider]


@pytest.mark.parametrize(
    "again",
    [
        "The lock of the cache is slow.\nIt is read four times a page.",  # a message sent again
        "Push it.\nWhy is the page of the shop red?",
        "Push it.\n- the page of the shop",
        "Push it.\nThank you so.",
        "Ok now.\nThe lock of the cache is slow, mend it.",  # a request behind an opening
        "Push it.\nfatal: the repository of the shop is not to be found",
    ],
)
def test_a_message_sent_again_a_question_and_an_item_are_none(again: str) -> None:
    assert _preferences(again, "Look at the lock.", again) == []
