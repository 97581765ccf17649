"""Walks the syntax tree as bash would, with two differences: nothing is executed, and what cannot be known stays open.

- A command is recorded, not run, and is taken to succeed.
- A probe (file test, `command -v`, `python -c 'import x'` ...) counts as false; the script's assumptions say so.
- At any other condition that cannot be decided the false branch is taken, the others are tried on a copy of the
  state, and every variable that they would leave different becomes unknown. No value is ever silently wrong.
- `exit` behind a guess ends that branch only: people run the script the way that reaches its launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Items
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ...limits import MAX_DEPTH, MAX_INCLUDES, MAX_SHELL_LOOP, MAX_SHELL_STEPS
from ..values import Command, Lint, Script, Word
from . import builtins, faults, launches
from .conditions import Tester, both, either, negated
from .expansion import Expander, shortened
from .parser import Parser
from .pieces import EMPTY, Field, Piece, Value, is_known, names_of, text_of
from .sources import SourceFolder
from .state import (
    FAILED,
    OK,
    PROBE_FAILED,
    LimitReached,
    Output,
    ShellFlow,
    State,
    Status,
    Variable,
)
from .syntax import (
    AndOr,
    Arithmetic,
    ArithmeticFor,
    Assignment,
    Case,
    CommandSubstitution,
    Condition,
    For,
    Function,
    Group,
    If,
    Node,
    Pipeline,
    ProcessSubstitution,
    Redirected,
    Redirection,
    Sequence,
    Simple,
    While,
    WordNode,
)

_PROBES = frozenset(
    ["command", "which", "type", "hash", "nvidia-smi", "npu-smi", "rocm-smi", "rocminfo", "amd-smi", "xpu-smi", "pgrep", "lsof", "nc", "ping", "curl", "wget"]
)
_TEST_COMMANDS = frozenset({"[", "test"})
_PYTHON_PROBE = frozenset({"python", "python3"})


def interpret(
    text: str,
    path: str,
    *,
    folder: SourceFolder,
    variables: Mapping[str, str],
    arguments: Items[str],
    seek_launch: bool = False,
) -> Script:
    """Interpret one script. With `seek_launch` an open condition takes the branch that holds a launch."""
    shell = Interpreter(path, folder, seek_launch)
    for name, value in variables.items():
        shell.state.variables[name] = Variable((Piece(value, 0, ""),) if value else EMPTY, exported=True)
    shell.state.positional = tuple(Field((Piece(text, 0, ""),), 0, "") for text in arguments)
    shell.run_text(text, path)
    return shell.finish()


class Interpreter:
    """One interpretation: the state of the script, and what it has reported so far."""

    def __init__(self, path: str, folder: SourceFolder, seek_launch: bool) -> None:
        self.script = Script(path)
        self.folder = folder
        self.seek_launch = seek_launch
        self.state = State()
        self.expander = Expander(self)
        self.tester = Tester(self.expander)
        self.file = path
        self.line = 1
        self.frames: list[dict[str, Variable | None]] = []  # what the locals of each running function hide
        self.last_status = OK
        self.last_external = False
        self._source_text = ""
        self._files = [folder.script or path]  # the script and the files being sourced, innermost last
        self._steps = 0
        self._depth = 0
        self._in_condition = 0
        self._guesses = 0  # open branches that were entered on a guess
        self._open_decisions = 0
        self._writes = 0
        self._leaving: list[list[tuple[State, tuple[str, ...]]]] = []  # states of untaken `return`, `break` ...
        self._assumed: dict[tuple[str, int], str] = {}
        self._lints: dict[tuple[str, str, int, str], Lint] = {}
        self._first_use: dict[str, int] = {}
        self._exported: dict[str, Word] | None = None

    # --- bookkeeping ---

    def charge(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_SHELL_STEPS:
            raise LimitReached(f"the script takes more than {MAX_SHELL_STEPS} steps")

    @contextmanager
    def nested(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._depth -= 1
            raise LimitReached(f"commands are nested more than {MAX_DEPTH} levels deep")
        try:
            yield
        finally:
            self._depth -= 1

    def lint(self, rule: str, message: str, line: int, severity: str = "warning", fix: str = "", key: str = "") -> None:
        self._lints.setdefault((rule, self.file, line, key), Lint(rule, message, self.file, line, severity, fix))

    def assume(self, raw: str, line: int, outcome: str = "taken as false") -> None:
        where = "" if self.file == self.script.path else f"{Path(self.file).name} "
        self._assumed.setdefault((self.file + raw, line), f"{where}line {line}: `{shortened(raw)}` {outcome}")

    def note_unset(self, name: str, line: int) -> None:
        line = line or self.line
        self._first_use.setdefault(name, line)
        self.lint("shell-unset-variable", f"${name} is never set before this line", line, "info", key=name)

    def note_required(self, name: str, message: str, line: int) -> None:
        self.lint(
            "shell-required-variable",
            f"the script needs {name}: {shortened(message)}",
            line,
            "info",
            f"set {name} before the launch",
            key=name,
        )

    def note_arithmetic(self, message: str, line: int) -> None:
        self.lint("shell-syntax", f"arithmetic that bash rejects: {message}", line, "warning")

    def note_arguments(self) -> None:
        if not self._in_condition:
            self.script.takes_arguments = True

    def finish(self) -> Script:
        script = self.script
        script.commands = self.state.commands
        script.assumptions = list(self._assumed.values())
        script.env = self.exported()
        self._mark_used_before_set()
        script.lints = sorted(self._lints.values(), key=lambda lint: (lint.file, lint.line, lint.rule))
        return script

    def _mark_used_before_set(self) -> None:
        for name, line in self._first_use.items():
            variable = self.state.variables.get(name)
            if variable is None or variable.line <= line or not variable.file:
                continue
            for key, lint in list(self._lints.items()):
                if key[0] == "shell-unset-variable" and key[3] == name and lint.file == variable.file:
                    del self._lints[key]
                    self._lints[("shell-used-before-set", *key[1:])] = Lint(
                        "shell-used-before-set",
                        f"${name} is used here, but set only in line {variable.line}; here it is empty",
                        lint.file,
                        lint.line,
                        "warning",
                        f"move the assignment of {name} above line {lint.line}",
                    )

    # --- variables ---

    def assign(self, name: str, value: Value, *, append: bool = False, line: int = 0, exported: bool = False) -> None:
        self._writes += 1
        old = self.state.variables.get(name)
        if old is not None and old.items is not None:
            self.assign_item(name, "0", value, append=append)
            return
        if append and old is not None and old.present:
            value = self._appended(old, value)
        elif old is not None and old.integer:
            value = self._integer(value)
        self._exported = None
        self.state.variables[name] = Variable(
            self.expander.checked(value),
            exported=exported or bool(old and old.exported),
            integer=bool(old and old.integer),
            line=line or self.line,
            file=self.file,
        )

    def _appended(self, old: Variable, value: Value) -> Value:
        if not old.integer:
            return old.value + value
        return self._integer((*old.value, Piece("+", self.line, self.file), *value))

    def _integer(self, value: Value) -> Value:
        """What an integer variable (`declare -i`) makes of the text assigned to it."""
        number, _ = self.expander.number_of(value, self.line)
        return (Piece(str(number), self.line, self.file),) if number is not None else value

    def assign_item(self, name: str, index: str, value: Value, *, append: bool = False) -> None:
        self._writes += 1
        old = self.state.variables.get(name) or Variable(items={})
        items: dict[int | str, Field] = dict(old.items or {})
        self.charge(len(items) >> 5)
        if old.items is None and old.value:
            items[0] = Field(old.value, old.line, old.file)
        key: int | str | None = index if old.keyed else self.expander.index_number(index, items)
        if key is None:
            items[max([k for k in items if isinstance(k, int)], default=-1) + 1] = Field(
                (Piece(f"${{{name}[@]}}", self.line, self.file, (name,)),), self.line, self.file, True
            )
        else:
            if append and key in items:
                value = items[key].value + value
            items[key] = Field(value, self.line, self.file)
        self.state.variables[name] = replace(old, items=items, value=EMPTY, present=True)

    def assign_array(self, name: str, fields: Items[Field], *, append: bool = False, line: int = 0) -> None:
        self._writes += 1
        old = self.state.variables.get(name)
        items: dict[int | str, Field] = {}
        if append and old is not None:
            items = dict(old.items) if old.items is not None else {0: Field(old.value, old.line, old.file)}
            if old.items is None and not old.value:
                items = {}
        self.charge((len(items) >> 5) + len(fields))
        start = max([key for key in items if isinstance(key, int)], default=-1) + 1
        for offset, item in enumerate(fields):
            items[start + offset] = item
        self.state.variables[name] = Variable(
            items=items, exported=bool(old and old.exported), line=line or self.line, file=self.file
        )

    def export(self, name: str, exported: bool = True) -> None:
        variable = self.state.variables.get(name)
        if variable is not None:
            self.state.variables[name] = replace(variable, exported=exported)
        self._exported = None

    def unset(self, name: str) -> None:
        self._writes += 1
        self.state.variables[name] = Variable(present=False, line=self.line, file=self.file)
        self._exported = None

    def exported(self) -> dict[str, Word]:
        """The exported variables as words, built once per change."""
        if self._exported is None:
            self._exported = {
                name: self._word(Field(variable.value, variable.line, variable.file))
                for name, variable in self.state.variables.items()
                if variable.exported and variable.items is None and variable.present
            }
        return self._exported

    @staticmethod
    def _word(field: Field) -> Word:
        return Word(text_of(field.value), field.line, field.file, names_of(field.value))

    # --- texts and files ---

    def run_text(self, text: str, path: str) -> None:
        """The whole script; every cap and stray control flow ends here."""
        try:
            self._run_file(text, path)
        except LimitReached as reached:
            self.lint("shell-limit", f"{reached}; what stands behind this line was not read", self.line)
        except RecursionError:
            self.lint("shell-limit", "nested too deeply; what stands behind this line was not read", self.line)
        except ShellFlow:
            pass  # `exit`, or `break` outside a loop

    def _run_file(self, text: str, path: str) -> Status:
        saved = self._source_text
        self._source_text = text
        try:
            return self._run_parsed(Parser(text, path))
        finally:
            self._source_text = saved

    def _run_parsed(self, parser: Parser) -> Status:
        program = parser.program()
        faults.report_syntax(self, parser)
        return self.sequence(program)

    def source_lines(self) -> list[str]:
        return self._source_text.split("\n")

    def run_inline(self, value: Value) -> Status:
        """`eval TEXT`: the text runs in the shell itself."""
        with self.nested():
            return self._run_parsed(self._parser_of(value))

    def _parser_of(self, value: Value) -> Parser:
        """A parser of a value that knows on which line of the file each part was written."""
        starts: list[int] = []
        numbers: list[int] = []
        at = 0
        for piece in value or (Piece("", self.line, self.file),):
            line, offset = piece.line, 0
            while offset >= 0:
                starts.append(at + offset)
                numbers.append(line)
                offset = piece.text.find("\n", offset) + 1 or -1
                line += 1
            at += len(piece.text)
        return Parser(text_of(value), self.file, (starts, numbers))

    def source(self, name: Value, raw: str, line: int, arguments: Items[Field]) -> Status:
        """`source file`, followed inside the allowed folder only."""
        found = self.folder.find(text_of(name), self.state.directory) if is_known(name) else None
        if found is None:
            self.assume(raw, line, "not followed")
            return OK
        if len(self._files) > MAX_INCLUDES or len(self.script.sources) >= MAX_INCLUDES or found.path in self._files:
            raise LimitReached(f"more than {MAX_INCLUDES} files are sourced, or a file sources itself")
        self.script.sources.append(found.shown)
        saved_file, saved_arguments = self.file, (self.state.positional, self.state.own_arguments)
        self._files.append(found.path)
        self.file = found.shown
        if arguments:
            self.state.positional, self.state.own_arguments = tuple(arguments), False
        try:
            with self.nested():
                return self._run_file(found.text, found.shown)
        except ShellFlow as flow:
            if flow.kind != "return":
                raise
            return flow.status
        finally:
            self._files.pop()
            self.file = saved_file
            if arguments:
                self.state.positional, self.state.own_arguments = saved_arguments

    def source_path(self, index: str) -> str | None:
        """The path behind `${BASH_SOURCE[index]}`; index -1 is `$0`. None when it is not known, "" beyond the end."""
        if not self.folder.knows_place:
            return None
        if index == "-1":
            return self._files[0]
        if not index.isdigit():
            return None
        return self._files[-1 - int(index)] if int(index) < len(self._files) else ""

    def _in_own_shell(self, environment: Mapping[str, Word], run: Callable[[], Status]) -> Status:
        """Run a script in a shell of its own: it sees the environment only, and its variables are gone afterwards."""
        with self._forked(keep_commands=True), self.nested():
            self.state.variables = {
                name: Variable(
                    (Piece(given.text, given.line, given.file, given.unknown),) if given.text else EMPTY,
                    exported=True,
                    line=given.line,
                    file=given.file,
                )
                for name, given in environment.items()
            }
            self.state.functions = {}
            self._exported = None
            try:
                return run()
            except ShellFlow:
                return OK
            finally:
                self._exported = None

    @contextmanager
    def _forked(self, keep_commands: bool) -> Iterator[State]:
        """A subshell: what it assigns is gone afterwards, what it starts is kept on request."""
        outer = self.state
        inner = self.state = outer.fork()
        if keep_commands:
            inner.commands = outer.commands
            inner.output = outer.output
        self._exported = None
        try:
            yield inner
        finally:
            self.state = outer
            self._exported = None

    # --- commands ---

    def sequence(self, node: Sequence) -> Status:
        status = OK
        for command, background in node.items:
            if background:
                with self._forked(keep_commands=True):
                    try:
                        self.run(command)
                    except ShellFlow:
                        pass
                status = OK
            else:
                status = self.run(command)
        return status

    def run(self, node: Node) -> Status:
        self.charge(4)
        self.line = node.line
        handler = _HANDLERS[type(node)]
        with self.nested():
            status = handler(self, node)
        self.last_status = status
        return status

    def _simple(self, node: Simple) -> Status:
        if not node.words:
            return self._assignments(node)
        first = node.words[0]
        if type(first) is WordNode and first.plain in _TEST_COMMANDS:
            return self._test(node)
        fields: list[Field] = []
        declared: list[Assignment] = []
        for word in node.words:
            if type(word) is Assignment:
                declared.append(word)
            elif type(word) is WordNode:
                fields += self.expander.fields(word)
        if not fields and not declared:
            return self._assignments(node)
        with self._redirected(node.redirections):
            return self._command(node, fields, declared)

    def _test(self, node: Simple) -> Status:
        """`[ ... ]`: a name that was never set counts as empty, and the status tells that it did."""
        saved, self.expander.absent = self.expander.absent, set()
        self._in_condition += 1
        try:
            words = [word for word in node.words[1:] if type(word) is WordNode]
            fields = [field for word in words for field in self.tester.fields(word)]
            if fields and text_of(fields[-1].value) == "]":
                fields.pop()
            status = self.tester.test(fields)
            return status._replace(absent=status.absent + tuple(sorted(self.expander.absent)))
        finally:
            self.expander.absent = saved
            self._in_condition -= 1

    def _assignments(self, node: Simple) -> Status:
        status = OK
        for assignment in node.assignments:
            self.line = assignment.line
            self.last_external = False
            self.apply(assignment)
            if assignment.value is not None and type(assignment.value.parts[-1]) is CommandSubstitution:
                status = self.last_status
        return status if status.guessed or status.ok is False else OK

    def apply(self, assignment: Assignment, *, exported: bool = False) -> None:
        """One `name=value`, `name=(...)` or `name[i]=value`."""
        name = assignment.name
        if assignment.items is not None:
            self._apply_items(assignment)
        else:
            own_use = self._first_use.get(name)
            value = self.expander.value(assignment.value)
            if own_use is None and name in self._first_use:
                self._forget_use(name)  # `A=$A:more` extends what comes from outside
            if assignment.index is not None:
                index = self.expander.value(assignment.index)
                text = text_of(index) if is_known(index) else "\0"
                self.assign_item(name, text, value, append=assignment.append)
            else:
                self.assign(name, value, append=assignment.append, line=assignment.line)
        if exported:
            self.export(name)

    def _forget_use(self, name: str) -> None:
        self._first_use.pop(name, None)

    def _apply_items(self, assignment: Assignment) -> None:
        assert assignment.items is not None
        old = self.state.variables.get(assignment.name)
        keyed = bool(old and old.keyed)
        if not keyed and all(item.index is None for item in assignment.items):
            fields = [field for item in assignment.items for field in self.expander.fields(item.word)]
            self.assign_array(assignment.name, fields, append=assignment.append, line=assignment.line)
            return
        if not assignment.append or old is None:
            self.state.variables[assignment.name] = Variable(
                items={}, keyed=keyed, exported=bool(old and old.exported), line=assignment.line, file=self.file
            )
        for item in assignment.items:
            self.line = item.word.line or assignment.line
            if item.index is None:
                self.assign_array(assignment.name, self.expander.fields(item.word), append=True, line=assignment.line)
            else:
                index = self.expander.value(item.index)
                text = text_of(index) if is_known(index) else "\0"
                self.assign_item(assignment.name, text, self.expander.value(item.word))

    def _command(self, node: Simple, fields: list[Field], declared: list[Assignment]) -> Status:
        name = text_of(fields[0].value) if fields and is_known(fields[0].value) else ""
        builtin = builtins.TABLE.get(name)
        function = self.state.functions.get(name)
        self.line = node.line
        self.last_external = False
        if function is not None:
            with self._temporary(node.assignments):
                return self._call(function, fields[1:])
        if builtin is not None:
            for assignment in node.assignments if name not in ("read", ".", "source", "eval") else ():
                self.expander.value(assignment.value)
            with self._temporary(node.assignments if name in ("read", ".", "source", "eval") else []):
                return builtin(self, builtins.Call(node, fields, declared))
        return self._external(node, fields)

    @contextmanager
    def _temporary(self, assignments: list[Assignment]) -> Iterator[None]:
        """Assignments in front of a builtin or function hold while it runs."""
        saved = {assignment.name: self.state.variables.get(assignment.name) for assignment in assignments}
        for assignment in assignments:
            self.apply(assignment, exported=True)
        try:
            yield
        finally:
            for name, variable in saved.items():
                if variable is None:
                    self.state.variables.pop(name, None)
                else:
                    self.state.variables[name] = variable
            self._exported = None if saved else self._exported

    def _call(self, function: Function, arguments: list[Field]) -> Status:
        state = self.state
        saved = state.positional, state.own_arguments, self.file
        state.positional, state.own_arguments = tuple(arguments), False
        self.file = function.file
        builtins.push_locals(self)
        self._leaving.append([])
        try:
            status = self.run(function.body)
        except ShellFlow as flow:
            if flow.kind != "return":
                raise
            status = flow.status
        finally:
            waiting = self._leaving.pop()
            builtins.pop_locals(self)
            self.state.positional, self.state.own_arguments, self.file = saved
            self._exported = None
        for left, names in waiting:
            self.state.merge([left], names, self.line, self.file)
        return status if not waiting else Status(None, waiting[0][1])

    # --- external commands ---

    def _external(self, node: Simple, fields: list[Field]) -> Status:
        self.last_external = True
        words = [self._word(field) for field in fields]
        prefix = {}
        for assignment in node.assignments:
            value = self.expander.value(assignment.value)
            prefix[assignment.name] = self._word(Field(value, assignment.line, self.file))
        texts = [word.text for word in words]
        if launches.is_orphan(texts):
            faults.broken_continuation(self, node.line, words)
        unwrapped = launches.unwrap(words)
        environment = {**self.exported(), **prefix, **unwrapped.env} if prefix or unwrapped.env else self.exported()
        if unwrapped.script is not None or launches.runs_script(unwrapped.argv):
            status = self._inner_shell(node, fields, unwrapped, environment)
            if status is not None:
                return status
        launch = launches.is_launch([word.text for word in unwrapped.argv], unwrapped.via)
        if unwrapped.wrapper and not launch and unwrapped.via in ("nohup", "exec", "command", "time", "builtin", "env"):
            inner = self._builtin_behind(node, fields[len(unwrapped.wrapper) :])
            if inner is not None:
                return inner
        if launch or self.state.output is None:
            argv = unwrapped.argv if launch else words
            wrapper = tuple(unwrapped.wrapper) if launch else ()
            self.state.commands.append(Command(argv, environment, self.file, node.line, launch, wrapper))
        return self._external_status(node, texts, launch)

    def _builtin_behind(self, node: Simple, fields: list[Field]) -> Status | None:
        """`command cd x`, `exec source x`: the builtin or function behind the wrapper."""
        name = text_of(fields[0].value) if fields else ""
        if name in self.state.functions:
            return self._call(self.state.functions[name], fields[1:])
        builtin = builtins.TABLE.get(name)
        return builtin(self, builtins.Call(node, fields, [])) if builtin is not None else None

    def _inner_shell(
        self, node: Simple, fields: list[Field], unwrapped: launches.Unwrapped, environment: Mapping[str, Word]
    ) -> Status | None:
        """`bash -c TEXT`, `bash <<EOF`, `bash other.sh`: a script of its own. None when its text is not known."""
        argv = unwrapped.argv
        fields = fields[len(fields) - len(argv) :]
        if unwrapped.script is not None:
            script = fields[argv.index(unwrapped.script)].value
            parser = self._parser_of(script)
            return self._in_own_shell(environment, lambda: self._run_parsed(parser))
        if launches.program(argv[0]) == "sbatch":
            status = self._batch_job(node, fields, argv, environment)
            if status is not None:
                return status
        named = launches.script_argument(argv)
        if named is not None:
            return self._run_script_file(node, fields, named, environment)
        if launches.is_shell(argv[0]) and self.state.input is not None:
            given, self.state.input = self.state.input, None
            parser = self._parser_of(given)
            return self._in_own_shell(environment, lambda: self._run_parsed(parser))
        return None

    def _batch_job(
        self, node: Simple, fields: list[Field], argv: list[Word], environment: Mapping[str, Word]
    ) -> Status | None:
        """`sbatch --wrap=TEXT`, and `COMMAND=TEXT sbatch ray.sub`, where the job script runs $COMMAND."""
        wrapped = launches.wrapped_text(argv)
        if wrapped is not None:
            text = builtins.behind(fields[wrapped[0]].value, wrapped[1])
        else:
            given = [item for item in node.assignments if item.name == "COMMAND" and item.value is not None]
            if not given:
                return None
            text = self.expander.value(given[-1].value)
        self._record([self._word(field) for field in fields], environment, node.line)
        parser = self._parser_of(text)
        return self._in_own_shell(environment, lambda: self._run_parsed(parser))

    def _run_script_file(
        self, node: Simple, fields: list[Field], named: int, environment: Mapping[str, Word]
    ) -> Status | None:
        """`bash other.sh arguments`, for a file inside the allowed folder."""
        name = fields[named].value
        found = self.folder.find(text_of(name), self.state.directory) if is_known(name) else None
        if found is None or found.path in self._files or len(self.script.sources) >= MAX_INCLUDES:
            return None
        self._record([self._word(field) for field in fields], environment, node.line)
        self.script.sources.append(found.shown)

        def run() -> Status:
            saved_file, saved_files = self.file, self._files
            self.state.positional, self.state.own_arguments = tuple(fields[named + 1 :]), False
            self.file, self._files = found.shown, [found.path]
            try:
                return self._run_file(found.text, found.shown)
            finally:
                self.file, self._files = saved_file, saved_files

        return self._in_own_shell(environment, run)

    def _record(self, argv: list[Word], environment: Mapping[str, Word], line: int) -> None:
        self.state.commands.append(Command(argv, dict(environment), self.file, line))

    def _external_status(self, node: Simple, texts: list[str], launch: bool) -> Status:
        builtins.external_output(self, texts)
        if self._is_probe(texts):
            return PROBE_FAILED
        if self._in_condition and not launch and texts[0] not in builtins.SILENT:
            return Status(None, (f"`{shortened(' '.join(texts[:4]))}`",))
        return OK

    @staticmethod
    def _is_probe(texts: list[str]) -> bool:
        name = texts[0].rsplit("/", 1)[-1]
        if name in _PYTHON_PROBE:
            return "-c" in texts[1:4]
        return name in _PROBES

    # --- compound commands ---

    def _pipeline(self, node: Pipeline) -> Status:
        if len(node.commands) == 1:
            return negated(self.run(node.commands[0]))
        given: Value | None = self.state.input
        last = len(node.commands) - 1
        status = OK
        for number, command in enumerate(node.commands):
            outer = self.state
            with self._forked(keep_commands=True) as inner:
                inner.input = given
                if number < last:
                    inner.output = Output()
                    if outer.output is None:
                        self._pipe_commands(inner, outer)
                try:
                    status = self.run(command)
                except ShellFlow:
                    pass
                if number < last and inner.output is not None:
                    given = None if inner.output.opaque is not None else tuple(inner.output.pieces)
        return negated(status) if node.negated else status

    @staticmethod
    def _pipe_commands(inner: State, outer: State) -> None:
        inner.commands = outer.commands

    def _and_or(self, node: AndOr) -> Status:
        status = self.run(node.first)
        raw = faults.source_of(node.first) or node.raw
        for op, command in node.rest:
            wanted = op == "&&"
            if status.ok is None:
                status = self._open_list(status, raw, node.line, wanted, command)
                continue
            if status.assumed and not self._in_condition and not builtins.is_noop(self, command):
                self.assume(raw, node.line)
            if status.ok is not wanted:
                continue
            right = self._guessed(status, command, lambda command=command: self.run(command))
            status = both(status, right) if wanted else either(status, right)
        return status

    def _open_list(self, status: Status, raw: str, line: int, wanted: bool, command: Node) -> Status:
        """`A && B` or `A || B` with an open A: it counts as false, and the other way is tried on a copy."""
        if not self._in_condition:
            self.assume(raw, line)
        results: list[Status] = []
        run = lambda: results.append(self.run(command))  # noqa: E731
        if wanted:
            self._alternatives(status, lambda: None, [run], line)
            return status
        self._alternatives(status, run, [lambda: None], line)
        return either(status, results[-1]) if results else status

    def condition(self, node: Sequence) -> Status:
        self._in_condition += 1
        try:
            return self.sequence(node)
        finally:
            self._in_condition -= 1

    def _if(self, node: If) -> Status:
        for number, (condition, body) in enumerate(node.branches):
            line = condition.items[0][0].line if condition.items else node.line
            status = self.condition(condition)
            if status.guessed and not status.absent:
                self.assume(condition.raw, line, "taken as false" if status.ok in (None, False) else "taken as true")
            elif status.assumed:
                self.assume(condition.raw, line)
            if status.ok is None:
                rest = If(node.branches[number + 1 :], node.otherwise, node.line)
                return self._alternatives(
                    status, lambda rest=rest: self._if(rest), [lambda body=body: self.sequence(body)], line
                )
            if status.ok:
                return self._guessed(status, body, lambda body=body: self.sequence(body))
            if status.guessed:
                following = If(node.branches[number + 1 :], node.otherwise, node.line)
                return self._guessed(status, following, lambda following=following: self._if(following))
        return self.sequence(node.otherwise) if node.otherwise is not None else OK

    def _guessed(self, status: Status, node: Node, run: Callable[[], Status]) -> Status:
        """Run a branch that was chosen by a guess: an `exit` in it without a launch means the guess was wrong."""
        if not status.guessed and not self.seek_launch:
            return run()
        before = self.state.fork()
        commands = self.state.commands
        count = len(commands)
        try:
            return run()
        except ShellFlow as flow:
            if flow.kind != "exit" or any(command.launch for command in commands[count:]):
                raise
            for name in status.absent:
                if name[0] != "$":
                    self.note_required(name, "without it the script exits", node.line)
            self._restore(before, commands)
            return FAILED

    def _restore(self, before: State, commands: list[Command]) -> None:
        before.commands = commands
        before.output = self.state.output
        self.state = before
        self._exported = None

    def _alternatives(
        self, status: Status, taken: Callable[[], object], others: list[Callable[[], object]], line: int
    ) -> Status:
        """Run `taken`; try `others` on copies and make unknown what they would leave different."""
        self._open_decisions += 1
        outer = self.state
        ends: list[State] = []
        for other in others:
            self.state = outer.fork()
            self._exported = None
            end = self._try(other, status)
            if end is not None:
                ends.append(end)
            if self.seek_launch and any(command.launch for command in self.state.commands):
                return self._take_instead(outer, self.state)
        self.state = outer
        self._exported = None
        before = outer.fork()
        count = len(outer.commands)
        try:
            taken()
        except ShellFlow as flow:
            launched = any(command.launch for command in outer.commands[count:])
            if flow.kind != "exit" or launched:
                raise
            first = ends.pop(0) if ends else before
            self._restore(first, outer.commands)
        self.state.merge(ends, status.names, line, self.file)
        self._exported = None
        return Status(None, status.names)

    def _try(self, run: Callable[[], object], status: Status) -> State | None:
        """The state at the end of an alternative; None when it leaves by `exit`, `return` or `break`."""
        lints, assumed = dict(self._lints), dict(self._assumed)
        uses = dict(self._first_use)
        try:
            run()
        except ShellFlow as flow:
            if flow.kind != "exit" and self._leaving:
                self._leaving[-1].append((self.state, status.names))
            return None
        finally:
            self._lints, self._assumed, self._first_use = lints, assumed, uses
        return self.state

    def _take_instead(self, outer: State, chosen: State) -> Status:
        commands = outer.commands + chosen.commands
        chosen.commands = commands
        outer.commands[:] = commands
        chosen.commands = outer.commands
        self.state = chosen
        self._exported = None
        return OK

    def _case(self, node: Case) -> Status:
        saved, self.expander.absent = self.expander.absent, set()
        self._in_condition += 1
        value = self.expander.value(node.word)
        self._in_condition -= 1
        absent = tuple(sorted(self.expander.absent))
        self.expander.absent = saved
        self._forget_unset_in_word(node)
        raw = f"case {node.word.raw}"
        for number, item in enumerate(node.items):
            status = self._case_matches(value, item.patterns)
            if status.ok is None:
                self.assume(f"{raw} in {item.patterns[0].raw})", node.line)
                rest = Case(node.word, node.items[number + 1 :], node.line)
                return self._alternatives(
                    status,
                    lambda rest=rest: self._case(rest),
                    [lambda number=number: self._case_bodies(node, number)],
                    node.line,
                )
            if status.ok:
                guess = Status(True, absent=absent)
                return self._guessed(guess, item.body, lambda number=number: self._case_bodies(node, number))
        return OK

    def _forget_unset_in_word(self, node: Case) -> None:
        """`case $X` asks whether X is set: that alone is no fault."""
        for part in node.word.parts:
            name = getattr(part, "name", "")
            if name and self._first_use.get(name) == node.word.line:
                self._first_use.pop(name)
                self._lints.pop(("shell-unset-variable", self.file, node.word.line, name), None)

    def _case_matches(self, value: Value, words: list[WordNode]) -> Status:
        result = FAILED
        for word in words:
            status = self.tester.like(value, word)
            if status.ok:
                return OK
            result = either(result, status)
        return result

    def _case_bodies(self, node: Case, number: int) -> Status:
        status = self.sequence(node.items[number].body)
        while node.items[number].terminator == ";&" and number + 1 < len(node.items):
            number += 1
            status = self.sequence(node.items[number].body)
        return status

    # --- loops ---

    def _while(self, node: While) -> Status:
        with self._loop(node.line):
            for _ in range(MAX_SHELL_LOOP):
                status = self.condition(node.condition)
                status = negated(status) if node.until else status
                if status.ok is None or (status.guessed and status.ok):
                    self.assume(node.condition.raw, node.line, "taken as ending the loop")
                    self._alternatives(status, lambda: None, [lambda: self.sequence(node.body)], node.line)
                    return OK
                if not status.ok:
                    return OK
                decisions, writes = self._open_decisions, self._writes
                if not self._iteration(node.body):
                    return OK
                if self._open_decisions > decisions or self._writes == writes:
                    return OK  # only something outside the script can end this loop
        self.lint("shell-limit", f"a loop of more than {MAX_SHELL_LOOP} rounds was cut short", node.line)
        return OK

    @contextmanager
    def _loop(self, line: int) -> Iterator[None]:
        self._leaving.append([])
        try:
            yield
        finally:
            for left, names in self._leaving.pop():
                self.state.merge([left], names, line, self.file)

    def _iteration(self, body: Sequence) -> bool:
        """Run the body once; False when the loop is to be left."""
        try:
            self.sequence(body)
        except ShellFlow as flow:
            if flow.kind not in ("break", "continue"):
                raise
            if flow.levels > 1:
                raise ShellFlow(flow.kind, flow.line, flow.levels - 1) from None
            return flow.kind == "continue"
        return True

    def _for(self, node: For) -> Status:
        if node.words is None:
            fields = list(self.state.positional)
        else:
            fields = [field for word in node.words for field in self.expander.fields(word)]
        if len(fields) > MAX_SHELL_LOOP:
            self.lint("shell-limit", f"a loop of more than {MAX_SHELL_LOOP} rounds was cut short", node.line)
        if node.menu:
            fields = fields[:1]
        with self._loop(node.line):
            for field in fields[:MAX_SHELL_LOOP]:
                self.charge(1)
                if field.spread or self._is_file_pattern(field):
                    if not self._open_round(node, field):
                        break
                    continue
                self.assign(node.name, field.value, line=field.line)
                if not self._iteration(node.body):
                    break
        return OK

    @staticmethod
    def _is_file_pattern(field: Field) -> bool:
        return False

    def _open_round(self, node: For, field: Field) -> bool:
        """A list item that may stand for any number of rounds: one round, and what it changes is unknown."""
        before = self.state.fork()
        names = names_of(field.value)
        self.assign(node.name, (Piece(f"${{{node.name}}}", node.line, self.file, names),))
        going = self._iteration(node.body)
        self.state.merge([before], names, node.line, self.file)
        self._exported = None
        return going

    def _arithmetic_for(self, node: ArithmeticFor) -> Status:
        self.expander.number(node.start)
        with self._loop(node.line):
            for _ in range(MAX_SHELL_LOOP):
                condition, names = self.expander.number(node.condition) if node.condition.raw.strip() else (1, ())
                if condition is None:
                    self.assume(f"(({node.condition.raw.strip()}))", node.line, "taken as ending the loop")
                    self._alternatives(Status(None, names), lambda: None, [lambda: self.sequence(node.body)], node.line)
                    return OK
                if not condition or not self._iteration(node.body):
                    return OK
                self.expander.number(node.step)
        self.lint("shell-limit", f"a loop of more than {MAX_SHELL_LOOP} rounds was cut short", node.line)
        return OK

    # --- the rest ---

    def _group(self, node: Group) -> Status:
        if not node.subshell:
            return self.sequence(node.body)
        with self._forked(keep_commands=True):
            try:
                return self.sequence(node.body)
            except ShellFlow as flow:
                if flow.kind == "exit":
                    return OK
                raise

    def _redirected_node(self, node: Redirected) -> Status:
        with self._redirected(node.redirections):
            return self.run(node.command)

    @contextmanager
    def _redirected(self, redirections: list[Redirection]) -> Iterator[None]:
        if not redirections:
            yield
            return
        saved = self.state.input
        output, silenced = self.state.output, False
        for redirection in redirections:
            if redirection.op in ("<<", "<<-"):
                self.state.input = self.expander.value(redirection.target)
            elif redirection.op == "<<<":
                text = self.expander.value(redirection.target)
                self.state.input = (*text, Piece("\n", redirection.line, self.file))
            elif redirection.op == "<":
                self.state.input = self._from_process(redirection.target)
            elif redirection.op in (">", ">>", ">|", "&>", "&>>") and redirection.fd in ("", "1"):
                self.expander.value(redirection.target)
                silenced = True
            elif redirection.op == ">&" and redirection.fd in ("", "1"):
                silenced = silenced or redirection.target.raw == "2"
        silenced = silenced and output is not None
        if silenced:
            self.state.output = Output()
        try:
            yield
        finally:
            self.state.input = saved
            if silenced:
                self.state.output = output

    def _from_process(self, target: WordNode) -> Value | None:
        """Input from `< <(...)`; a file is never read."""
        part = target.parts[0]
        if type(part) is ProcessSubstitution and len(target.parts) == 1:
            return self.captured(part.body)[0]
        self.expander.value(target)
        return None

    def _define(self, node: Function) -> Status:
        self.state.functions[node.name] = node
        return OK

    def _arithmetic(self, node: Arithmetic) -> Status:
        number, names = self.expander.number(node.expression)
        return Status(None, names) if number is None else OK if number else FAILED

    def _condition(self, node: Condition) -> Status:
        self._in_condition += 1
        try:
            return self.tester.condition(node.test)
        finally:
            self._in_condition -= 1

    # --- command substitution ---

    def substitute(self, part: CommandSubstitution) -> Value:
        """The text that `$(...)` prints, or a hole."""
        value, names = self.captured(part.body)
        raw = shortened(part.raw)
        if value is None:
            return (Piece(raw, part.line, self.file, names or (raw,)),)
        return value

    def captured(self, body: Sequence) -> tuple[Value | None, tuple[str, ...]]:
        """(what the commands print, ()) or (None, names of what would decide it)."""
        saved_condition, self._in_condition = self._in_condition, 0
        try:
            with self._forked(keep_commands=False) as inner, self.nested():
                inner.output = Output()
                status = OK
                try:
                    status = self.sequence(body)
                except ShellFlow as flow:
                    status = flow.status
                printed, started = self.state.output or inner.output, self.state.commands
        finally:
            self._in_condition = saved_condition
        self.state.commands += started
        self.last_status = status
        if printed.opaque is not None:
            return None, printed.opaque
        return _without_final_newlines(tuple(printed.pieces)), ()


def _without_final_newlines(value: Value) -> Value:
    pieces = list(value)
    while pieces and not pieces[-1].names:
        stripped = pieces[-1].text.rstrip("\n")
        if stripped:
            pieces[-1] = pieces[-1]._replace(text=stripped)
            break
        pieces.pop()
    return tuple(pieces)


_HANDLERS: dict[type, Callable[..., Status]] = {
    Simple: Interpreter._simple,
    Pipeline: Interpreter._pipeline,
    AndOr: Interpreter._and_or,
    Sequence: Interpreter.sequence,
    If: Interpreter._if,
    While: Interpreter._while,
    For: Interpreter._for,
    ArithmeticFor: Interpreter._arithmetic_for,
    Case: Interpreter._case,
    Group: Interpreter._group,
    Redirected: Interpreter._redirected_node,
    Function: Interpreter._define,
    Arithmetic: Interpreter._arithmetic,
    Condition: Interpreter._condition,
}
