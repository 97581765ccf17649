"""What really ran: settings and versions that a log prints. Text is parsed as literals; nothing is evaluated."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..limits import MAX_PRINTED_CHARS, MAX_PRINTED_SETTINGS
from .model import Printed

_MAX_BLOCK_LINES = 6_000
_MAX_VALUE = 500
_OPENING = re.compile(r"^(?:[\w .:/-]{0,60}[:=] ?)?(\{['\"][\w.]+['\"]: .*)$")
_CALL = re.compile(r"^(?:[\w .:/-]{0,60}[:= ])?(?:Namespace|\w*(?:Config|Arguments|Args))(\((?=$|\w+=).*)$")
_FIELD = re.compile(r"[(,]\s*(\w+)=")
_ENUM = re.compile(r"<[\w.]+: (.{1,200})>$")
_JSON_LINE = re.compile(r'^\s*"[\w./-]{1,200}": ')
_LEAST_FIELDS = 3  # of a printed call or a JSON object without inner ones; fewer may be anything
_DOTTED = re.compile(r"^(?:.{0,120}:print\])?\s{1,4}(\w[\w.]*) \.{3,} (\S.*)$")
_VERSIONS = (
    (re.compile(r"vLLM API server version v?(\d[\w.+]*)"), "vllm"),
    (re.compile(r"Initializing an? (?:V\d )?LLM engine \(v?(\d[\w.+]*)\)"), "vllm"),
    (re.compile(r"['\"]?transformers_version['\"]?: ['\"](\d[\w.+]*)['\"]"), "transformers"),
    (re.compile(r"DeepSpeed info: version=(\d[\w.]*)"), "deepspeed"),
    (re.compile(r"\bRay runtime started.*?|\bray[ _]version['\"]?[:= ]+['\"]?(\d+\.\d+[\w.]*)", re.IGNORECASE), "ray"),
    (re.compile(r"\bNCCL version (\d[\w.]*?)(?=\+|\s|$)"), "nccl"),
    (re.compile(r"\bLoaded flash_attn version[: ]+(\d[\w.]*)"), "flash-attn"),
    (
        re.compile(
            r"(?:^|[\s,;(])(torch|transformers|vllm|sglang|verl|trl|deepspeed|accelerate|peft|ray|openrlhf|flash[-_]attn"
            r"|megatron[-_]core|unsloth|numpy|tensordict)(?: version)?(?:==|[:=] ?['\"]?| v?(?=\d+\.\d+\.))"
            r"v?(\d+\.\d+[\w.+]*)",
            re.IGNORECASE,
        ),
        "",
    ),
)
# One of these stands in every piece of a log in which a printed config begins.
SETTING_MARKS = ("{'", "....", "Namespace(", "Config(", "Arguments(", "Args(", "{\n", "{\r\n")
VERSION_MARKS = ("version", "==", "LLM engine (v", "transformers", "torch", "vllm")


class PrintedSettings:
    """Collects settings of a console: a printed dict (verl, NeMo-RL), a dotted list (Megatron, DeepSpeed), an object
    with its fields (TRL, argparse), indented JSON (EasyR1)."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: dict[str, Printed] = {}
        self.versions: dict[str, str] = {}
        self.notes: list[str] = []
        self._open: dict[str, _Block] = {}

    @property
    def waiting(self) -> bool:
        return bool(self._open)

    def take(self, text: str, line: int, origin: str) -> bool:
        """Read one line; true when it belongs to a printed config."""
        if block := self._open.get(origin):
            return self._go_on(block, text, origin)
        if (found := _DOTTED.match(text)) and len(self.found) < MAX_PRINTED_SETTINGS:
            self._keep(found[1], _literal(found[2].strip()), line)
            return True
        if len(self._open) > 8:
            return False
        opening = _OPENING.match(text)
        if opening is None:
            return self._other_opening(text, line, origin)
        block = _Block(line)
        block.add(opening[1])
        if block.depth > 0:
            self._open[origin] = block
        elif opening[1].count("{") > 1:  # a nested dict on one line is a config; a flat one is a record of metrics
            self._close(block)
        return False

    def _other_opening(self, text: str, line: int, origin: str) -> bool:
        if text.rstrip() == "{" and not text.startswith(" "):
            block = _Block(line, "json")
            block.add("{")
            self._open[origin] = block
            return False  # it may as well be a record of metrics, which others read
        called = _CALL.match(text) if "(" in text else None
        if called is None:
            return False
        block = _Block(line, "call")
        block.add(called[1])
        if block.depth > 0:
            self._open[origin] = block
        else:
            self._close(block)
        return True

    def _go_on(self, block: _Block, text: str, origin: str) -> bool:
        if block.kind == "json" and len(block) == 1 and not _JSON_LINE.match(text):
            del self._open[origin]
            return False
        # Lines of another process may stand between; those of a printed dict are indented or go on with a quote.
        if not origin and not text.startswith((" ", "}", "'", "]", ")")) and not _is_field(block, text):
            block.strange += 1
            if block.strange > 50:
                del self._open[origin]
                self._close(block)
            return False
        block.add(text)
        if block.depth <= 0 or block.full:
            del self._open[origin]
            self._close(block)
        return block.kind != "json"

    def finish(self) -> None:
        """Take what is still open."""
        for block in self._open.values():
            self._close(block)
        self._open = {}

    def _close(self, block: _Block) -> None:
        data = _read(block)
        if block.kind != "dict":
            nested = isinstance(data, dict) and any(isinstance(value, dict) for value in data.values())
            data = data if nested or (block.kind == "call" and len(data or ()) >= _LEAST_FIELDS) else {}
        if not isinstance(data, dict):
            pairs = list(_pairs(block.text))
            if pairs:
                self.notes.append(f"line {block.line}: a printed config is cut or mixed with other lines; read in part")
            for key, value in pairs:
                self._keep(key, value, block.line)
            return
        for key, value in flatten(data):
            self._keep(key, value, block.line)

    def _keep(self, key: str, value: Any, line: int) -> None:
        if len(self.found) < MAX_PRINTED_SETTINGS:
            self.found.setdefault(key, Printed(key, value, line, self.file))

    def take_version(self, text: str) -> None:
        """Versions that a line names."""
        for expression, package in _VERSIONS:
            for found in expression.finditer(text):
                if not found.groups() or found[found.lastindex or 0] is None:
                    continue
                name = package or found[1].lower().replace("_", "-")
                self.versions.setdefault(name, found[found.lastindex or 1].rstrip("."))


