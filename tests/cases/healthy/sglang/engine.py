# grpo-guard-test: --version sglang=0.5.10
import sglang as sgl

engine = sgl.Engine(
    model_path="Qwen/Qwen2.5-7B-Instruct",
    tp_size=2,
    mem_fraction_static=0.6,
    enable_memory_saver=True,
    disable_radix_cache=True,
    enable_deterministic_inference=True,
    random_seed=1,
)
