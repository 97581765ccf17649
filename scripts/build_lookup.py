"""What the look-ups load (knowledge/lookup.json): bugs, patterns, symptoms, skills, notes, tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from knowledge_files import KNOWLEDGE, checked, conforms, load, ranges_of

from grpo_guard.lookup.matching import compile_phrasebook
from grpo_guard.lookup.words import Vocabulary
from grpo_guard.store import schema

# The seeds' 8 symptoms stand first, in the seeds' order: their position is part of the answer.
SEED_SYMPTOMS = (
    "nan in loss",
    "loss plateau",
    "gradient norm",
    "all rewards",
    "logprob mismatch",
    "eos",
    "oom on fsdp2",
    "moe nan",
)
TABLES = {
    "streams": schema.StreamTable,
    "fsdp": schema.FsdpTable,
    "moe": schema.MoeTable,
    "seed_matrix": schema.SeedMatrix,
    "on_demand": schema.OnDemand,
    "vocabulary": schema.Vocabulary,
}
PROOF_HEADINGS = ["Statement", "Assumptions", "Derivation", "Check"]
_HEADING = re.compile(r"^(#{1,4})\s+(.+?)\s*#*$")


def build_lookup() -> dict[str, Any]:
    """All look-up entries. Raises SystemExit naming the file and what is wrong in it."""
    tables = {name: table(name) for name in TABLES}
    words = tables["vocabulary"]
    vocabulary = Vocabulary(
        words["concepts"], words["stopwords"], words["decisive"], words["overshadowed"], words["contrary"]
    )
    bugs = {bug["id"]: bug for bug in map(compile_bug, sorted((KNOWLEDGE / "bugs").glob("*/*.yaml")))}
    symptoms, skills = all_symptoms(), rows_of(schema.Skill, KNOWLEDGE / "skills.yaml", "name")
    proofs = [compile_proof(path) for path in sorted((KNOWLEDGE / "proofs").glob("*.md"))]
    return {
        "bugs": bugs,
        "patterns": rows_of(schema.Pattern, KNOWLEDGE / "patterns.yaml", "id"),
        "symptoms": symptoms,
        "skills": skills,
        "notes": {path_name(path): compile_note(path, bugs) for path in sorted((KNOWLEDGE / "notebook").rglob("*.md"))},
        "proofs": proofs,
        "tables": tables,
        "avoid": compile_avoid(set(bugs)),
        "phrasebooks": {
            "symptoms": compile_phrasebook(
                {row["id"]: symptom_phrases(row) for row in symptoms},
                {row["id"]: [*row.get("metrics", []), row["id"]] for row in symptoms},
                vocabulary,
            ),
            "skills": compile_phrasebook(
                {row["name"]: [*row["triggers"], *row.get("more", [])] for row in skills},
                {row["name"]: [row["title"], row["name"]] for row in skills},
                vocabulary,
            ),
            "proofs": compile_phrasebook(
                {row["id"]: [row["title"], *row["phrasings"]] for row in proofs},
                {
                    row["id"]: [row["id"], row["statement"], *(claim["says"] for claim in row["claims"])]
                    for row in proofs
                },
                vocabulary,
            ),
        },
    }


def compile_avoid(bugs: set[str]) -> dict[str, Any]:
    """What `avoid` writes: rows of all files of knowledge/avoid/, how frameworks write settings, bugs told in words."""
    folder = KNOWLEDGE / "avoid"
    syntax = {
        name: conforms(schema.Syntax, row, folder / "syntax.yaml") for name, row in load(folder / "syntax.yaml").items()
    }
    files = [path for path in sorted(folder.glob("*.yaml")) if path.stem not in ("syntax", "topics")]
    rows = [row for path in files for row in rows_of(schema.Avoidance, path, "id")]
    rules = {path.stem for path in (KNOWLEDGE / "rules").glob("*.yaml")}
    for row in rows:
        if unknown := (set(row.get("rules", ())) - rules) | (set(row.get("bugs", ())) - bugs):
            raise SystemExit(f"avoid/{row['id']}: no rule or bug {', '.join(sorted(unknown))}")
    return {"rows": rows, "syntax": syntax, "topics": load(folder / "topics.yaml")}


def symptom_phrases(symptom: dict[str, Any]) -> list[str]:
    said = symptom["phrasings"]
    return [symptom["title"], *said["en"], *said.get("zh", []), *symptom.get("tokens", []), symptom.get("seed", "")]


def compile_bug(path: Path) -> dict[str, Any]:
    """A bug with its affected ranges as text: {"verl": [">=0.7.1,<0.9.0"]}."""
    bug = checked(schema.Bug, path)
    affected = bug.pop("affected", [])
    return bug | {
        "package": path.parent.name,
        "ranges": {entry["package"]: ranges_of(entry["events"]) for entry in affected},
    }


def rows_of(model: type[schema.Strict], path: Path, key: str) -> list[dict[str, Any]]:
    """The rows of a list file, whose `key` differs; [] while the file is not there."""
    if not path.exists():
        return []
    rows = [conforms(model, row, path) for row in load(path)]
    if len({row[key] for row in rows}) != len(rows):
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: a {key} stands twice")
    return rows


def all_symptoms() -> list[dict[str, Any]]:
    found = [checked(schema.Symptom, path) for path in sorted((KNOWLEDGE / "symptoms").glob("*.yaml"))]
    return sorted(found, key=lambda symptom: (seed_place(symptom.get("seed") or ""), symptom["id"]))


def seed_place(says: str) -> int:
    plain = re.sub(r"[^a-z0-9 ]", "", says.lower().replace("log-prob", "logprob"))
    matches = [place for place, start in enumerate(SEED_SYMPTOMS) if plain.startswith(start)]
    return matches[0] if matches else len(SEED_SYMPTOMS)


def table(name: str) -> Any:
    """A table of knowledge/tables/, or its empty form while the file is not there."""
    path = KNOWLEDGE / "tables" / f"{name}.yaml"
    if not path.exists():
        return TABLES[name]().model_dump(mode="json")
    return conforms(TABLES[name], load(path), path)


def compile_note(path: Path, bugs: dict[str, Any]) -> dict[str, Any]:
    """Front matter of a note, the bugs that it speaks of, and where in the file's text each section stands."""
    text = path.read_text(encoding="utf-8")
    head, body_at = front_matter(text, path)
    note = conforms(schema.NoteHead, head, path)
    named = [] if path_name(path) == "auto-memory" else [name for name, bug in bugs.items() if speaks_of(text, bug)]
    places = {"sections": sections_of(text, body_at), "start": body_at, "end": len(text)}
    return note | places | {"name": path_name(path), "bugs": named}


