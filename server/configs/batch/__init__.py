"""Batch tables: what one training step of a run is made of, by framework."""
