"""Every limit of memd, with its unit in its name.

A value that a user may change is a setting (``domain/settings``); a limit is a bound that
keeps one caller from hurting the others.
"""

# The wire (PROMISES 4)
FRAME_BYTES_MAX = 1_048_576
FRAME_DEPTH_MAX = 32
REPLY_BYTES_MAX = 2 * 1_048_576  # of one answer; a stored text of a full frame fits with its fields
LARGE_CHARS = 16_384  # of a request or an answer; larger ones are read and written in a thread
BATCH_REQUESTS_MAX = 64
IN_FLIGHT_REQUESTS_MAX = 32
CONNECTIONS_MAX = 256
OUT_QUEUE_BYTES_MAX = 4 * 1_048_576
OUT_DRAIN_MS_MAX = 5_000
FRAME_ARRIVAL_MS_MAX = 2_000  # from a frame's first byte to its newline
CONNECTION_IDLE_MS_MAX = 600_000
METHOD_CHARS_MAX = 64
SETTINGS_BYTES_MAX = 1_048_576  # of the settings file
SOCKET_PATH_BYTES_MAX = 103  # macOS; Linux has 107

# Texts
TEXT_CHARS_MAX = 900_000  # of one text given to ingest or store; a frame holds no more
NAME_CHARS_MAX = 256  # ids, namespaces, tags, speakers, sources
PROJECT_CHARS_MAX = 4_096  # mostly the path of a working tree
TAGS_MAX = 64
QUERY_CHARS_MAX = 2_000  # of a question, what is matched: a model takes a second for 8,000
QUERY_END_CHARS_MAX = 400  # of them those of its end, where a pasted text is asked about
QUERY_TERMS_MAX = 64
WINDOW_TOKENS_MAX = 254  # of one embedded text: MiniLM's 256 less [CLS] and [SEP] (SPEC D3)
HEADING_CHARS_MAX = 160  # of the headings that a chunk begins with; a token has a character or more
CHUNKS_INLINE_MAX = 8  # a text of more chunks is embedded after its receipt (SPEC D4)
INGEST_ITEMS_MAX = 256  # texts in one ingest_many
NOTE_BYTES_MAX = 8 * 1_048_576  # of one imported file
NOTE_FILES_MAX = 20_000  # of one import
SOURCE_IDS_MAX = 25_000  # memories of one file; their ids fit into one frame

# Lists and recall
PAGE_ITEMS_MAX = 1_000
PAGE_BYTES_MAX = REPLY_BYTES_MAX - FRAME_BYTES_MAX  # of a page's texts; names and times beside them
FORGOTTEN_TEXTS_MAX = 5  # shown before anybody says yes
FORGOTTEN_IDS_MAX = 1_000  # named in one answer; the count and the proof are of all
RECALL_TOP_K_MAX = 100
RECALL_BUDGET_TOKENS_MAX = 1_000_000
RECALL_CLIENT_ITEMS_MAX = 6  # of one client, other than the owner's and the assistant's own texts
RECALL_SOURCE_ITEMS_MAX = 3  # of those, of one source, or without a source
RECALL_TWINS_ITEMS_MAX = 2  # of those, near-duplicates
RECALL_BURST_ITEMS_MAX = 1  # of those, from one burst
BRIEF_SESSIONS_MAX = 40  # the latest of a project, listed in a brief
BRIEF_RULES_MAX = 100  # the latest of a project, of which a brief shows what fits
BRIEF_HARMS_MAX = 200  # the latest memories that have a word of what harms somebody
BRIEF_ELSEWHERE_MAX = 40  # the latest wishes of other projects that hold everywhere
BRIEF_LATEST_ITEMS_MAX = 500  # searched by a brief for deliberately stored ones
SESSION_INJECTIONS_MAX = 4_096  # items recorded as given to one session
SESSION_TOLD_MAX = 192  # of those, compared with an assistant's answer
BURST_ITEMS_MAX = 60  # texts of tools or pages by one client within BURST_MS; more are marked
BURST_MS = 60_000
POLICIES_SHOWN_ITEMS_MAX = 200  # read for one prompt, whose budget shows as many as fit
KNN_ROWS_MAX = 4_096  # vec0's own limit of k

# Embedding
PATIENCE_MS_MAX = 60_000  # for a model that is being loaded
EMBED_BATCH_TEXTS = 16
EMBED_BATCH_TOKENS = 512  # with padding: about 0.1 s, which is what a question may wait
EMBED_CUT_CHARS = 65_536  # of texts that are cut into windows before the queue is looked at again
EMBED_QUEUE_TEXTS_MAX = 4_096
EMBED_CACHE_TEXTS_MAX = 1_024  # of some 3 kB each
EMBED_TOKEN_VECTORS_MAX = 256  # of one text, 16 kB; what follows is compared by its vector alone
CLASSIFY_CACHE_MESSAGES_MAX = 1_024
MODEL_IDLE_MS_MAX = 900_000
EMBED_CLOSE_MS_MAX = 1_000  # how long a stop waits for the batch under way

# Re-ranking by the optional cross-encoder
RERANK_BATCH_PAIRS = 4  # larger batches are slower: all are as long as the longest
RERANK_WAITING_MAX = 8  # questions; further ones are answered without it
RERANK_MS_MAX = 2_000  # for one question, 20 pairs; then it is answered without it
RERANK_LOAD_MS_MAX = 5_000  # on top for the first question, which waits for the model
RERANK_QUERY_CHARS_MAX = 512
RERANK_TEXT_CHARS_MAX = 2_000  # a pair has room for 512 pieces

