"""Reads the words of a shell script: quoting, expansions, brace lists. The command grammar is in parser.py.

Own code on purpose: tree-sitter-bash gives a good tree but evaluates nothing (most of the work is evaluation), and
it rejects nested arithmetic and `<placeholders>`; bashlex is GPL and parses about 40 % of real launch scripts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence as Items

from ...limits import MAX_DEPTH, MAX_SHELL_LOOP
from .syntax import (
    ArithmeticSubstitution,
    CommandSubstitution,
    Literal,
    Parameter,
    Part,
    Placeholder,
    ProcessSubstitution,
    Sequence,
    WordNode,
)

_PLAIN = re.compile(r"[^\\'\"$`|&;<>()\s]+")
_IN_DOUBLE_QUOTES = re.compile(r'[^\\"$`]+')
_IN_BRACES = re.compile(r"[^\\'\"$`}/:]+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_PARAMETER = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?$!-]")
_OPERATOR = re.compile(r":[-=?+]|[-=?+]|##?|%%?|/[/#%]?|\^\^?|,,?|@[A-Za-z]|:")
_PLACEHOLDER = re.compile(r"<[A-Za-z_][\w.:/ -]{0,80}(?<! )>(?=[\s\"'/,;:.\])]|\Z)")
_NEXT_ARGUMENT = re.compile(r"--?[A-Za-z]|[+~]{0,2}[A-Za-z_]\w*(?:\.\w+)*=")
_BRACE_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\Z")
_TILDE = re.compile(r"(?:[A-Za-z_]\w*\+?=)?~(?=/|\Z)")
_ANSI = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
}  # fmt: skip
_MAX_BRACE_WORD = 10_000  # a longer word is data, not a brace list
_MAX_OPEN_BRACES = 50
_ARITHMETIC_WINDOW = 20_000  # characters searched for the end of `$((`


class ShellSyntax(Exception):
    """The text at `position` is not shell as this reader understands it."""

    def __init__(self, message: str, position: int, limit: bool = False) -> None:
        super().__init__(message)
        self.position = position
        self.limit = limit


def line_table(text: str, first_line: int = 1) -> tuple[list[int], list[int]]:
    """Offsets at which lines of `text` start, and their numbers."""
    starts = [0]
    find = text.find
    at = find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = find("\n", at + 1)
    return starts, list(range(first_line, first_line + len(starts)))


class WordReader:
    """A position in the text, and the methods that read one word from it."""

    def __init__(self, text: str, lines: tuple[Items[int], Items[int]]) -> None:
        self.text = text
        self.pos = 0
        self.end = len(text)
        self.depth = 0
        self.glued: list[int] = []  # lines at which a continuation glues two arguments together
        self._starts, self._numbers = lines

    def line_at(self, position: int) -> int:
        return self._numbers[bisect_right(self._starts, position) - 1]

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ShellSyntax(f"nested more than {MAX_DEPTH} levels deep", self.pos, limit=True)

    def sequence_until_parenthesis(self) -> Sequence:
        raise NotImplementedError  # the command grammar supplies it

    # --- a word ---

    def word(self) -> WordNode:
        """The word at the current position, which must not be blank or an operator."""
        text, start, end = self.text, self.pos, self.end
        line = self.line_at(start)
        found = _PLAIN.match(text, start, end)
        if found is not None and (found.end() == end or text[found.end()] in " \t\n;)"):
            self.pos = found.end()  # the common case: nothing but plain characters
            plain = found.group()
            if "~" not in plain and "{" not in plain:
                return WordNode((Literal(plain, False, line),), line, plain, plain)
            return self._finished([Literal(plain, False, line)], start, line)
        parts: list[Part] = []
        while self.pos < end:
            found = _PLAIN.match(text, self.pos, end)
            if found is not None:
                parts.append(Literal(found.group(), False, self.line_at(self.pos)))
                self.pos = found.end()
            elif not self._special(parts):
                break
        if self.pos == start:
            raise ShellSyntax(f"unexpected `{text[start]}`" if start < end else "a word is missing at the end", start)
        return self._finished(parts, start, line)

    def words(self) -> list[WordNode]:
        """The word at the current position after brace expansion."""
        word = self.word()
        return expand_braces(word) if "{" in word.raw else [word]

    def _finished(self, parts: list[Part], start: int, line: int) -> WordNode:
        if not parts:  # nothing but continuations
            parts = [Literal("", False, line)]
        first = parts[0]
        if type(first) is Literal and not first.quoted and "~" in first.text:
            tilde = _TILDE.match(first.text)
            if tilde is not None and (tilde.end() < len(first.text) or len(parts) == 1 or _starts_path(parts[1])):
                at = tilde.end() - 1
                home = Parameter("HOME", True, first.line, "${HOME}")
                parts[0:1] = [
                    Literal(first.text[:at], False, first.line),
                    home,
                    Literal(first.text[at + 1 :], False, first.line),
                ]
        plain = first.text if len(parts) == 1 and type(first) is Literal else None
        return WordNode(tuple(parts), line, self.text[start : self.pos], plain)

    def _special(self, parts: list[Part]) -> bool:
        """Read one quoted or expanded part; False at the end of the word."""
        text, pos = self.text, self.pos
        char = text[pos]
        if char == "\\":
            self._backslash(parts)
        elif char == "'":
            self._single_quoted(parts)
        elif char == '"':
            self.pos += 1
            self._double_quoted(parts, closing='"')
        elif char == "$":
            self._dollar(parts, quoted=False)
        elif char == "`":
            self._backtick(parts, quoted=False)
        elif char in "<>":
            return self._angle(parts)
        elif char == "(" and parts and self._is_extended_glob(parts[-1]):
            parts.append(Literal(self._balanced("(", ")"), False, self.line_at(pos)))
        else:
            return False
        return True

    def _backslash(self, parts: list[Part]) -> None:
        text, pos = self.text, self.pos
        following = text[pos + 1 : pos + 2]
        if following == "\n":
            self.pos += 2
            if parts and _NEXT_ARGUMENT.match(text, self.pos, self.end):
                self.glued.append(self.line_at(pos))
        elif not following or pos + 1 >= self.end:
            parts.append(Literal("\\", True, self.line_at(pos)))
            self.pos += 1
        else:
            parts.append(Literal(following, True, self.line_at(pos)))
            self.pos += 2

    def _single_quoted(self, parts: list[Part]) -> None:
        close = self.text.find("'", self.pos + 1, self.end)
        if close < 0:
            raise ShellSyntax("a single quote is never closed", self.pos)
        parts.append(Literal(self.text[self.pos + 1 : close], True, self.line_at(self.pos)))
        self.pos = close + 1

    def _angle(self, parts: list[Part]) -> bool:
        text, pos = self.text, self.pos
        if text.startswith(("<(", ">("), pos):
            parts.append(self._process_substitution())
            return True
        found = _PLACEHOLDER.match(text, pos, self.end)
        if found is None:
            return False
        parts.append(Placeholder(found.group(), True, self.line_at(pos)))
        self.pos = found.end()
        return True

    def at_placeholder(self) -> bool:
        return _PLACEHOLDER.match(self.text, self.pos, self.end) is not None

    def _process_substitution(self) -> ProcessSubstitution:
        start = self.pos
        self.pos += 2
        body = self.sequence_until_parenthesis()
        return ProcessSubstitution(body, True, self.line_at(start), self.text[start : self.pos])

    @staticmethod
    def _is_extended_glob(part: Part) -> bool:
        return type(part) is Literal and not part.quoted and part.text[-1:] in ("@", "?", "*", "+", "!")

    def _balanced(self, opening: str, closing: str) -> str:
        """The bracketed text at the current position, brackets included."""
        text, start, depth = self.text, self.pos, 0
        for at in range(start, min(self.end, start + _ARITHMETIC_WINDOW)):
            if text[at] == opening:
                depth += 1
            elif text[at] == closing:
                depth -= 1
                if depth == 0:
                    self.pos = at + 1
                    return text[start : at + 1]
        raise ShellSyntax(f"`{opening}` is never closed", start)

    # --- double quotes and here-documents ---

    def _double_quoted(self, parts: list[Part], closing: str) -> None:
        """Parts up to the closing quote; with an empty `closing`, up to the end of the region (a here-document)."""
        text, opened, count = self.text, self.pos - 1, len(parts)
        buffer: list[str] = []
        buffer_line = self.line_at(self.pos)

        def flush() -> None:
            if buffer:
                parts.append(Literal("".join(buffer), True, buffer_line))
                buffer.clear()

        while self.pos < self.end:
            found = _IN_DOUBLE_QUOTES.match(text, self.pos, self.end)
            if found is not None:
                if not buffer:
                    buffer_line = self.line_at(self.pos)
                buffer.append(found.group())
                self.pos = found.end()
                continue
            char = text[self.pos]
            if char == closing:
                flush()
                self.pos += 1
                if len(parts) == count:
                    parts.append(Literal("", True, self.line_at(opened)))
                return
            if char == "\\" and text.startswith("\n", self.pos + 1):
                flush()  # the next piece gets the line it stands on
                self.pos += 2
            elif char in '\\"' or (char == "$" and not self._expands_at(self.pos)):
                if not buffer:
                    buffer_line = self.line_at(self.pos)
                buffer.append(self._quoted_character(closing))
            else:
                flush()
                if char == "$":
                    self._dollar(parts, quoted=True)
                else:
                    self._backtick(parts, quoted=True)
        flush()
        if closing:
            raise ShellSyntax("a double quote is never closed", opened)

    def _quoted_character(self, closing: str) -> str:
        text, pos = self.text, self.pos
        if text[pos] == "\\" and pos + 1 < self.end and text[pos + 1] in ('\\$`"' if closing else "\\$`"):
            self.pos += 2
            return text[pos + 1]
        self.pos += 1
        return text[pos]

    def here_document(self, start: int, stop: int, expand: bool, strip_tabs: bool) -> WordNode:
        """The body of a here-document as one quoted word; the position does not move."""
        saved = self.pos, self.end
        self.pos, self.end = start, stop
        parts: list[Part] = []
        try:
            if expand:
                self._double_quoted(parts, closing="")
            elif stop > start:
                parts.append(Literal(self.text[start:stop], True, self.line_at(start)))
        finally:
            self.pos, self.end = saved
        if strip_tabs:
            parts = [
                part._replace(text=re.sub(r"^\t+", "", part.text, flags=re.MULTILINE))
                if type(part) is Literal
                else part
                for part in parts
            ]
        return WordNode(tuple(parts), self.line_at(start), self.text[start:stop])

    # --- expansions ---

    def _expands_at(self, pos: int) -> bool:
        """Whether the `$` at `pos` starts an expansion (inside double quotes)."""
        following = self.text[pos + 1 : pos + 2] if pos + 1 < self.end else ""
        return bool(following) and (following in "({[@*#?$!-_" or (following.isalnum() and following.isascii()))

    def _dollar(self, parts: list[Part], quoted: bool) -> None:
        text, pos = self.text, self.pos
        following = text[pos + 1 : pos + 2] if pos + 1 < self.end else ""
        line = self.line_at(pos)
        if following == "{":
            self.enter()
            parts.append(self._braced_parameter(quoted))
            self.depth -= 1
        elif following == "(":
            self.enter()
            parts.append(self._parenthesis(quoted))
            self.depth -= 1
        elif following == "[":
            self.pos += 1
            inner = self.pos + 1
            self._balanced("[", "]")
            parts.append(self._arithmetic(inner, self.pos - 1, self.pos, quoted))
        elif following == "'" and not quoted:
            self._ansi_quoted(parts)
        elif following == '"' and not quoted:
            self.pos += 2
            self._double_quoted(parts, closing='"')
        else:
            found = _NAME.match(text, pos + 1, self.end)
            name = found.group() if found else following if following and following in "@*#?$!-0123456789" else ""
            self.pos += 1 + len(name)
            if name:
                parts.append(Parameter(name, quoted, line, f"${{{name}}}", all_items=name if name in "@*" else ""))
            else:
                parts.append(Literal("$", quoted, line))

    def _parenthesis(self, quoted: bool) -> Part:
        """`$(( ))` where the brackets close together, else `$( )`."""
        text, start = self.text, self.pos
        if text.startswith("((", start + 1):
            close = self._arithmetic_end(start + 3)
            if close >= 0:
                return self._arithmetic(start + 3, close, close + 2, quoted)
        self.pos = start + 2
        body = self.sequence_until_parenthesis()
        return CommandSubstitution(body, quoted, self.line_at(start), text[start : self.pos])

    def _arithmetic_end(self, start: int) -> int:
        """Where the `))` that closes an arithmetic expression stands; -1 when the brackets close otherwise."""
        text, depth = self.text, 0
        for at in range(start, min(self.end, start + _ARITHMETIC_WINDOW)):
            if text[at] == "(":
                depth += 1
            elif text[at] == ")":
                if depth == 0:
                    return at if text.startswith(")", at + 1) else -1
                depth -= 1
        return -1

    def _arithmetic(self, start: int, stop: int, after: int, quoted: bool) -> ArithmeticSubstitution:
        begin = self.text.rfind("$", 0, start)
        expression = self.here_document(start, stop, expand=True, strip_tabs=False)
        self.pos = after
        return ArithmeticSubstitution(expression, quoted, self.line_at(start), self.text[begin:after])

    def _backtick(self, parts: list[Part], quoted: bool) -> None:
        start = at = self.pos + 1
        text = self.text
        while at < self.end and text[at] != "`":
            at += 2 if text[at] == "\\" else 1
        if at >= self.end:
            raise ShellSyntax("a backquote is never closed", self.pos)
        self.enter()
        inner = re.sub(r"\\([\\`$])", r"\1", text[start:at])
        body = self.nested(inner, self.line_at(start))
        self.depth -= 1
        parts.append(CommandSubstitution(body, quoted, self.line_at(start), f"$({inner})"))
        self.pos = at + 1

    def nested(self, text: str, first_line: int) -> Sequence:
        raise NotImplementedError  # the command grammar supplies it

    def _ansi_quoted(self, parts: list[Part]) -> None:
        text, start = self.text, self.pos + 2
        at = start
        while at < self.end and text[at] != "'":
            at += 2 if text[at] == "\\" else 1
        if at >= self.end:
            raise ShellSyntax("a single quote is never closed", self.pos)
        parts.append(Literal(_ANSI.sub(_ansi_character, text[start:at]), True, self.line_at(start)))
        self.pos = at + 1

    def _braced_parameter(self, quoted: bool) -> Part:
        text, start = self.text, self.pos
        line = self.line_at(start)
        self.pos += 2
        length = text.startswith("#", self.pos) and text[self.pos + 1 : self.pos + 2] not in ("}", ":", "-", "")
        indirect = text.startswith("!", self.pos) and _NAME.match(text, self.pos + 1, self.end) is not None
        self.pos += length or indirect
        found = _PARAMETER.match(text, self.pos, self.end)
        if found is None:
            return self._bad_substitution(start, quoted)
        name = found.group()
        self.pos = found.end()
        index, all_items = self._index()
        all_items = name if name in ("@", "*") else all_items
        op, argument, second = "", None, None
        if indirect and text.startswith(("*}", "@}"), self.pos):
            op = "names"
            self.pos += 1
        elif not text.startswith("}", self.pos):
            operator = _OPERATOR.match(text, self.pos, self.end)
            if operator is None:
                return self._bad_substitution(start, quoted)
            op = operator.group()
            self.pos = operator.end()
            argument, second = self._operands(op, quoted)
        if not text.startswith("}", self.pos) or self.pos >= self.end:
            raise ShellSyntax("`${` is never closed", start)
        self.pos += 1
        raw = text[start : self.pos]
        return Parameter(name, quoted, line, raw, op, argument, second, index, all_items, length, indirect)

    def _bad_substitution(self, start: int, quoted: bool) -> Part:
        close = self.text.find("}", start, min(self.end, start + 200))
        if close < 0:
            raise ShellSyntax("`${` is never closed", start)
        self.pos = close + 1
        return Placeholder(self.text[start : self.pos], quoted, self.line_at(start))

    def _index(self) -> tuple[WordNode | None, str]:
        text = self.text
        if not text.startswith("[", self.pos):
            return None, ""
        if text.startswith(("[@]", "[*]"), self.pos):
            self.pos += 3
            return None, text[self.pos - 2]
        start = self.pos + 1
        self._balanced("[", "]")
        return self.subscript(start, self.pos - 1), ""

    def subscript(self, start: int, stop: int) -> WordNode:
        """The text between the brackets of `a[...]`, with its quotes removed."""
        saved = self.pos, self.end
        self.pos, self.end = start, stop
        parts: list[Part] = []
        try:
            while self.pos < stop:
                found = _PLAIN.match(self.text, self.pos, stop)
                if found is not None or not self._special(parts):
                    size = len(found.group()) if found else 1
                    parts.append(Literal(self.text[self.pos : self.pos + size], True, self.line_at(self.pos)))
                    self.pos += size
        finally:
            self.pos, self.end = saved
        return WordNode(tuple(parts), self.line_at(start), self.text[start:stop])

    def _operands(self, op: str, quoted: bool) -> tuple[WordNode | None, WordNode | None]:
        if op.startswith("@"):
            return None, None
        if op[0] == "/":
            pattern = self._operand("/}", quoted=False)
            if self.text.startswith("/", self.pos):
                self.pos += 1
                return pattern, self._operand("}", quoted=False)
            return pattern, None
        if op == ":":
            offset = self._operand(":}", quoted=True)
            if self.text.startswith(":", self.pos):
                self.pos += 1
                return offset, self._operand("}", quoted=True)
            return offset, None
        keeps_quotes = quoted and op[-1] in "-=?+"
        return self._operand("}", quoted=keeps_quotes), None

    def _operand(self, stops: str, quoted: bool) -> WordNode:
        """The text inside `${name<op>...}` up to one of `stops`; inside double quotes `'` is an ordinary character."""
        text, start = self.text, self.pos
        parts: list[Part] = []
        while self.pos < self.end and text[self.pos] not in stops:
            found = _IN_BRACES.match(text, self.pos, self.end)
            char = text[self.pos]
            if found is not None:
                parts.append(Literal(found.group(), quoted, self.line_at(self.pos)))
                self.pos = found.end()
            elif char in "}/:" or (char == "'" and quoted):
                parts.append(Literal(char, quoted, self.line_at(self.pos)))
                self.pos += 1
            elif char == "\\" and quoted:
                if text.startswith("\n", self.pos + 1):
                    self.pos += 2
                else:
                    special = text[self.pos + 1 : self.pos + 2] in ("$", "`", '"', "\\", "}")
                    kept = text[self.pos + 1] if special else "\\"
                    parts.append(Literal(kept, True, self.line_at(self.pos)))
                    self.pos += 1 + special
            elif char == "$" and quoted:
                self._dollar(parts, quoted=True)
            elif char == "`":
                self._backtick(parts, quoted)
            else:
                self._special(parts)
        if self.pos >= self.end:
            raise ShellSyntax("`${` is never closed", start)
        if not quoted and parts and text[start] == "~":
            return self._finished(parts, start, self.line_at(start))
        plain = parts[0].text if len(parts) == 1 and type(parts[0]) is Literal else None
        return WordNode(tuple(parts), self.line_at(start), text[start : self.pos], plain)


def _starts_path(part: Part) -> bool:
    return type(part) is Literal and not part.quoted and part.text.startswith("/")


def _ansi_character(found: re.Match[str]) -> str:
    escape = found.group()[1:]
    if escape[0] in "xuU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code < 0x110000 else found.group()
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 0xFF)
    return _ANSI_LETTERS.get(escape, escape if escape in "\\'\"?" else found.group())


# --- brace expansion ---------------------------------------------------------------------------------------------


def expand_braces(word: WordNode) -> list[WordNode]:
    """`a{1..3}{b,c}` as the words it stands for; the word itself when there is nothing to expand."""
    if len(word.raw) > _MAX_BRACE_WORD or "}" not in word.raw:
        return [word]
    variants = _brace_variants(list(word.parts))
    if len(variants) == 1 or len(variants) > MAX_SHELL_LOOP:
        return [word]
    return [_joined(parts, word) for parts in variants]


def _joined(parts: list[Part], word: WordNode) -> WordNode:
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if type(part) is Literal and type(last) is Literal and part.quoted == last.quoted:
            merged[-1] = Literal(last.text + part.text, part.quoted, last.line)
        else:
            merged.append(part)
    plain = merged[0].text if len(merged) == 1 and type(merged[0]) is Literal else None
    return WordNode(tuple(merged), word.line, word.raw if plain is None else plain, plain)


def _brace_variants(parts: list[Part]) -> list[list[Part]]:
    """Every expansion of the first brace list in `parts`, each combined with the expansions of what follows."""
    results: list[list[Part]] = [[]]
    rest = parts
    for _ in range(len(parts) + 64):
        group = _first_group(rest)
        if group is None:
            break
        before, choices, rest = group
        results = [done + before + choice for done in results for choice in choices]
        if len(results) > MAX_SHELL_LOOP:
            break
    return [done + rest for done in results]


def _first_group(parts: list[Part]) -> tuple[list[Part], list[list[Part]], list[Part]] | None:
    """(parts before, the alternatives, parts after) of the first brace list; nested lists stay inside one choice."""
    tries = 0
    for start, part in enumerate(parts):
        if type(part) is not Literal or part.quoted:
            continue
        at = part.text.find("{")
        while at >= 0:
            tries += 1
            if tries > _MAX_OPEN_BRACES:
                return None
            found = _close_group(parts, start, at)
            if found is not None:
                head: list[Part] = [*parts[:start], part._replace(text=part.text[:at])]
                return head, found[0], found[1]
            at = part.text.find("{", at + 1)
    return None


def _close_group(parts: list[Part], start: int, at: int) -> tuple[list[list[Part]], list[Part]] | None:
    choices: list[list[Part]] = []
    current: list[Part] = []
    depth = 0
    for number in range(start, len(parts)):
        part = parts[number]
        if type(part) is not Literal or part.quoted:
            current.append(part)
            continue
        begin = at + 1 if number == start else 0
        run = begin
        for place in range(begin, len(part.text)):
            char = part.text[place]
            if char == "{":
                depth += 1
            elif char == "}" and depth:
                depth -= 1
            elif depth == 0 and char in ",}":
                current.append(part._replace(text=part.text[run:place]))
                choices.append(current)
                current = []
                run = place + 1
                if char == "}":
                    after: list[Part] = [part._replace(text=part.text[run:]), *parts[number + 1 :]]
                    expanded = _expanded_choices(choices)
                    return None if expanded is None else (expanded, after)
        current.append(part._replace(text=part.text[run:]))
    return None


def _expanded_choices(choices: list[list[Part]]) -> list[list[Part]] | None:
    if len(choices) > 1:
        return [variant for choice in choices for variant in _brace_variants(choice)]
    only = choices[0]
    if len(only) != 1 or type(only[0]) is not Literal:
        return None
    literal = only[0]
    found = _BRACE_RANGE.match(literal.text)
    if found is None:
        return None
    first, last, step = found.groups()
    if first.isalpha() != last.isalpha():
        return None
    alphabetic = first.isalpha()
    low, high = (ord(first), ord(last)) if alphabetic else (int(first), int(last))
    stride = abs(int(step or 1)) or 1
    if abs(high - low) // stride >= MAX_SHELL_LOOP:
        return None
    numbers = range(low, high + 1, stride) if low <= high else range(low, high - 1, -stride)
    width = max(len(first), len(last)) if any(re.match(r"-?0\d", end) for end in (first, last)) else 0
    texts = [chr(number) if alphabetic else f"{number:0{width}d}" for number in numbers]
    return [[literal._replace(text=text)] for text in texts]
