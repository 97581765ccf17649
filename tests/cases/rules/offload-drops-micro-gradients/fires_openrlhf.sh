# grpo-guard-test: --version openrlhf=0.9.5
python3 -m openrlhf.cli.train_ppo_ray \
    --actor_num_nodes 1 --actor_num_gpus_per_node 8 \
    --vllm_num_engines 4 --vllm_tensor_parallel_size 2 \
    --pretrain Qwen/Qwen2.5-7B-Instruct \
    --remote_rm_url reward.py \
    --prompt_data prompts.jsonl --input_key prompt \
    --advantage_estimator group_norm --n_samples_per_prompt 8 \
    --rollout_batch_size 128 --micro_rollout_batch_size 8 \
    --train_batch_size 128 --micro_train_batch_size 2 \
    --zero_stage 2 --adam_offload
