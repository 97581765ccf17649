"""Files into text, and text into something that may stand in a message.

Only regular files are read, never more than `MAX_CONFIG_BYTES`, and never in a way that can hang (FIFO, terminal).
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from pathlib import Path

from ..limits import MAX_CONFIG_BYTES, MAX_LINE_CHARS
from .values import InputError

# Everything that a terminal, a log viewer or a JSON encoder could stumble over: C0, DEL, C1, line and paragraph
# separators, direction marks (they can reorder a line on the screen), surrogates and non-characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff]"
)
# Terminal codes: cursor and colour (CSI), titles and links (OSC).
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])")
# What has no width and no meaning in a config or log: soft hyphens, fillers, direction marks, joiners, variation
# selectors, tags. They hide text from a person that a model reads.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b")

# Longest mark first: the UTF-32 little-endian mark starts with the UTF-16 one.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def printable(text: object, limit: int = 160) -> str:
    """Text for one line of a message: control characters and lone surrogates replaced, cut at `limit` characters."""
    shown = str(text)
    shown = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    if shown.isascii() and shown.isprintable():
        return shown
    return _UNSAFE.sub(lambda match: " " if match[0] in "\t\n\r" else "\N{REPLACEMENT CHARACTER}", visible(shown))


def visible(text: str) -> str:
    """The text without terminal codes and without characters that cannot be seen."""
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("", _TERMINAL.sub("", text))


def clean(text: str) -> str:
    """Text that every encoder accepts: lone surrogates replaced."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def checked(text: str, path: str, *, long_lines: bool = False) -> str:
    """`clean` text without a byte order mark that is small enough to be read.

    Raises InputError if it is larger than `MAX_CONFIG_BYTES` or, unless `long_lines`, has a line longer than
    `MAX_LINE_CHARS` (minified JSON may be one long line, nothing else may).
    """
    if len(text) > MAX_CONFIG_BYTES:
        raise InputError(_too_large(path))
    text = clean(text).removeprefix("\ufeff")
    if not long_lines and len(text) > MAX_LINE_CHARS:
        for number, line in enumerate(text.split("\n"), start=1):
            if len(line) > MAX_LINE_CHARS:
                raise InputError(
                    f"{printable(path)} line {number}: {len(line):,} characters in one line, which no config has; "
                    "name the config file itself"
                )
    return text


def decode(data: bytes) -> str:
    """Bytes of a text file as text: UTF-8, or UTF-16/32 with a byte order mark, else Latin-1.

    Raises InputError for binary data.
    """
    return decode_noted(data)[0]


def decode_noted(data: bytes) -> tuple[str, str]:
    """As `decode`, with a note for the report when the encoding had to be guessed (else an empty string)."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding), ""
            except UnicodeDecodeError as error:
                raise InputError(f"not {encoding.upper()} (byte {error.start}); save the file as UTF-8") from None
    if b"\0" in data:
        raise InputError("binary data (it has NUL bytes), not a config; if it is UTF-16 text, save it as UTF-8")
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        controls = sum(1 for byte in data[:4096] if byte < 0x20 and byte not in _TEXT_CONTROLS)
        if controls > len(data[:4096]) // 20:
            raise InputError("binary data, not a config; name a text file") from None
        return data.decode("latin-1"), f"not UTF-8 (byte {error.start}); read as Latin-1, accented letters may be wrong"


def read_text(path: Path) -> str:
    """The text of one regular file. Raises InputError with cause and next step in one line."""
    return read_text_noted(path)[0]


def read_text_noted(path: Path) -> tuple[str, str]:
    """As `read_text`, with the note of `decode_noted`."""
    data = read_bytes(path)
    try:
        return decode_noted(data)
    except InputError as error:
        raise InputError(f"{printable(path)}: {error}") from None


def read_bytes(path: Path) -> bytes:
    """The bytes of one regular file. Raises InputError."""
    try:
        # Looked at before it is opened, because opening some devices has effects; and again afterwards, because
        # the name may point elsewhere by then.
        _require_regular(path, os.stat(path))
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags)
        try:
            _require_regular(path, os.fstat(descriptor))
            return _read_capped(path, descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise InputError(f"{printable(path)}: no such file; check the path") from None
    except PermissionError:
        raise InputError(f"{printable(path)}: permission denied; make the file readable") from None
    except OSError as error:
        raise InputError(f"{printable(path)}: cannot be read ({error.strerror or 'I/O error'})") from None
    except ValueError:  # a NUL or a lone surrogate in the name itself
        raise InputError(f"{printable(path)}: not a file name; check the path") from None


def _read_capped(path: Path, descriptor: int) -> bytes:
    chunks = []
    size = 0
    while chunk := os.read(descriptor, MAX_CONFIG_BYTES + 1 - size):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_CONFIG_BYTES:
            raise InputError(_too_large(path))
    return b"".join(chunks)


def _require_regular(path: Path, status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise InputError(f"{printable(path)}: is a directory; name a file in it")
    if not stat.S_ISREG(mode):
        kind = "a FIFO" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise InputError(f"{printable(path)}: is {kind}, not a regular file; save the text to a file first")
    if status.st_size > MAX_CONFIG_BYTES:
        raise InputError(_too_large(path))


def _too_large(path: object) -> str:
    return f"{printable(path)}: larger than {MAX_CONFIG_BYTES:,} bytes; name the config, not a log or data set"
