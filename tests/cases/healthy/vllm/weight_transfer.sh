# grpo-guard-test: --version vllm=0.30.0
# Separate trainer: weights over NCCL, caches off so that no block outlives an update
python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-30B-A3B --served-model-name policy \
  --tensor-parallel-size 4 --enable-expert-parallel --dtype bfloat16 --max_model_len 20480 \
  --weight-transfer-config.backend nccl --no-enable-prefix-caching \
  --logprobs-mode processed_logprobs --enable-return-routed-experts --seed 0
