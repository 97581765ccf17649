# grpo-guard-test: --version openrlhf=0.11.0
# expect: prompts_per_step=128 samples_per_step=1024
# Asynchronous training: engines and actor on GPUs of their own, without sleep.
set -x
python3 -m openrlhf.cli.train_ppo_ray \
   --train.async_enable \
   --train.agent_func_path examples/python/agent_func.py \
   --actor.num_nodes 1 \
   --actor.num_gpus_per_node 4 \
   --ref.num_nodes 1 \
   --ref.num_gpus_per_node 4 \
   --train.colocate_actor_ref \
   --vllm.num_engines 4 \
   --vllm.tensor_parallel_size 1 \
   --vllm.gpu_memory_utilization 0.9 \
   --vllm.sync_backend nccl \
   --actor.model_name_or_path Qwen/Qwen2.5-7B-Instruct \
   --algo.advantage.estimator reinforce_baseline \
   --train.micro_batch_size 4 \
   --train.batch_size 1024 \
   --rollout.batch_size 128 \
   --rollout.n_samples_per_prompt 8 \
   --data.max_len 4096 \
   --rollout.max_new_tokens 3072 \
   --ds.zero_stage 3 \
   --ds.param_dtype bf16 \
   --actor.adam.lr 5e-7 \
   --algo.kl.init_coef 1e-5 \
   --data.prompt_dataset zhuzilin/dapo-math-17k \
   --data.input_key prompt \
   --data.label_key label \
   --data.apply_chat_template
