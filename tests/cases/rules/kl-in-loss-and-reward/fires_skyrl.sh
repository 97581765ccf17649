# grpo-guard-test: --version skyrl=0.3.0
uv run --isolated -m skyrl.train.entrypoints.main_base \
  trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct \
  trainer.placement.policy_num_gpus_per_node=8 \
  generator.inference_engine.num_engines=8 \
  trainer.algorithm.use_kl_in_reward=true
