-- The schema of memd's file. Every migration path ends in exactly this text.
-- Times are integer microseconds (_us). *_key is an integer that never leaves
-- store/; *_id is public text. FTS5 and vec0 tables are caches beside this
-- schema (fulltext.py, vectors.py), named by generation and listed in meta.

-- Read by the store at every start: store id, active cache generations.
CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value ANY
) STRICT, WITHOUT ROWID;

-- The owners of memories, with per-agent configuration (SPEC 7.14). Read by ingest and nights.
CREATE TABLE agent (
    agent_key INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL UNIQUE,
    level TEXT CHECK (level IN ('persistent', 'project', 'session', 'none')),
    retention_days INTEGER CHECK (retention_days >= 1),
    retention_overrides TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(retention_overrides)),
    created_at_us INTEGER NOT NULL
) STRICT;

-- The programs that write. key_hash is NULL for the keyless local client.
CREATE TABLE client (
    client_key INTEGER PRIMARY KEY,
    client_id TEXT NOT NULL UNIQUE,
    agent_key INTEGER REFERENCES agent (agent_key) ON DELETE SET NULL,
    key_hash BLOB,
    seniority TEXT,
    autonomy_level TEXT,
    scopes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(scopes)),
    created_at_us INTEGER NOT NULL,
    revoked_at_us INTEGER,
    row_hash BLOB -- sealed(), by the triggers below
) STRICT;

-- Projects, by which memories of level project are filtered.
CREATE TABLE project (
    project_key INTEGER PRIMARY KEY,
    project_id TEXT NOT NULL UNIQUE,
    created_at_us INTEGER NOT NULL
) STRICT;

-- An assistant's conversation with its counters (SPEC 1.8). Read by naps and compression.
CREATE TABLE session (
    session_key INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    client_key INTEGER REFERENCES client (client_key) ON DELETE SET NULL,
    project_key INTEGER REFERENCES project (project_key) ON DELETE SET NULL,
    started_at_us INTEGER NOT NULL,
    last_activity_us INTEGER NOT NULL CHECK (last_activity_us >= started_at_us),
    ended_at_us INTEGER,
    memory_count INTEGER NOT NULL DEFAULT 0 CHECK (memory_count >= 0),
    token_count INTEGER NOT NULL DEFAULT 0 CHECK (token_count >= 0),
    compressed INTEGER NOT NULL DEFAULT 0 CHECK (compressed IN (0, 1)),
    heard INTEGER NOT NULL DEFAULT 0 CHECK (heard >= 0), -- messages ever stored, the next ordinal
    UNIQUE (agent_key, session_id)
) STRICT;

-- A text as it arrived (after the secrets screen), stored when cleaning or chunking changed it.
CREATE TABLE source (
    source_key INTEGER PRIMARY KEY,
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    session_key INTEGER REFERENCES session (session_key) ON DELETE SET NULL,
    sha256 BLOB NOT NULL,
    zlib BLOB NOT NULL,
    created_at_us INTEGER NOT NULL,
    UNIQUE (agent_key, sha256)
) STRICT;

-- The memories. row_hash is SHA-256 over the immutable columns and the tags;
-- state, updated_at_us and expires_at_us may change. salt keys the audit's hash of this
-- row, so that nothing can be proved by the hash once the row is forgotten.
CREATE TABLE memory (
    memory_key INTEGER PRIMARY KEY AUTOINCREMENT,
    memory_id TEXT NOT NULL UNIQUE,
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    client_key INTEGER REFERENCES client (client_key) ON DELETE SET NULL,
    session_key INTEGER REFERENCES session (session_key) ON DELETE SET NULL,
    project_key INTEGER REFERENCES project (project_key) ON DELETE SET NULL,
    source_key INTEGER REFERENCES source (source_key) ON DELETE SET NULL,
    namespace TEXT NOT NULL,
    category TEXT NOT NULL CHECK (category IN ('working', 'episodic', 'semantic', 'procedural', 'social')),
    level TEXT NOT NULL CHECK (level IN ('persistent', 'project', 'session', 'none')),
    origin TEXT NOT NULL CHECK (origin IN ('person', 'assistant', 'tool', 'web', 'import')),
    trust INTEGER NOT NULL CHECK (trust IN (0, 1, 2)),
    speaker TEXT,
    content TEXT NOT NULL,
    caption TEXT,
    reference TEXT,
    ordinal INTEGER,
    part INTEGER NOT NULL DEFAULT 0,
    batch TEXT,
    token_count INTEGER NOT NULL CHECK (token_count >= 1),
    importance REAL CHECK (importance BETWEEN 0 AND 1),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    content_hash BLOB NOT NULL,
    created_at_us INTEGER NOT NULL,
    occurred_at_us INTEGER,
    row_hash BLOB NOT NULL,
    salt BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'pending', 'compressed', 'archived', 'quarantined', 'stale', 'trashed')),
    updated_at_us INTEGER,
    expires_at_us INTEGER,
    is_summary INTEGER NOT NULL DEFAULT 0 CHECK (is_summary IN (0, 1)),
    as_is INTEGER NOT NULL DEFAULT 0 CHECK (as_is IN (0, 1)) -- by memory.store: never gated
) STRICT;

