"""YAML with line numbers, under the number rules of the framework that will load it.

Events of PyYAML's parser (libyaml when it is built in) are composed here: tags are data and never construct anything,
aliases are counted before they are expanded, duplicate keys are reported. Two rules for numbers exist in the field:
OmegaConf and Hydra read `1e-6` as a float, plain PyYAML (TRL, transformers, accelerate) as the text "1e-6".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from ..limits import MAX_DEPTH, MAX_NODES
from .files import checked, clean, printable
from .tree import Node, leaves, plain
from .values import Document, InputError, Lint, Unresolved

FloatRule = Literal["omegaconf", "yaml11"]

_INT = re.compile(
    r"[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+"
)
_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# What OmegaConf's loader takes for a float in addition: an exponent without dot or without sign.
_FLOAT_OMEGACONF = re.compile(r"[-+]?[0-9]+(?:_[0-9]+)*(?:\.[0-9_]*)?[eE][-+]?[0-9]+|[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True)
_WORDS |= dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False)
_NUMBER_START = frozenset("-+.0123456789")
_MAX_NUMBER_CHARS = 400  # longer digits are no number of a config; Python refuses them above 4,300
_MAX_NOTES = 20
_MAX_TAB_CHECK_CHARS = 200_000  # the pure Python parser is slow
_MERGE = object()  # stands for the key `<<`

_STANDARD_TAGS = "tag:yaml.org,2002:"
_COLLECTION_TAGS = frozenset(("!", "map", "seq", "set", "omap", "pairs"))
_SIMPLE_VALUE = re.compile(r"[A-Za-z0-9_./+-]*", re.ASCII)


def read_yaml(text: str, path: str, *, float_rule: FloatRule = "omegaconf") -> Document:
    """Read the first non-empty YAML document of `text`.

    In: the text, the name for messages, and the number rule of the loader that the framework uses.
    Out: entries for every leaf (lists and empty mappings are leaves), the plain tree, lints (`duplicate-key`,
    `yaml-float-as-text`, `bad-merge`) and notes. Keys are kept as written, dates stay text.
    Raises InputError for broken YAML, cyclic or exploding aliases, and anything over the caps.
    """
    document = Document(path, "yaml")
    root = _Composer(checked(text, path), document, float_rule).compose()
    document.data = plain(root)
    document.entries = list(leaves(root, document.data, path))
    return document


def yaml11_lints(document: Document) -> list[Lint]:
    """What plain PyYAML would read as text, in a document that was read with the OmegaConf rule.

    For callers that learn only after reading that TRL or transformers will load the file.
    """
    return [
        _float_as_text_lint(entry.text, entry.file, entry.line, nested="." in entry.key)
        for entry in document.entries
        if document.format == "yaml" and isinstance(entry.value, float) and _is_text_in_yaml11(entry.text)
    ]


def parse_value(text: str, float_rule: FloatRule = "omegaconf") -> Any:
    """One YAML value of a command line (`[1, 2]`, `1e-6`, `on`, nothing = None).

    Raises InputError if OmegaConf would refuse the text.
    """
    if _SIMPLE_VALUE.fullmatch(text) and text not in ("-", "---", "..."):
        return plain_scalar(text, float_rule)
    document = read_yaml(text, "value", float_rule=float_rule)
    if document.lints:  # duplicate keys, tags: the loader of the framework refuses them
        raise InputError(document.lints[0].message)
    return document.data


def plain_scalar(text: str, float_rule: FloatRule = "omegaconf") -> Any:
    """The value of an unquoted YAML word: bool, None, int, float, or the text itself."""
    if not text or text[0] not in _NUMBER_START:
        return _WORDS.get(text, text)
    if len(text) > _MAX_NUMBER_CHARS:
        return text
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text) or (float_rule == "omegaconf" and _FLOAT_OMEGACONF.fullmatch(text)):
        return _float(text)
    return text


def _integer(text: str) -> int | str:
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    try:
        if digits.startswith("0b"):
            return sign * int(digits[2:], 2)
        if digits.startswith("0x"):
            return sign * int(digits[2:], 16)
        if ":" in digits:
            return sign * int(_sexagesimal(digits, int))
        return sign * int(digits, 8 if digits.startswith("0") and len(digits) > 1 else 10)
    except ValueError:  # "0b_" and the like match the rule and are still no number
        return text


def _float(text: str) -> float | str:
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits.startswith("-") else 1.0
    digits = digits.lstrip("+-")
    try:
        if ":" in digits:
            return sign * float(_sexagesimal(digits, float))
        return sign * float(digits.replace(".inf", "inf").replace(".nan", "nan"))
    except (ValueError, OverflowError):
        return text


def _sexagesimal(digits: str, number: Callable[[str], Any]) -> Any:
    total = 0
    for part in digits.split(":"):
        total = total * 60 + number(part)
    return total


class _Open:
    """A mapping or sequence whose end has not been read yet."""

    __slots__ = ("anchor", "items", "key", "key_line", "lines", "merges", "node", "start", "template")

    def __init__(self, node: Node, anchor: str | None, start: Any) -> None:
        self.node = node
        self.anchor = anchor
        self.start = start
        self.key: Any = None  # key that waits for its value
        self.key_line = 0
        self.lines: dict[str, int] = {}  # key → line, to report duplicates
        self.merges: list[Node] = []
        self.template = ""  # `{{name}}` was written here


class _Composer:
    """Composes the events of one text into a Node, without recursion."""

    def __init__(self, text: str, document: Document, float_rule: FloatRule) -> None:
        self.text = text
        self.document = document
        self.path = document.path
        self.float_rule = float_rule
        self.anchors: dict[str, Node | None] = {}  # None while the anchored collection is still open
        self.stack: list[_Open] = []
        self.root: Node | None = None
        self.nodes = 0

    def compose(self) -> Node:
        import yaml

        try:
            return self._compose_first_document()
        except yaml.YAMLError as error:
            raise InputError(self._fault(error)) from None
        except RecursionError:  # only the pure Python parser could get here
            raise InputError(f"{printable(self.path)}: nested too deeply to be read") from None

    def _compose_first_document(self) -> Node:
        import yaml

        self._lint_tab()
        next_event = event_source(self.text)
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._scalar(event)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close(event)
            elif kind is yaml.MappingStartEvent:
                self._open({}, event)
            elif kind is yaml.SequenceStartEvent:
                self._open([], event)
            elif kind is yaml.AliasEvent:
                self._alias(event)
            elif kind is yaml.DocumentEndEvent:
                if self.root is not None and self.root.value is not None:
                    self._note_further_documents(next_event)
                    return self.root
                self.anchors.clear()
            elif event is None or kind is yaml.StreamEndEvent:
                if self.root is None or self.root.value is None:
                    self.document.notes.append("the file is empty")
                return self.root if self.root is not None else Node(None, 1)

    def _note_further_documents(self, next_event: Callable[[], Any]) -> None:
        import yaml

        try:
            if isinstance(next_event(), yaml.DocumentStartEvent):
                self.document.notes.append("several YAML documents; only the first non-empty one is read")
        except yaml.YAMLError:
            self.document.notes.append("text after the first YAML document cannot be read; it is ignored")

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _scalar(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if self._awaits_key():
            plain_merge = event.value == "<<" and event.implicit[0] and event.tag is None
            key = clean(event.value)
            if event.anchor is not None:
                self.anchors[event.anchor] = Node(key, line, printable(key))
            self._take_key(_MERGE if plain_merge else key, line)
            return
        self._count(1, line)
        node = Node(self._scalar_value(event, line), line, printable(event.value))
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        self._place(node, event)

    def _scalar_value(self, event: Any, line: int) -> Any:
        if event.tag is not None and event.tag != "!":
            return self._tagged_scalar(event.tag, event.value, line)
        if not event.implicit[0]:  # quoted, block text, or marked with "!"
            return clean(event.value)
        value = plain_scalar(event.value, self.float_rule)
        if type(value) is not str:
            return value
        if value == "=" or value == "<<":
            self._lint(
                "yaml-special-word", f"a bare `{value}` is reserved: YAML loaders refuse it", line, "error", "quote it"
            )
        if self.float_rule == "yaml11" and value and value[0] in _NUMBER_START:
            self._lint_float_as_text(value, line)
        elif len(value) > _MAX_NUMBER_CHARS and value.isdigit():
            self._note(f"line {line}: a number of {len(value):,} digits is kept as text")
        return clean(value)

    def _tagged_scalar(self, tag: str, text: str, line: int) -> Any:
        name = tag.removeprefix(_STANDARD_TAGS)
        if name == "str" or name == "binary" or name == "timestamp":
            return clean(text)
        value = plain_scalar(text, "omegaconf")
        if name == "float" and isinstance(value, int):
            return float(value) if abs(value) < 1 << 1000 else text
        if name == "null":
            return None
        if name in ("int", "float", "bool"):
            return value
        self._lint_tag(tag, line)
        return clean(value) if isinstance(value, str) else value

    def _open(self, value: Any, event: Any) -> None:
        line = event.start_mark.line + 1
        if len(self.stack) >= MAX_DEPTH:
            raise InputError(f"{self._place_name(line)}: nested deeper than {MAX_DEPTH} levels; no config is")
        self._count(1, line)
        if event.tag is not None and event.tag.removeprefix(_STANDARD_TAGS) not in _COLLECTION_TAGS:
            self._lint_tag(event.tag, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.stack.append(_Open(Node(value, line), event.anchor, event.start_mark))

    def _close(self, event: Any) -> None:
        closed = self.stack.pop()
        node = closed.node
        if closed.merges:
            self._apply_merges(closed)
        if closed.anchor is not None:
            self.anchors[closed.anchor] = node
        if closed.start.line == event.end_mark.line:
            node.text = printable(self.text[closed.start.index : event.end_mark.index])
        if self._awaits_key():
            self._collection_as_key(node)
            return
        if closed.template:
            node.value = Unresolved(node.text or closed.template, (closed.template,))
        self._place(node, event)

    def _alias(self, event: Any) -> None:
        line = event.start_mark.line + 1
        name = printable(event.anchor, 60)
        if event.anchor not in self.anchors:
            raise InputError(f"{self._place_name(line)}: alias *{name} has no anchor &{name} above it")
        node = self.anchors[event.anchor]
        if node is None:
            raise InputError(f"{self._place_name(line)}: anchor &{name} contains itself; write its values out")
        self._count(node.size, line)
        if len(self.stack) + node.height > MAX_DEPTH + 1:
            raise InputError(f"{self._place_name(line)}: nested deeper than {MAX_DEPTH} levels; no config is")
        if self._awaits_key():
            self._take_key(str(node.value) if not isinstance(node.value, dict | list) else None, line)
        else:
            self._place(node, event)

    def _count(self, size: int, line: int) -> None:
        self.nodes += size
        if self.nodes > MAX_NODES:
            cause = f"more than {MAX_NODES:,} values (aliases count in full)"
            raise InputError(f"{self._place_name(line)}: {cause}; no config has as many")

    # -- placing -------------------------------------------------------------------------------------------------

    def _awaits_key(self) -> bool:
        return bool(self.stack) and type(self.stack[-1].node.value) is dict and self.stack[-1].key is None

    def _take_key(self, key: Any, line: int) -> None:
        parent = self.stack[-1]
        parent.key = key if key is not None else _Skip
        parent.key_line = line

    def _collection_as_key(self, node: Node) -> None:
        """A mapping or list as a key: nearly always an unfilled template such as `lr: {{lr}}`."""
        parent = self.stack[-1]
        names = list(node.value) if isinstance(node.value, dict) else []
        if len(names) == 1 and not parent.node.value:
            parent.template = str(names[0])
        else:
            self._note(f"line {node.line}: a collection as a key is skipped")
        self._take_key(None, node.line)

    def _place(self, node: Node, event: Any) -> None:
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.node.size += node.size
        parent.node.height = max(parent.node.height, node.height + 1)
        if type(parent.node.value) is list:
            parent.node.value.append(node)
            return
        key, line = parent.key, parent.key_line
        parent.key = None
        if key is _MERGE:
            self._collect_merge(parent, node, line)
        elif key is not _Skip:
            self._set(parent, key, self._at(node, line), line)

    def _at(self, node: Node, line: int) -> Node:
        """The node with the line of its key; an aliased node keeps the line where its value is written."""
        if node.line < line:
            return node
        node.line = line
        return node

    def _set(self, parent: _Open, key: str, node: Node, line: int) -> None:
        if key in parent.lines:
            self._lint(
                "duplicate-key",
                f"`{printable(key, 80)}` is set twice in the same mapping, at lines {parent.lines[key]} and {line}: "
                "PyYAML keeps the last one silently, OmegaConf and Hydra refuse the file",
                line,
                fix="delete one of the two",
            )
        parent.lines[key] = line
        parent.node.value[key] = node

    def _collect_merge(self, parent: _Open, node: Node, line: int) -> None:
        parts = node.value if type(node.value) is list else [node]
        if not all(type(part.value) is dict for part in parts):
            self._lint("bad-merge", "`<<` needs a mapping or a list of mappings; loaders refuse this", line, "error")
            return
        # A later `<<` of the same mapping wins over an earlier one; within one list the first mapping wins.
        parent.merges = [*parts, *parent.merges]

    def _apply_merges(self, closed: _Open) -> None:
        merged: dict[str, Node] = {}
        for part in reversed(closed.merges):
            clashes = [key for key in part.value if key in merged and key not in closed.node.value]
            if clashes:
                key = printable(clashes[0], 80)
                message = f"`{key}` comes from two merged mappings: PyYAML versions differ in which one wins"
                self._lint("merge-conflict", message, closed.start.line + 1, fix="write the key out")
            merged.update(part.value)
        merged.update(closed.node.value)
        closed.node.value = merged

    # -- messages ------------------------------------------------------------------------------------------------

    def _place_name(self, line: int) -> str:
        return f"{printable(self.path)} line {line}"

    def _lint(self, rule: str, message: str, line: int, severity: str = "warning", fix: str = "") -> None:
        if len(self.document.lints) < _MAX_NOTES:
            self.document.lints.append(Lint(rule, message, self.path, line, severity, fix))

    def _lint_tag(self, tag: str, line: int) -> None:
        shown = printable(tag.replace(_STANDARD_TAGS, "!!"), 60)
        self._lint("yaml-tag", f"safe YAML loaders refuse the tag `{shown}`; its value is taken as written", line)

    def _note(self, note: str) -> None:
        if len(self.document.notes) < _MAX_NOTES:
            self.document.notes.append(note)

    def _lint_float_as_text(self, value: str, line: int) -> None:
        if _is_text_in_yaml11(value) and len(self.document.lints) < _MAX_NOTES:
            self.document.lints.append(_float_as_text_lint(value, self.path, line, nested=len(self.stack) > 1))

    def _lint_tab(self) -> None:
        """libyaml takes tabs between tokens; the pure Python parser, which the frameworks use, refuses them."""
        import yaml

        if "\t" not in self.text or len(self.text) > _MAX_TAB_CHECK_CHARS:
            return
        try:
            for depth in _depths(_python_parser(self.text)):
                if depth > MAX_DEPTH:
                    return
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            if mark is not None and repr("\t") in str(getattr(error, "problem", "")):
                self._lint("yaml-tab", "PyYAML refuses the tab here", mark.line + 1, "error", "write blanks")

    def _fault(self, error: Any) -> str:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        if mark is not None:
            cause = getattr(error, "problem", None) or getattr(error, "context", None) or "broken syntax"
            return f"{printable(self.path)} line {mark.line + 1}: broken YAML, {printable(cause)}; correct that line"
        position = getattr(error, "position", None)
        if isinstance(position, int):  # ReaderError: a character that YAML does not allow
            line = self.text.count("\n", 0, position) + 1
            return f"{printable(self.path)} line {line}: a control character that YAML does not allow; delete it"
        return f"{printable(self.path)}: broken YAML, {printable(error)}"


def _is_text_in_yaml11(text: str) -> bool:
    """Whether only OmegaConf's rule takes the word for a number."""
    return len(text) <= _MAX_NUMBER_CHARS and not _FLOAT.fullmatch(text) and bool(_FLOAT_OMEGACONF.fullmatch(text))


