"""Assignments: scalars, arrays, tables, exports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..values import Word
from .pieces import EMPTY, Field, Piece, Value, is_known, names_of, text_of
from .state import Variable
from .syntax import ArrayItem, Assignment, WordNode

if TYPE_CHECKING:
    from .evaluator import Interpreter


def word_of(field: Field) -> Word:
    return Word(text_of(field.value), field.line, field.file, names_of(field.value))


class Variables:
    """Writes to the variables of the interpreter's current state. Reading is the expander's work."""

    def __init__(self, shell: Interpreter) -> None:
        self.shell = shell
        self.writes = 0
        self.frames: list[dict[str, Variable | None]] = []  # what the locals of each running function hide
        self._exported: dict[str, Word] | None = None

    def assign(self, name: str, value: Value, *, append: bool = False, line: int = 0) -> None:
        self.writes += 1
        shell = self.shell
        old = shell.state.variables.get(name)
        if old is not None and old.items is not None:
            self.assign_item(name, "0", value, append=append)
            return
        if append and old is not None and old.present:
            value = self._appended(old, value)
        elif old is not None and old.integer:
            value = self._integer(value)
        self._exported = None
        shell.state.variables[name] = Variable(
            shell.expander.checked(value),
            exported=bool(old and old.exported),
            integer=bool(old and old.integer),
            line=line or shell.line,
            file=shell.file,
        )

    def _appended(self, old: Variable, value: Value) -> Value:
        if not old.integer:
            return old.value + value
        return self._integer((*old.value, Piece("+", self.shell.line, self.shell.file), *value))

    def _integer(self, value: Value) -> Value:
        """What an integer variable (`declare -i`) makes of the text assigned to it."""
        number, _ = self.shell.expander.number_of(value, self.shell.line)
        return (Piece(str(number), self.shell.line, self.shell.file),) if number is not None else value

    def assign_item(self, name: str, index: str, value: Value, *, append: bool = False) -> None:
        """`name[index]=value`; an index that is not known leaves the array with an open end."""
        self.writes += 1
        shell = self.shell
        old = shell.state.variables.get(name) or Variable(items={})
        items: dict[int | str, Field] = dict(old.items or {})
        shell.charge(len(items) >> 5)
        if old.items is None and old.value:
            items[0] = Field(old.value, old.line, old.file)
        key: int | str | None = index if old.keyed else shell.expander.index_number(index, items)
        if key is None:
            gap = (Piece(f"${{{name}[@]}}", shell.line, shell.file, (name,)),)
            items[_next_index(items)] = Field(gap, shell.line, shell.file, True)
        else:
            if append and key in items:
                value = items[key].value + value
            items[key] = Field(value, shell.line, shell.file)
        shell.state.variables[name] = replace(old, items=items, value=EMPTY, present=True)

    def assign_array(self, name: str, fields: Sequence[Field], *, append: bool = False, line: int = 0) -> None:
        self.writes += 1
        shell = self.shell
        old = shell.state.variables.get(name)
        items: dict[int | str, Field] = {}
        if append and old is not None:
            if old.items is not None:
                items = dict(old.items)
            elif old.value:
                items = {0: Field(old.value, old.line, old.file)}
        shell.charge((len(items) >> 5) + len(fields))
        start = _next_index(items)
        items.update((start + offset, field) for offset, field in enumerate(fields))
        exported = bool(old and old.exported)
        shell.state.variables[name] = Variable(items=items, exported=exported, line=line or shell.line, file=shell.file)

    def export(self, name: str, exported: bool = True) -> None:
        variable = self.shell.state.variables.get(name)
        if variable is not None:
            self.shell.state.variables[name] = replace(variable, exported=exported)
        self._exported = None

    def unset(self, name: str) -> None:
        self.writes += 1
        self.shell.state.variables[name] = Variable(present=False, line=self.shell.line, file=self.shell.file)
        self._exported = None

    def changed(self) -> None:
        """The state was replaced as a whole."""
        self._exported = None

    def exported(self) -> dict[str, Word]:
        """The exported variables as words, built once per change."""
        if self._exported is None:
            self._exported = {
                name: word_of(Field(variable.value, variable.line, variable.file))
                for name, variable in self.shell.state.variables.items()
                if variable.exported and variable.items is None and variable.present
            }
        return self._exported

    # --- assignments of the source ---

    def apply(self, assignment: Assignment, *, exported: bool = False) -> None:
        """One `name=value`, `name=(...)` or `name[i]=value`."""
        name, report = assignment.name, self.shell.report
        used_before = report.uses(name)
        if assignment.items is not None:
            self._apply_items(assignment, assignment.items)
        else:
            value = self.shell.expander.value(assignment.value)
            if assignment.index is not None:
                self.assign_item(name, self._index_text(assignment.index), value, append=assignment.append)
            else:
                self.assign(name, value, append=assignment.append, line=assignment.line)
        if not used_before and report.uses(name):
            report.forget_use(name)  # `A=$A:more` extends what comes from outside
        if exported:
            self.export(name)

    def _index_text(self, index: WordNode) -> str:
        value = self.shell.expander.value(index)
        return text_of(value) if is_known(value) else "\0"  # which is no number, so the index stays open

    def _apply_items(self, assignment: Assignment, items: list[ArrayItem]) -> None:
        shell, name = self.shell, assignment.name
        old = shell.state.variables.get(name)
        keyed = bool(old and old.keyed)
        if not keyed and all(item.subscript is None for item in items):
            fields = [field for item in items for field in shell.expander.fields(item.word)]
            self.assign_array(name, fields, append=assignment.append, line=assignment.line)
            return
        if not assignment.append or old is None:
            shell.state.variables[name] = Variable(
                items={}, keyed=keyed, exported=bool(old and old.exported), line=assignment.line, file=shell.file
            )
        for item in items:
            shell.line = item.word.line or assignment.line
            if item.subscript is None:
                self.assign_array(name, shell.expander.fields(item.word), append=True, line=assignment.line)
            else:
                self.assign_item(name, self._index_text(item.subscript), shell.expander.value(item.word))

    @contextmanager
    def temporary(self, assignments: Sequence[Assignment]) -> Iterator[None]:
        """Assignments in front of a builtin or a function hold while it runs."""
        if not assignments:
            yield
            return
        saved = {assignment.name: self.shell.state.variables.get(assignment.name) for assignment in assignments}
        for assignment in assignments:
            self.apply(assignment, exported=True)
        try:
            yield
        finally:
            self._put_back(saved)

    @contextmanager
    def locals(self) -> Iterator[None]:
        """The body of a function: what `local` hides in it comes back at its end."""
        self.frames.append({})
        try:
            yield
        finally:
            self._put_back(self.frames.pop())

    def hide(self, name: str) -> None:
        """`local name`: remember the outer variable, once per function."""
        if self.frames:
            self.frames[-1].setdefault(name, self.shell.state.variables.get(name))

    def _put_back(self, saved: dict[str, Variable | None]) -> None:
        for name, variable in saved.items():
            if variable is None:
                self.shell.state.variables.pop(name, None)
            else:
                self.shell.state.variables[name] = variable
        self._exported = None


def _next_index(items: dict[int | str, Field]) -> int:
    return max([key for key in items if isinstance(key, int)], default=-1) + 1
