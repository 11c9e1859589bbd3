"""The whole way on the sample dumps: raw dumps in, a model trained through three phases and a report out."""
