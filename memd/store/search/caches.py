"""Keeping the caches in step with the rows, inside the transaction that changes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memd.store.file.connect import Writing
from memd.store.org import org_words
from memd.store.search import vectors, words
from memd.store.session import session_words


def ensure(conn: Writing) -> None:
    """Make the words caches that the file does not have: of a new one, and after a migration."""
    if not words.generation(conn):
        with conn:
            words.create(conn, 1)
            words.activate(conn, 1)
            org_words.create(conn)
    with conn:
        session_words.ensure(conn)


def index(conn: Writing, keys: Sequence[int]) -> None:
    """Add new memories to both caches."""
    words.index(conn, keys)
    vectors.index(conn, keys)


@contextmanager
def moving(conn: Writing, keys: Sequence[int]) -> Iterator[None]:
    """Take the memories out of both caches, let the body change or delete them, put them back.

    What the body made invisible, or deleted, stays out.
    """
    words.unindex(conn, keys)
    vectors.unindex(conn, keys)
    yield
    index(conn, keys)


@contextmanager
def rewording(conn: Writing, keys: Sequence[int]) -> Iterator[None]:
    """As :func:`moving`, where only words change and the vectors stay where they are."""
    words.unindex(conn, keys)
    yield
    words.index(conn, keys)
