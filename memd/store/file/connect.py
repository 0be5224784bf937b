"""Define the connection types, set up connections, and check that the file is memd's.

``Reading`` and its subclass ``Writing`` are different types, so that passing a reader to a function
that writes is a type error. A reader is also ``query_only``, which makes it an error at run time.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import zlib
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from memd.base.errors import ForeignFileError, NewerSchemaError, ReadOnlyError, StorageError
from memd.base.limits import BUSY_MS_MAX
from memd.store.file.open_files import find_unwritable
from memd.store.search.cjk_bigrams import split_signs

APPLICATION_ID = int.from_bytes(b"memd", "big")
SCHEMA_VERSION = 9
SQLITE_VERSION_MIN = 3_051_003  # earlier versions have the WAL-reset bug
PAGE_BYTES = 16_384
PAGE_SUM_BYTES = 8
MMAP_BYTES = 1 << 40  # more than any file: SQLite maps the whole file, up to its own limit
_WRITER_CACHE_KIB = 16_384
_READER_CACHE_KIB = 8_192

T = TypeVar("T")
RowT = TypeVar("RowT", bound=NamedTuple)


class Reading(apsw.Connection):
    """A connection inside a read transaction."""

    damage: Callable[[str], None] | None = None
    """Called for each row that was withheld because its hash does not match (integrity.py)."""

    def get_int(self, sql: str, params: apsw.Bindings | None = None) -> int | None:
        """Return the first column of the first row, None without a row or when it is NULL."""
        value = self.execute(sql, params).get
        return value if isinstance(value, int) else None

    def get_text(self, sql: str, params: apsw.Bindings | None = None) -> str | None:
        """Return the first column of the first row, None without a row or when it is NULL."""
        value = self.execute(sql, params).get
        return value if isinstance(value, str) else None

    def get_bytes(self, sql: str, params: apsw.Bindings | None = None) -> bytes | None:
        """Return the first column of the first row, None without a row or when it is NULL."""
        value = self.execute(sql, params).get
        return value if isinstance(value, bytes) else None

    def get_count(self, sql: str, params: apsw.Bindings | None = None) -> int:
        """Return the integer of a query that always has a row, such as ``SELECT count(*)``."""
        value = self.execute(sql, params).get
        assert isinstance(value, int)
        return value

    def list_ints(self, sql: str, params: apsw.Bindings | None = None) -> list[int]:
        """Return the first column of each row."""
        return [value for (value,) in self.execute(sql, params)]

    def list_texts(self, sql: str, params: apsw.Bindings | None = None) -> list[str]:
        """Return the first column of each row."""
        return [value for (value,) in self.execute(sql, params)]

    def exists(self, sql: str, params: apsw.Bindings | None = None) -> bool:
        """Return whether there is a row, and its first column is neither 0 nor NULL."""
        row = self.execute(sql, params).fetchone()
        return row is not None and bool(row[0])

    def find_row(
        self, kind: type[RowT], sql: str, params: apsw.Bindings | None = None
    ) -> RowT | None:
        """Return the first row as a *kind*, None without a row."""
        row = self.execute(sql, params).fetchone()
        return None if row is None else kind._make(row)

    def list_rows(
        self, kind: type[RowT], sql: str, params: apsw.Bindings | None = None
    ) -> list[RowT]:
        return [kind._make(row) for row in self.execute(sql, params)]

    def get_meta(self, key: str, kind: type[T]) -> T | None:
        """Return the value of *key* in the table ``meta``, None unless it is a *kind*."""
        value = self.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        return value if isinstance(value, kind) else None


class Writing(Reading):
    """The writer's connection inside a transaction. There is one in the process."""

    touched: list[bytes]
    """A salted hash of each row touched, the content of this transaction's audit row."""
    broken: bool
    """Set after a disk error: the connection may only be closed."""

    def insert(self, table: str, row: Mapping[str, Any], *, ignore: bool = False) -> bool:
        """Insert *row*, a value by column name; returns whether it was inserted.

        With *ignore*, a row that violates a constraint is not inserted.
        """
        columns, places = ", ".join(row), ", ".join(f":{column}" for column in row)
        verb = "INSERT OR IGNORE" if ignore else "INSERT"
        self.execute(f"{verb} INTO {table} ({columns}) VALUES ({places})", row)
        return self.changes() > 0

    def put(
        self, table: str, row: Mapping[str, Any], *key: str, keep: Collection[str] = ()
    ) -> None:
        """Insert *row*, a value by column name, or update the row with the same *key* columns.

        An update leaves the columns *keep* unchanged where *row* has None for them.
        """
        columns, places = ", ".join(row), ", ".join(f":{column}" for column in row)
        changes = ", ".join(
            f"{name} = coalesce(excluded.{name}, {name})"
            if name in keep
            else f"{name} = excluded.{name}"
            for name in row
            if name not in key
        )
        self.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({places})"  # noqa: S608  # the store's own names
            f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}",
            row,
        )

    def set_meta(self, key: str, value: int | str | None) -> None:
        """Set the value of *key* in the table ``meta``; None deletes it."""
        if value is None:
            self.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            self.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))

    def ensure_secret(self, key: str, size: int = 32) -> bytes:
        """Return the random bytes of *key* in the table ``meta``, created on first use."""
        self.execute(
            "INSERT OR IGNORE INTO meta (key, value) VALUES (?, randomblob(?))", (key, size)
        )
        secret = self.get_meta(key, bytes)
        assert secret is not None
        return secret


