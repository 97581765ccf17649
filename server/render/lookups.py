"""Answers of the look-ups as text: what a terminal shows, and an MCP client that reads text only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Data = dict[str, Any]


def symptoms_text(data: Data) -> str:
    """One line a symptom in the map; a block a match for a query."""
    block = _match if data.get("query") else _map_line
    return _joined([line for row in data["symptoms"] for line in block(row)], data)


def _map_line(row: Data) -> Iterable[str]:
    yield f"{row['id']}: {row['title']} <- {', '.join(map(_cause, row['likely']))}"


def _match(row: Data) -> Iterable[str]:
    yield f"{row['id']} ({row['score']:.2f}): {row['title']}"
    yield from (f"  cause {_cause(cause)}: {cause.get('why', '')}" for cause in row["likely"])
    for name, label in (("question", "ask"), ("fix", "first aid"), ("not_a_fault_if", "no fault if")):
        yield from [f"  {label}: {row[name]}"] if row.get(name) else ()
    yield from (_claim(claim) for claim in row.get("claims", ()))
    yield from _sources(row)


def _cause(cause: Data) -> str:
    return str(cause.get("bug") or cause.get("rule") or cause.get("pattern"))


def _claim(claim: Data) -> str:
    return f"  the seeds say: {claim['says']} [{claim['answer']}]{_after(': ', claim.get('note'))}"


def playbook_text(data: Data) -> str:
    lines = [f"{data['topic']}: {data['title']}" if data["topic"] else data["title"]]
    lines += [data["says"]] if data.get("says") else []
    for number, step in enumerate(data["steps"], 1):
        lines.append(f"{number}. {step['do']}{_after(' (', step.get('why'), ')')}")
        lines += [f"     {step['command']}"] if step.get("command") else []
    lines += [f"not this if: {data['not_if']}"] if data.get("not_if") else []
    lines += [f"bug {bug['id']} [{bug['status']}]{_after(' ', bug.get('title'))}" for bug in data.get("bugs", ())]
    if data.get("kind") in ("overview", "framework"):
        named = (f"{row['id']}{_after(' ', row.get('bugs'))}" for row in data.get("patterns", ()))
        lines.append(f"patterns, with known bugs: {', '.join(named)}")
    return _joined([*lines, *_sources(data, "")], data)


def fixes_text(data: Data) -> str:
    rows = data["fixes"]
    lines: list[str] = []
    pattern = ""
    for row in rows:
        if row.get("pattern", "") != pattern and len(rows) > 1:
            pattern = row["pattern"]
            lines.append(f"== {pattern}")
        lines += _fix(row)
    return _joined(lines, data)


def _fix(row: Data) -> Iterable[str]:
    yield f"{row['bug']} [{_state(row)}] {row['title']}"
    if row.get("affected"):
        yield f"  affected: {'; '.join(f'{package} {bounds}' for package, bounds in row['affected'].items())}"
    for name in ("fix", "workaround", "mechanism", "trigger", "confirm"):
        yield from [f"  {name}: {row[name]}"] if row.get(name) else ()
    yield from (_claim(claim) for claim in row.get("claims", ()))
    yield from [f"  related: {', '.join(row['related'])}"] if row.get("related") else ()
    yield from (f"  open: {question}" for question in row.get("open_questions", ()))
    yield from [f"  checked {row['last_verified']}"] if row.get("last_verified") else ()
    yield from _sources(row)


def _state(row: Data) -> str:
    fixed = ", ".join(f"{package} {version}" for package, version in row.get("fixed_in", {}).items())
    return f"{row['status']} in {fixed}" if fixed and row["status"] == "fixed" else str(row["status"])


def avoid_text(data: Data) -> str:
    """The fragment to paste, then each line with its reason and source."""
    lines = [f"{data['framework']}, focus {data['focus']}{_after(': ', _value(data.get('versions', {})))}"]
    lines += [data["fragment"], ""] if data["fragment"] else []
    for line in data["lines"]:
        lines += [line["text"], f"  why: {line['why']}", f"  source: {line['source']}"]
    return _joined(lines, data)


def matrix_text(data: Data) -> str:
    lines = [f"view {data['view']}"]
    pattern = ""
    for cell in data["cells"]:
        lines += [f"== {cell['pattern']}"] if cell["pattern"] != pattern else []
        pattern = cell["pattern"]
        bugs = ", ".join(f"{bug['id']} [{_state(bug)}]" for bug in cell["bugs"])
        lines.append(f"  {cell['framework']}: {bugs}{_after(' and ', cell.get('more'), ' more')}")
    lines += [_flat(row) for row in data["rows"]]
    return _joined([*lines, *_sources(data, "")], data)


def _flat(row: Data) -> str:
    return " | ".join(f"{name}: {_value(value)}" for name, value in row.items() if value not in ("", [], {}))


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def explain_text(data: Data) -> str:
    lines: list[str] = []
    for link in data["chain"]:
        lines.append(f"{link['kind']} {link['id']}: {link['text']}")
        lines += _sources(link)
    return _joined(lines, data)


def skills_text(data: Data) -> str:
    lines = []
    for row in data["skills"]:
        matched = f', by "{row["matched"]}"' if row.get("matched") else ""
        lines.append(f"{row['name']} ({row['score']:.2f}{matched}): {row['title']}")
        lines.append(f"  tools: {', '.join(row['tools'])}")
        lines += [f"  note: {note}" for note in row.get("notes", ())]
        lines += [f"  $ {command}" for command in row.get("cli", ())]
    return _joined(lines, data)


def note_text(data: Data) -> str:
    """The text of a note, or one line for each note that was found."""
    lines = [data["text"]] if data["text"] else []
    for row in data.get("found", ()):
        place = _after(" / ", row.get("section"))
        ranges = ", ".join(f"{package} {bounds}" for package, bounds in row.get("applies_to", {}).items())
        lines.append(f"{row['uri']}{place}: {row.get('text') or row['title']}{_after(' (', ranges, ')')}")
    return _joined(lines, data)


def proof_text(data: Data) -> str:
    """One line for each proof in the list; for one its text, and its check line by line."""
    if "proofs" in data:
        return _joined(
            [f"{row['id']}: {row['title']} [{row['claim']}: {row['answer']}]" for row in data["proofs"]], data
        )
    check = data["check"]
    lines = [f"{data['id']}: {data['title']}"]
    lines += [_claim(claim) for claim in data.get("claims", [data | {"says": data["claim"]}])]
    lines += [data["statement"], *(f"  given: {text}" for text in data.get("assumptions", ()))]
    lines += [f"  {number}. {step}" for number, step in enumerate(data["derivation"], 1)]
    verdict = "passes" if check["pass"] else "FAILS"
    lines.append(f"check {verdict} in {check['seconds']} s{_after(': ', check.get('does'))}")
    lines += [_case(case) for case in check["cases"]]
    return _joined([*lines, *_sources(data, "")], data)


def _case(case: Data) -> str:
    within = f" (within {case['tolerance']:g})" if case["tolerance"] else ""
    outcome = "ok  " if case["pass"] else "FAIL"
    return f"  {outcome} {case['input']}: {_figure(case['got'])}, expected {_figure(case['expected'])}{within}"


def _figure(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _sources(row: Data, indent: str = "  ") -> list[str]:
    return [f"{indent}source: {url}" for url in row.get("references", ())]


def _after(before: str, text: Any, end: str = "") -> str:
    return f"{before}{text}{end}" if text else ""


def _joined(lines: Iterable[str], data: Data) -> str:
    return "\n".join([*lines, *(f"note: {note}" for note in data.get("notes", ()))])


TEXTS: dict[str, Callable[[Data], str]] = {
    "symptoms": symptoms_text,
    "playbook": playbook_text,
    "fixes": fixes_text,
    "avoid": avoid_text,
    "matrix": matrix_text,
    "explain": explain_text,
    "proof": proof_text,
    "match_skill": skills_text,
    "read_reference": note_text,
}
