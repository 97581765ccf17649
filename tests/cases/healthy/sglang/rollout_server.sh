# grpo-guard-test: --version sglang=0.5.20
# Colocated rollout: memory is released between steps and all weights are sent again
python3 -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --host 0.0.0.0 --port 30000 \
  --tp 4 --ep-size 4 --dtype bfloat16 --context-length 20480 --mem-fraction-static 0.6 \
  --enable-memory-saver --chunked-prefill-size 8192 --max-running-requests 256 \
  --attention-backend fa3 --random-seed 7
