#!/usr/bin/env python3
"""Regenerates knowledge/versions/pins.json: which versions of each other the released packages ask for.

Reads `Requires-Dist` of every final release from the package index that pip is configured with. The index serves the
metadata beside a wheel (PEP 658); where it does not, the METADATA inside the wheel is fetched and nothing else of it. A
release without wheels is read from its source distribution, if that states the dependencies. Nothing is built or run.

  python scripts/extract_pins.py                  read all packages
  python scripts/extract_pins.py vllm sglang      read these, keep what is stored of the others

Markers are decided for Linux, x86-64 and CPython 3.12. Extras are kept when they stand for one of the packages below
(`trl[vllm]`); those for tests and documents say nothing about what runs together.
"""

from __future__ import annotations

import argparse
import datetime
import io
import json
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from extract.releases import _tls, _version_of, index_url
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from grpo_guard.store.versions import is_final, is_version, parse

TARGET = Path(__file__).resolve().parent.parent / "knowledge" / "versions" / "pins.json"

# package -> the first release that is read
SINCE = {
    "verl": "0.2", "trl": "0.14.0", "openrlhf": "0.5.0", "deepspeed": "0.14.0", "accelerate": "1.0.0",
    "transformers": "4.45.0", "vllm": "0.6.0", "sglang": "0.4.0", "vllm-ascend": "0.7.3", "ms-swift": "3.0.0",
    "skyrl": "0.1.0", "skyrl-train": "0.1.0", "areal": "0.3.0", "nemo-rl": "0.3.0", "megatron-core": "0.9.0",
    "megatron-bridge": "0.1.0", "llamafactory": "0.9.0", "axolotl": "0.6.0",
}  # fmt: skip
# what they are asked about
ABOUT = {
    "torch", "transformers", "vllm", "sglang", "deepspeed", "accelerate", "peft", "ray", "numpy", "tensordict", "trl",
    "verl", "megatron-core", "torch-npu", "flash-attn", "liger-kernel",
}  # fmt: skip
EXTRAS = ABOUT | {"srt", "mcore", "megatron", "fsdp", "vllm-latest"}
LINUX = {
    "os_name": "posix", "sys_platform": "linux", "platform_machine": "x86_64", "platform_system": "Linux",
    "platform_python_implementation": "CPython", "implementation_name": "cpython", "platform_release": "",
    "platform_version": "", "python_version": "3.12", "python_full_version": "3.12.0",
    "implementation_version": "3.12.0",
}  # fmt: skip
MOST_ARCHIVE_BYTES = 20_000_000


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="*", metavar="NAME", help=f"some of {', '.join(SINCE)}")
    parser.add_argument("--checked", default=datetime.date.today().isoformat(), help="date to record (default: today)")
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.package) - set(SINCE):
        parser.error(f"not a package that is read: {', '.join(sorted(unknown))}")
    stored = json.loads(TARGET.read_text(encoding="utf-8"))["packages"] if TARGET.exists() else {}
    for name in arguments.package or SINCE:
        if found := read(name):
            stored[name] = {**found, "checked": arguments.checked}
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(written({"packages": dict(sorted(stored.items()))}), encoding="utf-8")
    return 0


def read(package: str) -> dict[str, Any] | None:
    """Change points of what the releases ask for, and which releases were read; None when there are none."""
    asked: dict[str, dict[str, dict[str, str]]] = {}  # version -> "" or extra -> package -> bounds
    for version, metadata in metadata_of(package, SINCE[package]):
        asked[version] = bounds_of(metadata)
    versions = sorted(asked, key=parse)
    print(f"{package}: {len(versions)} releases{f', {versions[0]} to {versions[-1]}' if versions else ''}", flush=True)
    if not versions:
        return None
    groups = sorted({group for found in asked.values() for group in found})
    tables = {
        group: {
            name: history([(version, asked[version].get(group, {}).get(name)) for version in versions])
            for name in sorted({name for found in asked.values() for name in found.get(group, ())})
        }
        for group in groups
    }
    tables = {
        group: {name: row for name, row in table.items() if any(b for _, b in row)} for group, table in tables.items()
    }
    requires = tables.pop("", {})
    tables = {group: table for group, table in tables.items() if table}
    return {"first": versions[0], "last": versions[-1], "requires": requires, "extras": tables}


def history(rows: Iterable[tuple[str, str | None]]) -> list[list[str | None]]:
    """[version, bounds] from each version on; null: not asked for. What was never asked before has no first row."""
    points: list[list[str | None]] = []
    for version, bounds in rows:
        last = points[-1][1] if points else None
        if bounds != last or (points and last is None and bounds is not None):
            points.append([version, bounds])
    return points


