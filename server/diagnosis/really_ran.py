"""Where a run printed other settings or versions than the caller gave: what really ran counts.

Keys are matched twice: by canonical field, through the framework's adapter, and by native key however it is written
(`--per-device-batch`, `per_device_batch`, `args.per_device_batch`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..configs.files import printable
from ..configs.run_config import EXPLICIT, RunConfig, Setting
from ..configs.values import InputError
from .evidence import Evidence
from .model import Signal

_MOST = 20
_EMPTY = ("", "none", "null", "~")


def settings_that_differ(found: Evidence) -> list[Signal]:
    """One signal per setting of the config that the run printed with another value."""
    script = _run(found.config, found)
    ran = _run("\n".join(f"{key}={value}" for key, value in found.printed.items()), found)
    if script is None:
        return []
    rows: dict[tuple[int, str], Signal] = {}
    for setting, key, value in [*_by_field(script, ran), *_by_key(script, found.printed)]:
        if _plainly(setting.value) and _plainly(value) and not _same(setting.value, value):
            here, there = printable(setting.value, 80), printable(value, 80)
            same = _plain_key(key) == _plain_key(setting.key)
            told = f"{printable(setting.key, 120)} is {here} in the config, and the run printed "
            told += there if same else f"{printable(key, 120)} = {there}"
            title = "The run had another setting than the config"
            line = setting.line or None
            row = Signal("config-differs-from-run", title, "warning", told, "config", line=line)
            rows.setdefault((setting.line, _plain_key(setting.key)), row)
    return list(rows.values())[:_MOST]


def versions_that_differ(given: Mapping[str, str], printed: Mapping[str, str]) -> Iterator[Signal]:
    """One signal per package whose version in the log is another than the one given."""
    for package, version in sorted(given.items()):
        ran = printed.get(package, version)
        if ran.partition("+")[0] != version.partition("+")[0]:
            told = f"{package} {printable(version, 60)} was given, and the log names {printable(ran, 60)}"
            yield Signal("version-differs-from-run", "The log names another version", "warning", told, "log")


def _run(text: str, found: Evidence) -> RunConfig | None:
    from ..configs.adapters.common import Options
    from ..configs.assembly import build_runs
    from ..configs.reading import read_pasted

    try:
        return build_runs(read_pasted(text), Options(dict(found.versions)), found.framework)[0]
    except InputError:
        return None


def _by_field(script: RunConfig, ran: RunConfig | None) -> Iterator[tuple[Setting, str, Any]]:
    for name, setting in script.settings.items():
        other = ran.settings.get(name) if ran else None
        if setting.origin == EXPLICIT and setting.known and other and other.origin == EXPLICIT and other.known:
            yield setting, other.key, other.value


def _by_key(script: RunConfig, printed: Mapping[str, Any]) -> Iterator[tuple[Setting, str, Any]]:
    plain = {_plain_key(key): key for key in reversed(list(printed))}
    last: dict[str, list[str]] = {}
    for key in printed:
        last.setdefault(_plain_key(key).rpartition(".")[2], []).append(key)
    for key, setting in script.native.items():
        name = _plain_key(key)
        found = plain.get(name)
        if found is None and "." not in name and len(last.get(name, ())) == 1:
            (found,) = last[name]
        if found is not None and setting.known:
            yield setting, found, printed[found]


def _plain_key(key: str) -> str:
    return key.strip().lstrip("+-~").replace("-", "_").lower()


def _same(left: Any, right: Any) -> bool:
    here, there = str(left).strip("'\" ").lower(), str(right).strip("'\" ").lower()
    if here == there or (here in _EMPTY and there in _EMPTY):
        return True
    if {here, there} in ({"true", "1"}, {"false", "0"}, {"true", "yes"}, {"false", "no"}):
        return True
    try:
        return math.isclose(float(here), float(there), rel_tol=1e-9)
    except ValueError:
        return False


def _plainly(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
