"""Builtins of the shell, and the few programs whose output follows from their arguments alone."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from . import arithmetic, filters, patterns
from .launches import word_set
from .pieces import EMPTY, Field, Piece, Value, has_known_text, is_known, join, names_of, text_of
from .printing import backslashes, formatted
from .state import FAILED, OK, ShellFlow, Status, Variable
from .syntax import Assignment, Node, Simple, WordNode

if TYPE_CHECKING:
    from .evaluator import Interpreter

# Programs that print nothing worth knowing: they do not make a command substitution unknown.
SILENT = word_set(
    """
    mkdir rm rmdir touch sleep cp mv chmod chown ln kill pkill killall ulimit umask wait sync export
    """
)


class Call(NamedTuple):
    """One call of a builtin: the expanded words (the name first) and the assignments among its arguments."""

    node: Simple
    fields: list[Field]
    declared: list[Assignment]

    @property
    def arguments(self) -> list[Field]:
        return self.fields[1:]

    @property
    def texts(self) -> list[str]:
        return [text_of(field.value) for field in self.fields[1:]]

    @property
    def names(self) -> tuple[str, ...]:
        """What would decide the arguments; empty when all of them are known."""
        return tuple(dict.fromkeys(name for field in self.fields for name in names_of(field.value)))


Builtin = Callable[["Interpreter", Call], Status]


def emit(shell: Interpreter, value: Value) -> None:
    if shell.state.output is not None:
        shell.state.output.pieces += shell.expander.checked(value)


def emit_text(shell: Interpreter, text: str) -> None:
    emit(shell, (Piece(text, shell.line, shell.file),))


def emit_unknown(shell: Interpreter, names: tuple[str, ...] = ()) -> None:
    if shell.state.output is not None and not shell.state.output.opaque:
        shell.state.output.opaque = names


def external_output(shell: Interpreter, texts: Sequence[str]) -> None:
    """A program that is not run: unless it is known to print nothing, what it prints is unknown."""
    if shell.state.output is None or texts[0] in SILENT:
        return
    silent_probe = texts[0].startswith("python") and "-c" in texts and not any("print" in text for text in texts)
    if not silent_probe:
        emit_unknown(shell)


def is_noop(shell: Interpreter, node: Node) -> bool:
    """`true`, `:`, or a message: nothing depends on whether it runs."""
    if not isinstance(node, Simple) or not node.words or not isinstance(node.words[0], WordNode):
        return False
    name = node.words[0].plain
    return name in ("true", ":") or (name in ("echo", "printf") and shell.state.output is None)


# --- output -----------------------------------------------------------------------------------------------------


def _echo(shell: Interpreter, call: Call) -> Status:
    if shell.state.output is None:
        return OK
    fields, newline, escapes = call.arguments, True, False
    while fields and re.fullmatch(r"-[neE]+", text_of(fields[0].value)):
        option = text_of(fields[0].value)
        newline = newline and "n" not in option
        escapes = "e" in option or escapes
        fields = fields[1:]
    value = join([field.value for field in fields], " ")
    if escapes:
        value = tuple(piece if piece.names else piece._replace(text=backslashes(piece.text)) for piece in value)
    emit(shell, value)
    if newline:
        emit_text(shell, "\n")
    return OK


def _printf(shell: Interpreter, call: Call) -> Status:
    fields, target = call.arguments, ""
    if len(fields) >= 2 and text_of(fields[0].value) == "-v":
        target, fields = text_of(fields[1].value), fields[2:]
    if fields and text_of(fields[0].value) == "--":
        fields = fields[1:]
    if not fields or (not target and shell.state.output is None):
        return OK
    values = [field.value for field in fields]
    printed = formatted(values[0], values[1:], shell.line, shell.file) if is_known(values[0]) else None
    names = tuple(dict.fromkeys(name for value in values for name in names_of(value)))
    if target:
        base, _, index = target.partition("[")
        value = printed if printed is not None else (Piece(f"${{{base}}}", shell.line, shell.file, names or (base,)),)
        if index:
            shell.variables.assign_item(base, index.rstrip("]"), value)
        else:
            shell.variables.assign(base, value)
    elif printed is None:
        emit_unknown(shell, names)
    else:
        emit(shell, printed)
    return OK


def _pwd(shell: Interpreter, call: Call) -> Status:
    if shell.state.directory is not None:
        emit_text(shell, shell.state.directory + "\n")
    else:
        emit_unknown(shell)
    return OK


def _cd(shell: Interpreter, call: Call) -> Status:
    texts = [text for text in call.texts if text not in ("--", "-P", "-L")]
    target = texts[0] if len(texts) == 1 and not call.names else ""
    if target.startswith("/"):
        shell.state.directory = posixpath.normpath(target)
    elif target and target != "-" and shell.state.directory is not None:
        shell.state.directory = posixpath.normpath(posixpath.join(shell.state.directory, target))
    else:
        shell.state.directory = None
    return OK


# --- names of files ---------------------------------------------------------------------------------------------


def _basename(shell: Interpreter, call: Call) -> Status:
    arguments = [field.value for field in call.arguments if text_of(field.value) != "--"]
    if not arguments or len(arguments) > 2 or text_of(arguments[0]).startswith("-"):
        emit_unknown(shell, call.names)
        return OK
    value = _without_slashes(arguments[0])
    base = patterns.remove(value, patterns.compile_pattern([("*/", False)]), "##") if value else value
    if base is not None and len(arguments) == 2:
        base = patterns.remove(base, patterns.compile_pattern([(text_of(arguments[1]), True)]), "%") if base else base
    if base is None:
        emit_unknown(shell, call.names)
    else:
        emit(shell, (*base, Piece("\n", shell.line, shell.file)))
    return OK


def _dirname(shell: Interpreter, call: Call) -> Status:
    arguments = [field.value for field in call.arguments if text_of(field.value) != "--"]
    if len(arguments) != 1:
        emit_unknown(shell, call.names)
        return OK
    value = _without_slashes(arguments[0])
    if is_known(value):
        text = posixpath.dirname(text_of(value).rstrip("/"))
        emit_text(shell, (text.rstrip("/") or ("/" if text else ".")) + "\n")
        return OK
    parent = patterns.remove(value, patterns.compile_pattern([("/*", False)]), "%")
    if parent is None:
        emit_unknown(shell, call.names)
    else:
        emit(shell, (*parent, Piece("\n", shell.line, shell.file)))
    return OK


def _without_slashes(value: Value) -> Value:
    if value and not value[-1].names and value[-1].text.endswith("/") and value[-1].text.strip("/"):
        return (*value[:-1], value[-1]._replace(text=value[-1].text.rstrip("/")))
    return value


def _realpath(shell: Interpreter, call: Call) -> Status:
    texts = [text for text in call.texts if not text.startswith("-")]
    if len(texts) == 1 and not call.names:
        path = texts[0]
        if not path.startswith("/") and shell.state.directory is not None:
            path = posixpath.join(shell.state.directory, path)
        if path.startswith("/"):
            emit_text(shell, posixpath.normpath(path) + "\n")
            return OK
    emit_unknown(shell, call.names)
    return OK


def _seq(shell: Interpreter, call: Call) -> Status:
    text = filters.sequence_of_numbers(call.texts) if not call.names else None
    if text is None:
        emit_unknown(shell, call.names)
    else:
        emit_text(shell, text)
    return OK


def _expr(shell: Interpreter, call: Call) -> Status:
    number = None
    if not call.names and all(re.fullmatch(r"-?\d{1,18}|[-+*/%()]", text) for text in call.texts):
        try:
            number = arithmetic.evaluate(" ".join(call.texts), shell.expander)
        except (arithmetic.ArithmeticFault, arithmetic.UnknownNumber):
            number = None
    if number is None:
        emit_unknown(shell, call.names)
    else:
        emit_text(shell, f"{number}\n")
    return OK


def _filter(shell: Interpreter, call: Call) -> Status:
    if shell.state.output is None:
        return OK
    given = shell.state.input
    tool = filters.FILTERS[text_of(call.fields[0].value)]
    if given is None or call.names or not is_known(given):
        whole = tool is filters.FILTERS["cat"] and not call.arguments and given is not None
        if whole and given is not None:
            emit(shell, given)
        else:
            emit_unknown(shell, call.names + names_of(given or EMPTY))
        return OK
    shell.charge(len(text_of(given)) >> 6)
    printed = tool(call.texts, text_of(given))
    if printed is None:
        emit_unknown(shell)
    else:
        emit_text(shell, printed)
    return OK


# --- variables --------------------------------------------------------------------------------------------------


def _declare(shell: Interpreter, call: Call) -> Status:
    name = text_of(call.fields[0].value)
    options = "".join(text[1:] for text in call.texts if re.fullmatch(r"-[A-Za-z]+", text))
    removed = any(re.fullmatch(r"\+[A-Za-z]+", text) for text in call.texts)
    exports = (name == "export" and "n" not in options) or ("x" in options and not removed)
    if "p" in options or "f" in options or "F" in options:
        return OK
    local = name == "local" or (name in ("declare", "typeset") and "g" not in options)
    for field in call.arguments:
        text = text_of(field.value)
        if re.fullmatch(r"[-+][A-Za-z]+", text):
            continue
        base, equals, _ = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", base):
            continue
        _prepare(shell, base, options, local, bare=not equals)
        if equals:
            shell.variables.assign(base, behind(field.value, len(base) + 1), line=field.line)
        if exports:
            shell.variables.export(base)
        elif name == "export":
            shell.variables.export(base, False)
    for assignment in call.declared:
        _prepare(shell, assignment.name, options, local, bare=False)
        shell.line = assignment.line
        shell.variables.apply(assignment, exported=exports)
    return OK


def behind(value: Value, count: int) -> Value:
    """The value without its first `count` characters, which are known text."""
    rest = list(value)
    while rest and count:
        size = min(count, len(rest[0].text))
        count -= size
        rest[0] = rest[0]._replace(text=rest[0].text[size:])
        if not rest[0].text:
            rest.pop(0)
    return tuple(rest)


def _prepare(shell: Interpreter, name: str, options: str, local: bool, *, bare: bool) -> None:
    """Hide the outer variable of a function, and set the kind that the options ask for."""
    variables = shell.state.variables
    if local and shell.variables.frames and name not in shell.variables.frames[-1]:
        shell.variables.hide(name)
        if bare:
            variables[name] = Variable(present=False, line=shell.line, file=shell.file)
    old = variables.get(name)
    if "A" in options or "a" in options:
        if old is None or old.items is None:
            variables[name] = Variable(items={}, keyed="A" in options, line=shell.line, file=shell.file)
    elif "i" in options:
        variables[name] = replace(old or Variable(present=False, line=shell.line, file=shell.file), integer=True)


def _unset(shell: Interpreter, call: Call) -> Status:
    for text in call.texts:
        if text == "-f":
            break
        if re.fullmatch(r"[A-Za-z_]\w*", text):
            shell.variables.unset(text)
        elif (found := re.fullmatch(r"([A-Za-z_]\w*)\[(.+)\]", text)) is not None:
            variable = shell.state.variables.get(found[1])
            if variable is not None and variable.items is not None:
                key: int | str = found[2] if variable.keyed else int(found[2]) if found[2].isdigit() else -1
                items = {index: field for index, field in variable.items.items() if index != key}
                shell.state.variables[found[1]] = replace(variable, items=items)
    return OK


def _shift(shell: Interpreter, call: Call) -> Status:
    count = int(call.texts[0]) if call.texts and call.texts[0].isdigit() else 1
    positional = shell.state.positional
    if count > len(positional):
        return FAILED
    shell.state.positional = positional[count:]
    return OK


def _set(shell: Interpreter, call: Call) -> Status:
    texts = call.texts
    at = 0
    while at < len(texts) and texts[at][:1] in ("-", "+") and texts[at] not in ("--", "-"):
        at += 2 if texts[at].endswith("o") else 1
    if at < len(texts):
        start = at + 1 if texts[at] in ("--", "-") else at
        shell.state.positional = tuple(call.arguments[start:])
        shell.state.own_arguments = False
    return OK


def _let(shell: Interpreter, call: Call) -> Status:
    status = OK
    for field in call.arguments:
        number, _ = shell.expander.number_of(field.value, field.line)
        status = Status(None, names_of(field.value)) if number is None else OK if number else FAILED
    return status


def _read(shell: Interpreter, call: Call) -> Status:
    names, array, delimiter = _read_options(call.texts)
    given = shell.state.input
    if given is None:
        if array:
            hole = (Piece(f"${{{array}[@]}}", shell.line, shell.file, (array,)),)
            shell.variables.assign_array(array, [Field(hole, shell.line, shell.file, True)])
        for name in names:
            shell.variables.assign(name, (Piece(f"${{{name}}}", shell.line, shell.file, (name,)),))
        return Status(None, tuple(names) or (array,)) if names or array else OK
    line, rest = _taken(given, delimiter)
    if not line and not rest:
        for name in names:
            shell.variables.assign(name, EMPTY)
        return FAILED
    shell.state.input = rest
    line = _without_end(line, delimiter)
    if array:
        fields = shell.expander.split(line)
        shell.variables.assign_array(array, fields)
        return OK
    _share(shell, names or ["REPLY"], line)
    return OK


def _read_options(texts: Sequence[str]) -> tuple[list[str], str, str]:
    """(names, array name, delimiter) of `read`."""
    names: list[str] = []
    array, delimiter = "", "\n"
    at = 0
    while at < len(texts):
        text = texts[at]
        if text.startswith("-") and len(text) > 1:
            letter = text[-1]
            if letter == "a" and at + 1 < len(texts):
                array = texts[at + 1]
            elif letter == "d" and at + 1 < len(texts):
                delimiter = texts[at + 1][:1]
            at += 2 if letter in "adptnNui" else 1
        else:
            names.append(text)
            at += 1
    return [name for name in names if re.fullmatch(r"[A-Za-z_]\w*", name)], array, delimiter


def _taken(value: Value, delimiter: str) -> tuple[Value, Value]:
    """The value up to its first delimiter, which is included, and the rest; all of it for an empty delimiter."""
    if not delimiter:
        return value, EMPTY
    for number, piece in enumerate(value):
        at = -1 if piece.names else piece.text.find(delimiter)
        if at >= 0:
            rest = piece.text[at + 1 :]
            behind = (piece._replace(text=rest, line=piece.line + piece.text.count("\n", 0, at + 1)),) if rest else ()
            return (*value[:number], piece._replace(text=piece.text[: at + 1])), (*behind, *value[number + 1 :])
    return value, EMPTY


def _without_end(value: Value, delimiter: str) -> Value:
    if delimiter and value and not value[-1].names and value[-1].text.endswith(delimiter):
        return (*value[:-1], value[-1]._replace(text=value[-1].text[: -len(delimiter)]))
    return value


def _share(shell: Interpreter, names: Sequence[str], line: Value) -> None:
    """Give the words of a line to the names; the last name takes the rest."""
    blanks = "".join(char for char in shell.expander.separator() if char in " \t\n")
    line = _stripped(line, blanks)
    if len(names) == 1:
        shell.variables.assign(names[0], line)
        return
    if not is_known(line):
        for name in names:
            shell.variables.assign(name, (Piece(f"${{{name}}}", shell.line, shell.file, names_of(line)),))
        return
    fields = shell.expander.split(line)
    for number, name in enumerate(names):
        if number < len(names) - 1:
            shell.variables.assign(name, fields[number].value if number < len(fields) else EMPTY)
        else:
            separator = " " if blanks else shell.expander.separator()[:1]
            shell.variables.assign(name, join([field.value for field in fields[number:]], separator))


def _stripped(value: Value, blanks: str) -> Value:
    pieces = list(value)
    if pieces and not pieces[0].names:
        kept = pieces[0].text.lstrip(blanks)
        skipped = pieces[0].text.count("\n", 0, len(pieces[0].text) - len(kept))
        pieces[0] = pieces[0]._replace(text=kept, line=pieces[0].line + skipped)
    if pieces and not pieces[-1].names:
        pieces[-1] = pieces[-1]._replace(text=pieces[-1].text.rstrip(blanks))
    return tuple(piece for piece in pieces if piece.text)


def _mapfile(shell: Interpreter, call: Call) -> Status:
    name = next((text for text in reversed(call.texts) if re.fullmatch(r"[A-Za-z_]\w*", text)), "MAPFILE")
    given = shell.state.input
    if given is None or not is_known(given):
        hole = (Piece(f"${{{name}[@]}}", shell.line, shell.file, names_of(given or EMPTY) or (name,)),)
        shell.variables.assign_array(name, [Field(hole, shell.line, shell.file, True)])
        return OK
    lines = text_of(given).splitlines(keepends=not any(text.startswith("-t") for text in call.texts))
    shell.charge(len(lines))
    fields = [Field((Piece(text, shell.line, shell.file),) if text else (), shell.line, shell.file) for text in lines]
    shell.variables.assign_array(name, fields)
    return OK


def _getopts(shell: Interpreter, call: Call) -> Status:
    if len(call.texts) < 2:
        return FAILED
    options, name = call.texts[0].lstrip(":"), call.texts[1]
    position = shell.state.variables.get("OPTIND")
    at = int(text_of(position.value) or 1) if position is not None and is_known(position.value) else 1
    if shell.state.own_arguments:
        shell.note_arguments()
    positional = shell.state.positional
    text = text_of(positional[at - 1].value) if at <= len(positional) else ""
    if len(text) != 2 or text[0] != "-" or text == "--":
        shell.variables.assign(name, (Piece("?", shell.line, shell.file),))
        return FAILED
    letter = text[1]
    found = options.find(letter)
    at += 1
    if found >= 0 and options[found + 1 : found + 2] == ":" and at <= len(positional):
        shell.variables.assign("OPTARG", positional[at - 1].value)
        at += 1
    shell.variables.assign(name, (Piece(letter if found >= 0 else "?", shell.line, shell.file),))
    shell.variables.assign("OPTIND", (Piece(str(at), shell.line, shell.file),))
    return OK


# --- control flow -----------------------------------------------------------------------------------------------


def _exit(shell: Interpreter, call: Call) -> Status:
    raise ShellFlow("exit", shell.line, status=_given_status(shell, call))


def _return(shell: Interpreter, call: Call) -> Status:
    raise ShellFlow("return", shell.line, status=_given_status(shell, call))


def _given_status(shell: Interpreter, call: Call) -> Status:
    if not call.arguments:
        return shell.last_status
    if call.names:
        return Status(None, call.names)
    return OK if call.texts[0].strip() == "0" else FAILED


def _break(shell: Interpreter, call: Call) -> Status:
    levels = int(call.texts[0]) if call.texts and call.texts[0].isdigit() else 1
    raise ShellFlow(text_of(call.fields[0].value), shell.line, max(1, levels))


def _source(shell: Interpreter, call: Call) -> Status:
    if not call.arguments:
        return FAILED
    return shell.source(call.arguments[0].value, call.node.raw, call.node.line, call.arguments[1:])


def _eval(shell: Interpreter, call: Call) -> Status:
    value = join([field.value for field in call.arguments], " ")
    if not is_known(value) and not has_known_text(value):  # what a command prints: its text is no script of ours
        shell.report.assume(call.node.raw, shell.file, call.node.line, "not followed")
        return OK
    return shell.run_value(value)


def _nothing(shell: Interpreter, call: Call) -> Status:
    return OK


def _false(shell: Interpreter, call: Call) -> Status:
    return FAILED


TABLE: dict[str, Builtin] = {
    "echo": _echo, "printf": _printf, "pwd": _pwd, "cd": _cd, "basename": _basename, "dirname": _dirname,
    "realpath": _realpath, "readlink": _realpath, "seq": _seq, "expr": _expr, "export": _declare, "declare": _declare,
    "local": _declare, "readonly": _declare, "typeset": _declare, "unset": _unset, "shift": _shift, "set": _set,
    "let": _let, "read": _read, "mapfile": _mapfile, "readarray": _mapfile, "getopts": _getopts, "exit": _exit,
    "return": _return, "break": _break, "continue": _break, "source": _source,
    ".": _source, "eval": _eval, "true": _nothing, ":": _nothing, "false": _false, "trap": _nothing, "wait": _nothing,
    "shopt": _nothing, "alias": _nothing, "unalias": _nothing, "umask": _nothing, "jobs": _nothing, "disown": _nothing,
    **dict.fromkeys(filters.FILTERS, _filter),
}  # fmt: skip
