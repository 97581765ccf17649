"""doctor: is this installation whole, what may it read, how old is what it knows, and does each part answer?"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from . import __version__
from .configs.values import InputError

_PACKAGES = ("mcp", "pydantic", "numpy", "rapidfuzz", "pyyaml", "anyio")
_LEAST_OPEN_FILES = 64
_SCRIPT = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1 "
    "trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
)
_LOG = "step:3 - actor/grad_norm:nan - critic/score/mean:0.5\ntorch.OutOfMemoryError: CUDA out of memory.\n"


def doctor(root_options: Sequence[str] = ()) -> dict[str, Any]:
    """version, python, platform, packages, roots, knowledge, open_files, checks [{name, ok, note}] and ok.

    Never raises for what it finds: a part that is broken is a check that is not ok.
    """
    data: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _installed(name) for name in _PACKAGES},
        "roots": _roots(root_options),
        "open_files": _open_files(),
    }
    checks = [_check(name, work) for name, work in _CHECKS.items()]
    data["knowledge"] = _knowledge() if checks[0]["ok"] else {}
    limit = data["open_files"]
    checks.append(
        {
            "name": "open files",
            "ok": limit is None or limit >= _LEAST_OPEN_FILES,
            "note": "no limit known" if limit is None else f"this process may open {limit}",
        }
    )
    checks.append({"name": "roots", "ok": not data["roots"].get("error"), "note": _told_roots(data["roots"])})
    return {**data, "checks": checks, "ok": all(check["ok"] for check in checks)}


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _roots(options: Sequence[str]) -> dict[str, Any]:
    from .roots import Roots

    try:
        return {"folders": [str(folder) for folder in Roots.choose(options).folders]}
    except InputError as error:
        return {"folders": [], "error": str(error)}


def _told_roots(roots: dict[str, Any]) -> str:
    return roots.get("error") or f"over MCP, files below {', '.join(roots['folders'])} are read"


def _open_files() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _knowledge() -> dict[str, Any]:
    from .store import lookup as store
    from .store.index import index

    entries = [*index()["rules"], *store.bugs().values(), *store.notes().values()]
    dates = sorted(str(entry["last_verified"]) for entry in entries if entry.get("last_verified"))
    return {
        "rules": len(index()["rules"]),
        "bugs": len(store.bugs()),
        "patterns": len(store.patterns()),
        "symptoms": len(store.symptoms()),
        "proofs": len(store.proofs()),
        "notes": len(store.notes()),
        "skills": len(store.skills()),
        "checked": {"first": dates[0], "last": dates[-1]},
    }


def _check(name: str, work: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"name": name, "ok": True, "note": work()}
    except Exception as error:
        return {"name": name, "ok": False, "note": f"{type(error).__name__}: {error}"}


def _knowledge_is_whole() -> str:
    told = _knowledge()
    if not all(told.values()):
        raise ValueError(f"empty: {', '.join(name for name, count in told.items() if not count)}; install again")
    first, last = told["checked"]["first"], told["checked"]["last"]
    return f"{told['rules']} rules, {told['bugs']} bugs, {told['notes']} notes; checked {first} to {last}"


def _validates() -> str:
    from .validate import validate_text

    found = [finding.rule for finding in validate_text(_SCRIPT).findings]
    if "one-sample-groups" not in found:
        raise ValueError(f"a script with a planted fault gave {found}")
    return "the planted fault of a verl script is found"


def _diagnoses() -> str:
    from .diagnosis.diagnose import diagnose

    answer = diagnose("loss is nan", [_LOG])
    if not answer.hypotheses or not answer.signals:
        raise ValueError("a log with a planted fault gave no cause")
    return f"a log with a planted fault gives {len(answer.hypotheses)} causes"


def _proves() -> str:
    from .proofs.answer import proof

    check = proof("group-size-one")["check"]
    if not check["pass"]:
        raise ValueError("the check of the proof group-size-one fails")
    return f"{len(check['cases'])} numeric cases pass"


def _reads() -> str:
    from .lookup.notes import INDEX, read_reference

    return f"the note {INDEX} has {len(read_reference(INDEX)['text']):,} characters"


def _serves() -> str:
    import anyio

    return anyio.run(_listed_tools)


async def _listed_tools() -> str:
    from mcp import Client

    from .app import TOOLS, build_server
    from .roots import Roots

    async with Client(build_server(Roots(()))) as client:
        listed = (await client.list_tools()).tools
        answer = await client.call_tool("symptoms", {"query": "loss is nan"})
    if len(listed) != len(TOOLS) or answer.is_error:
        raise ValueError(f"{len(listed)} of {len(TOOLS)} tools are listed, or a call fails")
    return f"{len(listed)} tools are listed, and one answers"


_CHECKS = {
    "knowledge": _knowledge_is_whole,
    "validate": _validates,
    "diagnose": _diagnoses,
    "proof": _proves,
    "read": _reads,
    "MCP": _serves,
}


def doctor_text(data: dict[str, Any]) -> str:
    """One line for each part."""
    packages = ", ".join(f"{name} {number or 'MISSING'}" for name, number in data["packages"].items())
    lines = [f"grpo-guard {data['version']}, Python {data['python']} ({sys.executable}), {data['platform']}", packages]
    lines += [f"{'ok' if check['ok'] else 'FAILS':6}{check['name']:12}{check['note']}" for check in data["checks"]]
    failed = sum(not check["ok"] for check in data["checks"])
    return "\n".join([*lines, f"{failed} of {len(data['checks'])} fail" if failed else "all is well"])
