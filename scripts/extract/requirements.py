"""What a release asks for of other packages: METADATA of a wheel, requirements.txt of a source distribution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_LINE = re.compile(r"(?:Requires-Dist: *)?([\w-]+)(?:\[[\w, -]*\])? *\(?([<>=!~][^;)#]*)")


def requirements(folder: Path, packages: Sequence[str]) -> dict[str, str]:
    """{package: "==0.24.0" or ">=0.15,<0.25"} of the packages named; the first line of each counts.

    Patterns (`!=4.46.*`) are left out.
    """
    found: dict[str, str] = {}
    for path in [*sorted(folder.glob("*.dist-info/METADATA")), folder / "requirements.txt"]:
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
            match = _LINE.match(line)
            if match and match[1].lower() in packages:
                bounds = [part for part in match[2].replace(" ", "").split(",") if part and "*" not in part]
                found.setdefault(match[1].lower(), ",".join(bounds))
    return found
