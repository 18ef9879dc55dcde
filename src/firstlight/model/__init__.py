"""Frozen nouns: what everything else speaks of. No input, no output."""
