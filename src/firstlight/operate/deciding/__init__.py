"""Decisions: what was asked about, read before and after, compared, and judged by the rules."""
