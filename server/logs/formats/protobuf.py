"""The wire format of protocol buffers, as far as event files need it: no schema, no dependency."""

from __future__ import annotations

import struct
from collections.abc import Iterator


def fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Fields of a protocol-buffer message. Raises ValueError, IndexError or struct.error when it is none."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        field, kind = key >> 3, key & 7
        if kind == 0:
            number, place = _varint(message, place)
            yield field, number
        elif kind == 1:
            yield field, float(struct.unpack_from("<d", message, place)[0])
            place += 8
        elif kind == 5:
            yield field, float(struct.unpack_from("<f", message, place)[0])
            place += 4
        elif kind == 2:
            length, place = _varint(message, place)
            if place + length > len(message):
                raise ValueError("a field is longer than its message")
            yield field, message[place : place + length]
            place += length
        else:
            raise ValueError(f"no field of kind {kind}")


def _varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")
