"""memd: the memory of the assistants on a person's own computer.

The map of the house, in the order of a memory's life (a test keeps it true):

    base       the floor: errors, clock, ids, limits, log, settings loader
    domain     frozen values, enums, settings trees, protocols
    view       one way out: every text for a prompt or a terminal passes here
    store      the one SQLite file and all SQL
    text       what a text is made of: cleaned, cut into chunks, counted, routed, weighed
    extract    what a text says: things, statements, dates; whether a turn states anything
    guard      secrets, prompt injection, and what leaves the process
    embedding  the embedding model and the re-ranker: fetched, installed, run
    signals    the assistants' traces: usage files, transcripts, and who watches them
    archive    put away and brought back: archive, trash, restore, forget
    llm        the optional language model: who answers, within which budget
    ingest     a text arrives and becomes memories
    recall     memories are found, ranked, and cut to a budget
    org        what everybody knows: facts, who may write them, time, the graph
    records    what assistants did, cost and said to each other: plain tables
    backends   the documented backend protocols over these rooms
    sleep      memories are consolidated: naps, nights, compression, and undoing them
    learn      memd gets better: what worked and what did not
    inject     memories are put into prompts: fenced, within a budget
    rpc        what client and daemon say to each other
    client     connect, call, raise the same errors
    serve      the socket: server, connections, who calls, methods
    assist     what assistants start: the pump that carries MCP to the socket
    daemon     has all rooms built, runs until told, stops in reverse
    api        the public names, each once
    cli        what a person types

Imports run one way: a room may import only what stands above it in this list.
"""

__version__ = "0.1.0"
