"""The releases that an answer is for: those given, those that a given one pins, else the newest known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..configs.keys_data import key_data
from ..configs.values import InputError
from ..store import pins
from ..store.index import index
from ..store.versions import in_range, parse

_EXACT = re.compile(r"==([\w.+!-]+)")


class Releases:
    """Versions by package. `assumed` collects the packages whose newest known release was taken."""

    def __init__(self, given: Mapping[str, str], package: str, framework: Mapping[str, Any]) -> None:
        self.given = dict(given)
        self.package = package  # the framework's own
        self.framework = framework  # its adapter's data
        self.assumed: dict[str, str] = {}

    def version(self, package: str) -> str | None:
        """The release of a package, None when nothing is known of it."""
        if package in self.given:
            return self.given[package]
        if pinned := self._pinned(package):
            return pinned
        if newest := newest_known(package):
            self.assumed[package] = newest
        return newest

    def hold(self, ranges: Mapping[str, str | list[str]]) -> bool:
        """Whether all ranges hold. A package of which no release is known counts as its newest one."""
        return all(self._holds(package, bounds) for package, bounds in ranges.items())

    def _holds(self, package: str, bounds: str | list[str]) -> bool:
        specs = [bounds] if isinstance(bounds, str) else bounds
        version = self.version(package)
        if version is None:
            return "<" not in specs[-1] and "==" not in specs[-1]
        return any(in_range(version, spec) for spec in specs)

    def _pinned(self, package: str) -> str:
        """The exact release that the framework's own release requires of a package, "" when it leaves a choice."""
        own = self.given.get(self.package) or newest_known(self.package)
        if own and (builds := pins.built(self.framework, package, own)):
            return builds.get("build", builds["flags"])
        match = _EXACT.fullmatch(pins.requires(self.package, own).get(package, "")) if own else None
        return match[1] if match else ""

    def used(self, packages: set[str]) -> dict[str, str]:
        """What was given, and the versions of these packages that were taken, sorted by name."""
        taken = {package: version for package in packages if (version := self.version(package))}
        return dict(sorted({**taken, **self.given}.items()))


@lru_cache(maxsize=64)
def newest_known(package: str) -> str | None:
    """The newest release whose keys or requirements were read."""
    found = [key_data(name).newest for name in key_frameworks().get(package, ())]
    last = pins.last_read(package)
    return max([*found, *filter(None, [last])], key=parse, default=None)


@lru_cache(maxsize=1)
def key_frameworks() -> dict[str, list[str]]:
    """Package -> frameworks of our data whose keys are read from it."""
    adapters: Mapping[str, Mapping[str, Any]] = index()["adapters"]
    packages: dict[str, list[str]] = {}
    for name in (*adapters, "transformers"):
        package = str(adapters.get(name, {}).get("package", name))
        try:
            key_data(name)
        except InputError:  # an adapter without a table of keys
            continue
        packages.setdefault(package, []).append(name)
    return packages
