"""Which files an MCP client may name: regular files inside the allowed folders, after following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .configs.values import InputError

ENVIRONMENT_VARIABLE = "GRPO_GUARD_ROOTS"


@dataclass(frozen=True, slots=True)
class Target:
    """A file that may be read, and the allowed folder that holds it."""

    path: Path
    root: Path


@dataclass(frozen=True, slots=True)
class Roots:
    """The allowed folders, absolute and with links resolved."""

    folders: tuple[Path, ...]

    @classmethod
    def choose(cls, options: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> Roots:
        """From `--root` options, else the environment variable, else the working directory.

        Raises InputError for a root that is no folder: a server that can read nothing should say so at its start.
        """
        environ = os.environ if environ is None else environ
        named = list(options) or [name for name in environ.get(ENVIRONMENT_VARIABLE, "").split(os.pathsep) if name]
        return cls(tuple(dict.fromkeys(_folder(name) for name in named or ["."])))

    def find(self, name: str) -> Target:
        """The regular file that `name` means; a relative name is looked up in each root in turn.

        Raises InputError. A file outside the roots is refused in the same words whether it exists or not.
        """
        if not name or "\0" in name:
            raise InputError("path is empty or holds a NUL character: name a file")
        shown = name if len(name) <= 200 else f"{name[:200]}..."
        inside = self._candidates(name, shown)
        if not inside:
            raise InputError(
                f"{shown}: outside the allowed folders ({self}): "
                f"pass the text as `config`, or start the server with --root DIR"
            )
        kinds = [stat.S_IFMT(_mode(target.path)) for target in inside]
        if stat.S_IFREG in kinds:
            return inside[kinds.index(stat.S_IFREG)]
        if stat.S_IFDIR in kinds:
            raise InputError(f"{shown}: a folder: name the launch script or config file in it")
        if any(kinds):
            raise InputError(f"{shown}: not a regular file: pass its text as `config`")
        raise InputError(f"{shown}: no such file in the allowed folders ({self}): check the spelling")

    def _candidates(self, name: str, shown: str) -> list[Target]:
        try:
            written = Path(name).expanduser()
            # An absolute name replaces the folder it is joined to, so one expression serves both kinds.
            places = [(folder / written).resolve() for folder in self.folders]
        except (OSError, RuntimeError, ValueError) as error:  # link loops, unknown ~user, unencodable names
            raise InputError(f"{shown}: cannot be looked up ({type(error).__name__}): check the path") from error
        return [target for place in places if (target := self._inside(place)) is not None]

    def _inside(self, path: Path) -> Target | None:
        for folder in self.folders:
            if path.is_relative_to(folder):
                return Target(path, folder)
        return None

    def __str__(self) -> str:
        return ", ".join(str(folder) for folder in self.folders)


def _folder(name: str) -> Path:
    path = Path(name).expanduser().resolve()
    if not path.is_dir():
        raise InputError(f"root {name}: not a folder: name an existing one")
    return path


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0  # there is no such file