class _Block:
    """A printed dict over several lines."""

    def __init__(self, line: int, kind: str = "dict") -> None:
        self.line = line
        self.kind = kind  # dict | call | json
        self.depth = 0
        self.strange = 0
        self._parts: list[str] = []
        self._chars = 0

    def add(self, text: str) -> None:
        self._parts.append(text)
        self._chars += len(text)
        bare = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "", text)
        self.depth += sum(bare.count(char) for char in "{[(") - sum(bare.count(char) for char in "}])")

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def full(self) -> bool:
        return len(self._parts) > _MAX_BLOCK_LINES or self._chars > MAX_PRINTED_CHARS

    @property
    def text(self) -> str:
        return "\n".join(self._parts)


def _is_field(block: _Block, text: str) -> bool:
    """Whether a line goes on with a printed object, whose fields Transformers does not indent."""
    return block.kind == "call" and re.match(r"\w+=", text) is not None


def _read(block: _Block) -> Any:
    """The content of a block, None when it is no JSON."""
    if block.kind == "dict":
        return _literal(block.text)
    if block.kind == "call":
        return dict(_fields(block.text))
    try:
        return json.loads(block.text)
    except (ValueError, RecursionError):
        return None


def _fields(text: str) -> Iterator[tuple[str, Any]]:
    """`(a=1, b=<Kind.X: 'x'>, c=[1, 2])`: names and values of the outermost level."""
    place, depth, quote, starts = 0, 0, "", []
    while place < len(text):
        char = text[place]
        if quote:
            place += char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if depth == 1 and not quote and char in "(," and (found := _FIELD.match(text, place)):
            starts.append((found.start(), found.end(), found[1]))
        place += 1
    ends = [start for start, _, _ in starts[1:]] + [text.rfind(")") if ")" in text else len(text)] * bool(starts)
    for (_, start, name), end in zip(starts, ends, strict=True):
        written = text[start:end].strip().rstrip(",")
        enum = _ENUM.match(written)
        yield name, _literal(enum[1] if enum else written)


def _literal(text: str) -> Any:
    """A Python literal, or the text itself."""
    if len(text) > MAX_PRINTED_CHARS:
        return text[:_MAX_VALUE]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return text[:_MAX_VALUE]


_PAIR = re.compile(
    r"['\"](\w+)['\"]: ?"
    r"(?:(\{)|('(?:[^'\\]|\\.){0,300}'|\"(?:[^\"\\]|\\.){0,300}\"|[-+\w.]+|\[[^\]\[{}]{0,300}\]))|([{}])"
)


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    """Settings of a dict that is not whole, with the path that its braces give."""
    path: list[str] = []
    for found in _PAIR.finditer(text):
        if found[2]:
            path.append(found[1])
        elif found[4] == "}":
            path = path[:-1]
        elif found[1]:
            yield ".".join([*path, found[1]]), _literal(found[3])


def flatten(data: Mapping[Any, Any], before: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Leaves of a nested mapping by dotted path."""
    for key, value in data.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value and depth < 20:
            yield from flatten(value, f"{name}.", depth + 1)
        else:
            yield name, value if len(str(value)) <= _MAX_VALUE else str(value)[:_MAX_VALUE]


def arguments(words: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Settings on a command line: `a.b=1`, `--a-b 1`, `--a=1`, `--flag`."""
    name = ""
    for word in [*map(str, words[:MAX_PRINTED_SETTINGS]), "--"]:
        if name and not word.startswith("--"):
            yield name, _literal(word)
            name = ""
            continue
        if name:
            yield name, True
        name, equals, value = word.lstrip("-+").partition("=")
        if equals or not word.startswith("--"):
            if equals and name:
                yield name, _literal(value)
            name = ""
