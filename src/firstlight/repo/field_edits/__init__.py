"""Where in the repo a field of a live object comes from, and what to edit so that it becomes another."""
