"""Expands words: from the parts the parser kept to values, with word splitting as bash does it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...limits import MAX_SHELL_VALUE_CHARS
from . import arithmetic, patterns
from .pieces import (
    EMPTY,
    MAX_PIECES,
    Field,
    Piece,
    Value,
    compact,
    has_known_text,
    is_known,
    join,
    known,
    names_of,
    text_of,
)
from .state import LimitReached, Variable
from .syntax import (
    ArithmeticSubstitution,
    CommandSubstitution,
    Literal,
    Parameter,
    Part,
    Placeholder,
    ProcessSubstitution,
    WordNode,
)

if TYPE_CHECKING:
    from .evaluator import Interpreter

# Set by the system or the login shell: never empty, but not known here.
ALWAYS_SET = frozenset(
    {
        "HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "PATH", "SHELL", "HOSTNAME", "UID", "EUID", "GROUPS", "PPID",
        "BASHPID", "RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "EPOCHREALTIME", "LINENO", "BASH", "BASH_VERSION",
        "BASH_VERSINFO", "OSTYPE", "HOSTTYPE", "MACHTYPE", "SHLVL", "TERM", "LANG",
    }
)  # fmt: skip
_SPLIT_DEFAULT = " \t\n"
_MAX_RAW = 200  # characters of an expansion kept as a placeholder


def shortened(raw: str) -> str:
    """Source text for a placeholder or a message: one line, not too long."""
    text = " ".join(raw.split())
    return text if len(text) <= _MAX_RAW else text[: _MAX_RAW - 1] + "…"


class Expander:
    """Expansion against the state of one interpreter."""

    def __init__(self, shell: Interpreter) -> None:
        self.shell = shell
        self.absent: set[str] = set()  # names never set whose emptiness was used (tests look at this)

    # --- whole words ---

    def fields(self, word: WordNode) -> list[Field]:
        """The word as command arguments: expanded, split, with empty unquoted results dropped."""
        self.shell.charge(1)
        file = self.shell.file
        if word.plain is not None and len(word.parts) == 1:
            return [Field((Piece(word.plain, word.line, file),), word.line, file)]
        return _Splitter(self, word).run()

    def value(self, word: WordNode | None) -> Value:
        """The word without splitting, as in an assignment."""
        if word is None:
            return EMPTY
        self.shell.charge(1)
        result: list[Piece] = []
        for part in word.parts:
            if type(part) is Literal:
                if part.text:
                    result.append(Piece(part.text, part.line, self.shell.file))
            else:
                result += self.part(part)
        return self.checked(tuple(result))

    def checked(self, value: Value) -> Value:
        if len(value) > MAX_PIECES:
            value = compact(value)
        size = sum([len(piece.text) for piece in value])
        if size > MAX_SHELL_VALUE_CHARS:
            raise LimitReached(f"a value is longer than {MAX_SHELL_VALUE_CHARS} characters")
        self.shell.charge(size >> 8)
        return value

    def part(self, part: Part) -> Value:
        """The value of one expansion, arrays joined with blanks."""
        if type(part) is Parameter:
            if part.all_items:
                separator = self.separator()[:1] if part.all_items == "*" else " "
                return join([field.value for field in self.items(part)], separator)
            return self.parameter(part)
        if type(part) is CommandSubstitution:
            return self.shell.substitute(part)
        if type(part) is ArithmeticSubstitution:
            return self.arithmetic(part.expression, part.raw, part.line)
        if type(part) is Literal:
            return (Piece(part.text, part.line, self.shell.file),)
        assert isinstance(part, Placeholder | ProcessSubstitution)
        raw = shortened(part.raw)
        name = raw[1:-1].strip() if raw.startswith("<") else raw
        return (Piece(raw, part.line, self.shell.file, (name,)),)

    def separator(self) -> str:
        variable = self.shell.state.variables.get("IFS")
        if variable is None or not variable.present:
            return _SPLIT_DEFAULT
        return text_of(variable.value)

    def pattern(self, word: WordNode) -> tuple[patterns.Pattern, Value]:
        """The word as a pattern, and its plain value (for the names of its holes)."""
        pieces: list[tuple[str, bool]] = []
        whole: list[Piece] = []
        for part in word.parts:
            value = self.part(part)
            whole += value
            pieces += [(piece.text, part.quoted) for piece in value]
        return patterns.compile_pattern(pieces), tuple(whole)

    # --- arithmetic ---

    def arithmetic(self, expression: WordNode, raw: str, line: int) -> Value:
        """The decimal result, or a hole."""
        number, names = self.number(expression)
        if number is not None:
            return (Piece(str(number), line, self.shell.file),)
        return (Piece(shortened(raw), line, self.shell.file, names or (shortened(raw),)),)

    def number(self, expression: WordNode) -> tuple[int | None, tuple[str, ...]]:
        """(number, ()) or (None, the names that would decide it)."""
        return self.number_of(self.value(expression), expression.line)

    def number_of(self, value: Value, line: int) -> tuple[int | None, tuple[str, ...]]:
        """The number that the text of `value` stands for, as `number` returns it."""
        text = text_of(value)
        self.shell.charge(len(text) >> 4)
        if not is_known(value):
            self._forget_assigned(text)
            return None, names_of(value)
        try:
            return arithmetic.evaluate(text, self), ()
        except arithmetic.UnknownNumber as unknown:
            self._forget_assigned(text)
            return None, unknown.names
        except arithmetic.ArithmeticFault as fault:
            if isinstance(fault, arithmetic.ValueMissing) and self.shell.script.takes_arguments:
                return None, ("$@",)  # `$1` and the like are empty here, not in the run
            self.shell.report.lint(
                "shell-syntax", f"arithmetic that bash rejects: {fault}", self.shell.file, line or self.shell.line
            )
            return None, ()

    def index_number(self, text: str, items: Mapping[int | str, Field]) -> int | None:
        """The position that an array index stands for; negative ones count from the end."""
        try:
            at = arithmetic.evaluate(text, self)
        except (arithmetic.UnknownNumber, arithmetic.ArithmeticFault):
            return None
        if at < 0:
            at += max([key for key in items if isinstance(key, int)], default=-1) + 1
        return at if at >= 0 else None

    def split(self, value: Value) -> list[Field]:
        """The value split into words like an unquoted expansion."""
        return _Splitter(self, WordNode((), self.shell.line, "")).run_value(value)

    def _forget_assigned(self, text: str) -> None:
        """An expression that could not be evaluated may still have assigned something."""
        for name in re.findall(r"([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%]?=(?!=))", text):
            hole = (Piece(f"${{{name}}}", 0, self.shell.file, (name,)),)
            self.shell.variables.assign(name, hole)

    def number_text(self, name: str) -> str:
        base, _, index = name.partition("[")
        variable = self.shell.state.variables.get(base)
        if variable is None:
            if base not in ALWAYS_SET:
                self.shell.note_unset(base, 0)
            raise arithmetic.UnknownNumber((base,))
        value = variable.scalar()
        if index:
            found = self.item(variable, index.rstrip("]"))
            value = found if found is not None else (Piece(name, 0, "", (base,)),)
        if not is_known(value):
            raise arithmetic.UnknownNumber(names_of(value))
        return text_of(value)

    def store_number(self, name: str, number: int) -> None:
        base, _, index = name.partition("[")
        value: Value = (Piece(str(number), self.shell.line, self.shell.file),)
        if index:
            self.shell.variables.assign_item(base, index.rstrip("]"), value)
        else:
            self.shell.variables.assign(base, value)

    def item(self, variable: Variable, index: str) -> Value | None:
        """One item of an array by the text of its index; None when the index or the item is not decided."""
        if variable.keyed:
            found = (variable.items or {}).get(index)
            return found.value if found is not None else EMPTY
        try:
            at = arithmetic.evaluate(index, self)
        except (arithmetic.UnknownNumber, arithmetic.ArithmeticFault):
            return None
        if variable.items is None:
            return variable.value if at in (0, -1) else EMPTY
        keys = sorted(key for key in variable.items if isinstance(key, int))
        if at < 0:
            if any(variable.items[key].spread for key in keys):
                return None
            at += (keys[-1] + 1) if keys else 0
        if any(variable.items[key].spread for key in keys if key <= at):
            return None
        found = variable.items.get(at)
        return found.value if found is not None else EMPTY

    # --- parameters ---

    def items(self, part: Parameter) -> list[Field]:
        """`$@`, `${a[@]}` and what their operators make of each item."""
        if part.length:
            return [self._as_field(self._count(part), part)]
        if part.indirect and part.op != "names":
            return self._keys(part)
        found = self._all_items(part)
        op = part.op
        if not op:
            return found
        if op in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
            whole = join([field.value for field in found], " ")
            filled = bool(found) and (op[0] != ":" or bool(whole))
            if op[-1] == "+":
                return self._operand_fields(part) if filled else []
            return found if filled else self._operand_fields(part)
        if op == ":":
            return self._slice_items(part, found)
        return [field._replace(value=self._transformed(part, field.value)) for field in found]

    def _operand_fields(self, part: Parameter) -> list[Field]:
        """The operand of `${a[@]:-...}`: often again an array, whose items stay apart."""
        if part.argument is None:
            return []
        if not part.quoted:
            return self.fields(part.argument)
        result: list[Field] = []
        for inner in part.argument.parts:
            if type(inner) is Parameter and inner.all_items == "@":
                result += self.items(inner)
            else:
                value = self.part(inner)
                if value:
                    result.append(self._as_field(value, part))
        return result

    def _as_field(self, value: Value, part: Parameter) -> Field:
        return Field(value, part.line, self.shell.file)

    def _all_items(self, part: Parameter) -> list[Field]:
        state = self.shell.state
        if part.name in ("@", "*"):
            if state.own_arguments:
                self.shell.note_arguments()
                self.absent |= {"$@"} if not state.positional else set()
            return list(state.positional)
        variable = state.variables.get(part.name)
        if variable is None:
            # An array cannot come from the environment: one that the script never set is empty.
            if part.op[-1:] not in ("-", "=", "?", "+"):
                self.shell.note_unset(part.name, part.line)
            self.absent.add(part.name)
            return []
        return variable.fields()

    def _keys(self, part: Parameter) -> list[Field]:
        variable = self.shell.state.variables.get(part.name)
        if variable is None or variable.items is None:
            return []
        keys = list(variable.items) if variable.keyed else sorted(variable.items, key=str)
        if any(field.spread for field in variable.items.values()):
            hole = (Piece(shortened(part.raw), part.line, self.shell.file, (part.name,)),)
            return [Field(hole, part.line, self.shell.file, True)]
        return [self._as_field((Piece(str(key), part.line, self.shell.file),), part) for key in keys]

    def _slice_items(self, part: Parameter, found: list[Field]) -> list[Field]:
        if part.argument is None:
            return found
        offset, _ = self.number(part.argument)
        length = self.number(part.second)[0] if part.second is not None else len(found)
        if part.name in ("@", "*") and offset is not None:
            offset = max(0, offset - 1) if offset >= 0 else offset
        if offset is None or length is None or any(field.spread for field in found):
            names = tuple(dict.fromkeys(name for field in found for name in names_of(field.value)))
            hole = (Piece(shortened(part.raw), part.line, self.shell.file, names or (part.name,)),)
            return [Field(hole, part.line, self.shell.file, True)]
        start = offset if offset >= 0 else max(0, len(found) + offset)
        return found[start : start + max(0, length)]

    def _count(self, part: Parameter) -> Value:
        found = self._all_items(part._replace(op=""))
        open_ended = [name for field in found if field.spread for name in names_of(field.value)]
        if open_ended:
            return self._hole(part, tuple(dict.fromkeys(open_ended)))
        return (Piece(str(len(found)), part.line, self.shell.file),)

    def _hole(self, part: Parameter, names: tuple[str, ...]) -> Value:
        return (Piece(shortened(part.raw), part.line, self.shell.file, names or (part.name,)),)

    def parameter(self, part: Parameter) -> Value:
        """`$name` and `${name...}` without `[@]`."""
        if part.indirect:
            if part.op == "names":
                names = sorted(name for name in self.shell.state.variables if name.startswith(part.name))
                return (Piece(" ".join(names), part.line, self.shell.file),)
            return self._indirect(part)
        present, value = self.lookup(part)
        if part.length:
            return self._hole(part, names_of(value)) if value and not is_known(value) else self._length(part, value)
        op = part.op
        if not op:
            if present is None:
                self.shell.note_unset(part.name, part.line)
                return self._hole(part, (part.name,))
            return value
        if op in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
            return self._defaulted(part, present, value)
        if present is None:
            self.shell.note_unset(part.name, part.line)
            return self._hole(part, (part.name,))
        if op == ":":
            return self._substring(part, value)
        return self._transformed(part, value)

    def _length(self, part: Parameter, value: Value) -> Value:
        if not value and part.name not in self.shell.state.variables and part.name not in "@*#?$!-0123456789":
            self.absent.add(part.name)
        return (Piece(str(len(text_of(value))), part.line, self.shell.file),)

    def _indirect(self, part: Parameter) -> Value:
        present, value = self.lookup(part)
        target = text_of(value)
        if present and is_known(value) and re.fullmatch(r"[A-Za-z_]\w*|\d+", target):
            return self.parameter(part._replace(name=target, indirect=False, subscript=None))
        return self._hole(part, names_of(value) or (part.name,))

    def lookup(self, part: Parameter) -> tuple[bool | None, Value]:
        """(is it set, its value). None: never set by this script, so it comes from outside or not at all."""
        name, state = part.name, self.shell.state
        variable = state.variables.get(name)
        if variable is not None:
            if not variable.present:
                return False, EMPTY
            if part.subscript is None:
                return bool(variable.items is None or variable.items), variable.scalar()
            index = self.value(part.subscript)
            found = self.item(variable, text_of(index)) if is_known(index) else None
            if found is None:
                names = names_of(index) + tuple(name for field in variable.fields() for name in names_of(field.value))
                return True, self._hole(part, tuple(dict.fromkeys(names)))
            return bool(found), found
        if name.isdigit():
            return self._positional(part, int(name))
        if not (name[0].isalpha() or name[0] == "_"):
            return True, self._special(part)
        if name in ("BASH_SOURCE", "0"):
            return True, self._script_path(part)
        if name == "FUNCNAME":
            return True, self._hole(part._replace(raw="${FUNCNAME}"), (name,))
        if name == "PWD" and state.directory is not None:
            return True, (Piece(state.directory, part.line, self.shell.file),)
        if name in ALWAYS_SET:
            return True, (Piece(f"${{{name}}}", part.line, self.shell.file, (name,)),)
        return None, EMPTY

    def _positional(self, part: Parameter, number: int) -> tuple[bool, Value]:
        state = self.shell.state
        if number == 0:
            return True, self._script_path(part)
        if state.own_arguments:
            self.shell.note_arguments()
        if number <= len(state.positional):
            field = state.positional[number - 1]
            if any(earlier.spread for earlier in state.positional[:number]):
                return True, self._hole(part, names_of(field.value))
            return True, field.value
        if state.own_arguments:
            self.absent.add(f"${number}")
        return False, EMPTY

    def _script_path(self, part: Parameter) -> Value:
        index = text_of(self.value(part.subscript)) if part.subscript is not None else "0"
        path = self.shell.source_path(index if part.name == "BASH_SOURCE" else "-1")
        if path is None:
            return self._hole(part._replace(raw=f"${{{part.name}}}"), (part.name,))
        return (Piece(path, part.line, self.shell.file),) if path else EMPTY

    def _special(self, part: Parameter) -> Value:
        state = self.shell.state
        if part.name == "#":
            if state.own_arguments:
                self.shell.note_arguments()
                self.absent |= {"$#"} if not state.positional else set()
            spread = [name for field in state.positional if field.spread for name in names_of(field.value)]
            if spread:
                return self._hole(part, tuple(spread))
            return (Piece(str(len(state.positional)), part.line, self.shell.file),)
        if part.name == "?" and self.shell.last_status.ok is True and not self.shell.last_external:
            return (Piece("0", part.line, self.shell.file),)
        return self._hole(part._replace(raw=f"${part.name}"), (f"${part.name}",))

    def _defaulted(self, part: Parameter, present: bool | None, value: Value) -> Value:
        op = part.op
        if present is None and part.name.startswith("SLURM_") and self.shell.is_batch_job:
            return self._hole(part, (part.name,))  # sbatch sets it: the default is for runs without it
        if present is None:
            self.absent.add(part.name)
        filled = bool(present) and (op[0] != ":" or bool(value and (text_of(value))))
        if op[-1] == "+":
            if not filled:
                return EMPTY
            alternative = self.value(part.argument)
            decided = has_known_text(value) or is_known(value) or part.name in ALWAYS_SET
            return alternative if decided or not alternative else self._hole(part, names_of(value))
        if filled:
            return value
        if op[-1] == "?":
            message = text_of(self.value(part.argument)) or "parameter null or not set"
            self.shell.report.required(part.name, message, self.shell.file, part.line)
            return self._hole(part._replace(raw=f"${{{part.name}}}"), (part.name,))
        default = self.value(part.argument)
        if op[-1] == "=":
            self.shell.variables.assign(part.name, default)
        return default

    def chosen_operand(self, part: Parameter) -> WordNode | None:
        """The operand of `${x:-word}` or `${x:+word}` where it is what the expansion gives, and may hold quotes."""
        op, operand = part.op, part.argument
        if op not in (":-", "-", ":+", "+") or operand is None or not operand.parts or part.indirect:
            return None
        present, value = self.lookup(part)
        filled = bool(present) and (op[0] != ":" or bool(text_of(value)))
        if filled is (op[-1] == "-") or (filled and not is_known(value)):
            return None
        if present is None:
            self.absent.add(part.name)
        return operand

    def _substring(self, part: Parameter, value: Value) -> Value:
        offset, _ = self.number(part.argument) if part.argument is not None else (0, ())
        length = self.number(part.second)[0] if part.second is not None else 1 << 40
        if offset is None or length is None or not is_known(value):
            return self._hole(part, names_of(value))
        text = text_of(value)
        start = offset if offset >= 0 else len(text) + offset
        if start < 0:
            return EMPTY
        stop = start + length if length >= 0 else len(text) + length
        return known(text[start:stop], value, part.line, self.shell.file)

    def _transformed(self, part: Parameter, value: Value) -> Value:
        """Operators that rewrite a value: removal, replacement, case, `@X`."""
        op = part.op
        if op in ("#", "##", "%", "%%") and part.argument is not None:
            pattern, operand = self.pattern(part.argument)
            result = patterns.remove(value, pattern, op) if is_known(operand) and value else value
            names = names_of(value) + names_of(operand)
            return result if result is not None else self._hole(part, names)
        if op in ("^^", ",,") and (part.argument is None or not part.argument.raw):
            convert = str.upper if op[0] == "^" else str.lower
            return tuple(piece if piece.names else piece._replace(text=convert(piece.text)) for piece in value)
        if not is_known(value):
            return self._hole(part, names_of(value))
        text = text_of(value)
        changed: str | None = None
        if op[0] == "/" and part.argument is not None:
            pattern, operand = self.pattern(part.argument)
            replacement = self.value(part.second)
            if is_known(operand) and is_known(replacement):
                changed = patterns.replace(text, pattern, text_of(replacement), op)
            else:
                return self._hole(part, names_of(operand) + names_of(replacement))
        elif op[0] in "^,":
            changed = self._cased(part, text)
        elif op == "@U":
            changed = text.upper()
        elif op == "@L":
            changed = text.lower()
        elif op == "@u":
            changed = text[:1].upper() + text[1:]
        elif op == "@Q":
            changed = "'" + text.replace("'", "'\\''") + "'"
        if changed is None:
            return self._hole(part, (part.name,))
        return known(changed, value, part.line, self.shell.file)

    def _cased(self, part: Parameter, text: str) -> str | None:
        if part.argument is not None and part.argument.raw not in ("", "?"):
            return None
        convert = str.upper if part.op[0] == "^" else str.lower
        return convert(text) if len(part.op) == 2 else convert(text[:1]) + text[1:]


class _Splitter:
    """Builds the fields of one word."""

    def __init__(self, expander: Expander, word: WordNode) -> None:
        self.expander = expander
        self.word = word
        self.file = expander.shell.file
        self.done: list[Field] = []
        self.pieces: list[Piece] = []
        self.started = False
        self.spread = False
        self.origin: tuple[int, str] | None = None  # place of a field that came out of an array or a split

    def run(self) -> list[Field]:
        self._parts(self.word)
        self._flush()
        return self.done

    def _parts(self, word: WordNode, inner: bool = False) -> None:
        """Add the parts of a word; in an `inner` one, the operand of `${x:-word}`, plain text is split as well."""
        for part in word.parts:
            if type(part) is Literal and inner and not part.quoted:
                self._split((Piece(part.text, part.line, self.file),))
            elif type(part) is Literal:
                if part.text:
                    self.pieces.append(Piece(part.text, part.line, self.file))
                self.started = self.started or part.quoted or bool(part.text)
            elif type(part) is Parameter and part.all_items and not part.length:
                self._items(part)
            elif part.quoted:
                self.pieces += self.expander.part(part)
                self.started = True
            else:
                operand = self.expander.chosen_operand(part) if type(part) is Parameter else None
                if operand is not None:
                    self._parts(operand, inner=True)
                else:
                    self._split(self.expander.part(part))

    def run_value(self, value: Value) -> list[Field]:
        self._split(value)
        self._flush()
        return self.done

    def _flush(self) -> None:
        if self.started:
            line, file = self.origin or (self.word.line, self.file)
            self.done.append(Field(self.expander.checked(tuple(self.pieces)), line, file, self.spread))
        self.pieces = []
        self.started = self.spread = False
        self.origin = None

    def _items(self, part: Parameter) -> None:
        items = self.expander.items(part)
        if part.quoted and part.all_items == "*" and not part.indirect:
            self.pieces += join([item.value for item in items], self.expander.separator()[:1])
            self.started = True
            return
        for number, item in enumerate(items):
            if number:
                self._flush()
            if not self.started:
                self.origin = (item.line, item.file)
            self.spread = self.spread or item.spread
            if part.quoted:
                self.pieces += item.value
                self.started = True
            else:
                self._split(item.value, own_place=True)

    def _split(self, value: Value, own_place: bool = False) -> None:
        """Add an unquoted value: blanks in known text separate fields, a hole may be any number of words."""
        separators = self.expander.separator()
        breaks = _breaks(value, separators)
        for piece in value:
            if piece.names:
                self.pieces.append(piece)
                self.started = self.spread = True
                continue
            if not separators or not any(char in piece.text for char in separators):
                if piece.text:
                    if breaks and not self.started and self.origin is None:
                        self.origin = (piece.line, piece.file)
                    self.pieces.append(piece)
                    self.started = True
                continue
            self._split_text(piece, separators, own_place)

    def _split_text(self, piece: Piece, separators: str, own_place: bool) -> None:
        blanks = "".join(char for char in separators if char in _SPLIT_DEFAULT)
        strict = "".join(char for char in separators if char not in _SPLIT_DEFAULT)
        line, at, text = piece.line, 0, piece.text
        for found in _separator_pattern(blanks, strict).finditer(text):
            self._take(text[at : found.start()], line, piece.file)
            if strict and found.group().strip(blanks):
                self.started = True  # `a,,b` with IFS=, holds an empty field
            self._flush()
            line += text.count("\n", at, found.end())
            at = found.end()
        self._take(text[at:], line, piece.file)

    def _take(self, text: str, line: int, file: str) -> None:
        if not text:
            return
        if not self.started:
            self.origin = (line, file)
        self.pieces.append(Piece(text, line, file))
        self.started = True


def _breaks(value: Value, separators: str) -> bool:
    return any(not piece.names and any(char in piece.text for char in separators) for piece in value)


def _separator_pattern(blanks: str, strict: str) -> re.Pattern[str]:
    if not strict:
        return re.compile(f"[{re.escape(blanks)}]+")
    if not blanks:
        return re.compile(f"[{re.escape(strict)}]")
    return re.compile(f"[{re.escape(blanks)}]*[{re.escape(strict)}][{re.escape(blanks)}]*|[{re.escape(blanks)}]+")
