"""Versions of packages, compared the way pip compares them (the part of PEP 440 that releases use).

The standard library has no version type and `packaging` is not a dependency; this is small and fast.
"""

from __future__ import annotations

import re
from functools import lru_cache

Version = tuple[tuple[int, ...], int, int, int, int]
"""(epoch and release numbers, rank of the pre-release kind, its number, post number, development number)."""

_PATTERN = re.compile(
    r"""v?(?:(?P<epoch>\d+)!)?
        (?P<release>\d+(?:\.\d+)*)
        (?:[-_.]?(?P<pre>a|alpha|b|beta|rc|c|pre|preview)[-_.]?(?P<pre_n>\d*))?
        (?P<post>[-_.]?(?:post|rev|r)[-_.]?(?P<post_n>\d*)|-(?P<post_short>\d+))?
        (?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?
        (?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?""",
    re.VERBOSE,
)
_KIND = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_DEV_ONLY, _FINAL = -1, 3  # 1.0.dev1 < 1.0a1 < 1.0
_NO_DEV = 1 << 60
_CLAUSE = re.compile(r"\s*(<=|>=|==|!=|<|>)?\s*(\S+?)\s*")
_MAX_CHARS = 100


@lru_cache(maxsize=4096)
def parse(text: str) -> Version:
    """The sort key of a version: "0.8.0.dev0" < "0.8.0rc1" < "v0.8.0" = "0.8" = "0.8.0+cu121" < "0.8.0.post1".

    Raises ValueError when the text is no version.
    """
    match = _PATTERN.fullmatch(text.strip().lower()) if len(text) <= _MAX_CHARS else None
    if match is None:
        raise ValueError(f"not a version: {text[:_MAX_CHARS]!r}")
    numbers = [int(part) for part in match["release"].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    dev = int(match["dev_n"] or 0) if match["dev"] else _NO_DEV
    post = int(match["post_n"] or match["post_short"] or 0) if match["post"] else -1
    if match["pre"]:
        kind, pre = _KIND[match["pre"]], int(match["pre_n"] or 0)
    else:
        kind, pre = (_DEV_ONLY if match["dev"] and post < 0 else _FINAL), 0
    return (int(match["epoch"] or 0), *numbers), kind, pre, post, dev


def is_version(text: str) -> bool:
    """Whether `parse` accepts the text."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


def is_final(text: str) -> bool:
    """Whether the version is a release or post-release: no alpha, beta, candidate or development build."""
    _, kind, _, _, dev = parse(text)
    return kind == _FINAL and dev == _NO_DEV


def is_development(text: str) -> bool:
    """Whether the version is a development build (".dev")."""
    return parse(text)[-1] != _NO_DEV


def in_range(version: str, clauses: str) -> bool:
    """Whether the version satisfies every comma-separated clause, e.g. ">=0.7.1,<0.9.0"; "" allows all.

    A clause without an operator means "==". Development builds and candidates count by their place in the order
    (0.9.0rc1 is below 0.9.0), which is what a fix "in 0.9.0" means. Raises ValueError for a malformed side.
    """
    return all(_holds(parse(version), clause) for clause in clauses.split(",") if clause.strip())


def surely_in_range(version: str, clauses: str) -> bool | None:
    """As `in_range`, but None where a development build may lie on either side of a bound.

    0.8.0.dev names no commit: it is any state of the source after the line towards 0.8.0 began, at 0.7.0 the earliest.
    """
    answers = {in_range(point, clauses) for point in _span(version)}
    return answers.pop() if len(answers) == 1 else None


def _span(version: str) -> tuple[str, ...]:
    """Versions that stand for everything a version can mean: itself, and for a development build its first and last."""
    numbers, kind, _, _, _ = parse(version)
    if kind != _DEV_ONLY:
        return (version,)
    epoch, *release = numbers
    first = [*release[:-1], release[-1] - 1] if release[-1] > 0 else [0]
    return (_text(epoch, first), version, _text(epoch, release))


def _text(epoch: int, release: list[int]) -> str:
    return f"{epoch}!{'.'.join(map(str, release))}"


def _holds(version: Version, clause: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        raise ValueError(f"not a version clause: {clause[:_MAX_CHARS]!r}")
    bound = parse(match[2])
    match match[1]:
        case "<":
            return version < bound
        case "<=":
            return version <= bound
        case ">":
            return version > bound
        case ">=":
            return version >= bound
        case "!=":
            return version != bound
        case _:
            return version == bound
