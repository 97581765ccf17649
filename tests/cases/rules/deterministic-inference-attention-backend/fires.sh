# grpo-guard-test: --version sglang=0.5.10
python3 -m sglang.launch_server --model-path m --enable-deterministic-inference --attention-backend trtllm_mha
