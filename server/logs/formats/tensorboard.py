"""TensorBoard event files: TFRecords of Event messages, only the scalars; no TensorFlow.

A record is: length (8 bytes, little-endian), its checksum (4), the message, its checksum (4). Of an Event the step is
field 2 and the summary field 5; of a value the tag is field 1, a plain number field 2, a tensor field 8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from ...deadline import passed
from ...limits import MAX_EVENT_RECORD_BYTES
from ..table import Table
from .protobuf import fields

_MAX_TENSOR = 64  # bytes of a scalar's tensor


def looks_like_events(head: bytes) -> bool:
    """Whether a file begins with a record of plausible length whose message names a version or a step."""
    if len(head) < 24:
        return False
    (length,) = struct.unpack_from("<Q", head)
    return 0 < length < MAX_EVENT_RECORD_BYTES and head[12] in (0x09, 0x10, 0x1A) and b"\x00" in head[:8]


def read_events(file: BinaryIO, table: Table) -> list[str]:
    """Take every scalar. Returns notes: where the file ends in the middle of a record, what could not be read."""
    notes: list[str] = []
    pending: dict[str, float] = {}
    step, first = 0, 0
    for number, message in enumerate(_records(file, notes), start=1):
        try:
            at, scalars = _event(message)
        except (ValueError, IndexError, struct.error):
            notes.append(f"record {number} is no event; the file was read up to it")
            break
        if scalars and pending and (at != step or any(name in pending for name, _ in scalars)):
            table.add(float(step), first, pending)
            pending = {}
        if scalars:
            first = number if not pending else first
            step = at
            pending.update(scalars)
    if pending:
        table.add(float(step), first, pending)
    return notes


def _records(file: BinaryIO, notes: list[str]) -> Iterator[bytes]:
    while head := file.read(12):
        if passed():
            notes.append("the time was over before the file was")
            return
        length = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else -1
        if length < 0 or length > 1 << 40:
            notes.append("the file ends in the middle of a record")
            return
        if length > MAX_EVENT_RECORD_BYTES:
            file.seek(length + 4, 1)
            continue
        message = file.read(length + 4)
        if len(message) < length + 4:
            notes.append("the file ends in the middle of a record")
            return
        yield message[:length]


def _event(message: bytes) -> tuple[int, list[tuple[str, float]]]:
    step, scalars = 0, []
    for field, value in fields(message):
        if field == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >= 1 << 63 else value
        elif field == 5 and isinstance(value, bytes):
            scalars += [
                found
                for inner, row in fields(value)
                if inner == 1 and isinstance(row, bytes) and (found := _value(row))
            ]
    return step, scalars


def _value(message: bytes) -> tuple[str, float] | None:
    tag, number = "", None
    for field, value in fields(message):
        if field == 1 and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif field == 2 and isinstance(value, float):
            number = value
        elif field == 8 and isinstance(value, bytes):
            number = _scalar_of_tensor(value)
    return (tag, number) if tag and number is not None else None


def _scalar_of_tensor(message: bytes) -> float | None:
    """A tensor of one float: as raw bytes (field 4), or in the lists of floats (5) or doubles (6)."""
    kind = 0
    for field, value in fields(message):
        if field == 1 and isinstance(value, int):
            kind = value
        elif field in (4, 5, 6) and isinstance(value, bytes) and len(value) <= _MAX_TENSOR:
            form = "<d" if field == 6 or (field == 4 and kind == 2) else "<f"
            if len(value) == struct.calcsize(form) and kind in (1, 2):
                return float(struct.unpack(form, value)[0])
        elif field in (5, 6) and isinstance(value, float):
            return value
    return None
