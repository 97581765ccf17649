"""Canonical fields of a run as numbers: what is not stated is assumed aloud, what no run can have is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..configs.adapters.common import dtype, whole
from ..configs.run_config import RunConfig
from ..configs.values import InputError
from .plan import Rollout

_WIDTHS = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0}
_PROMPT, _RESPONSE = 512, 1024  # where neither the config nor the framework states a length
_LARGEST = 10**11


@dataclass(slots=True)
class Reader:
    """Reads canonical fields and remembers what it had to assume."""

    run: RunConfig
    assumed: list[str] = field(default_factory=list)

    def text(self, name: str, otherwise: str = "") -> str:
        value = self.run.value(name)
        return value if isinstance(value, str) else otherwise

    def flag(self, name: str) -> bool:
        value = self.run.value(name)
        return value is True or (isinstance(value, str) and value.lower() in ("cpu", "nvme", "true"))

    def size(self, name: str, otherwise: int | None = None, why: str = "") -> int:
        """A count of at least 1. `otherwise` is used, and told with `why`, when the run does not say."""
        value = self.run.value(name)
        if value is None or isinstance(value, bool) or value == "auto":
            if otherwise is None:
                raise InputError(f"{self.run.key_of(name)} is not known: state it with --set {name}=N")
            if why:
                self.assumed.append(f"{name} = {otherwise}: {why}")
            return otherwise
        number = whole(value)
        if number is None or not 1 <= number <= _LARGEST:
            raise InputError(f"{self.run.key_of(name)} is {str(value)[:40]}: must be a whole number of at least 1")
        return number

    def width(self, name: str, otherwise: str) -> float:
        """Bytes of a dtype."""
        value = dtype(self.run.value(name))
        if not isinstance(value, str) or value not in _WIDTHS:
            if value is not None and value != "auto":
                raise InputError(f"{self.run.key_of(name)} is {str(value)[:40]}: no dtype of weights")
            value = otherwise
        return _WIDTHS[str(value)]


def lengths(reader: Reader) -> None:
    """Longest prompt and response, as settings that all frameworks below read."""
    run = reader.run
    total = run.value("max_model_len")
    response = reader.size("max_response_length", _RESPONSE, "not set")
    room = total - response if isinstance(total, int) and not isinstance(total, bool) and total > response else 0
    prompt = reader.size("max_prompt_length", room or _PROMPT, "" if room else "not set")
    run.derive("max_response_length", response, "read for the memory estimate", run.key_of("max_response_length"))
    run.derive("max_prompt_length", prompt, "read for the memory estimate", run.key_of("max_prompt_length"))


def longest_sequence(reader: Reader) -> int:
    return reader.size("max_prompt_length") + reader.size("max_response_length")


def adapter_of(reader: Reader) -> tuple[int, str]:
    value = reader.run.value("lora_rank")
    rank = 0 if value in (None, 0, False) else reader.size("lora_rank")
    targets = reader.run.value("target_modules")
    if isinstance(targets, list):
        targets = ",".join(str(item) for item in targets)
    if not isinstance(targets, str) or "_proj" not in targets:
        targets = "all-linear"
    return rank, targets


def engine_share(reader: Reader, otherwise: float) -> float:
    value = reader.run.value("gpu_memory_utilization")
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{reader.run.key_of('gpu_memory_utilization')} is {str(value)[:40]}: a share of 0 to 1")
    return float(value)


def make_rollout(reader: Reader, engine: str, **chosen: Any) -> Rollout:
    """The parts of a rollout that all frameworks read alike."""
    return Rollout(
        engine=engine,
        tensor_parallel=reader.size("rollout_tensor_parallel", 1),
        eager=reader.flag("enforce_eager"),
        sequence=max(longest_sequence(reader), reader.size("max_model_len", 1)),
        batched_tokens=reader.size("max_num_batched_tokens", 8192),
        batched_sequences=reader.size("max_num_seqs", 256),
        **chosen,
    )


def engine_name(reader: Reader) -> str:
    name = reader.text("rollout_engine", "vllm").lower()
    if name in ("vllm", "sglang", "hf", "none", "shared"):
        return name
    reader.assumed.append(f"rollout engine {name}: taken as vllm")
    return "vllm"


def samples_asked(reader: Reader, world: int) -> int:
    """Samples that one engine gets in a step."""
    prompts, group = reader.size("train_batch_prompts", 1), reader.size("group_size", 1)
    engines = max(1, world // max(1, reader.size("rollout_tensor_parallel", 1)))
    return max(1, prompts * group // engines)
