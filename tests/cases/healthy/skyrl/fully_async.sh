# grpo-guard-test: --version skyrl=0.3.0
# An example program with the fully asynchronous trainer; engines have GPUs of their own.
uv run --isolated --extra fsdp -m examples.train.fully_async.main_fully_async \
  trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct \
  trainer.fully_async.enabled=true \
  trainer.fully_async.max_staleness_steps=4 \
  trainer.fully_async.num_parallel_generation_workers=768 \
  trainer.placement.colocate_all=false \
  trainer.placement.policy_num_gpus_per_node=4 \
  trainer.placement.ref_num_gpus_per_node=4 \
  generator.inference_engine.num_engines=4 \
  trainer.algorithm.policy_loss_type=rollout_is \
  trainer.train_batch_size=256 \
  trainer.policy_mini_batch_size=256 \
  generator.batched=false
