"""Shell arithmetic: 64-bit integers, C operators, assignments. A name that is not known makes the result unknown."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Protocol

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+#[0-9a-zA-Z@_]+|0[xX][0-9a-fA-F]+|\d+(?![\w.]))"
    r"|(?P<name>[A-Za-z_]\w*(?:\[[^\]]*\])?)"
    r"|(?P<op>\*\*=?|<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|]=|[-+*/%&|^!~<>=?:,()]))"
)
_PRECEDENCE = {
    op: level
    for level, ops in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"),
    )
    for op in ops.split()
}
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="})
_MAX_NESTING = 20
_MAX_TOKENS = 20_000


class ArithmeticFault(Exception):
    """The expression is not arithmetic that bash takes (a decimal number, a division by zero ...)."""


class ValueMissing(ArithmeticFault):
    """A number is zero or not there: a fault, or a value that the run gives and the text does not."""


class UnknownNumber(Exception):
    """A name in the expression has no known value; `names` say which."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class Names(Protocol):
    """What the expression reads and writes."""

    def number_text(self, name: str) -> str: ...  # raises UnknownNumber

    def store_number(self, name: str, number: int) -> None: ...


def evaluate(expression: str, names: Names, depth: int = 0) -> int:
    """The value of `expression` (an empty one is 0). Raises ArithmeticFault or UnknownNumber."""
    if depth > 8:
        raise ArithmeticFault("variables refer to each other too deeply")
    return _Evaluation(expression, names, depth).result()


def _wrapped(number: int) -> int:
    number &= 0xFFFFFFFFFFFFFFFF
    return number - (1 << 64) if number >> 63 else number


