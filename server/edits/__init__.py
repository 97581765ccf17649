"""Fixes as patches: text → text, one change at a time, everything else byte-identical. Nothing here writes a file but
`writing`."""
