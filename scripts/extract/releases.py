"""Releases of a package on the package index that pip uses, and the source files inside them.

Archives are downloaded one at a time; only the wanted members are kept, in CACHE/<package>/<version>/.
Nothing in an archive is executed: wheels are zip files, source distributions tar files.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import ssl
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin

from grpo_guard.store.versions import is_final, parse

MARKER = ".complete"
_CANDIDATE = re.compile(r"[\d.]+rc\d+")


@dataclass(frozen=True)
class Release:
    package: str
    version: str
    url: str
    sha256: str


def index_url() -> str:
    """The simple index that pip is configured with (environment, configuration file, pip's own default)."""
    configured = os.environ.get("PIP_INDEX_URL") or _pip_setting("global.index-url")
    if configured:
        return configured.rstrip("/") + "/"
    from pip._internal.models.index import PyPI  # the default is pip's to know, not ours

    return str(PyPI.simple_url).rstrip("/") + "/"


def releases(package: str, since: str, sdist: bool = False, candidates: bool = False) -> list[Release]:
    """Final releases from `since` on, ascending; with `candidates` release candidates too.

    A wheel is preferred to a source distribution, unless `sdist` is set (wheels with compiled kernels are huge).
    """
    request = urllib.request.Request(
        urljoin(index_url(), f"{package}/"), headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, context=_tls(), timeout=180) as answer:
        page_url, files = answer.geturl(), json.load(answer)["files"]
    found: dict[str, Release] = {}
    for file in sorted(files, key=lambda file: file["filename"].endswith(".whl") is sdist):
        version = _version_of(file["filename"], package)
        if version is None or file.get("yanked") or parse(version) < parse(since):
            continue
        if not is_final(version) and not (candidates and _CANDIDATE.fullmatch(version)):
            continue
        release = Release(package, version, urljoin(page_url, file["url"]), file["hashes"]["sha256"])
        found.setdefault(version, release)
    return sorted(found.values(), key=lambda release: parse(release.version))


def sources(release: Release, wanted: re.Pattern[str], cache: Path) -> Path:
    """The folder with the wanted members of the release (paths as in the wheel; the sdist's top folder is cut off)."""
    folder = cache / release.package / release.version
    marker = folder / MARKER
    key = f"{release.sha256}\n{wanted.pattern}\n"
    if marker.is_file() and marker.read_text() == key:
        return folder
    with urllib.request.urlopen(release.url, context=_tls(), timeout=600) as answer:
        archive = answer.read()
    if hashlib.sha256(archive).hexdigest() != release.sha256:
        raise ValueError(f"{release.package} {release.version}: the archive does not match the index's sha256")
    for name, data in _members(archive, release.url):
        if wanted.fullmatch(name):
            target = folder / PurePosixPath(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    folder.mkdir(parents=True, exist_ok=True)
    marker.write_text(key)
    return folder


def revision(clone: Path, commit: str, wanted: re.Pattern[str], cache: Path) -> Path:
    """The folder with the wanted files of one commit or tag of a git clone (bare or not)."""
    folder = cache / clone.resolve().name / commit
    names = _git(clone, "ls-tree", "-r", "--name-only", commit).decode().splitlines()
    for name in filter(wanted.fullmatch, names):
        target = folder / PurePosixPath(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_git(clone, "show", f"{commit}:{name}"))
    return folder


def submodule(clone: Path, commit: str, path: str) -> str:
    """The commit that a submodule is pinned to."""
    return _git(clone, "ls-tree", commit, path).decode().split()[2]


def _git(clone: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, check=True).stdout


def _members(archive: bytes, url: str) -> Iterator[tuple[str, bytes]]:
    if url.split("#")[0].endswith(".whl"):
        with zipfile.ZipFile(io.BytesIO(archive)) as wheel:
            for name in wheel.namelist():
                if _is_source(name):
                    yield re.sub(r"^[^/]+\.data/purelib/", "", name), wheel.read(name)
        return
    with tarfile.open(fileobj=io.BytesIO(archive)) as sdist:
        for member in sdist:
            name = "/".join(PurePosixPath(member.name).parts[1:])
            if member.isfile() and _is_source(name):
                data = sdist.extractfile(member)
                assert data is not None
                yield name, data.read()


def _is_source(name: str) -> bool:
    return (
        name.endswith((".py", ".yaml", ".json", "/METADATA", "requirements.txt"))
        and ".." not in PurePosixPath(name).parts
    )


def _version_of(filename: str, package: str) -> str | None:
    name = re.escape(package).replace("\\-", "[-_]")
    match = re.fullmatch(rf"(?i){name}-([^-]+)(?:-.*\.whl|\.tar\.gz)", filename)
    return match.group(1) if match else None


def _pip_setting(name: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", name], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()


def _tls() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.environ.get("PIP_CERT") or None)
