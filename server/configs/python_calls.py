"""Settings in Python code: keyword arguments of config and trainer calls, read from the syntax tree.

Nothing is imported or run. Literals, arithmetic on them and names that are assigned once count as known; everything
else is `Unresolved` and names the expression.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

from ..limits import MAX_DEPTH, MAX_SHELL_VALUE_CHARS
from .files import checked, printable
from .json_text import read_nodes
from .tree import Node
from .values import Document, Entry, InputError, Unresolved

_MAX_PYTHON_CHARS = 1_000_000  # the syntax tree takes several hundred times the text
_MAX_CALLS = 200
_MAX_CELL_NOTES = 5
_MAX_NUMBER_BITS = 2_000
_CALL_NAME = re.compile(r"[A-Z]\w*(?:Config|Arguments|Args|Params|Trainer)|LLM|Engine|AsyncLLM")
_FIRST_ARGUMENT = {"LLM": "model", "Engine": "model_path", "GRPOTrainer": "model", "RLOOTrainer": "model"}
_DTYPES = frozenset(("float32", "float16", "bfloat16", "float", "half", "double", "float64", "float8_e4m3fn"))
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (int, float, str, bool, len, min, max, abs, round)
}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: bool(a == b),
    ast.NotEq: lambda a, b: bool(a != b),
    ast.Lt: lambda a, b: bool(a < b),
    ast.LtE: lambda a, b: bool(a <= b),
    ast.Gt: lambda a, b: bool(a > b),
    ast.GtE: lambda a, b: bool(a >= b),
}


def read_python(text: str, path: str, names: Collection[str] | None = None) -> list[Document]:
    """Read the config calls of a Python file or notebook, in order of their lines.

    In: the text, the name for messages, and the call names of interest (default: names that end in Config, Arguments,
    Args, Params or Trainer, and LLM, Engine). Out: one document per call, its `name` that of the call; later
    `args.key = value` assignments are appended to the call that `args` came from; environment variables set in the
    code form a document of their own (name `os.environ`, always the last). `{...}` values are flattened with dots.
    Raises InputError for a syntax error, with its line, and over the caps.
    """
    if text.lstrip()[:1] == "{":
        return _read_notebook(text, path, names)
    text = _checked_size(checked(text, path), path)
    return _Calls(_parsed(text, path), text, path, names).read()


def parsed(text: str, path: str) -> ast.Module:
    """The syntax tree of a Python file. Raises InputError for a syntax error, with its line, and over the caps."""
    return _parsed(_checked_size(checked(text, path), path), path)


def _checked_size(text: str, path: str) -> str:
    if len(text) > _MAX_PYTHON_CHARS:
        cause = f"more than {_MAX_PYTHON_CHARS:,} characters of Python"
        raise InputError(f"{printable(path)}: {cause}; name the config itself")
    return text


def _parsed(text: str, path: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `"\d"` is the user's business
            return ast.parse(text.replace("\0", " "))
    except SyntaxError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        cause = f"line {error.lineno or 1}: not {version}, {printable(error.msg)}"
        raise InputError(f"{printable(path)} {cause}; correct that line") from None
    except (RecursionError, MemoryError):
        raise InputError(f"{printable(path)}: nested too deeply to be read") from None
    except ValueError as error:
        raise InputError(f"{printable(path)}: not Python, {printable(error)}") from None


# -- notebooks -----------------------------------------------------------------------------------------------------


def _read_notebook(text: str, path: str, names: Collection[str] | None) -> list[Document]:
    """All code cells as one program, so that a constant of one cell is known in the next; lines are the file's."""
    cells = _notebook_cells(text, path)
    _checked_size("\n".join(line for cell in cells for line, _ in cell), path)
    code: list[str] = []
    lines: list[int] = []
    notes: list[str] = []
    for cell in cells:
        try:
            _parsed("\n".join(line for line, _ in cell), path)
        except InputError:
            notes.append(f"the cell at line {cell[0][1]} is not Python; it is not read")
            continue
        code += (line for line, _ in cell)
        lines += (number for _, number in cell)
    whole = checked("\n".join(code), path)
    documents = _Calls(_parsed(whole, path), whole, path, names).read()
    for document in documents:
        _renumber(document, lines)
    for document in documents[:1]:
        document.notes += notes[:_MAX_CELL_NOTES]
    return documents


