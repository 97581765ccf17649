"""Parts → runs: which framework a launch is for, and which files belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from .adapters.common import Options
from .parts import Part
from .reading import Reading, read_path
from .run_config import RunConfig
from .values import InputError

# In order of precedence where two claim equally: the trainer before the back end it uses
_CLAIMING = ("verl", "rllm", "easyr1", "trl", "openrlhf", "accelerate", "deepspeed", "seed")
# Told by the programs and keys of knowledge/frameworks/recognised, so that their modules are imported only when needed
_RECOGNISED = (
    "areal", "axolotl", "llama-factory", "megatron", "megatron-bridge", "mindie", "ms-swift", "nemo-rl", "sglang",
    "skyrl", "slime", "vllm", "vllm-ascend",
)  # fmt: skip
_SUREST = 100  # the most that an adapter claims
ADAPTERS = (*_CLAIMING, *_RECOGNISED)
_ALIASES = {
    "megatron-lm": "megatron", "megatron-core": "megatron", "mcore": "megatron", "swift": "ms-swift", "nemo": "nemo-rl",
    "bridge": "megatron-bridge", "mbridge": "megatron-bridge", "mindie-llm": "mindie",
    "llamafactory": "llama-factory", "skyrl-train": "skyrl", "ascend": "vllm-ascend",
}  # fmt: skip
_PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


def adapter_module(name: str) -> ModuleType:
    """The adapter of a framework. Raises InputError for a name without one."""
    if name not in ADAPTERS:
        raise InputError(f"no adapter for {name!r}; there are {', '.join(ADAPTERS)}")
    return import_module(f".adapters.{name.replace('-', '_')}", __package__)


def framework_name(text: str) -> str:
    """The name of a framework in one spelling: lower case, dashes, the short one of several names."""
    name = text.strip().lower().replace("_", "-")
    return _ALIASES.get(name, name)


def build_runs(reading: Reading, options: Options, framework: str = "") -> list[RunConfig]:
    """One run per launch, or one for data files alone; the one with most settings first.

    framework: forces an adapter; a name without one is taken as the run's framework, whose settings are not checked.
    """
    launches = reading.launches or [[]]
    runs = [_build([*reading.documents, *launch], options, framework) for launch in launches]
    trainers = [run for run in runs if run.framework in ADAPTERS] or runs
    return sorted(trainers, key=lambda run: -run.weight)


def _build(parts: list[Part], options: Options, framework: str) -> RunConfig:
    name = framework_name(framework) or detect(parts) or _detect_named(parts, options)
    if name in ADAPTERS:
        run: RunConfig = adapter_module(name).build(parts, options)
        return run
    from .adapters.recognised import build

    return build(parts, options, name)


def _detect_named(parts: list[Part], options: Options) -> str:
    """The framework of the config file that a launch names by --config, when its program and words tell nothing."""
    for part in parts:
        named = part.last("--config")
        if named is not None and isinstance(named.value, str) and options.load is not None:
            return detect(options.load(named.value, part.path))
    return ""


def detect(parts: list[Part]) -> str:
    """Name of the framework that claims the parts most surely; "" when none does, or one without an adapter does."""
    best, best_score = "", 0
    for name in _CLAIMING:
        score = max((adapter_module(name).claims(part) for part in parts), default=0)
        if score > best_score:
            best, best_score = name, score
        if best_score == _SUREST:  # the first one wins: no other module needs to be imported
            return best
    from .adapters import recognised

    named, score = recognised.best_of(parts)
    if score > best_score:
        return named if named in _RECOGNISED else ""
    return best


def project_folder(path: Path) -> Path:
    """The folder inside which files named by `path` may be followed: the nearest project root above, else its own."""
    folder = path.resolve().parent
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in _PROJECT_MARKS):
            return candidate
    return folder


# Where a framework's own checkout states its version
_VERSION_FILES = {"verl": "verl/version/version"}


def checkout_versions(root: Path) -> dict[str, str]:
    """Versions that the project folder states because it is a framework's own checkout."""
    from ..store.versions import is_version
    from .files import read_text

    found: dict[str, str] = {}
    for package, place in _VERSION_FILES.items():
        try:
            text = read_text(root / place).strip()
        except InputError:
            continue
        if is_version(text):
            found[package] = text
    return found


class Follower:
    """Reads files that the input names (a DeepSpeed JSON, an accelerate YAML), only inside `root`, each once a run."""

    def __init__(
        self, root: Path | None, places: dict[str, Path], cap: int, texts: Mapping[Path, str] | None = None
    ) -> None:
        self._root = root.resolve() if root is not None else None
        self._places = places  # shown name -> real path of the files given by the user
        self._texts = texts
        self._left = cap
        self.followed: list[str] = []

    def load(self, name: str, naming_file: str) -> list[Part]:
        """Parts of the named file, [] when it is not found inside the root or cannot be read."""
        target = self._find(name, naming_file)
        if target is None or self._left <= 0:
            return []
        self._left -= 1
        try:
            reading = read_path(target, self._root, self._shown(target), self._texts)
        except InputError:
            return []
        self.followed.append(self._shown(target))
        return reading.parts

    def _find(self, name: str, naming_file: str) -> Path | None:
        if self._root is None or not name or "\0" in name or len(name) > 1000:
            return None
        real = self._places.get(naming_file, self._root / naming_file)
        for base in (real.parent, self._root):
            try:
                target = (base / name).resolve()
                if target.is_relative_to(self._root) and target.is_file():
                    return target
            except (OSError, RuntimeError, ValueError):  # a name too long, a loop of links, an unreadable folder
                continue
        return None

    def _shown(self, target: Path) -> str:
        given = next((shown for shown, real in self._places.items() if real == target), None)
        return given or str(target.relative_to(self._root)) if self._root else str(target)
