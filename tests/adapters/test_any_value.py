"""Whatever stands behind a key, an adapter, its batch table and the rules answer: bad input is normal."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.adapters import recognised
from grpo_guard.configs.adapters.common import Options
from grpo_guard.configs.parts import Part
from grpo_guard.configs.values import Entry, Unresolved
from grpo_guard.store.index import adapter

PROGRAMS = {
    "openrlhf": ("shell", "openrlhf.cli.train_ppo_ray", "--"),
    "easyr1": ("shell", "verl.trainer.main", ""),
    "rllm": ("shell", "rllm.trainer.verl.train_agent_ppo", ""),
    "seed": ("json", "", ""),
    "ms-swift": ("shell", "swift rlhf", "--"),
    "llama-factory": ("yaml", "", ""),
    "axolotl": ("yaml", "", ""),
    "vllm": ("shell", "vllm serve", "--"),
    "sglang": ("shell", "sglang serve", "--"),
    "vllm_ascend": ("shell", "vllm serve", "--additional-config."),
    "mindie": ("json", "", ""),
    "nemo_rl": ("shell", "examples/run_grpo.py", ""),
    "skyrl": ("shell", "skyrl.train.entrypoints.main_base", ""),
    "areal": ("yaml", "", ""),
    "megatron": ("shell", "train_rl.py", "--"),
    "megatron-bridge": ("shell", "scripts/training/run_recipe.py", ""),
    "slime": ("shell", "train.py", "--"),
}
# Keys that a derivation reads beside the fields
EXTRA = {
    "ms-swift": {
        "rlhf_type",
        "fsdp",
        "val_dataset",
        "split_dataset_ratio",
        "teacher_model",
        "train.gpus",
        "soft_cache_length",
    },
    "llama-factory": {"stage", "pure_bf16", "use_galore"},
    "axolotl": {"adapter", "bf16", "fp16", "gradient_checkpointing", "fsdp_config.x", "val_set_size", "plugins"},
}
POSITIONAL = {"vllm": {"model"}, "sglang": {"model_path"}}  # a word behind a switch is the model
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.sampled_from([0, 1, 2, 8, 64, 1024]),
    st.floats(allow_nan=True),
    st.text(max_size=8),
    st.sampled_from(["vllm", "muon", "grpo", "group_norm", "bf16", "true", "auto", "0", "8"]),
    st.just(Unresolved("${N}", ("N",))),
    st.lists(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def keys_of(framework: str) -> list[str]:
    data = adapter(framework)
    groups = [
        data.get(name, {})
        for name in (
            "fields",
            "derived_from",
            "hosted",
            "sampling",
            "dtensor",
            "megatron",
            "vllm",
            "sglang",
            "mirrored",
            "colocated",
            "own",
        )
    ]
    values = [keys for group in groups for keys in group.values()]
    names = {key.removeprefix("!") for keys in values for key in ([keys] if isinstance(keys, str) else keys)}
    names |= EXTRA.get(framework, set())
    names |= set(data.get("readings", {})) | set(data.get("shared", {})) | set(data.get("shared", {}).values())
    return sorted(names)


@pytest.mark.parametrize("framework", sorted(PROGRAMS))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_value_breaks_an_adapter(framework: str, data: Any) -> None:
    module = import_module(f"grpo_guard.configs.adapters.{framework.replace('-', '_')}")
    format, program, dashes = PROGRAMS[framework]
    chosen = data.draw(st.dictionaries(st.sampled_from(keys_of(framework)), VALUES, max_size=12))
    if framework in ("ms-swift", "axolotl"):
        chosen |= {"ms-swift": {"rlhf_type": "grpo"}, "axolotl": {"rl": "grpo"}}[framework]
    if framework == "rllm":
        chosen |= data.draw(st.sampled_from([{}, {"rllm/backend": "verl"}, {"rllm/backend": "tinker"}]))
        program = data.draw(st.sampled_from([program, "train.py"]))
    entries = [Entry(dashes + key, value, "run.sh", number) for number, (key, value) in enumerate(chosen.items(), 1)]
    part = Part(format, "run.sh", program=program, entries=entries, data=chosen if format != "shell" else None)
    getattr(module, "claims", recognised.claims)(part)
    run = module.build([part], Options())
    table = module.batch(run)
    assert all(isinstance(value, int) for name, value in table.items() if name != "formula")
    for verdict in check_run(run):
        assert verdict.outcome is not None
    written = {setting.key for setting in run.settings.values() if setting.origin == "explicit"}
    assert written <= {dashes + key for key in chosen} | POSITIONAL.get(framework, set())
