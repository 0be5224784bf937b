"""Wishes that last, and what is said for the moment alone, in sentences of our own, one a line.

They were written before the patterns were looked at, of many trades, and they are not
what the patterns say. Every second line, from the second on, was not looked at while
rules were made of the others.
"""

WISHES = """
Always run the linter before you tell me you're done.
Never push to main without asking me first.
I prefer short answers; skip the recap at the end.
Please don't add comments that restate the code.
From now on, write commit messages in the imperative mood.
Use pnpm here, not npm.
We don't use semicolons in this codebase.
I'd rather you asked before installing anything.
Going forward, dates in the reports should be ISO format.
When you're unsure, ask me rather than guess.
I like my functions small, under thirty lines if possible.
Keep the tone of customer emails friendly but not chatty.
No emojis in the documentation, please.
Whenever you touch the schema, add a migration in the same commit.
In future, leave the generated files alone.
It bothers me when you rewrite whole files for a one-line change.
I don't want you to start the dev server; I do that myself.
Tests first, then the implementation. That's how we work here.
Every new endpoint needs an entry in the OpenAPI file.
Could you stop apologising each time you make a mistake?
You don't need to explain what each line does, I can read Python.
I'm not a fan of mocks; use the real database in tests.
Make it a habit to check the changelog before bumping a dependency.
British spelling in anything that readers see.
For recipes, give me grams, not cups.
My rule of thumb is one pull request per ticket.
We stick to conventional commits in all of our repositories.
Don't ever run database migrations against staging on your own.
If a test is flaky, tell me instead of retrying it silently.
I usually want two alternatives before we settle on a design.
Please remember that I work on Windows, so no bash-only scripts.
Avoid abbreviations in variable names.
As a general rule, prefer composition over inheritance in this project.
Stop using the word "leverage" in my texts.
I'd appreciate it if you kept the summaries to three bullets.
It would be better if you always showed me the plan before editing.
Not a big believer in abbreviations: spell names out.
Answer me in German unless I write in English.
Leave formatting to black; do not reformat by hand.
Our house style has the Oxford comma.
Anything over 200 lines should be split up before review.
Just give me the command, I'll run it myself.
I always want to see the diff before you commit.
Next time, check the existing helpers before writing a new one.
Charts for the board never get more than four colours.
We only ever deploy on Tuesdays.
Type hints everywhere, also in tests.
Hold off on refactoring unless I ask for it.
I hate it when logs are full of debug output, keep them quiet.
No new dependencies without my okay.
When I say "ship it", I mean tag and push, nothing else.
Don't guess at file paths, look them up.
Treat warnings as errors in this repo.
I want numbers in tables right-aligned, always.
Let's agree that you never edit files under vendor/.
You can skip the tests for docs-only changes.
Be blunt with me in code reviews.
Prefer the standard library to a new package wherever it does the job.
Don't be so verbose in general.
My preference is for tabs in Go and spaces in everything else.
I find nested ternaries hard to read, so please use plain ifs.
Ask me once, not three times, before deleting something.
One thing I care about: error messages must say what to do next.
We name branches after the ticket, like PAY-123-refunds.
Whatever you do, don't touch the production config.
In lesson plans I want the goal in the first sentence.
Use the metric system throughout.
If you change an API, update the client in the same go.
It's our convention to put fixtures next to the tests that use them.
I'd like you to quote sources with page numbers whenever you cite something.
Don't write to my home directory, everything belongs under /srv/data.
Please never paste secrets into the chat, mask them.
I tend to read these on my phone, so keep lines short.
Better to fail loudly than to fall back silently; do that everywhere.
Do not commit for me.
The subject line of a newsletter shouldn't have exclamation marks, ever.
Use feature flags rather than long-lived branches.
Would you mind always giving the units with a figure?
Please get into the habit of running only the affected tests.
Just so you know, I review on Fridays, so have things ready by Thursday.
I don't like one-letter variables.
Only use Postgres features that also work in version 12.
Each time we add a city, its timezone goes into the lookup table too.
We never store customers' phone numbers in logs.
Instead of screenshots, describe the layout in words for me.
You should never assume the cache is warm.
Rather than long paragraphs, give me lists.
I do my own commits, you only edit.
Quick note for the future: vegetarian options first in every menu.
For SQL, uppercase keywords and one clause per line.
Always use the staging key for experiments, never the live one.
I'm allergic to clever one-liners.
Don't create markdown files unless I ask for one.
As a rule, mail to suppliers goes out in French.
Once you've finished a task, tick it in TODO.md.
Nothing gets merged here without a second pair of eyes.
Can we make sure that in future every script has a dry-run flag?
I expect you to verify a claim before you state it.
We're a small team, so simple beats scalable.
Please call the users "members" in all copy.
""".strip().splitlines()

