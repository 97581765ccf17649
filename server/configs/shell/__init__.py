"""Reads shell launch scripts without running them: what a script would start, with which arguments and environment.

Three layers: `parser` (text to syntax tree), `evaluator` (syntax tree to commands, with unknowns kept as unknowns)
and `launches` (which command is the trainer or the rollout server). Nothing is executed, no network is used, and
files are followed only inside the folder that the caller allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...limits import MAX_CONFIG_BYTES, MAX_LINE_CHARS
from ..values import InputError, Script

__all__ = ["read_script"]


def read_script(
    text: str,
    path: str,
    *,
    root: Path | None = None,
    variables: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> Script:
    """Interpret a shell script, or a pasted command, and return every command that it would run.

    path: name for messages; with `root` also the place of the script, relative to it or absolute.
    root: folder inside which `source x` and `. x` are followed; None follows nothing.
    variables: the environment of the script. A name that is neither here nor in the script is unknown.
    arguments: `$1`, `$2` ...; without them `$@` is empty, and `takes_arguments` tells when the script uses it.

    Raises InputError when the text is too large to be a script.
    """
    if len(text) > MAX_CONFIG_BYTES:
        raise InputError(f"{path}: {len(text):,} characters are too many for a script (limit {MAX_CONFIG_BYTES:,})")
    longest = max(map(len, text.split("\n")), default=0)
    if longest > MAX_LINE_CHARS:
        raise InputError(f"{path}: a line of {longest:,} characters is not shell (limit {MAX_LINE_CHARS:,})")
    from .cleaning import cleaned
    from .evaluator import interpret
    from .sources import SourceFolder

    folder = SourceFolder(root, path)
    ready = cleaned(text)
    given = variables or {}
    script = interpret(ready, path, folder=folder, variables=given, arguments=arguments)
    if not script.launches and not any(lint.rule == "shell-limit" for lint in script.lints):
        # The launch may stand behind a condition that was taken as false, or behind a guarded `exit`.
        other = interpret(ready, path, folder=folder, variables=given, arguments=arguments, seek_launch=True)
        if other.launches:
            return other
    return script
