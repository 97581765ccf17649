"""What a caller names: a bug as "verl-6782", "verl#6782" or "#6782", a pattern, a framework by any of its names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from ..configs.values import InputError
from ..store import lookup as store

# Names that people use for one project. The seeds' tables write SLLM for SGLang and MindIE for vLLM on Ascend.
_ALIASES = {
    "megatron-lm": "megatron",
    "megatron-core": "megatron",
    "mcore": "megatron",
    "torch": "pytorch",
    "mindie": "vllm-ascend",
    "ascend": "vllm-ascend",
    "sllm": "sglang",
    "swift": "ms-swift",
    "nemo": "nemo-rl",
    "rl": "nemo-rl",
    "hf": "transformers",
    "huggingface": "transformers",
    "zero": "deepspeed",
}
_CITED = re.compile(r"(?:[\w.-]+/)?(?P<project>[A-Za-z][\w.-]*?)?\s*[#-]?\s*#?(?P<number>\d{2,6})")
_URL = re.compile(r"https?://github\.com/[\w.-]+/(?P<project>[\w.-]+)/(?:issues|pull)/(?P<number>\d+)\S*")


def framework(text: str) -> str:
    """The framework that a text names, or ""."""
    name = text.strip().lower().replace("_", "-").replace(" ", "-")
    name = _ALIASES.get(name, name)
    return name if name in frameworks() else ""


@cache
def frameworks() -> frozenset[str]:
    """Every framework that an entry names."""
    bugs = store.bugs().values()
    named = {bug["package"] for bug in bugs} | {name for bug in bugs for name in bug.get("frameworks", ())}
    return frozenset(named | set(store.table("on_demand").get("frameworks", {})))


def bug(text: str) -> str:
    """The id of a bug that a text names. Raises InputError: unknown, or one number of several projects."""
    found = as_bug(text)
    if found:
        return found
    raise InputError(f"no bug {text!r}{nearest(text, store.bugs())}; `fixes` without arguments lists them")


def as_bug(text: str) -> str:
    """The id of a bug, or "" when the text names none. Raises InputError when a number is not of one project only."""
    plain = text.strip().lower().strip("`'\"")
    if plain in store.bugs():
        return plain
    match = _URL.fullmatch(plain) or _CITED.fullmatch(plain)
    if match is None:
        return ""
    ending = f"-{match['number']}"
    if match["project"]:
        project = match["project"].strip("-").replace("_", "-")
        name = _ALIASES.get(project, project) + ending
        return name if name in store.bugs() else ""
    same = sorted(name for name in store.bugs() if name.endswith(ending))
    if len(same) > 1:
        raise InputError(f"{text.strip()} is a number of several projects: name one of {', '.join(same)}")
    return same[0] if same else ""


def pattern(text: str) -> str:
    """The id of a pattern by its id, its title, or the seeds' class of that name; "" when there is none."""
    plain = re.sub(r"[\s-]+", "_", text.strip().lower())
    if plain in known_patterns():
        return plain
    for name, entry in store.patterns().items():
        titles = (entry.get("seed") or "", re.sub(r"[\s-]+", "_", entry["title"].lower()))
        if plain and plain in titles:
            return name
    return ""


def known_patterns() -> dict[str, str]:
    """Every pattern and its title, in the order of patterns.yaml; then those that only bugs name."""
    titles = {name: entry["title"] for name, entry in store.patterns().items()}
    for name in sorted(entry["pattern"] for entry in store.bugs().values()):
        titles.setdefault(name, name.replace("_", " "))
    return titles


def nearest(text: str, known: Iterable[str], cutoff: int = 70) -> str:
    """' (did you mean X?)', or ''."""
    found = near(text, known, cutoff)
    return f" (did you mean {found}?)" if found else ""


def near(text: str, known: Iterable[str], cutoff: int = 70) -> str:
    """The name that is spelled most like the text, or ""."""
    from rapidfuzz import fuzz, process

    match = process.extractOne(text.strip().lower(), list(known), scorer=fuzz.ratio, score_cutoff=cutoff)
    return match[0] if match else ""
