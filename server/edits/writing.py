"""Files as text and back: encoding, byte order mark and line ends are kept; a file is replaced whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..configs.files import MARKS, decode, printable, read_bytes
from ..configs.values import InputError


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file as read: its text without byte order mark, and what is needed to write it back."""

    path: Path
    text: str
    data: bytes
    mark: bytes
    encoding: str

    def encoded(self, text: str) -> bytes:
        """Another text in the encoding of the file. Raises InputError for a character that it does not have."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError:
            raise InputError(f"{printable(self.path)}: its encoding lacks a character of the edit") from None


def load(path: Path) -> SourceText:
    """Read a file so that it can be written back byte-identical. Raises InputError."""
    real = path.resolve()
    data = read_bytes(real)
    text = decode(data)
    mark, encoding = next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", "utf-8"))
    source = SourceText(real, text, data, mark, encoding)
    if _same(source):
        return source
    source = SourceText(real, text, data, mark, "latin-1")
    if _same(source):
        return source
    raise InputError(f"{printable(path)}: not plain text in one encoding; it cannot be edited")


def _same(source: SourceText) -> bool:
    try:
        return source.encoded(source.text) == source.data
    except InputError:
        return False


def replace_file(source: SourceText, text: str) -> None:
    """Write the text over the file: a temporary file beside it, then `os.replace`. The mode is kept.

    Raises InputError when the file is not what was read any more, or cannot be written; then it stays as it is.
    """
    data = source.encoded(text)
    if read_bytes(source.path) != source.data:
        raise InputError(f"{printable(source.path)}: changed while it was checked; nothing was written, run it again")
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{source.path.name[:80]}.", dir=source.path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(source.path.stat().st_mode))
        os.replace(temporary, source.path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        cause = error.strerror or "I/O error"
        raise InputError(f"{printable(source.path)}: cannot be written ({cause}); it was left as it is") from None
