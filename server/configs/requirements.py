"""Installed or pinned package versions, from whatever the user has at hand.

Requirements files, `pip freeze`, `pip list`, lock files (uv, poetry, pylock, Pipfile), pyproject, conda environments,
Dockerfiles. Only an exact version is a pin; a range is a bound and decides nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .files import checked, printable
from .json_text import read_json
from .toml_text import read_toml
from .yaml_text import read_yaml

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,100}[A-Za-z0-9])?"
_VERSION = r"[0-9A-Za-z][0-9A-Za-z.!+_-]{0,80}"
_REQUIREMENT = re.compile(
    rf"({_NAME})\s*(?:\[[^\]]{{0,200}}\])?\s*\(?\s*((?:===?|~=|!=|<=?|>=?)[^;#)]{{1,200}})?\)?\s*"
)
_PIN = re.compile(rf"===?\s*v?({_VERSION})\s*")
_ANYWHERE = re.compile(rf"(?<![\w.-])({_NAME})(?:\[[^\]\s]{{0,100}}\])?===?({_VERSION})")
_WHEEL = re.compile(rf"(?:^|[/\s])({_NAME})-([0-9][0-9A-Za-z.!+_%]{{0,80}})-[^/\s]{{1,100}}\.whl")
_OTHER_SYSTEM = re.compile(
    r"(?:sys_platform|platform_system|os_name)\s*==\s*['\"](?:darwin|win32|Darwin|Windows|nt)['\"]"
)
_TABLE_HEAD = re.compile(r"(?:# )?(?:Package|Name) +Version\b.*")
_TABLE_ROW = re.compile(rf"({_NAME})[ \t]+({_VERSION})(?:[ \t].*)?")
_LOCK_TABLE = re.compile(r"\[\[packages?\]\]\s*")
_LOCK_FIELD = re.compile(r"(name|version)\s*=\s*[\"']([^\"']{1,120})[\"']\s*")
_JSON_START = re.compile(r"\s*(?:\{|\[\s*[{\]])")
_CONDA = re.compile(rf"(?:[\w.-]+::)?({_NAME})\s*(?:(==?)\s*({_VERSION})(?:=[\w.*]+)?|(\S.*))?")


@dataclass(slots=True)
class Requirements:
    """pins: package → exact version. bounds: package → specifier that is no pin. notes: what was not decided."""

    pins: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    disputed: set[str] = field(default_factory=set)  # packages pinned to several versions

    def pin(self, name: str, version: str) -> None:
        """Record an exact version; two different ones for a package cancel each other."""
        package = canonical(name)
        known = self.pins.get(package)
        if package in self.disputed or known == version:
            return
        if known is not None and known.partition("+")[0] == version.partition("+")[0]:
            self.pins[package] = max(known, version, key=len)  # the same release, once with its local build
        elif known is not None:
            del self.pins[package]
            self.disputed.add(package)
            self.bounds[package] = f"=={known} or =={version}"
            self.notes.append(
                f"{package} is pinned to {printable(known, 40)} and to {printable(version, 40)}: undecided"
            )
        else:
            self.pins[package] = version

    def bound(self, name: str, specifier: str) -> None:
        """Record a range."""
        self.bounds.setdefault(canonical(name), printable(specifier.strip()))


def canonical(name: str) -> str:
    """The package name as indexes compare it: lower case, runs of `-_.` as one hyphen."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_versions(text: str, path: str) -> dict[str, str]:
    """Package → exact version; see `read_requirements`."""
    return read_requirements(text, path).pins


def read_requirements(text: str, path: str) -> Requirements:
    """Read package versions from any of the known forms, told apart by content and file name.

    Local versions (`2.6.0+cu124`) are kept, names are canonical. Raises InputError if the text claims to be JSON,
    TOML or YAML and is not, and over the caps. Text without any version gives an empty answer.
    """
    text = checked(text, path, long_lines=True)
    found = Requirements()
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if _JSON_START.match(text):
        _from_json(text, path, found)
    elif re.search(r"^\[\[packages?\]\]", text, re.MULTILINE):
        _from_lock(text.split("\n"), found)
    elif name.endswith(".toml") or re.search(r"^\[(?:project|tool\.\w+|build-system)", text, re.MULTILINE):
        _from_pyproject(read_toml(text, path).data, found)
    elif name.endswith((".yml", ".yaml")) or re.search(r"^dependencies:\s*$", text, re.MULTILINE):
        _from_conda(read_yaml(text, path).data, found)
    else:
        _from_lines(text, found)
    return found