-- Read by listings, newest first, and by counts: a covering index.
CREATE INDEX memory_by_time
    ON memory (agent_key, created_at_us DESC, memory_id, state, expires_at_us);
-- Read by searches for what happened in a period.
CREATE INDEX memory_by_event ON memory (agent_key, occurred_at_us) WHERE occurred_at_us IS NOT NULL;
-- Read by ingest to recognise a text that is stored already (SPEC D7).
CREATE INDEX memory_by_content ON memory (agent_key, content_hash);
-- Read by forget, and by imports, for what they imported before.
CREATE INDEX memory_by_reference ON memory (agent_key, reference) WHERE reference IS NOT NULL;
-- Read when a source is erased.
CREATE INDEX memory_by_source ON memory (source_key) WHERE source_key IS NOT NULL;
-- Read by naps for a session in order.
CREATE INDEX memory_by_session ON memory (session_key, ordinal, part, memory_key) WHERE session_key IS NOT NULL;
-- Read for a turn's visible neighbours, however many hidden ones lie between.
CREATE INDEX memory_beside ON memory (session_key, ordinal, part, memory_key)
    WHERE session_key IS NOT NULL AND state IN ('active', 'pending');
-- Read by the synthesizer: the visible summaries, newest first.
CREATE INDEX memory_summaries ON memory (agent_key, created_at_us DESC, memory_id)
    WHERE is_summary AND state IN ('active', 'pending');
-- Read by the embedding queue at every start: the rows without a vector.
CREATE INDEX memory_pending ON memory (memory_key) WHERE state = 'pending';
-- Read by searches: whether an agent has hidden summaries; mostly none.
CREATE INDEX memory_summary_away ON memory (agent_key) WHERE is_summary AND state IN ('compressed', 'archived');
-- Read by the purge of expired memories.
CREATE INDEX memory_expiring ON memory (expires_at_us) WHERE expires_at_us IS NOT NULL;

-- Tags in the order given. Read by filters (all of a query's tags must be there).
CREATE TABLE memory_tag (
    tag TEXT NOT NULL,
    memory_key INTEGER NOT NULL REFERENCES memory (memory_key) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (tag, memory_key)
) STRICT, WITHOUT ROWID;
-- Read when a memory is read back.
CREATE INDEX memory_tag_by_memory ON memory_tag (memory_key, ordinal);

-- How often answers used a memory of their prompt, by an estimate. Written in
-- batches, never inside a request; read by exports.
CREATE TABLE memory_use (
    memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
    access_count INTEGER NOT NULL DEFAULT 0,
    last_access_us INTEGER
) STRICT;

-- The visible turns before and after in the same session, and their words: the second column of
-- the full-text index. Rewritten with its neighbours; read by the ranker.
CREATE TABLE memory_context (
    memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
    before_key INTEGER,
    after_key INTEGER,
    context TEXT NOT NULL
) STRICT;
-- Read by erasing, for the memories whose context quotes an erased one.
CREATE INDEX memory_context_by_before ON memory_context (before_key) WHERE before_key IS NOT NULL;
CREATE INDEX memory_context_by_after ON memory_context (after_key) WHERE after_key IS NOT NULL;

-- Turns in passing: questions, requests, acknowledgements and remarks, which state nothing. Searches
-- read them on request (fulltext.py), nights ignore them. A row is deleted when its memory is
-- promoted.
CREATE TABLE passing (
    memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('question', 'request', 'acknowledgement', 'remark'))
) STRICT;

-- Earlier versions of an updated memory (SPEC D21), whole rows as JSON.
CREATE TABLE memory_version (
    memory_key INTEGER NOT NULL REFERENCES memory (memory_key) ON DELETE CASCADE,
    version INTEGER NOT NULL CHECK (version >= 1),
    snapshot TEXT NOT NULL CHECK (json_valid(snapshot)),
    row_hash BLOB NOT NULL,
    replaced_at_us INTEGER NOT NULL,
    PRIMARY KEY (memory_key, version)
) STRICT;

