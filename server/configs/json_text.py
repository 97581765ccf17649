"""JSON with line numbers, tolerant of what people paste.

DeepSpeed and the HF stack use `json.load`, which refuses comments, trailing commas, single quotes and placeholders.
They are read here and reported (`json-not-strict`), so that the rest of the file can still be checked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from json import JSONDecodeError, JSONDecoder
from typing import Any

from ..limits import MAX_DEPTH, MAX_NODES
from .files import checked, clean, printable
from .tree import Node, leaves, plain
from .values import Document, InputError, Lint, Unresolved

_BLANK = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_STRICT_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_PYTHON_WORDS = {"True": True, "False": False, "None": None}
_BARE = re.compile(r"\$\{[^}\n]{0,200}\}|\{\{[^}\n]{0,200}\}\}|<[^>\n]{0,200}>|[^\s,:\[\]{}\"']+")
_SINGLE_QUOTED = re.compile(r"'((?:[^'\\\n]|\\.)*)'")
_STRINGS = JSONDecoder(strict=False)  # used for strings only: they cost no recursion
_MAX_DIGITS = 400
_MAX_LINTS = 20


def read_json(text: str, path: str) -> Document:
    """Read one JSON value.

    In: the text and the name for messages. Out: entries for every leaf (lists and empty objects are leaves), the
    plain tree, lints `duplicate-key` and `json-not-strict`. A bare placeholder (`BATCH_SIZE`, `{{lr}}`, `<n>`) is
    `Unresolved`. Raises InputError for what is not JSON at all, with the line, and for anything over the caps.
    """
    document = Document(path, "json")
    root = Scanner(checked(text, path, long_lines=True), document).read()
    document.data = plain(root)
    document.entries = list(leaves(root, document.data, path))
    return document


def read_nodes(text: str, path: str) -> Node:
    """The JSON value with the line of every value in it (notebooks need the lines of list items)."""
    return Scanner(checked(text, path, long_lines=True), Document(path, "json")).read()


class Scanner:
    """One pass over the text with an explicit stack: no recursion, linear time."""

    def __init__(self, text: str, document: Document) -> None:
        self.text = text
        self.document = document
        self.path = document.path
        self.at = 0
        self.nodes = 0
        self.seen: set[str] = set()  # kinds of deviation reported so far
        self.starts = [0]
        self.starts.extend(match.end() for match in re.finditer("\n", text))

    def read(self) -> Node:
        self._skip_blank()
        if self.at >= len(self.text):
            self.document.notes.append("the file is empty")
            return Node(None, 1)
        root = self._value_or_open()
        if isinstance(root.value, Unresolved):
            self.at = 0
            raise self._fault(f"the text starts with {self._here()}", "name a JSON file")
        if isinstance(root.value, dict | list):
            self._fill(root)
        self._skip_blank()
        if self.at < len(self.text):
            raise self._fault("text after the end of the JSON value", "keep one JSON value in the file")
        return root

    def _fill(self, root: Node) -> None:
        stack: list[tuple[Node, dict[str, int], int]] = [(root, {}, self.at - 1)]
        first = True
        while stack:
            node, lines, start = stack[-1]
            container = node.value
            close = "}" if type(container) is dict else "]"
            self._skip_blank()
            character = self.text[self.at : self.at + 1]
            if character == close:
                self.at += 1
                self._one_line_text(node, start)
                stack.pop()
                first = False
                continue
            if not first:
                if character != ",":
                    raise self._fault(f"expected `,` or `{close}`, found {self._here()}", "correct that line")
                self.at += 1
                self._skip_blank()
                if self.text[self.at : self.at + 1] == close:
                    self._not_strict("a comma before the closing bracket", self.at)
                    continue
            key, key_line = "", 0
            if close == "}":
                key_line = self._line(self.at)
                key = self._key()
            child = self._value_or_open()
            if close == "}":
                child.line = key_line
                if key in lines:
                    self._duplicate(key, lines[key], key_line)
                lines[key] = key_line
                container[key] = child
            else:
                container.append(child)
            first = isinstance(child.value, dict | list)
            if first:
                if len(stack) >= MAX_DEPTH:
                    raise self._fault(f"nested deeper than {MAX_DEPTH} levels", "no config is")
                stack.append((child, {}, self.at - 1))

    def _key(self) -> str:
        character = self.text[self.at : self.at + 1]
        if character in ('"', "'"):
            key = self._string()
        else:
            match = _BARE.match(self.text, self.at)
            if match is None or character == "":
                raise self._fault(f"expected a key in double quotes, found {self._here()}", "correct that line")
            self._not_strict("a key without quotes", self.at)
            key = match[0]
            self.at = match.end()
        self._skip_blank()
        if self.text[self.at : self.at + 1] != ":":
            raise self._fault(f"expected `:` after the key, found {self._here()}", "correct that line")
        self.at += 1
        self._skip_blank()
        return key

    def _value_or_open(self) -> Node:
        """The scalar at this place, or an empty container whose opening bracket has been read."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self._fault(f"more than {MAX_NODES:,} values", "no config has as many")
        start = self.at
        line = self._line(start)
        character = self.text[start : start + 1]
        if character == "{" and not self.text.startswith("{{", start):
            self.at += 1
            return Node({}, line)
        if character == "[":
            self.at += 1
            return Node([], line)
        value = self._string() if character in ('"', "'") and character else self._word()
        return Node(value, line, printable(self.text[start : min(self.at, start + 400)]))

    def _string(self) -> str:
        start = self.at
        if self.text[start] == "'":
            match = _SINGLE_QUOTED.match(self.text, start)
            if match is None:
                raise self._fault("a string without closing quote", "correct that line")
            self._not_strict("single quotes", start)
            self.at = match.end()
            return clean(match[1].replace("\\'", "'").replace("\\\\", "\\"))
        try:
            value, self.at = _STRINGS.raw_decode(self.text, start)
        except JSONDecodeError as error:
            self.at = start
            raise self._fault(f"broken string ({error.msg.split(':')[0]})", "correct that line") from None
        return clean(value)

    def _word(self) -> Any:
        start = self.at
        match = _BARE.match(self.text, start)
        if match is None:
            raise self._fault(f"expected a value, found {self._here()}", "correct that line")
        word = match[0]
        self.at = match.end()
        if word in _WORDS:
            return _WORDS[word]
        if word in _FLOATS:
            return _FLOATS[word]
        if len(word) > _MAX_DIGITS and word.lstrip("+-").isdigit():
            self.document.notes.append(f"line {self._line(start)}: a number of {len(word):,} digits is kept as text")
            return printable(word, _MAX_DIGITS)
        if _STRICT_NUMBER.fullmatch(word):
            return int(word) if word.lstrip("-").isdigit() else float(word)
        if word in _PYTHON_WORDS:
            self._not_strict(f"`{word}` (Python spelling)", start)
            return _PYTHON_WORDS[word]
        if len(word) <= _MAX_DIGITS and _NUMBER.fullmatch(word):
            self._not_strict(f"the number `{printable(word, 40)}`", start)
            digits = word.replace("_", "")
            return int(digits) if digits.lstrip("+-").isdigit() else float(digits)
        self._not_strict(f"the placeholder `{printable(word, 60)}`", start, kind="placeholder")
        return Unresolved(printable(word), (printable(word.strip("${}<> "), 60) or printable(word),))

    # -- blanks and comments ---------------------------------------------------------------------------------------

    def _skip_blank(self) -> None:
        text = self.text
        while True:
            match = _BLANK.match(text, self.at)
            if match is not None:
                self.at = match.end()
            character = text[self.at : self.at + 1]
            if character == "#" or text.startswith("//", self.at):
                self._not_strict("a comment", self.at)
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif text.startswith("/*", self.at):
                self._not_strict("a comment", self.at)
                end = text.find("*/", self.at + 2)
                self.at = len(text) if end < 0 else end + 2
            else:
                return

    # -- messages --------------------------------------------------------------------------------------------------

    def _line(self, position: int) -> int:
        return bisect_right(self.starts, position)

    def _here(self) -> str:
        rest = self.text[self.at : self.at + 24].split("\n")[0]
        if rest:
            return f"`{printable(rest)}`"
        return "the end of the text" if self.at >= len(self.text) else "a line break"

    def _fault(self, cause: str, advice: str) -> InputError:
        return InputError(f"{printable(self.path)} line {self._line(self.at)}: not JSON, {cause}; {advice}")

    def _one_line_text(self, node: Node, start: int) -> None:
        if self.at - start <= 400 and "\n" not in (text := self.text[start : self.at]):
            node.text = printable(text)

    def _not_strict(self, what: str, position: int, kind: str = "") -> None:
        """Tell it once: a template of twenty placeholders is one fault."""
        if (kind or what) not in self.seen and len(self.seen) < _MAX_LINTS:
            self.seen.add(kind or what)
            line = self._line(position)
            message = f"not strict JSON ({what}): json.load (DeepSpeed, transformers, accelerate) refuses the file"
            self.document.lints.append(Lint("json-not-strict", message, self.path, line, fix="write strict JSON"))

    def _duplicate(self, key: str, first: int, line: int) -> None:
        if len(self.document.lints) < 2 * _MAX_LINTS:
            where = f"in the same object, at lines {first} and {line}"
            message = f"`{printable(key, 80)}` is set twice {where}: json.load keeps the last one"
            self.document.lints.append(Lint("duplicate-key", message, self.path, line, fix="delete one of the two"))
