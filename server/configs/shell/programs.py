"""Commands that are not part of the shell: recorded, unwrapped, and read on when they are shells themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...limits import MAX_INCLUDES
from ..values import Command, Word
from . import builtins, faults, launches
from .expansion import shortened
from .launches import word_set
from .pieces import EMPTY, Field, Piece, Value, is_known, text_of
from .state import OK, PROBE_FAILED, ShellFlow, Status, Variable
from .syntax import Simple
from .variables import word_of

if TYPE_CHECKING:
    from .evaluator import Interpreter

# Questions about the machine: their status counts as false.
_PROBES = word_set(
    """
    command which type hash nvidia-smi npu-smi rocm-smi rocminfo amd-smi xpu-smi pgrep lsof nc ping curl wget
    """
)
_PYTHON = frozenset({"python", "python3"})
_SUCCEEDING = word_set("mkdir rm rmdir touch sleep cp mv chmod chown ln sync tee")
_MAY_WRAP_BUILTINS = frozenset({"exec", "command", "builtin", "time", "nohup", "env"})
_Environment = Mapping[str, Word]


class Programs:
    """Records what the script would start."""

    def __init__(self, shell: Interpreter) -> None:
        self.shell = shell

    def start(self, node: Simple, fields: list[Field]) -> Status:
        """One external command with its arguments."""
        shell = self.shell
        words = [word_of(field) for field in fields]
        texts = [word.text for word in words]
        if launches.is_orphan(texts):
            faults.broken_continuation(shell, node.line, words)
        unwrapped = launches.unwrap(words)
        environment = self._environment(node, unwrapped)
        status = self._inner_shell(node, fields, unwrapped, environment)
        if status is None:
            status = self._behind_wrapper(node, fields, unwrapped)
        if status is None:
            launch = launches.is_launch([word.text for word in unwrapped.argv], unwrapped.via)
            if launch:
                self._record(unwrapped.argv, environment, node.line, tuple(unwrapped.wrapper), launch=True)
            else:
                self._record(words, environment, node.line)
            status = self._status(texts, launch)
        if texts[0] == "exec" and len(texts) > 1:
            raise ShellFlow("exit", node.line)  # the program replaces the shell
        return status

    def _environment(self, node: Simple, unwrapped: launches.Unwrapped) -> dict[str, Word]:
        exported = self.shell.variables.exported()
        if not node.assignments and not unwrapped.env:
            return exported
        prefix = {
            assignment.name: word_of(
                Field(self.shell.expander.value(assignment.value), assignment.line, self.shell.file)
            )
            for assignment in node.assignments
        }
        return {**exported, **prefix, **unwrapped.env}

    def _record(
        self,
        argv: list[Word],
        environment: dict[str, Word],
        line: int,
        wrapper: tuple[Word, ...] = (),
        launch: bool = False,
    ) -> None:
        state = self.shell.state
        if launch or state.records:
            state.commands.append(Command(argv, environment, self.shell.file, line, launch, wrapper))

    def _status(self, texts: list[str], launch: bool) -> Status:
        builtins.external_output(self.shell, texts)
        name = texts[0].rsplit("/", 1)[-1]
        if name in _PROBES or (name in _PYTHON and "-c" in texts[1:4]):
            return PROBE_FAILED
        if self.shell.in_condition and not launch and name not in _SUCCEEDING:
            return Status(None, (f"`{shortened(' '.join(texts[:4]))}`",))
        return OK

    def _behind_wrapper(self, node: Simple, fields: list[Field], unwrapped: launches.Unwrapped) -> Status | None:
        """`command cd x`, `time f`: the builtin or function behind the wrapper."""
        if unwrapped.via not in _MAY_WRAP_BUILTINS or not unwrapped.argv:
            return None
        return self.shell.inner_command(node, fields[len(fields) - len(unwrapped.argv) :])

    # --- shells ---

    def _inner_shell(
        self, node: Simple, fields: list[Field], unwrapped: launches.Unwrapped, environment: dict[str, Word]
    ) -> Status | None:
        """`bash -c TEXT`, `bash <<EOF`, `bash other.sh`, `sbatch ...`: None when there is no text to read."""
        argv = unwrapped.argv
        if not launches.runs_script(argv):
            return None
        fields = fields[len(fields) - len(argv) :]
        if unwrapped.script is not None:
            return self._run_text(fields[argv.index(unwrapped.script)].value, environment)
        if launches.program(argv[0]) == "sbatch":
            text = self._batch_text(node, fields, argv)
            if text is not None:
                self._record([word_of(field) for field in fields], environment, node.line)
                return self._run_text(text, environment)
        named = launches.script_argument(argv)
        if named is not None:
            return self._run_file(node, fields, named, environment)
        if launches.is_shell(argv[0]) and self.shell.state.input is not None:
            given, self.shell.state.input = self.shell.state.input, None
            return self._run_text(given, environment)
        return None

    def _batch_text(self, node: Simple, fields: list[Field], argv: list[Word]) -> Value | None:
        """TEXT of `sbatch --wrap=TEXT`, and of `COMMAND=TEXT sbatch ray.sub`, where the job script runs $COMMAND."""
        wrapped = launches.wrapped_text(argv)
        if wrapped is not None:
            return builtins.behind(fields[wrapped[0]].value, wrapped[1])
        given = [item for item in node.assignments if item.name == "COMMAND" and item.value is not None]
        return self.shell.expander.value(given[-1].value) if given else None

    def _run_text(self, text: Value, environment: _Environment) -> Status:
        return self._own_shell(environment, lambda: self.shell.run_value(text))

    def _run_file(self, node: Simple, fields: list[Field], named: int, environment: dict[str, Word]) -> Status | None:
        """`bash other.sh arguments`, for a file inside the allowed folder."""
        shell = self.shell
        name = fields[named].value
        found = shell.folder.find(text_of(name), shell.state.directory) if is_known(name) else None
        if found is None or found.path in shell.files or len(shell.script.sources) >= MAX_INCLUDES:
            return None
        self._record([word_of(field) for field in fields], environment, node.line)
        shell.script.sources.append(found.shown)

        def run() -> Status:
            shell.state.positional, shell.state.own_arguments = tuple(fields[named + 1 :]), False
            with shell.in_file(found, [found.path]):
                return shell.run_source(found.text, found.shown)

        return self._own_shell(environment, run)

    def _own_shell(self, environment: _Environment, run: Callable[[], Status]) -> Status:
        """Run a script in a shell of its own: it sees the environment only, and its variables are gone afterwards."""
        shell = self.shell
        with shell.forked(keep_commands=True), shell.nested():
            shell.state.variables = {name: _variable(word) for name, word in environment.items()}
            shell.state.functions = {}
            shell.variables.changed()
            try:
                return run()
            except ShellFlow:
                return OK


def _variable(word: Word) -> Variable:
    value = (Piece(word.text, word.line, word.file, word.unknown),) if word.text else EMPTY
    return Variable(value, exported=True, line=word.line, file=word.file)