def bounds_of(metadata: str) -> dict[str, dict[str, str]]:
    """Bounds by extra ("" for none) and package, e.g. {"": {"torch": "==2.8.0"}, "vllm": {"vllm": ">=0.10"}}."""
    head = HeaderParser().parsestr(metadata)
    extras = {canonicalize_name(extra) for extra in head.get_all("Provides-Extra", ())}
    found: dict[str, dict[str, str]] = {}
    for line in head.get_all("Requires-Dist", ()):
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        name = canonicalize_name(requirement.name)
        if name not in ABOUT or (requirement.url and not clauses(requirement)):
            continue
        for group in ("", *sorted(extras & EXTRAS)):
            if holds(requirement, group) and (not group or not holds(requirement, "")):
                found.setdefault(group, {}).setdefault(name, clauses(requirement))
    return found


def holds(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({**LINUX, "extra": extra})


def clauses(requirement: Requirement) -> str:
    """Bounds in one order, `~=` and `== 2.*` written out."""
    found: list[str] = []
    for clause in requirement.specifier:
        if clause.operator in ("~=", "==") and (clause.operator == "~=" or clause.version.endswith(".*")):
            parts = clause.version.removesuffix(".*").split(".")
            kept = parts[:-1] if clause.operator == "~=" else parts
            above = [*kept[:-1], str(int(kept[-1]) + 1)]
            found += [f">={'.'.join(parts)}", f"<{'.'.join(above)}"]
        elif clause.operator == "!=" and clause.version.endswith(".*"):
            continue  # a hole that no comparison here can say
        elif is_version(clause.version):
            found.append(f"{'==' if clause.operator == '===' else clause.operator}{clause.version}")
    return ",".join(sorted(set(found), key=lambda text: (text[0] != ">", text[0] != "=", text)))


def metadata_of(package: str, since: str) -> Iterator[tuple[str, str]]:
    """Version and METADATA of each final release from `since` on that can be read."""
    request = urllib.request.Request(
        urljoin(index_url(), f"{package}/"), headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, context=_tls(), timeout=180) as answer:
        page, files = answer.geturl(), json.load(answer)["files"]
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(files, key=lambda file: not file["filename"].endswith(".whl")):
        version = _version_of(file["filename"], package)
        if not version or not is_version(version) or not is_final(version) or file.get("yanked"):
            continue
        if parse(version) >= parse(since):
            found.setdefault(version, []).append(file)
    for version, archives in sorted(found.items(), key=lambda item: parse(item[0])):
        text = next(filter(None, (read_archive(urljoin(page, file["url"]), file) for file in archives)), "")
        if text:
            yield version, text
        else:
            print(f"{package} {version}: its dependencies are not stated as metadata; left out", file=sys.stderr)


def read_archive(url: str, file: dict[str, Any]) -> str:
    """Metadata of one archive: what the index serves beside it, else what the archive holds, else ""."""
    size = int(file.get("size") or 0)
    if not url.endswith(".whl"):
        return from_source(io.BytesIO(fetch(url))) if 0 < size <= MOST_ARCHIVE_BYTES else ""
    try:
        return fetch(f"{url}.metadata").decode()
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
    return from_wheel(io.BufferedReader(Remote(url, size), 1 << 18)) if size else ""


class Remote(io.RawIOBase):
    """A file on the index, of which only the parts that are asked for are fetched: a wheel's table and its METADATA."""

    def __init__(self, url: str, size: int) -> None:
        self.url, self.size, self.at = url, size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self.size - self.at)
        if wanted <= 0:
            return 0
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={self.at}-{self.at + wanted - 1}"})
        with urllib.request.urlopen(request, context=_tls(), timeout=120) as answer:
            if answer.status != 206:
                raise OSError(f"{self.url}: the index does not serve parts of a file")
            data = answer.read()
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)


def from_wheel(data: Any) -> str:
    with zipfile.ZipFile(data) as wheel:
        name = next((name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")), "")
        return wheel.read(name).decode() if name else ""


def from_source(data: io.BytesIO) -> str:
    """PKG-INFO that states dependencies, else ""."""
    with tarfile.open(fileobj=data) as archive:
        for info in [member for member in archive if member.name.endswith("PKG-INFO")]:
            file = archive.extractfile(info)
            text = file.read().decode() if file else ""
            if "Requires-Dist" in text:
                return text
    return ""


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, context=_tls(), timeout=120) as answer:
        data: bytes = answer.read()
    return data


def written(data: dict[str, Any]) -> str:
    """JSON with one line for each package and asked-about package, so that a change shows as one."""
    lines = ["{", ' "packages": {']
    for at, (name, row) in enumerate(data["packages"].items()):
        lines.append(f'  "{name}": {{')
        fields = [f'   "{key}": {json.dumps(row[key])}' for key in ("first", "last", "checked")]
        for key in ("requires", "extras"):
            inner = [f'    "{part}": {json.dumps(value, separators=(",", ":"))}' for part, value in row[key].items()]
            fields.append(f'   "{key}": {{' + ("\n" + ",\n".join(inner) + "\n   }" if inner else "}"))
        lines.append(",\n".join(fields))
        lines.append("  }" + ("," if at < len(data["packages"]) - 1 else ""))
    return "\n".join([*lines, " }", "}"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
