"""What differs between two states of a repo, by what it means: objects and their fields instead of lines."""
