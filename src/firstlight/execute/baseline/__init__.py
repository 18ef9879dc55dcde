"""The baseline: everything as it was before Git took over, to prove later that nothing was hurt."""
