"""Releases of packages that were made for each other, from the metadata of the released packages (store/pins.py).

Only the release that is given is judged, by what itself asks for: nothing is concluded for a release newer than the
data, for a development build, or from a version that is not given. A set that stands in an image of the framework's
own release passes, whatever the metadata says.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..configs.keys import MISSING, load
from ..configs.keys_data import key_data
from ..configs.run_config import RunConfig
from ..store import pins
from ..store.index import package_of
from ..store.versions import in_range, is_final
from .outcome import NOT_APPLICABLE, PASS, Hit, NotApplicable, Outcome

_ENGINES = ("vllm", "sglang")


def installable_together(run: RunConfig) -> Outcome:
    """Versions that pip refuses to install together."""
    package, version = _own(run)
    if not version:
        return NOT_APPLICABLE
    asked = pins.requires(package, version) or _asked_by_keys(run, version)
    wanted = {about: bounds for about, bounds in asked.items() if _given(run, about)}
    for about, bounds in wanted.items():
        if not _allowed(run, about, [bounds]):
            return _mismatch(run, package, about, [bounds], "requires", "pip does not install them together")
    return PASS if wanted else NOT_APPLICABLE


def _asked_by_keys(run: RunConfig, version: str) -> dict[str, str]:
    """The same from the table `requires` of the framework's keys, for a release that was read itself."""
    if "requires" not in key_data(run.framework).tables:
        return {}
    table = load(run.framework, ["requires"], version)
    asked = {name: table.default(name) for name in table} if table.exact else {}
    return {name: bounds for name, bounds in asked.items() if isinstance(bounds, str) and bounds}


def engine_supported(run: RunConfig) -> Outcome:
    """A release of the rollout engine outside the range that the framework's release was made for."""
    package, version = _own(run)
    engine = run.value("rollout_engine")
    if not version or engine not in _ENGINES or not _given(run, engine):
        return NOT_APPLICABLE
    windows = pins.windows(package, version, engine)
    held = [f"=={release}" for release in pins.in_images(package, version, engine)]
    if windows and not _allowed(run, engine, windows := [*windows, *held]):
        return _mismatch(run, package, engine, windows, "was made for", "its interfaces may differ from what is called")
    return PASS if windows else NOT_APPLICABLE


def engine_torch(run: RunConfig) -> Outcome:
    """Another PyTorch than the release of the rollout engine was compiled against."""
    return _engine_asks(run, "torch", "its compiled parts are made for that release and may not load")


def engine_transformers(run: RunConfig) -> Outcome:
    """Transformers outside what the release of the rollout engine asks for."""
    return _engine_asks(run, "transformers", "interfaces that it imports may be missing")


def _engine_asks(run: RunConfig, about: str, result: str) -> Outcome:
    engine = run.value("rollout_engine")
    if engine not in _ENGINES or not _given(run, engine) or not _given(run, about):
        return NOT_APPLICABLE
    bounds = pins.requires(engine, run.versions[engine]).get(about) or _of_runtime(engine, run.versions[engine], about)
    if not bounds:
        return NOT_APPLICABLE
    if _allowed(run, about, [bounds]) or _framework_pins(run, engine, about):
        return PASS
    return _mismatch(run, engine, about, [bounds], "requires", result)


def _framework_pins(run: RunConfig, engine: str, about: str) -> bool:
    """Whether the framework's own release asks for exactly this one beside this engine, whatever the engine asks."""
    package, version = _own(run)
    if not version or not any(in_range(run.versions[engine], b) for b in pins.windows(package, version, engine)):
        return False
    own = [pins.requires(package, version).get(about, ""), *pins.windows(package, version, about)]
    return any(bounds.startswith("==") and in_range(run.versions[about], bounds) for bounds in own)


def backend_pinned(run: RunConfig) -> Outcome:
    """rLLM runs on one verl release, which it names."""
    if "rllm" not in run.versions or not _given(run, "verl"):
        return NOT_APPLICABLE
    table = load("rllm", ["requires"], run.versions["rllm"])
    pinned = table.default("verl")
    if not table.exact or pinned is MISSING:
        return NotApplicable("no verl release is known for this rLLM")
    if in_range(run.versions["verl"], f"=={pinned}"):
        return PASS
    return _mismatch(
        run, "rllm", "verl", [f"=={pinned}"], "pins", "it calls verl's internals, which move with releases"
    )


def newer_than_data(run: RunConfig) -> Iterable[str]:
    """A line for each given release that the data on combinations does not reach."""
    named = dict.fromkeys((_own(run)[0], *_ENGINES))
    for package in [name for name in named if name in run.versions and len(run.versions) > 1]:
        last, version = pins.last_read(package), run.versions[package]
        if last and is_final(version) and in_range(version, f">{last}"):
            yield f"{package} {version} is newer than the data on combinations (up to {last}): not compared with others"


def _own(run: RunConfig) -> tuple[str, str]:
    """Package and release of the framework itself; the release is "" when it is not given."""
    package = package_of(run.framework)
    return package, run.versions.get(package, "")


def _given(run: RunConfig, package: str) -> bool:
    return package in run.versions and is_final(run.versions[package])


def _of_runtime(engine: str, version: str, about: str) -> str:
    """SGLang kept what the server needs in an extra up to 0.5.2."""
    windows = pins.windows(engine, version, about) if engine == "sglang" else []
    return windows[0] if len(windows) == 1 else ""


def _allowed(run: RunConfig, about: str, windows: list[str]) -> bool:
    """Whether the given release lies in one of the ranges, or the given set is that of an image of the framework."""
    package, version = _own(run)
    if any(in_range(run.versions[about], bounds) for bounds in windows):
        return True
    sets = [row["holds"] for row in pins.images(package, version) if about in row["holds"]] if version else []
    return any(all(_same(run, name, release) for name, release in held.items()) for held in sets)


def _same(run: RunConfig, package: str, release: str) -> bool:
    """Whether the given release is this one; one that is not given speaks for nothing."""
    return package not in run.versions or in_range(run.versions[package], f"=={release}")


def _mismatch(run: RunConfig, package: str, about: str, windows: list[str], verb: str, result: str) -> Hit:
    own, bounds = f"{package} {run.versions[package]}", " or ".join(bounds.replace(",", ", ") for bounds in windows)
    return Hit(
        "",
        f"{own} {verb} {about} {bounds}, and {about} is {run.versions[about]}: {result}.",
        f"Install {about} {bounds}, or the {package} release that was made for {about} {run.versions[about]}.",
    )