-- Lineage: the sources of a summary (from -> to = source -> summary). Read by recall and undo.
CREATE TABLE derived (
    from_key INTEGER NOT NULL REFERENCES memory (memory_key) ON DELETE CASCADE,
    to_key INTEGER NOT NULL REFERENCES memory (memory_key) ON DELETE CASCADE,
    PRIMARY KEY (from_key, to_key)
) STRICT, WITHOUT ROWID;
-- Read to show a summary's sources.
CREATE INDEX derived_by_summary ON derived (to_key, from_key);

-- Hidden memories (state archived or compressed): why, when, and under which archival id.
CREATE TABLE archive (
    memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
    archival_id TEXT NOT NULL UNIQUE,
    reason TEXT NOT NULL CHECK (reason IN ('low_importance', 'consolidated', 'compressed', 'cap', 'superseded', 'manual')),
    state_before TEXT NOT NULL,
    run TEXT,
    archived_at_us INTEGER NOT NULL
) STRICT;

-- Naps, nights, compressions and undos: request, progress and report. Read by a start, which
-- continues where a kill interrupted, by reports and by undo.
CREATE TABLE run (
    run_key INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('nap', 'night', 'compress', 'undo')),
    agent_key INTEGER REFERENCES agent (agent_key) ON DELETE SET NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed', 'undoing', 'undone')),
    asked TEXT NOT NULL CHECK (json_valid(asked)),
    cursor TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(cursor)),
    report TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(report)),
    started_at_us INTEGER NOT NULL,
    finished_at_us INTEGER
) STRICT;

-- One transaction of a run, recorded in that same transaction. Never holds a memory's text.
CREATE TABLE run_step (
    run_key INTEGER NOT NULL REFERENCES run (run_key) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    name TEXT NOT NULL,
    rows INTEGER NOT NULL CHECK (rows >= 0),
    at_us INTEGER NOT NULL,
    PRIMARY KEY (run_key, step)
) STRICT, WITHOUT ROWID;

-- What a run did to one memory, as JSON before and after: state, times, archive and trash rows.
-- No foreign key to memory: undo must notice a row that was erased since.
CREATE TABLE run_change (
    run_key INTEGER NOT NULL REFERENCES run (run_key) ON DELETE CASCADE,
    change INTEGER NOT NULL,
    step INTEGER NOT NULL, -- the transaction that did it, which is undone as a whole
    memory_key INTEGER NOT NULL,
    what TEXT NOT NULL CHECK (what IN ('made', 'moved')),
    before TEXT CHECK (json_valid(before)),
    after TEXT NOT NULL CHECK (json_valid(after)),
    PRIMARY KEY (run_key, change)
) STRICT, WITHOUT ROWID;
-- Read to find the run that last changed a memory.
CREATE INDEX run_change_by_memory ON run_change (memory_key, run_key);

-- A session's messages as naps read them, each once; the text is a source row.
CREATE TABLE session_message (
    session_key INTEGER NOT NULL REFERENCES session (session_key) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    source_key INTEGER NOT NULL REFERENCES source (source_key) ON DELETE CASCADE,
    nth INTEGER NOT NULL CHECK (nth >= 0), -- of equal messages in the session
    role TEXT NOT NULL,
    said_at_us INTEGER, -- from its transcript
    PRIMARY KEY (session_key, ordinal),
    UNIQUE (session_key, source_key, nth)
) STRICT, WITHOUT ROWID;
-- Read when a source is erased.
CREATE INDEX session_message_by_source ON session_message (source_key);

-- The messages that a memory of a nap was made of, in order; without a source when the message is
-- no longer stored. Read by memory.why, and when such a memory is erased.
CREATE TABLE memory_turn (
    memory_key INTEGER NOT NULL REFERENCES memory (memory_key) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    source_key INTEGER REFERENCES source (source_key) ON DELETE SET NULL,
    PRIMARY KEY (memory_key, ordinal)
) STRICT, WITHOUT ROWID;
-- Read when a source is erased.
CREATE INDEX memory_turn_by_source ON memory_turn (source_key) WHERE source_key IS NOT NULL;

-- The content of the full-text index of messages (message_index.py): the text of every stored
-- message once, however often it occurs. unpacked() is memd's own function (connect.py).
CREATE VIEW session_words (source_key, content, owner) AS
SELECT o.source_key, split_signs(CAST(unpacked(o.zlib) AS BLOB)), 'a' || o.agent_key
  FROM source AS o
 WHERE EXISTS (SELECT 1 FROM session_message AS g WHERE g.source_key = o.source_key);

