"""Megatron-LM, Megatron-Bridge and slime: flags and fields by release, and how flags are made of dataclasses."""

import ast
import sys
from pathlib import Path

import pytest

from grpo_guard.configs.keys import MISSING, load

SCRIPTS = str(Path(__file__).resolve().parents[2] / "scripts")


def megatron(version):
    return load("megatron", ["arguments"], version)


@pytest.mark.parametrize(
    ("version", "flag", "default"),
    [
        ("0.12.0", "clip-grad", 1.0),
        ("0.19.0", "clip-grad", 1.0),
        ("0.12.0", "moe-router-dtype", None),
        ("0.15.0", "grpo-group-size", 2),
        ("0.14.0", "grpo-group-size", MISSING),
        ("0.16.0", "muon-momentum", 0.9),  # the library's own default is 0.95
        ("0.15.3", "muon-momentum", MISSING),
        ("0.17.1", "data-parallel-sharding-strategy", "no_shard"),
        ("0.18.0", "data-parallel-sharding-strategy", "optim_grads_params"),
        ("0.19.0", "num-layers", None),  # 0 in TransformerConfig, None for argparse
        ("0.19.0", "num-query-groups", 1),
        ("0.19.0", "attention-backend", "auto"),
        ("0.19.0", "micro-batch-size", None),
    ],
)
def test_defaults_of_megatron_flags(version, flag, default):
    assert megatron(version).default(flag) == default


@pytest.mark.parametrize(
    ("version", "choices"),
    [
        ("0.15.0", ("adam", "sgd")),
        ("0.16.0", ("adam", "sgd", "muon", "dist_muon")),
        ("0.17.0", ("adam", "sgd", "muon", "dist_muon", "lion")),
        ("0.19.0", ("adam", "sgd", "muon", "dist_muon", "lion", "soap", "adaptive_muon")),
    ],
)
def test_the_optimizers_of_each_release(version, choices):
    assert megatron(version).choices("optimizer") == choices


def test_a_flag_has_its_own_spelling_only():
    """argparse is told allow_abbrev=False, and takes no underscores for dashes."""
    table = megatron("0.19.0")
    assert table.canonical("tensor-model-parallel") is None
    assert table.canonical("tensor_model_parallel_size") is None
    assert table.canonical("persistent-save-interval") == "save-interval"


def test_switches_take_no_value():
    table = megatron("0.19.0")
    assert {table.type(name) for name in ("bf16", "no-masked-softmax-fusion", "overlap-grad-reduce")} == {"switch"}
    assert table.type("rl-partial-rollouts") == "toggle"  # and --no-rl-partial-rollouts


@pytest.mark.parametrize(
    ("old", "version", "note"),
    [
        ("use-custom-fsdp", "0.14.0", "renamed to use-megatron-fsdp in megatron-core 0.14.0"),
        ("grpo-default-temperature", "0.16.0", "renamed to rl-default-temperature in megatron-core 0.16.0"),
        (
            "rl-default-temperature",
            "0.15.0",
            "added in megatron-core 0.16.0; up to then the name is grpo-default-temperature",
        ),
        ("muon-use-nesterov", "0.18.0", "renamed to muon-nesterov in megatron-core 0.18.0"),
    ],
)
def test_renamed_flags(old, version, note):
    assert megatron(version).explain_unknown(old).note == note


@pytest.mark.parametrize(
    ("version", "flag", "default"),
    [
        ("0.1.0", "kl-loss-type", "kl"),
        ("0.2.0", "kl-loss-type", "k1"),
        ("0.2.0", "lr", 1e-6),  # Megatron has none
        ("0.3.1", "clip-grad", 1.0),
        ("0.3.1", "n-samples-per-prompt", 1),
        ("0.2.4", "update-weight-mode", MISSING),
        ("0.3.0", "update-weight-mode", "full"),
        ("0.3.1", "tis-clip", 2.0),
    ],
)
def test_defaults_of_slime_flags(version, flag, default):
    assert load("slime", ["arguments"], version).default(flag) == default


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.3.0", "optimizer.clip_grad", 1.0),
        ("0.6.0", "train.global_batch_size", None),
        ("0.6.0", "ddp.overlap_grad_reduce", False),
        ("0.6.0", "checkpoint.ckpt_format", "torch_dist"),
        ("0.6.0", "model.tensor_model_parallel_size", 1),
        ("0.3.0", "train.num_epochs", MISSING),
        ("0.6.0", "train.num_epochs", None),
        ("0.6.0", "scheduler.max_lr", MISSING),
    ],
)
def test_defaults_of_bridge_fields(version, key, default):
    assert load("megatron-bridge", ["ConfigContainer"], version).default(key) == default


def test_what_a_recipe_chooses_is_open():
    table = load("megatron-bridge", ["ConfigContainer"], "0.6.0")
    assert table.known("model.vocab_size_of_a_provider") and table.known("dataset.path") and table.known("peft.dim")
    assert not table.known("train.batch_size")


# -- the extraction --------------------------------------------------------------------------------------------------

SOURCE = """
class Backend(enum.Enum):
    flash = 1
    auto = 2

@dataclass
class Base:
    clip: float = 1.0
    fused: bool = True
    overlap: bool = False
    hidden: int = field(default=0, metadata={"argparse_meta": {"default": None}})
    skipped: int = 3

@dataclass
class Config(Base):
    backend: Backend = Backend.auto
    level: Literal[0, 1, 2] = 0
    warm_up: bool = field(default=True, metadata={"argparse_meta": {"arg_names": ["--no-warm"], "dest": "warm"}})
    interval: Optional[int] = field(default=None, metadata={"argparse_meta": {"arg_names": ["--save-every", "--save"]}})

def _add_training_args(parser):
    exclude = ["skipped"]
    factory = ArgumentGroupFactory(Config, exclude=exclude)
    group = factory.build_group(parser, "training")
    group.add_argument('--bf16', action='store_true')
    group.add_argument('--no-fusion', action='store_false', dest='fusion')
    group.add_argument('--partial', action=argparse.BooleanOptionalAction, default=False)
    group.add_argument('--freqs', nargs='+', type=int, default=[1])
    group.add_argument('--kind', type=str, default='a', choices=['a', 'b'])
    return parser
"""


@pytest.fixture(scope="module")
def flags():
    sys.path.insert(0, SCRIPTS)
    try:
        from extract.megatron import _flags_of_module

        module = ast.parse(SOURCE)
        known = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
        yield {flag.names: flag.field for flag in _flags_of_module(module, known, {})}
    finally:
        sys.path.remove(SCRIPTS)


@pytest.mark.parametrize(
    ("names", "default", "kind", "choices"),
    [
        (("clip",), 1.0, "float", ()),
        (("no-fused", "disable-fused"), False, "switch", ()),
        (("overlap",), False, "switch", ()),
        (("hidden",), None, "int", ()),
        (("backend",), "auto", "", ("flash", "auto")),
        (("level",), 0, "int", (0, 1, 2)),
        (("no-warm",), False, "switch", ()),
        (("save-every", "save"), None, "int", ()),
        (("bf16",), False, "switch", ()),
        (("no-fusion",), False, "switch", ()),
        (("partial",), False, "toggle", ()),
        (("freqs",), [1], "list", ()),
        (("kind",), "a", "str", ("a", "b")),
    ],
)
def test_flags_of_dataclasses_and_of_calls(flags, names, default, kind, choices):
    field = flags[names]
    assert (field.default, field.type, field.choices) == (default, kind, choices)


def test_excluded_fields_give_no_flag(flags):
    assert ("skipped",) not in flags
