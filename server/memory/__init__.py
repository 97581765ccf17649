"""GPU memory of a run, computed: shapes → plan → terms → phases → what fits. Pure Python, and no GPU is asked."""
