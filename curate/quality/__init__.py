"""Quality filters: datatrove's, with its names and thresholds, and bounds on scores that others wrote down as attributes."""
