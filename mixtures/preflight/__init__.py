"""Checks of a plan before a FLOP is spent: one for each mistake of the 8B run that a plan can know of."""
