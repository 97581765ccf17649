"""grpo-guard: checks GRPO launch scripts and configs before the GPUs are busy."""

__version__ = "0.1.0"
