"""Each way in which a framework prints its metrics, as it stands in consoles."""

from __future__ import annotations

import math

import pytest

from grpo_guard.logs import LogReading, read_logs


def values(reading: LogReading, name: str) -> list[tuple[float, float]]:
    series = reading.series[name]
    return list(zip(series.steps, series.values, strict=True))


def test_verl_behind_a_ray_prefix_and_a_progress_bar():
    log = (
        "(TaskRunner pid=123) Training Progress:   1%|          | 1/100 [00:31<52:10, 31.6s/it]\r"
        "(TaskRunner pid=123) step:1 - actor/grad_norm:0.25 - critic/score/mean:np.float64(0.5) - actor/lr:1e-06"
        " - val-core/openai/gsm8k/acc/mean@1:0.71\n"
        "\x1b[36m(TaskRunner pid=123)\x1b[0m step:2 - actor/grad_norm:nan - critic/score/mean:0.75\n"
    )
    reading = read_logs([log])
    assert reading.framework == "verl"
    assert values(reading, "score_mean") == [(1, 0.5), (2, 0.75)]
    assert values(reading, "eval_score") == [(1, 0.71)]
    steps, norms = zip(*values(reading, "grad_norm"), strict=True)
    assert steps == (1, 2) and norms[0] == 0.25 and math.isnan(norms[1])
    assert list(reading.series["grad_norm"].lines) == [1, 2]


def test_transformers_prints_numbers_or_text_and_scores_belong_to_the_step_before():
    log = (
        "  1%|▏ | 1/100 [00:02<03:18]\r{'loss': 0.0, 'grad_norm': 0.31, 'reward': 0.5, 'reward_std': 0.4}\n"
        "{'loss': '0.0012', 'grad_norm': '0.29', 'reward': '0.625', 'reward_std': '0.38', 'epoch': '0.02'}\n"
        "{'eval_loss': 0.0, 'eval_reward': 0.7, 'epoch': 0.02}\n"
    )
    reading = read_logs([log])
    assert values(reading, "reward_mean") == [(0, 0.5), (1, 0.625)]
    assert values(reading, "loss") == [(0, 0.0), (1, 0.0012)]
    assert values(reading, "eval_score") == [(1, 0.7)]
    assert reading.framework == "trl"


def test_openrlhf():
    log = (
        "INFO 08-13 19:25:45 ppo_trainer.py:547] ✨ Global step 7: {'policy_loss': -0.01, 'actor_grad_norm': 1.5, "
        "'vllm_kl': 0.0004, 'reward': 0.3, 'rollout/truncated_rate': 0.125, 'timing/step_total': 81.0}\n"
    )
    reading = read_logs([log])
    assert reading.framework == "openrlhf"
    assert {name: values(reading, name) for name in ("policy_loss", "grad_norm", "engine_kl", "length_capped")} == {
        "policy_loss": [(7, -0.01)],
        "grad_norm": [(7, 1.5)],
        "engine_kl": [(7, 0.0004)],
        "length_capped": [(7, 0.125)],
    }


def test_slime_rewards_are_the_raw_ones():
    log = (
        "(RolloutManager pid=9) [2026-08-20 10:11:12] rollout 3: {'rollout/raw_reward': 0.25, 'rollout/rewards': 0.0}\n"
        "(MegatronTrainRayActor pid=8) [2026-08-20 10:11:20] model.py:918 - step 3: {'train/grad_norm': 0.5, "
        "'train/train_rollout_logprob_abs_diff': 0.011, 'train/step': 3}\n"
    )
    reading = read_logs([log])
    assert values(reading, "reward_mean") == [(3, 0.25)]
    assert values(reading, "logp_gap") == [(3, 0.011)]


