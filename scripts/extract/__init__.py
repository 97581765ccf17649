"""Reads configuration keys and their defaults out of released packages; nothing of a package is imported or built."""
