"""Shell scripts read, never run: words, commands, and what variables are known to hold."""
