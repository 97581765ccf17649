"""accelerate: its config file and the options of `accelerate launch`, alone or around a trainer.

Config keys and launch options share one name space here (that of the options); what was typed at launch wins over the
file. With DeepSpeed, accelerate either reads a ds_config or builds one from its own options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...store.index import adapter as adapter_data
from ..keys import KeyTable, load
from ..parts import Part
from ..run_config import DEFAULT, EXPLICIT, RunConfig, Setting, UnknownKey
from ..values import Unresolved
from . import deepspeed
from .common import Options, apply_options, explicit_settings, product, start_run, whole

_PREFIXED = {"fsdp_config": "fsdp_", "fp8_config": "fp8_", "dynamo_config": "dynamo_"}
_BACKENDS = {"DEEPSPEED": "deepspeed", "FSDP": "fsdp", "MEGATRON_LM": "megatron", "NO": "none"}
_SWITCHES = {
    "use_deepspeed": "DEEPSPEED",
    "use_fsdp": "FSDP",
    "multi_gpu": "MULTI_GPU",
    "use_megatron_lm": "MEGATRON_LM",
}
_SIGNS = {
    "distributed_type",
    "compute_environment",
    "deepspeed_config",
    "fsdp_config",
    "mixed_precision",
    "num_processes",
}
# Options of accelerate's that must not stand beside a deepspeed_config_file (DeepSpeedPlugin._deepspeed_config_checks)
FILE_EXCLUDES = (
    "gradient_accumulation_steps",
    "gradient_clipping",
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "offload_param_nvme_path",
    "offload_optimizer_nvme_path",
    "zero3_save_16bit_model",
    "mixed_precision",
)


@dataclass(slots=True)
class Launch:
    """What accelerate is told: its options from file and command line, and the ds_config in force (if any).

    complete: the config file that the launch names was read, so that an unset option has accelerate's default.
    """

    options: dict[str, Setting] = field(default_factory=dict)
    config: Part | None = None
    launcher: Part | None = None
    ds_settings: dict[str, Setting] | None = None
    ds_file: Part | None = None
    complete: bool = True

    def value(self, name: str) -> Any:
        setting = self.options.get(name)
        return setting.value if setting is not None else None


def claims(part: Part) -> int:
    """A config file of accelerate; the launcher less surely, because what it launches decides."""
    if is_config(part):
        return 85
    return 20 if part.program == "accelerate launch" else 0


def is_config(part: Part) -> bool:
    """Whether a data file is a config of accelerate."""
    if part.format not in ("yaml", "json") or not isinstance(part.data, dict):
        return False
    return "distributed_type" in part.data or len(_SIGNS & part.data.keys()) >= 2


def build(parts: list[Part], options: Options) -> RunConfig:
    """A run of which only the launch is known: process count, sharding, DeepSpeed and precision."""
    run = start_run("accelerate", parts, options)
    launch = read(parts, options)
    table = load("accelerate", ["config"], options.versions.get("accelerate"))
    run.notes += [table.note] if table.note else []
    run.native = dict(launch.options)
    add_sources(run, launch, parts)
    judge_keys(run, launch, table)
    apply(run, launch, options)
    _precision(run, launch)
    if launch.ds_settings is not None:
        deepspeed.apply(run, _filled_precision(run, launch.ds_settings), _ds_table(run, options))
    apply_options(run, options)
    derive_ranks(run)
    return run


def derive_ranks(run: RunConfig) -> None:
    """Data-parallel ranks: all processes, over tensor, context and sequence parallelism where accelerate has them."""
    world = whole(run.value("world_size"))
    shared = product(*(run.value(name) or 1 for name in ("tensor_parallel", "context_parallel", "sequence_parallel")))
    if world is not None and shared and world % shared == 0:
        run.derive("data_parallel_size", world // shared, "processes over model parallelism", run.key_of("world_size"))


def read(parts: Iterable[Part], options: Options, extra: Mapping[str, Setting] | None = None) -> Launch:
    """What accelerate is told by a run's parts. extra: options that another command hands on (`trl grpo`)."""
    parts = list(parts)
    launch = Launch(launcher=next((part for part in parts if part.program == "accelerate launch"), None))
    flags = _launch_flags(launch.launcher) | dict(extra or {})
    launch.config = _config_file(parts, flags.get("config_file"), options)
    launch.complete = launch.config is not None or "config_file" not in flags
    launch.options = (options_of(launch.config) if launch.config is not None else {}) | flags
    if backend(launch) == "deepspeed":
        _read_deepspeed(launch, parts, options)
    return launch


