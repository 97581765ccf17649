# grpo-guard-test: --version skyrl=0.3.0
uv run --isolated -m examples.train.fully_async.main_fully_async \
  trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct \
  trainer.placement.policy_num_gpus_per_node=8 \
  generator.inference_engine.num_engines=8 \
  trainer.fully_async.enabled=true \
  trainer.placement.colocate_all=false \
  trainer.train_batch_size=256 \
  trainer.algorithm.policy_loss_type=importance_sampling