def _notebook_cells(text: str, path: str) -> list[list[tuple[str, int]]]:
    """For each code cell its lines, each with its line number in the notebook file."""
    root = read_nodes(text, path).value
    cells = root.get("cells") if isinstance(root, dict) else None
    if cells is None or type(cells.value) is not list:
        raise InputError(f"{printable(path)}: JSON without notebook cells; name a notebook or a Python file")
    found = []
    for cell in cells.value:
        if type(cell.value) is not dict or _scalar(cell, "cell_type") != "code":
            continue
        source = cell.value.get("source")
        lines = list(_cell_lines(source)) if source is not None else []
        if lines and not lines[0][0].lstrip().startswith("%%"):  # `%%bash` and the like are other languages
            found.append([(_without_magic(line), number) for line, number in lines])
    return found


def _scalar(cell: Node, key: str) -> Any:
    child = cell.value.get(key)
    return None if child is None else child.value


def _cell_lines(source: Node) -> Iterator[tuple[str, int]]:
    for part in source.value if type(source.value) is list else [source]:
        if type(part.value) is str:
            for line in part.value.removesuffix("\n").split("\n"):
                yield line, part.line


def _without_magic(line: str) -> str:
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    environment = re.match(r"%(?:set_)?env\s+(\w+)[= ]", stripped)
    if environment is not None:
        return f"{indent}os.environ[{environment[1]!r}] = {stripped[environment.end() :].strip('= ')!r}"
    if stripped.startswith(("%", "!", "?")) or stripped.endswith("?"):
        return f"{indent}pass"
    return line


def _renumber(document: Document, lines: list[int]) -> None:
    def place(line: int) -> int:
        return lines[min(line, len(lines)) - 1]

    document.entries = [replace(entry, line=place(entry.line)) for entry in document.entries]
    document.notes = [
        re.sub(r"^line (\d+)", lambda match: f"line {place(int(match[1]))}", note) for note in document.notes
    ]


# -- calls ---------------------------------------------------------------------------------------------------------


