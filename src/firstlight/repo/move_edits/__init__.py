"""What a repo must say for a component to be on another side: edits of its files, and words for the rest."""
