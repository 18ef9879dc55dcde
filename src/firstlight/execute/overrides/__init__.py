"""Break-glass as a transaction: who rests, what was there, what was written past Git, and the ways back."""
