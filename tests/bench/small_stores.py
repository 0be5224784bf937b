"""What a new user sees: a memory or twenty, asked in other words, or asked about something else.

Each pair is asked of a store that holds its memory alone, and of one that holds
twenty. Printed, not scored against a corpus: these are sentences written for the
purpose, in the first person and without a speaker, as people tell them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bench.stage import Stage


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
        "I prefer tabs over spaces in every project.",
        "Do I prefer tabs or spaces?",
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
        "My favourite author is Ursula Le Guin.",
        "Who is my favourite author?",
        "Whose books do I love most?",
    ),
)

UNANSWERABLE = (
    "What is the wifi password of the office?",
    "When does my passport expire?",
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


def run(stage: Stage) -> dict[str, Any]:
    """Return which share of each kind is answered, alone and among twenty, and the misjudged."""
    for at, pair in enumerate(PAIRS):
        stage.ingest(f"alone-{at}", [{"text": pair.memory}])
    stage.ingest("in-20", [{"text": pair.memory} for pair in PAIRS])
    stage.settle()
    missed: list[str] = []
    answered: dict[str, dict[str, float]] = {}
    for kind, texts in _kinds().items():
        answered[kind] = {}
        for store in ("alone", "in_20"):
            hits = [_found(stage, store, at, text, kind) for at, text in texts]
            answered[kind][store] = round(100 * sum(hits) / len(hits), 1)
            missed += [
                f"{kind}, {store}: {text}"
                for (_, text), hit in zip(texts, hits, strict=True)
                if hit == (kind == "unanswerable")
            ]
    return {"answered": answered, "misjudged": missed}


def _kinds() -> dict[str, list[tuple[int, str]]]:
    return {
        "same words": [(at, pair.asked) for at, pair in enumerate(PAIRS)],
        "other words": [(at, pair.otherwise) for at, pair in enumerate(PAIRS)],
        "unanswerable": list(enumerate(UNANSWERABLE)),
    }


def _found(stage: Stage, store: str, at: int, text: str, kind: str) -> bool:
    """Return whether the right memory was told; for what nothing answers, whether anything was."""
    agent = "in-20" if store == "in_20" else f"alone-{at}"
    answer = stage.recall(agent, text)
    told = [memory["content"] for memory in answer["memories"] if not memory["preference"]]
    return bool(told) if kind == "unanswerable" else PAIRS[at].memory in told
