"""References made values, at the last moment and in memory only; and dummies in their place for rehearsals."""
