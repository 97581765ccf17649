"""Releases of packages that were made for each other, from the metadata of the released wheels.

`requires` of an adapter's YAML (or a table of that name beside the keys) holds what a framework's release cannot be
installed without, `extras` what it was made for; each row begins at the release named and holds until the next one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..configs.keys import load
from ..configs.keys_data import key_data
from ..configs.run_config import RunConfig
from ..store.index import adapter
from ..store.versions import in_range, parse
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome


def installable_together(run: RunConfig) -> Outcome:
    """Versions that pip refuses to install together."""
    table: Mapping[str, Mapping[str, str]] = adapter(run.framework).get("requires", {})
    rows = _bounds(run, table) if table else _of_release(run)
    for package, wanted in rows.items():
        if not in_range(run.versions[package], wanted):
            return _mismatch(run, package, wanted, "requires", "pip does not install them together")
    return PASS if rows else NOT_APPLICABLE


def engine_supported(run: RunConfig) -> Outcome:
    """A release of the rollout engine outside the range that the framework's release was made for."""
    table: Mapping[str, Mapping[str, str]] = adapter(run.framework).get("extras", {})
    engine = run.value("rollout_engine")
    rows = _bounds(run, {name: row for name, row in table.items() if name == engine})
    for package, wanted in rows.items():
        if not in_range(run.versions[package], wanted):
            return _mismatch(run, package, wanted, "was made for", "its interfaces may differ from what is called")
    return PASS if rows else NOT_APPLICABLE


def _bounds(run: RunConfig, table: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Range of each package of the table whose version is known, at the framework's version."""
    own = run.versions.get(_package(run))
    if own is None:
        return {}
    found: dict[str, str] = {}
    for package, rows in table.items():
        reached = [since for since in rows if in_range(own, f">={since}")]
        if reached and package in run.versions:
            found[package] = rows[max(reached, key=parse)]
    return found


def _of_release(run: RunConfig) -> dict[str, str]:
    """The same from the table `requires` of the framework's keys, for a version that was read."""
    own = run.versions.get(_package(run))
    if own is None or "requires" not in key_data(run.framework).tables:
        return {}
    table = load(run.framework, ["requires"], own)
    wanted = {name: table.default(name) for name in table if name in run.versions} if table.exact else {}
    return {name: bounds for name, bounds in wanted.items() if isinstance(bounds, str) and bounds}


def _package(run: RunConfig) -> str:
    return str(adapter(run.framework)["package"])


def _mismatch(run: RunConfig, package: str, wanted: str, verb: str, result: str) -> Hit:
    own = f"{run.framework} {run.versions[_package(run)]}"
    bounds = wanted.replace(",", ", ")
    return Hit(
        "",
        f"{own} {verb} {package} {bounds}, and {package} is {run.versions[package]}: {result}.",
        f"Install {package} {bounds}, or the {run.framework} release that was made for {package} "
        f"{run.versions[package]}.",
    )
