"""Changes in shell scripts: the value of a flag or override where it is written, in arrays, continued lines and quotes.

The reader says on which line an argument is written, also when that is the line of a variable that holds many of them.
Here the text around it is taken as written. What the change does to the launch is checked by reading the script again
(`patch`), so an unusual way of writing costs the edit and never another setting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..configs.values import Unresolved
from .change import ADD, REMOVE, RENAME, Change, NotEditable, line_bounds, line_end_of, text_of_scalar

_WORD = r"[\w.+/:,@%=~-]"
_LITERAL = re.compile(rf"{_WORD}+")
_UNQUOTED = re.compile(r"[^\s'\"\\`;|&()<>]*")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_WITH_DEFAULT = re.compile(rf"\$\{{(\w+):?-({_WORD}+)\}}")
_ENDS_WORD = re.compile(r"""["']*(?:[\s;|&)]|\\\r?\n|\Z)""")
_GAP = re.compile(r"(?:[ \t]|\\\r?\n)+")
_GAP_WITH_LINES = re.compile(r"(?:\s|\\\r?\n)+")
_ARITHMETIC = re.compile(r"\(\((.{1,2000}?)\)\)", re.DOTALL)  # where a variable is read without a `$`
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)


def edit_shell(text: str, change: Change) -> str:
    """The script with one argument changed. Raises NotEditable."""
    if "\r" in text.replace("\r\n", ""):
        raise NotEditable("the file has line ends of several kinds")
    if change.action == ADD:
        return _add(text, change)
    argument = _argument(text, change.key, change.line, change.old)
    if change.action == RENAME:
        return text[: argument.key_start] + change.new_key + text[argument.key_end :]
    if change.action == REMOVE or (argument.is_switch and change.value is False):
        return _remove(text, argument)
    if argument.is_switch:
        raise NotEditable(f"{change.key} is a switch without a value")
    start, end = _where_written(text, argument)
    return text[:start] + _written(change.value, text[start:end], _is_quoted(text, start, end)) + text[end:]


@dataclass(frozen=True, slots=True)
class _Argument:
    """Offsets of a flag or override: `key_start` to `end` is the whole of it, without quotes around it.

    A switch has no value, and `value_start` is its end.
    """

    key_start: int
    key_end: int
    value_start: int
    end: int
    is_switch: bool = False


def _argument(text: str, key: str, line: int, old: Any) -> _Argument:
    start, end = line_bounds(text, line)
    is_flag = key.startswith("-")
    pattern = rf"(?<![\w./@+-]){re.escape(key)}(?=[=\s\\\"')]|$)" if is_flag else rf"(?<![\w./@-]){re.escape(key)}(?==)"
    shown = _without_comments(text[start:end])
    places = list(re.finditer(pattern, shown))
    if len(places) != 1:
        times = "not written out" if not places else f"written {len(places)} times"
        raise NotEditable(f"{key} is {times} at line {line}")
    key_start, key_end = start + places[0].start(), start + places[0].end()
    if text[key_end : key_end + 1] == "=":
        return _with_value(text, key_start, key_end, key_end + 1)
    gap = (_GAP if old is True else _GAP_WITH_LINES).match(text, key_end)
    at = gap.end() if gap else key_end
    if old is True and not re.match(r"['\"]?(?:true|1)\b", text[at:], re.IGNORECASE):
        return _Argument(key_start, key_end, key_end, key_end, is_switch=True)
    if gap is None or isinstance(old, list):
        raise NotEditable(f"{key} takes several values" if gap else f"the value of {key} does not stand behind it")
    return _with_value(text, key_start, key_end, at)


def _with_value(text: str, key_start: int, key_end: int, at: int) -> _Argument:
    quote = text[at : at + 1]
    if quote in ("'", '"') and quote:
        close = text.find(quote, at + 1)
        end = close + 1
        if close < 0 or "\n" in text[at:end]:
            raise NotEditable("the value goes over several lines")
    else:
        match = _UNQUOTED.match(text, at)
        end = match.end() if match else at
    if not _ENDS_WORD.match(text, end):
        raise NotEditable("the value is put together from several pieces")
    return _Argument(key_start, key_end, at, end)


def _where_written(text: str, argument: _Argument) -> tuple[int, int]:
    """Where the literal stands that is the argument's value: here, or where its only variable is assigned."""
    start, end = _inside_quotes(text, argument.value_start, argument.end)
    value = text[start:end]
    if not value or _LITERAL.fullmatch(value):
        return start, end
    if (default := _WITH_DEFAULT.fullmatch(value)) is not None:
        _require_single_use(text, default[1], assigned=0)
        return start + default.start(2), start + default.end(2)
    if (variable := _VARIABLE.fullmatch(value)) is None:
        raise NotEditable("the value is an expression")
    name = variable[1] or variable[2]
    _require_single_use(text, name, assigned=1)
    assignment = _assignments(text, name)[0]
    written = _with_value(text, assignment.start(), assignment.end(), assignment.end())
    start, end = _inside_quotes(text, written.value_start, written.end)
    value = text[start:end]
    default = _WITH_DEFAULT.fullmatch(value)
    if default is not None and (default[1] == name or not _assignments(text, default[1])):
        return start + default.start(2), start + default.end(2)
    if not _LITERAL.fullmatch(value):
        raise NotEditable(f"the variable {name} is not assigned a plain value")
    return start, end


