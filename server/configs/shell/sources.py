"""Files that a script sources: found inside one folder only, read as text, never run."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from ...limits import MAX_CONFIG_BYTES
from .cleaning import cleaned


class SourceFile(NamedTuple):
    shown: str  # path for messages
    path: str  # absolute path
    text: str


class SourceFolder:
    """`root` bounds what may be followed; None follows nothing and leaves the script's own place unknown."""

    def __init__(self, root: Path | None, script: str) -> None:
        self.root = root.resolve() if root is not None else None
        self.script = ""
        self._shows_absolute = os.path.isabs(script)
        if self.root is not None and script:
            self.script = os.path.normpath(self.root / script)

    @property
    def knows_place(self) -> bool:
        """Whether `$0` and `${BASH_SOURCE[0]}` stand for a real path."""
        return bool(self.script)

    def find(self, name: str, directory: str | None) -> SourceFile | None:
        """The file behind `source NAME`: from the working directory, the root or the script's own folder."""
        if self.root is None or not name or "\0" in name:
            return None
        places = [directory] if directory is not None else [str(self.root), os.path.dirname(self.script)]
        for place in places:
            found = self._read(Path(os.path.join(place, name)))
            if found is not None:
                return found
        return None

    def _read(self, candidate: Path) -> SourceFile | None:
        assert self.root is not None
        try:
            resolved = candidate.resolve(strict=True)
            if not resolved.is_relative_to(self.root):
                return None
            status = resolved.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_CONFIG_BYTES:
                return None
            text = resolved.read_text(encoding="utf-8", errors="replace")
        except (OSError, RuntimeError, ValueError):
            return None
        shown = str(resolved) if self._shows_absolute else resolved.relative_to(self.root).as_posix()
        # A link keeps its own name, as bash has it in BASH_SOURCE.
        return SourceFile(shown, os.path.normpath(candidate), cleaned(text))
