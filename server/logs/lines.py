"""Any file or text as lines of bounded length, in bounded memory: colours, Ray and rank prefixes, progress bars."""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..configs.files import printable
from ..configs.values import InputError
from ..deadline import passed
from ..limits import MAX_LOG_LINE_CHARS

CHUNK_BYTES = 256 * 1024
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_RAY = re.compile(r"^\(([A-Za-z_][\w.:<>-]*)(?: pid=(\d+))(?:, ip=[\w.:]+)?\)[ \t]?")
_RANK = re.compile(r"^\[rank ?(\d{1,6})\]:? ?", re.IGNORECASE)
_REPEATED = re.compile(r"\s*\[repeated \d+x across cluster\].*$")


@dataclass(slots=True)
class Chunk:
    """Neighbouring lines with their numbers; `text` holds them whole, to see quickly whether a mark stands in it.

    A number counts line feeds, as editors do: the states of a progress bar (carriage returns) share one.
    """

    text: str
    numbers: Sequence[int]
    lines: list[str]


@dataclass(slots=True)
class Cutter:
    """Cuts decoded text into chunks of whole lines."""

    number: int = 1
    share: float = 1.0  # of the request's time that reading may take
    cut: int = 0  # lines that were too long
    stopped: bool = False  # the time was over before the text was
    _rest: str = ""
    _skipping: bool = False

    def feed(self, text: str, last: bool = False) -> Chunk | None:
        """The lines that `text` completes, if any; an overlong one is cut at MAX_LOG_LINE_CHARS characters."""
        text = self._skip(self._rest + text)
        end = len(text) if last else self._end(text)
        whole, self._rest = text[:end], text[end:]
        if not whole:
            return None
        return self._chunk(whole)

    def _skip(self, text: str) -> str:
        """What follows the rest of a line that was cut."""
        if not self._skipping:
            return text
        found = re.search("[\r\n]", text)
        self._skipping = found is None
        return text[found.start() :] if found else ""

    def _end(self, text: str) -> int:
        """Where the last complete line ends. A carriage return at the very end may belong to a line feed to come."""
        end = text.rfind("\n") + 1
        if not end and len(text) > MAX_LOG_LINE_CHARS:
            end = text.rfind("\r", 0, len(text) - 1) + 1
        if not end and len(text) > MAX_LOG_LINE_CHARS:
            self._skipping = True
            self.cut += 1
            end = len(text)
        return end

    def _chunk(self, text: str) -> Chunk:
        lines = text.split("\n")
        first = self.number
        self.number += len(lines) - 1
        if not lines[-1]:
            lines.pop()
        numbers: Sequence[int] = range(first, first + len(lines))
        if "\r" in text:
            parts = [(number, part) for number, line in zip(numbers, lines, strict=True) for part in _states(line)]
            numbers, lines = [number for number, _ in parts], [part for _, part in parts]
        if len(text) > MAX_LOG_LINE_CHARS:
            self.cut += sum(len(line) > MAX_LOG_LINE_CHARS for line in lines) - self._skipping
            lines = [line if len(line) <= MAX_LOG_LINE_CHARS else line[:MAX_LOG_LINE_CHARS] for line in lines]
        return Chunk(text, numbers, lines)


def _states(line: str) -> list[str]:
    """States that a progress bar wrote over each other, without empty ones."""
    if "\r" not in line:
        return [line]
    return [part for part in line.split("\r") if part] or [""]


def open_log(path: Path) -> BinaryIO:
    """A regular file, opened. Raises InputError, in one line, when there is none or it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InputError(f"{printable(path)}: not a regular file; name a log file or a folder of logs")
        return os.fdopen(descriptor, "rb")
    except OSError as error:
        raise InputError(f"{printable(path)}: cannot be read ({error.strerror or 'I/O error'})") from None
    except ValueError:
        raise InputError(f"{printable(path)}: not a file name; check the path") from None


def chunks_of_file(file: BinaryIO, cutter: Cutter) -> Iterator[Chunk]:
    """Lines of an open file, a piece at a time. UTF-8 unless a mark says otherwise; odd bytes are replaced."""
    decoder = codecs.getincrementaldecoder(_encoding(file))(errors="replace")
    try:
        while data := file.read(CHUNK_BYTES):
            if passed(cutter.share):
                cutter.stopped = True
                return
            if chunk := cutter.feed(decoder.decode(data)):
                yield chunk
    except OSError as error:
        raise InputError(f"the log cannot be read to its end ({error.strerror or 'I/O error'})") from None
    if chunk := cutter.feed(decoder.decode(b"", final=True), last=True):
        yield chunk


def chunks_of_text(text: str, cutter: Cutter) -> Iterator[Chunk]:
    """Lines of a text that is already there."""
    for start in range(0, len(text), CHUNK_BYTES):
        if passed(cutter.share):
            cutter.stopped = True
            return
        if chunk := cutter.feed(text[start : start + CHUNK_BYTES]):
            yield chunk
    if chunk := cutter.feed("", last=True):
        yield chunk


def _encoding(file: BinaryIO) -> str:
    head = file.read(4)
    file.seek(0)
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    return "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"


def bare(text: str) -> tuple[str, str, int | None]:
    """A line without colours and without the prefix of the process that wrote it; that process; its rank if told."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    origin, rank = "", None
    if text.startswith("(") and (found := _RAY.match(text)):
        origin = f"{found[1]} {found[2]}"
        text = text[found.end() :]
        if "[repeated " in text:
            text = _REPEATED.sub("", text)
    if text.startswith("[") and (found := _RANK.match(text)):
        rank = int(found[1])
        origin = origin or f"rank {rank}"
        text = text[found.end() :]
    return text, origin, rank
