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
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from ...deadline import passed
from ...limits import MAX_DEPTH, MAX_INCLUDES, MAX_SHELL_LOOP, MAX_SHELL_STEPS
from ..values import Script, Word
from . import builtins, faults
from .branches import Branches
from .conditions import Tester, both, either, negated
from .expansion import Expander, shortened
from .parser import Parser
from .pieces import EMPTY, Field, Piece, Value, is_known, names_of, text_of
from .programs import Programs
from .report import Report
from .sources import SourceFile, SourceFolder
from .state import FAILED, OK, LimitReached, Output, ShellFlow, State, Status, Variable
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
    Parameter,
    Pipeline,
    ProcessSubstitution,
    Redirected,
    Redirection,
    Sequence,
    Simple,
    While,
    WordNode,
)
from .variables import Variables, word_of

_TEST_COMMANDS = frozenset({"[", "test"})
_TAKES_PREFIX = frozenset({"read", ".", "source", "eval"})  # builtins that see the assignments in front of them
_ENDLESS = frozenset({"true", ":", "false", "((1))", "(( 1 ))", "[ 1 ]", "[[ 1 ]]", "[ true ]"})
_STEPS_PER_COMMAND = 4
_HEADER_LINES = 100  # in which sbatch's options stand
MIN_FLAGS = 3  # a variable with fewer `--flags` is no set of flags


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
    shell.run_script(text)
    return shell.finish()