-- What each memory of a nap is about: a later nap replaces the memory of the same slot. row_hash is
-- the hash of the memory as the nap wrote it; a different one means that its owner edited it. A
-- digest without a memory was forgotten. Read by naps; nights do not change these memories.
CREATE TABLE nap_slot (
    slot_key INTEGER PRIMARY KEY,
    session_key INTEGER NOT NULL REFERENCES session (session_key) ON DELETE CASCADE,
    slot TEXT NOT NULL,
    memory_key INTEGER UNIQUE REFERENCES memory (memory_key) ON DELETE CASCADE,
    row_hash BLOB
) STRICT;
-- Read by every nap of the session.
CREATE INDEX nap_slot_by_session ON nap_slot (session_key);
-- Read for the slots of a whole project.
CREATE INDEX nap_slot_by_name ON nap_slot (slot);

-- Each assistant's context window as last reported, and whether a crossing may fire. Read by
-- the nap trigger, so that a restart fires nothing twice. A window belongs to its agent: the same
-- session id of another one is another window, with a transcript of its own.
CREATE TABLE usage_window (
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    source TEXT NOT NULL,
    session_id TEXT NOT NULL,
    used_tokens INTEGER,
    window_tokens INTEGER,
    compact_at_tokens INTEGER,
    used_percent REAL,
    model TEXT,
    cwd TEXT,
    transcript_path TEXT,
    event TEXT,
    armed INTEGER NOT NULL CHECK (armed IN (0, 1)),
    seen_at_us INTEGER NOT NULL,
    napped_at_us INTEGER,
    PRIMARY KEY (agent_key, source, session_id)
) STRICT, WITHOUT ROWID;

-- When a session's context window was last emptied. announced: reported by an event or a shorter list,
-- so the drop in usage that follows is the same emptying. Read by prompts.
CREATE TABLE session_window (
    session_key INTEGER PRIMARY KEY REFERENCES session (session_key) ON DELETE CASCADE,
    emptied_at_us INTEGER NOT NULL,
    announced INTEGER NOT NULL CHECK (announced IN (0, 1))
) STRICT;

-- The memories, facts, lessons and patterns, by public id, in the prompts of a session, until its
-- window is emptied or the session ends. Read by the next prompt.
CREATE TABLE injection (
    session_key INTEGER NOT NULL REFERENCES session (session_key) ON DELETE CASCADE,
    client_key INTEGER NOT NULL REFERENCES client (client_key) ON DELETE CASCADE,
    item_id TEXT NOT NULL,
    memory_key INTEGER REFERENCES memory (memory_key) ON DELETE CASCADE,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (session_key, client_key, item_id)
) STRICT, WITHOUT ROWID;
-- Read when a memory is erased.
CREATE INDEX injection_by_memory ON injection (memory_key) WHERE memory_key IS NOT NULL;

-- Deleted, restorable until erase_after_us (state trashed).
CREATE TABLE trash (
    memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
    reason TEXT NOT NULL CHECK (reason IN ('deleted', 'expired', 'retention', 'session_end')),
    state_before TEXT NOT NULL,
    deleted_at_us INTEGER NOT NULL,
    erase_after_us INTEGER NOT NULL
) STRICT;
-- Read by the purge.
CREATE INDEX trash_by_time ON trash (erase_after_us);

-- Ids of forgotten memories, so that a retry or an import cannot store them again.
CREATE TABLE forgotten (
    memory_id TEXT NOT NULL PRIMARY KEY,
    forgotten_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Texts of sources that were erased, as HMACs of their hashes, from which no text can be guessed
-- without the file. Read by imports, so that an export made before cannot bring them back.
CREATE TABLE forgotten_text (
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    mark BLOB NOT NULL,
    PRIMARY KEY (agent_key, mark)
) STRICT, WITHOUT ROWID;

-- Preferences, lessons and patterns that were deleted, as HMACs of their kinds and names, and when.
-- Read by imports, so that an export made before cannot bring them back.
CREATE TABLE deletion (
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    mark BLOB NOT NULL,
    deleted_at_us INTEGER NOT NULL,
    PRIMARY KEY (agent_key, mark)
) STRICT, WITHOUT ROWID;

-- Embedding models by fingerprint; vectors of different models are never compared.
CREATE TABLE embedding_model (
    model_key INTEGER PRIMARY KEY,
    fingerprint TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL CHECK (dimension BETWEEN 1 AND 8192),
    created_at_us INTEGER NOT NULL
) STRICT;

-- The vectors (float32, little-endian, normalised): the truth from which vec0 is rebuilt. tokens are
-- the token vectors (64 x int8 each, for late interaction); NULL until they are made, empty for a model
-- without them. The checksum is the vector's.
CREATE TABLE embedding (
    embedding_key INTEGER PRIMARY KEY,
    memory_key INTEGER NOT NULL REFERENCES memory (memory_key) ON DELETE CASCADE,
    model_key INTEGER NOT NULL REFERENCES embedding_model (model_key) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('own', 'window')),
    checksum BLOB NOT NULL,
    vector BLOB NOT NULL,
    tokens BLOB,
    UNIQUE (memory_key, model_key, kind)
) STRICT;
-- Read by the embedding queue: vectors that were stored before token vectors existed.
CREATE INDEX embedding_without_tokens ON embedding (model_key, memory_key) WHERE tokens IS NULL;

