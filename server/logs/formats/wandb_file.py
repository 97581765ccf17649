"""W&B's own file of an offline run (`run-ID.wandb`): records in LevelDB's log framing; no wandb, no protobuf package.

The file begins with `:W&B`, a magic number and a version (7 bytes). It is cut into blocks of 32 KiB. In a block stand
pieces: checksum (4 bytes), length (2, little-endian), kind (1: whole, 2: first, 3: middle, 4: last), content. Of a
record (wandb/proto/wandb_internal.proto) these fields are read: history 2, config 5, output_raw 13, run 17,
environment 26.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ...limits import MAX_EVENT_RECORD_BYTES
from ..lines import Chunk, Cutter
from ..settings import arguments, flatten
from ..table import Table
from .json_lines import JsonLines
from .protobuf import fields

_HEAD, _MAGIC = 7, b":W&B"
_BLOCK, _PIECE = 32_768, 7
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _CONFIG, _OUTPUT, _RUN, _ENVIRONMENT = 2, 5, 13, 17, 26
_DEEPEST = 20

Message = list[tuple[int, int | float | bytes]]


@dataclass(slots=True)
class WandbRun:
    """What stands in the file beside the history, which goes to the table."""

    config: dict[str, Any] = field(default_factory=dict)  # by dotted path; arguments of the command line too
    notes: list[str] = field(default_factory=list)


def looks_like_wandb(head: bytes) -> bool:
    return head.startswith(_MAGIC)


def read_wandb(file: BinaryIO, table: Table) -> WandbRun:
    """Take the history into the table; returns settings and notes. A damaged file is read as far as it goes."""
    run, reader = WandbRun(), JsonLines()
    for number, (kind, message) in enumerate(_records(file, run.notes), start=1):
        if kind == _HISTORY:
            if record := _history(message):
                reader.take_record(record, number, table)
        elif kind in (_CONFIG, _RUN):
            configs = [message] if kind == _CONFIG else [_message(row) for row in _all(message, 4)]
            for items in configs:
                run.config.update(_config(items))
        elif kind == _ENVIRONMENT:
            words = [_text(row) for row in _all(message, 5)]
            run.config = {**dict(arguments(words)), **run.config}
    return run


def output_chunks(file: BinaryIO, cutter: Cutter) -> Iterator[Chunk]:
    """The console output that the file holds, as pieces of whole lines."""
    for kind, message in _records(file, []):
        if kind == _OUTPUT:
            text = "".join(_text(row) for row in _all(message, 3))
            if chunk := cutter.feed(text):
                yield chunk
    if chunk := cutter.feed("", last=True):
        yield chunk


def _records(file: BinaryIO, notes: list[str]) -> Iterator[tuple[int, Message]]:
    """Field number and content of each record that is read here."""
    wanted = {_HISTORY, _CONFIG, _OUTPUT, _RUN, _ENVIRONMENT}
    for number, data in enumerate(_joined(file, notes), start=1):
        try:
            for kind, value in fields(data):
                if kind in wanted and isinstance(value, bytes):
                    yield kind, _message(value)
        except (ValueError, IndexError, struct.error):
            notes.append(f"record {number} is damaged and was left out")
            if len(notes) > 20:
                return


def _joined(file: BinaryIO, notes: list[str]) -> Iterator[bytes]:
    """Whole records from the pieces of all blocks; one that is too large is stepped over."""
    parts: list[bytes] = []
    size = 0
    for kind, content in _pieces(file, notes):
        if kind in (_WHOLE, _FIRST):
            parts, size = [], 0
        size += len(content)
        if size <= MAX_EVENT_RECORD_BYTES:
            parts.append(content)
        if kind in (_WHOLE, _LAST) and parts:
            if size <= MAX_EVENT_RECORD_BYTES:
                yield b"".join(parts)
            else:
                notes.append("a record of more than 16 MB was left out")
            parts, size = [], 0


def _pieces(file: BinaryIO, notes: list[str]) -> Iterator[tuple[int, bytes]]:
    file.seek(0)
    first = True
    while block := file.read(_BLOCK):
        place = _HEAD if first else 0
        first = False
        while place + _PIECE <= len(block):
            length, kind = struct.unpack_from("<HB", block, place + 4)
            start, place = place + _PIECE, place + _PIECE + length
            if kind == 0 and length == 0:
                break  # the rest of the block was never written
            if kind > _LAST or place > len(block):
                notes.append("the file is cut or damaged; read as far as it goes")
                if place > len(block) and len(block) < _BLOCK:
                    return
                break
            yield kind, block[start:place]


def _history(message: Message) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for row in _all(message, 1):
        _put(record, row)
    for row in _all(message, 2):
        step = next((value for number, value in _message(row) if number == 1), None)
        if step is not None:
            record.setdefault("_step", step)
    return record


def _config(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in _all(message, 1):
        _put(found, row)
    found.pop("_wandb", None)
    return dict(flatten(found))


def _put(record: dict[str, Any], row: bytes) -> None:
    """One item (key 1, parts of a nested key 2, typed values 4 to 8, JSON 16) into a record."""
    path: list[str] = []
    value: Any = None
    for number, content in _message(row):
        if number in (1, 2) and isinstance(content, bytes):
            path.append(_text(content))
        elif number in (8, 16) and isinstance(content, bytes):
            value = _json(content)
        elif number == 7 and isinstance(content, bytes):
            value = _text(content)
        elif number == 4:
            value = bool(content)
        elif number == 5 and isinstance(content, int):
            value = (content >> 1) ^ -(content & 1)  # zigzag
        elif number == 6:
            value = content
    for part in path[:-1][:_DEEPEST]:
        inner = record.setdefault(part, {})
        record = inner if isinstance(inner, dict) else {}
    if path:
        record[path[-1]] = value


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return _text(content)


def _all(message: Message, number: int) -> Iterator[bytes]:
    return (value for name, value in message if name == number and isinstance(value, bytes))


def _message(data: bytes) -> Message:
    """The fields of an inner message, of a damaged one those before the damage."""
    found: Message = []
    try:
        for row in fields(data):
            found.append(row)
    except (ValueError, IndexError, struct.error):
        pass
    return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
