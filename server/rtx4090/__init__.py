"""Reports for one card (by default a GeForce RTX 4090): every line is computed from the knowledge and the estimate."""
