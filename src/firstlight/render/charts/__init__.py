"""Charts from elsewhere: resolved to a digest once, kept, and verified whenever they are used."""