MOMENTS = """
Always the same error. What now?
Never mind.
Why does the build always fail on my laptop?
Use the second one.
Don't stop, keep going.
Please run the tests again.
I prefer to look at it tomorrow.
ok do that
Can you move the button to the left?
It never finishes when I run it.
Looks good to me, thanks!
Do you prefer tabs or spaces?
Now rename it and commit.
Instead of answering, have a look at the log first.
Is it better to use a queue here, or a cron job?
Let's try the other branch.
I don't know, what do you think?
I've restarted the server, it's running now.
Please don't commit yet, I'm still looking.
The page still loads slowly.
Wait, don't delete that one.
Hold on a second.
Great, that works now!
You forgot the second file.
Only the first three, please.
Should we use Redis or Memcached?
Give me the list again.
What is the rule for naming migrations?
Never seen that before, can you look into it?
I always get a timeout at this step.
Can you show me where this is used?
Use the text below as the description.
Remember what we did with the header? Same here.
From now on it should be quick, how long will it take?
Don't worry about it.
We should be fine, go ahead.
I'd rather have the blue one for this slide.
Next, fix the failing test in test_orders.py.
Which one do you like better?
Don't you think it's too long?
I think it's the cache, could you check?
Every time I click it I get a blank screen.
Add a comment there.
Make it a bit shorter.
Undo the last change.
There should be an attachment, do you see it?
I'm back. Where were we?
No, the other one.
Yes please, and then open a pull request.
He said he never got the invitation, can you resend it?
Could you explain what the rule does?
When you are done, tell me.
I'll have a look at it after lunch.
Please use the file I just uploaded.
Rather odd, isn't it?
Now do the same for the French version.
The tests pass, all 212 of them.
Would it be possible to make the logo bigger?
Don't change anything for now, just look.
Sorry, I meant the other table.
Let me know if you need anything.
Try again with a higher limit.
What happens if I never call close?
Do I need to always pass the token?
For this one only, leave the header out.
Just this once, skip the review.
This time use the long form.
I never got round to it yesterday.
Continue.
Any idea why the second query is slower?
OK so it is always null there, go on.
Use whatever you like.
Either is fine, I have no preference.
Don't know why I bother, it fails again.
What's the convention for tags in this repo?
I'm not sure that I like it, show me another version.
Please have another look, you've missed something.
Do not run it yet.
Summarise the thread in two sentences.
Make the first paragraph friendlier.
Write the mail to the supplier in French.
Create a branch and push it.
The customer always pays late, can you draft a reminder?
You're right, I overlooked that.
WARNING  deprecated: always pass encoding explicitly (warnings.py:112)
npm WARN deprecated rimraf@3.0.2: versions prior to v4 are no longer supported
error: failed to push some refs, hint: always pull first
The README says one should never edit the lock file by hand, is that so?
So we never write to that table?
Can we see how it looks without the sidebar?
Now I don't see the button any more.
Everything is installed, what next?
I just merged it, please pull.
If it works, commit it.
Before we go on, how many files are left?
Move the chapter on yeast before the one on flour.
Try 180 degrees instead of 200 and see what comes out.
Only two of them failed this time.
I want to see the table first.
I'd like a coffee break now, let's continue later.
Can you rather use a for loop in this function?
Thanks, I always forget that flag.
How do I always get the latest tag?
It's always been like that, ignore it.
Please don't, not now.
""".strip().splitlines()
