"""`python -m grpo_guard` is the same as the command `grpo-guard`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
