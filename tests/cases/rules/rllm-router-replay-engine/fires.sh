# Verl backend of the unified trainer
python -u train.py \
  rllm/backend=verl \
  actor_rollout_ref.model.path=Qwen/Qwen3-4B \
  rllm.rollout.n=8 \
  rllm.data.train_batch_size=32 \
  rllm.data.max_response_length=4096 \
  actor_rollout_ref.actor.ppo_mini_batch_size=32 \
  actor_rollout_ref.actor.use_dynamic_bsz=true \
  actor_rollout_ref.rollout.name=vllm \
  trainer.n_gpus_per_node=8 \
  trainer.nnodes=1 \
  rllm.algorithm.router_replay=R2