def _inside_quotes(text: str, start: int, end: int) -> tuple[int, int]:
    is_quoted = end - start >= 2 and text[start] in "'\"" and text[end - 1] == text[start]
    return (start + 1, end - 1) if is_quoted else (start, end)


def _is_quoted(text: str, start: int, end: int) -> bool:
    return text[start - 1 : start] in ("'", '"') and text[end : end + 1] == text[start - 1 : start]


def _require_single_use(text: str, name: str, assigned: int) -> None:
    """Raises NotEditable unless the variable is assigned so often, and read once beside its own default."""
    shown = _without_comments(text)
    assignments = _assignments(text, name)
    if len(assignments) != assigned:
        count = f"{len(assignments)} times" if assignments else "nowhere in this file"
        raise NotEditable(f"the value comes from the variable {name}, which is assigned {count}")
    defaults = (_WITH_DEFAULT.match(shown, _behind_quote(shown, place.end())) for place in assignments)
    own = sum(default is not None and default[1] == name for default in defaults)
    uses = len(re.findall(rf"\$\{{?[#!]?{name}\b", shown)) - own
    uses += sum(len(re.findall(rf"(?<![\w${{!#]){name}\b", inside)) for inside in _ARITHMETIC.findall(shown))
    if uses != 1:
        raise NotEditable(f"the value comes from the variable {name}, which is used {uses} times")


def _behind_quote(text: str, at: int) -> int:
    return at + (text[at : at + 1] in ("'", '"'))


def _assignments(text: str, name: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"(?:^|(?<=[\s;&(])){name}\+?=", _without_comments(text), re.MULTILINE))


def _without_comments(text: str) -> str:
    """The same length, comments blanked. A `#` inside quotes goes with them, which costs an edit at most."""
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


def _written(value: Any, old: str, quoted: bool) -> str:
    if isinstance(value, Unresolved):
        raise NotEditable("the new value is not known")
    text = text_of_scalar(value, old)
    if not _LITERAL.fullmatch(text) and not (quoted and re.fullmatch(r"[\w .+/:,@%=~-]+", text)):
        raise NotEditable(f"the new value {text!r} would need quotes")
    return text


def _add(text: str, change: Change) -> str:
    """A new argument behind its neighbour: on a line of its own where the neighbour has one."""
    if change.near.startswith("-") != change.key.startswith("-"):
        raise NotEditable(f"{change.near} is written in another way than {change.key}")
    beside = _argument(text, change.near, change.near_line, change.old)
    value = _written(change.value, "", False)
    if not change.key.startswith("-"):
        word = f"{change.key}={value}"
    elif change.value is False:
        raise NotEditable(f"{change.key} cannot be switched off in a way that every parser takes")
    else:
        word = change.key if change.value is True else f"{change.key} {value}"
    end = beside.end
    while text[end : end + 1] in ("'", '"') and text[end : end + 1]:
        if not _opens_word(text, beside.key_start, text[end]):
            break  # the closing quote of a whole string of arguments
        end += 1
    start, line_end = line_bounds(text, text.count("\n", 0, beside.key_start) + 1)
    indent = text[start : beside.key_start].rstrip("'\"+")
    rest = text[end:line_end].strip()
    if indent.strip() or "\n" in text[beside.key_start : end] or rest not in ("", "\\"):
        return f"{text[:end]} {word}{text[end:]}"
    continued = text[:start].rstrip("\r\n").endswith("\\")
    eol = line_end_of(text)
    if rest:
        return f"{text[:line_end]}{eol}{indent}{word} \\{text[line_end:]}"
    return f"{text[:end]}{' ' + chr(92) if continued else ''}{eol}{indent}{word}{text[end:]}"


def _opens_word(text: str, key_start: int, quote: str) -> bool:
    """Whether the quote opens a word right in front of the argument: `'a.b=1'`, but not `X='a.b=1'`."""
    before = text[:key_start].rstrip("+")
    return before.endswith(quote) and before[-2:-1] in ("", " ", "\t", "\n", "(")


def _remove(text: str, argument: _Argument) -> str:
    """Without the argument; its line goes too when nothing else stands on it."""
    start, end = argument.key_start, argument.end
    while text[start - 1 : start] in ("+", "~") and start:
        start -= 1
    quote = text[end : end + 1]
    if quote in ("'", '"') and _opens_word(text, start, quote):
        start, end = start - 1, end + 1
    line_start, _ = line_bounds(text, text.count("\n", 0, start) + 1)
    _, line_end = line_bounds(text, text.count("\n", 0, end) + 1)
    rest = text[end:line_end].strip()
    if not text[line_start:start].strip() and rest in ("", "\\"):
        before = text[:line_start].rstrip("\r\n")
        if not rest and before.endswith("\\"):  # the last line of the command: the line above ends it now
            return before[:-1].rstrip(" \t") + text[line_end:]
        following = text.find("\n", line_end)
        return text[:line_start] + (text[following + 1 :] if following >= 0 else "")
    blank = start - len(text[line_start:start].rstrip(" \t")) - line_start
    return text[: start - blank] + text[end:] if blank else text[:start] + text[end:].removeprefix(" ")