class _Calls:
    def __init__(self, module: ast.Module, text: str, path: str, names: Collection[str] | None) -> None:
        self.path = path
        self.names = names
        self.lines = text.split("\n")
        self.nodes = sorted(
            (node for node in ast.walk(module) if isinstance(node, ast.Call | ast.Assign | ast.AnnAssign)),
            key=lambda node: (node.lineno, node.col_offset),
        )
        self.constants = _assigned_once(module)
        self.known: dict[str, Any] = {}  # values of constants, once folded
        self.documents: list[Document] = []
        self.by_variable: dict[str, Document] = {}
        self.environment = Document(path, "python", data={}, name="os.environ")

    def read(self) -> list[Document]:
        for node in self.nodes:
            if isinstance(node, ast.Call):
                self._call(node)
            else:
                self._assignment(node)
        if self.environment.entries:
            self.documents.append(self.environment)
        return self.documents

    def _call(self, node: ast.Call) -> None:
        name = _dotted(node.func)
        short = name.rpartition(".")[2]
        if name in ("os.environ.setdefault", "environ.setdefault", "os.putenv") and len(node.args) == 2:
            self._set_environment(node.args[0], node.args[1])
        elif name in ("os.environ.update", "environ.update"):
            self._update_environment(node)
        elif (short in self.names if self.names is not None else _CALL_NAME.fullmatch(short)) and (
            len(self.documents) < _MAX_CALLS and (node.keywords or node.args)
        ):
            self._config_call(short, node)

    def _config_call(self, name: str, node: ast.Call) -> None:
        document = Document(self.path, "python", data={}, name=name)
        if node.args and name in _FIRST_ARGUMENT:
            self._add(document, _FIRST_ARGUMENT[name], node.args[0])
        elif node.args and not (isinstance(node.args[0], ast.Constant) and node.args[0].value is ...):
            document.notes.append(f"line {node.lineno}: positional arguments of {name} are not read; name them")
        for keyword in node.keywords:
            if keyword.arg is None:
                self._unpacked(document, keyword.value)
            else:
                self._add(document, keyword.arg, keyword.value)
        self.documents.append(document)
        # Assigned to a variable on the way? `args = GRPOConfig(...)`, and later `args.beta = 0.1`.
        self.by_variable.update({variable: document for variable, value in self.constants.items() if value is node})

    def _unpacked(self, document: Document, value: ast.expr) -> None:
        folded = self._fold(value, 0)
        if isinstance(folded, dict):
            for key, child in folded.items():
                self._place(document, str(key), child, value.lineno, "")
        else:
            shown = printable(self._source(value), 60)
            document.notes.append(f"line {value.lineno}: `**{shown}` adds settings that the text does not show")

    def _add(self, document: Document, key: str, value: ast.expr) -> None:
        self._place(document, key, self._fold(value, 0), value.lineno, self._source(value))

    def _place(self, document: Document, key: str, value: Any, line: int, text: str) -> None:
        *branch, leaf = key.split(".")
        table = document.data
        for part in branch:
            table = table.setdefault(part, {}) if isinstance(table, dict) else {}
        if isinstance(table, dict):
            table[leaf] = value
        for dotted, child in _flattened(key, value):
            shown = text if dotted == key else printable(child)
            document.entries.append(Entry(dotted, child, self.path, line, text=printable(shown)))

    def _assignment(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if node.value is None:
                continue
            if isinstance(target, ast.Subscript) and _dotted(target.value) in ("os.environ", "environ"):
                self._set_environment(target.slice, node.value)
            elif isinstance(target, ast.Attribute):
                variable, _, key = _dotted(target).partition(".")
                if variable in self.by_variable and key:
                    self._add(self.by_variable[variable], key, node.value)

    def _set_environment(self, key: ast.expr, value: ast.expr) -> None:
        name = self._fold(key, 0)
        if isinstance(name, str):
            self._add_environment(name, self._fold(value, 0), value)

    def _update_environment(self, node: ast.Call) -> None:
        for argument in node.args[:1]:
            folded = self._fold(argument, 0)
            for name, value in folded.items() if isinstance(folded, dict) else ():
                self._add_environment(str(name), value, argument)
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._add_environment(keyword.arg, self._fold(keyword.value, 0), keyword.value)

    def _add_environment(self, name: str, value: Any, node: ast.expr) -> None:
        shown = value if isinstance(value, Unresolved) else str(value)  # the environment knows text only
        self.environment.data[name] = shown
        self.environment.entries.append(Entry(name, shown, self.path, node.lineno, text=printable(shown)))

    # -- constant folding ------------------------------------------------------------------------------------------

    def _fold(self, node: ast.expr, depth: int) -> Any:
        """The value of an expression, or Unresolved."""
        if depth > MAX_DEPTH:
            return self._open(node)
        try:
            folded = self._folded(node, depth + 1)
        except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError):
            return self._open(node)
        return self._open(node) if folded is _UNKNOWN or _too_big(folded) else folded

    def _folded(self, node: ast.expr, depth: int) -> Any:
        if isinstance(node, ast.Constant):
            value = node.value
            return value if value is None or isinstance(value, bool | int | float | str) else _UNKNOWN
        if isinstance(node, ast.Name):
            return self._constant(node.id, depth)
        if isinstance(node, ast.Dict):
            return self._dict(node, depth)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            items = [self._fold(item, depth) for item in node.elts]
            return _UNKNOWN if any(isinstance(item, Unresolved) for item in items) else items
        if isinstance(node, ast.JoinedStr):
            return self._f_string(node, depth)
        if isinstance(node, ast.UnaryOp):
            return _unary(node.op, self._known(node.operand, depth))
        if isinstance(node, ast.BinOp):
            return self._binary(node, depth)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
            left, right = self._known(node.left, depth), self._known(node.comparators[0], depth)
            return _UNKNOWN if _UNKNOWN in (left, right) else _COMPARISONS[type(node.ops[0])](left, right)
        if isinstance(node, ast.IfExp):
            test = self._known(node.test, depth)
            return _UNKNOWN if test is _UNKNOWN else self._known(node.body if test else node.orelse, depth)
        if isinstance(node, ast.Attribute):
            dotted = _dotted(node)
            return node.attr if dotted == f"torch.{node.attr}" and node.attr in _DTYPES else _UNKNOWN
        if isinstance(node, ast.Call):
            return self._function(node, depth)
        return _UNKNOWN

    def _known(self, node: ast.expr, depth: int) -> Any:
        value = self._fold(node, depth)
        return _UNKNOWN if isinstance(value, Unresolved) else value

    def _constant(self, name: str, depth: int) -> Any:
        node = self.constants.get(name)
        if node is None:
            return _UNKNOWN
        if name not in self.known:
            self.known[name] = _UNKNOWN  # a constant that refers to itself stays unknown
            self.known[name] = self._known(node, depth)
        return self.known[name]

    def _dict(self, node: ast.Dict, depth: int) -> Any:
        items: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                merged = self._known(value, depth)
                if not isinstance(merged, dict):
                    return _UNKNOWN
                items.update(merged)
            else:
                name = self._known(key, depth)
                if name is _UNKNOWN or isinstance(name, list | dict):
                    return _UNKNOWN
                items[str(name)] = self._fold(value, depth)
        return items

    def _f_string(self, node: ast.JoinedStr, depth: int) -> Any:
        parts: list[str] = []
        unknown: list[str] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            plain = not isinstance(part, ast.FormattedValue) or (part.conversion == -1 and part.format_spec is None)
            value = self._known(inner, depth) if plain else _UNKNOWN
            if value is _UNKNOWN:
                source = self._source(inner)
                unknown.append(source)
                parts.append(f"{{{source}}}")
            else:
                parts.append(str(value))
        text = "".join(parts)
        return Unresolved(printable(text), tuple(unknown)) if unknown else text

    def _binary(self, node: ast.BinOp, depth: int) -> Any:
        operator = _OPERATORS.get(type(node.op))
        left, right = self._known(node.left, depth), self._known(node.right, depth)
        if operator is None or left is _UNKNOWN or right is _UNKNOWN:
            return _UNKNOWN
        if isinstance(node.op, ast.Pow) and (not _number(left) or not _number(right) or abs(right) > 64):
            return _UNKNOWN
        if isinstance(node.op, ast.Mult | ast.Mod) and not (_number(left) and _number(right)):
            return _UNKNOWN  # repetition and % formatting of text
        return operator(left, right)

    def _function(self, node: ast.Call, depth: int) -> Any:
        name = _dotted(node.func)
        if name == "dict" and not node.args and all(keyword.arg for keyword in node.keywords):
            return {str(keyword.arg): self._fold(keyword.value, depth) for keyword in node.keywords}
        if name not in _FUNCTIONS or node.keywords or not 1 <= len(node.args) <= 8:
            return _UNKNOWN
        arguments = [self._known(argument, depth) for argument in node.args]
        return _UNKNOWN if _UNKNOWN in arguments else _FUNCTIONS[name](*arguments)

    def _open(self, node: ast.expr) -> Unresolved:
        source = self._source(node)
        return Unresolved(source, (source,))

    def _source(self, node: ast.expr) -> str:
        """The expression as written, as far as it fits a message."""
        end_line = node.end_lineno or node.lineno
        parts = []
        for number in range(node.lineno, min(end_line, node.lineno + 8) + 1):
            line = self.lines[number - 1].encode("utf-8", "replace")
            start = node.col_offset if number == node.lineno else 0
            end = node.end_col_offset if number == end_line else len(line)
            parts.append(line[start:end].decode("utf-8", "replace").strip())
        return printable(" ".join(parts))


