# grpo-guard-test: --version openrlhf=0.10.1 --version vllm=0.19.0
python3 -m openrlhf.cli.train_ppo_ray \
    --actor_num_nodes 1 --actor_num_gpus_per_node 8 \
    --vllm_num_engines 8 --vllm_tensor_parallel_size 1 \
    --colocate_all_models --vllm_enable_sleep --deepspeed_enable_sleep \
    --pretrain Qwen/Qwen2.5-7B-Instruct \
    --remote_rm_url reward.py \
    --prompt_data prompts.jsonl --input_key prompt \
    --advantage_estimator group_norm --n_samples_per_prompt 8 \
    --rollout_batch_size 128 --train_batch_size 1024 --zero_stage 3
