"""How many processes a launcher starts: torchrun, the `deepspeed` launcher (accelerate has a module of its own)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..parts import Part
from ..run_config import DERIVED, RunConfig, Setting
from ..values import Unresolved
from .common import product, whole


def option(part: Part, *names: str) -> Setting | None:
    """The last one written of a launcher's option under any of its names; dashes and underscores are the same."""
    wanted = {name.replace("-", "_") for name in names}
    found = next((entry for entry in reversed(part.entries) if entry.key.lstrip("-").replace("-", "_") in wanted), None)
    if found is None:
        return None
    return Setting(names[0], found.key, found.value, "explicit", found.file, found.line)


def world_size(launchers: Iterable[Part]) -> Setting | None:
    """Processes that torchrun or deepspeed starts: known, unresolved with the options that would decide it, or None."""
    for part in launchers:
        if part.program == "torchrun":
            return _torchrun(part)
        if part.program == "deepspeed":
            return _deepspeed(part)
    return None


def record(run: RunConfig, size: Setting | None) -> None:
    """Enter the world size into the run, and the number of nodes where the launcher states it."""
    if size is not None:
        run.settings["world_size"] = size
        run.keys["world_size"] = size.key


def _torchrun(part: Part) -> Setting:
    per_node, nodes = option(part, "nproc_per_node"), option(part, "nnodes")
    count = whole(nodes.value) if nodes is not None else 1
    total = product(per_node.value if per_node is not None else None, count)
    missing = "--nproc_per_node" if per_node is None or whole(per_node.value) is None else "--nnodes"
    return _size(total, missing, per_node, "processes per node x nodes")


def _deepspeed(part: Part) -> Setting:
    """--include host:0,1@host2:0,1 names the GPUs; --num_gpus counts them per node."""
    include, gpus, nodes = (
        option(part, "include", "i"),
        option(part, "num_gpus", "num_accelerators"),
        option(part, "num_nodes"),
    )
    if include is not None:
        return _size(_included(include.value), "--include", include, "GPUs named by --include")
    if nodes is None and option(part, "hostfile", "H") is not None:
        return _size(None, "--num_nodes", gpus, "")
    total = product(gpus.value if gpus is not None else None, nodes.value if nodes is not None else 1)
    return _size(total, "--num_gpus", gpus, "GPUs per node x nodes")


def _included(value: Any) -> int | None:
    count = 0
    for host in str(value).split("@") if isinstance(value, str) else []:
        _, colon, slots = host.partition(":")
        if not colon or not all(slot.strip().isdigit() for slot in slots.split(",")):
            return None
        count += len(slots.split(","))
    return count or None


def _size(total: int | None, missing: str, source: Setting | None, note: str) -> Setting:
    key = source.key if source is not None else missing
    file, line = (source.file, source.line) if source is not None else ("", 0)
    value: Any = total if total is not None and total > 0 else Unresolved("", (missing,))
    return Setting("world_size", key, value, DERIVED, file, line, note=note)