class Interpreter:
    """One interpretation of a script: where it stands, and the parts that do the work."""

    def __init__(self, path: str, folder: SourceFolder, seek_launch: bool) -> None:
        self.script = Script(path)
        self.folder = folder
        self.state = State()
        self.file = path
        self.line = 1
        self.files = [folder.script or path]  # the script and the files being sourced, innermost last
        self.in_condition = 0  # > 0 while the condition of an `if`, loop or test is evaluated
        self.last_status = OK
        self.last_external = False  # the last command was a program, whose real status is not known
        self.report = Report(self.script)
        self.variables = Variables(self)
        self.expander = Expander(self)
        self.tester = Tester(self.expander)
        self.branches = Branches(self, seek_launch)
        self.programs = Programs(self)
        self.is_batch_job = False  # started with sbatch, by its header
        self._source_text = ""
        self._steps = 0
        self._depth = 0

    # --- limits and state ---

    def charge(self, steps: int) -> None:
        self._steps += steps
        if passed(0.7):
            raise LimitReached("the time was over before the script was")
        if self._steps > MAX_SHELL_STEPS:
            raise LimitReached(f"the script takes more than {MAX_SHELL_STEPS} steps")

    @contextmanager
    def nested(self) -> Iterator[None]:
        self._deeper()
        try:
            yield
        finally:
            self._depth -= 1

    def _deeper(self) -> None:
        if self._depth >= MAX_DEPTH:
            raise LimitReached(f"commands are nested more than {MAX_DEPTH} levels deep")
        self._depth += 1

    def replace_state(self, state: State) -> None:
        self.state = state
        self.variables.changed()

    @contextmanager
    def forked(self, keep_commands: bool) -> Iterator[State]:
        """A subshell: what it assigns is gone afterwards; what it starts and prints is kept on request."""
        outer = self.state
        inner = outer.fork()
        if keep_commands:
            inner.commands, inner.output = outer.commands, outer.output
        self.replace_state(inner)
        try:
            yield inner
        finally:
            self.replace_state(outer)

    def note_arguments(self) -> None:
        """The script's own arguments are used; asking how many there are does not count."""
        if not self.in_condition:
            self.script.takes_arguments = True

    def note_unset(self, name: str, line: int) -> None:
        self.report.unset(name, self.file, line or self.line)

    # --- texts and files ---

    def run_script(self, text: str) -> None:
        """The whole script; every cap and stray control flow ends here."""
        self.is_batch_job = any(line.startswith("#SBATCH") for line in text.splitlines()[:_HEADER_LINES])
        with suppress(ShellFlow):  # `exit`, or `break` outside a loop
            try:
                self.run_source(text, self.file)
            except LimitReached as reached:
                self._cut_short(str(reached))
            except RecursionError:
                self._cut_short("the text is nested too deeply")

    def _cut_short(self, reason: str) -> None:
        self.report.lint(
            "shell-limit", f"{reason}; what follows was not read", self.file, self.line, fix="split the script"
        )

    def finish(self) -> Script:
        self._steps = 0  # what was read before a cap was reached is still reported
        self.script.commands = self.state.commands
        self.script.env = self.variables.exported()
        self.script.flags = self._flag_variables()
        self.report.finish(self.state.variables)
        return self.script

    def _flag_variables(self) -> dict[str, list[Word]]:
        """Variables that hold flags: a file that only defines them is sourced by the script that launches."""
        found: dict[str, list[Word]] = {}
        for name, variable in self.state.variables.items():
            if not variable.file or variable.keyed:
                continue
            fields = self.expander.split(variable.value) if variable.items is None else variable.fields()
            words = [word_of(field) for field in fields]
            if sum(word.text.startswith("--") for word in words) >= MIN_FLAGS:
                found[name] = words
        return found

    def run_source(self, text: str, path: str) -> Status:
        """The text of a file, whose lines lints may look at."""
        saved, self._source_text = self._source_text, text
        try:
            return self._run_parsed(Parser(text, path))
        finally:
            self._source_text = saved

    def _run_parsed(self, parser: Parser) -> Status:
        self.charge(parser.end >> 5)
        program = parser.program()
        faults.report_syntax(self, parser)
        return self.sequence(program)

    def source_lines(self) -> list[str]:
        return self._source_text.split("\n")

    def run_value(self, value: Value) -> Status:
        """`eval TEXT`, `bash -c TEXT`: the words keep the lines on which their text was written."""
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
        with self.nested():
            return self._run_parsed(Parser(text_of(value), self.file, (starts, numbers)))

    def source(self, name: Value, raw: str, line: int, arguments: Items[Field]) -> Status:
        """`source file`, followed inside the allowed folder only."""
        found = self.folder.find(text_of(name), self.state.directory) if is_known(name) else None
        if found is None:
            self.report.assume(raw, self.file, line, "not followed")
            return OK
        if len(self.script.sources) >= MAX_INCLUDES or found.path in self.files:
            raise LimitReached(f"more than {MAX_INCLUDES} files are sourced, or a file sources itself")
        self.script.sources.append(found.shown)
        saved = self.state.positional, self.state.own_arguments
        if arguments:
            self.state.positional, self.state.own_arguments = tuple(arguments), False
        try:
            with self.nested(), self.in_file(found, [*self.files, found.path]):
                return self.run_source(found.text, found.shown)
        except ShellFlow as flow:
            if flow.kind != "return":
                raise
            return flow.status
        finally:
            if arguments:
                self.state.positional, self.state.own_arguments = saved

    @contextmanager
    def in_file(self, found: SourceFile, files: list[str]) -> Iterator[None]:
        saved = self.file, self.files
        self.file, self.files = found.shown, files
        try:
            yield
        finally:
            self.file, self.files = saved

    def source_path(self, index: str) -> str | None:
        """The path behind `${BASH_SOURCE[index]}`; index -1 is `$0`. None when it is not known, "" beyond the end."""
        if not self.folder.knows_place:
            return None
        if index == "-1":
            return self.files[0]
        if not index.isdigit():
            return None
        return self.files[-1 - int(index)] if int(index) < len(self.files) else ""

    # --- commands ---

    def sequence(self, node: Sequence) -> Status:
        status = OK
        for command, background in node.items:
            if background:
                with self.forked(keep_commands=True), suppress(ShellFlow):
                    self.run(command)
                status = OK
            else:
                status = self.run(command)
        return status

    def run(self, node: Node) -> Status:
        self.charge(_STEPS_PER_COMMAND)
        self.line = node.line
        self._deeper()
        try:
            self.last_status = _HANDLERS[type(node)](self, node)
        finally:
            self._depth -= 1
        return self.last_status

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
        if not fields:
            return self._assignments(node)
        self.charge(len(fields))
        with self._redirected(node.redirections):
            return self._command(node, fields, declared)

    def _test(self, node: Simple) -> Status:
        """`[ ... ]`: a name that was never set counts as empty, and the status tells that it did."""
        words = [word for word in node.words[1:] if type(word) is WordNode]
        with self._asking() as absent:
            fields = [field for word in words for field in self.tester.fields(word)]
            if fields and text_of(fields[-1].value) == "]":
                fields.pop()
            status = self.tester.test(fields)
            return status._replace(absent=status.absent + tuple(sorted(absent)))

    @contextmanager
    def _asking(self) -> Iterator[set[str]]:
        """While a condition is evaluated; yields the never-set names whose emptiness it uses."""
        saved, self.expander.absent = self.expander.absent, set()
        self.in_condition += 1
        try:
            yield self.expander.absent
        finally:
            self.expander.absent = saved
            self.in_condition -= 1

    def _assignments(self, node: Simple) -> Status:
        status = OK
        for assignment in node.assignments:
            self.line = assignment.line
            self.last_external = False
            self.variables.apply(assignment)
            if assignment.value is not None and type(assignment.value.parts[-1]) is CommandSubstitution:
                status = self.last_status
        return status

    def _command(self, node: Simple, fields: list[Field], declared: list[Assignment]) -> Status:
        self.line = node.line
        self.last_external = False
        status = self.inner_command(node, fields, declared)
        if status is None:
            self.last_external = True
            return self.programs.start(node, fields)
        return status

    def inner_command(
        self, node: Simple, fields: list[Field], declared: list[Assignment] | None = None
    ) -> Status | None:
        """Run a function or a builtin; None when the name is neither."""
        name = text_of(fields[0].value) if is_known(fields[0].value) else ""
        function = self.state.functions.get(name)
        if function is not None:
            with self.variables.temporary(node.assignments):
                return self._call(function, fields[1:])
        builtin = builtins.TABLE.get(name)
        if builtin is None:
            return None
        with self.variables.temporary(node.assignments if name in _TAKES_PREFIX else ()):
            return builtin(self, builtins.Call(node, fields, declared or []))

    def _call(self, function: Function, arguments: list[Field]) -> Status:
        state = self.state
        saved = state.positional, state.own_arguments, self.file
        state.positional, state.own_arguments = tuple(arguments), False
        self.file = function.file
        decisions = self.report.decisions
        try:
            with self.variables.locals(), self.branches.scope(function.line) as left_early:
                status = self.run(function.body)
        except ShellFlow as flow:
            if flow.kind != "return":
                raise
            status = flow.status
        finally:
            self.state.positional, self.state.own_arguments, self.file = saved
        if left_early:
            return Status(None, left_early[0])
        return status if self.report.decisions == decisions else status._replace(assumed=True)

    # --- lists and pipelines ---

    def _pipeline(self, node: Pipeline) -> Status:
        given = self.state.input
        status = OK
        last = len(node.commands) - 1
        if last == 0:
            return negated(self.run(node.commands[0]))
        for number, command in enumerate(node.commands):
            with self.forked(keep_commands=True) as inner:
                inner.input = given
                if number < last:
                    inner.output = Output()
                with suppress(ShellFlow):
                    status = self.run(command)
                if number < last and inner.output is not None:
                    given = None if inner.output.opaque is not None else tuple(inner.output.pieces)
        return negated(status) if node.negated else status

    def _and_or(self, node: AndOr) -> Status:
        status = self.run(node.first)
        raw = faults.source_of(node.first) or node.raw
        for op, command in node.rest:
            wanted = op == "&&"
            run = partial(self.run, command)
            if status.ok is None:
                status = self._open_list(status, raw, wanted, run, node.line)
                continue
            if status.assumed and not self.in_condition and not builtins.is_noop(self, command):
                self.report.assume(raw, self.file, node.line)
            if status.ok is wanted:
                right = self.branches.guessed(status, command.line, run)
                status = both(status, right) if wanted else either(status, right)
        return status

    def _open_list(self, status: Status, raw: str, wanted: bool, run: Callable[[], Status], line: int) -> Status:
        """`A && B` or `A || B` with an open A: it counts as false, and the other way is tried on a copy."""
        if not self.in_condition:
            self.report.assume(raw, self.file, line)
        if wanted:
            self.branches.choose(status, _skip, [run], line)
            return status
        results: list[Status] = []
        self.branches.choose(status, lambda: results.append(run()), [_skip], line)
        return either(status, results[-1]) if results else status

    # --- conditions ---

    def condition(self, node: Sequence) -> Status:
        self.in_condition += 1
        try:
            return self.sequence(node)
        finally:
            self.in_condition -= 1

    def _if(self, node: If) -> Status:
        """The first branch that is true is taken; the bodies of open branches before it are tried."""
        open_bodies: list[Callable[[], Status]] = []
        guess = OK
        names: tuple[str, ...] = ()
        taken: Sequence | None = node.otherwise
        for condition, body in node.branches:
            status = self.condition(condition)
            self._note_decision(status, condition, node.line)
            guess = Status(True, (), guess.assumed or status.assumed, guess.absent + status.absent)
            if status.ok is None:
                open_bodies.append(partial(self.sequence, body))
                names += status.names
            elif status.ok:
                taken = body
                break
        run = partial(self.sequence, taken) if taken is not None else _skip
        if open_bodies:
            return self.branches.choose(Status(None, tuple(dict.fromkeys(names))), run, open_bodies, node.line)
        return self.branches.guessed(guess, node.line, run)

    def _note_decision(self, status: Status, condition: Sequence, line: int) -> None:
        if status.ok is None or status.assumed:
            line = condition.items[0][0].line if condition.items else line
            outcome = "taken as true" if status.ok else "taken as false"
            self.report.assume(condition.raw, self.file, line, outcome)

    def _case(self, node: Case) -> Status:
        with self._asking() as absent:
            value = self.expander.value(node.word)
        self._forget_question(node.word)
        open_bodies: list[Callable[[], Status]] = []
        names: tuple[str, ...] = ()
        taken: Callable[[], Status] = _skip
        for number, item in enumerate(node.items):
            status = self._case_matches(value, item.patterns)
            body = partial(self._case_bodies, node, number)
            if status.ok:
                taken = body
                break
            if status.ok is None:
                open_bodies.append(body)
                names += status.names
        if open_bodies:
            self.report.assume(
                f"case {node.word.raw} in ...", self.file, node.line, "taken as none of the named values"
            )
            return self.branches.choose(Status(None, tuple(dict.fromkeys(names))), taken, open_bodies, node.line)
        return self.branches.guessed(Status(True, absent=tuple(sorted(absent))), node.line, taken)

    def _forget_question(self, word: WordNode) -> None:
        """`case $X` asks whether X is set: that alone is no fault."""
        for part in word.parts:
            if type(part) is Parameter and self.report.used_at(part.name) == part.line:
                self.report.forget_use(part.name, self.file, part.line)

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

    def _arithmetic(self, node: Arithmetic) -> Status:
        number, names = self.expander.number(node.expression)
        return Status(None, names) if number is None else OK if number else FAILED

    def _condition(self, node: Condition) -> Status:
        self.in_condition += 1
        try:
            return self.tester.condition(node.test)
        finally:
            self.in_condition -= 1

    # --- loops ---

    def _while(self, node: While) -> Status:
        with self.branches.scope(node.line):
            for _ in range(MAX_SHELL_LOOP):
                decisions, writes = self.report.decisions, self.variables.writes
                status = self.condition(node.condition)
                status = negated(status) if node.until else status
                if status.ok is None or (status.ok and status.guessed):
                    return self._open_end(node.condition.raw, status, node.body, node.line)
                if not status.ok:
                    return OK
                if not self._round(node.body):
                    return OK
                waits = self.report.decisions > decisions and node.condition.raw.strip() in _ENDLESS
                if waits or self.variables.writes == writes:
                    return OK  # only something outside the script ends this loop
        return self._too_many_rounds(node.line)

    def _open_end(self, raw: str, status: Status, body: Sequence, line: int) -> Status:
        """A loop whose condition cannot be decided is left; what one more round would change is unknown."""
        self.report.assume(raw, self.file, line, "taken as the end of the loop")
        self.branches.choose(status, _skip, [partial(self.sequence, body)], line)
        return OK

    def _too_many_rounds(self, line: int) -> Status:
        self.report.lint("shell-limit", f"only {MAX_SHELL_LOOP} rounds of this loop were read", self.file, line)
        return OK

    def _round(self, body: Sequence) -> bool:
        """Run the body of a loop once; False when the loop is to be left."""
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
        if node.menu:
            fields = fields[:1]
        with self.branches.scope(node.line):
            for field in fields[:MAX_SHELL_LOOP]:
                self.charge(1)
                if field.spread:
                    going = self._open_round(node, field)
                else:
                    self.variables.assign(node.name, field.value, line=field.line)
                    going = self._round(node.body)
                if not going:
                    break
        return self._too_many_rounds(node.line) if len(fields) > MAX_SHELL_LOOP else OK

    def _open_round(self, node: For, field: Field) -> bool:
        """A list item that may stand for any number of rounds: one round, and what it changes is unknown."""
        before = self.state.fork()
        names = names_of(field.value)
        self.variables.assign(node.name, (Piece(f"${{{node.name}}}", node.line, self.file, names),))
        going = self._round(node.body)
        self.state.merge([before], names, node.line, self.file)
        self.variables.changed()
        return going

    def _arithmetic_for(self, node: ArithmeticFor) -> Status:
        self.expander.number(node.start)
        endless = not node.condition.raw.strip()
        with self.branches.scope(node.line):
            for _ in range(MAX_SHELL_LOOP):
                number, names = (1, ()) if endless else self.expander.number(node.condition)
                if number is None:
                    raw = f"(({node.condition.raw.strip()}))"
                    return self._open_end(raw, Status(None, names), node.body, node.line)
                decisions = self.report.decisions
                if not number or not self._round(node.body):
                    return OK
                if endless and self.report.decisions > decisions:
                    return OK
                self.expander.number(node.step)
        return self._too_many_rounds(node.line)

    # --- grouping, redirections, functions ---

    def _group(self, node: Group) -> Status:
        if not node.subshell:
            return self.sequence(node.body)
        with self.forked(keep_commands=True):
            try:
                return self.sequence(node.body)
            except ShellFlow as flow:
                if flow.kind != "exit":
                    raise
                return flow.status

    def _define(self, node: Function) -> Status:
        self.state.functions[node.name] = node
        return OK

    def _redirected_node(self, node: Redirected) -> Status:
        with self._redirected(node.redirections):
            return self.run(node.command)

    @contextmanager
    def _redirected(self, redirections: list[Redirection]) -> Iterator[None]:
        """Input from here-documents and here-strings; output that goes to a file is not printed."""
        if not redirections:
            yield
            return
        given, output = self.state.input, self.state.output
        for redirection in redirections:
            self._redirect(redirection)
        try:
            yield
        finally:
            self.state.input, self.state.output = given, output

    def _redirect(self, redirection: Redirection) -> None:
        op = redirection.op
        if op in ("<<", "<<-"):
            self.state.input = self.expander.value(redirection.target)
        elif op == "<<<":
            text = self.expander.value(redirection.target)
            self.state.input = (*text, Piece("\n", redirection.line, self.file))
        elif op == "<":
            self.state.input = self._from_process(redirection.target)
        elif self.state.output is not None and _leaves_output(redirection):
            self.state.output = Output()

    def _from_process(self, target: WordNode) -> Value | None:
        """Input from `< <(...)`; a file is never read."""
        part = target.parts[0]
        if type(part) is ProcessSubstitution and len(target.parts) == 1:
            return self.captured(part.body)[0]
        return None

    # --- command substitution ---

    def substitute(self, part: CommandSubstitution) -> Value:
        """The text that `$(...)` prints, or a hole."""
        value, names = self.captured(part.body)
        if value is None:
            raw = shortened(part.raw)
            return (Piece(raw, part.line, self.file, names or (raw,)),)
        return value

    def captured(self, body: Sequence) -> tuple[Value | None, tuple[str, ...]]:
        """(what the commands print, ()) or (None, names of what would decide it)."""
        asking, self.in_condition = self.in_condition, 0
        status = OK
        try:
            with self.forked(keep_commands=False) as inner, self.nested():
                inner.output = printed = Output()
                inner.records = False
                try:
                    status = self.sequence(body)
                except ShellFlow as flow:
                    status = flow.status
                printed, started = self.state.output or printed, self.state.commands
        finally:
            self.in_condition = asking
        self.state.commands += started
        self.last_status = status
        if printed.opaque is not None:
            return None, printed.opaque
        return _without_final_newlines(tuple(printed.pieces)), ()


def _leaves_output(redirection: Redirection) -> bool:
    """Whether standard output goes elsewhere: to a file or to the error channel."""
    if redirection.fd not in ("", "1"):
        return False
    return redirection.op in (">", ">>", ">|", "&>", "&>>") or (
        redirection.op == ">&" and redirection.target.raw == "2"
    )


def _skip() -> Status:
    return OK


def _without_final_newlines(value: Value) -> Value:
    pieces = list(value)
    while pieces and not pieces[-1].names:
        stripped = pieces[-1].text.rstrip("\n")
        if stripped:
            pieces[-1] = pieces[-1]._replace(text=stripped)
            break
        pieces.pop()
    return tuple(pieces)


_HANDLERS: dict[type, Callable[[Interpreter, Any], Status]] = {
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
