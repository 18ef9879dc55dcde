"""What rules look for, a file a subject."""
