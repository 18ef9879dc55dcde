"""What checks before and after a change judge by themselves: data in, notes out."""
