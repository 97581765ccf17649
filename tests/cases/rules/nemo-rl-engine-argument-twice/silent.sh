# grpo-guard-test: --version nemo-rl=0.7.0
uv run examples/run_grpo.py \
  cluster.gpus_per_node=8 \
  ++policy.generation.vllm_kwargs.max_num_seqs=256
