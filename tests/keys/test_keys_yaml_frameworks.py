"""NeMo-RL, SkyRL and AReaL: defaults as their released sources have them, a few per version."""

import pytest

from grpo_guard.configs.keys import MISSING, load


@pytest.mark.parametrize(
    ("version", "table", "key", "default"),
    [
        ("0.2.1", "grpo_math_1B", "policy.dynamic_batching.enabled", True),
        ("0.3.0", "grpo_math_1B", "policy.dynamic_batching.enabled", False),
        ("0.5.0", "grpo_math_1B", "policy.logprob_batch_size", 4),
        ("0.7.0", "grpo_math_1B", "policy.logprob_batch_size", "${policy.train_micro_batch_size}"),
        ("0.7.0", "grpo_math_1B", "policy.generation.vllm_cfg.gpu_memory_utilization", 0.6),
        ("0.7.0", "grpo_math_1B", "policy.max_grad_norm", 1.0),
        ("0.7.0", "grpo_math_8B", "policy.model_name", "meta-llama/Llama-3.1-8B-Instruct"),
        ("0.7.0", "grpo_math_8B", "grpo.num_generations_per_prompt", 32),
        ("0.7.0", "grpo_math_1B_megatron", "policy.megatron_cfg.enabled", True),
        ("0.7.0", "MasterConfig", "loss_fn.ratio_clip_max", 0.2),
    ],
)
def test_nemo_rl_configs(version, table, key, default):
    assert load("nemo-rl", [table], version).default(key) == default


def test_nemo_rl_declared_and_undeclared_keys():
    table = load("nemo-rl", ["MasterConfig", "examples"], "0.7.0")
    assert table.default("policy.train_global_batch_size") is MISSING  # declared, without a value
    assert table.known("policy.megatron_cfg.moe_router_dtype")  # not declared, but the examples set it
    assert table.known("policy.generation.vllm_kwargs.anything")
    assert not table.known("policy.train_globl_batch_size")
    assert load("nemo-rl", ["MasterConfig"], "0.6.0").lifecycle("loss_fn.use_cispo").added == "0.7.0"


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.1.0", "trainer.strategy", "fsdp2"),
        ("0.3.0", "trainer.strategy", "fsdp"),
        ("0.2.0", "generator.inference_engine.enforce_eager", True),
        ("0.3.0", "generator.inference_engine.enforce_eager", False),
        ("0.3.0", "trainer.critic.optimizer_config.lr", 5e-6),  # given to the class by a factory
        ("0.3.0", "trainer.policy.optimizer_config.lr", 1e-6),
        ("0.3.0", "trainer.fully_async.max_staleness_steps", 4),
    ],
)
def test_skyrl_dataclasses(version, key, default):
    assert load("skyrl", ["SkyRLTrainConfig"], version).default(key) == default


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.1.0", "generator.inference_engine_tensor_parallel_size", 4),
        ("0.4.0", "generator.inference_engine_tensor_parallel_size", 1),
        ("0.1.0", "trainer.ref.fsdp_config.cpu_offload", True),
        ("0.2.0", "trainer.policy.megatron_config.ddp_config.grad_reduce_in_fp32", True),  # of a group of its own
        ("0.3.0", "generator.max_input_length", "${trainer.max_prompt_length}"),
    ],
)
def test_skyrl_train_config(version, key, default):
    assert load("skyrl-train", ["ppo_base_config"], version).default(key) == default


@pytest.mark.parametrize(
    ("version", "key", "default"),
    [
        ("0.3.1", "actor.optimizer.lr", 2e-5),
        ("0.4.0", "actor.optimizer.lr", 0.001),
        ("0.3.1", "actor.kl_ctl", 0.1),
        ("2.0.0", "actor.prox_logp_method", "recompute"),
        ("2.0.0", "actor.rejection_sampling", None),
        ("2.0.0", "actor.rejection_sampling.upper", 5.0),
        ("1.0.2", "actor.behave_imp_weight_cap", 5.0),
        ("2.0.0", "gconfig.n_samples", 1),
    ],
)
def test_areal_dataclasses(version, key, default):
    assert load("areal", ["GRPOConfig"], version).default(key) == default


def test_areal_keys_that_came_and_went():
    table = load("areal", ["GRPOConfig"], "2.0.0")
    assert table.explain_unknown("actor.behave_imp_weight_cap").note == "removed in areal 1.0.4"
    assert table.default("experiment_name") is MISSING
    assert table.known("rollout._version")
    assert load("areal", ["GRPOConfig"], "0.4.1").default("critic.path") is MISSING  # known, for PPO runs
