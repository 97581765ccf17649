"""Readers of metric logs and consoles: one module per format, streaming, nothing of a log is ever executed."""

from .reading import LogReading, read_logs

__all__ = ["LogReading", "read_logs"]