def test_megatron():
    log = (
        " [2026-08-20 10:11:12.000001] iteration       10/     100 | consumed samples:          640 | elapsed time per"
        " iteration (ms): 512.5 | learning rate: 1.500000E-06 | global batch size:    64 | lm loss: 2.500000E+00 |"
        " loss scale: 1.0 | grad norm: 0.750 | number of skipped iterations:   0 | number of nan iterations:   1 |\n"
    )
    reading = read_logs([log])
    assert reading.framework == "megatron"
    found = {name: values(reading, name) for name in ("loss", "grad_norm", "nan_iterations", "step_milliseconds")}
    assert found == {
        "loss": [(10, 2.5)],
        "grad_norm": [(10, 0.75)],
        "nan_iterations": [(10, 1)],
        "step_milliseconds": [(10, 512.5)],
    }


def test_deepspeed_and_its_overflows():
    head = "[2026-08-20 10:11:12,000] [INFO] [logging.py:107:log_dist] [Rank 0]"
    log = (
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
        f"{head} step=10, skipped=1, lr=[1e-06], mom=[(0.9, 0.999)]\n"
        f"{head} epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=2.5, CurrSamplesPerSec=2.75, "
        "MemAllocated=20.1GB, MaxMemAllocated=31.5GB\n"
    )
    reading = read_logs([log])
    assert values(reading, "learning_rate") == [(10, 1e-6)]
    assert values(reading, "gpu_memory") == [(10, 31.5)]
    assert values(reading, "throughput") == [(10, 2.75)]
    assert [value for _, value in values(reading, "loss_scale")] == [32768]


def test_nemo_rl_bullets_below_their_step():
    log = (
        "========================= Step 4/100 =========================\n▶ Training policy...\n\n📊 Training Results:\n"
        "  • Loss: 0.0123\n  • Generation KL Error: 0.0009\n  • Avg Reward: 0.4375\n"
        "  • Mean Generation Length: 812.5000\n\n⏱️  Timing:\n  • Total step time: 61.25s\n"
    )
    reading = read_logs([log])
    assert reading.framework == "nemo-rl"
    assert values(reading, "reward_mean") == [(4, 0.4375)]
    assert values(reading, "engine_kl") == [(4, 0.0009)]
    assert values(reading, "step_time") == [(4, 61.25)]


def test_prime_rl_bars_and_percentages():
    log = (
        "10:11:12 SUCCESS Step 5 |   3.10s | Loss 0.0100 | Entropy 0.4000 | Mismatch KL 0.0004 | Grad. Norm 0.2500 |"
        " LR 1.00e-06 | Throughput 5000 tokens/s | MFU 31.0% | Peak Mem. 61.5 GiB\n"
        "10:11:12 SUCCESS Step 5 |  10.00s | Reward 0.5000 | Trainable 100/128 (78.1%) | Truncation 12.5%\n"
    )
    reading = read_logs([log])
    wanted = ("entropy", "engine_kl", "grad_norm", "reward_mean", "length_capped", "gpu_memory")
    assert {name: values(reading, name)[0][1] for name in wanted} == {
        "entropy": 0.4,
        "engine_kl": 0.0004,
        "grad_norm": 0.25,
        "reward_mean": 0.5,
        "length_capped": 0.125,
        "gpu_memory": 61.5,
    }


def test_easyr1_yaml_below_its_step():
    log = (
        "Step 2\nactor:\n  grad_norm: 0.5\n  entropy_loss: .nan\ncritic:\n  rewards:\n    mean: 0.25\n"
        "response_length:\n  clip_ratio: 0.0\n\nsome other line\nStep 3\nactor:\n  grad_norm: 0.75\n"
    )
    reading = read_logs([log])
    assert values(reading, "grad_norm") == [(2, 0.5), (3, 0.75)]
    assert values(reading, "reward_mean") == [(2, 0.25)]
    assert math.isnan(values(reading, "entropy")[0][1])


