"""The command grammar: from the text of a script to its syntax tree, with recovery after a syntax error.

A part that cannot be parsed costs the statement it stands in; reading goes on with the next line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Sequence as Items
from itertools import pairwise
from typing import NamedTuple

from .syntax import (
    AndOr,
    Arithmetic,
    ArithmeticFor,
    ArrayItem,
    Assignment,
    Case,
    CaseItem,
    Condition,
    For,
    Function,
    Group,
    If,
    Literal,
    Node,
    Pipeline,
    Redirected,
    Redirection,
    Sequence,
    Simple,
    Test,
    While,
    WordNode,
)
from .words import ShellSyntax, WordReader, line_table

MAX_SYNTAX_ERRORS = 20  # a text with more of them is not a shell script

_BLANKS = re.compile(r"(?:[ \t]|\\\n)*")
_COMMENT = re.compile(r"#[^\n]*")
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|time|coproc|\[\[|[{}!])(?=[\s;&|()<>]|\Z)"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?(\+?)=")
_REDIRECTION = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)|(&>>|&>)")
_FUNCTION = re.compile(r"([^\s()|&;<>$'\"`=]+)[ \t]*\([ \t]*\)")
_UNARY_TEST = re.compile(r"-[a-zA-Z]\Z")
_BINARY_TEST = re.compile(r"(?:-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)|==|!=|=~|=|<|>)(?=[\s\\]|\Z)")
_CLOSING_WORDS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
DECLARATIONS = frozenset({"export", "declare", "local", "readonly", "typeset"})
_NOTHING = WordNode((), 0, "", "")


class SyntaxFault(NamedTuple):
    """A part of the text that could not be parsed."""

    line: int
    message: str
    limit: bool


class _HereDocument(NamedTuple):
    redirection: Redirection
    delimiter: str
    expand: bool
    strip_tabs: bool


class Parser(WordReader):
    """Parses one text. `faults` and `glued` are filled while `program` runs."""

    def __init__(self, text: str, file: str, lines: tuple[Items[int], Items[int]] | None = None) -> None:
        super().__init__(text, lines or line_table(text))
        self.file = file
        self.faults: list[SyntaxFault] = []
        self._here_documents: list[_HereDocument] = []

    # --- whole text ---

    def program(self) -> Sequence:
        """Every statement that can be read; what cannot goes to `faults`."""
        items: list[tuple[Node, bool]] = []
        while True:
            start = self.pos
            try:
                self._sequence(items)  # fills the list, so that a fault loses one statement only
                if self.pos >= self.end:
                    break
                self._skip_stray_closing()
            except ShellSyntax as fault:
                self._recover(start, fault)
                if len(self.faults) >= MAX_SYNTAX_ERRORS:
                    break
        return Sequence(items, items[0][0].line if items else 1)

    def _recover(self, start: int, fault: ShellSyntax) -> None:
        self.faults.append(SyntaxFault(self.line_at(min(fault.position, self.end)), str(fault), fault.limit))
        self.depth = 0
        self._here_documents.clear()
        newline = self.text.find("\n", max(fault.position, start), self.end)
        self.pos = self.end if newline < 0 else newline + 1

    def _skip_stray_closing(self) -> None:
        """A closing word or bracket without its opening; bash would stop here."""
        word = self._reserved() or self.text[self.pos]
        if not self.faults:
            self.faults.append(SyntaxFault(self.line_at(self.pos), f"`{word}` closes nothing", False))
        self.pos += len(word)

    def nested(self, text: str, first_line: int) -> Sequence:
        parser = Parser(text, self.file, line_table(text, first_line))
        parser.depth = self.depth
        body = parser._sequence()
        if parser.pos < parser.end:
            raise ShellSyntax(f"unexpected `{parser.text[parser.pos]}` in a command substitution", self.pos)
        return body

    def sequence_until_parenthesis(self) -> Sequence:
        start = self.pos
        waiting, self._here_documents = self._here_documents, []
        body = self._sequence()
        if not self.text.startswith(")", self.pos) or self.pos >= self.end:
            raise ShellSyntax("`(` is never closed", start)
        self.pos += 1
        body.raw = self.text[start : self.pos - 1]
        self._here_documents = waiting
        return body

    # --- blanks, newlines, reserved words ---

    def _blanks(self) -> None:
        found = _BLANKS.match(self.text, self.pos, self.end)
        self.pos = found.end() if found else self.pos
        if self.text.startswith("#", self.pos) and self.pos < self.end:
            comment = _COMMENT.match(self.text, self.pos, self.end)
            self.pos = comment.end() if comment else self.pos

    def _newlines(self) -> None:
        while True:
            self._blanks()
            if self.pos >= self.end or self.text[self.pos] != "\n":
                return
            self._newline()

    def _newline(self) -> None:
        """Step over a line end and the here-documents that start behind it."""
        self.pos += 1
        waiting, self._here_documents = self._here_documents, []
        for document in waiting:
            self._read_here_document(document)

    def _read_here_document(self, document: _HereDocument) -> None:
        text, start = self.text, self.pos
        at = start
        while at < self.end:
            newline = text.find("\n", at, self.end)
            stop = self.end if newline < 0 else newline
            line = text[at:stop]
            if (line.lstrip("\t") if document.strip_tabs else line).rstrip() == document.delimiter:
                break
            at = stop + 1
        body_end = min(at, self.end)
        document.redirection.target = self.here_document(start, body_end, document.expand, document.strip_tabs)
        closing = text.find("\n", body_end, self.end)
        self.pos = self.end if closing < 0 else closing + 1

    def _reserved(self) -> str:
        found = _RESERVED.match(self.text, self.pos, self.end)
        return found.group() if found else ""

    def _expect(self, word: str, opened: int) -> None:
        self._newlines()
        if self._reserved() != word:
            line = self.line_at(opened)
            raise ShellSyntax(f"`{word}` is missing for the statement that starts in line {line}", opened)
        self.pos += len(word)

    def _accept(self, text: str) -> bool:
        if self.pos < self.end and self.text.startswith(text, self.pos):
            self.pos += len(text)
            return True
        return False

    # --- lists and pipelines ---

    def _sequence(self, items: list[tuple[Node, bool]] | None = None) -> Sequence:
        """Commands up to a closing word, `)`, `;;` or the end. What ended it is left for the caller."""
        items = [] if items is None else items
        line = self.line_at(self.pos)
        while True:
            self._newlines()
            if self.pos >= self.end or self.text[self.pos] == ")" or self.text.startswith(";;", self.pos):
                break
            if self.text.startswith(";&", self.pos) or self._reserved() in _CLOSING_WORDS:
                break
            if self._accept(";"):
                continue  # an empty statement: bash rejects it, nothing is lost
            node = self._and_or()
            self._blanks()
            background = False
            if self.pos < self.end and self.text[self.pos] == "&" and not self.text.startswith("&&", self.pos):
                self.pos += 1
                background = True
            elif self.text.startswith(";", self.pos) and not self.text.startswith((";;", ";&"), self.pos):
                self.pos += 1
            elif self.pos < self.end and self.text[self.pos] not in "\n);":
                raise ShellSyntax(f"unexpected `{self.text[self.pos]}`", self.pos)
            items.append((node, background))
        return Sequence(items, line)

    def _and_or(self) -> Node:
        start = self.pos
        first = self._pipeline()
        rest: list[tuple[str, Node]] = []
        while True:
            self._blanks()
            op = self.text[self.pos : self.pos + 2]
            if op not in ("&&", "||") or self.pos >= self.end:
                break
            self.pos += 2
            self._newlines()
            rest.append((op, self._pipeline()))
        if not rest:
            return first
        return AndOr(first, rest, self.line_at(start), self._source(start))

    def _pipeline(self) -> Node:
        start = self.pos
        negated = False
        while self._reserved() in ("!", "time"):
            negated ^= self._accept("!")
            if self._accept("time"):
                self._blanks()
                self._accept("-p ")
            self._blanks()
        commands = [self._command()]
        while True:
            self._blanks()
            if not self.text.startswith("|", self.pos) or self.text.startswith("||", self.pos) or self.pos >= self.end:
                break
            self.pos += 2 if self.text.startswith("|&", self.pos) else 1
            self._newlines()
            commands.append(self._command())
        if len(commands) == 1 and not negated:
            return commands[0]
        return Pipeline(commands, self.line_at(start), self._source(start), negated)

    def _source(self, start: int) -> str:
        return self.text[start : self.pos].strip()

    # --- commands ---

    def _command(self) -> Node:
        if self.pos >= self.end:
            raise ShellSyntax("a command is missing at the end of the text", self.end)
        start = self.pos
        parse = self._compound()
        if parse is None:
            function = _FUNCTION.match(self.text, self.pos, self.end)
            if function is None:
                return self._simple()
            self.pos = function.end()
            return self._function_body(function.group(1), start)
        self.enter()
        node = parse()
        self.depth -= 1
        redirections = self._redirections_behind()
        return Redirected(node, redirections, node.line) if redirections else node

    def _compound(self) -> Callable[[], Node] | None:
        text = self.text
        if text[self.pos] == "(":
            if text.startswith("((", self.pos) and self._arithmetic_end(self.pos + 2) >= 0:
                return self._arithmetic_command
            return self._subshell
        keyword = self._reserved()
        return {
            "if": self._if,
            "for": self._for,
            "select": self._for,
            "while": self._while,
            "until": self._while,
            "case": self._case,
            "{": self._group,
            "[[": self._condition,
            "function": self._function,
            "coproc": self._coprocess,
        }.get(keyword)

    def _redirections_behind(self) -> list[Redirection]:
        found: list[Redirection] = []
        while True:
            self._blanks()
            redirection = self._redirection()
            if redirection is None:
                return found
            found.append(redirection)

    def _redirection(self) -> Redirection | None:
        found = _REDIRECTION.match(self.text, self.pos, self.end)
        if found is None or self.text.startswith(("<(", ">("), self.pos) or self.at_placeholder():
            return None
        fd, op = found.group(1) or "", found.group(2) or found.group(3)
        line = self.line_at(self.pos)
        self.pos = found.end()
        self._blanks()
        if self.pos >= self.end or self.text[self.pos] in "\n;|)":
            raise ShellSyntax(f"a file name is missing behind `{op}`", found.start())
        target = self.word()
        redirection = Redirection(op, fd, target, line)
        if op in ("<<", "<<-"):
            quoted = any(char in target.raw for char in "'\"\\")
            delimiter = target.raw.translate({ord(char): None for char in "'\"\\"})
            redirection.target = _NOTHING
            self._here_documents.append(_HereDocument(redirection, delimiter, not quoted, op == "<<-"))
        return redirection

    def _simple(self) -> Simple:
        start = self.pos
        command = Simple(self.line_at(start), "")
        declares = False
        while True:
            self._blanks()
            if self.pos >= self.end or self.text[self.pos] in "\n;|)":
                break
            if self.text[self.pos] == "&" and not self.text.startswith("&>", self.pos):
                break
            redirection = self._redirection()
            if redirection is not None:
                command.redirections.append(redirection)
                continue
            if not command.words or declares:
                assignment = self._assignment()
                if assignment is not None:
                    (command.words if command.words else command.assignments).append(assignment)
                    continue
            if self.text[self.pos] == "(":
                raise ShellSyntax("unexpected `(`: brackets in an argument have to be quoted", self.pos)
            first = not command.words
            words = self.words()
            command.words += words
            declares = words[0].plain in DECLARATIONS if first else declares
        command.raw = self._source(start)
        return command

    def _assignment(self) -> Assignment | None:
        found = _ASSIGNMENT.match(self.text, self.pos, self.end)
        if found is None:
            return None
        line = self.line_at(self.pos)
        index = self.subscript(found.start(2) + 1, found.end(2) - 1) if found.group(2) else None
        assignment = Assignment(found.group(1), line, bool(found.group(3)), index)
        self.pos = found.end()
        if self._accept("("):
            assignment.items = self._array(found.start())
        elif self.pos < self.end and self.text[self.pos] not in " \t\n;&|)" and not self._at_continued_blank():
            assignment.value = self.word()
        return assignment

    def _at_continued_blank(self) -> bool:
        """An empty value followed by a continuation: `A= \\` and the like end the assignment."""
        return self.text.startswith("\\\n", self.pos) and self.text[self.pos + 2 : self.pos + 3] in (
            "",
            " ",
            "\t",
            "\n",
        )

    def _array(self, opened: int) -> list[ArrayItem]:
        items: list[ArrayItem] = []
        while True:
            self._newlines()
            if self.pos >= self.end:
                raise ShellSyntax("the array is never closed with `)`", opened)
            if self._accept(")"):
                return items
            index = self._item_index()
            if index is not None and (self.pos >= self.end or self.text[self.pos] in " \t\n)"):
                items.append(ArrayItem(index, _NOTHING))
                continue
            items += [ArrayItem(index, word) for word in self.words()]

    def _item_index(self) -> WordNode | None:
        if not self.text.startswith("[", self.pos):
            return None
        found = re.compile(r"\[((?:\$\{[^}]*\}|\"[^\"]*\"|[^\]\s\"])+)\]=").match(self.text, self.pos, self.end)
        if found is None:
            return None
        index = self.subscript(found.start(1), found.end(1))
        self.pos = found.end()
        return index

    # --- compound commands ---

    def _if(self) -> If:
        start = self.pos
        branches: list[tuple[Sequence, Sequence]] = []
        otherwise = None
        self.pos += 2
        while True:
            condition = self._condition_sequence()
            self._expect("then", start)
            branches.append((condition, self._sequence()))
            if self._reserved() == "elif":
                self.pos += 4
                continue
            if self._reserved() == "else":
                self.pos += 4
                otherwise = self._sequence()
            self._expect("fi", start)
            return If(branches, otherwise, self.line_at(start))

    def _condition_sequence(self) -> Sequence:
        self._blanks()
        start = self.pos
        condition = self._sequence()
        condition.raw = self._source(start).rstrip("; \n")
        return condition

    def _while(self) -> While:
        start = self.pos
        until = self._reserved() == "until"
        self.pos += 5
        condition = self._condition_sequence()
        return While(condition, self._loop_body(start), until, self.line_at(start))

    def _loop_body(self, start: int) -> Sequence:
        self._newlines()
        if self._accept("{"):  # an old form that bash still takes
            body = self._sequence()
            self._expect("}", start)
            return body
        self._expect("do", start)
        body = self._sequence()
        self._expect("done", start)
        return body

    def _for(self) -> Node:
        start = self.pos
        menu = self._reserved() == "select"
        self.pos += 6 if menu else 3
        self._blanks()
        if self.text.startswith("((", self.pos):
            return self._arithmetic_for(start)
        name = self.word().raw
        self._newlines()
        words: list[WordNode] | None = None
        if re.compile(r"in(?=[\s;]|\Z)").match(self.text, self.pos, self.end):
            self.pos += 2
            words = []
            self._blanks()
            while self.pos < self.end and self.text[self.pos] not in "\n;":
                words += self.words()
                self._blanks()
        self._accept(";")
        return For(name, words, self._loop_body(start), self.line_at(start), menu)

    def _arithmetic_for(self, start: int) -> ArithmeticFor:
        inner = self.pos + 2
        close = self._arithmetic_end(inner)
        if close < 0:
            raise ShellSyntax("`((` is never closed", start)
        bounds = [inner - 1]
        bounds += [at for at in range(inner, close) if self.text[at] == ";"][:2]
        bounds.append(close)
        if len(bounds) != 4:
            raise ShellSyntax("`for ((` needs three expressions", start)
        parts = [self.here_document(low + 1, high, True, False) for low, high in pairwise(bounds)]
        self.pos = close + 2
        self._blanks()
        self._accept(";")
        return ArithmeticFor(parts[0], parts[1], parts[2], self._loop_body(start), self.line_at(start))

    def _case(self) -> Case:
        start = self.pos
        self.pos += 4
        self._blanks()
        word = self.word()
        self._newlines()
        if not self._accept("in"):
            raise ShellSyntax("`in` is missing behind `case`", start)
        items: list[CaseItem] = []
        while True:
            self._newlines()
            if self._reserved() == "esac":
                self.pos += 4
                return Case(word, items, self.line_at(start))
            if self.pos >= self.end:
                raise ShellSyntax("`esac` is missing", start)
            items.append(self._case_item(start))

    def _case_item(self, start: int) -> CaseItem:
        self._accept("(")
        patterns: list[WordNode] = []
        while True:
            self._newlines()
            if self.pos >= self.end:
                raise ShellSyntax("`esac` is missing", start)
            patterns.append(self.word())
            self._blanks()
            if not self._accept("|"):
                break
        if not self._accept(")"):
            raise ShellSyntax("`)` is missing behind a case pattern", self.pos)
        body = self._sequence()
        for terminator in (";;&", ";;", ";&"):
            if self._accept(terminator):
                return CaseItem(patterns, body, terminator)
        if self._reserved() != "esac":
            raise ShellSyntax("`;;` or `esac` is missing", self.pos)
        return CaseItem(patterns, body, ";;")

    def _group(self) -> Group:
        start = self.pos
        self.pos += 1
        body = self._sequence()
        self._expect("}", start)
        return Group(body, False, self.line_at(start))

    def _subshell(self) -> Group:
        start = self.pos
        self.pos += 1
        return Group(self.sequence_until_parenthesis(), True, self.line_at(start))

    def _function(self) -> Function:
        start = self.pos
        self.pos += len("function")
        self._blanks()
        name = self.word().raw
        self._blanks()
        if self._accept("("):
            self._blanks()
            self._accept(")")
        return self._function_body(name, start)

    def _function_body(self, name: str, start: int) -> Function:
        self._newlines()
        return Function(name, self._command(), self.line_at(start), self.file)

    def _coprocess(self) -> Node:
        self.pos += len("coproc")
        self._blanks()
        return self._command()

    def _arithmetic_command(self) -> Arithmetic:
        start = self.pos
        close = self._arithmetic_end(start + 2)
        expression = self.here_document(start + 2, close, expand=True, strip_tabs=False)
        self.pos = close + 2
        return Arithmetic(expression, self.line_at(start), self._source(start))

    # --- [[ ... ]] ---

    def _condition(self) -> Condition:
        start = self.pos
        self.pos += 2
        test = self._test_or(start)
        self._newlines()
        if not self._accept("]]"):
            raise ShellSyntax("`[[` is never closed with `]]`", start)
        return Condition(test, self.line_at(start), self._source(start))

    def _test_or(self, start: int) -> Test:
        left = self._test_and(start)
        self._newlines()
        while self._accept("||"):
            left = Test("or", left, self._test_and(start))
            self._newlines()
        return left

    def _test_and(self, start: int) -> Test:
        left = self._test_not(start)
        self._newlines()
        while self._accept("&&"):
            left = Test("and", left, self._test_not(start))
            self._newlines()
        return left

    def _test_not(self, start: int) -> Test:
        self._newlines()
        if self._reserved() == "!":
            self.pos += 1
            self.enter()
            inner = self._test_not(start)
            self.depth -= 1
            return Test("not", inner)
        if self._accept("("):
            self.enter()
            inner = self._test_or(start)
            self.depth -= 1
            if not self._accept(")"):
                raise ShellSyntax("`(` inside `[[` is never closed", start)
            return inner
        return self._test_primary(start)

    def _test_primary(self, start: int) -> Test:
        first = self._test_word(start)
        self._blanks()
        if first.plain is not None and _UNARY_TEST.match(first.plain) and not self._at_test_end():
            binary = _BINARY_TEST.match(self.text, self.pos, self.end)
            if binary is None:
                return Test(first.plain, words=(first, self._test_word(start)))
        binary = _BINARY_TEST.match(self.text, self.pos, self.end)
        if binary is None:
            return Test("text", words=(first,))
        self.pos = binary.end()
        self._blanks()
        second = self._regular_expression() if binary.group() == "=~" else self._test_word(start)
        return Test(binary.group(), words=(first, second))

    def _at_test_end(self) -> bool:
        return self.pos >= self.end or self.text.startswith(("]]", "&&", "||", ")"), self.pos)

    def _test_word(self, start: int) -> WordNode:
        self._blanks()
        if self.pos >= self.end:
            raise ShellSyntax("`[[` is never closed with `]]`", start)
        return self.word()

    def _regular_expression(self) -> WordNode:
        """The operand of `=~`: brackets and bars belong to it, blanks end it outside brackets."""
        start, depth = self.pos, 0
        parts: list[WordNode] = []
        while self.pos < self.end:
            char = self.text[self.pos]
            if char == "\n" or (char in " \t" and depth == 0) or (char == ")" and depth == 0):
                break
            if char in "()|<>&; \t":
                depth += (char == "(") - (char == ")")
                self.pos += 1
                literal = Literal(char, False, self.line_at(self.pos - 1))
                parts.append(WordNode((literal,), literal.line, char, char))
            else:
                parts.append(self.word())
        joined = tuple(part for word in parts for part in word.parts)
        plain = "".join(word.plain or "" for word in parts) if all(word.plain is not None for word in parts) else None
        return WordNode(joined, self.line_at(start), self._source(start), plain)
