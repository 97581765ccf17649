"""matrix view versions: tested windows, images, releases that fail together, and which release brings which fixes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..configs.keys_data import key_data
from ..configs.values import InputError
from ..store import lookup as store
from ..store import pins
from ..store.index import index, package_of
from ..store.versions import parse
from . import entries, names

Row = dict[str, Any]
# What is compared: trainers first, then what they run on
_FIRST = ("verl", "trl", "openrlhf", "rllm", "vllm", "sglang", "deepspeed", "accelerate", "transformers")


def rows(framework: str = "") -> list[Row]:
    """Everything, or what concerns one framework. Raises InputError for a framework that is not known."""
    package = _package(framework) if framework.strip() else ""
    packages = entries.ordered({*index()["pins"], "rllm"}, _FIRST)
    windows = [row for name in packages if not package or name == package for row in _windows(name)]
    held = [row for row in _images() if not package or row["package"] == package]
    failing = [row for row in _failing() if not package or package in (*row["affected"], *row["frameworks"])]
    fixes = [row for row in _fixes() if not package or row["package"] in (package, framework)]
    return [*windows, *failing, *held, *fixes]


def _package(framework: str) -> str:
    """The package whose releases a framework's name stands for."""
    name = names.framework(framework) or framework.strip().lower()
    package = package_of(name)
    known = sorted({*index()["pins"], *names.frameworks(), "rllm"})
    if package not in known:
        raise InputError(f"no framework {framework!r}{names.nearest(framework, known)}; there are {', '.join(known)}")
    return package


def _windows(package: str) -> Iterator[Row]:
    """What the newest release asks for, and the earlier ranges, each from the release named on."""
    newest: dict[str, str] = {}
    earlier: dict[str, str] = {}
    for asked_by, about, points in _histories(package):
        label = about if asked_by in ("requires", about) else f"{about} ({asked_by})"
        if points[-1][1]:
            newest[label] = str(points[-1][1])
        if len(points) > 1:
            earlier[label] = "; ".join(f"{since} {bounds or 'none'}" for since, bounds in points[:-1])
    if newest or earlier:
        last = pins.last_read(package) or key_data(package).newest
        yield {"kind": "asked for", "package": package, "release": last, "windows": newest, "earlier": earlier}


def _histories(package: str) -> Iterable[tuple[str, str, pins.Points]]:
    if package in index()["pins"]:
        return pins.histories(package)
    pinned = key_data(package).tables.get("requires", {})
    return [("requires", about, [[row[0], f"=={row[1]}"] for row in rows]) for about, rows in pinned.items()]


def _images() -> Iterator[Row]:
    for row in reversed(index()["images"]):  # the newest release first
        yield {
            "kind": "image",
            "package": row["package"],
            "versions": row["versions"],
            "holds": row["holds"],
            "references": [row["source"]],
        }


def _failing() -> Iterator[Row]:
    """Pairs of releases, and the rules that are bound to several packages."""
    several = [rule for rule in (*index()["rules"], *index()["bug_rules"]) if len(rule.get("affected", ())) > 1]
    for rule in sorted((*index()["pair_rules"], *several), key=_weight):
        yield {
            "kind": "fails together",
            "id": rule["id"],
            "severity": rule["severity"],
            "affected": {package: _text(bounds) for package, bounds in rule["affected"].items()},
            "title": rule["title"],
            "frameworks": rule.get("frameworks", []),
            "fix": (rule.get("fix") or {}).get("text", ""),
            "bugs": rule.get("bugs", []),
            "references": entries.urls(rule),
        }


def _weight(rule: Mapping[str, Any]) -> tuple[int, str]:
    return entries.SEVERITIES.index(rule["severity"]), rule["id"]


def _text(bounds: str | list[str]) -> str:
    return bounds if isinstance(bounds, str) else " or ".join(bounds)


def _fixes() -> Iterator[Row]:
    """Which release brings which fixes, the newest first."""
    fixed: dict[str, dict[str, list[str]]] = {}
    for bug in entries.by_weight(store.bugs().values()):
        for package, version in bug.get("fixed_in", {}).items():
            fixed.setdefault(package, {}).setdefault(version, []).append(bug["id"])
    for package in entries.ordered(fixed, entries.SEED_FRAMEWORKS):
        for version in sorted(fixed[package], key=parse, reverse=True):
            yield {"kind": "fixes", "package": package, "version": version, "fixes": fixed[package][version]}


def brief(found: list[Row]) -> list[Row]:
    """The rows in few words: the newest ranges of what is compared most, then what fails together, then the rest."""
    windows = [row for row in found if row["kind"] == "asked for"]
    compared = [row for row in windows if row["package"] in _FIRST[:7]] if len(windows) > 1 else windows
    failing = [row for row in found if row["kind"] == "fails together"]
    short = [
        {name: row[name] for name in ("kind", "package", "release")} | {"windows": _plain(row)} for row in compared
    ]
    short += [{name: row[name] for name in ("kind", "id", "severity", "affected")} for row in failing]
    return [
        *short,
        *(row for row in found if row["kind"] == "image"),
        *(row for row in found if row["kind"] == "fixes"),
    ]


def _plain(row: Row) -> dict[str, str]:
    """One range of each package that is compared: its own, else the first that an extra of another name has."""
    windows: Mapping[str, str] = row["windows"]
    labels = {about: [label for label in windows if label.partition(" (")[0] == about] for about in _COMPARED}
    return {about: windows[min(found, key=len)] for about, found in labels.items() if found}


_COMPARED = ("torch", "transformers", "vllm", "sglang", "verl", "deepspeed", "megatron-core", "trl", "accelerate")
