"""Records of several lines below one with the step: NeMo-RL's bullets, EasyR1's YAML, AReaL's tables, SkyRL's dict."""

from __future__ import annotations

import re

from ..numbers import NUMBER, leading_number
from ..table import Table

_HEADS = (
    re.compile(r"^=+ *Step (\d+)/\d+ *=+$"),  # NeMo-RL
    re.compile(r"^Step (\d+)$"),  # EasyR1
    re.compile(r"\bTrain step (\d+)/\d+ done\."),  # AReaL
    re.compile(r"\bStep (\d+): *$"),  # SkyRL
)
_BULLET = re.compile(rf"^\s*• ([A-Za-z][\w .()-]*?): ({NUMBER})")
_YAML = re.compile(rf"^( *)([\w./@-]+):(?: +({NUMBER}|\.nan|[-+]?\.inf))?\s*$")
_PRINTED = re.compile(rf"^[ {{]'([^'\\]{{1,200}})': '?({NUMBER})'?[,}}]?$")
_CELL = re.compile(r"[│|]\s*([A-Za-z][\w./@-]*)\s*[│|]\s*([^│|\s]+)\s*(?=[│|])")
_LONGEST_BLOCK = 2_000  # lines


class Blocks:
    """Keeps what stands below the last head and hands it over at the next one, or at `finish`."""

    name = "blocks"
    framework = ""
    marks: tuple[str, ...] = ("Step ", "Train step ", "• ", "│")

    def __init__(self) -> None:
        self._step: float | None = None
        self._line = 0
        self._values: dict[str, float] = {}
        self._path: list[tuple[int, str]] = []
        self._yaml = False
        self._left = 0

    @property
    def waiting(self) -> bool:
        return self._step is not None

    def take(self, text: str, line: int, table: Table) -> bool:
        for expression in _HEADS:
            if found := expression.search(text):
                self.finish(table)
                self._step, self._line, self._left = float(found[1]), line, _LONGEST_BLOCK
                self._yaml = expression is _HEADS[1]
                return True
        if self._step is None:
            return False
        self._left -= 1
        if self._left < 0:
            self.finish(table)
            return False
        return (
            self._bullet(text)
            or self._table(text)
            or self._printed(text)
            or (self._yaml and self._yaml_line(text, table))
        )

    def finish(self, table: Table) -> None:
        """Hand over what stands open."""
        if self._step is not None and self._values:
            table.add(self._step, self._line, self._values)
        self._step, self._values, self._path = None, {}, []

    def _bullet(self, text: str) -> bool:
        found = _BULLET.match(text)
        if found:
            self.framework = "nemo-rl"
            self._values[found[1].lower()] = float(found[2])
        return found is not None

    def _table(self, text: str) -> bool:
        if "│" not in text:
            return False
        cells = [
            (name, value) for name, written in _CELL.findall(text) if (value := leading_number(written)) is not None
        ]
        if cells:
            self.framework = "areal"
            self._values.update(cells)
        return bool(cells)

    def _printed(self, text: str) -> bool:
        found = _PRINTED.match(text)
        if found:
            self.framework = self.framework or "skyrl"
            self._values[found[1]] = float(found[2])
        return found is not None

    def _yaml_line(self, text: str, table: Table) -> bool:
        found = _YAML.match(text)
        if found is None:
            if text.strip():
                self.finish(table)
            return False
        indent = len(found[1])
        self._path = [part for part in self._path if part[0] < indent]
        if found[3] is None:
            self._path.append((indent, found[2]))
        else:
            self.framework = "easyr1"
            written = found[3].replace(".nan", "nan").replace(".inf", "inf")
            self._values["/".join([*(name for _, name in self._path), found[2]])] = float(written)
        return True
