"""Changes carried through: decided, committed, merged, reconciled or applied, checked, recorded, taken back."""