class _Unknown:
    """Mark of an expression that the text does not decide."""


_UNKNOWN = _Unknown()


def _assigned_once(module: ast.Module) -> dict[str, ast.expr]:
    """Names that are bound exactly once in the whole file, by a plain assignment: their value is that expression."""
    bound: dict[str, int] = {}
    values: dict[str, ast.expr] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound[node.id] = bound.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            bound[node.arg] = bound.get(node.arg, 0) + 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound[node.name] = bound.get(node.name, 0) + 1
        elif isinstance(node, ast.alias):
            name = (node.asname or node.name).partition(".")[0]
            bound[name] = bound.get(name, 0) + 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            values[node.target.id] = node.value
    return {name: value for name, value in values.items() if bound.get(name) == 1}


def _dotted(node: ast.expr) -> str:
    """`a.b.c` of an attribute chain, "" for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < MAX_DEPTH:
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


def _flattened(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, child in value.items():
            yield from _flattened(f"{key}.{name}", child)
    else:
        yield key, value


def _unary(operator: ast.unaryop, value: Any) -> Any:
    if value is _UNKNOWN:
        return _UNKNOWN
    if isinstance(operator, ast.Not):
        return not value
    if not _number(value):
        return _UNKNOWN
    return -value if isinstance(operator, ast.USub) else +value if isinstance(operator, ast.UAdd) else ~value


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def _too_big(value: Any) -> bool:
    if isinstance(value, int):
        return value.bit_length() > _MAX_NUMBER_BITS
    return isinstance(value, str | list) and len(value) > MAX_SHELL_VALUE_CHARS