def options_of(config: Part) -> dict[str, Setting]:
    """Settings of a config file under the names of the launch options."""
    found: dict[str, Setting] = {}
    for key, setting in explicit_settings(config.entries, []).items():
        section, _, name = key.partition(".")
        name = name or section
        prefix = _PREFIXED.get(section, "") if section != name else ""
        name = name if name.startswith(prefix.rstrip("_")) else prefix + name
        found[name] = replace(setting, field=name)
    return found


def _launch_flags(launcher: Part | None) -> dict[str, Setting]:
    if launcher is None:
        return {}
    flags = explicit_settings(launcher.entries, launcher.lints)
    return {key.lstrip("-").replace("-", "_"): setting for key, setting in flags.items() if key.startswith("--")}


def _config_file(parts: list[Part], named: Setting | None, options: Options) -> Part | None:
    """The config among the parts (the named one first), else the file that the launch names."""
    configs = [part for part in parts if is_config(part)]
    name = str(named.value) if named is not None and not isinstance(named.value, Unresolved) else ""
    tail = name.rsplit("/", 1)[-1]
    matching = [part for part in configs if tail and part.path.rsplit("/", 1)[-1] == tail]
    if matching or not name:
        return next(iter(matching or configs), None)
    loaded = options.load(name, named.file) if options.load is not None and named is not None else []
    found = next((part for part in loaded if is_config(part)), None)
    return found or (configs[0] if len(configs) == 1 else None)


def backend(launch: Launch) -> Any:
    """deepspeed, fsdp, fsdp2, ddp, megatron, none; `Unresolved` where neither file nor options say."""
    kind = next((name for switch, name in _SWITCHES.items() if launch.value(switch) is True), None)
    stated = launch.value("distributed_type")
    if kind is None and stated is not None:
        if isinstance(stated, Unresolved):
            return stated
        kind = "NO" if stated is False else str(stated).upper()
    if kind is None:
        return Unresolved("", ("distributed_type",) if launch.config is not None else ("--config_file",))
    if kind == "FSDP" and str(launch.value("fsdp_version")) == "2":
        return "fsdp2"
    return _BACKENDS.get(kind, "ddp" if kind.startswith("MULTI_") else Unresolved(kind, ("distributed_type",)))


def _read_deepspeed(launch: Launch, parts: list[Part], options: Options) -> None:
    named = launch.options.get("deepspeed_config_file")
    if named is None or named.value in (None, "none"):
        launch.ds_settings = built_ds_config(launch)
        return
    among = [part for part in parts if deepspeed.is_config(part)]
    tail = str(named.value).rsplit("/", 1)[-1]
    launch.ds_file = next((part for part in among if part.path.rsplit("/", 1)[-1] == tail), None)
    if launch.ds_file is None and options.load is not None:
        loaded = options.load(str(named.value), named.file)
        launch.ds_file = next((part for part in loaded if deepspeed.is_config(part)), None)
    if launch.ds_file is None and len(among) == 1:
        launch.ds_file = among[0]
    if launch.ds_file is not None:
        launch.ds_settings = deepspeed.settings_of(launch.ds_file)


def built_ds_config(launch: Launch) -> dict[str, Setting]:
    """The ds_config that accelerate builds: what its options say, stage 2 and "auto" for the rest."""
    built = {
        key: Setting(key, name, value, DEFAULT, version="accelerate")
        for key, name, value in (
            ("train_batch_size", "train_batch_size", deepspeed.AUTO),
            ("train_micro_batch_size_per_gpu", "train_micro_batch_size_per_gpu", deepspeed.AUTO),
            ("gradient_accumulation_steps", "deepspeed_config.gradient_accumulation_steps", deepspeed.AUTO),
            ("gradient_clipping", "deepspeed_config.gradient_clipping", deepspeed.AUTO),
            ("zero_optimization.stage", "deepspeed_config.zero_stage", 2),
        )
    }
    for name, key in adapter_data("accelerate")["deepspeed"].items():
        setting = launch.options.get(name)
        if setting is not None and setting.value is not None:
            built[key] = replace(setting, field=key)
    clipping = built["gradient_clipping"]
    if clipping.value in (0, "0", "0.0"):
        del built["gradient_clipping"]  # `if self.gradient_clipping:` drops it; DeepSpeed's own default holds
    return built


