"""What an interpretation tells beside the commands: lints, and the assumptions it had to make."""

from __future__ import annotations

from pathlib import Path

from ..values import Lint, Script
from .expansion import shortened
from .state import Variable

_Key = tuple[str, str, int, str]


class Report:
    """Collects lints and assumptions, each once per place."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.decisions = 0  # how often something was assumed; loops and functions look at it
        self._assumptions: dict[tuple[str, str, int], str] = {}
        self._lints: dict[_Key, Lint] = {}
        self._first_use: dict[str, int] = {}  # names used before they were set

    def lint(
        self, rule: str, message: str, file: str, line: int, severity: str = "warning", fix: str = "", about: str = ""
    ) -> None:
        self._lints.setdefault((rule, file, line, about), Lint(rule, message, file, line, severity, fix))

    def assume(self, raw: str, file: str, line: int, outcome: str = "taken as false") -> None:
        self.decisions += 1
        where = "" if file == self.script.path else f"{Path(file).name} "
        self._assumptions.setdefault((file, raw, line), f"{where}line {line}: `{shortened(raw)}` {outcome}")

    def unset(self, name: str, file: str, line: int) -> None:
        self._first_use.setdefault(name, line)
        message = f"${name} is not set before this line"
        self.lint("shell-unset-variable", message, file, line, "info", about=name)

    def required(self, name: str, message: str, file: str, line: int) -> None:
        text = f"the script needs {name}: {shortened(message)}"
        self.lint("shell-required-variable", text, file, line, "info", f"set {name} before the launch", name)

    def uses(self, name: str) -> bool:
        return name in self._first_use

    def forget_use(self, name: str, file: str = "", line: int = 0) -> None:
        """The use of a name was no fault; with a place, its lint goes, too."""
        self._first_use.pop(name, None)
        self._lints.pop(("shell-unset-variable", file, line, name), None)

    def used_at(self, name: str) -> int | None:
        return self._first_use.get(name)

    def snapshot(self) -> tuple[dict[_Key, Lint], dict[tuple[str, str, int], str], dict[str, int]]:
        """What has been collected, to be put back after a branch was only tried."""
        return dict(self._lints), dict(self._assumptions), dict(self._first_use)

    def restore(self, saved: tuple[dict[_Key, Lint], dict[tuple[str, str, int], str], dict[str, int]]) -> None:
        self._lints, self._assumptions, self._first_use = saved

    def finish(self, variables: dict[str, Variable]) -> None:
        """Put everything into the script."""
        self._mark_used_before_set(variables)
        self.script.assumptions = list(self._assumptions.values())
        self.script.lints = sorted(self._lints.values(), key=lambda lint: (lint.file, lint.line, lint.rule))

    def _mark_used_before_set(self, variables: dict[str, Variable]) -> None:
        for key, lint in list(self._lints.items()):
            rule, file, line, name = key
            variable = variables.get(name)
            if rule != "shell-unset-variable" or variable is None or name not in self._first_use:
                continue
            if variable.file == file and variable.present and variable.line > line:
                del self._lints[key]
                self.lint(
                    "shell-used-before-set",
                    f"${name} is used here, but the script sets it only in line {variable.line}",
                    file,
                    line,
                    "warning",
                    f"move the assignment of {name} above line {lint.line}",
                    name,
                )
