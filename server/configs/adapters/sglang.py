"""SGLang: `python -m sglang.launch_server`, `sglang serve`, `sgl.Engine(...)` in Python, the YAML of `--config`."""

from __future__ import annotations

from typing import Any

from ...store.index import adapter as adapter_data
from ..parts import Part
from ..run_config import RunConfig
from .common import Options, apply_options, derive_moe
from .engine_arguments import derive_recurrent
from .engines import Engine, derive_common, derive_flag, read
from .native import fill_named

_CALLS = {"Engine": ("ServerArgs",), "ServerArgs": ("ServerArgs",)}
_ROUTER = "sglang_router."


def build(parts: list[Part], options: Options) -> RunConfig:
    """One engine."""
    engine = Engine("sglang", "SGLang", ("ServerArgs", "server"), _CALLS, "model_path")
    run, arguments = read(parts, options, engine)
    _spare_others(run, parts)
    fill_named(run, adapter_data("sglang")["fields"], arguments.given, arguments.names)
    derive_server(run)
    run.derive("rollout_engine", "sglang", "an SGLang engine")
    derive_common(run)
    derive_moe(run)
    derive_recurrent(run)
    apply_options(run, options)
    return run


def derive_server(run: RunConfig) -> None:
    """What follows from SGLang's own arguments, whoever starts the engine."""
    for name, switch in adapter_data("sglang")["opposites"].items():
        derive_flag(run, name, switch)
        run.keys[name] = run.key_of(name) if name in run.settings else run.keys.get(switch, name)
    _derive_lora(run)
    if run.value("speculative_algorithm", "open") is None:
        run.derive("speculation", False, "no speculative algorithm", run.key_of("speculative_algorithm"))
    elif isinstance(run.value("speculative_algorithm"), str):
        run.derive("speculation", True, "a speculative algorithm", run.key_of("speculative_algorithm"))


def batch(run: RunConfig) -> dict[str, Any]:
    """An engine has no batch arithmetic of its own: requests come from outside."""
    return {}


def _spare_others(run: RunConfig, parts: list[Part]) -> None:
    """The router and image models take options of their own, which are not in the engine's tables."""
    router = any(part.program.startswith(_ROUTER) for part in parts)
    foreign = {key.key.lstrip("-") for key in run.unknown_keys} & set(adapter_data("sglang")["diffusion_options"])
    if router or foreign:
        run.unknown_keys.clear()
        run.notes.append(f"options of {'the router' if router else 'image and video models'} are not checked")


def _derive_lora(run: RunConfig) -> None:
    """Adapters named at start switch LoRA on by themselves."""
    paths = run.settings.pop("lora_paths", None)
    if paths is not None and paths.known:
        number = len(paths.value) if isinstance(paths.value, list) else int(paths.value is not None)
        run.set_explicit_like("lora_adapters", paths, number)
    if run.value("enable_lora", "open") is None:
        given = paths is not None and paths.value is not None
        note = "adapters named at start" if given else "no adapter is named"
        run.derive("enable_lora", given, note, run.key_of("enable_lora"))
