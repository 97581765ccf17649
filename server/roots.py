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
        inside = [target for target in self._candidates(name) if target is not None]
        for target in inside:
            if _is_regular(target.path):
                return target
        if not inside:
            raise InputError(
                f"{name}: outside the allowed folders ({self}): "
                f"pass the text as `config`, or start the server with --root DIR"
            )
        if any(target.path.is_dir() for target in inside):
            raise InputError(f"{name}: a folder: name the launch script or config file in it")
        if any(os.path.lexists(target.path) for target in inside):
            raise InputError(f"{name}: not a regular file: pass its text as `config`")
        raise InputError(f"{name}: no such file in the allowed folders ({self}): check the spelling")

    def _candidates(self, name: str) -> list[Target | None]:
        try:
            written = Path(name).expanduser()
            # An absolute name replaces the folder it is joined to, so one expression serves both kinds.
            return [self._inside((folder / written).resolve()) for folder in self.folders]
        except (OSError, RuntimeError, ValueError) as error:  # link loops, unknown ~user, unencodable names
            raise InputError(f"{name}: cannot be looked up ({error}): check the path") from error

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


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
