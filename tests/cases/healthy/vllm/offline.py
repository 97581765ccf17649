# grpo-guard-test: --version vllm=0.19.0
import os

from vllm import LLM, SamplingParams

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"

llm = LLM(
    model="Qwen/Qwen2.5-7B-Instruct",
    tensor_parallel_size=2,
    dtype="bfloat16",
    gpu_memory_utilization=0.55,
    max_model_len=8192,
    enable_sleep_mode=True,
    logprobs_mode="processed_logprobs",
    seed=42,
    compilation_config={"cudagraph_mode": "PIECEWISE"},
)
sampling = SamplingParams(n=8, temperature=0.9, top_p=1.0, max_tokens=4096, logprobs=0)