def path_name(path: Path) -> str:
    return path.relative_to(KNOWLEDGE / "notebook").with_suffix("").as_posix()


def speaks_of(text: str, bug: dict[str, Any]) -> bool:
    """Whether a text names the bug, by its id or by the address of its issue or pull request."""
    threads = [reference["url"] for reference in bug["references"] if reference["kind"] in ("issue", "pull")]
    return any(re.search(rf"{re.escape(name)}(?![\w.-]*\d)", text) for name in (bug["id"], *threads))


def compile_proof(path: Path) -> dict[str, Any]:
    """Front matter of a proof, its text by heading, and "about": the ids of what it stands behind."""
    text = path.read_text(encoding="utf-8")
    raw, start = front_matter(text, path)
    head = conforms(schema.Proof, raw, path)
    if head["id"] != path.stem:
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: id {head['id']!r} differs from the file name")
    blocks = re.split(r"^## (.+)\n", text[start:], flags=re.MULTILINE)
    said = dict(zip(blocks[1::2], blocks[2::2], strict=True))
    if list(said) != PROOF_HEADINGS or blocks[0].strip():
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: the headings are {', '.join(PROOF_HEADINGS)}, in this order")
    return head | {
        "about": [name for part in ("rules", "bugs", "patterns", "seed") for name in head.get(part, ())],
        "statement": " ".join(said["Statement"].split()),
        "assumptions": items(said["Assumptions"], r"- "),
        "derivation": items(said["Derivation"], r"\d+\. "),
        "check": " ".join(said["Check"].split()),
    }


def items(text: str, mark: str) -> list[str]:
    """The items of a Markdown list, each on one line."""
    return [" ".join(item.split()) for item in re.split(rf"^{mark}", text, flags=re.MULTILINE) if item.strip()]


def front_matter(text: str, path: Path) -> tuple[dict[str, Any], int]:
    match = re.match(r"---\n(.*?)\n---\n+", text, re.DOTALL)
    if match is None:
        raise SystemExit(f"{path.relative_to(KNOWLEDGE)}: no front matter between two lines of ---")
    return yaml.safe_load(match[1]), match.end()


def sections_of(text: str, start: int) -> list[dict[str, Any]]:
    """Headings with their level and the part of the text up to the next heading of the same or a higher level."""
    found: list[dict[str, Any]] = []
    fenced, at = False, start
    for line in text[start:].splitlines(keepends=True):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            found.append({"title": heading[2], "level": len(heading[1]), "start": at})
        at += len(line)
    for place, section in enumerate(found):
        later = (other["start"] for other in found[place + 1 :] if other["level"] <= section["level"])
        section["end"] = next(later, len(text))
    return found