-- The running sum of vectors for novelty (SPEC D4), one per agent and model.
CREATE TABLE centroid (
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    model_key INTEGER NOT NULL REFERENCES embedding_model (model_key) ON DELETE CASCADE,
    vectors INTEGER NOT NULL CHECK (vectors >= 0),
    total BLOB NOT NULL,
    PRIMARY KEY (agent_key, model_key)
) STRICT, WITHOUT ROWID;

-- Preferences: first in every recall (SPEC D5). salt keys the audit's hash of the row. client_key is
-- who set it. Without confirmed_at_us the owner neither said nor confirmed it, and it is fenced.
CREATE TABLE preference (
    preference_key INTEGER PRIMARY KEY,
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    token_count INTEGER NOT NULL CHECK (token_count >= 1),
    memory_key INTEGER REFERENCES memory (memory_key) ON DELETE SET NULL,
    salt BLOB NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL,
    origin TEXT NOT NULL DEFAULT 'assistant' CHECK (origin IN ('person', 'assistant', 'tool', 'web', 'import')),
    client_key INTEGER REFERENCES client (client_key) ON DELETE SET NULL,
    confirmed_at_us INTEGER,
    row_hash BLOB, -- sealed(), by the triggers below
    UNIQUE (agent_key, name)
) STRICT;
-- Read when the memory that states a preference is deleted.
CREATE INDEX preference_by_memory ON preference (memory_key) WHERE memory_key IS NOT NULL;

-- The speakers in an agent's memories: the ranker's name feature.
CREATE TABLE speaker (
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    name TEXT NOT NULL,
    turns INTEGER NOT NULL,
    PRIMARY KEY (agent_key, name)
) STRICT, WITHOUT ROWID;

-- Replies by idempotency key, kept REPLY_KEPT_DAYS (SPEC D7). Never holds a memory's text.
CREATE TABLE reply (
    client TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    reply TEXT NOT NULL CHECK (json_valid(reply)),
    created_at_us INTEGER NOT NULL,
    PRIMARY KEY (client, idempotency_key)
) STRICT;
-- Read by the purge of old replies.
CREATE INDEX reply_by_time ON reply (created_at_us);

-- The audit: one row a transaction, or one for refused attempts of the same kind, each hash over
-- the one before it. Read by memd audit.
CREATE TABLE change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at_us INTEGER NOT NULL,
    client TEXT NOT NULL,
    method TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT 'done' CHECK (outcome IN ('done', 'denied')),
    attempts INTEGER NOT NULL DEFAULT 1 CHECK (attempts >= 1), -- refused ones, counted together
    batch TEXT,
    rows INTEGER NOT NULL CHECK (rows >= 0),
    digest BLOB NOT NULL,
    prev BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- Tuned ranker weights; the active row overrides the shipped table.
CREATE TABLE weights (
    weights_key INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    body TEXT NOT NULL CHECK (json_valid(body)),
    active INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),
    created_at_us INTEGER NOT NULL
) STRICT;

-- The organisation's log (SPEC 15.5): append-only, one row an operation, a version a fact.
-- at_us, when memd knew it, never goes back. valid_*_us is when it held in the world.
CREATE TABLE org_operation (
    operation_key INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT NOT NULL UNIQUE,
    fact_id TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    kind TEXT NOT NULL CHECK (kind IN ('PUBLISH', 'RETRACT')),
    category TEXT NOT NULL CHECK (category IN ('core_policy', 'adr', 'procedure', 'convention', 'entity_definition')),
    content TEXT CHECK ((kind = 'PUBLISH') = (content IS NOT NULL)),
    tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    is_human INTEGER NOT NULL CHECK (is_human IN (0, 1)),
    author_id TEXT,
    seniority TEXT CHECK (seniority IN ('junior', 'mid', 'senior', 'lead', 'principal', 'director', 'vp', 'c_suite')),
    autonomy_level TEXT CHECK (autonomy_level IN ('locked', 'supervised', 'semi', 'full')),
    client TEXT NOT NULL,
    signature BLOB, -- the owner's, where a human wrote over the socket
    at_us INTEGER NOT NULL,
    valid_from_us INTEGER,
    valid_to_us INTEGER CHECK (valid_to_us > valid_from_us),
    row_hash BLOB NOT NULL,
    salt BLOB NOT NULL,
    UNIQUE (fact_id, version),
    CHECK ((is_human = 1) = (author_id IS NULL)),
    CHECK ((is_human = 1) = (seniority IS NULL))
) STRICT;
-- Read by snapshots of a moment.
CREATE INDEX org_operation_by_time ON org_operation (at_us, fact_id);

