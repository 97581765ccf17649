"""Arguments of TRL's trainers that have no effect, contradict each other, or are unknown to the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..configs.run_config import EXPLICIT, RunConfig, Setting
from ..configs.values import Unresolved
from ..store.versions import in_range
from .outcome import NOT_APPLICABLE, PASS, Hit, Outcome, Unknown

# Policy losses by the release that brought them: the branches on loss_type in grpo_trainer.py at each tag
_LOSSES = {
    "trl": {
        "grpo": "0.17.0", "bnpo": "0.17.0", "dr_grpo": "0.17.0", "dapo": "0.22.0", "cispo": "0.26.0",
        "sapo": "0.26.0", "luspo": "0.28.0", "vespo": "1.0.0",
    },
    "ms-swift": {
        "grpo": "3.4.0", "bnpo": "3.4.0", "dr_grpo": "3.4.0", "dapo": "3.11.0", "cispo": "3.11.0", "sapo": "3.11.0",
        "real": "4.1.0", "fipo": "4.2.2",
    },
}  # fmt: skip
_NEWEST_READ = {"trl": "1.16.0", "ms-swift": "4.6.0"}
_GYM = ("use_gym_env", "gym_env")
# What 0.22.0 and 0.22.1 make of scale_rewards
_SWAPPED = {
    "group": "not divided by a standard deviation at all",
    "batch": "divided by the deviation of their group instead of the batch's",
    "none": "divided by the deviation of their group",
}
# Arguments of ModelConfig that only describe an adapter
_ADAPTER = (
    "lora_r", "lora_alpha", "lora_dropout", "lora_target_modules", "lora_target_parameters", "lora_modules_to_save",
    "use_rslora", "use_dora",
)  # fmt: skip


def loss_type_known(run: RunConfig) -> Outcome:
    """The loss must be one that the release computes; another one stops the first training step."""
    package = run.framework if run.framework in _LOSSES else "trl"
    setting, version = run.settings.get("loss_type"), run.versions.get(package)
    grpo = run.value("adv_estimator") in (("grpo",) if package == "trl" else ("grpo", "rloo", "reinforce_plus_plus"))
    if not grpo or setting is None or version is None:
        return NOT_APPLICABLE
    if not setting.known:
        return Unknown(frozenset(["loss_type"]))
    losses = _LOSSES[package]
    known = [name for name, since in losses.items() if in_range(version, f">={since}")]
    newer = in_range(version, f">{_NEWEST_READ[package]}")  # a release after those read may have a loss of its own
    if setting.value in known or (setting.value not in losses and newer):
        return PASS
    title = "TRL" if package == "trl" else package
    since = losses.get(str(setting.value))
    later = f"{setting.value} came with {title} {since}" if since else f"no {title} release has {setting.value}"
    return Hit(
        "loss_type",
        f"{setting.key}={setting.value}: {later}; {title} {version} stops in the first step with `Unknown loss type`.",
        f"Set {setting.key} to one of {', '.join(known)}" + (f", or use {title} {since} or later." if since else "."),
    )


def scale_rewards_as_named(run: RunConfig) -> Outcome:
    """0.22.0 and 0.22.1 test scale_rewards against the wrong lists; only a known version decides."""
    setting = run.settings.get("scale_rewards")
    if "trl" not in run.versions or run.value("adv_estimator") != "grpo" or setting is None:
        return NOT_APPLICABLE
    if not setting.known:
        return Unknown(frozenset(["scale_rewards"]))
    real = _SWAPPED.get(str(setting.value), "")
    if not real:
        return NOT_APPLICABLE
    return Hit(
        "scale_rewards",
        f"{setting.key}={setting.value}: TRL {run.versions['trl']} tests the option against the wrong lists, so "
        f"advantages are {real}.",
        "Use TRL 0.22.2 or later; runs of 0.22.0 and 0.22.1 are not comparable with others.",
    )


def importable_beside_vllm(run: RunConfig) -> Outcome:
    """TRL below 0.27 imports a class that vLLM 0.12.0 removed, wherever vLLM is installed (the rule has the ranges)."""
    if "trl" not in run.versions or "vllm" not in run.versions or run.value("adv_estimator") != "grpo":
        return NOT_APPLICABLE
    return Hit(
        "use_vllm",
        f"TRL {run.versions['trl']} imports GuidedDecodingParams wherever vLLM is installed; vLLM 0.12.0 removed it: "
        f"with vLLM {run.versions['vllm']} the GRPO trainer is not importable, whatever {run.key_of('use_vllm')} is.",
        "Use TRL 0.27.0 or later, or vLLM below 0.12.0.",
    )


def adapter_settings_used(run: RunConfig) -> Outcome:
    """Adapter settings of the TRL command count only with `use_peft`; without it all weights are trained."""
    if _written_by_python(run):
        return NOT_APPLICABLE  # a LoraConfig that is handed to the trainer is an adapter
    use = run.native.get("use_peft")
    if use is not None and use.value is not False:
        return PASS
    given = [run.native[name] for name in _ADAPTER if name in run.native and run.native[name].value is not None]
    if not given:
        return PASS
    names = ", ".join(setting.key for setting in given)
    switch = use.key if use is not None else _like(given[0], "use_peft")
    state = "is false" if use is not None else "is not set"
    return Hit(
        "lora_rank",
        f"{names} describe an adapter, but {switch} {state}: TRL builds none and trains all weights.",
        f"Set {switch} to true, or remove the adapter settings.",
    )


def vllm_settings_used(run: RunConfig) -> Outcome:
    """Settings of vLLM count only with `use_vllm`; without it the model in training generates, far slower."""
    if "use_vllm" in run.native or run.value("use_vllm") is not False:
        return NOT_APPLICABLE
    given = [setting for name, setting in run.native.items() if name.startswith("vllm_") and setting.value is not None]
    if not given:
        return PASS
    names = ", ".join(setting.key for setting in given)
    switch = _like(given[0], "use_vllm")
    return Hit(
        "use_vllm",
        f"{names} configure vLLM, but {switch} is not set and its default is false: transformers generates, without "
        "these settings.",
        f"Set {switch} to true.",
    )


def generation_temperature_agrees(run: RunConfig) -> Outcome:
    """generation_kwargs win over `temperature` in sampling, while the trainer scores tokens at `temperature`."""
    inner = _inner(run, "generation_kwargs", "temperature")
    own = run.settings.get("temperature")
    if inner is None or own is None:
        return NOT_APPLICABLE
    if isinstance(inner.value, Unresolved) or not own.known:
        return Unknown(frozenset(["temperature"]))
    if inner.value == own.value:
        return PASS
    return Hit(
        "temperature",
        f"{inner.key} asks for temperature {inner.value}, {own.key} is {own.value}: tokens are sampled at "
        f"{inner.value} and their log-probs computed at {own.value}, so the policy that is trained is not the one that "
        "was sampled.",
        f"Set {own.key} to {inner.value} and remove it from generation_kwargs.",
    )


def recomputation_keeps_frozen_weights(run: RunConfig) -> Outcome:
    """ZeRO-3 with an adapter needs reentrant recomputation before DeepSpeed 0.19.3; TRL asks for it from 1.9.0 on."""
    fields = ("zero_stage", "lora_rank", "gradient_checkpointing")
    stage, rank, recompute = (run.value(name) for name in fields)
    if stage in (0, 1, 2) or rank == 0 or recompute is False:
        return PASS
    if None in (stage, rank, recompute):
        missing = frozenset(name for name in fields if run.value(name) is None)
        return Unknown(missing) if missing <= run.settings.keys() else NOT_APPLICABLE
    told = _inner(run, "gradient_checkpointing_kwargs", "use_reentrant")
    if told is not None and isinstance(told.value, Unresolved):
        return Unknown(frozenset(["gradient_checkpointing"]))
    if told is None and ("trl" not in run.versions or in_range(run.versions["trl"], "<0.27.0")):
        return NOT_APPLICABLE if "trl" not in run.versions else PASS  # reentrant unless transformers 5 says otherwise
    if told is not None and told.value is not False:
        return PASS
    state = f"{told.key} is false" if told is not None else "recomputation is not reentrant by default in this release"
    switch = run.key_of("gradient_checkpointing")
    return Hit(
        "gradient_checkpointing",
        f"{switch} with ZeRO-3 and an adapter, and {state}: DeepSpeed partitions frozen weights again before they are "
        "compared, and the first backward stops with CheckpointError (shape [0]).",
        'Use DeepSpeed 0.19.3 or later, or set gradient_checkpointing_kwargs to {"use_reentrant": true}.',
    )


def reward_weights_match(run: RunConfig) -> Outcome:
    """One weight for each reward function; a reward model is one more function, several are several."""
    weights, functions = run.settings.get("reward_weights"), run.settings.get("reward_funcs")
    if weights is None or weights.value is None or functions is None or functions.value is None:
        return NOT_APPLICABLE
    given, wanted = _length(weights.value), _length(functions.value)
    model = run.settings.get("reward_model")
    if any(name in run.native and run.native[name].value for name in _GYM):
        return NOT_APPLICABLE  # ms-swift: a gym's reward is one more function or the only one, by version
    if given is None or wanted is None:
        return Unknown(frozenset(["reward_weights" if given is None else "reward_funcs"]))
    if model is not None and not model.known:
        return Unknown(frozenset(["reward_model"]))
    wanted += (_length(model.value) or 0) if model is not None and model.value else 0
    if given == wanted:
        return PASS
    return Hit(
        "reward_weights",
        f"{weights.key} has {_counted(given, 'weight')} for {_counted(wanted, 'reward function')}: the trainer stops "
        "at start-up.",
        f"Give {_counted(wanted, 'weight')}, in the order of the reward functions.",
    )


def _length(value: Any) -> int | None:
    """Number of elements of a list, of names that code resolves as well; one word of a command line is one element."""
    if isinstance(value, list):
        return len(value)
    if isinstance(value, Unresolved):
        return _elements(value.text)
    return None if value is None or isinstance(value, Mapping) else 1


def _elements(text: str) -> int | None:
    """Number of elements of a list display in Python's notation; None for anything else."""
    import ast

    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.List) or any(isinstance(item, ast.Starred) for item in tree.elts):
        return None
    return len(tree.elts)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _inner(run: RunConfig, name: str, key: str) -> Setting | None:
    """An entry of a dictionary argument, written nested (YAML) or as one value (Python, JSON on the command line)."""
    flat = run.native.get(f"{name}.{key}")
    if flat is not None:
        return flat
    whole = run.native.get(name)
    if whole is None or not isinstance(whole.value, Mapping) or key not in whole.value:
        return None
    value: Any = whole.value[key]
    return Setting(whole.field, whole.key, value, EXPLICIT, whole.file, whole.line)


def _written_by_python(run: RunConfig) -> bool:
    return any(source.format == "python" for source in run.sources)


def _like(setting: Setting, name: str) -> str:
    """A name written the way its neighbour is: as a flag on a command line, plain in a file."""
    return f"--{name}" if setting.key.startswith("-") else name
