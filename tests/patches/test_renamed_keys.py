"""A key that a release has under one new name is renamed by its edit, whichever adapter found it unknown."""

from __future__ import annotations

import pytest

from grpo_guard.validate import validate_text

CASES = [
    ("swift rlhf --rlhf_type grpo --model m --train_type lora", {"ms-swift": "4.5.3"}, "--train_type", "--tuner_type"),
    (
        "vllm serve m --cuda-graph-sizes 8",
        {"vllm": "0.33.0"}, "--cuda-graph-sizes", "--cudagraph-capture-sizes",
    ),
    (
        "python -m sglang.launch_server --model-path m --oltp-traces-endpoint localhost:4317",
        {"sglang": "0.5.23"}, "--oltp-traces-endpoint", "--otlp-traces-endpoint",
    ),
    (
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --micro-batch-size 1 --seq-length 64 "
        "--use-custom-fsdp",
        {"megatron-core": "0.19.0"}, "--use-custom-fsdp", "--use-megatron-fsdp",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("script", "versions", "old", "new"), CASES, ids=[case[2] for case in CASES])
def test_the_edit_renames_it(script: str, versions: dict[str, str], old: str, new: str) -> None:
    report = validate_text(script + "\n", versions=versions)
    (row,) = [row for row in report.unknown_keys if row.key == old]
    (edit,) = row.fix.edits if row.fix else []
    assert (edit.action, edit.key, edit.new_key) == ("rename", old, new)
