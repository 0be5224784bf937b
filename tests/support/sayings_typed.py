"""Wishes that last, and orders of the moment, as a coder types them to an agent: our own words.

Terse, misspelt, polite, in the middle of a longer message or of a list. They were written
before the patterns were read; every second line, from the second on, was not looked at while
rules were made of the others. ``//`` ends a line of the message; behind ``|`` stands what a
memory of the wish must hold.
"""

WISHES = """
stop adding docstrings to one-liners | docstrings
pls dont touch package-lock.json ever | package-lock
from now on run pytest with -x | pytest
next time ask before you delete a file | ask before
i hate it when you leave console.logs behind | console.log
never ever force push | force push
always use async/await not .then chains | async/await
in this repo we squash before merging | squash
please don't rename variables that you weren't asked to rename again | rename
you keep reformatting files i didn't mention, stop that | reformatting
no default exports anywhere | default exports
can you please make it a habit to check the types before saying it's done? | types
the login bug is back, same trace as before. also, for the record, I want error messages in \
english even if the ui is german. can you look at the login thing first | english
ok the build works. one general remark: don't ever bump dependencies on your own, it broke us \
twice | dependencies
- fix the header on mobile // - the footer links are dead // - and please always test on 360px \
width before you say mobile is ok // - bump version | 360px
Thanks! In the future I'd appreciate if you listed the files you changed at the end. | files you \
changed
dont use emoji in commit msgs | emoji
we do not write comments in this codebase, code should explain itself | comments
for all new components use css modules, not inline styles | css modules
i always want to see the diff before you commit | diff
Keep PRs under 300 lines. | 300
it's really annoying when you summarise everything i just said, skip it | summarise
whenever you add an env var also add it to .env.example | .env.example
remember that i'm on a slow connection so don't re-download the docker images | docker images
We never mutate props. We never use any. Ever. | mutate props
When something fails twice stop and tell me instead of trying random things | fails twice
do not create markdown summary files unless I explicitly ask for one | markdown
my rule: one commit per logical change | one commit
you should never edit migrations that have already been applied, write a new one | migrations
I work in short bursts so keep each step small enough to finish in 10 min | 10 min
tabs not spaces!! | tabs
Just so you know, I don't read long answers. Three sentences max. | three sentences
use uv for everything python, never pip directly | uv
if a test is flaky, don't just retry it, find out why | flaky
again you ran the whole test suite. only run the tests of the file you changed, it takes 20 \
minutes otherwise | only run the tests
i'd like to be asked before any schema change | schema
please answer in german from here on | german
ok last thing before we start: i'm not a native speaker so please use simple words in the docs | \
simple words
the convention here is snake_case for db columns and camelCase in ts | snake_case
No more TODO comments please, open an issue instead | TODO
Going by our team agreement all public functions need a type annotation | type annotation
when writing tests, prefer real objects over mocks | mocks
I dont want any new dependencies without discussing first | dependencies
great work. moving forward let's keep functions pure where possible | pure
every time you finish a task, update CHANGELOG.md | CHANGELOG
dont say "you're absolutely right" to me | absolutely right
you can assume i know typescript, no need to explain generics | typescript
treat warnings as errors, always have, always will | warnings
Please be honest when you don't know something rather than making it up. | honest
Commit early and often - that's how I like it. | commit early
don't start the server yourself, it's always running on my side | server
I noticed you use `var` in snippets. We're on ES2022, const/let only. | const/let
hm ok. btw you don't have to ask for permission to run read-only commands, ever | read-only
good. and as a general principle prefer deleting code to commenting it out | deleting code
never commit secrets, not even test ones | secrets
i like early returns more than nested ifs | early returns
Our designers insist on 8px spacing everywhere, so stick to it | 8px
if you're not at least 90% sure, say so | 90%
stay away from the legacy/ folder, that's owned by another team | legacy/
for this project I want you to write the test before the code, each time | test before
""".strip().splitlines()

MOMENTS = """
stop, that's the wrong file
pls delete the tmp folder
now run pytest again with -x
next, add the button to the navbar
i hate this bug
never mind, found it
it always returns null here
in this repo there is a file called legacy.py, open it
please don't run it yet, i'm still editing
you keep getting the same 404, look at the route
no idea why, the export is missing
can you please check the types once more?
the login bug is back, same trace as before. also the signup page is broken since this morning. \
can you look at the login thing first
ok the build works. now bump the version and push
- fix the header on mobile // - the footer links are dead // - test it on 360px // - bump version
Thanks! I'd appreciate if you listed the files you changed now.
dont use the cached one, fetch it again
we don't have a staging db at the moment, use prod for this one
for the new component, copy the styles from Card
i want to see the diff
Keep going.
it's really annoying, the test fails only in CI
whenever i click save nothing happens
remember the bug from yesterday? it's back
We never got an answer from support about this
When I open the page it says undefined, fix it
do not create the file yet, show me the code first
my guess: the token expired
you should never see this message, but here it is
I have ten minutes, what can we finish?
tabs are broken on the settings page!!
Just so you know, the first attempt is still running.
use the second option
if the test fails again, just skip it for today
again the same error. only the line number changed
i'd like to see the schema
please answer the question above
ok last thing before we stop: commit what we have
the convention plugin fails to load: ClassNotFoundException
No more errors, thanks
all public functions in utils.ts need to be moved to lib.ts
when writing to the socket it hangs
I dont see any new dependencies, did you install it?
great work. moving on to the next ticket
every time the job runs it duplicates the rows
dont worry about that warning for now
you can remove the console.log now
always the same, it works locally and not on the server
Please be patient, the upload takes a while
Commit this and open a PR
don't start over, just fix the import
I noticed the tooltip is cut off on the right
hm ok. what does that flag do?
as a first step delete the code that nobody calls
never seen this one before: EPERM on rename
i like the second mockup more
Our designers changed the spacing to 8px on the home page, update it
if you're done, push it
leave the modal open for now so i can check it
for this PR write the test first, then we'll see
""".strip().splitlines()
