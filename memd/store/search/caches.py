"""Keep the caches in step with the rows, inside the transaction that changes the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memd.store.file.connect import Writing
from memd.store.org import fact_index
from memd.store.search import fulltext, vectors
from memd.store.session import message_index


def ensure(conn: Writing) -> None:
    """Create the full-text indexes that the file lacks: in a new file, and after a migration."""
    if not fulltext.generation(conn):
        with conn:
            fulltext.create(conn, 1)
            fulltext.activate(conn, 1)
            fact_index.create(conn)
    with conn:
        message_index.ensure(conn)


def index(conn: Writing, keys: Sequence[int]) -> None:
    """Add new memories to both caches."""
    fulltext.index(conn, keys)
    vectors.index(conn, keys)


@contextmanager
def reindexing(conn: Writing, keys: Sequence[int]) -> Iterator[None]:
    """Remove the memories from both caches, let the body change or delete them, index them again.

    Those that the body made invisible, or deleted, stay out.
    """
    fulltext.unindex(conn, keys)
    vectors.unindex(conn, keys)
    yield
    index(conn, keys)


@contextmanager
def reindexing_words(conn: Writing, keys: Sequence[int]) -> Iterator[None]:
    """Do as :func:`reindexing`, where only words change and the vectors stay where they are."""
    fulltext.unindex(conn, keys)
    yield
    fulltext.index(conn, keys)
