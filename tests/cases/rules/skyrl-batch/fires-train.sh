# grpo-guard-test: --version skyrl-train=0.4.0
uv run --isolated -m skyrl_train.entrypoints.main_base \
  trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct \
  trainer.placement.policy_num_gpus_per_node=8 \
  generator.num_inference_engines=8 \
  generator.inference_engine_tensor_parallel_size=1 \
  trainer.train_batch_size=1000
