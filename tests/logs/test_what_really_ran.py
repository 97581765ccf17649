"""Settings, versions, errors and ranks that logs tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grpo_guard.logs import read_logs

VERL = """(TaskRunner pid=1) {'actor_rollout_ref': {'actor': {'clip_ratio': 0.2,
(WorkerDict pid=2) another line
(TaskRunner pid=1)                                  'optim': {'lr': 1e-06,
(TaskRunner pid=1)                                            'betas': [0.9, 0.999]}},
(TaskRunner pid=1)                        'rollout': {'n': 8, 'name': 'vllm'}},
(TaskRunner pid=1)  'trainer': {'nnodes': 1, 'resume_from': None}}
(TaskRunner pid=1) step:1 - actor/grad_norm:0.5 - actor/lr:1e-06
"""


def test_the_config_that_verl_prints():
    reading = read_logs([VERL])
    assert {key: row.value for key, row in reading.config.items()} == {
        "actor_rollout_ref.actor.clip_ratio": 0.2,
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "actor_rollout_ref.actor.optim.betas": [0.9, 0.999],
        "actor_rollout_ref.rollout.n": 8,
        "actor_rollout_ref.rollout.name": "vllm",
        "trainer.nnodes": 1,
        "trainer.resume_from": None,
    }
    assert reading.config["trainer.nnodes"].line == 1
    assert list(reading.series["grad_norm"].values) == [0.5]


def test_a_config_that_is_cut_is_read_in_part():
    reading = read_logs([VERL[: VERL.index("'rollout'")]])
    assert reading.config["actor_rollout_ref.actor.optim.lr"].value == 1e-6
    assert any("read in part" in note for note in reading.coverage["notes"])


@pytest.mark.parametrize(
    "text",
    [
        "GRPOConfig(\n)\n",
        "args = Namespace(\n# nothing\n)\n",
        "GRPOConfig(\n*parts,\n)\n",
        "Namespace(a=1\n",
        "XArgs(\n",
    ],
)
def test_a_call_without_a_setting_says_nothing(text: str):
    """Code in a log, or an object that was cut: no setting, and no fault of ours."""
    assert set(read_logs([text]).config) <= {"a"}


def test_megatron_and_deepspeed_print_dotted_lists():
    log = (
        "  adam_beta1 ...................................... 0.9\n"
        "[2026-08-20 10:11:12,000] [INFO] [config.py:1003:print]   zero_enabled ................. True\n"
    )
    assert {key: row.value for key, row in read_logs([log]).config.items()} == {"adam_beta1": 0.9, "zero_enabled": True}


def test_versions():
    log = (
        "INFO 08-20 [core.py:61] Initializing a V1 LLM engine (v0.11.0) with config: model='Qwen/Qwen3-8B'\n"
        "DeepSpeed info: version=0.18.2, git-hash=unknown\n"
        'NCCL version 2.27.3+cuda12.8\n  "transformers_version": "4.57.1",\ntorch==2.8.0+cu128 verl==0.7.0\n'
    )
    assert read_logs([log]).versions == {
        "vllm": "0.11.0",
        "deepspeed": "0.18.2",
        "nccl": "2.27.3",
        "transformers": "4.57.1",
        "torch": "2.8.0+cu128",
        "verl": "0.7.0",
    }


def test_a_folder_of_weights_and_biases(tmp_path):
    files = tmp_path / "run-1" / "files"
    files.mkdir(parents=True)
    (files / "output.log").write_text("step:1 - actor/grad_norm:0.5 - critic/score/mean:0.25\n")
    (files / "requirements.txt").write_text("verl==0.7.0\ntorch==2.8.0\n")
    (files / "config.yaml").write_text(
        "_wandb:\n  value: {}\nalgorithm:\n  value:\n    adv_estimator: grpo\nlr:\n  desc: null\n  value: 1.0e-06\n"
    )
    (files / "wandb-metadata.json").write_text(json.dumps({"gpu": "NVIDIA H100", "gpu_count": 8}))
    reading = read_logs([tmp_path])
    assert reading.versions == {"verl": "0.7.0", "torch": "2.8.0"}
    settings = {key: row.value for key, row in reading.config.items()}
    assert settings == {"algorithm.adv_estimator": "grpo", "lr": 1e-6, "wandb.gpu": "NVIDIA H100", "wandb.gpu_count": 8}
    assert list(reading.series["score_mean"].values) == [0.25]


TRACE = """(WorkerDict pid=7) Traceback (most recent call last):
(WorkerDict pid=8) INFO fine
(WorkerDict pid=7)   File "/usr/lib/verl/workers/fsdp_workers.py", line 600, in update_actor
(WorkerDict pid=7)     metrics = self.actor.update_policy(data=data)
(WorkerDict pid=7)   File "/usr/lib/torch/_tensor.py", line 581, in backward
(WorkerDict pid=7) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""


def test_a_traceback_mixed_with_other_lines():
    (event,) = read_logs(["step:12 - actor/grad_norm:0.5 - a/b:1\n" + TRACE]).events
    assert (event.kind, event.phase, event.step, event.line) == ("gpu_oom", "update", 12, 7)
    assert event.frames == ("fsdp_workers.py:update_actor", "_tensor.py:backward")
    assert event.text.startswith("torch.OutOfMemoryError")


def kinds(log: str) -> list[tuple[str, str]]:
    return [(event.kind, event.phase) for event in read_logs([log]).events]


def test_errors_by_kind_and_phase():
    assert kinds("RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62") == [
        ("gpu_oom", "wake_up")
    ]
    assert kinds(
        "ValueError: Free memory on device (10/80 GiB) on startup is less than desired GPU memory utilization"
    ) == [("gpu_oom", "start")]
    assert kinds("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.") == [
        ("host_oom", "")
    ]
    assert kinds(
        "[rank3]:[E820 10:11:12] [PG ID 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)"
    ) == [("watchdog", "")]
    assert kinds("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.") == [("engine_dead", "")]
    assert kinds("RuntimeError: CUDA error: an illegal memory access was encountered") == [("illegal_access", "")]
    assert kinds("no errors found; 0 timed out; memory usage 40 %") == []


def test_a_line_after_the_error_may_name_the_phase():
    assert kinds("torch.OutOfMemoryError: CUDA out of memory\n  in get_named_tensor_buckets: tensor.clone()") == [
        ("gpu_oom", "sync")
    ]


def test_the_rank_of_a_prefix():
    (event,) = read_logs(["[rank3]: ValueError: bad shape\n"]).events
    assert event.rank == 3


def test_one_rank_is_silent(tmp_path: Path):
    for rank, last in ((0, 9), (1, 9), (2, 4)):
        lines = [f"2026-08-20 10:11:12 step:{step} - actor/grad_norm:0.5 - a/b:1" for step in range(1, last + 1)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    (event,) = read_logs([tmp_path]).events
    assert (event.kind, event.rank, event.step) == ("silent_rank", 2, 4)
    assert "last step 4, others 9" in event.text


def test_of_the_checkpoints_the_last_history_is_read(tmp_path: Path):
    for step in (20, 100):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        history = [{"step": at, "reward": 0.5, "loss": 0.0} for at in range(10, step + 1, 10)]
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    assert len(read_logs([tmp_path]).series["reward_mean"]) == 10
