"""Signals: what is out of the ordinary in the metrics and events of a run, each with its evidence."""

from .detect import LogSignal, detect

__all__ = ["LogSignal", "detect"]
