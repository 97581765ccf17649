"""What the estimate rests on: one run with every choice that moves memory. from_run.py makes it, fit.py varies it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .cards import Card
from .shapes import Shape


@dataclass(frozen=True, slots=True)
class Trainer:
    """Bytes are per parameter. A `*_shards` is the number of ranks that one copy is spread over."""

    world: int = 1
    weight_shards: int = 1
    gradient_shards: int = 1
    state_shards: int = 1
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    sequence_parallel: int = 1  # ranks that share the tokens of one sequence
    weight_bytes: float = 2
    four_bit: bool = False
    rest_bytes: float = 2  # of what a 4-bit base does not quantise: embeddings and norms
    lora_rank: int = 0
    lora_targets: str = "all-linear"
    adapter_bytes: float = 2
    gradient_bytes: float = 2
    moment_bytes: float = 8  # both of Adam
    master_bytes: float = 4
    autocast_bytes: float = 0  # 16-bit copies of wider weights that autocast keeps through the forward pass
    fsdp: bool = False
    weights_leave: bool = False  # to the host, between the trainer's phases
    states_leave: bool = False
    states_on_host: bool = False  # the optimizer runs on the host: its states are never on the GPU
    weights_on_host: bool = False  # gathered layer by layer from the host
    summons_model: bool = False  # FSDP1 puts the whole model together to send an adapter
    bucket_elements: int = 0  # DeepSpeed's reduction buckets
    step_buffer_bytes: float = 0  # what an unfused optimizer step needs per parameter of its shard
    checkpointing: bool = True
    input_bytes: float = 2  # of each number in a layer's input, kept for recomputing it
    accumulates: bool = True  # gradients of earlier micro-batches are there when the next one runs
    update_tokens: int = 2048  # in one forward and backward pass on one GPU
    update_logits: int = 2048  # of them, those for which logits are computed
    logprob_tokens: int = 2048
    logprob_logits: int = 2048
    fused_logits: bool = False
    logit_bytes: float = 10  # per logit at the loss, with its gradient
    logit_bytes_no_grad: float = 6
    critic: bool = False
    reference: str = "none"  # none | adapter off | copy
    reference_bytes: float = 2
    reference_shards: int = 1
    reference_leaves: bool = False


@dataclass(frozen=True, slots=True)
class Rollout:
    """`engine`: none, vllm, sglang, hf (the trainer's model generates) or shared (one copy of the weights for both)."""

    engine: str = "vllm"
    elsewhere: bool = False  # on GPUs of its own
    own_process: bool = True
    utilization: float = 0.5
    tensor_parallel: int = 1
    weight_bytes: float = 2
    sleep_level: int = 2  # 0: never sleeps
    keeps_weights: bool = False  # asleep, with its weights on the GPU
    eager: bool = False
    sequence: int = 2048  # longest prompt + response
    sequences: int = 1  # asked of one engine in a step
    batched_tokens: int = 8192
    batched_sequences: int = 256


@dataclass(frozen=True, slots=True)
class Plan:
    """`keys`: field -> the native key that sets it. `assumptions`: what the input did not say."""

    shape: Shape
    card: Card
    framework: str
    trainer: Trainer
    rollout: Rollout
    keys: dict[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    @property
    def local_parameters(self) -> float:
        """Parameters that one rank would hold without sharding over data-parallel ranks."""
        trainer, shape = self.trainer, self.shape
        experts = 0
        if shape.experts:
            experts = shape.experts.count * shape.experts.layers * 3 * shape.hidden * shape.experts.intermediate
        dense = (shape.parameters() - experts) / trainer.tensor_parallel
        return (dense + experts / max(trainer.expert_parallel, trainer.tensor_parallel)) / trainer.pipeline_parallel

    @property
    def adapter_parameters(self) -> float:
        trainer = self.trainer
        if not trainer.lora_rank:
            return 0
        share = trainer.tensor_parallel * trainer.pipeline_parallel
        return self.shape.lora_parameters(trainer.lora_rank, trainer.lora_targets) / share

    @property
    def trained_parameters(self) -> float:
        return self.adapter_parameters if self.trainer.lora_rank else self.local_parameters
