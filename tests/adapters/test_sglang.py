"""SGLang: the server's options, the keywords of Engine and its YAML become the same run."""

from __future__ import annotations

import pytest

from grpo_guard.checks.engine import check_run
from grpo_guard.configs.run_config import RunConfig

from .conftest import RunOf

SERVER = """
python3 -m sglang.launch_server --model Qwen/Qwen3-30B-A3B --tp 4 --dp-size 2 --context-length 8192 \\
  --mem-fraction-static 0.7 --enable-memory-saver --enable-weights-cpu-backup --disable-radix-cache \\
  --lora-paths a=/x b=/y --max-running-requests 64
"""
SERVE = """
sglang serve --model-path Qwen/Qwen3-30B-A3B --tensor-parallel-size 4 --data-parallel-size 2 --context-length 8192 \\
  --mem-fraction-static 0.7 --enable-memory-saver --enable-weights-cpu-backup --disable-radix-cache \\
  --lora-paths a=/x b=/y --max-running-requests 64
"""
PYTHON = """
import sglang as sgl

engine = sgl.Engine(model_path="Qwen/Qwen3-30B-A3B", tp_size=4, dp_size=2, context_length=8192, mem_fraction_static=0.7,
                    enable_memory_saver=True, enable_weights_cpu_backup=True, disable_radix_cache=True,
                    lora_paths=["a=/x", "b=/y"], max_running_requests=64)
"""
CONFIG = """
model-path: Qwen/Qwen3-30B-A3B
tp-size: 4
dp_size: 2
context-length: 8192
mem-fraction-static: 0.7
enable-memory-saver: true
enable-weights-cpu-backup: true
disable-radix-cache: true
lora-paths: [a=/x, b=/y]
max-running-requests: 64
"""
EFFECTIVE = {
    "model": "Qwen/Qwen3-30B-A3B",
    "is_moe": True,
    "rollout_engine": "sglang",
    "rollout_tensor_parallel": 4,
    "rollout_data_parallel": 2,
    "max_model_len": 8192,
    "gpu_memory_utilization": 0.7,
    "free_cache_engine": True,
    "weights_cpu_backup": True,
    "enable_prefix_caching": False,
    "cuda_graph": True,
    "overlap_schedule": True,
    "enable_lora": True,
    "lora_adapters": 2,
    "lora_backend": "csgmv",
    "max_num_seqs": 64,
    "speculation": False,
}


def unknown(run: RunConfig) -> dict[str, tuple[bool, list[str]]]:
    return {row.key: (row.fatal, row.did_you_mean) for row in run.unknown_keys}


def fired(run: RunConfig) -> set[str]:
    return {verdict.rule["id"] for verdict in check_run(run) if verdict.finding is not None}


@pytest.mark.parametrize("name, text", [("a.sh", SERVER), ("b.sh", SERVE), ("c.py", PYTHON), ("d.yaml", CONFIG)])
def test_every_way_to_write_it_is_the_same_run(run_of: RunOf, name: str, text: str) -> None:
    run = run_of({name: text}, sglang="0.5.10")
    assert run.framework == "sglang"
    assert {field: run.value(field) for field in EFFECTIVE} == EFFECTIVE
    assert unknown(run) == {}


@pytest.mark.parametrize("version, backend", [("0.5.3", "triton"), ("0.5.3.post3", "csgmv"), ("0.5.4.post1", "triton")])
def test_defaults_are_those_of_the_version(run_of: RunOf, version: str, backend: str) -> None:
    assert run_of({"run.sh": "sglang serve --model-path m\n"}, sglang=version).value("lora_backend") == backend


def test_unknown_options_stop_the_server(run_of: RunOf) -> None:
    text = "python -m sglang.launch_server --model-path m --mem-fraction-statics 0.8 --cuda-graph-max-bs 8\n"
    assert unknown(run_of({"run.sh": text}, sglang="0.5.10")) == {
        "--mem-fraction-statics": (True, ["--mem-fraction-static"])
    }
    assert unknown(run_of({"run.sh": text}, sglang="0.5.23")).keys() == {"--mem-fraction-statics"}  # an alias by then


def test_a_backend_that_the_release_does_not_have(run_of: RunOf) -> None:
    run = run_of({"run.sh": "sglang serve --model-path m --lora-backend csgmv\n"}, sglang="0.5.3")
    assert run.lints == []
    run = run_of({"run.sh": "sglang serve --model-path m --lora-backend punica\n"}, sglang="0.5.3")
    assert [(lint.rule, lint.severity) for lint in run.lints] == [("invalid-choice", "error")]


def test_the_router_and_image_models_have_options_of_their_own(run_of: RunOf) -> None:
    router = run_of(
        {"a.sh": "python -m sglang_router.launch_server --model-path m --router-policy x\n"}, sglang="0.5.10"
    )
    image = run_of({"b.sh": "sglang serve --model-path m --num-gpus 4 --ulysses-degree 2\n"}, "b.sh", sglang="0.5.10")
    assert (unknown(router), unknown(image)) == ({}, {})
    assert "options of the router are not checked" in router.notes
    assert "options of image and video models are not checked" in image.notes


ALLOCATOR = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
LAUNCH = "python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --tp 2 "


@pytest.mark.parametrize(
    "rule, version, text",
    [
        ("sglang-34076", "0.5.20", f"{ALLOCATOR}{LAUNCH}--enable-mixed-chunk"),
        ("sglang-28499", "0.5.10", f"{LAUNCH}--lora-paths a=/x b=/y"),
        ("sglang-31674", "0.5.20", f"{LAUNCH}--enable-memory-saver --speculative-algorithm EAGLE"),
        ("sglang-28566", "0.5.15", f"{LAUNCH}--enable-dp-attention --lora-paths a=/x"),
        ("sglang-32707", "0.5.15", f"{LAUNCH}--enable-dp-attention --lora-paths a=/x"),
        ("sglang-27787", "0.5.20", f"{LAUNCH}--enable-memory-saver --moe-runner-backend flashinfer_trtllm"),
        ("sglang-27140", "0.5.20", "sglang serve --model-path Qwen/Qwen3.5-35B-A3B --enable-memory-saver"),
        ("sglang-28771", "0.5.20", f"{LAUNCH}--speculative-algorithm EAGLE --enable-hierarchical-cache"),
        ("sglang-22819", "0.5.10", f"{LAUNCH}--enable-deterministic-inference"),
        ("expandable-segments-with-memory-saver", "0.5.10", f"{ALLOCATOR}{LAUNCH}--enable-memory-saver"),
    ],
)
def test_what_an_engine_shows(run_of: RunOf, rule: str, version: str, text: str) -> None:
    assert rule in fired(run_of({"run.sh": text + "\n"}, sglang=version))
    assert rule not in fired(run_of({"run.sh": LAUNCH + "\n"}, sglang=version))