-- The current facts: the result of replaying the log. Read by get, query and lists.
CREATE TABLE org_fact (
    fact_key INTEGER PRIMARY KEY,
    fact_id TEXT NOT NULL UNIQUE,
    operation_key INTEGER NOT NULL REFERENCES org_operation (operation_key),
    version INTEGER NOT NULL CHECK (version >= 1),
    category TEXT NOT NULL CHECK (category IN ('core_policy', 'adr', 'procedure', 'convention', 'entity_definition')),
    content TEXT NOT NULL,
    tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    created_at_us INTEGER NOT NULL,
    retracted_at_us INTEGER CHECK (retracted_at_us >= created_at_us)
) STRICT;
-- Read by lists of a category, newest first.
CREATE INDEX org_fact_by_category ON org_fact (category, created_at_us DESC) WHERE retracted_at_us IS NULL;
-- Read by walks: whether an operation is still current.
CREATE INDEX org_fact_by_operation ON org_fact (operation_key) WHERE retracted_at_us IS NULL;

-- The content of the full-text index of facts (fact_index.py): the current ones.
CREATE VIEW org_fact_words (fact_key, content, category) AS
SELECT fact_key, split_signs(CAST(content AS BLOB)), category
  FROM org_fact
 WHERE retracted_at_us IS NULL;

-- The access rules of facts and since when they were in force, as JSON. Written when they change;
-- read by a question about an earlier time.
CREATE TABLE org_rules (
    rules_key INTEGER PRIMARY KEY AUTOINCREMENT,
    rules TEXT NOT NULL CHECK (json_valid(rules)),
    at_us INTEGER NOT NULL
) STRICT;

-- Proposals of facts by clients without the right to write them; the owner decides.
CREATE TABLE org_proposal (
    proposal_key INTEGER PRIMARY KEY AUTOINCREMENT,
    proposal_id TEXT NOT NULL UNIQUE,
    fact_id TEXT, -- the fact to change or retract, NULL for a new one
    kind TEXT NOT NULL CHECK (kind IN ('PUBLISH', 'RETRACT')),
    category TEXT NOT NULL CHECK (category IN ('core_policy', 'adr', 'procedure', 'convention', 'entity_definition')),
    content TEXT,
    tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    valid_from_us INTEGER, -- as its author claims
    valid_to_us INTEGER,
    author_id TEXT NOT NULL,
    client TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'approved', 'rejected')),
    decided_at_us INTEGER,
    operation_id TEXT -- the operation of its approval
) STRICT;
-- Read by a review.
CREATE INDEX org_proposal_open ON org_proposal (proposal_key) WHERE state = 'open';

-- The owner's public keys (Ed25519), which prove that a human wrote a fact.
CREATE TABLE owner_key (
    owner_key INTEGER PRIMARY KEY,
    public_key BLOB NOT NULL UNIQUE,
    created_at_us INTEGER NOT NULL,
    revoked_at_us INTEGER
) STRICT;

-- The things that statements are about, by folded name. Read by walks and by questions.
CREATE TABLE entity (
    entity_key INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE
) STRICT;

