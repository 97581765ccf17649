"""read_reference: a note, a section of it, the notes of a framework, or where words stand in all notes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from ..configs.values import InputError
from ..store import lookup as store
from . import entries, names
from .answers import NoteAnswer, NoteRow, to_data
from .short import short
from .symptoms import vocabulary
from .words import latin_words

PAGE_CHARS = 2_200
INDEX = "auto-memory"
_SCHEME = "notebook://"
_FOUND = {"brief": 5, "normal": 15}
_SNIPPET = {"brief": 220, "normal": 500, "full": 1_000}


def read_reference(
    name: str = "",
    section: str = "",
    search: str = "",
    framework: str = "",
    offset: int = 0,
    chars: int | None = None,
    detail: str = "full",
) -> dict[str, Any]:
    """What was asked for; without arguments the list of notes.

    offset, chars: which part of a long note or section; without `chars` a page, or everything with detail "full".
    Raises InputError for a note, section or framework that is not there.
    """
    if search.strip():
        return to_data(_search(search, _note(name) if name.strip() else "", detail))
    size = chars or (PAGE_CHARS if detail == "brief" else None)
    if (
        not framework.strip()
        and not note_name(name)
        and names.framework(name) in store.table("on_demand")["frameworks"]
    ):
        name, framework = "", name  # `read verl` means its notes
    if framework.strip():
        return to_data(_of_framework(framework, size))
    if name.strip():
        return to_data(_read(_note(name), section, offset, size))
    if section.strip():
        return to_data(_read(*_by_section(section), offset, size))
    rows = [_row(note) for note in _index_first()]
    for row in rows if detail == "brief" else ():
        row.applies_to = {}
    return to_data(NoteAnswer(title="Notes", found=rows, notes=[f"start with {_SCHEME}{INDEX}"] if rows else []))


def note_name(text: str) -> str:
    """The note that a path, URI, file name or title names; "" when none does."""
    plain = text.strip().removeprefix(_SCHEME).removeprefix("knowledge/").removeprefix("notebook/").removesuffix(".md")
    plain = plain.strip("/").lower()
    for known, note in store.notes().items():
        if plain in (known.lower(), known.rpartition("/")[2].lower(), note["title"].lower()):
            return known
    return ""


def _note(text: str) -> str:
    found = note_name(text) or _nearly(text)
    if not found:
        shown = ", ".join(known.rpartition("/")[2] for known in store.notes())
        raise InputError(f"no note {text!r}: there are {short(shown, 600)}")
    return found


def _nearly(text: str) -> str:
    """A misspelt or shortened name, when exactly one note is like it."""
    from rapidfuzz import fuzz

    plain = text.strip().lower()
    scores = {
        known: max(fuzz.ratio(plain, known.rpartition("/")[2]), fuzz.token_set_ratio(plain, note["title"].lower()))
        for known, note in store.notes().items()
    }
    best = sorted((known for known in scores if scores[known] >= 80), key=lambda known: (-scores[known], known))
    return best[0] if best and (len(best) == 1 or scores[best[0]] > scores[best[1]]) else ""


def _read(name: str, section: str, offset: int, size: int | None) -> NoteAnswer:
    note, text = store.notes()[name], store.note_text(name)
    start, end = note["start"], note["end"]
    title = note["title"]
    if section.strip():
        chosen = _section(note, section)
        start, end = chosen["start"], chosen["end"]
        title = f"{title}: {chosen['title']}"
    body = text[start:end].rstrip()
    page = _page(body, offset, size)
    stop = offset + len(page)
    more = stop < len(body)
    return NoteAnswer(
        uri=f"{_SCHEME}{name}",
        title=title,
        sections=_titles(note) if not section.strip() and not offset else [],
        text=page.strip("\n"),
        truncated=more,
        next_offset=stop if more else None,
        notes=_about(note, len(body), stop if more else 0),
    )


def _about(note: dict[str, Any], whole: int, stop: int) -> list[str]:
    ranges = ", ".join(f"{package} {bounds}" for package, bounds in note.get("applies_to", {}).items())
    said = [f"holds for {ranges}; checked {note['last_verified']}" if ranges else f"checked {note['last_verified']}"]
    said += entries.age_notes([note])
    return said + ([f"{whole - stop:,} of {whole:,} characters follow: go on with offset={stop}"] if stop else [])


def _page(body: str, offset: int, size: int | None) -> str:
    """At most `size` characters from the offset on, ending with a paragraph or at least a line."""
    rest = body[offset:]
    if size is None or len(rest) <= size:
        return rest
    for end in ("\n\n", "\n", " "):
        cut = rest.rfind(end, size // 2, size)
        if cut > 0:
            return rest[: cut + len(end)]
    return rest[:size]


def _titles(note: dict[str, Any]) -> list[str]:
    return [section["title"] for section in note["sections"] if section["level"] == 2]


def _section(note: dict[str, Any], text: str) -> dict[str, Any]:
    """The section whose heading the text is, begins, or is most like. Raises InputError."""
    plain = text.strip().lower()
    sections: list[dict[str, Any]] = [section for section in note["sections"] if section["level"] > 1]
    for fits in (str.__eq__, str.startswith, str.__contains__):
        for section in sections:
            if fits(section["title"].lower(), plain):
                return section
    near = names.near(plain, [section["title"].lower() for section in sections], 60)
    for section in sections:
        if near and section["title"].lower() == near:
            return section
    raise InputError(f"no section {text!r} in {note['name']}: there are {short(', '.join(_titles(note)), 600)}")


def _by_section(text: str) -> tuple[str, str]:
    """The note that has a section of this name, when no note was named."""
    plain = text.strip().lower()
    for name, note in store.notes().items():
        if any(section["title"].lower() == plain for section in note["sections"]):
            return name, text
    raise InputError(f"no note has a section {text!r}: name the note too, or use `search`")


def _row(note: dict[str, Any]) -> NoteRow:
    return NoteRow(f"{_SCHEME}{note['name']}", note["title"], note.get("applies_to", {}), note["last_verified"])


def _index_first() -> list[dict[str, Any]]:
    return sorted(store.notes().values(), key=lambda note: (note["name"] != INDEX, note["name"]))


def _of_framework(text: str, size: int | None) -> NoteAnswer:
    """The notes to read for a framework, and the beginning of the first."""
    known = store.table("on_demand")["frameworks"]
    name = names.framework(text) or names.near(text, known, 75)
    if name not in known:
        raise InputError(f"no notes for framework {text!r}: there are notes for {', '.join(known)}")
    found = [note for note in known[name] if note in store.notes()]
    if not found:
        return NoteAnswer(title=name, notes=[f"the notes of {name} are not installed: {', '.join(known[name])}"])
    first = _read(found[0], "", 0, size and size * 2 // 3)  # room for the list of the others
    first.found = [_row(store.notes()[note]) for note in (*found, INDEX) if note in store.notes()]
    return first


def _search(query: str, within: str, detail: str) -> NoteAnswer:
    """Sections that have the query's words, the rarest words counting most."""
    wanted = _wanted(query)
    sections = [
        (name, title, body)
        for name in ([within] if within else store.notes())
        for title, body in _parts(name)
        if body.strip()
    ]
    hits = {word: [len(pattern.findall(body)) for _, _, body in sections] for word, pattern in wanted.items()}
    rarity = {word: math.log(1 + len(sections) / (1 + sum(map(bool, counts)))) for word, counts in hits.items()}
    scored = []
    for place, (name, title, _) in enumerate(sections):
        score = sum(rarity[word] * min(hits[word][place], 3) ** 0.5 for word in wanted)
        score += sum(rarity[word] for word, pattern in wanted.items() if pattern.search(title))
        if score:
            scored.append((-score * (0.5 if name == INDEX else 1.0), place))
    best = sorted(scored)[: _FOUND.get(detail, len(scored))]
    rows = []
    for _, place in best:
        name, title, body = sections[place]
        note = store.notes()[name]
        rows.append(
            NoteRow(
                f"{_SCHEME}{name}", note["title"], section=title, text=_snippet(body, wanted.values(), _SNIPPET[detail])
            )
        )
    notes = [] if rows else [f"no note has these words: {', '.join(wanted) or query}"]
    if len(scored) > len(best):
        notes.append(f"cut: {len(scored) - len(best)} more sections; raise `detail` or search for more words")
    return NoteAnswer(title=f"Search: {query}", found=rows, notes=notes)