# Fetching the model, by commands that a person runs
HUB_ANSWER_MS_MAX = 3_000
FETCH_QUIET_MS_MAX = 60_000  # how long a download may receive nothing
MODEL_FOLDER_BYTES_MAX = 256 * 1_048_576

# Usage files and transcripts of assistants
USAGE_BYTES_MAX = 65_536  # of one usage file
USAGE_FILES_MAX = 1_000  # read in one folder, the newest
USAGE_SETTLE_MS = 100  # from a file's event to its reading, so that one write is read once
USAGE_BLIND_POLL_S = 2  # poll interval if the system has no watches left
USAGE_POLL_S = 15  # poll interval of every file's time, as events may be lost
SIGNAL_PATH_CHARS_MAX = PROJECT_CHARS_MAX
TRANSCRIPT_BYTES_MAX = 256 * 1_048_576  # of a longer one only the end is read

# The store
WRITE_QUEUE_MAX = 256
READERS = 2
SCANNERS = 2
BUSY_MS_MAX = 5_000
BACKUPS_NOTED_MAX = 1_000  # of those made elsewhere than beside the store
REPLY_KEPT_DAYS = 7  # how long an idempotency key is remembered (SPEC D7)
DRAIN_MS_MAX = 1_500  # from SIGTERM to exit < 2 s (P20)

# The file view
FILE_PATH_CHARS_MAX = 1_024
FILES_LISTED_MAX = 2_000  # in one answer
FILE_ANSWER_BYTES_MAX = REPLY_BYTES_MAX - 4_096  # of a file that is shown, as JSON
FILE_LINES_MAX = 999_999  # what fits into the six columns of a line's number
FILE_PLACES_MAX = 100  # of a text that stands in a file more than once, named in the answer
FILE_MEMORIES_SHOWN = 100  # of one category, the newest

# Organisational memory
CORE_POLICIES_MAX = 100  # in the settings; meant to be five to ten, as every prompt has them

# Access
CLIENTS_MAX = 1_000  # with a key
CLIENT_NAME_CHARS_MAX = 64
KEY_FILE_BYTES_MAX = 4_096
DENIED_WAIT_MS_MIN = 1_000  # initial interval in which refusals of one kind become one row
DENIED_WAIT_MS_MAX = 600_000  # the longest such interval, under a flood
ANCHOR_S = 3_600  # between two anchors of the audit's head, if it changed
NONCE_MS_MAX = 600_000  # from the daemon's nonce to the owner's signature over it
PROPOSALS_OPEN_MAX = 100  # of one client

# Sleep
NAP_MESSAGES_MAX = 20_000  # of one nap, the newest
NAP_TRANSCRIPT_BYTES_MAX = 32 * 1_048_576  # of a longer transcript a nap reads the end
TRANSCRIPTS_ARRIVING_MAX = 4  # of several parts, at the same time
NAPS_WAITING_MAX = 32
NOTES_WAITING_MAX = 1_000  # of memd's own work, until the next transaction
FACT_CHARS_MAX = 500  # of one line that a summary copies word for word
PROVIDER_REQUESTS_MAX = 4  # asked of a language model at the same time, by one consolidation
PROVIDER_ANSWER_MS_MAX = 120_000
COMPLETION_BYTES_MAX = 1_048_576  # of one answer of a language model, as it comes over the wire
JOBS_KEPT_MAX = 200  # job files of a language model's command, so that erasing all is short

# The graph
STATEMENTS_CHARS_MAX = 100_000  # of one text, read for what it says about things
WALK_EDGES_MAX = 10_000  # looked at by one walk: some 60 ms, whatever the graph is like
WALK_HOPS_MAX = 6
WALK_PATHS_MAX = 100
LEARN_ROWS = 32  # memories read for statements in one transaction: a few milliseconds
LEARN_QUIET_MS = 250  # from the news of a memory to its reading
QUOTE_CHARS_MAX = 500  # shown of the words that say a statement

# The past
FACTS_LOOKED_AT_MAX = 100  # for one query, before what no longer holds is left out
THEN_OPERATIONS_MAX = 2_000  # looked at for one page of what held then; the next goes on there
STRETCHES_MAX = 500  # of one timeline

# What is learnt from tasks, and one block out of all sources
TASK_TOOLS_MAX = 100  # named by one task
FAILED_TOOL_CALLS_MAX = 10_000  # of one task that failed, with repeats
LESSONS_READ_ITEMS_MAX = 1_000  # of an agent, to compare a new one with and to write as skills
FACTS_OFFERED_MAX = 48  # looked at for one question: those that share its words, then the newest
LESSONS_OFFERED_MAX = 32  # and as many patterns
LEARNINGS_READ_ITEMS_MAX = 100  # the newest, of which the nearest are shown
PATTERNS_READ_ITEMS_MAX = 100  # of a playbook, what worked most often
SUMMARIES_READ_ITEMS_MAX = 100  # SPEC 5.14
FRAGMENTS_ITEMS_MAX = 1_000  # of the caller's own, in one request

# Events
EVENTS_WAITING_MAX = 256  # for a client that does not read; the oldest are lost, and counted
EVENT_IDS_MAX = 100  # named in one event, which counts all
RUN_MEMORIES_MAX = 1_000  # that a report or an event of a run names; the others come by page
NIGHT_PAGE_ROWS = 500  # of what no session lists, from which summaries are cut at once
NIGHT_QUIET_S_MIN = 120  # without a request, before a night that is due begins
NIGHT_RETRY_S = 3_600  # after a night that could not begin, or was ended by the disk
NIGHT_RETRY_S_MAX = 86_400  # after many that the disk ended; doubled up to here
NIGHT_TRIES_MAX = 7  # of one run on a disk that refuses, over more than two days

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
