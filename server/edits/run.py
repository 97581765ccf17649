"""Fixes of one run as a patch on its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..configs.values import InputError
from ..model import Finding, Report
from .patch import Patch, make_patch
from .writing import SourceText, load, replace_file


@dataclass(frozen=True, slots=True)
class Fixed:
    """The report on the files as they are, the files, and the patch; `patch.report` is on the patched texts."""

    report: Report
    sources: Mapping[str, SourceText]
    patch: Patch

    @property
    def old_texts(self) -> dict[str, str]:
        return {name: source.text for name, source in self.sources.items()}

    def write(self) -> None:
        """Write the patched texts over the files. Raises InputError; a file is replaced whole or left as it is."""
        for name, text in self.patch.texts.items():
            replace_file(self.sources[name], text)


def fix_run(
    paths: Sequence[Path],
    options: Mapping[str, Any],
    *,
    unsafe: bool = False,
    report: Report | None = None,
    only: Finding | None = None,
) -> Fixed:
    """Validate one run and make a patch of its fixes.

    options: further arguments of `validate_targets`. unsafe: also fixes that change training or cost. report: the
    report on the run, where it is known. only: the fix of one finding of it. Raises InputError.
    """
    from ..validate import validate_targets

    report = validate_targets(paths, **options) if report is None else report
    sources = {}
    for path in paths:
        try:
            sources[str(path)] = load(path)
        except InputError as error:
            report.notes.append(f"not edited: {error}")

    def again(texts: Mapping[Path, str]) -> Report:
        return validate_targets(paths, texts=texts, **options)

    return Fixed(report, sources, make_patch(report, sources, again, unsafe=unsafe, only=only))
