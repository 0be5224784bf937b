"""Every limit of memd, with its unit in its name.

A limit keeps one caller from using up what the others need. Users cannot change it; a value
that they can change is a setting (``domain/settings``). The comments say what is limited.
"""

# The wire (PROMISES 4)
FRAME_BYTES_MAX = 1_048_576
FRAME_DEPTH_MAX = 32
REPLY_BYTES_MAX = 2 * 1_048_576  # of one answer; a text as long as a frame fits, with its fields
LARGE_CHARS = 16_384  # larger requests and answers are processed in a thread
BATCH_REQUESTS_MAX = 64
IN_FLIGHT_REQUESTS_MAX = 32
CONNECTIONS_MAX = 256
OUT_QUEUE_BYTES_MAX = 4 * 1_048_576  # unsent, for one connection; beyond it the client is dropped
OUT_DRAIN_MS_MAX = 5_000  # how long a client may leave its answers unread
FRAME_ARRIVAL_MS_MAX = 2_000  # from a frame's first byte to its newline
CONNECTION_IDLE_MS_MAX = 600_000
METHOD_CHARS_MAX = 64
SETTINGS_BYTES_MAX = 1_048_576  # of the settings file
SOCKET_PATH_BYTES_MAX = 103  # macOS; Linux has 107

# Texts
TEXT_CHARS_MAX = 900_000  # of one text to ingest or store; must fit into a frame
NAME_CHARS_MAX = 256  # ids, namespaces, tags, speakers, sources
PROJECT_CHARS_MAX = 4_096  # usually the path of a working tree
TAGS_MAX = 64
QUERY_CHARS_MAX = 2_000  # of a query that are matched; a model needs a second for 8,000
QUERY_END_CHARS_MAX = 400  # of these from the query's end, where a question follows a pasted text
QUERY_TERMS_MAX = 64
WINDOW_TOKENS_MAX = 254  # of one embedded text: MiniLM's 256 less [CLS] and [SEP] (SPEC D3)
HEADING_CHARS_MAX = 160  # before a chunk; fits the window: a token has a character or more
CHUNKS_INLINE_MAX = 8  # a text of more chunks is embedded after its receipt was sent (SPEC D4)
INGEST_ITEMS_MAX = 256  # texts in one ingest_many
NOTE_BYTES_MAX = 8 * 1_048_576  # of one imported file
NOTE_FILES_MAX = 20_000  # of one import
SOURCE_IDS_MAX = 25_000  # memories of one file; their ids must fit into one frame

# Lists and recall
PAGE_ITEMS_MAX = 1_000
PAGE_BYTES_MAX = REPLY_BYTES_MAX - FRAME_BYTES_MAX  # of a page's texts, without names and times
FORGOTTEN_TEXTS_MAX = 5  # shown before the deletion is confirmed
FORGOTTEN_IDS_MAX = 1_000  # named in one answer, whose count and proof cover all
RECALL_TOP_K_MAX = 100
RECALL_BUDGET_TOKENS_MAX = 1_000_000
RECALL_CLIENT_ITEMS_MAX = 6  # from a client or a file, not counting the owner's and the assistant's
RECALL_SOURCE_ITEMS_MAX = 3  # of these from one source, or without a source
RECALL_TWINS_ITEMS_MAX = 2  # of these that are near-duplicates
RECALL_BURST_ITEMS_MAX = 1  # of these from one burst
BRIEF_SESSIONS_MAX = 40  # of a project, the latest, listed in a brief
BRIEF_RULES_MAX = 100  # of a project, the latest, among which a brief shows those that fit
BRIEF_HARMS_MAX = 200  # latest memories with a word about harm, such as an allergy
BRIEF_ELSEWHERE_MAX = 40  # latest wishes from other projects that apply everywhere
BRIEF_LATEST_ITEMS_MAX = 500  # latest memories, searched for deliberately stored ones
PROJECT_NEAR_ITEMS_MAX = 300  # of a project, the latest, with which notes are compared
SESSION_INJECTIONS_MAX = 4_096  # memories recorded as given to one session
SESSION_TOLD_MAX = 192  # of these compared with an assistant's answer
BURST_ITEMS_MAX = 60  # texts of tools or pages from one client within BURST_MS; more are flagged
BURST_MS = 60_000
POLICIES_SHOWN_ITEMS_MAX = 200  # read for one prompt, which shows those that fit its budget
KNN_ROWS_MAX = 4_096  # sqlite-vec's limit of k