-- What a text says about two things: the edges of the graph and the unit of validity. The truth
-- is its text (an operation or a memory), from which it can be extracted again. Only known_to_us
-- of a row ever changes: anything else is a new row.
CREATE TABLE statement (
    statement_key INTEGER PRIMARY KEY AUTOINCREMENT,
    statement_id TEXT NOT NULL UNIQUE,
    subject_key INTEGER NOT NULL REFERENCES entity (entity_key),
    relation TEXT NOT NULL,
    object_key INTEGER NOT NULL REFERENCES entity (entity_key),
    negated INTEGER NOT NULL DEFAULT 0 CHECK (negated IN (0, 1)),
    qualifier TEXT, -- a restriction: 'admin' in 'uses Django for admin'
    valid_from_us INTEGER,
    valid_to_us INTEGER CHECK (valid_to_us > valid_from_us),
    known_from_us INTEGER NOT NULL,
    known_to_us INTEGER CHECK (known_to_us >= known_from_us),
    operation_key INTEGER REFERENCES org_operation (operation_key) ON DELETE CASCADE,
    memory_key INTEGER REFERENCES memory (memory_key) ON DELETE CASCADE,
    span_from INTEGER NOT NULL, -- where in the text, in characters
    span_to INTEGER NOT NULL CHECK (span_to > span_from),
    claimed_from_us INTEGER, -- the text's own claim; valid_* is what other texts leave of it
    claimed_to_us INTEGER,
    ended_by INTEGER REFERENCES org_operation (operation_key) ON DELETE SET NULL, -- the operation that ended it
    CHECK ((operation_key IS NULL) <> (memory_key IS NULL))
) STRICT;
-- Read by walks, forwards and backwards, and by questions about a time. With known_to_us in the
-- index a walk reads no earlier versions.
CREATE INDEX statement_by_subject ON statement (subject_key, relation, known_to_us);
CREATE INDEX statement_by_object ON statement (object_key, relation, known_to_us);
-- Read when a new statement may contradict older ones.
CREATE INDEX statement_by_claim ON statement (subject_key, relation, object_key);
-- Read when its text changes or is deleted.
CREATE INDEX statement_by_operation ON statement (operation_key) WHERE operation_key IS NOT NULL;
CREATE INDEX statement_by_memory ON statement (memory_key) WHERE memory_key IS NOT NULL;

-- Who published a shared memory (agent __shared__). Read by shared searches and retractions.
CREATE TABLE shared (
    memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
    publisher_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE
) STRICT;
-- Read by searches that exclude an agent.
CREATE INDEX shared_by_publisher ON shared (publisher_key, memory_key);

-- The flags of a suspicious memory, and its state before it was quarantined.
CREATE TABLE flagged (
    memory_key INTEGER PRIMARY KEY REFERENCES memory (memory_key) ON DELETE CASCADE,
    flags TEXT NOT NULL CHECK (json_valid(flags)),
    state_before TEXT,
    flagged_at_us INTEGER NOT NULL,
    released_at_us INTEGER
) STRICT;

-- Learnings: what worked and what did not (SPEC 5a.1). Read by the synthesizer.
CREATE TABLE learning (
    learning_key INTEGER PRIMARY KEY AUTOINCREMENT,
    learning_id TEXT NOT NULL UNIQUE,
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    task_type TEXT NOT NULL,
    approach TEXT NOT NULL CHECK (json_valid(approach)),
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'partial')),
    lesson TEXT NOT NULL,
    salt BLOB NOT NULL,
    at_us INTEGER NOT NULL,
    row_hash BLOB -- sealed(), by the triggers below
) STRICT;
-- Read newest first.
CREATE INDEX learning_by_time ON learning (agent_key, at_us DESC);

-- Patterns of tools that worked (SPEC 5a.2), counted.
CREATE TABLE playbook (
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    pattern_id TEXT NOT NULL,
    task_type TEXT NOT NULL,
    description TEXT NOT NULL,
    tool_sequence TEXT NOT NULL CHECK (json_valid(tool_sequence)),
    prompt_template TEXT NOT NULL DEFAULT '',
    success_count INTEGER NOT NULL DEFAULT 1 CHECK (success_count >= 1),
    promoted INTEGER NOT NULL DEFAULT 0 CHECK (promoted IN (0, 1)),
    salt BLOB NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL,
    row_hash BLOB, -- sealed(), by the triggers below
    PRIMARY KEY (agent_key, pattern_id)
) STRICT, WITHOUT ROWID;

-- The files of the file view: a path, and the memory that is its text. A memory is never blank,
-- but a file may be: its white space is stored here.
CREATE TABLE memory_file (
    agent_key INTEGER NOT NULL REFERENCES agent (agent_key) ON DELETE CASCADE,
    path TEXT NOT NULL,
    memory_key INTEGER UNIQUE REFERENCES memory (memory_key) ON DELETE CASCADE,
    blank TEXT CHECK ((memory_key IS NULL) = (blank IS NOT NULL)),
    PRIMARY KEY (agent_key, path)
) STRICT, WITHOUT ROWID;

-- Superseded sources: memories hidden by a summary, which is returned in their place; not those hidden
-- on their own (importance, the cap, by hand). Read by the caches, by filters, and when a summary is
-- removed.
CREATE VIEW behind (memory_key) AS
SELECT r.memory_key
  FROM archive AS r
       JOIN memory AS m ON m.memory_key = r.memory_key
 WHERE m.state IN ('compressed', 'archived')
   AND r.reason IN ('consolidated', 'compressed')
   AND EXISTS (SELECT 1
                 FROM derived AS d
                      JOIN memory AS s ON s.memory_key = d.to_key
                WHERE d.from_key = r.memory_key AND s.is_summary AND s.state <> 'trashed');

