set -x
# grpo-guard-test: --version skyrl-train=0.3.0
# expect: prompts_per_step=128 samples_per_step=1024
# The older trainer: Hydra over ppo_base_config.yaml, engines under their old names, a key added by +. No reference:
# its KL term has no gradient in these releases.
uv run --isolated --extra vllm -m skyrl_train.entrypoints.main_base \
  trainer.algorithm.use_kl_loss=false \
  trainer.algorithm.loss_reduction=sequence_mean \
  trainer.policy.model.path=Qwen/Qwen2.5-7B-Instruct \
  trainer.placement.policy_num_gpus_per_node=8 \
  generator.num_inference_engines=4 \
  generator.inference_engine_tensor_parallel_size=2 \
  trainer.train_batch_size=128 \
  trainer.policy_mini_batch_size=64 \
  trainer.micro_train_batch_size_per_gpu=8 \
  generator.n_samples_per_prompt=8 \
  +generator.engine_init_kwargs.max_model_len=8192
