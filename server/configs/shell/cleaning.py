"""Makes pasted text readable as a script without moving a line: line ends, marks, prompts, markdown fences."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)[ \t]*([\w.+-]*)[^\n`]*$", re.MULTILINE)
_SHELL_FENCES = frozenset({"", "bash", "sh", "shell", "zsh", "console", "shell-session", "shellscript", "text", "txt"})
_PROMPT = re.compile(r"^[ \t]*(?:\([\w.-]+\)[ \t]*)?[$%][ \t](?=\S)", re.MULTILINE)
_CONTINUED_PROMPT = re.compile(r"(?<=\\\n)>[ \t]")


def cleaned(text: str) -> str:
    """The same lines with `\\n` ends, without byte-order mark, prompts and text around markdown fences."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "")
    if text.startswith("#!"):
        return text
    if "```" in text or "~~~" in text:
        text = _inside_fences(text)
    if _PROMPT.search(text):
        text = _PROMPT.sub(lambda found: " " * len(found.group()), text)
        text = _CONTINUED_PROMPT.sub("  ", text)
    return text


def _inside_fences(text: str) -> str:
    """Shell blocks stay, every other line becomes empty. Text without a closed fence stays as it is."""
    fences = list(_FENCE.finditer(text))
    if not fences:
        return text
    if len(fences) % 2:  # one fence alone: a lost opening or closing line
        return _FENCE.sub("", text) if len(fences) == 1 else text
    kept: list[str] = []
    at = 0
    for opening, closing in zip(fences[::2], fences[1::2], strict=True):
        kept.append(_blanked(text[at : opening.end()]))
        block = text[opening.end() : closing.start()]
        kept.append(block if opening.group(2).lower() in _SHELL_FENCES else _blanked(block))
        at = closing.start()
    kept.append(_blanked(text[at:]))
    result = "".join(kept)
    return result if result.strip() else text


def _blanked(text: str) -> str:
    return "\n" * text.count("\n")