-- The part of both caches that contains a memory, so that a search reads no more than it needs
-- (fulltext.py): a, visible memories and superseded sources; p, the same of turns in passing; h,
-- memories hidden on their own; s, summaries.
CREATE VIEW cache_part (memory_key, part) AS
SELECT m.memory_key,
       CASE WHEN m.is_summary THEN 's'
            WHEN m.state IN ('active', 'pending')
                 OR EXISTS (SELECT 1 FROM behind AS b WHERE b.memory_key = m.memory_key)
            THEN iif(EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = m.memory_key),
                     'p', 'a')
            ELSE 'h'
       END
  FROM memory AS m
 WHERE m.state IN ('active', 'pending', 'compressed', 'archived');

-- The content of the full-text index, with which its integrity check compares it. The owner token
-- encodes agent and part (a12). split_signs() is memd's own function (connect.py).
CREATE VIEW memory_words (memory_key, own, context, owner) AS
SELECT m.memory_key,
       split_signs(CAST(iif(m.speaker IS NULL, '', m.speaker || ': ') || m.content
           || iif(m.caption IS NULL, '', ' [shares photo: ' || m.caption || ']') AS BLOB)),
       split_signs(CAST(coalesce(c.context, '') AS BLOB)),
       p.part || m.agent_key
  FROM memory AS m
       JOIN cache_part AS p ON p.memory_key = m.memory_key
       LEFT JOIN memory_context AS c ON c.memory_key = m.memory_key;

-- These rows are hashed as they are written, whoever writes them: sealed() is memd's own function
-- (connect.py). Compared by readers (integrity.py) and by checks.
CREATE TRIGGER client_sealed AFTER INSERT ON client
BEGIN
    UPDATE client
       SET row_hash = sealed(new.client_id, new.agent_key, new.key_hash, new.seniority,
                         new.autonomy_level, new.scopes, new.revoked_at_us)
     WHERE client_key = new.client_key;
END;
CREATE TRIGGER client_resealed AFTER UPDATE OF client_id, agent_key, key_hash, seniority,
    autonomy_level, scopes, revoked_at_us ON client
BEGIN
    UPDATE client
       SET row_hash = sealed(new.client_id, new.agent_key, new.key_hash, new.seniority,
                         new.autonomy_level, new.scopes, new.revoked_at_us)
     WHERE client_key = new.client_key;
END;
CREATE TRIGGER preference_sealed AFTER INSERT ON preference
BEGIN
    UPDATE preference
       SET row_hash = sealed(new.agent_key, new.name, new.value, new.origin,
                         new.confirmed_at_us)
     WHERE preference_key = new.preference_key;
END;
CREATE TRIGGER preference_resealed AFTER UPDATE OF agent_key, name, value, origin, confirmed_at_us
    ON preference
BEGIN
    UPDATE preference
       SET row_hash = sealed(new.agent_key, new.name, new.value, new.origin,
                         new.confirmed_at_us)
     WHERE preference_key = new.preference_key;
END;
CREATE TRIGGER learning_sealed AFTER INSERT ON learning
BEGIN
    UPDATE learning
       SET row_hash = sealed(new.learning_id, new.agent_key, new.task_type, new.approach,
                         new.outcome, new.lesson, new.at_us)
     WHERE learning_key = new.learning_key;
END;
CREATE TRIGGER learning_resealed AFTER UPDATE OF learning_id, agent_key, task_type, approach,
    outcome, lesson, at_us ON learning
BEGIN
    UPDATE learning
       SET row_hash = sealed(new.learning_id, new.agent_key, new.task_type, new.approach,
                         new.outcome, new.lesson, new.at_us)
     WHERE learning_key = new.learning_key;
END;
CREATE TRIGGER playbook_sealed AFTER INSERT ON playbook
BEGIN
    UPDATE playbook
       SET row_hash = sealed(new.agent_key, new.pattern_id, new.task_type, new.description,
                         new.tool_sequence, new.prompt_template)
     WHERE agent_key = new.agent_key AND pattern_id = new.pattern_id;
END;
CREATE TRIGGER playbook_resealed AFTER UPDATE OF agent_key, pattern_id, task_type, description,
    tool_sequence, prompt_template ON playbook
BEGIN
    UPDATE playbook
       SET row_hash = sealed(new.agent_key, new.pattern_id, new.task_type, new.description,
                         new.tool_sequence, new.prompt_template)
     WHERE agent_key = new.agent_key AND pattern_id = new.pattern_id;
END;