def _from_json(text: str, path: str, found: Requirements) -> None:
    data = read_json(text, path).data
    if isinstance(data, list):  # pip list --format json, conda list --json
        rows: Iterable[Any] = data
    elif isinstance(data.get("installed"), list):  # pip inspect
        rows = [row.get("metadata") for row in data["installed"] if isinstance(row, dict)]
    else:  # Pipfile.lock
        groups = [group for key in ("default", "develop") if isinstance(group := data.get(key), dict)]
        for package, about in (item for group in groups for item in group.items()):
            version = about.get("version") if isinstance(about, dict) else about
            if isinstance(version, str):
                _requirement(f"{package}{version}", found)
        return
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("name"), str) and isinstance(row.get("version"), str):
            found.pin(row["name"], row["version"])


def _from_lock(lines: list[str], found: Requirements) -> None:
    """uv.lock, poetry.lock, pylock.toml: large files, of which two lines per package matter."""
    name = ""
    inside = False
    for line in lines:
        if line.startswith("["):
            inside = _LOCK_TABLE.fullmatch(line.rstrip("\r")) is not None
            name = ""
        elif inside and (match := _LOCK_FIELD.fullmatch(line.rstrip("\r"))) is not None:
            if match[1] == "name":
                name = match[2]
            elif name:
                found.pin(name, match[2])


def _from_pyproject(data: Any, found: Requirements) -> None:
    project = _table(data, "project")
    groups = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    groups += _table(data, "dependency-groups").values()
    groups.append(_table(data, "tool", "uv").get("override-dependencies"))
    for group in groups:
        for requirement in group if isinstance(group, list) else ():
            if isinstance(requirement, str):
                _requirement(requirement, found)
    for package, about in _table(data, "tool", "poetry", "dependencies").items():
        version = about.get("version") if isinstance(about, dict) else about
        if isinstance(version, str) and package != "python":
            exact = re.fullmatch(_VERSION, version) is not None  # poetry reads a bare version as exact
            _requirement(f"{package}=={version}" if exact else f"{package}{version}", found)


def _table(data: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _from_conda(data: Any, found: Requirements) -> None:
    items = data.get("dependencies") if isinstance(data, dict) else None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            for line in item.get("pip") or [] if isinstance(item.get("pip"), list) else ():
                _requirement(str(line), found)
        elif isinstance(item, str) and (match := _CONDA.fullmatch(item.strip())) is not None:
            # `pytorch=2.6` is a prefix match, `pytorch=2.6.0` and `==` mean that release.
            package = "torch" if match[1] == "pytorch" else match[1]
            if match[3] and (match[2] == "==" or match[3].count(".") >= 2):
                found.pin(package, match[3])
            elif match[3] or match[4]:
                found.bound(package, match[4] or f"={match[3]}")


def _from_lines(text: str, found: Requirements) -> None:
    table = False
    package = ""
    for line in map(str.strip, _logical_lines(text)):
        if _TABLE_HEAD.fullmatch(line):
            table = True
        elif line.startswith("Name: "):
            package = line[6:].strip()
        elif line.startswith("Version: ") and package:  # pip show
            found.pin(package, line[9:].strip())
            package = ""
        elif table and "==" not in line and (row := _TABLE_ROW.fullmatch(line)) is not None and row[2][0].isdigit():
            found.pin(row[1], row[2])
        else:
            _requirement_line(line, found)


def _logical_lines(text: str) -> Iterator[str]:
    pending: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            pending.append(line[:-1])
            continue
        yield "".join((*pending, line))
        pending = []
    if pending:
        yield "".join(pending)


def _requirement_line(stripped: str, found: Requirements) -> None:
    if not stripped or stripped.startswith(("#", "-r", "-c", "--")):
        return
    if not _requirement(re.split(r"\s(?:#|--hash)", stripped, maxsplit=1)[0], found):
        # A Dockerfile, a shell line, an issue template: `pip install vllm==0.8.5` anywhere in the line.
        for match in _ANYWHERE.finditer(stripped.partition(";")[0]):
            found.pin(match[1], match[2].rstrip(".!-_"))


def _requirement(text: str, found: Requirements) -> bool:
    """Take one requirement; False if the text is not one."""
    specification, _, marker = text.partition(";")
    specification = " ".join(specification.strip("'\" \t").split())
    if _OTHER_SYSTEM.search(marker):
        return True
    wheel = _WHEEL.search(specification) if ".whl" in specification else None
    if wheel is not None:
        found.pin(wheel[1], wheel[2].replace("%2B", "+").replace("%2b", "+"))
        return True
    match = _REQUIREMENT.fullmatch(specification) if len(specification) < 500 else None
    if match is None:
        return False
    if match[2]:
        pin = _PIN.fullmatch(match[2].strip().rstrip("'\""))
        if pin is not None and not pin[1].endswith("."):
            found.pin(match[1], pin[1])
        else:
            found.bound(match[1], match[2])
    return True
