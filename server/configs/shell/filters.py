"""Text tools on known input (`tr`, `cut`, `sed s///`, `wc` ...), as far as their arguments are understood.

Each takes its arguments and its input and returns the output, or None: then the output stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...limits import MAX_SHELL_LOOP

Filter = Callable[[Sequence[str], str], str | None]
_SED = re.compile(r"s([/#|,@:!])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1([g]?)\Z", re.DOTALL)
_REGEX_CHARACTERS = re.compile(r"(?<!\\)[.*\[\]^$]|\\[^/#|,@:!.*\[\]^$\\&-]")
_AWK_FIELD = re.compile(r"\s*\{\s*print\s+(\$?\w+)\s*;?\s*\}\s*\Z")


def _tr(arguments: Sequence[str], text: str) -> str | None:
    options = [word for word in arguments if word.startswith("-") and len(word) > 1]
    sets = [_characters(word) for word in arguments if word not in options]
    if options == ["-d"] and len(sets) == 1 and sets[0] is not None:
        return "".join(char for char in text if char not in sets[0])
    if options or len(sets) != 2 or not sets[0] or not sets[1]:
        return None
    first, second = sets[0], sets[1]
    second += second[-1] * (len(first) - len(second))
    return text.translate({ord(old): new for old, new in zip(first, second, strict=False)})


def _characters(word: str) -> str | None:
    word = word.replace("\\n", "\n").replace("\\t", "\t")
    for name, expanded in (("[:upper:]", "A-Z"), ("[:lower:]", "a-z"), ("[:digit:]", "0-9"), ("[:space:]", " \t\n\r")):
        word = word.replace(name, expanded)
    if "[:" in word or "\\" in word:
        return None
    ranges = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")
    return ranges.sub(lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), word)


def _cut(arguments: Sequence[str], text: str) -> str | None:
    found = re.fullmatch(r"(?:-d\s?(.)\s)?-f\s?(\d+)(?:\s-d\s?(.))?", " ".join(arguments))
    if found is None:
        return None
    delimiter, number = found[1] or found[3] or "\t", int(found[2])
    lines = []
    for line in text.splitlines():
        parts = line.split(delimiter)
        lines.append(line if len(parts) == 1 else parts[number - 1] if 0 < number <= len(parts) else "")
    return "".join(line + "\n" for line in lines)


def _head(arguments: Sequence[str], text: str) -> str | None:
    count = _line_count(arguments)
    return None if count is None else "".join(text.splitlines(keepends=True)[:count])


def _tail(arguments: Sequence[str], text: str) -> str | None:
    count = _line_count(arguments)
    return None if count is None else "".join(text.splitlines(keepends=True)[-count:] if count else [])


def _line_count(arguments: Sequence[str]) -> int | None:
    found = re.fullmatch(r"(?:-n\s?|-)(\d{1,6})|", " ".join(arguments))
    return None if found is None else int(found[1] or 10)


def _wc(arguments: Sequence[str], text: str) -> str | None:
    counts = {"-l": text.count("\n"), "-w": len(text.split()), "-c": len(text.encode()), "-m": len(text)}
    return f"{counts[arguments[0]]}\n" if len(arguments) == 1 and arguments[0] in counts else None


def _sed(arguments: Sequence[str], text: str) -> str | None:
    scripts = [word for word in arguments if word not in ("-e", "-E", "-r")]
    found = _SED.match(scripts[0]) if len(scripts) == 1 else None
    if found is None or _REGEX_CHARACTERS.search(found[2]) or re.search(r"(?<!\\)&|\\\d", found[3]):
        return None
    if ("-E" in arguments or "-r" in arguments) and re.search(r"[+?(){}|]", found[2]):
        return None
    old, new = (re.sub(r"\\(.)", r"\1", part) for part in (found[2], found[3]))
    return "".join(line.replace(old, new, -1 if found[4] else 1) for line in text.splitlines(keepends=True))


def _awk(arguments: Sequence[str], text: str) -> str | None:
    found = re.fullmatch(r"(?:-F\s?(\S)\s)?(.*)", " ".join(arguments), re.DOTALL)
    printed = _AWK_FIELD.match(found[2]) if found else None
    if found is None or printed is None:
        return None
    lines = []
    for line in text.splitlines():
        parts = line.split(found[1]) if found[1] else line.split()
        if printed[1] == "NF":
            lines.append(str(len(parts)))
        elif printed[1] in ("$0", "$NF"):
            lines.append(line if printed[1] == "$0" else parts[-1] if parts else "")
        elif re.fullmatch(r"\$\d{1,4}", printed[1]):
            number = int(printed[1][1:])
            lines.append(parts[number - 1] if number <= len(parts) else "")
        else:
            return None
    return "".join(line + "\n" for line in lines)


def _xargs(arguments: Sequence[str], text: str) -> str | None:
    return None if arguments or any(char in text for char in "'\"\\") else " ".join(text.split()) + "\n"


def _cat(arguments: Sequence[str], text: str) -> str | None:
    return text if all(word == "-" for word in arguments) else None


def _paste(arguments: Sequence[str], text: str) -> str | None:
    found = re.fullmatch(r"(?:-s\s?)(?:-d\s?(.))?(?:\s-)?|-sd(.)(?:\s-)?", " ".join(arguments))
    return None if found is None else (found[1] or found[2] or "\t").join(text.splitlines()) + "\n"


FILTERS: dict[str, Filter] = {
    "tr": _tr, "cut": _cut, "head": _head, "tail": _tail, "wc": _wc, "sed": _sed, "awk": _awk, "gawk": _awk,
    "xargs": _xargs, "cat": _cat, "paste": _paste,
}  # fmt: skip


def sequence_of_numbers(arguments: Sequence[str]) -> str | None:
    """What `seq` prints for whole numbers."""
    separator = "\n"
    rest = list(arguments)
    if rest[:1] == ["-s"] and len(rest) > 1:
        separator = rest[1]
        rest = rest[2:]
    if not 1 <= len(rest) <= 3 or not all(re.fullmatch(r"-?\d{1,12}", word) for word in rest):
        return None
    numbers = [int(word) for word in rest]
    first, step, last = {1: (1, 1, numbers[-1]), 2: (numbers[0], 1, numbers[-1])}.get(len(rest), tuple(numbers))
    if step == 0 or abs(last - first) // abs(step) >= MAX_SHELL_LOOP:
        return None
    texts = [str(number) for number in range(first, last + (1 if step > 0 else -1), step)]
    return separator.join(texts) + "\n" if texts else ""
