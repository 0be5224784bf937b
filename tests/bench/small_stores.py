"""What a new user sees: one memory or forty, asked in other words, or about something else.

Each pair is asked of a store that holds its memory alone, of one that holds
eight and of one that holds them all. These are sentences written for the purpose,
in the first person and without a speaker, as people tell them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bench.stage import Stage

EIGHT = 8


class Pair(NamedTuple):
    """A memory, a question that it answers, and perhaps one in none of its words."""

    memory: str
    asked: str
    otherwise: str


PAIRS = (
    Pair(
        "The deploy server is at 10.0.0.5 and needs the VPN.",
        "Where is the deploy server?",
        "How do I reach the machine we release on?",
    ),
    Pair(
        "Every project of ours uses tabs, not spaces.",
        "Do our projects use tabs or spaces?",
        "What kind of indentation should be used?",
    ),
    Pair(
        "My daughter Lena is allergic to peanuts.",
        "What is Lena allergic to?",
        "Which snacks are dangerous for my child?",
    ),
    Pair(
        "We decided to use PostgreSQL instead of MongoDB because of transactions.",
        "Why did we decide on PostgreSQL?",
        "Which database did the team choose?",
    ),
    Pair(
        "The staging password is rotated every Monday by Priya.",
        "Who rotates the staging password?",
        "Which colleague changes the credentials each week?",
    ),
    Pair(
        "I run five kilometres every morning before work.",
        "When do I run five kilometres?",
        "What is my daily exercise routine?",
    ),
    Pair(
        "Our release branch is cut on the first Tuesday of the month.",
        "When is the release branch cut?",
        "On which day do we freeze a new version?",
    ),
    Pair(
        "The tests need Redis running on port 6380.",
        "Which port does Redis use for the tests?",
        "What has to be started before I can run pytest?",
    ),
    Pair(
        "My wife's birthday is on the 14th of September.",
        "When is my wife's birthday?",
        "On what date should I buy flowers for my spouse?",
    ),
    Pair(
        "I am learning Portuguese because we move to Lisbon next year.",
        "Why am I learning Portuguese?",
        "Which language do I study at the moment?",
    ),
    Pair(
        "The invoice service times out when the PDF renderer is cold.",
        "Why does the invoice service time out?",
        "What causes the billing failures?",
    ),
    Pair(
        "I never drink coffee after noon.",
        "Do I drink coffee in the afternoon?",
        "Should an espresso be offered to me at three o'clock?",
    ),
    Pair(
        "Our dog Bruno has to take his heart pills twice a day.",
        "How often does Bruno take his pills?",
        "What medicine does the pet need?",
    ),
    Pair(
        "The front end is written in Svelte and built with Vite.",
        "What is the front end written in?",
        "Which JavaScript framework does the user interface use?",
    ),
    Pair(
        "The landlord is Mr Kowalski, his phone number ends in 4471.",
        "What is the landlord's phone number?",
        "Whom do I call when the heating of my flat breaks?",
    ),
    Pair(
        "Never force-push to main; open a pull request instead.",
        "May I force-push to main?",
        "What is the rule for changing shared history?",
    ),
    Pair(
        "I work as a nurse at the children's hospital.",
        "Where do I work as a nurse?",
        "What is my job?",
    ),
    Pair(
        "The car's insurance runs out in March and is with Allianz.",
        "When does the car's insurance run out?",
        "Which company covers my vehicle?",
    ),
    Pair(
        "Log files older than thirty days are moved to cold storage.",
        "What happens to old log files?",
        "How long do we keep server records?",
    ),
    Pair(
        "I have read all novels of Ursula Le Guin twice.",
        "Whose novels have I read twice?",
        "Which science fiction author do I love?",
    ),
    Pair(
        "CI takes twenty minutes because the Docker layer cache is not shared between runners.",
        "Why does CI take twenty minutes?",
        "What makes our pipeline so slow?",
    ),
    Pair(
        "I am vegetarian, and my husband does not eat gluten.",
        "Am I vegetarian?",
        "What should be considered when cooking for us?",
    ),
    Pair(
        "The feature flag new_checkout is on for ten percent of the customers in Sweden.",
        "For whom is the feature flag new_checkout on?",
        "Who already sees the redesigned payment page?",
    ),
    Pair(
        "Backups are encrypted with age, the key is in the safe in the basement.",
        "Where is the key of the backups?",
        "How can the archive be decrypted?",
    ),
    Pair(
        "On Thursdays I have choir practice until nine in the evening.",
        "When do I have choir practice?",
        "Which evening of the week am I out singing?",
    ),
    Pair(
        "Jonas from accounting signs every purchase above five hundred euros.",
        "Who signs purchases above five hundred euros?",
        "Whose approval do I need for an expensive order?",
    ),
    Pair(
        "The API returns 429 when a client sends more than sixty requests a minute.",
        "When does the API return 429?",
        "What is the rate limit?",
    ),
    Pair(
        "My mother lives in Graz and is eighty-one years old.",
        "Where does my mother live?",
        "How old is Mum?",
    ),
    Pair(
        "We keep the terraform state in the bucket infra-state-eu.",
        "Where do we keep the terraform state?",
        "In which S3 location is the infrastructure recorded?",
    ),
    Pair(
        "The dishwasher was repaired in May and is under warranty for two years.",
        "When was the dishwasher repaired?",
        "Do I have to pay if the kitchen appliance breaks again?",
    ),
    Pair(
        "Code reviews need two approvals, one of them from the security team.",
        "How many approvals do code reviews need?",
        "Who must agree before I can merge?",
    ),
    Pair(
        "I broke my left knee skiing in 2019 and cannot jump.",
        "How did I break my left knee?",
        "Which sports injury do I have?",
    ),
    Pair(
        "The meeting with the investors was moved to Friday at ten.",
        "When is the meeting with the investors?",
        "At what time do we pitch to the venture capital people?",
    ),
    Pair(
        "Timestamps in the events table are stored in UTC, as integers.",
        "How are timestamps stored in the events table?",
        "What timezone does the database use?",
    ),
    Pair(
        "My son Emil starts school in August.",
        "When does Emil start school?",
        "When will my boy be a first grader?",
    ),
    Pair(
        "The old monolith is called Walrus and nobody may add features to it.",
        "What is the old monolith called?",
        "What is the name of our legacy application?",
    ),
    Pair(
        "I pay 1,240 euros of rent for the apartment in Vienna.",
        "How much rent do I pay?",
        "What does my housing cost each month?",
    ),
    Pair(
        "Errors are reported to Sentry, except those of the mobile app, which go to Crashlytics.",
        "Where are errors reported?",
        "Which tool collects the crashes of our phones' software?",
    ),
    Pair(
        "My passport lies in the second drawer of the desk.",
        "Where is my passport?",
        "Where did I put my travel documents?",
    ),
    Pair(
        "Clara and I met at the university in Leipzig in 2011.",
        "Where did Clara and I meet?",
        "How did I get to know my partner?",
    ),
)

UNANSWERABLE = (
    "What is the wifi password of the library?",
    "When does my driving licence expire?",
    "How tall is the Eiffel Tower?",
    "What did Marcus say about the budget?",
    "Which airline did I fly with to Tokyo?",
    "Who won the chess tournament?",
    "What colour is the new bicycle?",
    "How do I cook risotto?",
    "What is the name of my dentist?",
    "Why was the marketing campaign cancelled?",
    "Where did we spend the summer holidays?",
    "Which guitar strings should I buy?",
    "What is the distance to the moon?",
    "How much did the sofa cost?",
    "Who is the president of Brazil?",
    "What is the recipe for grandma's apple cake?",
    "When is the dance recital?",
    "Which camera lens is best for portraits?",
    "How many calories are in an avocado?",
    "What was the score of the basketball game?",
)


class Question(NamedTuple):
    """One question to one store; *memory* is the one that answers it, None if nothing does."""

    kind: str
    store: str
    text: str
    memory: str | None
    fold: int


def stores() -> dict[str, list[str]]:
    """Return the memories of each store: every memory alone, in eights, and all together."""
    found = {f"alone-{at}": [pair.memory] for at, pair in enumerate(PAIRS)}
    for at, pair in enumerate(PAIRS):
        found.setdefault(f"eight-{at // EIGHT}", []).append(pair.memory)
    found["all"] = [pair.memory for pair in PAIRS]
    return found


def questions() -> list[Question]:
    """Return what is asked of each store; *fold* keeps a memory's questions together."""
    asked = []
    for at, pair in enumerate(PAIRS):
        fold = at // EIGHT
        other = PAIRS[(at + 2 * EIGHT) % len(PAIRS)]
        strange = UNANSWERABLE[at % len(UNANSWERABLE)]
        for store in (f"alone-{at}", f"eight-{fold}", "all"):
            asked.append(Question("same words", store, pair.asked, pair.memory, fold))
            asked.append(Question("other words", store, pair.otherwise, pair.memory, fold))
            if store != "all":
                asked.append(Question("another's", store, other.asked, None, fold))
                asked.append(Question("another's", store, other.otherwise, None, fold))
            asked.append(Question("unanswerable", store, strange, None, fold))
    return list(dict.fromkeys(asked))


def run(stage: Stage) -> dict[str, Any]:
    """Return which share of each kind is answered, by kind of store, and what was misjudged."""
    for store, memories in stores().items():
        stage.ingest(store, [{"text": text} for text in memories])
    stage.settle()
    hits: dict[str, dict[str, list[bool]]] = {}
    misjudged: list[str] = []
    for asked in questions():
        hit = _found(stage, asked)
        kind = hits.setdefault(asked.kind, {})
        kind.setdefault(asked.store.partition("-")[0], []).append(hit)
        if hit == (asked.memory is None):
            misjudged.append(f"{asked.kind}, {asked.store}: {asked.text}")
    answered = {
        kind: {store: round(100 * sum(found) / len(found), 1) for store, found in by.items()}
        for kind, by in hits.items()
    }
    return {"answered": answered, "misjudged": misjudged}


def _found(stage: Stage, asked: Question) -> bool:
    """Return whether the right memory was told; where nothing answers, whether any was.

    Preferences are always told, so they are no sign of an answer that was found.
    """
    answer = stage.recall(asked.store, asked.text)
    told = [memory["content"] for memory in answer["memories"] if not memory["preference"]]
    return bool(told) if asked.memory is None else asked.memory in told
