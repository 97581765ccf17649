"""Settings and versions that a run printed, against those that the caller gave; shapes as frameworks print them."""

from __future__ import annotations

import json
from pathlib import Path

from grpo_guard.diagnosis.diagnose import diagnose
from grpo_guard.logs import read_logs


def differences(log: str | Path, config: str, framework: str = "", **versions: str) -> list[tuple[int | None, str]]:
    answer = diagnose("reward does not rise", [log], config, framework, versions)
    return [
        (row.line, row.evidence)
        for row in answer.signals
        if row.id in ("config-differs-from-run", "version-differs-from-run")
    ]


VERL = """(TaskRunner pid=1) {'actor_rollout_ref': {'actor': {'clip_ratio': 0.2,
(TaskRunner pid=1)                                  'optim': {'lr': 1e-06,
(TaskRunner pid=1)                                            'betas': [0.9, 0.999]}},
(TaskRunner pid=1)                        'rollout': {'n': 8, 'name': 'vllm'}},
(TaskRunner pid=1)  'data': {'train_batch_size': 256, 'val_files': None},
(TaskRunner pid=1)  'trainer': {'nnodes': 1, 'logger': ['console']}}
"""
SCRIPT = """LR=5e-6
python3 -m verl.trainer.main_ppo \\
  data.train_batch_size=256 \\
  actor_rollout_ref.actor.optim.lr=$LR \\
  actor_rollout_ref.rollout.n=16 \\
  data.val_files=$UNSET \\
  +trainer.nnodes=1
"""


def test_verl_prints_the_resolved_config():
    assert sorted(differences(VERL, SCRIPT, "verl")) == [
        (4, "actor_rollout_ref.actor.optim.lr is 5e-06 in the config, and the run printed 1e-06"),
        (5, "actor_rollout_ref.rollout.n is 16 in the config, and the run printed 8"),
    ]


TRL = """GRPOConfig(
_n_gpu=1,
accelerator_config={'split_batches': False, 'dispatch_batches': None},
beta=0.0,
bf16=True,
learning_rate=1e-05,
num_generations=8,
per_device_train_batch_size=4,
report_to=['wandb'],
save_strategy=SaveStrategy.STEPS,
vllm_mode=colocate,
)
{'loss': 0.0, 'grad_norm': 0.1, 'reward': 0.5, 'epoch': 0.1}
"""


def test_transformers_prints_its_arguments():
    launch = (
        "accelerate launch t.py --learning-rate 1e-6 --num_generations 16 --bf16 true --vllm_mode colocate --beta 0"
    )
    assert differences(TRL, launch, "trl") == [
        (1, "--learning-rate is 1e-06 in the config, and the run printed 1e-05"),
        (1, "--num_generations is 16 in the config, and the run printed 8"),
    ]
    assert list(read_logs([TRL]).series["reward_mean"].values) == [0.5]


def test_a_namespace_and_an_enum_on_one_line():
    log = (
        "Namespace(n_samples_per_prompt=8, kl_estimator='k2', init_kl_coef=0.0, mode=<Mode.A: 'a, b'>, x=[1, (2, 3)])\n"
    )
    assert {key: row.value for key, row in read_logs([log]).config.items()} == {
        "n_samples_per_prompt": 8,
        "kl_estimator": "k2",
        "init_kl_coef": 0.0,
        "mode": "a, b",
        "x": [1, (2, 3)],
    }
    assert differences(log, "--n-samples-per-prompt 4 --init_kl_coef 0", "openrlhf") == [
        (1, "--n-samples-per-prompt is 4 in the config, and the run printed 8")
    ]


def test_indented_json():
    log = json.dumps({"data": {"rollout_batch_size": 512}, "worker": {"actor": {"optim": {"lr": 1e-6}}}}, indent=2)
    lines = "\n".join(f"(Runner pid=9) {line}" for line in log.split("\n"))
    assert differences(
        f"start\n{lines}\nend\n", "data.rollout_batch_size=256 worker.actor.optim.lr=1e-6", "easyr1"
    ) == [(1, "data.rollout_batch_size is 256 in the config, and the run printed 512")]


def test_an_object_in_passing_is_no_config():
    log = 'ValueError in fit(model, GRPOConfig(x=1))\n{\n  "detail": "not found"\n}\nNamespace(a=1)\n'
    assert read_logs([log]).config == {}


def test_a_folder_of_weights_and_biases(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "learning_rate:\n  value: 1.0e-06\nnum_generations:\n  desc: null\n  value: 8\n"
    )
    (tmp_path / "requirements.txt").write_text("trl==0.21.0\ntorch==2.8.0\n")
    metadata = {"args": ["--beta", "0.04", "--use_vllm", "--bf16=true"], "gpu": "NVIDIA H100"}
    (tmp_path / "wandb-metadata.json").write_text(json.dumps(metadata))
    (tmp_path / "output.log").write_text("{'loss': 0.0, 'reward': 0.5, 'epoch': 0.1}\n")
    config = "learning_rate: 1e-6\nnum_generations: 16\nbeta: 0.0\nuse_vllm: true\nbf16: true\n"
    assert differences(tmp_path, config, "trl", trl="0.22.0", torch="2.8.0+cu128") == [
        (None, "trl 0.22.0 was given, and the log names 0.21.0"),
        (2, "num_generations is 16 in the config, and the run printed 8"),
        (3, "beta is 0.0 in the config, and the run printed 0.04"),
    ]
