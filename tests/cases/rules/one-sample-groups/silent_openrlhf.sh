# grpo-guard-test: --version openrlhf=0.11.2
python3 -m openrlhf.cli.train_ppo_ray \
  --actor.model_name_or_path Qwen/Qwen3-4B \
  --reward.remote_url ./reward_math.py \
  --actor.num_nodes 1 \
  --actor.num_gpus_per_node 8 \
  --ref.num_nodes 1 \
  --ref.num_gpus_per_node 8 \
  --vllm.num_engines 8 \
  --train.colocate_all \
  --vllm.enable_sleep \
  --vllm.gpu_memory_utilization 0.6 \
  --algo.advantage.estimator group_norm \
  --rollout.n_samples_per_prompt 8 \
  --rollout.batch_size 128 \
  --train.batch_size 1024 \
  --train.micro_batch_size 2