def _wanted(query: str) -> dict[str, re.Pattern[str]]:
    """Each word of the query with all ways to write it; letters that follow belong to the word."""
    concepts = store.table("vocabulary")["concepts"]
    wanted = {}
    for word in dict.fromkeys([*vocabulary().words(query), *_exact(query)]):
        forms = sorted({word, *concepts.get(word, ())}, key=lambda form: (-len(form), form))
        spelled = "|".join(re.escape(form).replace(r"\ ", r"[\s_-]+") for form in forms)
        wanted[word] = re.compile(rf"(?<![a-z0-9])(?:{spelled})" if word.isascii() else spelled, re.IGNORECASE)
    return wanted


def _exact(query: str) -> Iterable[str]:
    """Names such as gpu_memory_utilization, which a vocabulary would take apart."""
    return [word.lower() for word in re.findall(r"[A-Za-z][\w.]*_[\w.]+", query) if len(latin_words(word)) > 1]


def _parts(name: str) -> Iterable[tuple[str, str]]:
    """(heading, text up to the next heading of any level) of a note."""
    sections, text = store.notes()[name]["sections"], store.note_text(name)
    ends = [section["start"] for section in sections[1:]] + [len(text)]
    for section, end in zip(sections, ends, strict=True):
        yield section["title"], text[section["start"] : end].partition("\n")[2]


def _snippet(body: str, patterns: Iterable[re.Pattern[str]], chars: int) -> str:
    """The part of the text around the first place with one of the words."""
    flat = " ".join(body.split())
    places = [match.start() for pattern in patterns if (match := pattern.search(flat))]
    start = max(0, min(places, default=0) - chars // 4)
    start = flat.find(" ", start) + 1 if start else 0
    return ("… " if start else "") + short(flat[start : start + chars * 2], chars)