def apply(run: RunConfig, launch: Launch, options: Options) -> None:
    """World size, sharding and FSDP fields of a run, from what accelerate is told."""
    _world_size(run, launch)
    kind = backend(launch)
    run.keys["sharding_backend"] = "distributed_type"
    run.settings["sharding_backend"] = _like(run, launch, "sharding_backend", ("distributed_type", *_SWITCHES), kind)
    if kind in ("fsdp", "fsdp2"):
        _fsdp(run, launch, options)
    if isinstance(kind, str) and kind != "deepspeed":
        run.derive("zero_stage", 0, f"sharding by {kind}, not DeepSpeed", "distributed_type")
    elif isinstance(kind, Unresolved):
        run.settings["zero_stage"] = Setting("zero_stage", "deepspeed_config.zero_stage", kind, DEFAULT)
    if kind == "deepspeed" and launch.ds_settings is None:
        named = launch.options["deepspeed_config_file"]
        run.notes.append(f"{named.value}: not found, so what the ds_config sets is not known")
        run.settings["zero_stage"] = replace(named, field="zero_stage", value=Unresolved("", (str(named.value),)))
    if not launch.complete:
        named = launch.options["config_file"]
        run.notes.append(f"{named.value}: not found, so what this accelerate config sets is not known")


def _world_size(run: RunConfig, launch: Launch) -> None:
    """num_processes is the total over all machines."""
    run.keys["world_size"] = "--num_processes" if launch.config is None else "num_processes"
    stated = launch.options.get("num_processes")
    if stated is not None and whole(stated.value) is not None and stated.value > 0:
        run.settings["world_size"] = replace(stated, field="world_size")
    elif stated is None and launch.config is not None and backend(launch) == "none":
        run.derive("world_size", 1, "distributed_type NO", "num_processes")
    else:
        key = stated.key if stated is not None else run.keys["world_size"]
        run.settings["world_size"] = Setting("world_size", key, Unresolved("", (key,)), DEFAULT)
    for name in ("nnodes", "tensor_parallel", "context_parallel", "sequence_parallel"):
        stated = launch.options.get(adapter_data("accelerate")["fields"][name])
        if stated is not None:
            run.settings[name] = replace(stated, field=name)


def _fsdp(run: RunConfig, launch: Launch, options: Options) -> None:
    table = load("accelerate", ["launch"], options.versions.get("accelerate"))
    version = f"accelerate {table.version}"
    for name, key in _FSDP_KEYS.items():
        if name == "reshard_after_forward" and backend(launch) == "fsdp2":
            key = "fsdp_reshard_after_forward"
        setting = launch.options.get(key)
        if setting is None:
            default = table.default(key) if table.known(key) else 1 if name == "fsdp_version" else None
            setting = Setting(name, f"fsdp_config.{key}", default, DEFAULT, version=version)
        run.settings[name] = replace(setting, field=name, value=_FSDP_READING[name](setting.value))
    offloaded = run.value("offload_param")
    if backend(launch) == "fsdp2":
        run.derive("offload_policy", bool(offloaded), "fsdp_offload_params", run.key_of("offload_param"))
    run.derive(
        "offload_optimizer",
        offloaded or False,
        "FSDP offloads parameters and states together",
        run.key_of("offload_param"),
    )
    checkpointing = launch.options.get("fsdp_activation_checkpointing")
    if checkpointing is not None and as_bool(checkpointing.value) is True:
        run.settings["gradient_checkpointing"] = replace(checkpointing, field="gradient_checkpointing", value=True)


def as_bool(value: Any) -> Any:
    """accelerate's switches come as booleans or as text."""
    if isinstance(value, str):
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(value.lower(), value)
    return value


