"""A table of records as values, and the text that creates it.

Only names and checks of ``memd/records/entities.py`` get into this text, never a value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

PREFIX = "record_"
"""What the names of these tables and their indexes begin with; ``shape.py`` knows it."""


class RecordColumn(NamedTuple):
    """One column; *check* is an SQL expression over it."""

    name: str
    type: Literal["INTEGER", "REAL", "TEXT"]
    required: bool
    check: str | None = None
    references: str | None = None
    """The table whose only key column it holds."""
    default: str | None = None
    """What a required one has in rows that were written before it was declared, as SQL."""

    @property
    def ddl(self) -> str:
        text = f'"{self.name}" {self.type}'
        text += " NOT NULL" if self.required else ""
        text += f" CHECK ({self.check})" if self.check else ""
        return text + (
            f" REFERENCES {self.references} ON DELETE RESTRICT" if self.references else ""
        )


class RecordIndex(NamedTuple):
    """An index of a table."""

    name: str
    ddl: str


@dataclass(frozen=True, slots=True)
class RecordTable:
    """A table: *key* is its primary key, *order* how a list is sorted (the key comes last)."""

    name: str
    columns: tuple[RecordColumn, ...]
    key: tuple[str, ...]
    order: tuple[str, ...]
    newest_first: bool = False
    indexes: tuple[tuple[str, ...], ...] = ()
    needs: tuple[RecordTable, ...] = field(default=())
    """The tables that columns refer to: they are made first."""

    @property
    def ddl(self) -> str:
        """Return the statements that make the table and its indexes, in the order of their need."""
        columns = ",\n    ".join(column.ddl for column in self.columns)
        text = f"CREATE TABLE {self.name} (\n    {columns},\n    PRIMARY KEY ({quoted(self.key)})\n"
        text += ") STRICT, WITHOUT ROWID;\n"
        return text + "".join(f"{index.ddl};\n" for index in self.index_ddls)

    @property
    def index_ddls(self) -> tuple[RecordIndex, ...]:
        """Return each index with the statement that makes it."""
        names = [f"{self.name}_by_{'_'.join(index[:2])}" for index in self.indexes]
        return tuple(
            RecordIndex(name, f"CREATE INDEX {name} ON {self.name} ({quoted(index)})")
            for name, index in zip(names, self.indexes, strict=True)
        )


def quoted(names: tuple[str, ...]) -> str:
    """Return column names as SQL reads them.

    >>> quoted(("to", "at_us"))
    '"to", "at_us"'
    """
    return ", ".join(f'"{name}"' for name in names)