def test_skyrl_prints_a_dict_below_its_step():
    log = (
        "2026-08-20 10:11:12.001 | INFO     | skyrl.train.utils.tracking:log:188 - Step 6: \n"
        "{'generate/avg_num_tokens': '512.5000',\n 'policy/grad_norm': '0.2500',\n 'policy/policy_entropy': 'nan',\n"
        " 'reward/avg_raw_reward': '0.5000'}\n"
    )
    reading = read_logs([log])
    assert reading.framework == "skyrl"
    assert values(reading, "response_length") == [(6, 512.5)]
    assert values(reading, "reward_mean") == [(6, 0.5)]
    assert math.isnan(values(reading, "entropy")[0][1])


def test_areal_table():
    log = (
        "20260820-10:11:12 StatsLogger INFO: Epoch 1/10 Step 3/100 Train step 3/1000 done.\n"
        "╒══════════════════════════╤════════════╤═══════════════════════╤════════════╕\n"
        "│ grpo_actor/grad_norm/avg │ 2.5000e-01 │ grpo_actor/entropy/avg │ 5.0000e-01 │\n"
        "╘══════════════════════════╧════════════╧═══════════════════════╧════════════╛\n"
    )
    reading = read_logs([log])
    assert values(reading, "grad_norm") == [(3, 0.25)]
    assert values(reading, "entropy") == [(3, 0.5)]


@pytest.mark.parametrize(
    "scrap, name, wanted",
    [
        ("actor/grad_norm:nan", "grad_norm", [(0, None)]),
        ("reward mean: 0.0 on every step", "reward_mean", [(0, 0.0)]),
        ("step 198: lr 0.0 (total 220, warmup 22)", "learning_rate", [(198, 0.0)]),
        (
            "rollout 0   spec_accept_length: 2.9\nrollout 1   spec_accept_length: 1.0",
            "spec_accept_length",
            [(0, 2.9), (1, 1.0)],
        ),
        ("loss: 2.5 -> 2.25 -> nan", "loss", [(0, 2.5), (1, 2.25), (2, None)]),
        ("critic/score/mean:0.0 - critic/score/max:0.0", "reward_max", [(0, 0.0)]),
    ],
)
def test_a_pasted_scrap(scrap, name, wanted):
    found = values(read_logs([scrap]), name)
    assert [(step, None if math.isnan(value) else value) for step, value in found] == wanted


@pytest.mark.parametrize(
    "line",
    [
        "{'actor': {'clip_ratio': 0.2, 'optim': {'lr': 1e-06}}, 'loss': 3}",
        "optimizer_params ............. {'lr': 1e-06, 'betas': [0.9, 0.95], 'eps': 1e-08}",
        "SamplingParams: {'temperature': 1.0, 'top_p': 1.0, 'max_tokens': 1024}",
        "prose about loss and reward, step:12 - done",
    ],
)
def test_settings_and_prose_are_no_metrics(line):
    reading = read_logs(["some line\n" * 500 + line + "\n"])
    assert reading.series == {} and reading.native == {}


def test_a_metric_that_is_not_logged_is_not_nan():
    log = "step:1 - actor/grad_norm:0.5\nstep:2 - critic/score/mean:0.5\nstep:3 - actor/grad_norm:0.5\n"
    reading = read_logs([log])
    assert values(reading, "grad_norm") == [(1, 0.5), (3, 0.5)]


def test_unknown_metrics_are_listed_and_kept():
    reading = read_logs(["step:1 - my/own_metric:3.0 - actor/grad_norm:0.5\n"])
    assert reading.unknown_metrics == ["my/own_metric"]
    assert list(reading.native["my/own_metric"].values) == [3.0]
    assert reading.coverage["metrics"] == {"grad_norm": "actor/grad_norm"}


def test_of_two_names_the_first_counts_and_the_other_stays():
    reading = read_logs(["step:1 - critic/score/max:1.0 - critic/rewards/max:0.9 - actor/grad_norm:0.5\n"])
    assert reading.series["reward_max"].name == "critic/score/max"
    assert list(reading.native["critic/rewards/max"].values) == [0.9]
