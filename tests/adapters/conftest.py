"""A run from files as a user has them: written to a folder, read and assembled like on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.assembly import Follower, build_runs
from grpo_guard.configs.reading import Reading, read_path
from grpo_guard.configs.run_config import RunConfig

RunOf = Callable[..., RunConfig]


@pytest.fixture
def run_of(tmp_path: Path) -> RunOf:
    """run_of({"run.sh": text, ...}, "run.sh", world_size=8, trl="0.22.2"): the run of the named files, all if none."""

    def build(files: dict[str, str], *named: str, world_size: int | None = None, **versions: str) -> RunConfig:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        targets = [tmp_path / name for name in named or files]
        options = Options(versions=versions, world_size=world_size, root=tmp_path)
        options.load = Follower(tmp_path, {str(path): path for path in targets}, cap=20).load
        reading = Reading()
        for path in targets:
            reading.add(read_path(path, tmp_path, path.name))
        return build_runs(reading, options)[0]

    return build
