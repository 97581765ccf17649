"""Which releases of each other the released packages ask for (knowledge/versions/), from the compiled index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .index import section
from .versions import in_range, is_final, parse

Points = list[list[str | None]]


def last_read(package: str) -> str | None:
    """The newest release whose requirements were read; None for a package that is not in the data."""
    found: str | None = _row(package).get("last")
    return found


def covers(package: str, version: str) -> bool:
    """Whether the data speaks of this release: a final one, not older than the first and not newer than the last."""
    row = _row(package)
    return bool(row) and is_final(version) and parse(row["first"]) <= parse(version) <= parse(row["last"])


def requires(package: str, version: str) -> dict[str, str]:
    """What the release cannot be installed without: package -> bounds."""
    return _asked(_row(package).get("requires", {}), version) if covers(package, version) else {}


def windows(package: str, version: str, about: str) -> list[str]:
    """The ranges of a package that the release's own extras ask for; [] when none does."""
    if not covers(package, version):
        return []
    extras: Mapping[str, Mapping[str, Points]] = _row(package).get("extras", {})
    found = [_asked(table, version).get(about) for table in extras.values()]
    return list(dict.fromkeys(bounds for bounds in found if bounds))


def in_images(package: str, version: str, about: str) -> list[str]:
    """The releases of a package that images of the framework's release hold."""
    return list(dict.fromkeys(row["holds"][about] for row in images(package, version) if about in row["holds"]))


def images(package: str, version: str) -> Iterator[dict[str, Any]]:
    rows: list[dict[str, Any]] = section("images")
    return (row for row in rows if row["package"] == package and in_range(version, row["versions"]))


def histories(package: str) -> Iterator[tuple[str, str, Points]]:
    """("requires" or the extra's name, package asked about, change points) of everything that a package asks for."""
    row = _row(package)
    yield from (("requires", about, points) for about, points in row.get("requires", {}).items())
    for extra, table in row.get("extras", {}).items():
        yield from ((extra, about, points) for about, points in table.items())


def built(framework: Mapping[str, Any], package: str, version: str) -> dict[str, str]:
    """What a release of a framework builds of a package itself, from its adapter's data; {} when it builds none.

    {"flags": the release whose options stand for it, "build": its own version where one is known}.
    """
    rows: Mapping[str, dict[str, str]] = framework.get("builds", {}).get(package, {})
    past = [name for name in rows if parse(name) <= parse(version)]
    return rows[max(past, key=parse)] if past else {}


def _row(package: str) -> dict[str, Any]:
    found: dict[str, Any] = section("pins").get(package, {})
    return found


def _asked(table: Mapping[str, Points], version: str) -> dict[str, str]:
    """The bounds in force at a release, without what it does not bound."""
    found: dict[str, str] = {}
    for about, points in table.items():
        reached = [bounds for since, bounds in points if since and in_range(version, f">={since}")]
        if reached and reached[-1]:
            found[about] = reached[-1]
    return found
