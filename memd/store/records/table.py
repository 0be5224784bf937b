"""Declare a table of records, and build the SQL that creates it.

The SQL contains only names and checks of ``memd/records/entities.py``, never a value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

PREFIX = "record_"
"""The prefix of the names of these tables and their indexes; ``shape.py`` uses it."""


class RecordColumn(NamedTuple):
    """One column; *check* is an SQL expression over it."""

    name: str
    type: Literal["INTEGER", "REAL", "TEXT"]
    required: bool
    check: str | None = None
    references: str | None = None
    """The table that it refers to, by its key, which is a single column."""
    default: str | None = None
    """The value, as SQL, of a required column in rows that are older than its declaration."""

    @property
    def ddl(self) -> str:
        text = f'"{self.name}" {self.type}'
        text += " NOT NULL" if self.required else ""
        text += f" CHECK ({self.check})" if self.check else ""
        return text + (
            f" REFERENCES {self.references} ON DELETE RESTRICT" if self.references else ""
        )


@dataclass(frozen=True, slots=True)
class RecordTable:
    """A table: *key* is its primary key; lists are sorted by *order*, then by *key*."""

    name: str
    columns: tuple[RecordColumn, ...]
    key: tuple[str, ...]
    order: tuple[str, ...]
    newest_first: bool = False
    indexes: tuple[tuple[str, ...], ...] = ()
    needs: tuple[RecordTable, ...] = field(default=())
    """The tables that columns refer to, which are created first."""

    @property
    def ddl(self) -> str:
        """The statements that create the table and its indexes, in order."""
        columns = ",\n    ".join(column.ddl for column in self.columns)
        text = f"CREATE TABLE {self.name} (\n    {columns},\n    PRIMARY KEY ({quote(self.key)})\n"
        text += ") STRICT, WITHOUT ROWID;\n"
        return text + "".join(f"{ddl};\n" for ddl in self.index_ddls.values())

    @property
    def index_ddls(self) -> dict[str, str]:
        """The statement that creates each index, by its name."""
        names = [f"{self.name}_by_{'_'.join(index[:2])}" for index in self.indexes]
        return {
            name: f"CREATE INDEX {name} ON {self.name} ({quote(index)})"
            for name, index in zip(names, self.indexes, strict=True)
        }


def quote(names: tuple[str, ...]) -> str:
    """Return column names quoted for SQL.

    >>> quote(("to", "at_us"))
    '"to", "at_us"'
    """
    return ", ".join(f'"{name}"' for name in names)
