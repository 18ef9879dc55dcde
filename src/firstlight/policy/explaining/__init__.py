"""What a name means, in a repo and in general, told to people who are new to all of it."""
