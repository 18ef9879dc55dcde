"""The journal of a run: events appended to a file, and read again."""
