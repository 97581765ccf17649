# grpo-guard-test: --version sglang=0.5.20
import sglang as sgl

engine = sgl.Engine(model_path="Qwen/Qwen3-8B", enable_lora=True)
