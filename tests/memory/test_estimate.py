"""estimate_memory from every kind of input, and what it says to nonsense."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grpo_guard.configs.values import InputError
from grpo_guard.memory.estimate import estimate, shortened
from grpo_guard.render.memory import memory_text
from grpo_guard.roots import Roots
from grpo_guard.store.index import index
from grpo_guard.tools.estimate_memory import TOOL

VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-4B "
    "actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.rollout.tensor_model_parallel_size=1 "
    "trainer.n_gpus_per_node=2 trainer.nnodes=1\n"
)
TRL = "model_name_or_path: Qwen/Qwen3-4B\nuse_peft: true\nlora_r: 16\nnum_generations: 8\nuse_vllm: true\n"
OPENRLHF = (
    "python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen3-4B --train.colocate_all "
    "--actor.num_gpus_per_node 4 --actor.num_nodes 1 --ds.zero_stage 3 --algo.kl.init_coef 0\n"
)
SEED = '{"model": "Qwen/Qwen2.5-7B-Instruct", "zero_stage": 2, "lora_rank": 32, "group_size": 8}'


@pytest.mark.parametrize(
    "config, framework, gpus",
    [(VERL, "verl", 2), (TRL, "trl", 1), (OPENRLHF, "openrlhf", 4)],
    ids=["verl shell", "TRL YAML", "OpenRLHF flags"],
)
def test_every_reader_leads_to_an_estimate(config, framework, gpus):
    data = estimate(config=config, gpu="H100")
    assert (data["framework"], data["gpu"]["count"], data["model"]["name"]) == (framework, gpus, "Qwen3-4B")
    assert len(data["phases"]) == 6


def test_easyr1_yaml_and_the_seeds_json_are_read_too():
    easyr1 = (
        "worker:\n  actor:\n    model: {model_path: Qwen/Qwen3-4B}\n  rollout: {n: 5}\n"
        "algorithm: {adv_estimator: grpo}\n"
    )
    assert estimate(config=easyr1, framework="easyr1")["model"]["name"] == "Qwen3-4B"
    assert estimate(config='{"zero_stage": 2, "lora_rank": 32, "group_size": 8}', model="Qwen2.5-7B")["phases"]


def test_a_deepspeed_json_needs_a_model_and_says_what_it_assumes():
    config = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1}'
    with pytest.raises(InputError, match="name the model"):
        estimate(config=config)
    data = estimate(config=config, model="Qwen3-4B", settings={"world_size": 8})
    assert any("framework unknown" in text for text in data["assumptions"])


def test_several_files_are_one_run(tmp_path):
    (tmp_path / "run.sh").write_text(VERL)
    assert estimate(paths=[tmp_path / "run.sh"])["framework"] == "verl"


def test_what_the_caller_states_wins_over_the_config():
    data = estimate(config=VERL, settings={"lora_rank": 64, "world_size": 8}, model="Qwen3-8B", gpu="H200")
    assert data["model"]["name"] == "Qwen3-8B"
    assert data["gpu"]["count"] == 8
    assert data["model"]["lora_parameters"] == 2 * 87_293_952


def test_a_config_json_of_the_user_is_a_model():
    config = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
              "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128_256,
              "tie_word_embeddings": True}  # fmt: skip
    assert estimate(model=json.dumps(config))["model"]["parameters"] == 1_235_814_400


def test_the_same_input_gives_the_same_bytes():
    first, second = (json.dumps(estimate(config=VERL)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "chosen, says",
    [
        ({}, "give a config, or the name of a model"),
        ({"model": "Qwen9-7B"}, "unknown model 'Qwen9-7B'; nearest known: Qwen2-7B"),
        ({"model": "Qwen3-4B", "gpu": "RTX 4091"}, "did you mean rtx-4090?"),
        ({"model": "Qwen3-4B", "framework": "axolotl"}, "no defaults for 'axolotl'"),
        ({"model": "Qwen3-4B", "settings": {"lora_rnk": 8}}, "did you mean lora_rank?"),
        ({"model": "Qwen3-4B", "settings": {"lora_rank": 5000}}, "above the width 2560 of Qwen3-4B"),
        ({"model": "Qwen3-4B", "settings": {"lora_rank": -8}}, "must be a whole number of at least 1"),
        ({"model": "Qwen3-4B", "settings": {"world_size": 0}}, "must be a whole number of at least 1"),
        ({"model": "Qwen3-4B", "settings": {"group_size": -1}}, "must be a whole number of at least 1"),
        ({"model": "Qwen3-4B", "settings": {"max_response_length": "nan"}}, "must be a whole number of at least 1"),
        ({"model": "Qwen3-4B", "settings": {"max_response_length": 10**30}}, "must be a whole number of at least 1"),
        ({"model": "Qwen3-4B", "settings": {"max_response_length": [1]}}, "must be a whole number of at least 1"),
        ({"model": "Qwen3-4B", "settings": {"gpu_memory_utilization": 1.5}}, "a share of 0 to 1"),
        ({"model": "Qwen3-4B", "settings": {"gpu_memory_utilization": "half"}}, "a share of 0 to 1"),
        ({"model": "Qwen3-4B", "settings": {"model_dtype": "int3"}}, "no dtype of weights"),
        ({"model": "Qwen3-4B", "settings": {"rollout_tensor_parallel": 64}}, "above the 32 heads"),
        ({"model": "Qwen3-4B", "framework": "openrlhf", "settings": {"zero_stage": 7}}, "stages 0 to 3"),
        ({"config": "x" * 10}, "no setting was found"),
    ],
)
def test_nonsense_is_refused_in_one_line_with_the_nearest_names(chosen, says):
    with pytest.raises(InputError, match=re.escape(says)) as refused:
        estimate(**chosen)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name, id", [
    ("4090", "rtx-4090"), ("NVIDIA GeForce RTX 4090", "rtx-4090"), ("A100-SXM4-80GB", "a100-80gb"),
    ("h100", "h100-sxm"),
    ("L40S", "l40s"), ("910B", "ascend-910b"),
])  # fmt: skip
def test_a_card_is_known_by_the_names_that_users_and_drivers_write(name, id):
    assert estimate(model="Qwen3-4B", gpu=name)["gpu"]["id"] == id


def test_text_has_a_bar_per_phase_that_shows_the_end_of_the_card():
    text = memory_text(estimate(config=VERL, model="Qwen2.5-7B", gpu="4090"))
    bars = [line for line in text.splitlines() if "|" in line and line.endswith("GiB")]
    assert len(bars) == 6
    assert any("|!" in bar for bar in bars)
    assert all(len(bar) < 80 for bar in bars)


def test_a_short_answer_stays_short_and_keeps_what_decides():
    data = shortened(estimate(config=VERL, gpu="4090"), "brief")
    assert len(json.dumps(data, separators=(",", ":"))) <= 3_600
    assert {"phases", "peak_gib", "fits", "smallest_changes"} <= set(data)
    assert all(phase["terms"] for phase in data["phases"])


def call(arguments: dict, *roots: Path):
    return TOOL.call(arguments, Roots(tuple(roots)))


def test_the_tool_reads_files_inside_its_roots_only(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "config.json").write_text('{"hidden_size": 64}')
    (inside / "run.sh").write_text(VERL)
    assert call({"path": "run.sh"}, inside).data["framework"] == "verl"
    for argument in ("path", "model"):
        with pytest.raises(InputError, match="outside the allowed folders"):
            call({argument: str(outside / "config.json")}, inside)


def test_the_model_that_a_config_names_is_never_opened(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"hidden_size": 4096, "password": "x"}')
    with pytest.raises(InputError, match="unknown model"):
        call({"config": VERL.replace("Qwen/Qwen3-4B", str(secret))}, tmp_path / "elsewhere")


def test_the_tool_takes_a_config_json_as_object():
    config = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
              "intermediate_size": 128, "vocab_size": 1000}  # fmt: skip
    assert call({"model": config, "settings": {"framework": "trl"}}).data["framework"] == "trl"


def cli(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grpo_guard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


def test_the_command_line_estimates_a_file_standard_input_and_a_model(tmp_path):
    (tmp_path / "run.sh").write_text(VERL)
    from_file = cli("memory", "run.sh", "--format", "json", cwd=tmp_path)
    piped = cli("memory", "-", "--format", "json", input=VERL, cwd=tmp_path)
    assert json.loads(from_file.stdout)["peak_gib"] == json.loads(piped.stdout)["peak_gib"]
    bare = cli(
        "memory",
        "--model",
        "Qwen3-4B",
        "--gpu",
        "L40S",
        "--set",
        "framework=trl",
        "--set",
        "lora_rank=16",
        cwd=tmp_path,
    )
    assert (bare.returncode, bare.stderr) == (0, "")
    assert "trl, NVIDIA L40S" in bare.stdout


def test_the_command_line_reads_a_config_json_and_refuses_another_file(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, '
                                          '"num_attention_heads": 4, "vocab_size": 1000}')  # fmt: skip
    assert cli("memory", "--model", str(tmp_path), cwd=tmp_path).returncode == 0
    (tmp_path / "notes.txt").write_text("hello")
    refused = cli("memory", "--model", "notes.txt", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "grpo-guard: notes.txt: not a model's config.json; give that file, or the model's name\n"


def test_validate_does_not_load_the_estimate(tmp_path):
    code = "import sys; from grpo_guard.cli import main; main(['validate', '--config', 'a.b=1']); " \
           "sys.exit(any('memory' in name and name.startswith('grpo_guard') for name in sys.modules))"  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, check=False).returncode == 0


_ANY = (0, 1, 3, 8, 4096, 10**9, -1, 1.5, 0.3, True, False, None, "auto", "none", "bf16", "x", "sglang", [], {},
        "nan", float("nan"), float("inf"))  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_any_settings_give_an_answer_or_one_line(seed):
    chance = random.Random(seed)
    fields = sorted(set(index()["fields"]) - {"model", "gpu"})
    for _ in range(10):
        settings = {chance.choice(fields): chance.choice(_ANY) for _ in range(chance.randint(1, 6))}
        framework = chance.choice(["verl", "trl", "openrlhf"])
        try:
            data = estimate(model="Qwen3-30B-A3B", gpu="H100", framework=framework, settings=settings)
        except InputError as error:
            assert "\n" not in str(error), settings
        else:
            json.dumps(data, allow_nan=False)
            assert all(phase["total_gib"] >= 0 for phase in data["phases"]), settings
