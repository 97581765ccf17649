"""What an MCP client may read by address: notes, bugs, rules, skills, and the schemas of the answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from .configs.values import InputError

MARKDOWN, JSON = "text/markdown", "application/json"
_MOST_COMPLETIONS = 100  # the protocol's maximum


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource, or a template when its address has a {part}."""

    uri: str
    name: str
    title: str
    mime: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    mime: str
    text: str


TEMPLATES = (
    Listed("notebook://{+name}", "note", "A note of the notebook", MARKDOWN),
    Listed("bug://{id}", "bug", "A known bug: versions, fix, workaround, sources", JSON),
    Listed("rule://{id}", "rule", "A rule of validate_config, or one of the seeds' (D01-N17)", JSON),
    Listed("skill://{name}/SKILL.md", "skill", "A skill of this server", MARKDOWN),
    Listed("schema://{tool}", "schema", "The full schema of a tool's answer", JSON),
)


def listed() -> list[Listed]:
    """The notes and skills; bugs, rules and schemas are too many for a list and have templates."""
    from .lookup.notes import INDEX
    from .store import lookup as store

    notes = sorted(store.notes().values(), key=lambda note: (note["name"] != INDEX, note["name"]))
    rows = [Listed(f"notebook://{note['name']}", note["name"], note["title"], MARKDOWN) for note in notes]
    titles = {name: skill["title"] for name, skill in store.skills().items()}
    for entry in skill_entries():
        name, description = entry["frontmatter"]["name"], entry["frontmatter"]["description"]
        rows.append(Listed(entry["uri"], name, titles.get(name, name), MARKDOWN, description))
    return rows


def skill_entries() -> list[dict[str, Any]]:
    """One entry a skill, as the skills extension lists them: address, front matter, and each file with the sha256 and
    the size in bytes of what `read` returns."""
    import hashlib

    import yaml

    from .paths import data_dir

    found = []
    for path in sorted(data_dir("skills").glob("*/SKILL.md")):
        content = path.read_bytes()
        uri = f"skill://{path.parent.name}/SKILL.md"
        head = content.decode("utf-8").split("---\n", 2)[1]
        file = {"uri": uri, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}
        found.append({"uri": uri, "frontmatter": yaml.safe_load(head), "resources": [file]})
    return found


def read(uri: str) -> Content:
    """The text behind an address. Raises InputError when there is none."""
    match = re.fullmatch(r"(\w+)://(.+?)/?", uri)
    reader = _READERS.get(match[1]) if match else None
    if match is None or reader is None:
        raise InputError(f"no resource {uri!r}: there are {', '.join(row.uri for row in TEMPLATES)}")
    return reader(match[2])


def _note(name: str) -> Content:
    from .lookup.notes import note_name
    from .store import lookup as store

    found = note_name(name)
    if not found:
        raise InputError(f"no note {name!r}: resources/list has them all")
    return Content(MARKDOWN, store.note_text(found))


def _bug(name: str) -> Content:
    from .lookup.fixes import fixes

    return Content(JSON, _json(fixes(bug=name)["fixes"][0]))


def _rule(name: str) -> Content:
    from .render.rules import rule_data

    return Content(JSON, _json(rule_data(name)))


def _skill(name: str) -> str:
    """The text of a skill, or "" when it is not installed."""
    from .paths import data_dir
    from .store import lookup as store

    if name not in store.skills():
        return ""
    try:
        return (data_dir("skills") / name / "SKILL.md").read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _skill_content(path: str) -> Content:
    text = _skill(path.removesuffix("/SKILL.md"))
    if not text:
        raise InputError(f"no skill {path!r}: resources/list has them all")
    return Content(MARKDOWN, text)


def _schema(tool: str) -> Content:
    from .tools.schemas import ANSWERS, schema_of

    if tool not in ANSWERS:
        raise InputError(f"no schema {tool!r}: there are {', '.join(ANSWERS)}")
    return Content(JSON, _json(schema_of(tool)))


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1)


_READERS = {"notebook": _note, "bug": _bug, "rule": _rule, "skill": _skill_content, "schema": _schema}


def completions(scheme: str, typed: str) -> tuple[list[str], int]:
    """Names of a template's part that fit what was typed: those that begin with it, then those that contain it.

    Returns at most 100 of them, and how many there are.
    """
    from .store import lookup as store
    from .store.index import index
    from .tools.schemas import ANSWERS

    names: dict[str, list[str]] = {
        "notebook": list(store.notes()),
        "bug": list(store.bugs()),
        "rule": [rule["id"] for rule in index()["rules"]] + [row["id"] for row in index()["seed_rules"]],
        "skill": list(store.skills()),
        "schema": list(ANSWERS),
    }
    part = typed.strip().lower()
    found = [name for name in names.get(scheme, ()) if part in name.lower()]
    found.sort(key=lambda name: (not name.lower().startswith(part), name))
    return found[:_MOST_COMPLETIONS], len(found)
