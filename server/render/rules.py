"""Rules of the compiled knowledge as text: the list, one rule with its sources, the canonical fields."""

from __future__ import annotations

import textwrap
from typing import Any

from ..checks.engine import version_text
from ..checks.expr import to_text
from ..configs.keys_suggest import hint
from ..configs.values import InputError
from ..store.index import index


def rule_data(rule_id: str) -> dict[str, Any]:
    """One rule or known-bad pair, its conditions as text. `rule_id` may be one of the seeds' ("D07").

    Raises InputError.
    """
    rules = {rule["id"]: rule for rule in (*index()["rules"], *index()["pair_rules"])}
    seeds = {row["id"]: row for row in index()["seed_rules"]}
    if rule_id.upper() in seeds:
        return dict(seeds[rule_id.upper()])
    if rule_id not in rules:
        raise InputError(f"no rule {rule_id!r}{hint(rule_id, list(rules), 60)}; `grpo-guard rules` lists them")
    rule = _readable(rules[rule_id])
    if "per_framework" in rule:
        rule["per_framework"] = {name: _readable(own) for name, own in rule["per_framework"].items()}
    return rule


def _readable(part: dict[str, Any]) -> dict[str, Any]:
    """A rule, or a framework's part of one, with its conditions as text."""
    return {name: to_text(value) if name in ("applies_when", "condition") else value for name, value in part.items()}


def rules_text() -> str:
    """All rules, one a line, with level, frameworks and versions."""
    lines = [
        f"{rule['severity']:<8} {rule['id']:<42} {', '.join(rule.get('frameworks', ['all']))}{_versions(rule)}"
        for rule in index()["rules"]
    ]
    return "\n".join([*lines, f"{len(lines)} rules; `grpo-guard rules ID` shows one with its sources"])


def _versions(rule: dict[str, Any]) -> str:
    return f"; {version_text(rule['affected'])}" if rule.get("affected") else ""


def rule_text(rule_id: str) -> str:
    """One rule as text. Raises InputError."""
    rule = rule_data(rule_id)
    if "answer" in rule:
        return _seed_text(rule)
    rows = {
        "level": f"{rule['severity']}, confidence {rule.get('confidence', 'high')}",
        "frameworks": ", ".join(rule.get("frameworks", ["all"])),
        "versions": _versions(rule).lstrip("; ") or "all",
        "applies when": rule.get("applies_when", "always"),
        "fault when": rule.get("condition", f"computed ({rule.get('code')})"),
        "message": rule.get("message", ""),
        "fix": (rule.get("fix") or {}).get("text", ""),
        "pattern": rule.get("pattern", ""),
        "seeds": ", ".join(rule.get("seed", ())),
        "bugs": ", ".join(rule.get("bugs", ())),
        "verdict": f"{rule['verdict']}, last verified {rule['last_verified']}",
    }
    lines = [f"{rule['id']}: {rule['title']}"]
    lines += [_row(name, value) for name, value in rows.items() if value]
    lines += [_row(f"in {name}", _differs(own)) for name, own in rule.get("per_framework", {}).items()]
    lines += [_row("source", f"{reference['url']} ({reference['kind']})") for reference in rule["references"]]
    return "\n".join(lines)


def _differs(own: dict[str, Any]) -> str:
    """What a framework has in the place of the rule's own."""
    rows = {
        "level": own.get("severity"),
        "applies when": own.get("applies_when"),
        "fault when": own.get("condition") or (f"computed ({own['code']})" if "code" in own else None),
        "message": own.get("message"),
        "fix": (own.get("fix") or {}).get("text"),
    }
    return "; ".join(f"{name}: {value}" for name, value in rows.items() if value)


def _seed_text(row: dict[str, Any]) -> str:
    lines = [f"{row['id']}: {row['title']} (the seeds: {row['why']})", _row("answer", row["answer"])]
    lines.append(_row("note", row["note"]))
    return "\n".join([*lines, _row("checks", ", ".join(row["checks"]) or "none: no setting decides it")])


def _row(name: str, value: str) -> str:
    return textwrap.fill(
        " ".join(value.split()), 100, initial_indent=f"  {name:<13} ", subsequent_indent=" " * 16,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def fields_text() -> str:
    """The canonical fields, one a line."""
    return "\n".join(f"{name:<32} {text}" for name, text in index()["fields"].items())
