"""More sayings of our own, one a line: wishes without a word of a rule, and what sounds like them.

Complaints, reasons, who somebody is, what nobody asked for, occasions, other languages:
six groups, in this order. They were written before their patterns were. Every second line of
a group, from the second on, was not looked at while rules were made of the others.
"""

WISHES = [
    group.splitlines()
    for group in (
        # complaints
        """\
You keep adding comments to every line.
Again with the mocks. Real services only.
You always rewrite the whole file when two lines would do.
Every time I open a pull request you have touched the lockfile.
Once more you committed without asking me.
You have a tendency to over-engineer; I want the dumbest thing that works.
I keep having to tell you that the tests run with make test, not pytest.
Third time now: the copy is in Swedish, not English.
How many times do I have to say that we don't use default exports?
There you go again with a five-page summary.
I'm tired of reading apologies.
Enough with the bullet points.
Quit creating markdown files nobody asked for.
Your answers are way too long for me.
You tend to forget the changelog.
Stop inventing file names, look first.
Why is there an emoji in every heading again?
You're doing that thing again where you refactor what I didn't ask about.
This is the second time you ran the migration by yourself.
I see you added a try/except around everything again, I don't want that.""",
        # reasons
        """\
Keep lines short because I read on a phone.
I'm colour blind, so red and green alone won't do in the charts.
My screen reader stumbles over tables, so give me lists.
I pay per minute of CI, so run the tests locally first.
Since I review everything on the train, small commits help me a lot.
English is not my first language, so use simple words.
The laptop is slow, please avoid running the whole suite.
I have a data cap here, so no big downloads without asking.
Our auditors read the commits, so every one of them needs a ticket number.
My boss reads these reports, so no jargon in them.
I get lost in long diffs, make them small.
We're only two people, so nothing that needs a dedicated ops person.
I have dyslexia, shorter paragraphs are easier for me.
As I'm the only one who deploys, leave the release scripts alone.
The customer is strict about wording, so texts come from the glossary.
Because the designers own the CSS, we only change class names after asking them.""",
        # who somebody is
        """\
I'm a Windows user.
We are on pnpm.
I work in vim, no IDE here.
We're a Django shop.
I'm a backend person, explain frontend things slowly.
I'm on Linux with fish as my shell.
We're a Python 3.9 house until next year.
I'm a nurse, not a programmer.
I'm no expert in SQL, walk me through it.
We speak Spanish in the team and English in the code.
I use a German keyboard layout.
We all use tabs here.
I'm an old C programmer, spare me the frameworks.
My terminal is only 80 columns wide.
I live in UTC+9, so times in my timezone please.
We host everything ourselves, no cloud services.""",
        # what nobody asked for
        """\
I did not ask for tests.
I didn't ask you to refactor the parser.
Nobody asked for a README.
I never said you could push.
I never asked for type stubs, leave those out.
You weren't supposed to touch the config.
That wasn't part of the task, stay on what I ask for.
Who told you to bump the version?
I don't remember asking for a class hierarchy.
I only asked for the query, not a lecture.
You should have asked before deleting the branch.
You should've run the linter before saying it's done.
I told you to leave the vendor directory alone.
I wanted an explanation, not a change.
You could have just asked me instead of guessing.
I said minimal changes.""",
        # occasions
        """\
Whenever a column is added, the fixtures need it too.
Each time we release, the docs get a new version number.
Any time an endpoint changes, tell the mobile team.
For every bug there has to be a test that failed before.
When a test takes longer than a second, mark it slow.
If a function needs more than four arguments, make it a dataclass.
Every component gets its own story.
All dates are stored as UTC.
No file over 300 lines.
One concern per commit.
Errors go to stderr, always.
With each migration comes a rollback.
Before a merge there's always a rebase.
After every change run the type checker.
Anything user-facing goes through the translation files.
Ticket numbers belong in the branch name.
On Fridays nothing gets deployed.
Everything in the api folder is generated, hands off.""",
        # other languages
        """\
Bitte künftig keine Kommentare im Code.
Ich bin Windows-Nutzer, also keine Bash-Skripte.
Du fügst ständig Kommentare hinzu, lass das.
Ab jetzt bitte vor jedem Commit fragen.
Ich habe nicht nach Tests gefragt.
Arrête d'ajouter des commentaires partout.
Je suis sous Windows, donc pas de scripts bash.
Désormais, demande-moi avant d'installer quoi que ce soit.
Chaque fois que tu modifies le schéma, ajoute une migration.
Réponds-moi toujours en français s'il te plaît.
De ahora en adelante responde en español.
No te pedí que cambiaras los estilos.
Cada vez que toques la base de datos haz una copia antes.
Prefiero funciones pequeñas y nombres claros.
Sempre que mudar o esquema, crie uma migração.
Não mexa nos arquivos de configuração sem me perguntar.
D'ora in poi scrivi i commit in inglese.
Non aggiungere commenti se non te lo chiedo.
Пиши комментарии только на русском.
Никогда не делай пуш без моего разрешения.
以后不要随便修改我的代码。
请始终用中文回答我。
コミットする前に必ず確認してください。
今後はコメントを日本語で書いてください。
Voortaan graag eerst vragen voordat je iets verwijdert.
Ik werk op een Mac, dus geen Windows-commando's.""",
    )
]
MOMENTS = [
    group.splitlines()
    for group in (
        # complaints
        """\
You keep hitting the same error.
Again the same stack trace.
You added the button twice.
There it goes again, the page is blank.
It always crashes when I click the second tab.
Every time I open the page the list is empty.
You forgot the closing bracket.
Why is the header gone again?
The tests fail again after your change.
You broke the login with this.
It keeps asking me for the password.
You removed the footer by mistake, put it back.
This is the second time the build fails.
I never get past the login screen.
Whenever I press save, it says not found.
Third try now: still the same output.
You're editing the wrong file.
Once more please, it didn't finish.
It never shows the tooltip.
You only changed one of the two pages.""",
        # reasons
        """\
Make it bigger because I can't read it.
I can't test it now because the server is down.
The label is cut off because the box is too small.
I have no access so I can't tell you.
Since it's Friday I'll look at it next week.
I'm late, so be quick.
The image is missing, so use any other one.
I have two minutes, so give me the short version.
The build is slow so I stopped it.
I closed the terminal, so start it again.
It's a big file so I only pasted the top.
My laptop crashed, so where were we?
I renamed the folder so the import is wrong.
There was no space so I deleted the logs.
The demo is in an hour so don't touch anything else.
I lost the key, so make me a new one.""",
        # who somebody is
        """\
I'm on the settings page and there is no button.
We are at step three.
I'm in the wrong branch, I think.
We're done with the first part.
I'm on it.
I work on the second file meanwhile.
We're using the old one now for a test.
I'm at the login screen and see nothing.
I'm back, continue.
We are missing two columns here.
I'm not sure what this does.
I use the button and nothing happens.
We have three errors left.
I'm logged in as admin at the moment.
I'm lost, what is this line for?
My terminal shows nothing.""",
        # what nobody asked for
        """\
I did not see the change.
I didn't get the last part.
Nobody answered on that port.
I never saw that message before.
You didn't finish the second table.
That wasn't there before.
I didn't restart it yet.
It wasn't in the list.
You should have the file now.
I told you the path above.
I only see the query, not the result.
I said the second one, not the third.
I wanted to see the chart first.
You could try the other endpoint.
We never got to the last point.
I meant the blue button, not the link.""",
        # occasions
        """\
When I click the button, make it blue.
If the list is empty, show a message.
When the user logs in, redirect to the dashboard.
Add a spinner while it loads.
All rows should be sorted by date in this table.
Every cell in this column has to be bold.
Before we go on, show me the diff.
After that run the build.
When you're done with this page, do the next one.
If that works, commit it.
Each card needs a picture, add the missing ones.
All buttons on this page should be green.
No border around the first box.
Put the total at the bottom of the table.
Everything in that list is wrong.
With the second option we'd lose the data.
On mobile the menu is cut off.
Only show the first ten for now.""",
        # other languages
        """\
Bitte jetzt den Test noch einmal starten.
Ich bin gerade auf der Startseite und sehe nichts.
Du hast den Button vergessen.
Ab Zeile 20 ist es falsch.
Ich habe es noch nicht getestet.
Arrête le serveur.
Je suis sur la page et rien ne s'affiche.
Maintenant, installe le paquet.
Chaque fois que je clique, ça plante.
Montre-moi le fichier en entier.
Ahora muéstrame el archivo.
No me funciona el botón.
Cada vez que guardo sale un error.
Prefiero la segunda opción.
Sempre dá o mesmo erro quando salvo.
Não aparece nada na tela.
Ora esegui i test.
Non funziona ancora.
Запусти тесты ещё раз.
Кнопка никогда не появляется.
现在运行测试。
页面上什么都没有。
もう一度実行してください。
ボタンが表示されません。
Doe nu de volgende pagina.
Ik zie nog steeds niets.""",
    )
]
