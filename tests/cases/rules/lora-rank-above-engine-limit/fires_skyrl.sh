# grpo-guard-test: --version skyrl=0.3.0
uv run --isolated --extra fsdp -m skyrl.train.entrypoints.main_base \
  trainer.policy.model.path=Qwen/Qwen2.5-1.5B-Instruct \
  trainer.placement.policy_num_gpus_per_node=4 \
  trainer.placement.ref_num_gpus_per_node=4 \
  generator.inference_engine.num_engines=4 \
  trainer.policy.model.lora.rank=32 \
  generator.inference_engine.engine_init_kwargs.max_lora_rank=16
