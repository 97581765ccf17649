"""Pieces of configs as people paste them: settings between prose, `...`, code fences, several syntaxes at once.

Every line is read as far as it goes; what is no setting is named in the notes. Nothing is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..limits import MAX_DEPTH, MAX_LINE_CHARS
from .files import clean, printable
from .flat_text import typed
from .hydra import parse_override
from .json_text import read_json
from .python_calls import read_python
from .values import Document, Entry, InputError, Unresolved
from .yaml_text import parse_value, read_yaml

_MAX_NOTES = 20
_MAX_FRAGMENT_CHARS = 500_000  # more than anybody pastes; a file has a reader of its own
# All of these meet stripped text, so that no run of blanks can be split in several ways.
_OMISSION = re.compile(r"(?:#|//)?\s?[\[({<]?\s?(?:\.\.\.|…)+\s?[\])}>]?\s?[,\\]?|(?:```|~~~)[\w-]*|\\")
_YAML_LINE = re.compile(r"(-\s+)?(\"[^\"\n]+\"|'[^'\n]+'|[\w./@+$-]+)\s*:(?:\s+(.*))?")
_OVERRIDE = re.compile(r"(?:[-*•]\s+)?((?:\+\+?|~)?[A-Za-z_][\w./@-]*)\s*=(?!=)(.*)")
_WORD = re.compile(r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\s\"'\\])+|[\"'\\]")
_FLAG = re.compile(r"--[A-Za-z][\w.-]*")
_CALL = re.compile(r"\b[A-Za-z_]\w*\(")
_COMMENT = re.compile(r"(?<!\s)\s+(?://\s|#).*$")
_OPEN = {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}


def read_fragment(text: str, path: str) -> Document:
    """Read whatever settings the text shows, in YAML, JSON, `key=value`, `--flag value` or Python keywords.

    In: the text and the name for messages. Out: a document of format "fragment" (or "yaml" / "json" when the whole
    text is one); flags keep their dashes in the key and a flag without value is True; placeholders (`...`, `<path>`)
    are `Unresolved`. Lines that are no setting are in the notes. Nothing is raised: text over the caps is cut.
    """
    cut = clean(text[:_MAX_FRAGMENT_CHARS]).removeprefix("\ufeff")
    document = _whole(cut, path) or _line_by_line(cut, path)
    if len(text) > _MAX_FRAGMENT_CHARS:
        document.notes.append(f"only the first {_MAX_FRAGMENT_CHARS:,} characters were read")
    return document


def _line_by_line(text: str, path: str) -> Document:
    document = Document(path, "fragment", data={})
    _Fragment(document).read(text)
    for entry in document.entries:
        _put(document.data, entry.key, entry.value)
    return document


def _whole(text: str, path: str) -> Document | None:
    """The text as one valid document, when it is one and shows settings."""
    kept = "\n".join("" if _is_omission(line) else line for line in text.split("\n"))
    if not kept.strip():
        return None
    for read in (read_json, read_yaml) if kept.lstrip()[0] == "{" else (read_yaml,):
        try:
            document = read(kept, path)
        except InputError:
            continue
        if document.entries and not any(" " in entry.key for entry in document.entries):
            return document
    return None


class _Fragment:
    """Line by line, with the YAML mappings that are open at each indent."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.path = document.path
        self.levels: list[tuple[int, str]] = []  # indent and key of the mappings that contain the current line
        self.skipped = 0

    def read(self, text: str) -> None:
        for number, line in _joined(text):
            if len(line) > MAX_LINE_CHARS:
                self._skip(number, line)
            elif line.strip() and not _is_omission(line) and not line.lstrip().startswith(("#", "//")):
                self._line(number, line)
        if self.skipped > _MAX_NOTES:
            self.document.notes.append(f"{self.skipped - _MAX_NOTES} more lines are no settings")

    def _line(self, number: int, line: str) -> None:
        bare = _COMMENT.sub("", line).rstrip("\\ \t\r")
        if _CALL.search(bare) and self._python(number, bare):
            return
        if bare.lstrip()[:1] in ("{", "[") and self._json(number, bare):
            return
        if self._words(number, bare) or self._override(number, bare) or self._yaml(number, bare):
            return
        self._skip(number, line)

    def _python(self, number: int, line: str) -> bool:
        try:
            documents = read_python(line.strip().rstrip(","), self.path)
        except InputError:
            return False
        found = False
        for document in documents:
            for entry in document.entries:
                found = True
                if not isinstance(entry.value, Unresolved | dict):
                    self._add(entry.key, entry.value, number, entry.text)
        return found

    def _json(self, number: int, line: str) -> bool:
        try:
            document = read_json(line, self.path)
        except InputError:
            return False
        for entry in document.entries:
            self._add(entry.key, entry.value, number, entry.text)
        return bool(document.entries)

    def _words(self, number: int, line: str) -> bool:
        """A command line: at least one flag, or several `key=value` words."""
        words = _WORD.findall(line) if "--" in line or line.count("=") > 1 else []
        pairs = sum(1 for word in words if _OVERRIDE.fullmatch(word))
        if not any(_FLAG.match(word) for word in words) and (pairs < 2 or pairs < len(words) - 3):
            return False
        at = 0
        while at < len(words):
            word = _unquoted(words[at])
            at += 1
            flag = _FLAG.match(word)
            if flag is not None and word[flag.end() : flag.end() + 1] in ("", "="):
                _, equals, value = word.partition("=")
                if not equals and at < len(words) and not _FLAG.match(words[at]):
                    value, equals = _unquoted(words[at]), "="
                    at += 1
                self._add(flag[0], _value(value) if equals else True, number, value)
            elif (match := _OVERRIDE.fullmatch(word)) is not None:
                self._add_override(word, match, number)
        return True

    def _override(self, number: int, line: str) -> bool:
        match = _OVERRIDE.fullmatch(line.strip().removeprefix("export ").rstrip(",; "))
        if match is None:
            return False
        self._add_override(f"{match[1]}={match[2].strip()}", match, number)
        return True

    def _add_override(self, word: str, match: re.Match[str], number: int) -> None:
        override = parse_override(_unquoted(word))
        written = match[2].strip()
        value = _value(written) if override.problem or _placeholder(written) else override.value
        key = override.key or match[1].lstrip("+~")
        self._add(key, value, number, written, override.op)

    def _yaml(self, number: int, line: str) -> bool:
        match = _YAML_LINE.fullmatch(line.strip().rstrip(","))
        if match is None or (match[1] and not match[3]):
            return False
        expanded = line.expandtabs()
        indent = len(expanded) - len(expanded.lstrip())
        while self.levels and self.levels[-1][0] >= indent:
            self.levels.pop()
        key = match[2].strip("\"'")
        if not match[3]:
            if len(self.levels) < MAX_DEPTH:
                self.levels.append((indent, key))
            return True
        self._add(".".join((*(name for _, name in self.levels), key)), _value(match[3]), number, match[3])
        return True

    def _add(self, key: str, value: Any, line: int, text: str, op: str = "") -> None:
        self.document.entries.append(Entry(key, value, self.path, line, op, printable(text)))

    def _skip(self, number: int, line: str) -> None:
        self.skipped += 1
        if self.skipped <= _MAX_NOTES:
            self.document.notes.append(f"line {number} is no setting: {printable(line.strip(), 80)}")


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a bracket that stays open takes the following lines with it."""
    pending: list[str] = []
    first, depth = 0, 0
    for number, line in enumerate(text.split("\n"), start=1):
        depth += sum(_OPEN.get(character, 0) for character in line) if len(line) <= MAX_LINE_CHARS else 0
        if pending:
            pending.append(line.strip())
        elif depth > 0:
            pending, first = [line], number
        else:
            depth = 0
            yield number, line
            continue
        if depth <= 0 or len(pending) >= MAX_DEPTH:
            yield (first, " ".join(pending)) if depth <= 0 else (first, pending[0])
            if depth > 0:  # never closed: the lines stand for themselves
                yield from enumerate(pending[1:], start=first + 1)
            pending, depth = [], 0
    yield from enumerate(pending, start=first)


def _is_omission(line: str) -> bool:
    stripped = line.strip()
    return len(stripped) < 40 and _OMISSION.fullmatch(stripped) is not None


def _value(text: str) -> Any:
    """One value in whatever spelling: Python, YAML or JSON words, numbers, lists."""
    text = text.strip().rstrip(",")
    if _placeholder(text):
        return Unresolved(printable(text), (printable(text, 60),))
    if text[:1] in ("[", "{"):
        try:
            return parse_value(text)
        except InputError:
            return text
    return typed(text)


def _placeholder(text: str) -> bool:
    return "..." in text or "…" in text or (text.startswith("<") and text.endswith(">")) or text.startswith("$")


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) >= 2 and word[0] == word[-1] and word[0] in "\"'" else word


def _put(data: dict[str, Any], key: str, value: Any) -> None:
    *branch, leaf = [key] if key.startswith("-") else key.split(".")
    for part in branch[:MAX_DEPTH]:
        child = data.get(part)
        if not isinstance(child, dict):
            child = data[part] = {}
        data = child
    data[leaf] = value
