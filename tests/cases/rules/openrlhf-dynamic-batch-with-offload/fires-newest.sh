# grpo-guard-test: --version openrlhf=0.11.2
python3 -m openrlhf.cli.train_ppo_ray \
    --actor.num_nodes 1 --actor.num_gpus_per_node 8 \
    --vllm.num_engines 4 --vllm.tensor_parallel_size 2 \
    --actor.model_name_or_path Qwen/Qwen2.5-7B-Instruct \
    --reward.remote_url reward.py \
    --data.prompt_dataset prompts.jsonl --data.input_key prompt \
    --algo.advantage.estimator group_norm --rollout.n_samples_per_prompt 8 \
    --rollout.batch_size 128 --rollout.micro_batch_size 8 \
    --train.batch_size 128 --train.micro_batch_size 2 \
    --ds.zero_stage 2 --ds.packing_samples --ds.adam_offload \
    --train.dynamic_batch_enable --train.max_tokens_per_gpu 16384
