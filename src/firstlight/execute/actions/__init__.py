"""What steps do: one file an action, each a function that looks first and says what it would write."""