def _float_as_text_lint(text: str, path: str, line: int, *, nested: bool) -> Lint:
    # TrlParser hands YAML values to argparse as defaults, and argparse converts a default that is a string with the
    # field's type. HfArgumentParser.parse_yaml_file and nested mappings or lists get no such conversion.
    effect = (
        "inside a mapping or list nothing converts it to a number"
        if nested
        else "TRL's own --config parser converts it for float fields, HfArgumentParser.parse_yaml_file does not"
    )
    message = f"plain YAML 1.1 reads `{printable(text, 40)}` as text (an exponent needs a dot and a sign); {effect}"
    fix = f"write {_yaml11_float(repr(float(text.replace('_', ''))))}"
    return Lint("yaml-float-as-text", message, path, line, "warning" if nested else "info", fix)


class _Skip:
    """Key whose value is dropped (a collection used as a key)."""


def _yaml11_float(number: str) -> str:
    """A float literal that every YAML loader reads as a number: with dot and signed exponent."""
    mantissa, exponent, power = number.partition("e")
    if "." not in mantissa and mantissa.strip("-").isdigit():
        mantissa += ".0"
    return mantissa + exponent + power


def event_source(text: str) -> Callable[[], Any]:
    """A function that returns the next parse event of the text (None at the end)."""
    try:
        from yaml._yaml import CParser
    except ImportError:
        return _python_parser(text)
    events: Callable[[], Any] = CParser(text).get_event
    return events


def _python_parser(text: str) -> Callable[[], Any]:
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class PythonParser(Reader, Scanner, Parser):
        def __init__(self, stream: str) -> None:
            Reader.__init__(self, stream)
            Scanner.__init__(self)
            Parser.__init__(self)

    events: Callable[[], Any] = PythonParser(text).get_event
    return events


def _depths(next_event: Callable[[], Any]) -> Iterator[int]:
    """The nesting after each event, up to the end of the stream."""
    depth = 0
    while (event := next_event()) is not None:
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        yield depth