class _Evaluation:
    def __init__(self, expression: str, names: Names, depth: int) -> None:
        self.names = names
        self.depth = depth
        self.nesting = 0
        self.tokens = self._tokens(expression)
        self.at = 0
        self.live = True  # False inside an operand that short-circuit evaluation skips

    @staticmethod
    def _tokens(expression: str) -> list[tuple[str, str]]:
        tokens: list[tuple[str, str]] = []
        at = 0
        expression = expression.replace('"', "").rstrip()
        while at < len(expression):
            found = _TOKEN.match(expression, at)
            if found is None or found.lastgroup is None or len(tokens) > _MAX_TOKENS:
                raise ArithmeticFault(f"`{expression[at : at + 20].strip()}` is not integer arithmetic")
            tokens.append((found.lastgroup, found.group(found.lastgroup)))
            at = found.end()
        return tokens

    def result(self) -> int:
        if not self.tokens:
            return 0
        value = self._comma()
        if self.at < len(self.tokens):
            raise ArithmeticFault(f"unexpected `{self.tokens[self.at][1]}`")
        return value

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) and self.tokens[self.at][0] == "op" else ""

    def _take(self, op: str) -> bool:
        if self._peek() == op:
            self.at += 1
            return True
        return False

    def _comma(self) -> int:
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            raise ArithmeticFault("nested too deeply")
        value = self._assignment()
        while self._take(","):
            value = self._assignment()
        self.nesting -= 1
        return value

    def _assignment(self) -> int:
        if self.at + 1 < len(self.tokens) and self.tokens[self.at][0] == "name":
            (_, name), (kind, op) = self.tokens[self.at : self.at + 2]
            if kind == "op" and op in _ASSIGNING:
                self.at += 2
                value = self._assignment()
                if op != "=":
                    value = self._binary(op[:-1], self._variable(name), value)
                return self._store(name, value)
        return self._ternary()

    def _store(self, name: str, number: int) -> int:
        number = _wrapped(number)
        if self.live:
            self.names.store_number(name, number)
        return number

    def _ternary(self) -> int:
        condition = self._climb(0)
        if not self._take("?"):
            return condition
        first = self._skippable(self._assignment, condition != 0)
        if not self._take(":"):
            raise ArithmeticFault("`:` is missing behind `?`")
        second = self._skippable(self._assignment, condition == 0)
        return first if condition else second

    def _skippable(self, parse: Callable[[], int], live: bool) -> int:
        """The value of an operand that is only evaluated when `live`; its tokens are consumed either way."""
        before = self.live
        self.live = before and live
        try:
            return parse()
        finally:
            self.live = before

    def _climb(self, lowest: int) -> int:
        """Binary operators of at least the precedence `lowest`."""
        left = self._power()
        while (level := _PRECEDENCE.get(op := self._peek(), -1)) >= lowest:
            self.at += 1
            higher = level + 1
            if op == "||":
                left = int(bool(left) | bool(self._skippable(partial(self._climb, higher), left == 0)))
            elif op == "&&":
                left = int(bool(left) & bool(self._skippable(partial(self._climb, higher), left != 0)))
            else:
                left = self._binary(op, left, self._climb(higher))
        return left

    def _power(self) -> int:
        base = self._unary()
        if self._take("**"):
            return self._binary("**", base, self._power())
        return base

    def _binary(self, op: str, left: int, right: int) -> int:
        if not self.live:
            return 0
        if op in ("/", "%"):
            if right == 0:
                raise ValueMissing("division by zero")
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return _wrapped(quotient if op == "/" else left - quotient * right)
        if op == "**":
            if right < 0:
                raise ArithmeticFault("negative exponent")
            return _wrapped(pow(left, right, 1 << 64))
        if op in ("<<", ">>"):
            return _wrapped(left << (right & 63) if op == "<<" else left >> (right & 63))
        return _wrapped(_PLAIN_OPERATIONS[op](left, right))

    def _unary(self) -> int:
        for op in ("++", "--"):
            if self._peek() == op:
                self.at += 1
                if self.at < len(self.tokens) and self.tokens[self.at][0] == "name":
                    name = self.tokens[self.at][1]
                    self.at += 1
                    return self._store(name, self._variable(name) + (1 if op == "++" else -1))
                return self._unary()  # `--5` is 5
        op = self._peek()
        if op and op in "+-!~":
            self.at += 1
            self.nesting += 1
            if self.nesting > _MAX_NESTING:
                raise ArithmeticFault("nested too deeply")
            value = self._unary()
            self.nesting -= 1
            return {"+": value, "-": _wrapped(-value), "!": int(not value), "~": ~value}[op]
        return self._primary()

    def _primary(self) -> int:
        if self._take("("):
            value = self._comma()
            if not self._take(")"):
                raise ArithmeticFault("`)` is missing")
            return value
        if self.at >= len(self.tokens):
            raise ValueMissing("an operand is missing")
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return _number(text)
        if kind != "name":
            raise ValueMissing(f"unexpected `{text}`")
        for op in ("++", "--"):
            if self._take(op):
                before = self._variable(text)
                self._store(text, before + (1 if op == "++" else -1))
                return before
        return self._variable(text)

    def _variable(self, name: str) -> int:
        if not self.live:
            return 0
        text = self.names.number_text(name).strip()
        if not text:
            return 0
        if re.fullmatch(r"-?[1-9]\d{0,17}|0", text):
            return int(text)
        return evaluate(text, self.names, self.depth + 1)


_PLAIN_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
}  # fmt: skip


def _number(text: str) -> int:
    if len(text) > 70:
        raise ArithmeticFault("the number is too long")
    if "#" in text:
        base, digits = text.split("#", 1)
        if not 2 <= int(base) <= 36:
            raise ArithmeticFault(f"base {base} is not supported")
        try:
            return _wrapped(int(digits, int(base)))
        except ValueError:
            raise ArithmeticFault(f"`{text}` is not a number") from None
    if text[:2] in ("0x", "0X"):
        return _wrapped(int(text, 16))
    if len(text) > 1 and text[0] == "0":
        if not set(text) <= set("01234567"):
            raise ArithmeticFault(f"`{text}` is not an octal number")
        return _wrapped(int(text, 8))
    return _wrapped(int(text))
