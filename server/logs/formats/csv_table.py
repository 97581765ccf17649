"""CSV and TSV: a row per step, W&B's chart export (`run - actor/entropy`, `..__MIN`), or a row per metric."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from .. import metrics
from ..numbers import as_number
from ..table import Table
from .json_lines import step_of

_TAG, _VALUE = ("metric", "tag", "name", "key"), ("value", "metric_value")
_SIDE = ("__MIN", "__MAX")


def delimiter_of(head: str) -> str | None:
    """The delimiter of a table whose first line is `head`; None when the line is no head of metrics."""
    for delimiter in (",", "\t", ";"):
        names = _cells(head, delimiter)
        if len(names) < 2 or any(as_number(name) is not None for name in names):
            continue
        plain = [clean_name(name).lower() for name in names]
        if any(metrics.canonical(name) or name in metrics.step_names() for name in plain) or {*_TAG} & {*plain}:
            return delimiter
    return None


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def clean_name(name: str) -> str:
    """A column's metric: W&B puts the run's name before it."""
    return name.strip().strip('"').rpartition(" - ")[2]


class CsvRows:
    """Rows of a table whose head is known."""

    name = "CSV"

    def __init__(self, head: str, delimiter: str) -> None:
        self._delimiter = delimiter
        self._names = [clean_name(name) for name in _cells(head, delimiter)]
        plain = [name.lower() for name in self._names]
        self._long = next((plain.index(name) for name in _TAG if name in plain), None)
        self._value = next((plain.index(name) for name in _VALUE if name in plain), None)
        self._side = {place for place, name in enumerate(self._names) if name.endswith(_SIDE)}

    def take(self, lines: Sequence[str], numbers: Sequence[int], table: Table) -> None:
        for row, number in zip(self._rows(lines), numbers, strict=False):
            if self._long is not None and self._value is not None:
                self._take_long(row, number, table)
            else:
                self._take_wide(row, number, table)

    def _rows(self, lines: Sequence[str]) -> Iterator[list[str]]:
        try:
            yield from csv.reader(lines, delimiter=self._delimiter)
        except csv.Error:  # a binary or overlong cell: the rest of this piece is skipped
            return

    def _take_wide(self, row: list[str], number: int, table: Table) -> None:
        values = {}
        for place, (name, cell) in enumerate(zip(self._names, row, strict=False)):
            # An empty cell is a metric that was not logged at this step.
            if cell and place not in self._side and (value := as_number(cell)) is not None:
                values[name] = value
        step = step_of({name.lower(): value for name, value in values.items()})
        kept = {name: value for name, value in values.items() if not metrics.is_known_aside(name)}
        if kept:
            table.add(step, number, kept)

    def _take_long(self, row: list[str], number: int, table: Table) -> None:
        if self._long is None or self._value is None or len(row) <= max(self._long, self._value):
            return
        value = as_number(row[self._value])
        cells = {name.lower(): as_number(cell) for name, cell in zip(self._names, row, strict=False)}
        step = step_of(cells)
        if value is not None and row[self._long]:
            table.add(step, number, {row[self._long].strip(): value})
