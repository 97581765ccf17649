"""`test`, `[ ]` and `[[ ]]`: true, false, or undecided with the names that would decide it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import arithmetic, patterns
from .pieces import Field, Piece, Value, has_known_text, is_known, names_of, text_of
from .state import FAILED, OK, PROBE_FAILED, Status, Variable
from .syntax import Literal, Parameter, Test, WordNode

if TYPE_CHECKING:
    from .expansion import Expander

_FILE_TESTS = frozenset("abcdefghkprstuwxGLNOS")
_NUMERIC = {
    "-eq": lambda a, b: a == b, "-ne": lambda a, b: a != b, "-lt": lambda a, b: a < b, "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}  # fmt: skip
_FILE_COMPARISONS = frozenset({"-nt", "-ot", "-ef"})
_STRING = frozenset({"=", "==", "!=", "<", ">"})
_BINARY = _FILE_COMPARISONS | _STRING | _NUMERIC.keys()
_INTEGER = re.compile(r"\s*[-+]?\d{1,18}\s*\Z")
_MAX_REGEX_TEXT = 200
_QUANTIFIER = re.compile(r"(?<!\\)[*+]|\{\d+,\d*\}")
_REPEATED_GROUP = re.compile(r"\)\s*[*+{?]|\\\d")


def negated(status: Status) -> Status:
    return status if status.ok is None else status._replace(ok=not status.ok)


def both(first: Status, second: Status) -> Status:
    """`first && second`, when `first` was not false and so `second` was evaluated."""
    certain = second.ok is False and not second.guessed
    return _combined(first, second, second.ok if first.ok or certain else None)


def either(first: Status, second: Status) -> Status:
    """`first || second`, when `first` was not true and so `second` was evaluated."""
    certain = second.ok is True and not second.guessed
    return _combined(first, second, second.ok if first.ok is False or certain else None)


def _combined(first: Status, second: Status, ok: bool | None) -> Status:
    names = tuple(dict.fromkeys(first.names + second.names))
    return Status(ok, names, first.assumed or second.assumed, first.absent + second.absent)


class Tester:
    """Evaluates conditions with the words expanded by `expander`."""

    def __init__(self, expander: Expander) -> None:
        self.expander = expander

    # --- [[ ]] ---

    def condition(self, test: Test) -> Status:
        self.expander.shell.charge(1)
        if test.op in ("and", "or") and test.left is not None and test.right is not None:
            left = self.condition(test.left)
            if left.ok is (test.op == "or"):
                return left
            right = self.condition(test.right)
            return both(left, right) if test.op == "and" else either(left, right)
        if test.op == "not" and test.left is not None:
            return negated(self.condition(test.left))
        saved, self.expander.absent = self.expander.absent, set()
        try:
            status = self._primary(test)
            return status._replace(absent=status.absent + tuple(sorted(self.expander.absent)))
        finally:
            self.expander.absent = saved

    def _primary(self, test: Test) -> Status:
        first = self._operand(test.words[0] if test.op == "text" or len(test.words) == 2 else test.words[1])
        if test.op == "text":
            return self._filled(first, True)
        if len(test.words) == 2 and test.op not in _BINARY and test.op != "=~":
            return self.unary(test.op, self._operand(test.words[1]))
        second_word = test.words[1]
        if test.op == "=~":
            return self._regex(first, second_word)
        if test.op in ("=", "==", "!="):
            return self.like(first, second_word, test.op == "!=")
        if test.op in _NUMERIC:
            return self._numeric(test.op, first, self._operand(second_word), self._expression)
        return self.binary(first, test.op, self._operand(second_word))

    def _operand(self, word: WordNode) -> Value:
        """The value of an operand; a name that was never set stays a hole without a lint."""
        part = word.parts[0] if len(word.parts) == 1 else None
        plain = type(part) is Parameter and not (part.op or part.all_items or part.indirect or part.length)
        if plain and type(part) is Parameter and self.expander.lookup(part)[0] is None:
            return (Piece(f"${{{part.name}}}", part.line, self.expander.shell.file, (part.name,)),)
        return self.expander.value(word)

    def fields(self, word: WordNode) -> list[Field]:
        """A word of `[ ... ]`, split as bash does it."""
        if len(word.parts) == 1 and type(word.parts[0]) is Parameter:
            value = self._operand(word)
            if value and value[0].names == (word.parts[0].name,) and not word.parts[0].all_items:
                return [Field(value, word.line, self.expander.shell.file, not word.parts[0].quoted)]
        return self.expander.fields(word)

    def _absent_name(self, value: Value) -> str:
        """The name, when the value is nothing but a variable that was never set."""
        if len(value) == 1 and len(value[0].names) == 1:
            name = value[0].names[0]
            if value[0].text == f"${{{name}}}" and self.expander.lookup(_parameter(name))[0] is None:
                return name
        return ""

    def _filled(self, value: Value, wanted: bool) -> Status:
        """Whether the value is not empty; a variable that was never set counts as empty."""
        if is_known(value):
            return OK if bool(text_of(value)) is wanted else FAILED
        absent = self._absent_name(value)
        if absent:
            return Status(not wanted, absent=(absent,))
        if has_known_text(value) or self._always_set(value):
            return OK if wanted else FAILED
        return Status(None, names_of(value))

    @staticmethod
    def _always_set(value: Value) -> bool:
        from .expansion import ALWAYS_SET

        return any(piece.text == f"${{{name}}}" for piece in value for name in piece.names if name in ALWAYS_SET)

    def like(self, value: Value, word: WordNode, inverted: bool = False) -> Status:
        """Whether the value matches the word as a pattern."""
        pattern, operand = self.expander.pattern(word)
        if is_known(operand) and not text_of(operand):
            return self._filled(value, inverted)
        if pattern.tokens == (None,):
            return FAILED if inverted else OK
        if not is_known(value) or not is_known(operand) or pattern.undecidable:
            if pattern.literal is not None and not pattern.undecidable and _cannot_be_equal(value, operand):
                return OK if inverted else FAILED
            return Status(None, names_of(value) + names_of(operand))
        return OK if patterns.matches(pattern, text_of(value)) is not inverted else FAILED

    def _regex(self, value: Value, word: WordNode) -> Status:
        pieces: list[str] = []
        whole: list[Piece] = []
        for part in word.parts:
            operand = self.expander.part(part)
            whole += operand
            quoted = part.quoted
            pieces += [re.escape(piece.text) if quoted and type(part) is Literal else piece.text for piece in operand]
        if not is_known(value) or not is_known(tuple(whole)):
            return Status(None, names_of(value) + names_of(tuple(whole)))
        expression, text = "".join(pieces), text_of(value)
        groups = _search(expression, text)
        if groups is None:
            return Status(None, (f"=~ {expression}",))
        line, file = word.line, self.expander.shell.file
        items: dict[int | str, Field] = {
            number: Field((Piece(group, line, file),) if group else (), line, file)
            for number, group in enumerate(groups)
        }
        self.expander.shell.state.variables["BASH_REMATCH"] = Variable(items=items, line=line, file=file)
        return OK if groups else FAILED

    def _expression(self, value: Value) -> int | None:
        try:
            return arithmetic.evaluate(text_of(value), self.expander)
        except (arithmetic.UnknownNumber, arithmetic.ArithmeticFault):
            return None

    # --- test and [ ---

    def test(self, arguments: list[Field]) -> Status:
        """`test` by the number of its arguments, as POSIX has it."""
        return _Arguments(self, [field.value for field in arguments]).run()

    def unary(self, op: str, value: Value) -> Status:
        if op in ("-z", "-n"):
            return self._filled(value, op == "-n")
        if op in ("-v", "-R"):
            name = text_of(value).partition("[")[0]
            variable = self.expander.shell.state.variables.get(name)
            if variable is None:
                return Status(False, absent=(name,))
            return OK if variable.present else FAILED
        if op == "-o":
            return FAILED
        return PROBE_FAILED

    def binary(self, left: Value, op: str, right: Value) -> Status:
        if op in _FILE_COMPARISONS:
            return PROBE_FAILED
        if op in _NUMERIC:
            return self._numeric(op, left, right, _plain_integer)
        if not is_known(left) or not is_known(right):
            for value, other in ((left, right), (right, left)):
                if is_known(other) and not text_of(other) and op in ("=", "==", "!="):
                    return self._filled(value, op == "!=")
            if op in ("=", "==", "!=") and _cannot_be_equal(left, right):
                return OK if op == "!=" else FAILED
            return Status(None, names_of(left) + names_of(right))
        first, second = text_of(left), text_of(right)
        result = {"!=": first != second, "<": first < second, ">": first > second}.get(op, first == second)
        return OK if result else FAILED

    def _numeric(self, op: str, left: Value, right: Value, read: Callable[[Value], int | None]) -> Status:
        if not is_known(left) or not is_known(right):
            return Status(None, names_of(left) + names_of(right))
        first, second = read(left), read(right)
        if first is None or second is None:
            if read is _plain_integer:
                return FAILED  # bash: "integer expression expected"
            return Status(None, (text_of(left) if first is None else text_of(right),))
        return OK if _NUMERIC[op](first, second) else FAILED


class _Arguments:
    """The arguments of one `test` command and the place reading has reached."""

    def __init__(self, tester: Tester, values: list[Value]) -> None:
        self.tester = tester
        self.values = values
        self.texts = [text_of(value) if is_known(value) else "" for value in values]

    def run(self) -> Status:
        size = len(self.values)
        if size == 0:
            return FAILED
        if size == 1:
            return self.tester._filled(self.values[0], True)
        if size == 2:
            if self.texts[0] == "!":
                return negated(self.tester._filled(self.values[1], True))
            return self.tester.unary(self.texts[0], self.values[1]) if self._is_unary(0) else FAILED
        if size == 3 and self.texts[1] in _BINARY:
            return self.tester.binary(self.values[0], self.texts[1], self.values[2])
        self.at = 0
        self.nesting = 0
        status = self._or()
        return status if self.at == size else FAILED

    def _is_unary(self, at: int) -> bool:
        text = self.texts[at]
        return len(text) == 2 and text[0] == "-" and (text[1] in _FILE_TESTS or text[1] in "znvo")

    def _or(self) -> Status:
        status = self._and()
        while self.at < len(self.values) and self.texts[self.at] == "-o":
            self.at += 1
            right = self._and()
            status = status if status.ok else either(status, right)
        return status

    def _and(self) -> Status:
        status = self._primary()
        while self.at < len(self.values) and self.texts[self.at] == "-a":
            self.at += 1
            right = self._primary()
            status = status if status.ok is False else both(status, right)
        return status

    def _primary(self) -> Status:
        left = len(self.values) - self.at
        self.nesting += 1
        if left <= 0 or self.nesting > 20:
            return FAILED
        if self.texts[self.at] == "!":
            self.at += 1
            return negated(self._primary())
        if self.texts[self.at] == "(":
            self.at += 1
            status = self._or()
            self.at += 1
            return status
        if left >= 3 and self.texts[self.at + 1] in _BINARY:
            self.at += 3
            first, second = self.values[self.at - 3], self.values[self.at - 1]
            return self.tester.binary(first, self.texts[self.at - 2], second)
        if left >= 2 and self._is_unary(self.at):
            self.at += 2
            return self.tester.unary(self.texts[self.at - 2], self.values[self.at - 1])
        self.at += 1
        return self.tester._filled(self.values[self.at - 1], True)


def _parameter(name: str) -> Parameter:
    return Parameter(name, True, 0, f"${{{name}}}")


def _plain_integer(value: Value) -> int | None:
    text = text_of(value)
    return int(text) if _INTEGER.match(text) else None


def _cannot_be_equal(left: Value, right: Value) -> bool:
    """Whether the known parts alone rule out equality, whatever stands in the holes."""
    for one, other in ((left, right), (right, left)):
        if is_known(other):
            tokens: list[object] = []
            for piece in one:
                tokens += [None] if piece.names else piece.text
            return not patterns.matches(patterns.Pattern(tuple(tokens)), text_of(other))  # type: ignore[arg-type]
    return False


def _search(expression: str, text: str) -> tuple[str, ...] | None:
    """(match, group 1 ...), () without a match, None when the expression could be slow or is not understood."""
    if len(text) > _MAX_REGEX_TEXT or len(expression) > _MAX_REGEX_TEXT:
        return None
    if len(_QUANTIFIER.findall(expression)) > 3 or _REPEATED_GROUP.search(expression):
        return None
    expression = re.sub(r"\[\[:(\w+):\]", lambda found: "[" + _CLASSES.get(found.group(1), "\\w"), expression)
    try:
        found = re.search(expression, text)
    except re.error:
        return None
    return (found.group(), *found.groups(default="")) if found else ()


_CLASSES = {"digit": "0-9", "alpha": "a-zA-Z", "alnum": "a-zA-Z0-9", "space": r"\s", "upper": "A-Z", "lower": "a-z"}