def _reshards(value: Any) -> Any:
    """true, FULL_SHARD and HYBRID_SHARD free the parameters after forward; SHARD_GRAD_OP and NO_SHARD keep them."""
    numbered = {1: "FULL_SHARD", 2: "SHARD_GRAD_OP", 3: "NO_SHARD", 4: "HYBRID_SHARD", 5: "HYBRID_SHARD_ZERO2"}
    if isinstance(value, int) and not isinstance(value, bool):
        value = numbered.get(value, value)
    if isinstance(value, str) and value.upper() in numbered.values():
        return value.upper() in ("FULL_SHARD", "HYBRID_SHARD")
    return as_bool(value)


def _version(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _offload(value: Any) -> Any:
    return "cpu" if as_bool(value) is True else None if as_bool(value) is False else value


# FSDP1 takes the sharding strategy (the launcher always passes it), FSDP2 fsdp_reshard_after_forward
_FSDP_KEYS = {
    "fsdp_version": "fsdp_version",
    "reshard_after_forward": "fsdp_sharding_strategy",
    "offload_param": "fsdp_offload_params",
    "forward_prefetch": "fsdp_forward_prefetch",
}
_FSDP_READING = {
    "fsdp_version": _version,
    "reshard_after_forward": _reshards,
    "offload_param": _offload,
    "forward_prefetch": as_bool,
}


def mixed_precision(launch: Launch) -> Setting | None:
    """The precision accelerate is told (no, fp16, bf16, fp8); an unquoted `no` of YAML counts as "no"."""
    setting = launch.options.get("mixed_precision")
    return replace(setting, value="no") if setting is not None and setting.value is False else setting


def _precision(run: RunConfig, launch: Launch) -> None:
    setting = mixed_precision(launch)
    for name in ("bf16", "fp16"):
        run.keys[name] = "mixed_precision"
        if setting is not None and isinstance(setting.value, str):
            run.settings[name] = replace(setting, field=name, value=setting.value.lower() == name)
        elif launch.complete and launch.config is not None:
            run.settings[name] = Setting(name, "mixed_precision", False, DEFAULT, version="accelerate")


def _filled_precision(run: RunConfig, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The ds_config with the precision that accelerate fills in (DeepSpeedPlugin.set_mixed_precision)."""
    filled = dict(settings)
    for name in ("bf16", "fp16"):
        known = filled.get(f"{name}.enabled")
        if (known is None or known.value == deepspeed.AUTO) and name in run.settings:
            filled[f"{name}.enabled"] = run.settings[name]
    return filled


def _ds_table(run: RunConfig, options: Options) -> KeyTable:
    table = load("deepspeed", ["ds_config"], options.versions.get("deepspeed"))
    run.notes += [table.note] if table.note else []
    return table


def _like(run: RunConfig, launch: Launch, name: str, sources: Iterable[str], value: Any) -> Setting:
    """A field with the place of the first of the options that is set."""
    source = next((launch.options[key] for key in sources if key in launch.options), None)
    if source is None:
        return Setting(name, run.key_of(name), value, DEFAULT)
    return replace(source, field=name, value=value, origin=EXPLICIT)


def add_sources(run: RunConfig, launch: Launch, parts: Iterable[Part]) -> None:
    """Files that were followed from the launch join the run's sources."""
    known = {part.path for part in parts}
    for part in (launch.config, launch.ds_file):
        if part is not None and part.path not in known:
            run.sources += start_run(run.framework, [part], Options()).sources
            run.lints += part.lints


def judge_keys(run: RunConfig, launch: Launch, table: KeyTable) -> None:
    """Top-level keys of the config file that accelerate refuses; inside its sections it takes any name.

    Without a stated version only a key that no release knows is told.
    """
    if launch.config is None or launch.value("compute_environment") == "AMAZON_SAGEMAKER":
        return
    for entry in launch.config.entries:
        name = entry.key.split(".", 1)[0]
        if table.known(name) or (not table.exact and table.lifecycle(name) is not None):
            continue
        if any(row.key == name and row.file == entry.file for row in run.unknown_keys):
            continue
        reason = table.explain_unknown(name)
        near = list(reason.did_you_mean)
        run.unknown_keys.append(
            UnknownKey(name, entry.file, entry.line, near, reason.note, table.exact, reason.new_name)
        )


def batch(run: RunConfig) -> dict[str, Any]:
    """Nothing can be computed: the batch sizes are the script's."""
    return deepspeed.batch(run)
