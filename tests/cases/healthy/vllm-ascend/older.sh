# grpo-guard-test: --version vllm-ascend=0.18.0 --version vllm=0.18.0
export VLLM_ASCEND_ENABLE_NZ=0
export HCCL_CONNECT_TIMEOUT=7200
python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 2 \
  --enable-sleep-mode --enforce-eager --additional-config '{"ascend_compilation_config": {"enable_npugraph_ex": false}}'
