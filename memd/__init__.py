"""memd: the memory of the assistants on a person's own computer.

The packages, in the order of a memory's life (a test keeps the list true):

    base       errors, clock, ids, limits, log, settings loader
    domain     frozen values, enums, settings models, protocols
    view       rendering of texts for prompts and terminals: fences, labels
    store      the one SQLite file and all SQL
    text       cleaning, chunks, tokens, category, importance
    extract    entities, statements and dates in a text
    guard      secrets, prompt injection, screening of what leaves the process
    embedding  the embedding model and the re-ranker: fetch, install, run
    signals    assistants' usage files and transcripts: readers and the file watcher
    archive    archive, trash, restore, forget, quarantine
    llm        the optional language model: providers, budget, costs
    ingest     texts become memories
    recall     memories are retrieved, ranked, and cut to a budget
    org        organisational memory: facts, policies, access, time, graph
    records    operational records: tasks, costs, messages, audit entries
    backends   the documented backend protocols over these packages
    sleep      consolidation: naps, nights, compression, undo
    learn      lessons and patterns of work, tuning of recall
    inject     memories in prompts: strategies, fences, budgets
    rpc        envelope, calls, errors: what client and daemon share
    client     connect, call, raise the daemon's errors
    serve      the socket: server, connections, authentication, methods
    assist     what assistants start: hooks, status line, MCP pump; memd connect
    daemon     builds all rooms, serves until stopped, closes in reverse
    api        the public names, each once
    cli        the commands

Imports run one way: a package may import only packages above it in this list.
"""

__version__ = "0.1.0"