# Embedding
PATIENCE_MS_MAX = 60_000  # how long a prompt may wait for a model to be loaded
EMBED_BATCH_TEXTS = 16
EMBED_BATCH_TOKENS = 512  # with padding; takes about 0.1 s, the longest that a question may wait
EMBED_CUT_CHARS = 65_536  # tokenized at a time, before the queue is checked for questions again
EMBED_QUEUE_TEXTS_MAX = 4_096
EMBED_CACHE_TEXTS_MAX = 1_024  # about 3 kB each
EMBED_TOKEN_VECTORS_MAX = 256  # of one text, 16 kB; the remaining tokens have no vectors
CLASSIFY_CACHE_MESSAGES_MAX = 1_024
MODEL_IDLE_MS_MAX = 900_000
EMBED_CLOSE_MS_MAX = 1_000  # how long a stop waits for the current batch

# Re-ranking by the optional cross-encoder
RERANK_BATCH_PAIRS = 4  # larger batches are slower: all pairs are padded to the longest
RERANK_WAITING_MAX = 8  # questions; further ones are answered without re-ranking
RERANK_MS_MAX = 2_000  # for one question of 20 pairs, which is then answered without re-ranking
RERANK_LOAD_MS_MAX = 5_000  # in addition for the first question, which loads the model
RERANK_QUERY_CHARS_MAX = 512
RERANK_TEXT_CHARS_MAX = 2_000  # a pair may have 512 tokens

# Fetching the model, by commands that a person runs
HUB_ANSWER_MS_MAX = 3_000
FETCH_QUIET_MS_MAX = 60_000  # how long a download may receive nothing
MODEL_FOLDER_BYTES_MAX = 256 * 1_048_576

# Usage files and transcripts of assistants
USAGE_BYTES_MAX = 65_536  # of one usage file
USAGE_FILES_MAX = 1_000  # read in one folder, the newest
USAGE_SETTLE_MS = 100  # from a file's event to reading it, so that one write is read once
USAGE_BLIND_POLL_S = 2  # poll interval if the system has no file watches left
USAGE_POLL_S = 15  # poll interval of all files' times, because events may be lost
SIGNAL_PATH_CHARS_MAX = PROJECT_CHARS_MAX
TRANSCRIPT_BYTES_MAX = 256 * 1_048_576  # of a longer transcript only the end is read

# The store
WRITE_QUEUE_MAX = 256
READERS = 2  # connections that read
SCANNERS = 2  # connections for long scans
BUSY_MS_MAX = 5_000  # how long a locked file is waited for
BACKUPS_NOTED_MAX = 1_000  # paths of copies outside the data folder
REPLY_KEPT_DAYS = 7  # how long an idempotency key is remembered (SPEC D7)
DRAIN_MS_MAX = 1_500  # from SIGTERM to exit < 2 s (P20)

# The file view
FILE_PATH_CHARS_MAX = 1_024
FILES_LISTED_MAX = 2_000  # in one answer
FILE_ANSWER_BYTES_MAX = REPLY_BYTES_MAX - 4_096  # of a file's content in an answer, as JSON
FILE_LINES_MAX = 999_999  # line numbers have six columns
FILE_PLACES_MAX = 100  # line numbers in the answer if a text occurs several times in a file
FILE_MEMORIES_SHOWN = 100  # newest memories of a category, listed as files

# Organisational memory
CORE_POLICIES_MAX = 100  # in the settings; five to ten are intended, as every prompt contains them

# Access
CLIENTS_MAX = 1_000  # with a key
CLIENT_NAME_CHARS_MAX = 64
KEY_FILE_BYTES_MAX = 4_096
DENIED_WAIT_MS_MIN = 1_000  # first interval in which refusals of one kind become one audit row
DENIED_WAIT_MS_MAX = 600_000  # longest such interval, during a flood
ANCHOR_S = 3_600  # between two anchors of the audit's last hash, if it has changed
NONCE_MS_MAX = 600_000  # how long the owner's signature may take after the daemon's nonce
PROPOSALS_OPEN_MAX = 100  # of one client

