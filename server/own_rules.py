"""Rules of a project: files in the form of knowledge/rules, checked by the same schema and the same closed expression
language. They run no code."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from .checks.expr import ExpressionError, fields_of, parse
from .configs.files import printable, read_text
from .configs.values import InputError
from .limits import MAX_CONDITION_CHARS, MAX_DEPTH, MAX_OWN_RULES
from .store.index import index, section
from .store.versions import in_range


def read_rules(folder: Path, top: Path) -> tuple[dict[str, Any], ...]:
    """The compiled rules of a folder, by file name. Files are read inside `top` only.

    Raises InputError with file and cause.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
        stamps = tuple((path, (status := path.stat()).st_mtime_ns, status.st_size) for path in files)
    except OSError as error:
        raise InputError(f"{printable(folder)}: cannot be read ({error.strerror or 'I/O error'})") from None
    return _compiled_rules(stamps, folder, top)


@lru_cache(maxsize=8)
def _compiled_rules(stamps: tuple[tuple[Path, int, int], ...], folder: Path, top: Path) -> tuple[dict[str, Any], ...]:
    """As `read_rules`; files are read again when one of them has changed."""
    if len(stamps) > MAX_OWN_RULES:
        raise InputError(f"{printable(folder)}: more than {MAX_OWN_RULES} rules")
    taken = {entry["id"] for group in ("rules", "bug_rules") for entry in index()[group]} | set(index()["lints"])
    rules = []
    for file, _, _ in stamps:
        if not file.resolve().is_relative_to(top):
            raise InputError(f"{printable(file)}: leads out of the project folder")
        rule = _rule(file)
        if rule["id"] in taken:
            raise InputError(f"{printable(file)}: there is a rule {rule['id']} already; choose another id")
        taken.add(rule["id"])
        rules.append(rule)
    return tuple(rules)


def _rule(file: Path) -> dict[str, Any]:
    entry = _loaded(file)
    _require_schema(entry, file)
    if "code" in entry:
        raise InputError(f"{printable(file)}: own rules have a condition; `code` is for rules of the program")
    if entry.get("per_framework"):
        raise InputError(
            f"{printable(file)}: per_framework: a rule of a project is one for all; write one rule for each"
        )
    for name in ("applies_when", "condition"):
        if name in entry:
            entry[name] = _compiled(entry[name], f"{printable(file)}: {name}")
    _require_fields(entry, file)
    _require_ranges(entry.get("affected", {}), file)
    return entry


def _loaded(file: Path) -> dict[str, Any]:
    from .configs.yaml_text import read_yaml

    data = read_yaml(read_text(file), printable(file)).data
    if not isinstance(data, dict):
        raise InputError(f"{printable(file)}: no mapping; a rule has id, title, severity, condition, anchor, message")
    for name in ("applies_when", "condition"):
        if isinstance(data.get(name), str) and len(data[name]) > MAX_CONDITION_CHARS:
            raise InputError(f"{printable(file)}: {name} is longer than {MAX_CONDITION_CHARS} characters")
    return data


def _require_schema(entry: dict[str, Any], file: Path) -> None:
    from .store.schema import fault_of_rule

    if fault := fault_of_rule(entry):
        raise InputError(f"{printable(file)}: {printable(fault, 300)}")


def _compiled(text: str, where: str) -> Any:
    try:
        node = parse(text)
    except ExpressionError as error:
        raise InputError(f"{where}: {printable(error, 200)}") from None
    if _depth(node) > MAX_DEPTH:
        raise InputError(f"{where}: nested deeper than {MAX_DEPTH} levels")
    return node


def _depth(node: Any) -> int:
    """Levels of a compiled expression, counted without recursion."""
    depth, level = 0, [node]
    while level:
        depth += 1
        level = [child for parent in level for child in parent[1:] if isinstance(child, list)]
    return depth


def _require_fields(rule: dict[str, Any], file: Path) -> None:
    """Every field that the rule names must exist: a misspelt one would never be decided."""
    from .configs.keys_suggest import hint

    known = section("fields")
    fix = rule.get("fix") or {}
    named: list[Iterable[str]] = [fields_of(rule[name]) for name in ("applies_when", "condition") if name in rule]
    named += [fix.get("edits", ()), fix.get("remove", ())]
    anchor = rule.get("anchor", "")
    named.append([anchor] if anchor and not anchor.startswith("env.") else [])
    for name in sorted({name for group in named for name in group}):
        if name not in known:
            what = f"no field {printable(name, 60)}{hint(name, known, 60)}"
            raise InputError(f"{printable(file)}: {what}; see `grpo-guard rules --fields`")


def _require_ranges(affected: dict[str, Any], file: Path) -> None:
    for package, bounds in affected.items():
        for spec in [bounds] if isinstance(bounds, str) else bounds:
            try:
                in_range("1.0", spec)
            except ValueError as error:
                raise InputError(f"{printable(file)}: affected.{package}: {printable(error, 120)}") from None