def keys_array(keys: Sequence[int]) -> Any:
    """Return *keys* to bind as the table ``carray(:keys)`` with column ``value``.

    apsw accepts no empty array: without keys it contains 0, which is never a row's key.
    """
    return apsw.carray(memoryview(array("q", keys or (0,))))


def schema_sql() -> str:
    return (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")


@functools.cache
def vec0_path() -> str:
    """Return the path of the loadable vec0 library without importing its package (and numpy).

    Cached, because finding the package takes a tenth of the time of opening a connection.
    """
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        raise StorageError("the sqlite-vec package is missing", hint="reinstall memd")
    return str(Path(spec.submodule_search_locations[0]) / "vec0")


def check_library() -> None:
    """Raise StorageError for a SQLite version that can corrupt a WAL."""
    if apsw.SQLITE_VERSION_NUMBER < SQLITE_VERSION_MIN:
        version = apsw.sqlite_lib_version()
        raise StorageError(f"sqlite {version} is too old", hint="memd needs 3.51.3: upgrade apsw")


def _corpus(api: apsw.FTS5ExtensionApi, /, *_args: apsw.SQLiteValue) -> str:
    """Return the row count and the token totals of the first two columns, which BM25 averages."""
    return f"{api.row_count} {api.column_total_size(0)} {api.column_total_size(1)}"


def _unpack(*packed_text: apsw.SQLiteValue) -> str:
    """Return the decompressed text of a source; "" for a damaged one, which a check reports."""
    (packed,) = packed_text
    try:
        return zlib.decompress(packed).decode() if isinstance(packed, bytes) else ""
    except (zlib.error, UnicodeDecodeError):
        return ""


def _split_signs(*texts: apsw.SQLiteValue) -> str:
    """Split the signs of a text, passed as a blob since SQLite cannot return invalid UTF-8."""
    (text,) = texts
    assert isinstance(text, bytes)
    return split_signs(text.decode("utf-8", "replace"))


def hash_columns(*columns: apsw.SQLiteValue) -> bytes:
    """Return SHA-256 over *columns*, which the triggers of schema.sql store as a row's hash."""
    values = [value.hex() if isinstance(value, bytes) else value for value in columns]
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def has_page_sums(conn: apsw.Connection) -> bool:
    """Return whether *conn* uses the VFS that puts a checksum into each page."""
    return (conn.vfsname("main") or "").startswith("cksm")


def prepare(conn: Reading, *, mmap: bool = False) -> None:
    """Set up a reader or writer; runs in the connection's own thread, before its first use."""
    conn.set_busy_timeout(BUSY_MS_MAX)
    conn.enable_load_extension(True)
    conn.load_extension(vec0_path())
    conn.enable_load_extension(False)
    conn.register_fts5_function("corpus", _corpus)
    conn.create_scalar_function(
        "unpacked", _unpack, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
    )
    conn.create_scalar_function(
        "sealed", hash_columns, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
    )
    conn.create_scalar_function(
        "split_signs", _split_signs, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
    )
    # Otherwise "word" in double quotes is taken as a string when no such column exists.
    conn.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    conn.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    # A file from another source may contain hostile triggers and views.
    conn.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    conn.pragma("foreign_keys", True)
    conn.pragma("cell_size_check", True)  # detect a damaged page when it is read, not later
    conn.pragma("temp_store", "memory")  # a memory's text never reaches a temporary file
    if mmap:
        # Only for scans of vec0: mapping makes random reads of a file that is not cached slower.
        conn.pragma("mmap_size", MMAP_BYTES)


def prepare_reader(conn: Reading, *, mmap: bool = False) -> None:
    """Set up a reader.

    Raises ForeignFileError or NewerSchemaError, and ReadOnlyError for an older schema, which only a
    writer can migrate.
    """
    if identify(conn) != SCHEMA_VERSION:
        raise ReadOnlyError(
            "the store must be brought to this version but cannot be written",
            hint="check the file's owner and mode",
        )
    prepare(conn, mmap=mmap)
    conn.pragma("cache_size", -_READER_CACHE_KIB)
    conn.pragma("query_only", True)


def prepare_writer(conn: Writing) -> int:
    """Set up the writer and return the schema's version; creates the schema in an empty file.

    Raises ForeignFileError or NewerSchemaError, and ReadOnlyError when the file can only be read;
    the file is then unchanged.
    """
    conn.touched = []
    conn.broken = False
    # Off, or a damaged page of a cache would make writes fail. Checks and row hashes detect damage.
    conn.execute("PRAGMA checksum_verification = OFF")
    version = identify(conn)
    if conn.readonly("main"):
        raise ReadOnlyError("the store cannot be written", hint="check the file's owner and mode")
    if version is None:
        _set_layout(conn)
    prepare(conn)
    conn.pragma("journal_mode", "wal")
    conn.pragma("synchronous", "full")  # an acknowledged write survives a loss of power
    conn.pragma("fullfsync", True)  # on macOS a plain fsync does not reach the drive
    conn.pragma("checkpoint_fullfsync", True)
    # memd checkpoints itself: a successful COMMIT would return an error of an automatic checkpoint.
    conn.wal_autocheckpoint(0)
    conn.pragma("secure_delete", True)  # overwrite forgotten texts with zeros
    conn.pragma("journal_size_limit", 64 * 1_048_576)
    conn.pragma("cache_size", -_WRITER_CACHE_KIB)
    if version is None:
        _create(conn)
        return SCHEMA_VERSION
    return version


def immutable_uri(path: Path) -> str:
    """Return a URI that opens a file which cannot be written, in a folder that cannot be written.

    Without ``immutable`` SQLite would have to create the log's index there. Raises ReadOnlyError
    when the log is not empty, since SQLite ignores the log of an immutable file.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        obstacle = find_unwritable(path) or "its disk"
        raise ReadOnlyError(
            f"the store was not closed, and {obstacle} cannot be written",
            hint="make it writable for the user that runs memd",
        )
    return f"{path.absolute().as_uri()}?immutable=1"


def identify(conn: apsw.Connection) -> int | None:
    """Return the schema version of the file, None when it is empty.

    Raises ForeignFileError for another program's file or one that is no database, NewerSchemaError
    for a file of a later memd. Only reads: closing *conn* after an error does not checkpoint the
    file's write-ahead log.
    """
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        application_id = int(conn.pragma("application_id"))
        version = int(conn.pragma("user_version"))
        objects = conn.execute("SELECT count(*) FROM sqlite_schema").get
    except apsw.NotADBError:
        raise ForeignFileError("the file is not a database; it was left untouched") from None
    if not objects and not application_id:
        conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        return None
    if application_id != APPLICATION_ID:
        raise ForeignFileError("the file belongs to another program; it was left untouched")
    if version > SCHEMA_VERSION:
        raise NewerSchemaError(
            f"the file has schema {version}, memd knows {SCHEMA_VERSION}; it was left untouched",
            hint="upgrade memd",
        )
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    return version


def _set_layout(conn: apsw.Connection) -> None:
    """Set page size, checksum space and auto_vacuum, which are fixed once a table exists."""
    conn.pragma("page_size", PAGE_BYTES)
    if has_page_sums(conn):
        # For page checksums (page_sums.py). Must precede auto_vacuum, which would undo it.
        conn.reserve_bytes(reserve=PAGE_SUM_BYTES)
    conn.pragma("auto_vacuum", "incremental")


def _create(conn: Writing) -> None:
    with conn:
        conn.execute(schema_sql())
        conn.pragma("application_id", APPLICATION_ID)
        conn.pragma("user_version", SCHEMA_VERSION)