# Sleep
NAP_MESSAGES_MAX = 20_000  # of one nap, the newest
NAP_TRANSCRIPT_BYTES_MAX = 32 * 1_048_576  # of a longer transcript a nap reads the end
TRANSCRIPTS_ARRIVING_MAX = 4  # uploads in parts at the same time
NAPS_WAITING_MAX = 32
NOTES_WAITING_MAX = 1_000  # reports of memd's own work, until the next transaction
FACT_CHARS_MAX = 500  # of one line that a summary copies verbatim
PROVIDER_REQUESTS_MAX = 4  # requests of one consolidation to a language model at the same time
PROVIDER_ANSWER_MS_MAX = 120_000
COMPLETION_BYTES_MAX = 1_048_576  # of one answer of a language model, as received
JOBS_KEPT_MAX = 200  # job files of the language model's command, so that erasing all is fast

# The graph
STATEMENTS_CHARS_MAX = 100_000  # of one text that are searched for statements
WALK_EDGES_MAX = 10_000  # visited by one walk: about 60 ms in any graph
WALK_HOPS_MAX = 6
WALK_PATHS_MAX = 100
LEARN_ROWS = 32  # memories searched for statements in one transaction: a few milliseconds
LEARN_QUIET_MS = 250  # from the arrival of a memory to searching it
QUOTE_CHARS_MAX = 500  # of the words shown as evidence of a statement

# The past
FACTS_LOOKED_AT_MAX = 100  # candidates of one query, before invalid ones are left out
THEN_OPERATIONS_MAX = 2_000  # read for one page of past facts; the next page continues there
STRETCHES_MAX = 500  # periods of one timeline

# What is learnt from tasks, and one block out of all sources
TASK_TOOLS_MAX = 100  # names of tools in one task
FAILED_TOOL_CALLS_MAX = 10_000  # of one failed task, with repeats
LESSONS_READ_ITEMS_MAX = 1_000  # of an agent, to compare a new one with and to export as skills
FACTS_OFFERED_MAX = 48  # candidates for one question: those with its words, then the newest
LESSONS_OFFERED_MAX = 32  # candidates for one question; as many patterns again
LEARNINGS_READ_ITEMS_MAX = 100  # newest ones, of which the most similar are shown
PATTERNS_READ_ITEMS_MAX = 100  # of a playbook, those with the most successes
SUMMARIES_READ_ITEMS_MAX = 100  # SPEC 5.14
FRAGMENTS_ITEMS_MAX = 1_000  # the caller's own texts in one request

# Events
EVENTS_WAITING_MAX = 256  # for a client that does not read; the oldest are dropped and counted
EVENT_IDS_MAX = 100  # named in one event, whose count covers all
RUN_MEMORIES_MAX = 1_000  # named in a run's report or event; further ones are paged
NIGHT_PAGE_ROWS = 500  # memories without a session that are summarised at a time
NIGHT_QUIET_S_MIN = 120  # without a request, before a due night begins
NIGHT_RETRY_S = 3_600  # after a night that could not begin, or that a disk error stopped
NIGHT_RETRY_S_MAX = 86_400  # upper bound of this delay, which doubles with each disk error
NIGHT_TRIES_MAX = 7  # of one run that disk errors stop: more than two days

assert HEADING_CHARS_MAX < WINDOW_TOKENS_MAX
assert 40 * SOURCE_IDS_MAX < FRAME_BYTES_MAX
assert TEXT_CHARS_MAX < FRAME_BYTES_MAX
assert FRAME_BYTES_MAX < REPLY_BYTES_MAX < OUT_QUEUE_BYTES_MAX
assert OUT_QUEUE_BYTES_MAX >= 2 * FRAME_BYTES_MAX
assert RECALL_BURST_ITEMS_MAX <= RECALL_TWINS_ITEMS_MAX <= RECALL_SOURCE_ITEMS_MAX
assert RECALL_SOURCE_ITEMS_MAX <= RECALL_CLIENT_ITEMS_MAX
assert RECALL_TOP_K_MAX <= PAGE_ITEMS_MAX < KNN_ROWS_MAX
assert EMBED_BATCH_TEXTS <= EMBED_QUEUE_TEXTS_MAX
assert EMBED_BATCH_TOKENS >= WINDOW_TOKENS_MAX
assert DENIED_WAIT_MS_MIN < DENIED_WAIT_MS_MAX
assert EMBED_CLOSE_MS_MAX < DRAIN_MS_MAX
